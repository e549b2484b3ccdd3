"""From a configuration to its plan: what every alarm costs, and whether the budget carries them.

Guarantee: no data and no ledger is looked at. Under unit ``user`` the kinds of periods are those of
the two years from 2024 on, or of the first 20,000 periods; the filter itself counts real windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from accountant.plan import AlarmCost, plan_budget
from accountant.predicates import Region, ValueSet
from accountant.shapes import Shape
from accountant.units import to_loss_units
from operators.registry import price
from stream.planning.occupancy import ActiveWindows
from stream.registration import scopes_of, shape_of, terms_of
from stream.release import cells_per_unit, scope_of
from stream.windows import FixedCalendar, LocalCalendar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.plan import BudgetPlan
    from operators.base import Plan
    from stream.model import Alarms, Budget, Query
    from stream.windows import Calendar, Periods, Schedule

__all__ = [
    "ACTIVE",
    "REFERENCE_MS",
    "PeriodTable",
    "alarm_costs",
    "budget_plan",
    "operator_plans",
    "period_table",
    "planned_shape",
]

ACTIVE = "active"
"""Attribute that holds the minute of the week, for alarms with a schedule; fields have a dot."""

REFERENCE_MS = 1_704_067_200_000
"""2024-01-01T00:00Z, a Monday and the start of a leap year: plans look at what follows."""

_LOOKED_AT_MS = 2 * 366 * 86_400_000
_MOST_PERIODS = 20_000
_WEEK_MINUTES = 7 * 1440


def operator_plans(alarms: Alarms) -> dict[str, Plan]:
    """Return every alarm's worst case, from configuration alone."""
    return {
        query.id: price(query.mechanism, query.condition, query.aim)
        for query in alarms.queries.values()
    }


def budget_plan(alarms: Alarms, plans: Mapping[str, Plan] | None = None) -> BudgetPlan:
    """Say what every alarm costs and whether the budget carries them all.

    Args:
        alarms: the configuration.
        plans: worst case of every alarm, by id; planned here when left out.
    """
    plans = operator_plans(alarms) if plans is None else plans
    costs: list[AlarmCost] = []
    for scope in scopes_of(alarms):
        queries = [query for query in alarms.queries.values() if scope_of(query, alarms) == scope]
        costs += alarm_costs(scope, queries, plans, alarms.budget)
    return plan_budget([terms_of(alarms, scope) for scope in scopes_of(alarms)], costs)


def alarm_costs(
    scope: str, queries: Sequence[Query], plans: Mapping[str, Plan], budget: Budget
) -> list[AlarmCost]:
    """Return all alarms of one budget as the planner sees them.

    Args:
        scope: name of the budget.
        queries: all that draw on it, in order.
        plans: worst case of each, by id.
        budget: unit, periods and caps.
    """
    kinds = _kinds_of_periods(queries, budget.periods)
    return [
        AlarmCost(
            query=query.id,
            scope=scope,
            epsilon_units=to_loss_units(plans[query.id].epsilon),
            limit=plans[query.id].limit,
            cells_per_unit=cells_per_unit(query, budget),
            overlap=query.calendar.overlap,
            windows_per_period=kind,
            shape=planned_shape(query),
            steady=_is_steady(query.calendar),
            windows=query.calendar.describe(),
        )
        for query, kind in zip(queries, kinds, strict=True)
    ]


def planned_shape(query: Query) -> Shape:
    """Return which rows a query covers, its schedule included.

    Windows lie inside active intervals, so that alarms whose schedules share no minute of the week
    share no instant. The ledger needs no such attribute: it knows when every window is.
    """
    shape = shape_of(query)
    schedule = query.calendar.schedule
    if schedule is None:
        return shape
    when = Region.of({f"{ACTIVE} ({schedule.timezone})": _minutes(schedule)})
    return Shape((shape.as_region & when).canonical, shape.grouping)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodTable:
    """The periods that a plan looks at.

    Args:
        starts_ms: shape (n,), int64, ascending.
        ends_ms: shape (n,), int64.
    """

    starts_ms: NDArray[np.int64]
    ends_ms: NDArray[np.int64]

    def windows(self, calendar: Calendar) -> NDArray[np.int64]:
        """Return how many active windows touch each period, shape (n,)."""
        active = ActiveWindows(calendar, int(self.starts_ms[0]), int(self.ends_ms[-1]))
        return active.touching(self.starts_ms, self.ends_ms)

    @property
    def longest_ms(self) -> int:
        """Length of the longest period."""
        return int((self.ends_ms - self.starts_ms).max())


@lru_cache(maxsize=16)
def period_table(periods: Periods) -> PeriodTable:
    """Return the periods that follow 2024-01-01.

    Raises:
        ValueError: the one period of ``lifetime`` has no end.
    """
    calendar = periods.calendar
    if calendar is None:
        raise ValueError("a lifetime is no period that could be looked at")
    first = calendar.first_starting_at(REFERENCE_MS)
    bounds: list[tuple[int, int]] = []
    while not bounds or (
        bounds[-1][1] <= REFERENCE_MS + _LOOKED_AT_MS and len(bounds) < _MOST_PERIODS
    ):
        bounds.append(calendar.bounds(first + len(bounds)))
    table = np.array([each for each in bounds if each[0] < each[1]], np.int64)
    return PeriodTable(np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1]))


def _kinds_of_periods(
    queries: Sequence[Query], periods: Periods | None
) -> list[tuple[int, ...] | None]:
    """Return, per query, its windows in every kind of period; periods of one kind are one."""
    if periods is None or periods.calendar is None or not queries:
        return [None] * len(queries)
    table = period_table(periods)
    calendars = {query.calendar: table.windows(query.calendar) for query in queries}
    counts = np.stack([calendars[query.calendar] for query in queries])
    kinds = np.unique(counts, axis=1)
    return [tuple(row) for row in kinds.tolist()]


def _is_steady(calendar: Calendar) -> bool:
    """Whether every instant lies in as many windows as any other."""
    match calendar:
        case FixedCalendar(size_ms=size, step_ms=step, schedule=None):
            return size % step == 0
        case LocalCalendar(size_days=size, step_days=step, schedule=None):
            return size % step == 0
        case _:
            return False


def _minutes(schedule: Schedule) -> ValueSet:
    """Return the minutes of the week in which a schedule is active."""
    minutes = ValueSet.nothing()
    for start, end in schedule.spans:
        minutes |= ValueSet.between(start, min(end, _WEEK_MINUTES))
        if end > _WEEK_MINUTES:
            minutes |= ValueSet.between(0, end - _WEEK_MINUTES)
    return minutes
