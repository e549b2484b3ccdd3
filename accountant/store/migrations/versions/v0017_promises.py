"""Version 17: what a budget's wall promises, where that is not a pure epsilon."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column: every budget so far is a pure one."""
    op.add_column("tocsin_scopes", sa.Column("promise", sa.Text))
