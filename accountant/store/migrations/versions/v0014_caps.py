"""Version 14: caps over a period, and what people used up of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column of charges and a table: no charge so far has a cap, and nobody was counted."""
    op.add_column("tocsin_charges", sa.Column("windows_per_period", sa.BigInteger))
    op.create_index(
        "tocsin_charges_capped",
        "tocsin_charges",
        ["scope", "end_ms"],
        sqlite_where=sa.text("windows_per_period IS NOT NULL"),
        postgresql_where=sa.text("windows_per_period IS NOT NULL"),
    )
    op.create_table(
        "tocsin_used",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("start_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("topic_id", sa.Text, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
    )
