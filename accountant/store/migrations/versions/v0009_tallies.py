"""Version 9: decisions are counted as they are stored."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the counts, of what is decided already."""
    op.create_table(
        "tocsin_tallies",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("outcome", sa.Text, primary_key=True),
        sa.Column("reason", sa.Text, primary_key=True),
        sa.Column("windows", sa.BigInteger, nullable=False),
        sa.Column("last_ms", sa.BigInteger, nullable=False),
    )
    op.execute(
        "INSERT INTO tocsin_tallies (query, outcome, reason, windows, last_ms) "
        "SELECT query, outcome, coalesce(reason, ''), count(*), max(decided_at_ms) "
        "FROM tocsin_decisions GROUP BY query, outcome, coalesce(reason, '')"
    )
