"""Longer windows: the same calendar with its windows, or the steps between them, stretched.

A tumbling window is made longer under unit ``user``, where fewer windows in a period cost less; a
hopping one gets longer steps, so that fewer windows overlap. Where whole runs of windows are
charged, longer windows help little: there may be one run less at a period's ends. Nothing is
stretched so far that windows leave gaps, or that under a schedule they cover less time than before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accountant.budget.loads import loads_of, worst_of
from accountant.units import PrivacyUnit
from stream.config.sql.text import name_in_sql
from stream.planning.budget import REFERENCE_MS, periods_of
from stream.planning.occupancy import ActiveWindows, active_spans
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.budget.loads import AlarmCost
    from accountant.records import BudgetTerms
    from stream.model.alarms import Budget
    from stream.model.queries import Query
    from stream.windows.calendars import Calendar

__all__ = [
    "WindowTrials",
    "covered_share",
    "duration_text",
    "stretched",
    "window_text",
]

_YEAR = (REFERENCE_MS, REFERENCE_MS + 366 * DAY_MS)
_MOST_TRIALS = 500
_UNITS = ((3_600_000, "HOUR"), (60_000, "MINUTE"), (1_000, "SECOND"))


class WindowTrials:
    """The alarms of one budget, whose windows are stretched on trial.

    Args:
        terms: the budget.
        queries: its alarms.
        costs: the same as the planner sees them.
        budget: unit, periods and caps.
    """

    def __init__(
        self,
        terms: BudgetTerms,
        queries: Sequence[Query],
        costs: Sequence[AlarmCost],
        budget: Budget,
    ) -> None:
        self._wall = terms.epsilon_max_units
        self._calendars = [query.calendar for query in queries]
        self._costs = costs
        self._unit = budget.unit
        self._budget, self._queries = budget, queries
        self._table = periods_of(budget)
        if self._table is not None:
            self._counts = [self._table.charged(query.calendar, budget, query) for query in queries]
            self._losses = [cost.epsilon_units * cost.cells_per_unit for cost in costs]
            units = {cost.query: cost.epsilon_units for cost in costs}
            self._totals = self._table.losses(queries, units, budget)

    def smallest(self, chosen: Sequence[int], first: int) -> Mapping[int, tuple[int, Calendar]]:
        """Return the smallest common stretch of some alarms after which the budget carries all.

        Args:
            chosen: positions of the alarms.
            first: multiple to begin with, 2 or more.

        Returns:
            Multiples and new windows of the alarms that have to change; empty when no stretch is
            enough.
        """
        most = {at: self._most(at) for at in chosen}
        for times in range(first, min(max(most.values()), first + _MOST_TRIALS) + 1):
            tried = {at: min(times, most[at]) for at in chosen if most[at] > 1}
            longer = {at: stretched(self._calendars[at], each) for at, each in tried.items()}
            if self._fits(longer) and all(
                covered_share(calendar, self._calendars[at]) >= 1 for at, calendar in longer.items()
            ):
                return {at: (tried[at], longer[at]) for at in tried}
        return {}

    def _most(self, at: int) -> int:
        """Return the largest multiple that can be of use."""
        calendar = self._calendars[at]
        size, step = _size_and_step(calendar)
        if size != step:
            return max(1, size // step)
        if self._table is None:
            return 1
        length_ms = size * DAY_MS if isinstance(calendar, LocalCalendar) else size
        limit_ms = self._table.longest_ms
        if calendar.schedule is not None:
            starts_ms, ends_ms = active_spans(calendar.schedule, *_YEAR)
            limit_ms = min(limit_ms, int((ends_ms - starts_ms).max(initial=0)))
        return max(1, limit_ms // length_ms)

    def _fits(self, changed: Mapping[int, Calendar]) -> bool:
        if self._unit is PrivacyUnit.EVENT:
            costs = list(self._costs)
            for at, calendar in changed.items():
                costs[at] = replace(costs[at], overlap=calendar.charged)
            units = [cost.epsilon_units for cost in costs]
            return worst_of(loads_of(self._unit, costs), units) <= self._wall
        if self._table is None:
            return False
        totals = self._totals.copy()
        for at, calendar in changed.items():
            charged = self._table.charged(calendar, self._budget, self._queries[at])
            more = charged - self._counts[at]
            totals += more.astype(object) * self._losses[at]
        return bool(totals.max() <= self._wall)


def covered_share(calendar: Calendar, before: Calendar) -> float:
    """Return how much time windows cover over a year, as a part of what others cover."""
    if calendar.schedule is None:
        return 1.0
    covered, covered_before = (
        ActiveWindows(each, *_YEAR).covered_ms for each in (calendar, before)
    )
    return covered / covered_before if covered_before else 1.0


def stretched(calendar: Calendar, times: int) -> Calendar:
    """Return tumbling windows ``times`` as long, or hopping ones with steps so much longer.

    Raises:
        ValueError: they are beyond what a calendar can hold.
    """
    size, step = _size_and_step(calendar)
    new_size, new_step = (size * times if size == step else size), step * times
    if isinstance(calendar, FixedCalendar):
        return replace(calendar, size_ms=new_size, step_ms=new_step)
    if isinstance(calendar, LocalCalendar):
        return replace(calendar, size_days=new_size, step_days=new_step)
    return calendar


def window_text(calendar: Calendar, time: str) -> str:
    """Return windows over a time field as one writes them into GROUP BY."""
    match calendar:
        case LocalCalendar(size_days=size, step_days=step):
            size_text, step_text = (f"INTERVAL '{days}' DAY" for days in (size, step))
        case FixedCalendar(size_ms=size, step_ms=step):
            size_text, step_text = _interval(size), _interval(step)
        case CumulativeCalendar(size_ms=size, step_ms=step):
            return f"CUMULATE({name_in_sql(time)}, {_interval(step)}, {_interval(size)})"
        case _:
            return calendar.describe()
    field = name_in_sql(time)
    if size == step:
        return f"TUMBLE({field}, {size_text})"
    return f"HOP({field}, {step_text}, {size_text})"


def duration_text(length_ms: int) -> str:
    """Return a length of time in its two largest units, as ``2 d 5 h``."""
    parts: list[str] = []
    rest_ms = length_ms
    for unit_ms, name in ((DAY_MS, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        number, rest_ms = divmod(rest_ms, unit_ms)
        if number:
            parts.append(f"{number} {name}")
    return " ".join(parts[:2]) or f"{length_ms} ms"


def _size_and_step(calendar: Calendar) -> tuple[int, int]:
    """Return size and step in the calendar's own unit; both 1 for one that is not known."""
    match calendar:
        case FixedCalendar(size_ms=size, step_ms=step):
            return size, step
        case LocalCalendar(size_days=size, step_days=step):
            return size, step
        case _:
            return 1, 1


def _interval(length_ms: int) -> str:
    for unit_ms, name in _UNITS:
        if length_ms % unit_ms == 0:
            return f"INTERVAL '{length_ms // unit_ms}' {name}"
    return f"INTERVAL '{length_ms / 1000}' SECOND"
