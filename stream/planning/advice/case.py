"""One alarm and what is asked of it: false rings where all is as usual, room in the budget.

A case is changed on trial (longer windows, another threshold) and priced anew: everything that a
search asks follows from its fields.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from accountant.budget.loads import kept_of, loads_of
from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from operators.registry import mechanism_of
from stream.config.alarms.early import looks_of
from stream.config.alarms.panes import shared_anew
from stream.config.alarms.tolerances import aim_with
from stream.decisions.mechanisms import plans_of
from stream.model.alarms import cells_per_unit, scope_of, windows_cap
from stream.planning.budget import alarm_costs, period_table, periods_of
from stream.planning.usefulness import useful_tolerance
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.cumulative import whole_windows
from stream.windows.periods import Periods

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.condition import ThresholdAtom
    from stream.model.alarms import Alarms, Budget
    from stream.model.queries import Query
    from stream.model.wanted import FalseRings
    from stream.windows.calendars import Calendar
    from stream.windows.schedule import Schedule

__all__ = ["Case", "case_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What is asked of one alarm of one comparison.

    Args:
        query: the alarm; its mechanism and aim give way to what is tried, but for what is written.
        budget: unit, periods and caps.
        wanted: how many false rings are borne.
        usual: shape (cells,), int64: what every cell usually counts, in units of the statistic.
        room_units: what the others leave of a period of the budget, in loss units.
        span_windows: windows of the fullest span in which false rings are counted.
        period_windows: windows of the fullest budget period; ``None`` where there is no end, and
            under unit ``event``.
        timezone: of days and schedules, where the alarm has none of its own.
        standing: the configuration without this alarm.
        windows: what to write into GROUP BY, where these are no longer the windows that are asked
            for; empty where they are.
    """

    query: Query
    budget: Budget
    wanted: FalseRings
    usual: NDArray[np.int64]
    room_units: int
    span_windows: int
    period_windows: int | None
    timezone: str
    standing: Alarms
    windows: str = ""

    @property
    def cells(self) -> int:
        """How many cells a window has."""
        return self.usual.size

    @property
    def borne(self) -> float:
        """Expected false rings in a span that are borne."""
        return float(self.wanted.number)

    @property
    def distance(self) -> int:
        """Least distance of a usual cell from the first value that has to ring; not above 0: rings.

        In units of the statistic.
        """
        bounds = self.atom.thresholds
        away = bounds - self.usual if self.upward else self.usual - (bounds - 1)
        return int(away.min())

    @property
    def upward(self) -> bool:
        """Whether it rings above its threshold."""
        return self.name in self.query.condition.formula.literals

    @property
    def name(self) -> str:
        """Of its one atom."""
        (name,) = self.query.condition.formula.atoms
        return name

    @property
    def atom(self) -> ThresholdAtom:
        """Its one comparison."""
        return self.query.condition.atoms[self.name]

    @property
    def per_unit(self) -> Fraction:
        """One unit of the statistic that it compares, in the aggregate's own unit."""
        return self.query.aggregates[self.atom.statistic].per_unit

    @property
    def useful_tolerance(self) -> int:
        """Largest tolerance that leaves a useful alarm, in units of the statistic."""
        return useful_tolerance(self.query, self.name)

    def reached(self, mechanism: str) -> int | None:
        """Return how many losses of the mechanism's plan one privacy unit takes in a period.

        ``None`` where there is no end to them.
        """
        query = replace(self.query, mechanism=mechanism)
        if self.budget.unit is PrivacyUnit.EVENT:
            return 1 if mechanism_of(mechanism).panes is not None else query.calendar.charged
        if mechanism_of(mechanism).run is not None:
            return 1 if self.period_windows is None else self._runs
        if self.period_windows is None:
            return None
        most = windows_cap(query, self.budget) or self.period_windows
        return min(self.period_windows, most) * cells_per_unit(query, self.budget)

    def with_calendar(self, calendar: Calendar) -> Case:
        """Return the case with other windows, in which as much is usual."""
        aim = replace(self.query.aim, looks=looks_of(calendar))
        query = replace(self.query, calendar=calendar, aim=aim)
        span, period = _windows(query, self.budget, self.wanted)
        return replace(self, query=query, span_windows=span, period_windows=period)

    def in_panes(self, query: Query) -> tuple[Case, Query]:
        """Return the room beside panes that an alarm shares, and the alarm as it shares them.

        Args:
            query: decided from panes.
        """
        queries = {**self.standing.queries, query.id: query}
        joined = shared_anew(replace(self.standing, queries=queries))
        reader = joined.queries[query.id]
        return replace(self, room_units=_room(reader, joined)), reader

    def with_windows(self, period_windows: int) -> Case:
        """Return the case with fewer windows in a period, and in a span as many fewer."""
        most = self.period_windows or 1
        span = -(-self.span_windows * period_windows // most)
        return replace(self, span_windows=span, period_windows=period_windows)

    def with_cells(self, cells: int) -> Case:
        """Return the case with the first so many cells alone."""
        few = self._with_thresholds(self.atom.thresholds[:cells])
        return replace(few, usual=self.usual[:cells])

    def with_schedule(self, schedule: Schedule) -> Case:
        """Return the case with windows at other times, in which as much is usual."""
        calendar = self.query.calendar
        if not isinstance(calendar, FixedCalendar | LocalCalendar):
            return self
        return self.with_calendar(replace(calendar, schedule=schedule))

    def with_caps(self, **changed: int) -> Case:
        """Return the case with other caps, under which as much is usual."""
        condition, before = self.query.condition, self.budget.contribution
        caps = replace(before, **changed)
        moved = tuple(
            old
            if spec.kind is Weight.DISTINCT_UNITS
            else old // before.events_per_cell * caps.events_per_cell
            for spec, old in zip(self.query.aggregates, condition.sensitivities, strict=True)
        )
        query = replace(self.query, condition=replace(condition, sensitivities=moved))
        return replace(self, query=query, budget=replace(self.budget, contribution=caps))

    def with_tolerance(self, tolerance: int) -> Case:
        """Return the case with a tolerance that is written, in units of the statistic."""
        left = tuple(key for key in self.query.open if key != "tolerance")
        aim = aim_with(self.query, (tolerance,))
        return replace(self, query=replace(self.query, open=left, aim=aim))

    def with_threshold(self, further: int) -> Case:
        """Return the case with thresholds further from zero, or nearer below zero.

        Args:
            further: in units of the statistic.
        """
        return self._with_thresholds(self.atom.thresholds + np.int64(further))

    def _with_thresholds(self, thresholds: NDArray[np.int64]) -> Case:
        atoms = {self.name: replace(self.atom, thresholds=thresholds)}
        condition = replace(self.query.condition, atoms=atoms)
        return replace(self, query=replace(self.query, condition=condition))

    @property
    def _runs(self) -> int:
        """Runs that touch the fullest period."""
        table = periods_of(self.budget)
        return 1 if table is None else int(table.runs(self.query.calendar).max())


def case_of(query: Query, alarms: Alarms) -> Case | str:
    """Return what is asked of an alarm, or why nothing can be said of it.

    Args:
        query: the alarm, whether it runs or is wanted.
        alarms: all that run; what the others cost is taken from the budget.
    """
    if query.false_rings is None or query.usual is None:
        return "it does not say what is usual and how many false rings are borne"
    condition = query.condition
    if mechanism_of(query.mechanism).bands is not None or len(condition.formula.literals) != 1:
        return "false rings are counted for alarms of one comparison"
    (atom,) = condition.atoms.values()
    per_unit = float(query.aggregates[atom.statistic].per_unit)
    span, period = _windows(query, alarms.budget, query.false_rings)
    queries = {name: each for name, each in alarms.queries.items() if name != query.id}
    standing = shared_anew(replace(alarms, queries=queries))
    return Case(
        query=query,
        budget=alarms.budget,
        wanted=query.false_rings,
        usual=np.rint(query.usual / per_unit).astype(np.int64),
        room_units=_room(query, standing),
        span_windows=span,
        period_windows=period,
        timezone=alarms.timezone,
        standing=standing,
    )


def _room(query: Query, alarms: Alarms) -> int:
    """Return what the other alarms of a budget leave of it, in loss units; 0 where nothing is.

    What panes take that it shares with some of them is not taken from it: it pays for all of that.
    """
    scope = scope_of(query, alarms)
    wall = alarms.budget.wall_units
    others = [
        each
        for each in alarms.running.values()
        if each.id not in {query.id, query.panes} and scope_of(each, alarms) == scope
    ]
    costs = alarm_costs(scope, others, plans_of(alarms), alarms.budget)
    event = alarms.budget.unit is PrivacyUnit.EVENT
    if not event and any(cost.charged_per_period is None for cost in costs):
        return 0
    return max(0, wall - kept_of(loads_of(alarms.budget.unit, costs), costs))


def _windows(query: Query, budget: Budget, wanted: FalseRings) -> tuple[int, int | None]:
    """Return windows of the fullest span, and of the fullest budget period.

    Windows that are looked at in steps are one each.
    """
    calendar = whole_windows(query.calendar)
    schedule = calendar.schedule
    zone = "UTC" if schedule is None else schedule.timezone
    spans = period_table(Periods(LocalCalendar(wanted.days, wanted.days, zone)))
    most = int(spans.windows(calendar).max())
    table = periods_of(budget)
    return most, None if table is None else int(table.windows(calendar).max())
