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

from accountant.budget.filter import EventFilter, UserFilter
from accountant.budget.standings import Standing
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.units import PrivacyUnit, to_loss_units
from stream.planning.series import ONE_PERIOD, WEEK_MS, Spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accountant.budget.plan import ScopePlan
    from accountant.costs.charges import Charge
    from accountant.regions.shapes import Shape
    from stream.model.alarms import Budget
    from stream.model.queries import Query
    from stream.planning.series import Series

__all__ = ["Refusal", "first_refusal"]

_DAY_MS = 86_400_000
_TEN_YEARS_MS = 3_653 * _DAY_MS
_MOST_STEPS, _FEWEST_STEPS = 3_000, 1_000
_MOST_LOOKS = 600_000  # at windows that overlap the one asked about, all in all


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
    schedule = Spans(queries, units, budget)
    wall = plan.terms.epsilon_max_units
    if budget.unit is PrivacyUnit.EVENT:
        since_ms, until_ms = schedule.span(WEEK_MS)
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
    series: Sequence[Series], wall: int, since_ms: int, until_ms: int
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
    total = {ONE_PERIOD: held(low_ms)}
    judge = UserFilter(wall, total, total)
    ending = (one.ending_at(high_ms) for one in series)
    charges = sorted((one for one in ending if one is not None), key=lambda one: one.key)
    shapes = {one.query.id: one.shape for one in series}
    return _asked(charges, judge, shapes, since_ms, granted)


def _walked_event(series: Sequence[Series], wall: int, since_ms: int) -> Refusal | None:
    walk = heapq.merge(*series, key=lambda charge: charge.key)
    shapes = {one.query.id: one.shape for one in series}
    granted = dict.fromkeys(shapes, 0)
    overlapping = sum(one.query.calendar.charged for one in series)
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
