"""Version 5: how often workers started, and what stopped them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the journal, empty: what happened before it was kept is not known."""
    op.create_table(
        "tocsin_journal",
        sa.Column("entry", sa.Text, primary_key=True),
        sa.Column("times", sa.BigInteger, nullable=False),
        sa.Column("last_ms", sa.BigInteger, nullable=False),
    )
