"""What a hold spans, and what it makes of false alarms: from public numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.registry import mechanism_of
from stream.windows.calendars import LocalCalendar
from stream.windows.cumulative import whole_windows
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from stream.model.alarm import Alarm
    from stream.windows.calendars import Calendar

__all__ = ["held_windows", "in_runs", "least_hold_ms", "shown_falsely"]


def least_hold_ms(calendar: Calendar) -> int:
    """Return the shortest hold that holds the next window, and all that share events with one."""
    whole = whole_windows(calendar)
    return max(whole.wait_ms, whole.longest_ms - whole.wait_ms)


def held_windows(alarm: Alarm) -> int:
    """Return in how many windows after one that fired a cell is held, schedule aside."""
    whole = whole_windows(alarm.calendar)
    days = whole.step_days * DAY_MS if isinstance(whole, LocalCalendar) else 0
    return alarm.hold_ms // (days or whole.wait_ms)


def in_runs(alarm: Alarm) -> bool:
    """Return whether windows share runs, and their noise."""
    return mechanism_of(alarm.mechanism).run is not None and alarm.aim.looks == 1


def shown_falsely(alarm: Alarm) -> tuple[float, float]:
    """Return how many quiet windows are shown as firing: in the long run, and in any one at most.

    An alarm is shown in the window that fired and in those held after it; then one waits for the
    next as if nothing had been, where windows are decided by noise of their own. Windows of a run
    share some: of them both figures are a bound that holds however they depend on each other.

    Args:
        alarm: an alarm with a hold.
    """
    false, held = float(alarm.aim.max_fpr or alarm.aim.max_fnr), held_windows(alarm)
    if in_runs(alarm):
        return (min(1.0, false * (1 + held)),) * 2
    return false * (1 + held) / (1 + false * held), 1 - (1 - false) ** (1 + held)
