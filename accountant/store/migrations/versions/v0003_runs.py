"""Version 3: runs, and what their windows hold."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of runs and two columns of charges; no charge so far is in a run."""
    op.create_table(
        "tocsin_runs",
        sa.Column("query", sa.Text, sa.ForeignKey("tocsin_queries.query"), primary_key=True),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("periods", sa.Text, nullable=False),
        sa.Column("open_units", sa.BigInteger, nullable=False),
        sa.Column("alarm_units", sa.BigInteger, nullable=False),
        sa.Column("left", sa.BigInteger, nullable=False),
        sa.Column("alarms_rung", sa.BigInteger, nullable=False),
        sa.Column("opened_start_ms", sa.BigInteger, nullable=False),
        sa.Column("last_start_ms", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
    )
    in_run = sa.Column("in_run", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("tocsin_charges", in_run)
    op.add_column("tocsin_charges", sa.Column("held_units", sa.BigInteger))
