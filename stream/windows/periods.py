"""Budget periods: the spans of event time after which a person's budget is renewed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.windows.localtime import DAY_MS, TIME_LIMIT_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.windows.calendars import Calendar

__all__ = ["MOST_PERIODS", "REFERENCE_END_MS", "REFERENCE_MS", "Periods"]

REFERENCE_MS: Final = 1_704_067_200_000
"""2024-01-01T00:00Z, a Monday and the start of a leap year: what holds for all periods is read off
those that follow it."""

REFERENCE_END_MS: Final = REFERENCE_MS + 2 * 366 * DAY_MS

MOST_PERIODS: Final = 20_000
"""Of these two years, so many are looked at."""


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
        # Periods never fall as times rise: what holds at both ends holds between them.
        ends = np.array([times.min(), times.max()])
        first, last = self.calendar.containing(ends)[1].tolist()
        if first == last:
            return np.full(len(times), self.calendar.bounds(first)[0], np.int64)
        indexes = self.calendar.containing(times)[1]
        unique, where = np.unique(indexes, return_inverse=True)
        starts = [self.calendar.bounds(index)[0] for index in unique.tolist()]
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
        first, last = self.calendar.containing(span)[1].tolist()
        starts = (self.calendar.bounds(index)[0] for index in range(first, last + 1))
        return tuple(dict.fromkeys(starts))

    def describe(self) -> str:
        """Return the period as one reads it; the ledger pins this text."""
        return "lifetime" if self.calendar is None else self.calendar.describe()
