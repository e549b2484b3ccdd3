"""What tests of the ledger share: a clock, an example budget, a judge that does no counting."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from accountant.costs.charges import Charge, PeriodCap, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.ledger.ledger import Ledger
from accountant.records import (
    Answer,
    BudgetTerms,
    LogIdentity,
    Partial,
    QueryRegistration,
    Request,
    SeenDecision,
    StoredDecision,
)
from accountant.regions.shapes import ANYWHERE, Shape
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accountant.costs.noisy import Noisy
    from accountant.records import LedgerStatus, ScopeStatus

EVENT, USER = PrivacyUnit.EVENT, PrivacyUnit.USER
FINGERPRINT = "f1"
TOPIC_ID = "topic-1"
CELLS = 4
each_unit = pytest.mark.parametrize("unit", list(PrivacyUnit))

Opens: TypeAlias = "Callable[[], Ledger]"
"""Opens a ledger: the test's own once more, or a new one."""


class Clock:
    """A clock that stands until a test moves it."""

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """Return the time."""
        return self.now_ms


@dataclass(frozen=True)
class Series:
    """One query's windows: every ``step`` from ``first`` on, ``size`` long.

    A cell costs ``units`` at worst and covers rows of ``shape``. Of every period ``share`` units
    are its own, and a person counts in so many ``windows`` of it.
    """

    query: str
    size: int = 10
    step: int = 10
    units: int = 1
    cells_per_unit: int = 1
    period: int = 0
    fingerprint: str = FINGERPRINT
    first: int = 0
    shape: Shape = ANYWHERE
    share: int = 0
    windows: int | None = None

    def key(self, index: int) -> WindowKey:
        """Return window ``index``."""
        start = self.first + index * self.step
        return WindowKey(end_ms=start + self.size, query=self.query, start_ms=start)

    def request(self, index: int, *, too_old: bool = False) -> Request:
        """Ask for window ``index``; its periods are ``period`` long, none when that is 0."""
        key = self.key(index)
        periods: tuple[int, ...] = ()
        if self.period:
            first = key.start_ms // self.period * self.period
            periods = tuple(range(first, key.end_ms, self.period))
        charge = Charge(
            key=key,
            cost=UniformCost(units=self.units, cells=CELLS),
            cells_per_unit=self.cells_per_unit,
            periods=periods,
            cap=None
            if self.windows is None
            else PeriodCap(self.windows, self.query, self.fingerprint),
        )
        return Request(charge, self.fingerprint, too_old)


A = Series("a")
B = Series("b", units=2)
HOP = Series("hop", size=20, step=10, units=2)


def open_ledger(url: str, clock: Clock | None = None, **options: object) -> Ledger:
    """Open a ledger with a clock that stands."""
    settings = {"clock_ms": clock or Clock(), "entropy": os.urandom, **options}
    return Ledger.open(url, **settings)  # type: ignore[arg-type]  # options are the test's own


def terms(unit: PrivacyUnit, wall: int, scope: str = "s") -> BudgetTerms:
    """Return a budget of ``wall`` loss units."""
    return BudgetTerms(scope, unit, wall, "lifetime" if unit is PrivacyUnit.USER else "")


def registration(series: Series, scope: str = "s", definition: str = "{}") -> QueryRegistration:
    """Register a series under its name, from its first window on; each budget has its own feed."""
    feed = "feed" if scope == "s" else scope
    return QueryRegistration(
        *(series.query, scope, feed, series.fingerprint, definition),
        first_start_ms=series.first,
        shape=series.shape,
        share_units=series.share,
    )


def set_up(ledger: Ledger, unit: PrivacyUnit, wall: int, all_series: Sequence[Series]) -> None:
    """Register a budget, one log with two partitions and the queries."""
    ledger.pins.register_budget(terms(unit, wall))
    ledger.pins.register_log(LogIdentity("feed", "cluster", TOPIC_ID, "topic", 2))
    for series in all_series:
        ledger.pins.register_query(registration(series))


def requests(
    all_series: Sequence[Series], until_ms: int, *, too_old: bool = False
) -> list[Request]:
    """Return every window that ends by an instant, in order."""
    found = [
        series.request(index, too_old=too_old)
        for series in all_series
        for index in range(until_ms // series.step + 1)
        if series.key(index).end_ms <= until_ms
    ]
    return sorted(found, key=lambda request: request.charge.key)


def admit(ledger: Ledger, until_ms: int, *all_series: Series) -> None:
    """Ask for every window that ends by an instant."""
    ledger.admit("s", requests(all_series, until_ms))


def must_verify(ledger: Ledger) -> None:
    """Fail with what ``verify`` finds."""
    found = ledger.reports.verify()
    assert not found, found


def only_scope(ledger: Ledger) -> ScopeStatus:
    """Return how the only budget stands."""
    (scope,) = ledger.reports.status().scopes.values()
    return scope


def status_of(ledger: Ledger) -> ScopeStatus:
    """Return how budget ``s`` stands."""
    return ledger.reports.status().scopes["s"]


def held(ledger: Ledger) -> int:
    """Return what the worst-off unit has lost, open windows at worst."""
    return status_of(ledger).spent_units


def settle(
    ledger: Ledger,
    series: Series,
    index: int,
    *,
    alarms: bytes = b"[]",
    units: int | None = None,
    cells: Sequence[int] | None = None,
    alarm_count: int = 0,
    noisy: Noisy | None = None,
) -> StoredDecision:
    """Settle a window at its worst case, at ``units`` a cell, or cell by cell."""
    cost: UniformCost | LevelCosts = UniformCost(series.units if units is None else units, CELLS)
    if cells is not None:
        cost = LevelCosts.of(np.array(cells, dtype=np.int64))
    return ledger.settle(
        series.key(index),
        fingerprint=series.fingerprint,
        cost=cost,
        alarms=alarms,
        alarm_count=alarm_count,
        next_start_ms=series.key(index + 1).start_ms,
        release_ms=series.key(index).end_ms,
        noisy=noisy,
    )


def deny(ledger: Ledger, series: Series, index: int, reason: str = "incomplete") -> StoredDecision:
    """Deny a window."""
    return ledger.deny(
        series.key(index),
        fingerprint=series.fingerprint,
        reason=reason,
        next_start_ms=series.key(index + 1).start_ms,
        release_ms=series.key(index).end_ms,
    )


def partial(
    series: Series, index: int, partition: int = 0, values: Sequence[int] = (3, 1)
) -> Partial:
    """Return a small partial of a window."""
    return Partial(
        key=series.key(index),
        partition=partition,
        fingerprint=series.fingerprint,
        topic_id=TOPIC_ID,
        complete=True,
        cells=CELLS,
        index=np.arange(len(values)),
        value=np.array(values, dtype=np.int64),
        first_offset=7,
        last_offset=9,
    )


def decide_all(
    ledger: Ledger,
    all_series: Sequence[Series],
    until_ms: int,
    name: str,
    *,
    refunding: bool = False,
) -> None:
    """Behave as one of many deciders: reserve everything, then decide every window in turn.

    Others do the same at the same time, so a window may be decided between two calls. A query stops
    where a window waits for others, and goes on once they have ended. Windows cost what was
    reserved, or if ``refunding``, every other one nothing.
    """
    ledger.admit("s", requests(all_series, until_ms))
    left = {
        series: [
            index
            for index in range((until_ms - series.first) // series.step + 1)
            if series.key(index).end_ms <= until_ms
        ]
        for series in all_series
    }
    while any(left.values()):
        for series, indices in left.items():
            while indices and _decided(
                ledger, series, indices[0], name, indices[0] % 2 if refunding else None
            ):
                del indices[0]


def _decided(
    ledger: Ledger, series: Series, index: int, name: str, units: int | None
) -> StoredDecision | None:
    """Decide a window unless it waits for others."""
    known = ledger.decision(series.key(index))
    if known is not None:
        return known
    answer = ledger.answer(series.key(index))
    if answer is Answer.PENDING:
        return None
    if answer is Answer.RESERVED:
        return settle(ledger, series, index, alarms=name.encode(), units=units)
    return deny(ledger, series, index, "budget")


def without_checkpoint(status: LedgerStatus) -> LedgerStatus:
    """Return a status without the end of the log and what lies in archives."""
    scopes = {name: replace(one, archived_ms=None) for name, one in status.scopes.items()}
    return replace(status, checkpoint="", scopes=scopes)


def answers(ledger: Ledger, series: Series, count: int) -> list[Answer]:
    """Return what the first windows are answered."""
    return [ledger.answer(series.key(index)) for index in range(count)]


def seen(decision: StoredDecision, **changes: Any) -> SeenDecision:
    """Return a decision on budget ``s`` as it stands on the topic."""
    one = SeenDecision(
        ledger_id=decision.ledger_id,
        query=decision.key.query,
        scope="s",
        start_ms=decision.key.start_ms,
        end_ms=decision.key.end_ms,
        sequence=decision.sequence,
        outcome=decision.outcome,
        epsilon_units=decision.epsilon_units,
        alarm_count=decision.alarm_count,
        next_start_ms=decision.key.end_ms,
    )
    return replace(one, **changes)
