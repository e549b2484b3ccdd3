"""Version 7: the processes that release from the ledger, and how often each did."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the writers, none yet: what left before was noted nowhere else."""
    op.create_table(
        "tocsin_writers",
        sa.Column("writer", sa.Text, primary_key=True),
        sa.Column("releases", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
    )
