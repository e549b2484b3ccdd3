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

__all__ = ["DAY_MS", "TIME_LIMIT_MS", "Midnights", "load_zone", "midnights", "utc_ms"]

DAY_MS: Final = 86_400_000
"""Milliseconds of a day without a clock change."""

TIME_LIMIT_MS: Final = 253_402_300_800_000
"""Valid times lie in ``[0, TIME_LIMIT_MS)``: the years 1970 to 9999."""

_MINUTE_MS: Final = 60_000
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock reading; the zone is added later
_EPOCH_UTC: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = (datetime(2, 1, 1, tzinfo=UTC) - _EPOCH_UTC).days
_LAST_DAY: Final = (datetime(9999, 12, 28, tzinfo=UTC) - _EPOCH_UTC).days
_BLOCK_BITS: Final = 10
_BLOCK_DAYS: Final = 1 << _BLOCK_BITS
_TABLE_DAYS: Final = 16_384


class Midnights:
    """The starts of all local days of one time zone, computed once and kept.

    Days are numbered from the local 1970-01-01. Use ``midnights``, which shares instances.

    Args:
        zone: the time zone.
    """

    def __init__(self, zone: ZoneInfo) -> None:
        """Start with no day computed."""
        self._zone = zone
        self._blocks: dict[int, NDArray[np.int64]] = {}

    def start_ms(self, day: int) -> int:
        """Return the first instant of local day ``day``."""
        block, at = divmod(day, _BLOCK_DAYS)
        return int(self._block(block)[at])

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
        if not len(times):
            return np.zeros(0, np.int64)
        # No zone is as far as a day from UTC, so the local date is within one day of the UTC date.
        first, last = int(times.min()) // DAY_MS - 1, int(times.max()) // DAY_MS + 1
        if last - first <= _TABLE_DAYS:
            return self._search(times, first, last)
        days = np.empty(len(times), np.int64)
        order = np.argsort(times, kind="stable")
        ordered = times[order]
        blocks = (ordered // DAY_MS) >> _BLOCK_BITS
        cuts = np.flatnonzero(np.diff(blocks)) + 1
        for part, where in zip(np.split(ordered, cuts), np.split(order, cuts), strict=True):
            near = int(part[0]) // DAY_MS - 1, int(part[-1]) // DAY_MS + 1
            days[where] = self._search(part, *near)
        return days

    def longest_ms(self, days: int) -> int:
        """Return the length of the longest run of ``days`` days from 1970 to 2100.

        Later years repeat the last rule of the zone.
        """
        span = 131 * 366 + days
        starts = self._table(0, span)
        return int((starts[days:] - starts[:-days]).max())

    def _search(self, times: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
        """Return the days of instants that are known to lie in days ``first`` to ``last``."""
        return np.searchsorted(self._table(first, last), times, side="right") + (first - 1)

    def _table(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the starts of the days ``first`` to ``last`` inclusive."""
        low, high = first >> _BLOCK_BITS, last >> _BLOCK_BITS
        table = np.concatenate([self._block(block) for block in range(low, high + 1)])
        offset = low << _BLOCK_BITS
        return table[first - offset : last + 1 - offset]

    def _block(self, block: int) -> NDArray[np.int64]:
        """Return the starts of ``_BLOCK_DAYS`` days, from the cache where they are there."""
        starts = self._blocks.get(block)
        if starts is None:
            starts = _block_starts(self._zone, block * _BLOCK_DAYS)
            self._blocks[block] = starts
        return starts


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


def utc_ms(zone: ZoneInfo, day: int, minute: int = 0) -> int:
    """Return the first instant at which the local clock reads a time of day, or has passed it.

    Args:
        zone: the time zone.
        day: local day, numbered from 1970-01-01.
        minute: minutes since midnight on the clock's face; beyond 1440 it reads the next day.
    """
    usable = min(max(day, _FIRST_DAY), _LAST_DAY)
    beyond_ms = (day - usable) * DAY_MS
    reading = _EPOCH + timedelta(days=usable, minutes=minute)
    reading_ms = usable * DAY_MS + minute * _MINUTE_MS
    early_ms = reading_ms - _offset_ms(reading.replace(tzinfo=zone, fold=0))
    late_ms = reading_ms - _offset_ms(reading.replace(tzinfo=zone, fold=1))
    if early_ms > late_ms:  # PEP 495: the clock skips this reading; the skip lies in between
        early_ms = _skip_ms(zone, reading_ms, late_ms, early_ms)
    return early_ms + beyond_ms


def _block_starts(zone: ZoneInfo, first: int) -> NDArray[np.int64]:
    """Return the starts of ``_BLOCK_DAYS`` days, ``utc_ms`` of each."""
    days = range(first, first + _BLOCK_DAYS)
    if days[0] < _FIRST_DAY or days[-1] >= _LAST_DAY:
        return np.array([utc_ms(zone, day) for day in days], np.int64)
    offsets: list[int] = []
    midnight = (_EPOCH + timedelta(days=first)).replace(tzinfo=zone)
    for _ in range(_BLOCK_DAYS + 1):
        offsets.append(_offset_ms(midnight))
        midnight += timedelta(days=1)  # on the wall clock, whatever happened in between
    starts = np.arange(first, first + _BLOCK_DAYS, dtype=np.int64) * DAY_MS - offsets[:-1]
    # A midnight can only be skipped where the clock stands elsewhere a day later.
    for at in np.flatnonzero(np.diff(offsets)).tolist():
        starts[at] = utc_ms(zone, days[at])
    return starts


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    """Return every zone that the ``tzdata`` package carries."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("utf-8").split())


def _offset_ms(moment: datetime) -> int:
    """Return the distance of the local clock from UTC."""
    offset = moment.utcoffset()
    return 0 if offset is None else offset // _MILLISECOND


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
        local = (_EPOCH_UTC + timedelta(milliseconds=middle_ms)).astimezone(zone)
        if middle_ms + _offset_ms(local) >= reading_ms:
            after_ms = middle_ms
        else:
            before_ms = middle_ms
    return after_ms
