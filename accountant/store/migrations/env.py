"""Alembic's entry point: runs inside the transaction the store has already opened and locked."""

from __future__ import annotations

from alembic import context

from accountant.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
context.run_migrations()
