"""Version 1: the first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "tocsin_ledger",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ledger_id", sa.Text, nullable=False),
        sa.Column("hash_key", sa.LargeBinary, nullable=False),
        sa.Column("clock_ms", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tocsin_scopes",
        sa.Column("scope", sa.Text, primary_key=True),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("epsilon_max_units", sa.BigInteger, nullable=False),
        sa.Column("period", sa.Text, nullable=False),
        sa.Column("frontier_end_ms", sa.BigInteger),
        sa.Column("frontier_query", sa.Text),
        sa.Column("frontier_start_ms", sa.BigInteger),
        sa.Column("settled_worst_units", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tocsin_logs",
        sa.Column("feed", sa.Text, primary_key=True),
        sa.Column("cluster_id", sa.Text, nullable=False),
        sa.Column("topic_id", sa.Text, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("partitions", sa.Integer, nullable=False),
    )
    op.create_table(
        "tocsin_queries",
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), nullable=False),
        sa.Column("feed", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("cursor_ms", sa.BigInteger, nullable=False),
        sa.Column("effective_from_ms", sa.BigInteger),
        sa.Column("retired", sa.Boolean, nullable=False),
    )
    op.create_table(
        "tocsin_partials",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("start_ms", sa.BigInteger, primary_key=True),
        sa.Column("end_ms", sa.BigInteger, primary_key=True),
        sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("topic_id", sa.Text, nullable=False),
        sa.Column("complete", sa.Boolean, nullable=False),
        sa.Column("cells", sa.BigInteger, nullable=False),
        sa.Column("cell_index", sa.LargeBinary, nullable=False),
        sa.Column("cell_value", sa.LargeBinary, nullable=False),
        sa.Column("first_offset", sa.BigInteger, nullable=False),
        sa.Column("last_offset", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("conflicted", sa.Boolean, nullable=False),
    )
    op.create_table(
        "tocsin_marks",
        sa.Column("feed", sa.Text, primary_key=True),
        sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("time_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tocsin_charges",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("start_ms", sa.BigInteger, primary_key=True),
        sa.Column("end_ms", sa.BigInteger, primary_key=True),
        sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), nullable=False),
        sa.Column("admission", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("units", sa.BigInteger, nullable=False),
        sa.Column("cells", sa.BigInteger, nullable=False),
        sa.Column("cells_per_unit", sa.BigInteger, nullable=False),
        sa.Column("loss_units", sa.BigInteger, nullable=False),
        sa.Column("settled_units", sa.BigInteger),
        sa.Column("periods", sa.Text, nullable=False),
    )
    op.create_index("tocsin_charges_by_end", "tocsin_charges", ["scope", "end_ms"])
    op.create_index(
        "tocsin_charges_open",
        "tocsin_charges",
        ["scope"],
        sqlite_where=sa.text("state = 'reserved'"),
        postgresql_where=sa.text("state = 'reserved'"),
    )
    op.create_table(
        "tocsin_decisions",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("start_ms", sa.BigInteger, primary_key=True),
        sa.Column("end_ms", sa.BigInteger, primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("alarms", sa.LargeBinary, nullable=False),
        sa.Column("alarm_count", sa.BigInteger, nullable=False),
        sa.Column("epsilon_units", sa.BigInteger, nullable=False),
        sa.Column("release_ms", sa.BigInteger, nullable=False),
        sa.Column("decided_at_ms", sa.BigInteger, nullable=False),
        sa.Column("published", sa.Boolean, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.UniqueConstraint("query", "sequence"),
    )
    op.create_index(
        "tocsin_decisions_outbox",
        "tocsin_decisions",
        ["query", "sequence"],
        sqlite_where=sa.text("NOT published"),
        postgresql_where=sa.text("NOT published"),
    )
    op.create_table(
        "tocsin_adopted",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("ledger_id", sa.Text, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("start_ms", sa.BigInteger, nullable=False),
        sa.Column("end_ms", sa.BigInteger, nullable=False),
        sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("epsilon_units", sa.BigInteger, nullable=False),
        sa.Column("cells_per_unit", sa.BigInteger, nullable=False),
        sa.Column("loss_units", sa.BigInteger, nullable=False),
        sa.Column("periods", sa.Text, nullable=False),
        sa.Column("alarm_count", sa.BigInteger, nullable=False),
        sa.Column("adopted_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("tocsin_adopted_by_end", "tocsin_adopted", ["scope", "end_ms"])
    op.create_index("tocsin_adopted_by_window", "tocsin_adopted", ["query", "start_ms"])
    op.create_table(
        "tocsin_sequences",
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("last_sequence", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tocsin_gaps",
        sa.Column("query", sa.Text, primary_key=True),
        sa.Column("first_sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last_sequence", sa.BigInteger, nullable=False),
        sa.Column("declared_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tocsin_totals",
        sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), primary_key=True),
        sa.Column("period_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("held_units", sa.BigInteger, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        # Compressing a vector of a hundred thousand cells takes twenty times as long as storing it.
        for column in ("cell_index", "cell_value"):
            op.execute(f"ALTER TABLE tocsin_partials ALTER COLUMN {column} SET STORAGE EXTERNAL")
