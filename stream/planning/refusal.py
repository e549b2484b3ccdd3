"""Which window the filter refuses first, if every window before it ends at its worst.

The public schedule is walked with the real filter (:mod:`accountant.budget.filter`) in its fixed
order. Under unit ``user`` losses of a period only add up, so the walk starts where the sum of all
that ended still fits: counting windows by their numbers finds that instant, however many there are.
Of a run of windows the first one asks for what the whole run may cost, the others for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.budget.filter import UserFilter
from accountant.budget.standings import Standing
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.units import to_loss_units
from stream.planning.budget import periods_of
from stream.planning.search import largest
from stream.planning.series import ONE_PERIOD, Spans
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.budget.plan import ScopePlan
    from stream.model.alarms import Budget
    from stream.model.queries import Query
    from stream.planning.series import Series

__all__ = ["Refusal", "first_refusal"]

_TEN_YEARS_MS = 3_653 * DAY_MS


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

    Looked at is the period that costs most, or ten years of a lifetime (its declared history, where
    there is one).

    Args:
        plan: of the budget.
        queries: its alarms, in the plan's order.
        budget: its periods and caps, of unit ``user``.
    """
    if plan.worst_units is not None and plan.fits:
        return None
    units = {alarm.query: to_loss_units(alarm.epsilon) for alarm in plan.alarms}
    schedule = Spans(queries, units, budget)
    wall = plan.terms.epsilon_max_units
    table = periods_of(budget)
    if table is None:
        since_ms, until_ms = schedule.span(_TEN_YEARS_MS)
        return _walked_user(schedule.inside(since_ms, until_ms), wall, since_ms, until_ms)
    since_ms, until_ms = schedule.dearest_period(table)
    series = schedule.touching(table.calendar, since_ms, until_ms)
    longest_ms = max(query.calendar.longest_ms for query in queries)
    return _walked_user(series, wall, since_ms, until_ms + longest_ms)


def _walked_user(
    series: Sequence[Series], wall: int, since_ms: int, until_ms: int
) -> Refusal | None:
    def held(time_ms: int) -> int:
        return sum(one.held(time_ms) for one in series)

    if held(until_ms) <= wall:
        return None
    low_ms = largest(lambda time_ms: held(time_ms) <= wall, since_ms, until_ms - 1)
    granted = {one.query.id: one.ended(low_ms) for one in series}
    total = {ONE_PERIOD: held(low_ms)}
    judge = UserFilter(wall, total, total)
    ending = (one.ending_at(low_ms + 1) for one in series)
    charges = sorted((one for one in ending if one is not None), key=lambda one: one.key)
    shapes = {one.query.id: one.shape for one in series}
    for charge in charges:  # until one is refused; the others end at their worst
        key = charge.key
        shape = shapes[key.query]
        if judge.answer(charge, shape) is not Answer.RESERVED:
            return Refusal(key.query, key.start_ms, key.end_ms, since_ms, granted)
        worst = Held(key.start_ms, key.end_ms, charge.loss_units, shape)
        judge.hold(Standing(worst, open=False, periods=charge.periods))
        granted[key.query] += 1
    return None
