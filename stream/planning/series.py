"""The windows of a budget's alarms over a span that a plan covers, each with its worst cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import Charge, WindowKey
from stream.decisions.registration import charge_of, shape_of
from stream.model.alarms import has_runs
from stream.planning.budget import REFERENCE_MS
from stream.planning.occupancy import ActiveWindows, run_breaks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.regions.shapes import Shape
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget
    from stream.planning.budget import PeriodTable
    from stream.windows.calendars import Calendar

__all__ = ["WEEK_MS", "Series", "Spans"]

WEEK_MS: Final = 7 * 86_400_000
"""What is looked at where nothing is renewed."""


@dataclass(frozen=True, slots=True)
class Series:
    """The windows of one alarm that are walked.

    Args:
        alarm: the alarm.
        charge: what each costs, or a whole run; its window is a placeholder.
        shape: which rows they cover.
        windows: counts them.
        first: number of the first one.
        stop: number after the last one.
        openers: numbers of those that open a run, ascending; ``None`` where each is charged.
    """

    alarm: Alarm
    charge: Charge
    shape: Shape
    windows: ActiveWindows
    first: int
    stop: int
    openers: NDArray[np.int64] | None

    @property
    def begins_ms(self) -> int:
        """Start of the first one."""
        return self.alarm.calendar.bounds(self.first)[0]

    def key_of(self, index: int) -> WindowKey:
        """Return a window's sort key."""
        start_ms, end_ms = self.alarm.calendar.bounds(index)
        return WindowKey(end_ms=end_ms, query=self.alarm.id, start_ms=start_ms)


@dataclass(frozen=True, slots=True)
class Spans:
    """Which windows there are, and what each costs.

    Args:
        alarms: the alarms of one budget.
        units: loss of one cell, by alarm, in loss units.
        budget: its unit, periods and caps.
    """

    alarms: Sequence[Alarm]
    units: Mapping[str, int]
    budget: Budget

    def inside(self, since_ms: int, until_ms: int) -> list[Series]:
        """Return the windows that lie in a span, and in their feed's history if all have one."""
        found: list[Series] = []
        for alarm in self.alarms:
            history = alarm.feed.history if self._all_replayed else None
            from_ms, end_ms = history or (since_ms, until_ms)
            windows = ActiveWindows(alarm.calendar, from_ms, end_ms)
            first = alarm.calendar.first_starting_at(from_ms)
            stop = max(first, windows.first_ending_after(end_ms))
            # Without periods all windows are one run.
            breaks = np.zeros(0, np.int64) if has_runs(alarm, self.budget) else None
            found.append(self._series(alarm, windows, first, stop, breaks))
        return found

    def touching(self, periods: Calendar, since_ms: int, until_ms: int) -> list[Series]:
        """Return the windows that touch a period."""
        found: list[Series] = []
        for alarm in self.alarms:
            windows = ActiveWindows(alarm.calendar, since_ms, until_ms)
            stop = alarm.calendar.first_starting_at(until_ms)
            first = windows.first_ending_after(since_ms)
            breaks = None
            if has_runs(alarm, self.budget):
                breaks = run_breaks(alarm.calendar, periods, since_ms, until_ms)
            found.append(self._series(alarm, windows, first, max(first, stop), breaks))
        return found

    def span(self, length_ms: int) -> tuple[int, int]:
        """Return where a walk without periods begins and ends."""
        histories = [alarm.feed.history for alarm in self.alarms if alarm.feed.history]
        if not self._all_replayed:
            return REFERENCE_MS, REFERENCE_MS + length_ms
        return min(one[0] for one in histories), max(one[1] for one in histories)

    def dearest_period(self, table: PeriodTable) -> tuple[int, int]:
        """Return the first period that costs a person most."""
        at = int(table.losses(self.alarms, self.units, self.budget).argmax())
        return int(table.starts_ms[at]), int(table.ends_ms[at])

    @property
    def _all_replayed(self) -> bool:
        return all(alarm.feed.history is not None for alarm in self.alarms)

    def _series(
        self,
        alarm: Alarm,
        windows: ActiveWindows,
        first: int,
        stop: int,
        breaks: NDArray[np.int64] | None,
    ) -> Series:
        key = WindowKey(end_ms=1, query=alarm.id, start_ms=0)
        charge = charge_of(alarm, self.budget, key, self.units[alarm.id])
        openers = None if breaks is None else windows.openers(breaks, first, stop)
        return Series(alarm, charge, shape_of(alarm), windows, first, stop, openers)
