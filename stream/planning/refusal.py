"""Which window the filter refuses first, if every window before it ends at its worst.

The public schedule is walked with the real filter (:mod:`accountant.budget.filter`) in its fixed
order. Under unit ``user`` losses of a period only add up, so the walk starts where the sum of all
that ended still fits: counting windows by their numbers finds that instant, however many there are.
Of a run of windows the first one asks for what the whole run may cost, the others for nothing.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.budget.filter import EventFilter, Standing, UserFilter
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.units import PrivacyUnit, to_loss_units
from stream.decisions.registration import shape_of
from stream.model.alarms import cells_per_unit, has_runs
from stream.planning.budget import REFERENCE_MS, period_table
from stream.planning.occupancy import ActiveWindows, run_breaks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.budget.plan import ScopePlan
    from accountant.regions.shapes import Shape
    from stream.model.alarms import Budget
    from stream.model.queries import Query
    from stream.windows.calendars import Calendar
    from stream.windows.periods import Periods

__all__ = ["Refusal", "first_refusal"]

_DAY_MS = 86_400_000
_TEN_YEARS_MS = 3_653 * _DAY_MS
_WEEK_MS = 7 * _DAY_MS
_MOST_STEPS, _FEWEST_STEPS = 3_000, 1_000
_MOST_LOOKS = 600_000  # at windows that overlap the one asked about, all in all
_PERIOD = 0  # one period is walked; which one, the filter needs not know


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first window that the filter refuses.

    Args:
        query: its alarm.
        start_ms: its start.
        end_ms: its end.
        since_ms: where the walk began: the start of the period, of the declared history, or the
            Monday of a reference week.
        granted: windows granted before it, by alarm.
    """

    query: str
    start_ms: int
    end_ms: int
    since_ms: int
    granted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Series:
    """The windows of one alarm that are walked.

    Args:
        query: the alarm.
        charge: what each costs, or a whole run; its window is a stand-in.
        shape: which rows they cover.
        windows: counts them.
        first: number of the first one.
        stop: number after the last one.
        openers: numbers of those that open a run, ascending; ``None`` where each is charged.
    """

    query: Query
    charge: Charge
    shape: Shape
    windows: ActiveWindows
    first: int
    stop: int
    openers: NDArray[np.int64] | None

    def ended(self, time_ms: int) -> int:
        """Count the windows that have ended by an instant."""
        return self.windows.between(self.first, self._passed(time_ms))

    def held(self, time_ms: int) -> int:
        """Return what those windows cost, in loss units."""
        if self.openers is None:
            return self.charge.loss_units * self.ended(time_ms)
        opened = int(np.searchsorted(self.openers, self._passed(time_ms)))
        return self.charge.loss_units * opened

    def ending_at(self, time_ms: int) -> Charge | None:
        """Return the window that ends at an instant, if it runs."""
        index = self._passed(time_ms) - 1
        if index < self.first or not self.query.calendar.active(index):
            return None
        charge = self._charge(index)
        return charge if charge.key.end_ms == time_ms else None

    def __iter__(self) -> Iterator[Charge]:
        """Yield the windows in order."""
        calendar = self.query.calendar
        index = calendar.next_active(self.first)
        while index < self.stop:
            yield self._charge(index)
            index = calendar.next_active(index + 1)

    def _passed(self, time_ms: int) -> int:
        """Return the number of the first walked window that ends after an instant."""
        return min(max(self.windows.first_ending_after(time_ms), self.first), self.stop)

    def _charge(self, index: int) -> Charge:
        start_ms, end_ms = self.query.calendar.bounds(index)
        key = WindowKey(end_ms=end_ms, query=self.query.id, start_ms=start_ms)
        one = self.charge
        cost = one.cost if self._opens(index) else UniformCost(0, one.cost.cells)
        return Charge(key, cost, one.cells_per_unit, one.periods)

    def _opens(self, index: int) -> bool:
        """Whether a window pays, for itself or for the run that it opens."""
        if self.openers is None:
            return True
        at = int(np.searchsorted(self.openers, index))
        return at < self.openers.size and int(self.openers[at]) == index


@dataclass(frozen=True, slots=True)
class _Schedule:
    """Which windows there are, and what each costs.

    Args:
        queries: the alarms of one budget.
        units: loss of one cell, by alarm, in loss units.
        budget: its unit, periods and caps.
    """

    queries: Sequence[Query]
    units: Mapping[str, int]
    budget: Budget

    def inside(self, since_ms: int, until_ms: int) -> list[_Series]:
        """Return the windows that lie in a span, and in their feed's history if all have one."""
        found: list[_Series] = []
        for query in self.queries:
            history = query.feed.history if self._all_replayed else None
            from_ms, end_ms = history or (since_ms, until_ms)
            windows = ActiveWindows(query.calendar, from_ms, end_ms)
            first = query.calendar.first_starting_at(from_ms)
            stop = max(first, windows.first_ending_after(end_ms))
            # Without periods all windows are one run.
            breaks = np.zeros(0, np.int64) if has_runs(query, self.budget) else None
            found.append(self._series(query, windows, first, stop, breaks))
        return found

    def touching(self, periods: Calendar, since_ms: int, until_ms: int) -> list[_Series]:
        """Return the windows that touch a period."""
        found: list[_Series] = []
        for query in self.queries:
            windows = ActiveWindows(query.calendar, since_ms, until_ms)
            stop = query.calendar.first_starting_at(until_ms)
            first = windows.first_ending_after(since_ms)
            breaks = None
            if has_runs(query, self.budget):
                breaks = run_breaks(query.calendar, periods, since_ms, until_ms)
            found.append(self._series(query, windows, first, max(first, stop), breaks))
        return found

    def span(self, length_ms: int) -> tuple[int, int]:
        """Return where a walk without periods begins and ends."""
        histories = [query.feed.history for query in self.queries if query.feed.history]
        if not self._all_replayed:
            return REFERENCE_MS, REFERENCE_MS + length_ms
        return min(one[0] for one in histories), max(one[1] for one in histories)

    def dearest_period(self, periods: Periods) -> tuple[int, int]:
        """Return the first period that costs a person most."""
        table = period_table(periods)
        totals = np.zeros(len(table.starts_ms), dtype=object)  # exact: sums may pass 64 bits
        for query in self.queries:
            loss = self.units[query.id] * cells_per_unit(query, self.budget)
            charged = table.charged(query.calendar, runs=has_runs(query, self.budget))
            totals += charged.astype(object) * loss
        at = int(totals.argmax())
        return int(table.starts_ms[at]), int(table.ends_ms[at])

    @property
    def _all_replayed(self) -> bool:
        return all(query.feed.history is not None for query in self.queries)

    def _series(
        self,
        query: Query,
        windows: ActiveWindows,
        first: int,
        stop: int,
        breaks: NDArray[np.int64] | None,
    ) -> _Series:
        charge = Charge(
            key=WindowKey(end_ms=1, query=query.id, start_ms=0),
            cost=UniformCost(units=self.units[query.id], cells=len(query.domain)),
            cells_per_unit=cells_per_unit(query, self.budget),
            periods=(_PERIOD,) if self.budget.unit is PrivacyUnit.USER else (),
        )
        openers = None if breaks is None else windows.openers(breaks, first, stop)
        return _Series(query, charge, shape_of(query), windows, first, stop, openers)


def first_refusal(plan: ScopePlan, queries: Sequence[Query], budget: Budget) -> Refusal | None:
    """Return the first window that is refused, or ``None`` if none is found.

    Looked at is, under unit ``user``, the period that costs most, or ten years of a lifetime (its
    declared history, where there is one); under unit ``event`` a week of windows, 3,000 at most.

    Args:
        plan: of the budget.
        queries: its alarms, in the plan's order.
        budget: its unit, periods and caps.
    """
    if plan.worst_units is not None and plan.fits:
        return None
    units = {alarm.query: to_loss_units(alarm.epsilon) for alarm in plan.alarms}
    schedule = _Schedule(queries, units, budget)
    wall = plan.terms.epsilon_max_units
    if budget.unit is PrivacyUnit.EVENT:
        since_ms, until_ms = schedule.span(_WEEK_MS)
        return _walked_event(schedule.inside(since_ms, until_ms), wall, since_ms)
    if budget.periods is None or budget.periods.calendar is None:
        since_ms, until_ms = schedule.span(_TEN_YEARS_MS)
        return _walked_user(schedule.inside(since_ms, until_ms), wall, since_ms, until_ms)
    since_ms, until_ms = schedule.dearest_period(budget.periods)
    longest_ms = max(query.calendar.longest_ms for query in queries)
    return _walked_user(
        schedule.touching(budget.periods.calendar, since_ms, until_ms),
        wall,
        since_ms,
        until_ms + longest_ms,
    )


def _walked_user(
    series: Sequence[_Series], wall: int, since_ms: int, until_ms: int
) -> Refusal | None:
    def held(time_ms: int) -> int:
        return sum(one.held(time_ms) for one in series)

    if held(until_ms) <= wall:
        return None
    low_ms, high_ms = since_ms, until_ms
    while high_ms - low_ms > 1:
        middle_ms = (low_ms + high_ms) // 2
        if held(middle_ms) <= wall:
            low_ms = middle_ms
        else:
            high_ms = middle_ms
    granted = {one.query.id: one.ended(low_ms) for one in series}
    total = {_PERIOD: held(low_ms)}
    judge = UserFilter(wall, total, total)
    ending = (one.ending_at(high_ms) for one in series)
    charges = sorted((one for one in ending if one is not None), key=lambda one: one.key)
    shapes = {one.query.id: one.shape for one in series}
    return _asked(charges, judge, shapes, since_ms, granted)


def _walked_event(series: Sequence[_Series], wall: int, since_ms: int) -> Refusal | None:
    walk = heapq.merge(*series, key=lambda charge: charge.key)
    shapes = {one.query.id: one.shape for one in series}
    granted = dict.fromkeys(shapes, 0)
    overlapping = sum(one.query.calendar.overlap for one in series)
    most = min(_MOST_STEPS, max(_FEWEST_STEPS, _MOST_LOOKS // overlapping))
    steps = (charge for charge, _ in zip(walk, range(most), strict=False))
    return _asked(steps, EventFilter(wall, []), shapes, since_ms, granted)


def _asked(
    charges: Iterable[Charge],
    judge: EventFilter | UserFilter,
    shapes: Mapping[str, Shape],
    since_ms: int,
    granted: dict[str, int],
) -> Refusal | None:
    """Ask for windows in order until one is refused; the others end at their worst."""
    for charge in charges:
        key = charge.key
        shape = shapes[key.query]
        if judge.answer(charge, shape) is not Answer.RESERVED:
            return Refusal(key.query, key.start_ms, key.end_ms, since_ms, granted)
        held = Held(key.start_ms, key.end_ms, charge.loss_units, shape)
        judge.hold(Standing(held, open=False, periods=charge.periods))
        granted[key.query] += 1
    return None
