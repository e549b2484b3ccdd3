"""A whole period of a budget, played in the order of admission: who is granted how many windows.

The real filter (:mod:`accountant.budget.filter`) is asked for every window in turn, as the ledger
asks it, shares included. Every window ends at its worst; of a run of windows the first one that is
granted takes what the whole run may cost, and those after it take nothing.

Played is, under unit ``user``, the period that costs a person most, with as much before it as its
first windows reach back; under unit ``event``, a week; of a lifetime its declared history, or ten
years, of which only the first window that is refused is said. No more than ``MOST_STEPS`` windows
are asked for, fewer where each is compared with many. That is counted work: the answer is the same
on every machine, and says how far it goes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.budget.standings import Standing
from accountant.costs.charges import UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.units import PrivacyUnit, to_loss_units
from stream.decisions.registration import fresh_filter
from stream.planning.budget import periods_of
from stream.planning.series import WEEK_MS, Spans
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.budget.filter import BudgetFilter
    from accountant.budget.plan import BudgetPlan, ScopePlan
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.planning.series import Series
    from stream.windows.calendars import Calendar

__all__ = ["MOST_STEPS", "AlarmWindows", "Played", "Refusal", "played", "starving"]

MOST_STEPS: Final = 60_000
"""Windows that one play asks for: about a second's work."""

_EVENT_STEPS, _FEWEST_STEPS = 3_000, 1_000
_TEN_YEARS_MS: Final = 3_653 * DAY_MS
_EVENT_LOOKS: Final = 600_000
"""Windows that overlap one that is asked about, all in all: each of them is looked at."""


@dataclass(frozen=True, slots=True)
class AlarmWindows:
    """What becomes of one alarm's windows.

    Args:
        asked: windows that end in what was played.
        granted: how many of them it gets.
    """

    asked: int
    granted: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first window that the filter refuses.

    Args:
        alarm: its alarm.
        start_ms: its start.
        granted: windows granted before it, by alarm.
    """

    alarm: str
    start_ms: int
    granted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Played:
    """One budget's period, as it goes when every window ends at its worst.

    Args:
        since_ms: where the period begins.
        until_ms: up to where it was played, inclusive of windows that end then.
        whole: whether that is its end.
        alarms: by name, in the plan's order; none of a lifetime without end.
        refused: the first window that is refused; ``None`` where none is.
    """

    since_ms: int
    until_ms: int
    whole: bool
    alarms: Mapping[str, AlarmWindows]
    refused: Refusal | None

    @property
    def fewer(self) -> dict[str, AlarmWindows]:
        """The alarms that get fewer windows than they ask for."""
        return {name: one for name, one in self.alarms.items() if one.granted < one.asked}


def played(plan: ScopePlan, alarms: Sequence[Alarm], budget: Budget) -> Played:
    """Play a budget's period.

    Args:
        plan: of the budget.
        alarms: its alarms, in the plan's order.
        budget: its unit, periods and caps.
    """
    units = {alarm.query: to_loss_units(alarm.epsilon) for alarm in plan.alarms}
    spans, judge = Spans(alarms, units, budget), fresh_filter(budget, alarms)
    fits = plan.fits and plan.worst_units is not None
    if budget.unit is PrivacyUnit.EVENT:
        since_ms, until_ms = spans.span(WEEK_MS)
        overlapping = sum(query.calendar.charged for query in alarms)
        most = min(_EVENT_STEPS, max(_FEWEST_STEPS, _EVENT_LOOKS // overlapping))
        play = _Play(judge, spans.inside(since_ms, until_ms), (), (since_ms, until_ms), until_ms)
        return play.all_granted() if fits else play.run(most)
    starts: Sequence[int] = (0,)
    table = periods_of(budget)
    if table is None:
        since_ms, until_ms = spans.span(_TEN_YEARS_MS)
        series = spans.inside(since_ms, until_ms)
    else:
        since_ms, until_ms = spans.dearest_period(table)
        series = spans.touching(table.calendar, since_ms, until_ms)
        if not fits:
            starts = _period_starts(table.calendar, min(one.begins_ms for one in series), since_ms)
            series = spans.touching(table.calendar, starts[0], until_ms)
    last_ms = until_ms
    if table is not None:  # those that begin in the period
        last_ms += max(query.calendar.longest_ms for query in alarms)
    play = _Play(judge, series, starts, (since_ms, until_ms), last_ms)
    found = play.all_granted() if fits else play.run(MOST_STEPS)
    endless = table is None and not all(query.feed.history for query in alarms)
    return replace(found, alarms={}) if endless else found


def starving(alarms: Alarms, planned: BudgetPlan) -> Iterator[str]:
    """Yield a sentence for every alarm that others leave no window in a whole period.

    Args:
        alarms: the configuration.
        planned: of its budgets.
    """
    for plan in planned.scopes:
        queries = [alarms.running[alarm.query] for alarm in plan.alarms]
        whole = played(plan, queries, alarms.budget)
        for name, windows in whole.fewer.items():
            if not windows.granted:
                yield (
                    f"{plan.terms.scope}: {name!r} gets none of its {windows.asked} windows if all "
                    "end at their worst, as `tocsin plan` shows"
                )


class _Play:
    """Asks a filter for windows in their fixed order.

    Args:
        judge: holds nothing yet.
        series: the windows of each alarm.
        starts: starts (ms) of the periods they touch, ascending; none under unit ``event``. A
            window that starts before the first of them is not asked for: there a ledger begins.
        counted_ms: windows that end by the first of these or after the second are played, and not
            counted.
        last_ms: windows that end later are not asked for.
    """

    def __init__(
        self,
        judge: BudgetFilter,
        series: Sequence[Series],
        starts: Sequence[int],
        counted_ms: tuple[int, int],
        last_ms: int,
    ) -> None:
        self._judge = judge
        self._series = series
        self._starts = starts
        self._since_ms, self._until_ms = counted_ms
        self._last_ms = last_ms
        self._asked = dict.fromkeys((one.alarm.id for one in series), 0)
        self._granted = dict(self._asked)
        self._runs: dict[str, tuple[int, ...]] = {}
        self._refused: Refusal | None = None

    def all_granted(self) -> Played:
        """Return what becomes of windows of which none is ever refused."""
        for one in self._series:
            stop = min(one.stop, one.windows.first_ending_after(self._until_ms))
            self._asked[one.alarm.id] = one.windows.between(one.first, stop)
        self._granted = dict(self._asked)
        return self._played(self._until_ms, whole=True)

    def run(self, most: int) -> Played:
        """Ask for windows until there are no more, or until so many were asked for."""
        following = [  # ordered as windows are
            (key, at, index)
            for at, one in enumerate(self._series)
            if (key := one.key_of(index := self._first(one))).end_ms <= self._last_ms
        ]
        heapify(following)
        for _ in range(most):
            if not following:
                break
            key, at, index = following[0]
            one = self._series[at]
            index = one.alarm.calendar.next_active(max(index + 1, self._ask(one, key, index)))
            after = one.key_of(index) if index < one.stop else None
            if after is None or after.end_ms > self._last_ms:
                heappop(following)
            else:
                heapreplace(following, (after, at, index))
        played_ms = following[0][0].end_ms - 1 if following else self._until_ms
        until_ms = min(played_ms, self._until_ms)
        return self._played(until_ms, whole=not following)

    def _first(self, one: Series) -> int:
        """Return the first window that is asked for."""
        calendar = one.alarm.calendar
        first = max(one.first, calendar.first_starting_at(self._starts[0])) if self._starts else 0
        return calendar.next_active(max(one.first, first))

    def _ask(self, one: Series, key: WindowKey, index: int) -> int:
        """Ask for a window; return the number before which every other one is refused, too."""
        periods = self._touched(key)
        in_run = one.openers is not None
        paid = in_run and self._runs.get(key.query) == periods
        cost = UniformCost(0, one.charge.cost.cells) if paid else one.charge.cost
        charge = replace(one.charge, key=key, cost=cost, periods=periods)
        counted = self._since_ms < key.end_ms <= self._until_ms
        self._asked[key.query] += counted
        if self._judge.answer(charge, one.shape) is Answer.RESERVED:
            held = Held(key.start_ms, key.end_ms, charge.loss_units, one.shape)
            cap = one.charge.cap
            self._judge.hold(Standing(held, False, periods, query=key.query, cap=cap))
            self._granted[key.query] += counted
            if in_run:
                self._runs[key.query] = periods
            return 0
        if self._refused is None and key.end_ms > self._since_ms:
            self._refused = Refusal(key.query, key.start_ms, dict(self._granted))
        if not periods:
            return 0
        # At their worst windows give nothing back: one of the same period finds no more room.
        at = bisect_right(self._starts, periods[0])
        end_ms = self._starts[at] if at < len(self._starts) else self._until_ms
        stop = max(index + 1, one.windows.first_ending_after(end_ms))
        if counted:
            self._asked[key.query] += one.windows.between(index + 1, stop)
        return stop

    def _touched(self, key: WindowKey) -> tuple[int, ...]:
        first = max(bisect_right(self._starts, key.start_ms) - 1, 0)
        return tuple(self._starts[first : bisect_left(self._starts, key.end_ms)])

    def _played(self, until_ms: int, *, whole: bool) -> Played:
        alarms = {
            name: AlarmWindows(asked, self._granted[name]) for name, asked in self._asked.items()
        }
        return Played(self._since_ms, until_ms, whole, alarms, self._refused)


def _period_starts(calendar: Calendar, begins_ms: int, since_ms: int) -> tuple[int, ...]:
    """Return the starts of the periods from the one that holds an instant to one that begins."""
    first, last = (
        int(calendar.containing(np.array([at], np.int64))[1][0]) for at in (begins_ms, since_ms)
    )
    starts = (calendar.bounds(index)[0] for index in range(first, last + 1))
    return tuple(dict.fromkeys(starts))
