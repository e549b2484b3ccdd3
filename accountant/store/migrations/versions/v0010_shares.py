"""Version 10: alarms keep shares of their budget."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add shares, and what was drawn of them: nobody has one yet."""
    op.create_table(
        "tocsin_shares",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), nullable=False),
        sa.Column("share_units", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tocsin_drawn",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("period_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("held_units", sa.BigInteger, nullable=False),
        sa.Column("final_units", sa.BigInteger, nullable=False),
    )
