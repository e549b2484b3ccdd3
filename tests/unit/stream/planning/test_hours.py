"""Shorter schedules as they are written into a file."""

from __future__ import annotations

import pytest

from stream.planning.advice.hours import most_shortened, shortened
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.schedule import Schedule

_HOUR_MS = 3_600_000
_ZONE = "Europe/Athens"


def _hourly(text: str | None, hours: int = 1) -> FixedCalendar:
    schedule = None if text is None else Schedule.parse(text, _ZONE)
    return FixedCalendar(hours * _HOUR_MS, hours * _HOUR_MS, schedule)


@pytest.mark.parametrize(
    ("active", "fewer", "left"),
    [
        (None, 6, "Mon-Sun 00:00-18:00"),
        ("Mon-Fri 07:00-22:00", 5, "Mon-Fri 07:00-17:00"),
        ("Mon-Fri 07:00-22:00, Sat 09:00-13:00", 5, "Mon-Fri 07:00-17:00, Sat 09:00-10:00"),
        ("Mon 08:00-12:00, Wed-Thu 08:00-12:00", 1, "Mon 08:00-11:00, Wed-Thu 08:00-11:00"),
        ("Fri-Sat 20:00-04:00", 2, "Fri-Sat 20:00-02:00"),
        ("Fri-Sat 20:00-04:00", 4, "Fri-Sat 20:00-24:00"),
        ("Sun 22:00-02:00", 1, "Sun 22:00-01:00"),
        ("Mon 08:00-08:30, Tue 08:00-12:00", 3, "Mon 08:00-08:30, Tue 08:00-09:00"),
    ],
)
def test_every_interval_ends_earlier_but_keeps_a_window(
    active: str | None, fewer: int, left: str
) -> None:
    """Days with the same hours stand together; nights end on the next day."""
    schedule = shortened(_hourly(active), fewer, _ZONE)
    assert (schedule.text, schedule.timezone) == (left, _ZONE)
    assert Schedule.parse(left, _ZONE) == schedule


@pytest.mark.parametrize(
    ("calendar", "most"),
    [
        (_hourly("Mon-Fri 07:00-22:00, Sat 09:00-13:00"), 14),
        (_hourly(None), 23),
        (_hourly("Mon-Fri 07:00-22:00", 4), 2),
        (FixedCalendar(4 * _HOUR_MS, _HOUR_MS), 0),
        (FixedCalendar(1_500, 1_500), 0),
        (LocalCalendar(1, 1, _ZONE), 0),
    ],
)
def test_a_window_is_left_at_most_everywhere(
    calendar: FixedCalendar | LocalCalendar, most: int
) -> None:
    """Windows that overlap, or are no whole minutes of a day, are not left out one by one."""
    assert most_shortened(calendar) == most
    if not most:
        with pytest.raises(ValueError, match="only tumbling windows"):
            shortened(calendar, 1, _ZONE)
