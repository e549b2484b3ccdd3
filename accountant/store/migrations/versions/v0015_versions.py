"""Version 15: the ledger's row says which schema it is in, where running code reads it anyway."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; the store writes into it what it has migrated to."""
    op.add_column(
        "tocsin_ledger",
        sa.Column("schema_version", sa.Text, nullable=False, server_default=revision),
    )
