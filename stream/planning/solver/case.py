"""One alarm and what is asked of it: false alarms at its baseline, room in the budget.

A case is changed on trial (longer windows, another threshold) and priced anew: everything that a
search asks follows from its fields.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from accountant.budget.loads import kept_of, loads_of
from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from operators.registry import mechanism_of
from stream.config.alarms.panes import pane_of, shared_anew
from stream.decisions.mechanisms import plans_of
from stream.model.alarms import cells_per_unit, has_runs, scope_of
from stream.model.holds import least_hold_ms
from stream.planning.budget import alarm_costs, period_table, periods_of
from stream.windows.calendars import LocalCalendar
from stream.windows.cumulative import looks_of, whole_windows

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.condition import ThresholdAtom
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.model.requirements import FalseAlarmRate
    from stream.windows.calendars import Calendar

__all__ = ["Case", "case_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What is asked of one alarm.

    Args:
        alarm: the alarm; its mechanism and aim give way to what is tried, but for what is written.
        budget: unit, periods and caps.
        false_alarms: how many are tolerated; ``None`` where that is not said.
        baseline: shape (cells,), int64: what every cell counts in an ordinary window, in units of
            the statistic; ``None`` where false alarms are not counted.
        room_units: what the others leave of a period of the budget, in loss units.
        span_windows: windows of the fullest span in which false alarms are counted.
        period_windows: windows of the fullest budget period; ``None`` where there is no end, and
            under unit ``event``.
        standing: the configuration without this alarm.
        hold_ms: its hold as written.
        windows: what to write into GROUP BY, where these are no longer the windows that are asked
            for; empty where they are.
    """

    alarm: Alarm
    budget: Budget
    false_alarms: FalseAlarmRate | None
    baseline: NDArray[np.int64] | None
    room_units: int
    span_windows: int
    period_windows: int | None
    standing: Alarms
    hold_ms: int
    windows: str = ""

    @property
    def tolerated(self) -> float:
        """Expected false alarms in a span that are tolerated."""
        return math.inf if self.false_alarms is None else float(self.false_alarms.number)

    @property
    def distance(self) -> int:
        """Least distance of a baseline from the first value that has to fire; not above 0: fires.

        In units of the statistic.
        """
        bounds, baseline = self.atom.thresholds, self.baseline
        if baseline is None:
            raise ValueError("there is no baseline")
        return int((bounds - baseline if self.upward else baseline - (bounds - 1)).min())

    @property
    def upward(self) -> bool:
        """Whether it fires above its threshold."""
        return self.name in self.alarm.condition.formula.literals

    @property
    def name(self) -> str:
        """Of its one atom."""
        (name,) = self.alarm.condition.formula.atoms
        return name

    @property
    def atom(self) -> ThresholdAtom:
        """Its one comparison."""
        return self.alarm.condition.atoms[self.name]

    @property
    def per_unit(self) -> Fraction:
        """One unit of the statistic that it compares, in the aggregate's own unit."""
        return self.alarm.aggregates[self.atom.statistic].per_unit

    @property
    def reached(self) -> int | None:
        """How many losses of its mechanism's plan one privacy unit takes in a period.

        ``None`` where there is no end to them.
        """
        alarm = replace(self.alarm, panes="")
        if mechanism_of(alarm.mechanism).panes is not None:
            alarm = replace(alarm, calendar=pane_of(alarm.calendar))
        if self.budget.unit is PrivacyUnit.EVENT:
            return alarm.calendar.charged
        table = periods_of(self.budget)
        if table is None:
            return 1 if has_runs(alarm, self.budget) else None
        charged = table.charged(alarm, self.budget)
        return int(charged.max()) * cells_per_unit(alarm, self.budget)

    def held(self) -> Case:
        """Return the case with a hold, where windows overlap and none is written.

        Else one episode would take an alarm of a run for every window that it is in.
        """
        if self.alarm.hold_ms or self.alarm.calendar.overlap == 1 or self.alarm.aim.looks > 1:
            return self
        hold_ms = least_hold_ms(self.alarm.calendar)
        return replace(self, alarm=replace(self.alarm, hold_ms=hold_ms))

    def with_calendar(self, calendar: Calendar) -> Case:
        """Return the case with other windows, with the same baseline."""
        aim = replace(self.alarm.aim, looks=looks_of(calendar))
        alarm = replace(self.alarm, calendar=calendar, aim=aim, hold_ms=0)
        hold_ms = max(self.hold_ms, least_hold_ms(calendar)) if self.hold_ms else 0
        alarm = replace(alarm, hold_ms=hold_ms)
        span, period = _windows(alarm, self.budget, self.false_alarms)
        return replace(self, alarm=alarm, span_windows=span, period_windows=period)

    def in_panes(self, alarm: Alarm) -> tuple[Case, Alarm, Alarm]:
        """Return the room beside panes that an alarm shares, it as it shares them, and the panes.

        Args:
            alarm: decided from panes.
        """
        alarms = {**self.standing.by_name, alarm.id: alarm}
        joined = shared_anew(replace(self.standing, by_name=alarms))
        reader = joined.by_name[alarm.id]
        case = replace(self, room_units=_room(reader, joined))
        return case, reader, joined.panes[reader.panes]

    def with_caps(self, **changed: int) -> Case:
        """Return the case with other caps, with the same baseline."""
        condition, before = self.alarm.condition, self.budget.contribution
        caps = replace(before, **changed)
        moved = tuple(
            old
            if spec.kind is Weight.DISTINCT_UNITS
            else old // before.events_per_cell * caps.events_per_cell
            for spec, old in zip(self.alarm.aggregates, condition.sensitivities, strict=True)
        )
        alarm = replace(self.alarm, condition=replace(condition, sensitivities=moved))
        return replace(self, alarm=alarm, budget=replace(self.budget, contribution=caps))

    def with_threshold(self, further: int) -> Case:
        """Return the case with thresholds further from zero, or nearer below zero.

        Args:
            further: in units of the statistic.
        """
        thresholds = self.atom.thresholds + np.int64(further)
        atoms = {self.name: replace(self.atom, thresholds=thresholds)}
        condition = replace(self.alarm.condition, atoms=atoms)
        return replace(self, alarm=replace(self.alarm, condition=condition))


def case_of(alarm: Alarm, alarms: Alarms) -> Case | str:
    """Return what is asked of an alarm, or why nothing can be searched for it.

    Args:
        alarm: the alarm, locked or open.
        alarms: all that run; what the others cost is taken from the budget.
    """
    tolerated, written = alarm.false_alarms, alarm.baseline
    if alarm.open and (tolerated is None or written is None):
        return "it does not say its baseline and how many false alarms are tolerated"
    if mechanism_of(alarm.mechanism).bands is not None:
        return "a band is no comparison"
    if tolerated is not None and alarm.fires_too_early:
        return "false alarms are counted at the end of a window, and it may fire before"
    baseline = None
    if written is not None and tolerated is not None:
        (atom,) = alarm.condition.atoms.values()
        per_unit = float(alarm.aggregates[atom.statistic].per_unit)
        baseline = np.rint(written / per_unit).astype(np.int64)
    span, period = _windows(alarm, alarms.budget, tolerated)
    queries = {name: each for name, each in alarms.by_name.items() if name != alarm.id}
    standing = shared_anew(replace(alarms, by_name=queries))
    room = _room(alarm, standing)
    return Case(
        alarm, alarms.budget, tolerated, baseline, room, span, period, standing, alarm.hold_ms
    )


def _room(alarm: Alarm, alarms: Alarms) -> int:
    """Return what the other alarms of a budget leave of it, in loss units; may be below 0.

    What panes take that it shares with some of them is not taken from it: it pays for all of that.
    """
    scope = scope_of(alarm, alarms)
    others = [
        each
        for each in alarms.running.values()
        if each.id not in {alarm.id, alarm.panes} and scope_of(each, alarms) == scope
    ]
    costs = alarm_costs(scope, others, plans_of(alarms), alarms.budget)
    event = alarms.budget.unit is PrivacyUnit.EVENT
    if not event and any(cost.charged_per_period is None for cost in costs):
        return 0
    return alarms.budget.wall_units - kept_of(loads_of(alarms.budget.unit, costs), costs)


def _windows(
    alarm: Alarm, budget: Budget, tolerated: FalseAlarmRate | None
) -> tuple[int, int | None]:
    """Return windows of the fullest span, and of the fullest budget period.

    Windows that are evaluated in steps are one each.
    """
    calendar, days = whole_windows(alarm.calendar), 7 if tolerated is None else tolerated.days
    schedule = calendar.schedule
    zone = "UTC" if schedule is None else schedule.timezone
    spans = period_table(LocalCalendar(days, days, zone))
    most = int(spans.windows(calendar).max())
    table = periods_of(budget)
    return most, None if table is None else int(table.windows(calendar).max())
