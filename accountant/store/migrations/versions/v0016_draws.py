"""Version 16: which draw of a pane's noise an adopted decision is about."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column: no record so far says it."""
    op.add_column("tocsin_adopted", sa.Column("draw", sa.Text))
