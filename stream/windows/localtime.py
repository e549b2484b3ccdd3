"""Local days and local clock times as instants, in integer milliseconds.

Time zones come from the ``tzdata`` package and never from the host, so that every worker with the
same lock file cuts the same windows. Three rules make a calendar out of irregular clocks:

- a local day starts at the first instant at which the local clock reads that date or a later one,
  so a day has 23, 24 or 25 hours, zones that skip midnight start theirs at 01:00, and a day that a
  zone skipped altogether (Pacific/Apia, 2011-12-30) is empty;
- a clock time that occurs twice means its first occurrence, one that is skipped means the skip;
- beyond the years a ``datetime`` can hold, days have 24 hours.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DAY_MS",
    "EPOCH",
    "MILLISECOND",
    "TIME_LIMIT_MS",
    "Midnights",
    "load_zone",
    "midnights",
    "utc_ms",
]

DAY_MS: Final = 86_400_000
"""Milliseconds of a day without a clock change."""

TIME_LIMIT_MS: Final = 253_402_300_800_000
"""Valid times lie in ``[0, TIME_LIMIT_MS)``: the years 1970 to 9999."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)
_MINUTE_MS: Final = 60_000
_READING: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - of a wall clock; the zone is added later
_BLOCK_BITS: Final = 10
_BLOCK_DAYS: Final = 1 << _BLOCK_BITS
_FIRST_DAY: Final = -36 * _BLOCK_DAYS  # in 1869: before the first day of any window
_LAST_DAY: Final = 2864 * _BLOCK_DAYS - 1  # in 9999


class Midnights:
    """The starts of all local days of one time zone, computed a block at a time and kept.

    Days are numbered from the local 1970-01-01. Use ``midnights``, which shares instances.

    Args:
        zone: the time zone.
    """

    def __init__(self, zone: ZoneInfo) -> None:
        """Start with no day computed."""
        self._zone = zone
        days = _LAST_DAY + 1 - _FIRST_DAY
        self._starts = np.zeros(days, np.int64)  # takes memory where something is written
        self._known = np.zeros(days >> _BLOCK_BITS, np.bool_)

    def start_ms(self, day: int) -> int:
        """Return the first instant of local day ``day``."""
        return utc_ms(self._zone, day)

    def starts(self, days: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first instant of each of some local days, shape (n,)."""
        near = np.clip(days, _FIRST_DAY, _LAST_DAY)
        at = near - _FIRST_DAY
        block = at >> _BLOCK_BITS
        for new in np.unique(block[~self._known[block]]).tolist():
            first = new << _BLOCK_BITS
            self._starts[first : first + _BLOCK_DAYS] = _block_starts(
                self._zone, _FIRST_DAY + first
            )
            self._known[new] = True
        return self._starts[at] + (days - near) * DAY_MS

    def day(self, time_ms: int) -> int:
        """Return the local day that contains one instant."""
        day = time_ms // DAY_MS + 1
        while self.start_ms(day) > time_ms:
            day -= 1
        return day

    def day_of(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the local day that contains each instant: the last day that starts by then.

        Args:
            times: shape (n,), milliseconds, anywhere within +-2**60.
        """
        # No zone is as far as a day from UTC, so the local date is within one day of the UTC date.
        if len(times):
            first, last = int(times.min()) // DAY_MS - 1, int(times.max()) // DAY_MS + 1
            if last - first < _BLOCK_DAYS:
                starts = self.starts(np.arange(first, last + 1))
                return np.searchsorted(starts, times, side="right") + (first - 1)
        day = times // DAY_MS + 1
        for _ in range(2):
            day -= self.starts(day) > times
        return day

    def longest_ms(self, days: int) -> int:
        """Return the length of the longest run of ``days`` days from 1970 to 2100.

        Later years repeat the last rule of the zone.
        """
        starts = self.starts(np.arange(131 * 366 + days + 1))
        return int((starts[days:] - starts[:-days]).max())


@lru_cache(maxsize=64)
def load_zone(timezone: str) -> ZoneInfo:
    """Return an IANA time zone from the ``tzdata`` package.

    Raises:
        ValueError: the package knows no such zone.
    """
    if timezone not in _zone_names():
        raise ValueError(
            f"unknown time zone {timezone!r}: write an IANA name such as 'Europe/Berlin' or 'UTC'"
        )
    path = resources.files("tzdata").joinpath("zoneinfo", *timezone.split("/"))
    with path.open("rb") as file:
        return ZoneInfo.from_file(file, key=timezone)


@lru_cache(maxsize=64)
def midnights(timezone: str) -> Midnights:
    """Return the shared day table of a time zone (ValueError as ``load_zone``)."""
    return Midnights(load_zone(timezone))


@lru_cache(maxsize=1 << 16)
def utc_ms(zone: ZoneInfo, day: int, minute: int = 0) -> int:
    """Return the first instant at which the local clock reads a time of day, or has passed it.

    Args:
        zone: the time zone.
        day: local day, numbered from 1970-01-01.
        minute: minutes since midnight on the clock's face; beyond 1440 it reads the next day.
    """
    usable = min(max(day, _FIRST_DAY), _LAST_DAY)
    beyond_ms = (day - usable) * DAY_MS
    reading = _READING + timedelta(days=usable, minutes=minute)
    reading_ms = usable * DAY_MS + minute * _MINUTE_MS
    early_ms = reading_ms - _offset_ms(reading.replace(tzinfo=zone, fold=0))
    late_ms = reading_ms - _offset_ms(reading.replace(tzinfo=zone, fold=1))
    if early_ms > late_ms:  # PEP 495: the clock skips this reading; the skip lies in between
        early_ms = _skip_ms(zone, reading_ms, late_ms, early_ms)
    return early_ms + beyond_ms


def _block_starts(zone: ZoneInfo, first: int) -> NDArray[np.int64]:
    """Return the starts of ``_BLOCK_DAYS`` days, ``utc_ms`` of each."""
    offsets: list[int] = []
    midnight = (_READING + timedelta(days=first)).replace(tzinfo=zone)
    for _ in range(_BLOCK_DAYS + 1):
        offsets.append(_offset_ms(midnight))
        midnight += timedelta(days=1)  # on the wall clock, whatever happened in between
    starts = np.arange(first, first + _BLOCK_DAYS, dtype=np.int64) * DAY_MS - offsets[:-1]
    # A midnight can only be skipped where the clock stands elsewhere a day later.
    for at in np.flatnonzero(np.diff(offsets)).tolist():
        starts[at] = utc_ms(zone, first + at)
    return starts


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    """Return every zone that the ``tzdata`` package carries."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("utf-8").split())


def _offset_ms(moment: datetime) -> int:
    """Return the distance of the local clock from UTC."""
    offset = moment.utcoffset()
    return 0 if offset is None else offset // MILLISECOND


def _skip_ms(zone: ZoneInfo, reading_ms: int, before_ms: int, after_ms: int) -> int:
    """Return the first instant whose local reading is not before ``reading_ms``.

    Args:
        zone: the time zone.
        reading_ms: the skipped reading of the clock, as if it were UTC.
        before_ms: an instant before the skip.
        after_ms: an instant at or after the skip.
    """
    while after_ms - before_ms > 1:
        middle_ms = (before_ms + after_ms) // 2
        local = (EPOCH + timedelta(milliseconds=middle_ms)).astimezone(zone)
        if middle_ms + _offset_ms(local) >= reading_ms:
            after_ms = middle_ms
        else:
            before_ms = middle_ms
    return after_ms
