"""Queries as they are registered, how far each is, and which rows they cover."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.charged import RUNS
from accountant.store.tables.decided import SEQUENCES
from accountant.store.tables.pinned import QUERIES, SHAPES, QueryRow, ShapeRow

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Cursor", "Placed", "Queries", "Shapes"]

_QUERIES, _SHAPES = table_of(QUERIES), table_of(SHAPES)


class Cursor(NamedTuple):
    """How far one query is.

    Args:
        query: its name.
        cursor_ms: start of its oldest undecided window.
        effective_from_ms: start of the first window that an accepted change decides.
    """

    query: str
    cursor_ms: int
    effective_from_ms: int | None


class Placed(NamedTuple):
    """A query without what it computes, and how far it is.

    Args:
        query: its name.
        scope: the budget it draws on.
        cursor_ms: start of its oldest undecided window.
        retired: whether it decides no more.
        sequence: number of its last decision; 0 before the first.
        alarms_left: alarms that its run can still give; ``None`` without one.
        alarms_rung: alarms that it has given; likewise.
    """

    query: str
    scope: str
    cursor_ms: int
    retired: bool
    sequence: int
    alarms_left: int | None
    alarms_rung: int | None


class Queries(Rows[QueryRow]):
    """Registered queries. Definitions are long: what does not need them does not read them."""

    def named(self, names: Collection[str]) -> dict[str, QueryRow]:
        """Return those with some names, by name; those that are not registered are left out."""
        if len(names) == 1:
            found = self.get(query=next(iter(names)))
            return {} if found is None else {found.query: found}
        return {row.query: row for row in self._read(_named(), names=sorted(names))}

    def drawing_on(self, scope: str) -> list[str]:
        """Return the names of those that draw on a budget and were not retired."""
        return list(self._connection.scalars(_drawing_on(), {"scope": scope}))

    def cursors(self, names: Collection[str] | None = None) -> list[Cursor]:
        """Return how far those with some names are, or all that were not retired."""
        if names is None:
            return [Cursor(*row) for row in self._connection.execute(_cursors())]
        bound = {"names": sorted(names)}
        return [Cursor(*row) for row in self._connection.execute(_cursors_of(), bound)]

    def placed(self) -> list[Placed]:
        """Return all of them without their definitions, by name."""
        return [Placed(*row) for row in self._connection.execute(_placed())]


class Shapes(Rows[ShapeRow]):
    """Which rows queries cover, under every configuration they had."""

    def of(self, scope: str) -> list[ShapeRow]:
        """Return those of the queries that draw on a budget, or ever did."""
        return self._read(_shapes(), scope=scope)


@cache
def _shapes() -> Any:
    joined = _SHAPES.join(_QUERIES, _SHAPES.c.query == _QUERIES.c.query)
    mine = _QUERIES.c.scope == sa.bindparam("scope")
    return sa.select(_SHAPES).select_from(joined).where(mine)


@cache
def _named() -> Any:
    return sa.select(_QUERIES).where(_is_named())


@cache
def _drawing_on() -> Any:
    mine = _QUERIES.c.scope == sa.bindparam("scope")
    return sa.select(_QUERIES.c.query).where(mine, ~_QUERIES.c.retired)


@cache
def _placed() -> Any:
    numbers, runs, own = table_of(SEQUENCES), table_of(RUNS), _QUERIES.c
    joined = _QUERIES.outerjoin(numbers, numbers.c.query == own.query)
    joined = joined.outerjoin(runs, runs.c.query == own.query)
    last = sa.func.coalesce(numbers.c.last_sequence, 0)
    columns = (own.query, own.scope, own.cursor_ms, own.retired, last)
    placed = sa.select(*columns, runs.c.left, runs.c.alarms_rung)
    return placed.select_from(joined).order_by(own.query)


@cache
def _cursors() -> Any:
    return _cursor().where(~_QUERIES.c.retired)


@cache
def _cursors_of() -> Any:
    return _cursor().where(_is_named())


def _cursor() -> Any:
    return sa.select(*(_QUERIES.c[name] for name in Cursor._fields))


def _is_named() -> Any:
    return _QUERIES.c.query.in_(sa.bindparam("names", expanding=True))
