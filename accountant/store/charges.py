"""Charges, and what the periods of a budget hold of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.store.rows import Rows, same_window
from accountant.store.schema import table_of
from accountant.store.tables.charged import (
    CHARGES,
    COMPACTED,
    LINKS,
    TOTALS,
    ChargeRow,
    CompactedRow,
    LinkKind,
    PeriodTotal,
    TotalRow,
)
from accountant.store.tables.decided import DECISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accountant.store.tables.charged import ChargeState

__all__ = ["Charges", "Totals"]

_CHARGES, _LINKS, _DECISIONS = (table_of(one) for one in (CHARGES, LINKS, DECISIONS))


class Charges(Rows[ChargeRow]):
    """Charges of windows."""

    def after(
        self, scope: str, end_ms: int, *, starting_before_ms: int | None = None
    ) -> list[ChargeRow]:
        """Return a budget's charges whose windows end after an instant."""
        if starting_before_ms is None:
            return self._read(_overlapping(bounded=False), scope=scope, end_ms=end_ms)
        bound = {"scope": scope, "end_ms": end_ms, "before_ms": starting_before_ms}
        return self._read(_overlapping(bounded=True), **bound)

    def in_state(self, scope: str, *states: ChargeState) -> list[ChargeRow]:
        """Return a budget's charges that are reserved, or pending, by state and in order."""
        return [
            charge
            for state in states
            for charge in sorted(self._read(_in_state(state), scope=scope), key=lambda one: one.key)
        ]

    def ended_by_link(self, scope: str, number: int) -> list[ChargeRow]:
        """Return the charges that a link up to ``number`` ended."""
        return self._read(sa.select(_CHARGES).where(_ended_by(scope, number)))

    def drop_by_link(self, scope: str, number: int) -> None:
        """Delete the charges that a link up to ``number`` ended, and their alarms."""
        ended = _ended_by(scope, number)
        gone = sa.exists().where(same_window(_CHARGES, _DECISIONS), ended)
        archived = {"archived": True, "alarms": b""}
        self._connection.execute(_DECISIONS.update().where(gone).values(archived))
        self._connection.execute(_CHARGES.delete().where(ended))


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
def _overlapping(*, bounded: bool) -> Any:
    columns = _CHARGES.c
    where = [columns.scope == sa.bindparam("scope"), columns.end_ms > sa.bindparam("end_ms")]
    if bounded:
        where.append(columns.start_ms < sa.bindparam("before_ms"))
    return sa.select(_CHARGES).where(*where)


@cache
def _in_state(state: ChargeState) -> Any:
    # The state stands in the text, so that the planner can use the partial index.
    in_state = sa.text(f"state = '{state.value}'")
    return sa.select(_CHARGES).where(_CHARGES.c.scope == sa.bindparam("scope"), in_state)


@cache
def _totals() -> Any:
    table = table_of(TOTALS)
    between = table.c.period_ms.between(sa.bindparam("first"), sa.bindparam("last"))
    columns = (table.c.period_ms, table.c.held_units, table.c.final_units)
    return sa.select(*columns).where(table.c.scope == sa.bindparam("scope"), between)


def _ended_by(scope: str, number: int) -> Any:
    """Say of a budget's charge that a link up to ``number`` ended it."""
    ended = sa.exists().where(
        same_window(_LINKS, _CHARGES),
        _LINKS.c.scope == scope,
        _LINKS.c.kind == LinkKind.ENDED.value,
        _LINKS.c.link <= number,
    )
    return sa.and_(_CHARGES.c.scope == scope, ended)
