"""What alarms keep from window to window: shares of their budget, runs, noisy counts."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from accountant.costs.runs import StoredRun
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.charged import (
    DRAWN,
    RUNS,
    SHARES,
    DrawnRow,
    PeriodTotal,
    ShareRow,
)
from accountant.store.tables.decided import NOISY, NoisyRow
from accountant.store.tables.pinned import QUERIES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["NoisyCounts", "Runs", "Shares", "Started"]


class Started(NamedTuple):
    """A stored run without its state.

    Args:
        query: whose it is.
        periods: the budget periods that each of its windows touches.
        opened_start_ms: start of the window that opened it.
        last_start_ms: start of the last window decided in it.
        left: alarms it can still give.
        alarm_units: loss of one, in loss units.
    """

    query: str
    periods: tuple[int, ...]
    opened_start_ms: int
    last_start_ms: int
    left: int
    alarm_units: int


class Runs(Rows[StoredRun]):
    """Runs: states are private, and may be long."""

    def started(self, scope: str) -> list[Started]:
        """Return those of the queries of a budget."""
        found = self._connection.execute(_started(), {"scope": scope})
        return [Started(query, tuple(json.loads(at)), *rest) for query, at, *rest in found]


class NoisyCounts(Rows[NoisyRow]):
    """Noisy counts of panes: private, and of few windows of a query at a time."""

    def between(self, query: str, start_ms: int, end_ms: int) -> list[NoisyRow]:
        """Return those of a query's panes that lie in a span, in their order."""
        return self._read(_inside(), query=query, start_ms=start_ms, end_ms=end_ms)

    def first_start_ms(self, query: str) -> int | None:
        """Return where the first of a query's starts; ``None`` without any."""
        first: int | None = self._connection.scalar(_first(), {"query": query})
        return first

    def drop_before(self, query: str, start_ms: int) -> None:
        """Let those of a query go that start before an instant."""
        self._connection.execute(_forgotten(), {"query": query, "start_ms": start_ms})


class Shares:
    """What some queries keep of every period of their budget; read once in a transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._shares = Rows(connection, SHARES)
        self._drawn = Rows(connection, DRAWN)
        self._known: dict[str, dict[str, int]] = {}

    def of(self, scope: str) -> Mapping[str, int]:
        """Return the shares of a budget's queries, in loss units."""
        if scope not in self._known:
            rows = self._shares.each(scope=scope)
            self._known[scope] = {row.query: row.share_units for row in rows}
        return self._known[scope]

    def set(self, scope: str, query: str, units: int) -> None:
        """Give a query a share, or take it away with what was drawn of it; ``units`` is 0 then."""
        self._known.pop(scope, None)
        self._shares.drop(query=query)
        if units:
            self._shares.add(ShareRow(query, scope, units))
        else:
            self._drawn.drop(query=query)

    def drawn(self, query: str, periods: Collection[int] | None = None) -> dict[int, PeriodTotal]:
        """Return what a query with a share holds by period start, for some periods or all."""
        if periods is None:
            rows = self._drawn.all(query=query)
        else:
            each = (self._drawn.get(query=query, period_ms=period) for period in periods)
            rows = [row for row in each if row is not None]
        return {row.period_ms: PeriodTotal(row.held_units, row.final_units) for row in rows}

    def draw(self, query: str, change: Mapping[int, PeriodTotal]) -> None:
        """Add to what a query with a share holds in some periods."""
        rows = (DrawnRow(query, at, one.held, one.final) for at, one in sorted(change.items()))
        self._drawn.add_up(rows, "held_units", "final_units")


@cache
def _inside() -> Any:
    columns = table_of(NOISY).c
    mine = (columns.query == sa.bindparam("query"), columns.start_ms >= sa.bindparam("start_ms"))
    within = columns.end_ms <= sa.bindparam("end_ms")
    return sa.select(table_of(NOISY)).where(*mine, within).order_by(columns.start_ms)


@cache
def _first() -> Any:
    columns = table_of(NOISY).c
    return sa.select(sa.func.min(columns.start_ms)).where(columns.query == sa.bindparam("query"))


@cache
def _forgotten() -> Any:
    table = table_of(NOISY)
    early = table.c.start_ms < sa.bindparam("start_ms")
    return table.delete().where(table.c.query == sa.bindparam("query"), early)


@cache
def _started() -> Any:
    runs, queries = table_of(RUNS), table_of(QUERIES)
    joined = runs.join(queries, runs.c.query == queries.c.query)
    columns = (runs.c[name] for name in Started._fields)
    mine = queries.c.scope == sa.bindparam("scope")
    return sa.select(*columns).select_from(joined).where(mine)
