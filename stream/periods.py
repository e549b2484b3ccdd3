"""Budget periods: the spans of event time after which a person's budget is renewed."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.localtime import DAY_MS, TIME_LIMIT_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.windows import Calendar

__all__ = ["Periods"]

_REFERENCE_MS: Final = 1_704_067_200_000  # 2024-01-01, the start of a leap year
_PERIODS_INSPECTED: Final = 740  # two years of days: every weekday, clock change and month


@dataclass(frozen=True, slots=True)
class Periods:
    """Consecutive periods without gaps or overlaps, each named by its start.

    Args:
        calendar: tumbling windows, one per period; ``None`` for one period without end.

    Raises:
        ValueError: the calendar's windows overlap or leave gaps.
    """

    calendar: Calendar | None = None

    def __post_init__(self) -> None:
        """Refuse calendars under which an event would have no period, or two."""
        calendar = self.calendar
        if calendar is not None and any(
            calendar.bounds(index)[1] != calendar.bounds(index + 1)[0] for index in range(8)
        ):
            raise ValueError("budget periods follow each other without gaps or overlaps")

    @staticmethod
    def lifetime() -> Periods:
        """Return the one period that is never renewed."""
        return Periods()

    def of(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the start of the period of each event time, in milliseconds (0 for lifetime).

        Args:
            times: shape (n,), event times; outside the valid range the nearest valid time is meant.
        """
        if self.calendar is None or not len(times):
            return np.zeros(len(times), np.int64)
        indexes = self.calendar.containing(times)[1]
        first, last = int(indexes.min()), int(indexes.max())
        if last - first < len(indexes):
            starts = [self.calendar.bounds(index)[0] for index in range(first, last + 1)]
            return np.array(starts, np.int64)[indexes - first]
        unique, where = np.unique(indexes, return_inverse=True)
        starts = [self.calendar.bounds(int(index))[0] for index in unique]
        return np.array(starts, np.int64)[where]

    def touched(self, start_ms: int, end_ms: int) -> tuple[int, ...]:
        """Return the starts of the periods that ``[start_ms, end_ms)`` touches, in order.

        Raises:
            ValueError: the interval is empty.
        """
        if start_ms >= end_ms:
            raise ValueError("an empty interval touches no period")
        if self.calendar is None:
            return (0,)
        # Valid events only: a window that begins before 1970 or ends after 9999 holds none there.
        span = np.clip(np.array([start_ms, end_ms - 1], np.int64), 0, TIME_LIMIT_MS - 1)
        first, last = (int(index) for index in self.calendar.containing(span)[1])
        starts = (self.calendar.bounds(index)[0] for index in range(first, last + 1))
        return tuple(dict.fromkeys(starts))

    def describe(self) -> str:
        """Return the period as one reads it; the ledger pins this text."""
        return "lifetime" if self.calendar is None else self.calendar.describe()

    def most_windows(self, calendar: Calendar) -> int | None:
        """Return the most active windows of a calendar in one period; ``None`` for lifetime.

        For the plan: looked up over the periods that follow 2024-01-01, up to 740 of them. The
        filter counts the windows themselves and does not rely on it.
        """
        if self.calendar is None:
            return None
        first = self.calendar.first_starting_at(_REFERENCE_MS)
        until_ms = _REFERENCE_MS + 2 * 366 * DAY_MS
        most = 0
        for index in range(first, first + _PERIODS_INSPECTED):
            start_ms, end_ms = self.calendar.bounds(index)
            most = max(most, _active_touching(calendar, start_ms, end_ms))
            if end_ms > until_ms:
                break
        return most


def _active_touching(calendar: Calendar, start_ms: int, end_ms: int) -> int:
    """Count the active windows that touch ``[start_ms, end_ms)``."""
    last = calendar.first_starting_at(end_ms) - 1
    first = bisect_right(range(last + 1), start_ms, key=lambda index: calendar.bounds(index)[1])
    if calendar.schedule is None:
        return last - first + 1
    count = 0
    until_ms = calendar.bounds(first)[0]
    while (from_ms := calendar.schedule.next_start(until_ms)) is not None and from_ms < end_ms:
        until_ms = calendar.schedule.covered_until(from_ms, calendar.bounds(last)[1])
        opening = max(first, calendar.first_starting_at(from_ms))
        closing = bisect_right(
            range(last + 1), until_ms, key=lambda index: calendar.bounds(index)[1]
        )
        count += max(closing - opening, 0)
    return count
