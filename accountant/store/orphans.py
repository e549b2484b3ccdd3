"""Rows that refer to one which is missing, whatever the database was made to let through."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.store.schema import table_of
from accountant.store.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["orphans"]


def orphans(connection: sa.Connection) -> Iterator[tuple[str, str]]:
    """Yield tables with what their rows refer to and is not there, once each.

    Args:
        connection: in a transaction.
    """
    for name, statement in _lost():
        for value in connection.scalars(statement):
            yield name, value


@cache
def _lost() -> tuple[tuple[str, Any], ...]:
    return tuple(
        (declared.name, _without(key))
        for declared in TABLES
        for key in sorted(table_of(declared).foreign_keys, key=lambda one: one.parent.name)
    )


def _without(key: sa.ForeignKey) -> Any:
    there = sa.exists().where(key.column == key.parent)
    return sa.select(key.parent).where(~there).distinct().order_by(key.parent)
