"""The public schedule of an alarm: when its windows may run at all.

A schedule is a set of weekly intervals on the local clock, such as ``Mon-Fri 07:00-22:00``. Windows
outside it are never decided, never charged, and their events never counted; because it is public
and fixed, leaving windows out tells nobody anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from stream.windows.localtime import load_zone, midnights, utc_ms

__all__ = ["Schedule"]

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_MINUTES: Final = 1440
_EPOCH_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday
_LOOK_AHEAD_DAYS: Final = 30  # every week has an interval; a clock change may swallow a few
_INTERVAL: Final = re.compile(
    r"(?P<first>[A-Za-z]+)(?:\s*-\s*(?P<last>[A-Za-z]+))?"
    r"\s+(?P<from>\d{1,2}:\d{2})\s*-\s*(?P<until>\d{1,2}:\d{2})"
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Weekly intervals on the local clock; touching intervals are one interval.

    Args:
        text: as it was written.
        timezone: IANA name.
        spans: ``[start, end)`` in minutes since Monday 00:00 of the local clock, sorted; an end may
            pass the next midnight (or the end of the week) for intervals overnight.
    """

    text: str
    timezone: str
    spans: tuple[tuple[int, int], ...]

    @staticmethod
    def parse(text: str, timezone: str) -> Schedule:
        """Read ``Mon-Fri 07:00-22:00, Sat 09:00-13:00``.

        An interval whose end is not after its start, like ``22:00-06:00``, ends on the next day;
        ``24:00`` is the end of the day.

        Args:
            text: intervals, separated by commas.
            timezone: IANA name of the zone whose clock is meant.

        Raises:
            ValueError: in one sentence, what cannot be read and what to write.
        """
        load_zone(timezone)
        spans: set[tuple[int, int]] = set()
        for part in text.split(","):
            spans.update(_parse_interval(part.strip()))
        return Schedule(" ".join(text.split()), timezone, tuple(sorted(spans)))

    def contains(self, start_ms: int, end_ms: int) -> bool:
        """Tell whether the whole of ``[start_ms, end_ms)`` lies inside one active interval."""
        return self.covered_until(start_ms, end_ms) >= end_ms

    def covered_until(self, time_ms: int, limit_ms: int) -> int:
        """Return until when the schedule stays active from ``time_ms`` on.

        Args:
            time_ms: where to begin.
            limit_ms: how far to look; the answer may lie beyond it.

        Returns:
            ``time_ms`` itself when the schedule is not active then.
        """
        until_ms, day = time_ms, self._day(time_ms) - 2
        while day <= self._day(until_ms) + 1 and until_ms < limit_ms:
            for start_ms, end_ms in _intervals(self, day):
                if start_ms <= until_ms < end_ms:
                    until_ms = end_ms
            day += 1
        return until_ms

    def next_start(self, time_ms: int) -> int | None:
        """Return the first active instant that is not before ``time_ms``; ``None`` if none is near.

        "Near" is a month: a weekly interval that does not occur in a month never does.
        """
        today = self._day(time_ms)
        for day in range(today - 2, today + _LOOK_AHEAD_DAYS):
            for start_ms, end_ms in _intervals(self, day):
                if end_ms > time_ms:
                    return max(start_ms, time_ms)
        return None

    def describe(self) -> str:
        """Return the schedule as one reads it, with its time zone."""
        return f"{self.text} ({self.timezone})"

    def _day(self, time_ms: int) -> int:
        """Return the local day of an instant."""
        return midnights(self.timezone).day(time_ms)


def _parse_interval(text: str) -> list[tuple[int, int]]:
    """Return the spans of one interval, a span per day."""
    match = _INTERVAL.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not an interval of days and times, as in 'Mon-Fri 07:00-22:00, "
            "Sat 09:00-13:00'"
        )
    first = _weekday(match["first"], text)
    last = first if match["last"] is None else _weekday(match["last"], text)
    start, end = _minute(match["from"], text), _minute(match["until"], text)
    if start == _DAY_MINUTES:
        raise ValueError(f"{text!r} starts at 24:00 instead of 00:00 of the next day")
    if start == end:
        raise ValueError(f"{text!r} is empty; a whole day is 00:00-24:00")
    if end < start:
        end += _DAY_MINUTES
    days = [(first + step) % 7 for step in range((last - first) % 7 + 1)]
    return [(day * _DAY_MINUTES + start, day * _DAY_MINUTES + end) for day in days]


def _weekday(name: str, text: str) -> int:
    """Return 0 for Monday to 6 for Sunday."""
    try:
        return _DAYS.index(name.capitalize())
    except ValueError:
        raise ValueError(f"{name!r} in {text!r} is not one of {', '.join(_DAYS)}") from None


def _minute(time: str, text: str) -> int:
    """Return the minutes since midnight of ``HH:MM``, 24:00 included."""
    hour, minute = map(int, time.split(":"))
    if minute > 59 or hour * 60 + minute > _DAY_MINUTES:
        raise ValueError(f"{time!r} in {text!r} is not a time from 00:00 to 24:00")
    return hour * 60 + minute


@lru_cache(maxsize=4096)
def _intervals(schedule: Schedule, day: int) -> tuple[tuple[int, int], ...]:
    """Return the intervals that start on a local day, as instants, sorted, empty ones left out."""
    zone = load_zone(schedule.timezone)
    monday = (day + _EPOCH_WEEKDAY) % 7 * _DAY_MINUTES
    instants = (
        (utc_ms(zone, day, start - monday), utc_ms(zone, day, end - monday))
        for start, end in schedule.spans
        if 0 <= start - monday < _DAY_MINUTES
    )
    return tuple((start_ms, end_ms) for start_ms, end_ms in instants if start_ms < end_ms)
