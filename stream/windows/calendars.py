"""Which windows an instant belongs to: pure arithmetic on integers, nothing remembered.

Windows of a calendar are numbered; window ``i`` is ``[start, end)`` in milliseconds since the Unix
epoch, and both its ends grow with ``i``. So the windows that contain an instant are those from a
first to a last, and both grow with time::

    time      0    5   10   15   20   25        size 15, step 10
    windows   [------0------)
                        [------1------)

Indexes keep their meaning over restarts: window 0 starts at the epoch, or on the local day
1970-01-01 (its Monday, 1969-12-29, where windows are whole weeks).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from stream.windows.localtime import DAY_MS, TIME_LIMIT_MS, Midnights, midnights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.windows.schedule import Schedule

    Times = NDArray[np.int64]

__all__ = ["Calendar", "FixedCalendar", "LocalCalendar", "MillisecondCalendar", "duration_words"]

_SEARCH_LIMIT_MS: Final = 3653 * DAY_MS
_MAX_DAYS: Final = 366 * 100
_WEEK_DAYS: Final = 7
_MONDAY: Final = -3  # 1969-12-29, the Monday of the epoch's week
_UNITS: Final = ((DAY_MS, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))


class Calendar(ABC):
    """Numbered windows over time, of one size and one step from start to start.

    Vectorised methods take shape (n,) int64 milliseconds and return shape (n,) int64; times outside
    ``[0, TIME_LIMIT_MS)`` are read as the nearest time inside.

    Attributes:
        schedule: when windows run; ``None`` for always.
    """

    __slots__ = ()
    schedule: Schedule | None

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, int]:
        """Size and step of a window, both in milliseconds or both in local days."""

    @abstractmethod
    def _start_ms(self, since: int) -> int:
        """Return the instant so long after the start of window 0, in the unit of lengths."""

    @abstractmethod
    def _since(self, times: Times) -> Times:
        """Return how long after the start of window 0 instants are, in the unit of lengths."""

    @abstractmethod
    def _words(self, length: int) -> str:
        """Return a length in words."""

    @abstractmethod
    def first_starting_at(self, time_ms: int) -> int:
        """Return the smallest index whose window starts at ``time_ms`` or later."""

    @abstractmethod
    def _longest_ms(self, length: int) -> int:
        """Return how long a length is at most."""

    @property
    def longest_ms(self) -> int:
        """Length of the longest window; a day has an hour above 24 where clocks are put back."""
        return self._longest_ms(self.lengths[0])

    @property
    def wait_ms(self) -> int:
        """Longest time between the ends of two windows that follow each other, schedule aside."""
        return self._longest_ms(self.lengths[1])

    @property
    def _tile(self) -> tuple[int, int]:
        """Size and step of what lies within the bounds of a window."""
        return self.lengths

    def bounds(self, index: int) -> tuple[int, int]:
        """Return ``[start_ms, end_ms)`` of window ``index``."""
        size, step = self._tile
        return self._start_ms(index * step), self._start_ms(index * step + size)

    def counted(self, index: int) -> tuple[int, int]:
        """Return ``[start_ms, end_ms)`` of all events that window ``index`` counts.

        The same as :meth:`bounds`, unless windows are steps of longer ones.
        """
        return self.bounds(index)

    def active(self, index: int) -> bool:
        """Tell whether the window runs: it lies inside one active interval of the schedule."""
        return self.schedule is None or self.schedule.contains(*self.bounds(index))

    def next_active(self, index: int) -> int:
        """Return the smallest active index that is not below ``index``.

        Raises:
            ConfigError: no window is active within ten years.
        """
        if self.active(index):
            return index
        limit_ms = self.bounds(index)[0] + _SEARCH_LIMIT_MS
        while (bounds := self.bounds(index))[0] <= limit_ms:
            if self.active(index):
                return index
            index += 1
            if self.schedule is None or self.schedule.contains(*bounds):
                continue  # an empty window on a skipped day
            # A window that starts before the schedule next pauses ends after it: look behind.
            start_ms = self.schedule.next_start(self.schedule.covered_until(*bounds))
            if start_ms is None:
                break
            index = max(index, self.first_starting_at(start_ms))
        raise ConfigError(
            f"no window fits into one interval of `active`: {self.describe()}",
            hint="write longer intervals, or remove `active`",
        )

    def first_active_at(self, time_ms: int) -> int:
        """Return the smallest active index whose window starts at ``time_ms`` or later."""
        return self.next_active(self.first_starting_at(time_ms))

    def first_opening_at(self, time_ms: int) -> int:
        """Return the smallest such index of which nothing is counted from before ``time_ms``."""
        return self.first_starting_at(time_ms)

    def containing(self, times: Times) -> tuple[Times, Times]:
        """Return the first and the last window that contain each instant.

        Where none does (steps longer than the size), the first is greater than the last.
        """
        (size, step), since = self._tile, self._since(_clip(times))
        last = since // step
        return (last if size == step else (since - size) // step + 1), last

    def first_open(self, appends: Times, grace_ms: int) -> Times:
        """Return the smallest index whose end + ``grace_ms`` lies after each append time."""
        size, step = self._tile
        return (self._since(_clip(appends) - grace_ms) - size) // step + 1

    @property
    def overlap(self) -> int:
        """Most windows that contain one instant."""
        size, step = self.lengths
        return -(-size // step)

    @property
    def charged(self) -> int:
        """Most windows whose bounds contain one instant: so many are charged to what lies there."""
        size, step = self._tile
        return -(-size // step)

    def describe(self) -> str:
        """Return the windows in words."""
        words = self._described(*map(self._words, self.lengths))
        return words if self.schedule is None else f"{words}, active {self.schedule.describe()}"

    def _described(self, size: str, step: str) -> str:
        """Return the windows in words, without their schedule."""
        return (
            f"tumbling windows of {size}"
            if size == step
            else f"hopping windows of {size} every {step}"
        )


class MillisecondCalendar(Calendar):
    """Windows of a fixed length, aligned to the Unix epoch."""

    __slots__ = ()
    size_ms: int
    step_ms: int

    @property
    def lengths(self) -> tuple[int, int]:
        """Size and step in milliseconds."""
        return self.size_ms, self.step_ms

    def first_starting_at(self, time_ms: int) -> int:
        """Return the smallest index whose bounds do not start before ``time_ms``."""
        return -(-time_ms // self.step_ms)

    def _longest_ms(self, length: int) -> int:
        return length

    def _start_ms(self, since: int) -> int:
        return since

    def _since(self, times: Times) -> Times:
        return times

    def _words(self, length: int) -> str:
        return duration_words(length)


@dataclass(frozen=True, slots=True)
class FixedCalendar(MillisecondCalendar):
    """Windows of a fixed length, each by itself.

    Args:
        size_ms: length of a window, 1 or more.
        step_ms: distance between starts; above ``size_ms`` there are gaps between windows.
        schedule: when windows run; ``None`` for always.

    Raises:
        ValueError: size or step is not in 1 to ``TIME_LIMIT_MS``.
    """

    size_ms: int
    step_ms: int
    schedule: Schedule | None = None

    def __post_init__(self) -> None:
        """Refuse sizes and steps that int64 arithmetic could not carry."""
        if not (0 < self.size_ms <= TIME_LIMIT_MS and 0 < self.step_ms <= TIME_LIMIT_MS):
            raise ValueError("a window's size and step are at least 1 ms and below 8,000 years")


@dataclass(frozen=True, slots=True)
class LocalCalendar(Calendar):
    """Windows of whole local days; whole weeks start on Mondays.

    Args:
        size_days: days in a window, 1 or more.
        step_days: days between starts.
        timezone: IANA name of the zone whose midnights are meant.
        schedule: when windows run; ``None`` for always.

    Raises:
        ValueError: size or step is not in 1 to 36,600 days, or the zone is unknown.
    """

    size_days: int
    step_days: int
    timezone: str
    schedule: Schedule | None = None

    def __post_init__(self) -> None:
        """Refuse senseless sizes and unknown zones."""
        if not (0 < self.size_days <= _MAX_DAYS and 0 < self.step_days <= _MAX_DAYS):
            raise ValueError("a window's size and step are 1 day to 100 years")
        midnights(self.timezone)

    @property
    def lengths(self) -> tuple[int, int]:
        """Size and step in days."""
        return self.size_days, self.step_days

    def first_starting_at(self, time_ms: int) -> int:
        """Return the smallest index whose start is not before ``time_ms``."""
        day = self._midnights.day(time_ms - 1) + 1 - self._first_day
        return -(-day // self.step_days)

    def _longest_ms(self, length: int) -> int:
        return self._midnights.longest_ms(length)

    def active(self, index: int) -> bool:
        """Tell whether the window runs, which none does that a skipped day leaves empty.

        Nor does one that such a day makes start together with the next one.
        """
        start_ms, end_ms = self.bounds(index)
        skipped = start_ms in (end_ms, self.bounds(index + 1)[0])
        return not skipped and Calendar.active(self, index)

    @property
    def _midnights(self) -> Midnights:
        """The zone's days."""
        return midnights(self.timezone)

    @property
    def _first_day(self) -> int:
        """The local day on which window 0 starts."""
        return 0 if any(days % _WEEK_DAYS for days in self.lengths) else _MONDAY

    def _start_ms(self, since: int) -> int:
        return self._midnights.start_ms(self._first_day + since)

    def _since(self, times: Times) -> Times:
        return self._midnights.day_of(times) - self._first_day

    def _words(self, length: int) -> str:
        return f"{_plural(length, 'day')} in {self.timezone}"


def _clip(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return times moved into the valid range."""
    clipped: NDArray[np.int64] = np.minimum(np.maximum(times, 0), TIME_LIMIT_MS - 1)
    return clipped


def duration_words(length_ms: int) -> str:
    """Return a duration in the largest unit that divides it."""
    for unit_ms, name in _UNITS:
        if length_ms % unit_ms == 0:
            return _plural(length_ms // unit_ms, name)
    return f"{length_ms} ms"


def _plural(number: int, unit: str) -> str:
    """Return ``1 day``, ``2 days``."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
