"""Version 4: how far partitions are read, and since when they stand still."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of places; the first worker that reads a partition fills in its row."""
    op.create_table(
        "tocsin_places",
        sa.Column("feed", sa.Text, primary_key=True),
        sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("stand", sa.Text, nullable=False),
        sa.Column("still_since_ms", sa.BigInteger, nullable=False),
        sa.Column("seen_ms", sa.BigInteger, nullable=False),
    )
