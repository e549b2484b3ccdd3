"""How much of a run may have been silent, where an alarm bounds what it then misses.

The bound is kept by the terms of a run, which are planned before it: for the longest one there can
be, in questions. Windows that a schedule leaves out are counted all the same: what they cost is a
lower rate of false alarms, which a run pays for by its logarithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.windows.calendars import FixedCalendar
from stream.windows.periods import MOST_PERIODS, REFERENCE_END_MS, REFERENCE_MS

if TYPE_CHECKING:
    from stream.windows.calendars import Calendar
    from stream.windows.periods import Periods

__all__ = ["longest_run"]


def longest_run(
    calendar: Calendar, periods: Periods | None, history: tuple[int, int] | None = None
) -> int | None:
    """Return how many windows touch the period with the most of them: no run has more.

    Of the periods of the two years from 2024 on, of the first 20,000 at most; windows of a fixed
    length may begin anywhere in those of later years. Of a lifetime, the windows that touch the
    feed's declared history.

    Args:
        calendar: windows, active or not.
        periods: those of the budget; ``None`` under unit ``event``.
        history: of the feed, in milliseconds; read for a lifetime.

    Returns:
        ``None`` where runs never end.
    """
    if periods is None or (periods.calendar is None and history is None):
        return None
    spans = [history]
    if periods.calendar is not None:
        first, last = map(periods.calendar.first_starting_at, (REFERENCE_MS, REFERENCE_END_MS))
        numbers = range(first, min(last, first + MOST_PERIODS) + 1)
        spans = [periods.calendar.bounds(number) for number in numbers]
    starts, ends = np.array([each for each in spans if each and each[0] < each[1]], np.int64).T
    if periods.calendar is not None and isinstance(calendar, FixedCalendar):
        # Windows and periods begin on a common grid. A window that touches a period begins at one
        # of its points, or at one of a size before it.
        grid_ms = int(np.gcd.reduce([*calendar.lengths, *starts, *ends]))
        longest_ms = int((ends - starts).max())
        return -(-(longest_ms + calendar.size_ms - grid_ms) // calendar.step_ms)
    return int((calendar.containing(ends - 1)[1] - calendar.containing(starts)[0]).max()) + 1
