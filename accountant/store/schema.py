"""The ledger's tables, as the newest migration leaves them.

Every loss is a 64-bit integer of loss units, every time a 64-bit integer of milliseconds. Tables
carry a prefix, because a PostgreSQL database may hold other things beside the ledger.
"""

from __future__ import annotations

import sqlalchemy as sa

__all__ = [
    "HEAD",
    "VERSION_TABLE",
    "adopted",
    "charges",
    "compacted",
    "decisions",
    "gaps",
    "ledger",
    "links",
    "logs",
    "marks",
    "metadata",
    "partials",
    "queries",
    "runs",
    "scopes",
    "sequences",
    "shapes",
    "totals",
]

HEAD = "0003"
"""Schema version this code reads and writes (the revision of the newest migration)."""

VERSION_TABLE = "tocsin_version"

metadata = sa.MetaData()

ledger = sa.Table(
    "tocsin_ledger",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # always 1
    sa.Column("ledger_id", sa.Text, nullable=False),
    sa.Column("hash_key", sa.LargeBinary, nullable=False),
    sa.Column("clock_ms", sa.BigInteger, nullable=False),
    sa.Column("created_ms", sa.BigInteger, nullable=False),
)

scopes = sa.Table(
    "tocsin_scopes",
    metadata,
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("epsilon_max_units", sa.BigInteger, nullable=False),
    sa.Column("period", sa.Text, nullable=False),
    sa.Column("frontier_end_ms", sa.BigInteger),
    sa.Column("frontier_query", sa.Text),
    sa.Column("frontier_start_ms", sa.BigInteger),
    # Unit event: worst row over settled charges; they are never taken back, so it only grows.
    sa.Column("settled_worst_units", sa.BigInteger, nullable=False),
    # The head of the chain of links, and the link up to which it was compacted.
    sa.Column("chain_link", sa.BigInteger, nullable=False),
    sa.Column("chain_hash", sa.LargeBinary, nullable=False),
    sa.Column("base_link", sa.BigInteger, nullable=False),
    sa.Column("base_hash", sa.LargeBinary, nullable=False),
    # Charges of windows that end by then may be gone; none that starts before it is served.
    sa.Column("compacted_before_ms", sa.BigInteger),
    sa.Column("compacted_worst_units", sa.BigInteger, nullable=False),
)

logs = sa.Table(
    "tocsin_logs",
    metadata,
    sa.Column("feed", sa.Text, primary_key=True),
    sa.Column("cluster_id", sa.Text, nullable=False),
    sa.Column("topic_id", sa.Text, nullable=False),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("partitions", sa.Integer, nullable=False),
)

queries = sa.Table(
    "tocsin_queries",
    metadata,
    sa.Column("query", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), nullable=False),
    sa.Column("feed", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("definition", sa.Text, nullable=False),
    sa.Column("cursor_ms", sa.BigInteger, nullable=False),
    sa.Column("effective_from_ms", sa.BigInteger),
    sa.Column("retired", sa.Boolean, nullable=False),
)

partials = sa.Table(
    "tocsin_partials",
    metadata,
    sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
    sa.Column("start_ms", sa.BigInteger, primary_key=True),
    sa.Column("end_ms", sa.BigInteger, primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("topic_id", sa.Text, nullable=False),
    sa.Column("complete", sa.Boolean, nullable=False),
    sa.Column("cells", sa.BigInteger, nullable=False),
    sa.Column("cell_index", sa.LargeBinary, nullable=False),  # little-endian int64
    sa.Column("cell_value", sa.LargeBinary, nullable=False),  # little-endian int64
    sa.Column("first_offset", sa.BigInteger, nullable=False),
    sa.Column("last_offset", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("conflicted", sa.Boolean, nullable=False),
)

marks = sa.Table(
    "tocsin_marks",
    metadata,
    sa.Column("feed", sa.Text, primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time_ms", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("log_offset", sa.BigInteger, nullable=False),
)

charges = sa.Table(
    "tocsin_charges",
    metadata,
    sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
    sa.Column("start_ms", sa.BigInteger, primary_key=True),
    sa.Column("end_ms", sa.BigInteger, primary_key=True),
    sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), nullable=False),
    sa.Column("admission", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("units", sa.BigInteger, nullable=False),  # per cell, at worst
    sa.Column("cells", sa.BigInteger, nullable=False),
    sa.Column("cells_per_unit", sa.BigInteger, nullable=False),
    sa.Column("loss_units", sa.BigInteger, nullable=False),  # of one privacy unit, at worst
    sa.Column("settled_units", sa.BigInteger),  # of the dearest cell, realised
    sa.Column("settled_loss_units", sa.BigInteger),  # of one privacy unit, realised
    sa.Column("costs", sa.LargeBinary),  # realised cell by cell, where they differ (levelcost)
    sa.Column("periods", sa.Text, nullable=False),  # JSON array of period starts
    sa.Column("in_run", sa.Boolean, nullable=False),
    sa.Column("held_units", sa.BigInteger),  # in a run, once reserved; NULL: its loss_units
    # Answer reads the charges that end after a window's start: never the past.
    sa.Index("tocsin_charges_by_end", "scope", "end_ms"),
    sa.Index(
        "tocsin_charges_open",
        "scope",
        sqlite_where=sa.text("state = 'reserved'"),
        postgresql_where=sa.text("state = 'reserved'"),
    ),
    sa.Index(
        "tocsin_charges_pending",
        "scope",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
)

# Which rows a query's cells cover, by the fingerprint that its charges carry.
shapes = sa.Table(
    "tocsin_shapes",
    metadata,
    sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
    sa.Column("fingerprint", sa.Text, primary_key=True),
    sa.Column("region", sa.Text, nullable=False),
    sa.Column("grouping", sa.Text, nullable=False),
)

# The newest run of each query that shares a noisy threshold over windows.
runs = sa.Table(
    "tocsin_runs",
    metadata,
    sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("periods", sa.Text, nullable=False),  # JSON array of period starts
    sa.Column("open_units", sa.BigInteger, nullable=False),
    sa.Column("alarm_units", sa.BigInteger, nullable=False),
    sa.Column("left", sa.BigInteger, nullable=False),
    sa.Column("alarms_rung", sa.BigInteger, nullable=False),
    sa.Column("opened_start_ms", sa.BigInteger, nullable=False),
    sa.Column("last_start_ms", sa.BigInteger, nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),  # private; in no export
)

# What happened to charges, in order; every hash covers the one before it.
links = sa.Table(
    "tocsin_links",
    metadata,
    sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), primary_key=True),
    sa.Column("link", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("start_ms", sa.BigInteger, nullable=False),
    sa.Column("end_ms", sa.BigInteger, nullable=False),
    sa.Column("told", sa.Text),  # digest of an adopted decision; a budget's state
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.Index("tocsin_links_by_window", "query", "start_ms", "end_ms"),
    sa.Index(
        "tocsin_links_told",
        "scope",
        "link",
        sqlite_where=sa.text("told IS NOT NULL"),
        postgresql_where=sa.text("told IS NOT NULL"),
    ),
)

decisions = sa.Table(
    "tocsin_decisions",
    metadata,
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
    sa.Column("archived", sa.Boolean, nullable=False),  # its charge was compacted
    sa.UniqueConstraint("query", "sequence"),
    sa.Index(
        "tocsin_decisions_outbox",
        "query",
        "sequence",
        sqlite_where=sa.text("NOT published"),
        postgresql_where=sa.text("NOT published"),
    ),
)

adopted = sa.Table(
    "tocsin_adopted",
    metadata,
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
    sa.Index("tocsin_adopted_by_end", "scope", "end_ms"),
    sa.Index("tocsin_adopted_by_window", "query", "start_ms"),
)

# The number of each query's last decision. No foreign key: a decision of a query that this copy of
# the ledger never registered may be adopted.
sequences = sa.Table(
    "tocsin_sequences",
    metadata,
    sa.Column("query", sa.Text, primary_key=True),
    sa.Column("last_sequence", sa.BigInteger, nullable=False),
)

gaps = sa.Table(
    "tocsin_gaps",
    metadata,
    sa.Column("query", sa.Text, primary_key=True),
    sa.Column("first_sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("last_sequence", sa.BigInteger, nullable=False),
    sa.Column("declared_at_ms", sa.BigInteger, nullable=False),
)

totals = sa.Table(
    "tocsin_totals",
    metadata,
    sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), primary_key=True),
    sa.Column("period_ms", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("held_units", sa.BigInteger, nullable=False),  # reserved at worst, or realised
    sa.Column("final_units", sa.BigInteger, nullable=False),  # realised only
)

# What compacted charges left behind, by period.
compacted = sa.Table(
    "tocsin_compacted",
    metadata,
    sa.Column("scope", sa.Text, sa.ForeignKey("tocsin_scopes.scope"), primary_key=True),
    sa.Column("period_ms", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("final_units", sa.BigInteger, nullable=False),
)
