"""How much of a run may have been silent, where an alarm bounds what it then misses.

The bound is kept by the terms of a run, which are planned before it: for the longest one there can
be, in questions. Windows that a schedule leaves out are counted all the same: what they cost is a
lower rate of false alarms, which a run pays for by its logarithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import PrivacyUnit
from stream.windows.calendars import FixedCalendar

if TYPE_CHECKING:
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed
    from stream.windows.calendars import Calendar
    from stream.windows.periods import Periods

__all__ = ["ends_of", "longest_run"]

_FROM_MS: Final = 1_704_067_200_000  # 2024-01-01T00:00Z, the start of a leap year
_LOOKED_AT_MS: Final = 2 * 366 * 86_400_000
_MOST_PERIODS: Final = 20_000


def longest_run(
    calendar: Calendar, periods: Periods, history: tuple[int, int] | None = None
) -> int:
    """Return how many windows touch the period with the most of them: no run has more.

    Of the periods of the two years from 2024 on, of the first 20,000 at most; windows of a fixed
    length may begin anywhere in those of later years. Of a lifetime, the windows that touch the
    feed's declared history.

    Args:
        calendar: windows, active or not.
        periods: those of the budget.
        history: of the feed, in milliseconds; needed for a lifetime.

    Raises:
        ValueError: a lifetime without a history.
    """
    spans = [] if history is None else [history]
    if periods.calendar is not None:
        spans, at = [], periods.calendar.first_starting_at(_FROM_MS)
        while not spans or (
            spans[-1][1] <= _FROM_MS + _LOOKED_AT_MS and len(spans) < _MOST_PERIODS
        ):
            spans.append(periods.calendar.bounds(at + len(spans)))
    if not spans:
        raise ValueError("a lifetime without a history has no end")
    held = np.array([each for each in spans if each[0] < each[1]], np.int64)
    if history is None and isinstance(calendar, FixedCalendar):
        # Windows and periods begin on a common grid. A window that touches a period begins at one
        # of its points, or at one of a size before it.
        grid_ms = int(np.gcd.reduce([calendar.size_ms, calendar.step_ms, *held.ravel().tolist()]))
        longest_ms = int((held[:, 1] - held[:, 0]).max())
        return -(-(longest_ms + calendar.size_ms - grid_ms) // calendar.step_ms)
    first, _ = calendar.containing(held[:, 0])
    _, last = calendar.containing(held[:, 1] - 1)
    return int((last - first).max()) + 1


def ends_of(feed: Feed, budget: Budget) -> tuple[Periods, tuple[int, int] | None] | None:
    """Return the periods under which runs end, and the history; ``None`` where none does."""
    if budget.unit is not PrivacyUnit.USER or budget.periods is None:
        return None
    if budget.periods.calendar is None and feed.history is None:
        return None
    return budget.periods, None if budget.periods.calendar is not None else feed.history
