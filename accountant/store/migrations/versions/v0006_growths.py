"""Version 6: when feeds got more partitions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of growths, empty: until now a log kept its partitions for good."""
    op.create_table(
        "tocsin_growths",
        sa.Column("feed", sa.Text, sa.ForeignKey("tocsin_logs.feed"), primary_key=True),
        sa.Column("partitions", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("before", sa.Integer, nullable=False),
        sa.Column("from_ms", sa.BigInteger, nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=True),
        sa.Column("announced_ms", sa.BigInteger, nullable=False),
    )
