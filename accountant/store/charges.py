"""Charges, and what the periods of a budget hold of them."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.costs.charges import WindowKey
from accountant.store import rows
from accountant.store.among import among
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.charged import (
    CHARGES,
    COMPACTED,
    LINKS,
    OPEN,
    RUNS,
    TOTALS,
    ChargeRow,
    ChargeState,
    CompactedRow,
    PeriodTotal,
    TotalRow,
)
from accountant.store.tables.pinned import QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accountant.store.among import Listed

__all__ = ["Charges", "Totals"]

_CHARGES, _LINKS = table_of(CHARGES), table_of(LINKS)


class Charges(Rows[ChargeRow]):
    """Charges of windows."""

    def after(
        self,
        scope: str,
        end_ms: int,
        *states: ChargeState,
        starting_before_ms: int = 2**63 - 1,
    ) -> list[ChargeRow]:
        """Return a budget's charges, in some states or all, whose windows end after an instant."""
        bound = {"scope": scope, "end_ms": end_ms, "before_ms": starting_before_ms}
        return self._read(_overlapping(states), **bound)

    def capped(self, scope: str, end_ms: int) -> list[ChargeRow]:
        """Return a budget's charges with a cap over a period whose windows end after an instant."""
        return self._read(_capped(), scope=scope, end_ms=end_ms)

    def windows(self, query: str, first_start_ms: int, last_start_ms: int) -> list[WindowKey]:
        """Return a query's windows that have a charge, by range of their starts (inclusive)."""
        bound = {"query": query, "first_ms": first_start_ms, "last_ms": last_start_ms}
        found = self._connection.execute(_windows(), bound)
        return [WindowKey(end_ms, query, start_ms) for start_ms, end_ms in found]

    def in_state(self, scope: str, *states: ChargeState) -> list[ChargeRow]:
        """Return a budget's charges that are reserved, or pending, by state and in order."""
        found = self._read(_in_state(states), scope=scope)
        return sorted(found, key=lambda one: (states.index(one.state), one.key))

    def open_units(self, scope: str, end_ms: int) -> int:
        """Return the sum of what a budget's open charges that end after an instant may cost."""
        # Each may be as large as a column holds: the database cannot add them up.
        bound = {"scope": scope, "end_ms": end_ms}
        return sum(self._connection.scalars(_open_units(), bound))

    def last_in_runs(self, scope: str, end_ms: int, query: str = "") -> dict[str, ChargeRow]:
        """Return the last charge that was decided in a run, by query, of those that have runs.

        Args:
            scope: the budget.
            end_ms: those are looked at that end before it,
            query: or with it, where they come before this query.
        """
        found = self._read(_last_in_runs(), scope=scope, end_ms=end_ms, query=query)
        return {row.query: row for row in found}

    def next_in_run(self, query: str, after_ms: int, start_ms: int = -(2**63)) -> ChargeRow | None:
        """Return a query's first charge that was decided in a run, of those that end later.

        Args:
            query: its name.
            after_ms: where they end later.
            start_ms: none that starts by then is looked at.
        """
        found = self._read(_next_in_run(), query=query, after_ms=after_ms, start_ms=start_ms)
        return found[0] if found else None

    def among(self, windows: Listed) -> list[ChargeRow]:
        """Return the charges of some windows."""
        return self._read(_charges_among(self._dialect), windows=windows)

    def in_order(self, scope: str, end_ms: int) -> Iterator[list[ChargeRow]]:
        """Yield a budget's charges whose windows end after an instant, in order, some at a time.

        Windows that end at once come together, so that one index is all that is needed.
        """
        while True:
            bound = {"scope": scope, "end_ms": end_ms}
            until_ms = self._connection.scalar(_page_end(), {**bound, "skipped": rows.PAGE - 1})
            last = until_ms is None
            found = self._read(_page(), **bound, until_ms=2**63 - 1 if last else until_ms)
            if found:
                yield sorted(found, key=lambda one: (one.end_ms, one.query, one.start_ms))
            if last:
                return
            end_ms = int(until_ms or 0)

    def longest_ms(self, scope: str, end_ms: int) -> int:
        """Return the length of a budget's longest window that ends after an instant; 0 without."""
        bound = {"scope": scope, "end_ms": end_ms}
        return int(self._connection.scalar(_longest(), bound) or 0)

    def left_among(self, windows: Listed) -> tuple[int, int, Counter[int]]:
        """Return how many charges some windows have, and what they lost for good by period.

        What windows with a cap lost does not add up: it is left out. How many those are stands
        between the two.
        """
        many, few, left = 0, 0, Counter[int]()
        found = self._connection.execute(_left(self._dialect), {"windows": windows})
        for row in found:
            many += row.charges
            few += row.capped
            left.update(dict.fromkeys(json.loads(row.periods), int(row.units)))
        return many, few, left

    def drop_among(self, windows: Listed) -> None:
        """Delete the charges of some windows."""
        self._connection.execute(_drop(self._dialect), {"windows": windows})


class Totals:
    """What is held by period: of charges as they stand, and of those compacted away."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._totals = Rows(connection, TOTALS)
        self._compacted = Rows(connection, COMPACTED)

    def of(self, scope: str, periods: Iterable[int] | None = None) -> dict[int, PeriodTotal]:
        """Return what is held by period start, for some periods or all."""
        if periods is None:
            first, last = -(2**63), 2**63 - 1
        else:
            wanted = sorted(set(periods))
            if not wanted:
                return {}
            # A range, not a list of values: periods asked for together lie together.
            first, last = wanted[0], wanted[-1]
        bound = {"scope": scope, "first": first, "last": last}
        rows = self._connection.execute(_totals(), bound)
        return {int(period): PeriodTotal(int(held), int(final)) for period, held, final in rows}

    def most_held(self, scope: str) -> int:
        """Return what the fullest period holds; 0 without one."""
        return int(self._connection.scalar(_most_held(), {"scope": scope}) or 0)

    def latest_held(self, scope: str, limit: int) -> dict[int, int]:
        """Return what the last periods that hold anything hold, in order."""
        found = self._connection.execute(_latest_held(), {"scope": scope, "limit": limit}).all()
        return {int(period): int(held) for period, held in reversed(found)}

    def add(self, scope: str, change: Mapping[int, PeriodTotal]) -> None:
        """Add to what is held in some periods."""
        rows = (TotalRow(scope, at, one.held, one.final) for at, one in sorted(change.items()))
        self._totals.add_up(rows, "held_units", "final_units")

    def compacted(self, scope: str) -> dict[int, int]:
        """Return what compacted charges left behind, by period start."""
        return {row.period_ms: row.final_units for row in self._compacted.each(scope=scope)}

    def add_compacted(self, scope: str, change: Mapping[int, int]) -> None:
        """Add to what compacted charges left behind."""
        rows = (CompactedRow(scope, at, units) for at, units in sorted(change.items()))
        self._compacted.add_up(rows, "final_units")


@cache
def _overlapping(states: tuple[ChargeState, ...]) -> Any:
    columns = _CHARGES.c
    where = [columns.scope == sa.bindparam("scope"), columns.end_ms > sa.bindparam("end_ms")]
    where.append(columns.start_ms < sa.bindparam("before_ms"))
    if states:
        where.append(columns.state.in_([state.value for state in states]))
    return sa.select(_CHARGES).where(*where)


@cache
def _capped() -> Any:
    columns = _CHARGES.c
    after = columns.end_ms > sa.bindparam("end_ms")
    # As the partial index says it: a ledger without caps finds nothing at once.
    mine = (columns.scope == sa.bindparam("scope"), columns.windows_per_period.is_not(None))
    return sa.select(_CHARGES).where(*mine, after)


@cache
def _windows() -> Any:
    columns = _CHARGES.c
    starts = columns.start_ms.between(sa.bindparam("first_ms"), sa.bindparam("last_ms"))
    mine = columns.query == sa.bindparam("query")
    return sa.select(columns.start_ms, columns.end_ms).where(mine, starts)


@cache
def _last_in_runs() -> Any:
    runs, queries, each = table_of(RUNS), table_of(QUERIES), _CHARGES.alias()
    ended = (each.c.end_ms < sa.bindparam("end_ms")) | (
        (each.c.end_ms == sa.bindparam("end_ms")) & (each.c.query < sa.bindparam("query"))
    )
    # By the primary key, backwards: what is looked for is nearly always the first.
    last = (
        sa.select(each.c.start_ms)
        .where(each.c.query == runs.c.query, *_decided_in_run(each), ended)
        .order_by(each.c.start_ms.desc())
        .limit(1)
        .correlate(runs)
        .scalar_subquery()
    )
    joined = runs.join(queries, queries.c.query == runs.c.query).join(
        _CHARGES, _CHARGES.c.query == runs.c.query
    )
    mine = queries.c.scope == sa.bindparam("scope")
    found = sa.select(_CHARGES).select_from(joined)
    return found.where(mine, _CHARGES.c.start_ms == last, *_decided_in_run(_CHARGES))


@cache
def _next_in_run() -> Any:
    # A query's windows end in the order in which they start, but for those of other calendars.
    later = _CHARGES.c.end_ms > sa.bindparam("after_ms")
    later &= _CHARGES.c.start_ms > sa.bindparam("start_ms")
    mine = (_CHARGES.c.query == sa.bindparam("query"), *_decided_in_run(_CHARGES))
    return sa.select(_CHARGES).where(*mine, later).order_by(_CHARGES.c.start_ms).limit(1)


def _decided_in_run(charges: Any) -> tuple[Any, ...]:
    return charges.c.in_run, charges.c.state == ChargeState.SETTLED.value


@cache
def _in_state(states: tuple[ChargeState, ...]) -> Any:
    return sa.union_all(*(sa.select(_CHARGES).where(*_is_in(state)) for state in states))


@cache
def _open_units() -> Any:
    units = sa.func.coalesce(_CHARGES.c.held_units, _CHARGES.c.loss_units)
    later = _CHARGES.c.end_ms > sa.bindparam("end_ms")
    return sa.union_all(*(sa.select(units).where(*_is_in(state), later) for state in OPEN))


def _is_in(state: ChargeState) -> tuple[Any, ...]:
    # The state stands in the text, so that the planner can use the partial index.
    return _CHARGES.c.scope == sa.bindparam("scope"), sa.text(f"state = '{state.value}'")


@cache
def _totals() -> Any:
    table = table_of(TOTALS)
    between = table.c.period_ms.between(sa.bindparam("first"), sa.bindparam("last"))
    columns = (table.c.period_ms, table.c.held_units, table.c.final_units)
    return sa.select(*columns).where(table.c.scope == sa.bindparam("scope"), between)


@cache
def _charges_among(dialect: str) -> Any:
    return sa.select(_CHARGES).where(among(_CHARGES, dialect))


@cache
def _page_end() -> Any:
    columns = _CHARGES.c
    mine = (columns.scope == sa.bindparam("scope"), columns.end_ms > sa.bindparam("end_ms"))
    ends = sa.select(columns.end_ms).where(*mine).order_by(columns.end_ms)
    return ends.limit(1).offset(sa.bindparam("skipped"))


@cache
def _page() -> Any:
    columns = _CHARGES.c
    until = columns.end_ms <= sa.bindparam("until_ms")
    mine = (columns.scope == sa.bindparam("scope"), columns.end_ms > sa.bindparam("end_ms"))
    return sa.select(_CHARGES).where(*mine, until)


@cache
def _longest() -> Any:
    length = sa.func.max(_CHARGES.c.end_ms - _CHARGES.c.start_ms)
    after = _CHARGES.c.end_ms > sa.bindparam("end_ms")
    return sa.select(length).where(_CHARGES.c.scope == sa.bindparam("scope"), after)


@cache
def _most_held() -> Any:
    table = table_of(TOTALS)
    return sa.select(sa.func.max(table.c.held_units)).where(table.c.scope == sa.bindparam("scope"))


@cache
def _latest_held() -> Any:
    table = table_of(TOTALS)
    holding = (table.c.scope == sa.bindparam("scope"), table.c.held_units != 0)
    latest = sa.select(table.c.period_ms, table.c.held_units).where(*holding)
    return latest.order_by(table.c.period_ms.desc()).limit(sa.bindparam("limit"))


@cache
def _left(dialect: str) -> Any:
    columns = _CHARGES.c
    units = sa.case(
        (columns.windows_per_period.is_not(None), 0),
        (
            columns.state == ChargeState.SPENT.value,
            sa.func.coalesce(columns.held_units, columns.loss_units),
        ),
        else_=sa.func.coalesce(columns.settled_loss_units, 0),
    )
    added = (
        sa.func.count().label("charges"),
        sa.func.count(columns.windows_per_period).label("capped"),
        sa.func.sum(units).label("units"),
    )
    return (
        sa.select(columns.periods, *added).where(among(_CHARGES, dialect)).group_by(columns.periods)
    )


@cache
def _drop(dialect: str) -> Any:
    return _CHARGES.delete().where(among(_CHARGES, dialect))
