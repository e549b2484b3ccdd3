"""Shorter schedules: the same days, each open for less long."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from stream.windows.calendars import FixedCalendar
from stream.windows.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.windows.calendars import Calendar

__all__ = ["most_shortened", "shortened"]

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_MINUTES: Final = 1440
_MINUTE_MS: Final = 60_000
_ALWAYS: Final = "Mon-Sun 00:00-24:00"


def most_shortened(calendar: Calendar) -> int:
    """Return by how many windows the longest interval of a schedule can be shortened.

    0 for windows that a schedule cannot leave out one by one: of days, of parts of minutes, or
    hopping ones.
    """
    step = _step_minutes(calendar)
    spans = _spans(calendar)
    return max((end - start) // step for start, end in spans) - 1 if step else 0


def shortened(calendar: Calendar, windows: int, timezone: str) -> Schedule:
    """Return the schedule with every interval so many windows shorter, but for one window.

    Args:
        calendar: of tumbling windows of whole minutes; one without schedule runs always.
        windows: how many fewer, at the end of each interval.
        timezone: of the schedule, where there is none yet.

    Raises:
        ValueError: the calendar's windows are others.
    """
    step = _step_minutes(calendar)
    if not step:
        raise ValueError("only tumbling windows of whole minutes are left out one by one")
    spans = [
        (start, max(end - windows * step, min(start + step, end)))
        for start, end in _spans(calendar)
    ]
    zone = timezone if calendar.schedule is None else calendar.schedule.timezone
    return Schedule.parse(_text(spans), zone)


def _step_minutes(calendar: Calendar) -> int:
    """Return the length of a tumbling window in minutes; 0 of any other."""
    if not isinstance(calendar, FixedCalendar) or calendar.size_ms != calendar.step_ms:
        return 0
    minutes, rest = divmod(calendar.size_ms, _MINUTE_MS)
    return 0 if rest or minutes > _DAY_MINUTES else minutes


def _spans(calendar: Calendar) -> Sequence[tuple[int, int]]:
    schedule = calendar.schedule
    return Schedule.parse(_ALWAYS, "UTC").spans if schedule is None else schedule.spans


def _text(spans: Sequence[tuple[int, int]]) -> str:
    """Return intervals as a configuration writes them, days in a row together."""
    by_hours: dict[tuple[int, int], list[int]] = {}
    for start, end in spans:
        day, minute = divmod(start, _DAY_MINUTES)
        by_hours.setdefault((minute, end - day * _DAY_MINUTES), []).append(day)
    parts = []
    for (start, end), days in by_hours.items():
        rows = groupby(enumerate(days), lambda place: place[1] - place[0])
        for _, row in rows:
            one = [day for _, day in row]
            named = _DAYS[one[0]] if len(one) == 1 else f"{_DAYS[one[0]]}-{_DAYS[one[-1]]}"
            parts.append(f"{named} {_clock(start)}-{_clock(end)}")
    return ", ".join(parts)


def _clock(minute: int) -> str:
    """Return a minute of a day, or of the night after it."""
    minute -= _DAY_MINUTES * (minute > _DAY_MINUTES)
    return f"{minute // 60:02d}:{minute % 60:02d}"
