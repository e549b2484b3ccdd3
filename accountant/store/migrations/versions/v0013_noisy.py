"""Version 13: noisy counts of panes, drawn once, for every window over them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table: no pane was drawn yet."""
    op.create_table(
        "tocsin_noisy",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("start_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("end_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("kept_from_ms", sa.BigInteger, nullable=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
    )
