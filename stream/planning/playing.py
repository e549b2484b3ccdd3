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

from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING, Final

from accountant.budget.standings import Standing
from accountant.costs.charges import UniformCost, WindowKey
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.units import PrivacyUnit, to_loss_units
from stream.decisions.registration import charge_of, fresh_filter, shape_of
from stream.model.alarms import has_runs
from stream.planning.budget import periods_of
from stream.planning.occupancy import ActiveWindows, first_ending_after
from stream.windows.localtime import DAY_MS
from stream.windows.periods import REFERENCE_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.budget.plan import BudgetPlan, ScopePlan
    from accountant.costs.charges import Charge
    from accountant.regions.shapes import Shape
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget

__all__ = ["MOST_STEPS", "AlarmWindows", "Played", "Refusal", "played", "starving"]

MOST_STEPS: Final = 60_000
"""Windows that one play asks for: about a second's work."""

_EVENT_STEPS, _FEWEST_STEPS = 3_000, 1_000
_WEEK_MS, _TEN_YEARS_MS = 7 * DAY_MS, 3_653 * DAY_MS
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
        alarms: by name, in the plan's order; none of a lifetime without end.
        refused: the first window that is refused; ``None`` where none is.
    """

    since_ms: int
    until_ms: int
    alarms: Mapping[str, AlarmWindows]
    refused: Refusal | None

    @property
    def fewer(self) -> dict[str, AlarmWindows]:
        """The alarms that get fewer windows than they ask for."""
        return {name: one for name, one in self.alarms.items() if one.granted < one.asked}


def played(plan: ScopePlan, configured: Alarms) -> Played:
    """Play a budget's period.

    Args:
        plan: of the budget.
        configured: the configuration that it is of.
    """
    alarms = [configured.running[one.query] for one in plan.alarms]
    budget = configured.budget
    table, event = periods_of(budget), budget.unit is PrivacyUnit.EVENT
    histories = [alarm.feed.history for alarm in alarms if alarm.feed.history]
    replayed = len(histories) == len(alarms)
    if table is not None:
        at = int(table.losses(plan, configured).argmax())
        since_ms, until_ms = int(table.starts_ms[at]), int(table.ends_ms[at])
        # With as much before it as its first windows reach back: there a ledger begins.
        oldest = (
            each.calendar.bounds(first_ending_after(each.calendar, since_ms))[0] for each in alarms
        )
        begin_ms = budget.touched(min(since_ms, *oldest), since_ms + 1)[0]
        spans = [(begin_ms, until_ms)] * len(alarms)
    else:
        end_ms = REFERENCE_MS + (_WEEK_MS if event else _TEN_YEARS_MS)
        spans = histories if replayed else [(REFERENCE_MS, end_ms)] * len(alarms)
        since_ms, until_ms = min(each[0] for each in spans), max(each[1] for each in spans)
    series = [
        _Series.of(each, budget, to_loss_units(one.epsilon), span, since_ms)
        for each, one, span in zip(alarms, plan.alarms, spans, strict=True)
    ]
    if plan.fits and plan.worst_units is not None:
        whole = Played(since_ms, until_ms, {one.alarm.id: one.windows() for one in series}, None)
    else:
        most = MOST_STEPS
        if event:
            overlapping = sum(alarm.calendar.charged for alarm in alarms)
            most = min(_EVENT_STEPS, max(_FEWEST_STEPS, _EVENT_LOOKS // overlapping))
        whole = _play(series, budget, (since_ms, until_ms), most)
    endless = table is None and not event and not replayed
    return replace(whole, alarms={}) if endless else whole


def starving(alarms: Alarms, planned: BudgetPlan) -> Iterator[str]:
    """Yield a sentence for every alarm that others leave no window in a whole period.

    Args:
        alarms: the configuration.
        planned: of its budgets.
    """
    for plan in planned.scopes:
        for name, windows in played(plan, alarms).fewer.items():
            if not windows.granted:
                yield (
                    f"{plan.terms.scope}: {name!r} gets none of its {windows.asked} windows if all "
                    "end at their worst, as `tocsin plan` shows"
                )


@dataclass(frozen=True, slots=True)
class _Series:
    """The windows of one alarm that are asked for.

    Args:
        alarm: the alarm.
        charge: what each costs, or a whole run; its window is a placeholder.
        shape: which rows they cover.
        in_runs: whether a run is charged with its first window.
        active: counts the active ones.
        asked: their numbers, inactive ones among them.
        counted: numbers of those that end in what is played.
    """

    alarm: Alarm
    charge: Charge
    shape: Shape
    in_runs: bool
    active: ActiveWindows
    asked: range
    counted: range

    @classmethod
    def of(
        cls, alarm: Alarm, budget: Budget, units: int, span: tuple[int, int], since_ms: int
    ) -> _Series:
        """Return the windows of an alarm in a span, or of periods those that begin in them.

        Args:
            alarm: the alarm.
            budget: unit, periods and caps.
            units: loss of one cell, in loss units.
            span: from and until (ms).
            since_ms: windows that end by then are not counted.
        """
        calendar, (begin_ms, until_ms) = alarm.calendar, span
        first, end = calendar.first_starting_at(begin_ms), first_ending_after(calendar, until_ms)
        stop = end if periods_of(budget) is None else calendar.first_starting_at(until_ms)
        return cls(
            alarm=alarm,
            charge=charge_of(alarm, budget, WindowKey(1, alarm.id, 0), units),
            shape=shape_of(alarm),
            in_runs=has_runs(alarm, budget),
            active=ActiveWindows(calendar, begin_ms, until_ms),
            asked=range(first, stop),
            counted=range(max(first, first_ending_after(calendar, since_ms)), min(stop, end)),
        )

    def windows(self, granted: int | None = None, until_ms: int | None = None) -> AlarmWindows:
        """Return how many windows are asked for, and get so many: by default all."""
        low, high = self.counted.start, self.counted.stop
        if until_ms is not None:
            high = min(high, first_ending_after(self.alarm.calendar, until_ms))
        asked = self.active.between(low, high)
        return AlarmWindows(asked, asked if granted is None else granted)

    def in_order(self, full: Mapping[str, int]) -> Iterator[tuple[WindowKey, int, _Series]]:
        """Yield key and number of every window that is asked for.

        Args:
            full: numbers before which no window finds room, by alarm; read before every window.
        """
        calendar = self.alarm.calendar
        index = calendar.next_active(self.asked.start)
        while index < self.asked.stop:
            start_ms, end_ms = calendar.bounds(index)
            yield WindowKey(end_ms=end_ms, query=self.alarm.id, start_ms=start_ms), index, self
            index = calendar.next_active(max(index + 1, full.get(self.alarm.id, 0)))


def _play(series: Sequence[_Series], budget: Budget, span: tuple[int, int], most: int) -> Played:
    """Ask a filter for windows in their order, until there are no more or so many were asked for.

    Args:
        series: the windows of each alarm.
        budget: unit, periods and caps.
        span: since when windows are counted, and until when, by their ends (ms).
        most: windows.
    """
    judge = fresh_filter(budget, [one.alarm for one in series])
    granted = dict.fromkeys((one.alarm.id for one in series), 0)
    paid: dict[str, tuple[int, ...]] = {}
    full: dict[str, int] = {}
    refused, (since_ms, until_ms), ended_ms = None, span, 0
    every = merge(*(one.in_order(full) for one in series))
    for number, (key, index, one) in enumerate(every):
        if number >= most and key.end_ms > ended_ms:
            until_ms = min(until_ms, ended_ms)
            break
        ended_ms = key.end_ms
        periods, cost = budget.touched(key.start_ms, key.end_ms), one.charge.cost
        if one.in_runs and paid.get(key.query) == periods:
            cost = UniformCost(0, cost.cells)
        charge = replace(one.charge, key=key, cost=cost, periods=periods)
        if judge.answer(charge, one.shape) is Answer.RESERVED:
            held = Held(key.start_ms, key.end_ms, charge.loss_units, one.shape)
            judge.hold(Standing(held, False, periods, query=key.query, cap=charge.cap))
            granted[key.query] += index in one.counted
            paid[key.query] = periods
            continue
        if refused is None and key.end_ms > since_ms:
            refused = Refusal(key.query, key.start_ms, dict(granted))
        if periods:  # at their worst windows give nothing back: no other one finds room there
            full[key.query] = first_ending_after(
                one.alarm.calendar, _period_end(budget, periods[0], until_ms)
            )
    alarms = {one.alarm.id: one.windows(granted[one.alarm.id], until_ms) for one in series}
    return Played(since_ms, until_ms, alarms, refused)


def _period_end(budget: Budget, start_ms: int, until_ms: int) -> int:
    """Return the end of the budget period that starts at an instant, or of all that is played."""
    if (calendar := budget.calendar) is None:
        return until_ms
    return calendar.bounds(calendar.first_starting_at(start_ms))[1]
