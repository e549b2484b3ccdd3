"""Rows of many windows at once: found by their keys, whatever a planner believes of a table's size.

Windows are bound as one JSON text. A planner that has seen no statistics yet (SQLite before
``ANALYZE``, PostgreSQL before its first autovacuum) joins two tables by the wrong index, or reads
one of them from end to end for every batch; a short list of keys leaves it no such choice.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NewType

import sqlalchemy as sa

from accountant.store.tables.windows import WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Listed", "among", "listed"]

Listed = NewType("Listed", str)
"""Some windows, once turned into the text that statements bind."""


def among(table: sa.Table, dialect: str) -> Any:
    """Say of a row of a table that its window is one of those bound as ``windows``.

    Args:
        table: has the columns of a window.
        dialect: ``sqlite`` or ``postgresql``.
    """
    given, places = sa.bindparam("windows", type_=sa.Text), range(len(WINDOW))
    if dialect == "sqlite":
        each = sa.func.json_each(given).table_valued("value")
        found: list[Any] = [
            sa.func.json_extract(each.c.value, f"$[{at}]") for at in range(len(WINDOW))
        ]
    else:
        one = sa.func.json_array_elements(sa.cast(given, sa.JSON)).column_valued("one")
        found = [one.op("->>")(at) for at in places]
    # An index is used only for values of its columns' types.
    typed = [sa.cast(each, table.c[name].type) for each, name in zip(found, WINDOW, strict=True)]
    columns = [table.c[name] for name in WINDOW]
    return sa.tuple_(*columns).in_(sa.select(*typed))


def listed(windows: Iterable[tuple[str, int, int]]) -> Listed:
    """Return windows (:attr:`~accountant.store.tables.windows.OfWindow.window`) to be bound."""
    return Listed(json.dumps(list(windows)))
