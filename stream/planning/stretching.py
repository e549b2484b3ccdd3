"""Longer windows: the same calendar with its windows, or the steps between them, stretched.

A tumbling window is made longer under unit ``user``, where fewer windows in a period cost less; a
hopping one gets longer steps, so that fewer windows overlap. Where whole runs of windows are
charged, longer windows help little: there may be one run less at a period's ends. Nothing is
stretched so far that windows leave gaps, or that under a schedule they cover less time than before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.config.sql.text import name_in_sql
from stream.planning.occupancy import ActiveWindows
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.localtime import DAY_MS
from stream.windows.periods import REFERENCE_MS

if TYPE_CHECKING:
    from stream.planning.budget import PeriodTable
    from stream.windows.calendars import Calendar

__all__ = [
    "covers_as_much",
    "duration_text",
    "longest_stretch",
    "stretched",
    "window_text",
]

_YEAR = (REFERENCE_MS, REFERENCE_MS + 366 * DAY_MS)
_UNITS = ((3_600_000, "HOUR"), (60_000, "MINUTE"), (1_000, "SECOND"))


def longest_stretch(calendar: Calendar, periods: PeriodTable | None) -> int:
    """Return the largest multiple of windows, or of hopping ones' steps, that can be of use.

    Args:
        calendar: the windows.
        periods: those of the budget; ``None`` where there are none that end.
    """
    size, step = calendar.lengths
    if size != step:
        return max(1, size // step)
    if periods is None:
        return 1
    length_ms = size * DAY_MS if isinstance(calendar, LocalCalendar) else size
    return max(1, periods.longest_ms // length_ms)


def covers_as_much(calendar: Calendar, before: Calendar) -> bool:
    """Return whether windows cover no less time of a year than others do."""
    if calendar.schedule is None:
        return True
    now_ms, before_ms = (ActiveWindows(each, *_YEAR).covered_ms for each in (calendar, before))
    return now_ms >= before_ms


def stretched(calendar: Calendar, times: int) -> Calendar:
    """Return tumbling windows ``times`` as long, or hopping ones with steps so much longer.

    Raises:
        ValueError: they are beyond what a calendar can hold.
    """
    size, step = calendar.lengths
    longer = (size * times if size == step else size), step * times
    if isinstance(calendar, FixedCalendar):
        return FixedCalendar(*longer, calendar.schedule)
    if isinstance(calendar, LocalCalendar):
        return LocalCalendar(*longer, calendar.timezone, calendar.schedule)
    return calendar


def window_text(calendar: Calendar, time: str) -> str:
    """Return windows over a time field as one writes them into GROUP BY."""
    size, step = calendar.lengths
    lengths: tuple[int, ...] = (step, size)
    function = "HOP"
    if isinstance(calendar, CumulativeCalendar):
        function = "CUMULATE"
    elif size == step:
        lengths, function = (size,), "TUMBLE"
    written = "INTERVAL '{}' DAY".format if isinstance(calendar, LocalCalendar) else _interval
    return f"{function}({', '.join((name_in_sql(time), *map(written, lengths)))})"


def duration_text(length_ms: int) -> str:
    """Return a length of time in its two largest units, as ``2 d 5 h``."""
    parts: list[str] = []
    rest_ms = length_ms
    for unit_ms, name in ((DAY_MS, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        number, rest_ms = divmod(rest_ms, unit_ms)
        if number:
            parts.append(f"{number} {name}")
    return " ".join(parts[:2]) or f"{length_ms} ms"


def _interval(length_ms: int) -> str:
    for unit_ms, name in _UNITS:
        if length_ms % unit_ms == 0:
            return f"INTERVAL '{length_ms // unit_ms}' {name}"
    return f"INTERVAL '{length_ms / 1000}' SECOND"
