"""From a configuration to its plan: what every alarm costs, and whether the budget carries them.

Guarantee: no data and no ledger is looked at. Under unit ``user`` the kinds of periods are those of
the two years from 2024 on, or of the first 20,000 periods; the filter itself counts real windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from accountant.budget.loads import AlarmCost
from accountant.budget.plan import plan_budget
from accountant.regions.regions import Region, ValueSet
from accountant.regions.shapes import Shape
from accountant.units import to_loss_units
from stream.decisions.mechanisms import plans_of
from stream.decisions.registration import scopes_of, shape_of, terms_of
from stream.model.alarms import cells_per_unit, has_runs, scope_of, windows_cap
from stream.planning.occupancy import ActiveWindows, run_breaks
from stream.windows.periods import MOST_PERIODS, REFERENCE_END_MS, REFERENCE_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.budget.plan import BudgetPlan, ScopePlan
    from operators.base import Plan
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.windows.calendars import Calendar
    from stream.windows.schedule import Schedule

__all__ = [
    "ACTIVE",
    "PeriodTable",
    "alarm_costs",
    "budget_plan",
    "period_table",
    "periods_of",
    "planned_shape",
]

ACTIVE = "active"
"""Attribute that holds the minute of the week, for alarms with a schedule; fields have a dot."""

_WEEK_MINUTES = 7 * 1440


def budget_plan(alarms: Alarms, plans: Mapping[str, Plan] | None = None) -> BudgetPlan:
    """Say what every alarm costs and whether the budget carries them all.

    Args:
        alarms: the configuration.
        plans: worst case of every alarm, by id; planned here when left out.
    """
    plans = plans_of(alarms) if plans is None else plans
    costs: list[AlarmCost] = []
    for scope in scopes_of(alarms):
        queries = [alarm for alarm in alarms.running.values() if scope_of(alarm, alarms) == scope]
        costs += alarm_costs(scope, queries, plans, alarms.budget)
    return plan_budget([terms_of(alarms, scope) for scope in scopes_of(alarms)], costs)


def alarm_costs(
    scope: str, alarms: Sequence[Alarm], plans: Mapping[str, Plan], budget: Budget
) -> list[AlarmCost]:
    """Return all alarms of one budget as the planner sees them.

    Args:
        scope: name of the budget.
        alarms: all that draw on it, in order.
        plans: worst case of each, by id.
        budget: unit, periods and caps.
    """
    windows, runs = _kinds_of_periods(alarms, budget)
    return [
        AlarmCost(
            query=alarm.id,
            scope=scope,
            epsilon_units=to_loss_units(plans[alarm.id].epsilon),
            limit=plans[alarm.id].limit,
            cells_per_unit=cells_per_unit(alarm, budget),
            overlap=alarm.calendar.charged,
            windows_per_period=windows[at],
            runs_per_period=runs[at],
            shape=planned_shape(alarm),
            steady=_is_steady(alarm.calendar),
            windows=alarm.calendar.describe(),
            share_units=budget.share_units(alarm.share),
            windows_cap=windows_cap(alarm, budget),
        )
        for at, alarm in enumerate(alarms)
    ]


def planned_shape(alarm: Alarm) -> Shape:
    """Return which rows an alarm covers, its schedule included.

    Windows lie inside active intervals, so that alarms whose schedules share no minute of the week
    share no instant. The ledger needs no such attribute: it knows when every window is.
    """
    shape = shape_of(alarm)
    schedule = alarm.calendar.schedule
    if schedule is None:
        return shape
    when = Region.of({f"{ACTIVE} ({schedule.timezone})": _minutes(schedule)})
    return Shape((shape.as_region & when).canonical, shape.grouping)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodTable:
    """The periods that a plan covers.

    Args:
        calendar: numbers all periods.
        starts_ms: shape (n,), int64, ascending.
        ends_ms: shape (n,), int64.
    """

    calendar: Calendar
    starts_ms: NDArray[np.int64]
    ends_ms: NDArray[np.int64]

    def windows(self, calendar: Calendar) -> NDArray[np.int64]:
        """Return how many active windows touch each period, shape (n,)."""
        return self._active(calendar).touching(self.starts_ms, self.ends_ms)

    def runs(self, calendar: Calendar) -> NDArray[np.int64]:
        """Return how many runs of active windows touch each period, shape (n,).

        Raises:
            ConfigError: windows touch too many periods.
        """
        breaks = run_breaks(calendar, self.calendar, *self._span)
        return self._active(calendar).runs_touching(self.starts_ms, self.ends_ms, breaks)

    def charged(self, alarm: Alarm, budget: Budget) -> NDArray[np.int64]:
        """Return how many runs, or else windows, a person pays for in each period, shape (n,).

        Args:
            alarm: the alarm that has them.
            budget: unit and caps.
        """
        if has_runs(alarm, budget):
            return self.runs(alarm.calendar)
        windows, most = self.windows(alarm.calendar), windows_cap(alarm, budget)
        return windows if most is None else np.minimum(windows, most)

    def losses(self, plan: ScopePlan, alarms: Alarms) -> NDArray[np.object_]:
        """Return what each period may cost a person at worst, shape (n,), whole loss units.

        Args:
            plan: of one budget.
            alarms: the configuration that it is of.
        """
        totals = np.zeros(len(self.starts_ms), dtype=object)  # exact: sums may pass 64 bits
        for one in plan.alarms:
            alarm = alarms.running[one.query]
            each = to_loss_units(one.epsilon) * cells_per_unit(alarm, alarms.budget)
            totals += self.charged(alarm, alarms.budget).astype(object) * each
        return totals

    @property
    def longest_ms(self) -> int:
        """Length of the longest period."""
        return int((self.ends_ms - self.starts_ms).max())

    @property
    def _span(self) -> tuple[int, int]:
        return int(self.starts_ms[0]), int(self.ends_ms[-1])

    def _active(self, calendar: Calendar) -> ActiveWindows:
        return ActiveWindows(calendar, *self._span)


@lru_cache(maxsize=16)
def period_table(calendar: Calendar) -> PeriodTable:
    """Return the periods that follow 2024-01-01."""
    first = calendar.first_starting_at(REFERENCE_MS)
    bounds: list[tuple[int, int]] = []
    while not bounds or (bounds[-1][1] <= REFERENCE_END_MS and len(bounds) < MOST_PERIODS):
        bounds.append(calendar.bounds(first + len(bounds)))
    table = np.array([each for each in bounds if each[0] < each[1]], np.int64)
    starts_ms, ends_ms = (np.ascontiguousarray(table[:, at]) for at in (0, 1))
    return PeriodTable(calendar, starts_ms, ends_ms)


def periods_of(budget: Budget) -> PeriodTable | None:
    """Return a budget's periods; ``None`` under unit ``event``, and for a lifetime without end."""
    return None if budget.calendar is None else period_table(budget.calendar)


def _kinds_of_periods(
    alarms: Sequence[Alarm], budget: Budget
) -> tuple[list[tuple[int, ...] | None], list[tuple[int, ...] | None]]:
    """Return, per alarm, its windows and its runs in every kind of period.

    Periods of one kind are one. No runs are counted where windows are charged by themselves.
    """
    runs = [has_runs(alarm, budget) for alarm in alarms]
    table = periods_of(budget)
    if table is None or not alarms:
        return [None] * len(alarms), [(1,) if each else None for each in runs]
    rows = [table.windows(alarm.calendar) for alarm in alarms]
    rows += [table.runs(each.calendar) for each in alarms if has_runs(each, budget)]
    kinds = sorted(set(zip(*(row.tolist() for row in rows), strict=True)))
    found = list(zip(*kinds, strict=True))
    counted = iter(found[len(alarms) :])
    return [*found[: len(alarms)]], [next(counted) if each else None for each in runs]


def _is_steady(calendar: Calendar) -> bool:
    """Whether every instant lies in as many windows as any other."""
    size, step = calendar.lengths
    return calendar.schedule is None and size % step == 0


def _minutes(schedule: Schedule) -> ValueSet:
    """Return the minutes of the week in which a schedule is active."""
    minutes = ValueSet.nothing()
    for start, end in schedule.spans:
        minutes |= ValueSet.between(start, min(end, _WEEK_MINUTES))
        if end > _WEEK_MINUTES:
            minutes |= ValueSet.between(0, end - _WEEK_MINUTES)
    return minutes
