"""Version 8: which files were replayed, by what their bytes hash to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of files, empty: the next replay takes on what it reads."""
    op.create_table(
        "tocsin_files",
        sa.Column("feed", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("first_ms", sa.BigInteger, nullable=False),
    )
