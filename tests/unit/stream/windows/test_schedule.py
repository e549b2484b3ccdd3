"""Schedules: what they accept, and when they are active."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.windows.localtime import load_zone
from stream.windows.schedule import Schedule
from tests.unit.stream.windows.test_calendars import ms

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


@pytest.mark.parametrize(
    ("text", "days", "first"),
    [
        ("Mon-Fri 07:00-22:00, Sat 09:00-13:00", [0, 1, 2, 3, 4, 5], (420, 1320)),
        ("Sat-Mon 10:00-11:00", [0, 5, 6], (600, 660)),
    ],
)
def test_intervals_are_read_as_written(text, days, first):
    """Days, times, and ranges of days that may pass the weekend; told as they were written."""
    schedule = Schedule.parse(text, "UTC")
    assert [start // 1440 for start, _ in schedule.spans] == days
    assert schedule.spans[0] == first
    assert schedule.describe() == f"{text} (UTC)"


def test_touching_intervals_are_one():
    """A window may pass from one interval to the next where no minute is left out."""
    whole = Schedule.parse("Mon-Sun 00:00-24:00", "Europe/Berlin")
    assert whole.contains(0, 10**14)
    assert whole.covered_until(5, 3) == 5
    assert whole.next_start(77) == 77
    split = Schedule.parse("Mon 08:00-12:00, Mon 12:00-24:00, Tue 00:00-02:00", "UTC")
    monday = ms(2024, 4, 29)
    assert split.contains(monday + 8 * HOUR_MS, monday + 26 * HOUR_MS)
    assert split.next_start(monday + 26 * HOUR_MS) == monday + (7 * 24 + 8) * HOUR_MS


def test_clock_changes_move_intervals_with_the_clock():
    """07:00 is 07:00 on the wall; a skipped time means the skip, a repeated one its first time."""
    schedule = Schedule.parse("Sun 02:30-07:00", "Europe/Berlin")
    spring, autumn, plain = ms(2024, 3, 31), ms(2024, 10, 27), ms(2024, 4, 7)
    assert schedule.next_start(spring) == spring + HOUR_MS  # 02:00 to 03:00 was skipped
    assert schedule.covered_until(spring + HOUR_MS, spring * 2) == spring + 5 * HOUR_MS
    assert schedule.next_start(autumn) == autumn + 30 * MINUTE_MS  # 02:30 summer time
    assert schedule.contains(autumn + 30 * MINUTE_MS, autumn + 6 * HOUR_MS)
    assert schedule.contains(plain + 30 * MINUTE_MS, plain + 5 * HOUR_MS)


def test_a_skipped_day_has_no_interval():
    """Apia's missing Friday takes its interval with it."""
    schedule = Schedule.parse("Fri 08:00-12:00", "Pacific/Apia")
    missing = ms(2011, 12, 30, 10)  # Thursday's last instant is Saturday's first
    assert schedule.next_start(missing - HOUR_MS) == ms(2012, 1, 5, 18)


@settings(max_examples=60)
@given(
    st.sampled_from(["Mon-Fri 07:00-22:00", "sun 22:00-06:00", "Sat 22:00-06:00, Sun 02:00-03:30"]),
    st.sampled_from(["UTC", "Asia/Tokyo", "America/New_York"]),
    st.integers(ms(2023, 6, 1), ms(2023, 10, 1)),
    st.integers(1, 9 * 60),
)
def test_active_is_what_the_wall_clock_says(text, zone, start_ms, minutes):
    """Between clock changes, a span is inside iff every minute of it is by the wall clock."""
    schedule = Schedule.parse(text, zone)
    end_ms = start_ms + minutes * MINUTE_MS

    def inside(time_ms):
        local = datetime.fromtimestamp(time_ms // MINUTE_MS * 60, tz=load_zone(zone))
        minute = local.weekday() * 1440 + local.hour * 60 + local.minute
        return any(
            start <= minute + week < end for start, end in schedule.spans for week in (0, 10080)
        )

    walked = all(inside(at) for at in [*range(start_ms, end_ms, MINUTE_MS), end_ms - 1])
    assert schedule.contains(start_ms, end_ms) == walked
    upcoming = schedule.next_start(start_ms)
    assert inside(upcoming)
    assert (upcoming == start_ms) == inside(start_ms)
    assert not any(inside(at) for at in range(start_ms, upcoming, 7 * MINUTE_MS))
