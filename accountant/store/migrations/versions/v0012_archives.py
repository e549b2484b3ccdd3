"""Version 12: decisions of the past lie in archives."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is kept of decisions that were moved: none was yet, and states say nothing of it."""
    # To SQLite, what stands between quotes alone is text.
    empty = "x''" if op.get_bind().dialect.name == "sqlite" else "''"
    none_yet, no_bytes = sa.text("0"), sa.text(empty)
    for column in (
        sa.Column("moved_sequence", sa.BigInteger, nullable=False, server_default=none_yet),
        sa.Column("moved_hash", sa.LargeBinary, nullable=False, server_default=no_bytes),
        sa.Column("archives_digest", sa.LargeBinary, nullable=False, server_default=no_bytes),
    ):
        op.add_column("tocsin_sequences", column)
    op.create_table(
        "tocsin_archives",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("first_sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last_sequence", sa.BigInteger, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("seen", sa.LargeBinary, nullable=False),
        sa.Column("tallies", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
    )
