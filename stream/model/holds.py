"""What a hold spans, and what it makes of false alarms: from public numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.windows.calendars import LocalCalendar
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from stream.windows.calendars import Calendar

__all__ = ["held_windows", "least_hold_ms", "shown_falsely"]


def least_hold_ms(calendar: Calendar) -> int:
    """Return the shortest hold that holds the next window, and all that share events with one."""
    whole = _whole(calendar)
    return max(whole.wait_ms, whole.longest_ms - whole.wait_ms)


def held_windows(calendar: Calendar, hold_ms: int) -> int:
    """Return in how many windows after one that fired a cell is held, schedule aside."""
    whole = _whole(calendar)
    days = whole.step_days * DAY_MS if isinstance(whole, LocalCalendar) else 0
    return hold_ms // (days or whole.wait_ms)


def shown_falsely(false: float, held: int) -> tuple[float, float]:
    """Return how many quiet windows are shown as firing: in the long run, and in any one at most.

    Of windows that fire by mistake independently: an alarm is shown in the window that fired and in
    those held after it, and then one waits for the next as if nothing had been.

    Args:
        false: probability of a false alarm where a cell is asked.
        held: windows in which it is not asked after an alarm.
    """
    return false * (1 + held) / (1 + false * held), 1 - (1 - false) ** (1 + held)


def _whole(calendar: Calendar) -> Calendar:
    return calendar.windows if isinstance(calendar, CumulativeCalendar) else calendar
