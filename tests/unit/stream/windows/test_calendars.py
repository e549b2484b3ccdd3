"""Windows, panes and periods: which instant belongs where."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountant.errors import ConfigError
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.localtime import DAY_MS, TIME_LIMIT_MS, load_zone, midnights
from stream.windows.periods import Periods
from stream.windows.schedule import Schedule

HOUR_MS = 3_600_000
INT64 = st.integers(-(2**63), 2**63 - 1)
ZONES = (
    "Europe/Berlin",
    "America/Sao_Paulo",
    "America/St_Johns",
    "America/Havana",
    "Pacific/Apia",
    "Africa/Monrovia",
    "Asia/Pyongyang",
    "UTC",
)
CALENDARS = (
    FixedCalendar(10, 10),
    FixedCalendar(15, 10),
    FixedCalendar(5, 8),
    FixedCalendar(HOUR_MS, 7 * HOUR_MS),
    FixedCalendar(TIME_LIMIT_MS, TIME_LIMIT_MS),
    LocalCalendar(1, 1, "Europe/Berlin"),
    LocalCalendar(7, 7, "America/Sao_Paulo"),
    LocalCalendar(2, 1, "Pacific/Apia"),
    LocalCalendar(3, 2, "America/Havana"),
    LocalCalendar(1, 3, "Africa/Monrovia"),
    LocalCalendar(365, 7, "Asia/Kathmandu"),
    CumulativeCalendar(60, 20),
)
APIA = CALENDARS[7]
PERIODS = (CALENDARS[5], LocalCalendar(1, 1, "Pacific/Apia"), FixedCalendar(DAY_MS, DAY_MS))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC).toordinal()
SKIPPED = 15_338  # the day number of 2011-12-30, which Apia never had


def ms(year, month, day, hour=0, minute=0):
    """Return a UTC date and time in milliseconds."""
    moment = datetime(year, month, day, hour, minute, tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def array(*times):
    """Return times as the vectorised methods take them."""
    return np.array(times, np.int64)


@settings(max_examples=300)
@given(
    st.sampled_from(CALENDARS),
    st.lists(
        st.integers(0, TIME_LIMIT_MS - 1) | st.integers(0, 100) | st.integers(0, 2**41),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 40) | st.integers(0, 10**10),
)
@example(APIA, [ms(2011, 12, 29, 12), ms(2011, 12, 30, 9, 59), ms(2011, 12, 30, 10)], 0)
@example(APIA, [0, TIME_LIMIT_MS - 1], 0)
def test_vectors_agree_with_the_bounds_of_single_windows(calendar, times, grace_ms):
    """``containing`` and ``first_open`` say what single windows say, exactly."""
    start_ms, end_ms = calendar.bounds(int(calendar.containing(array(times[0]))[1][0]))
    near = (start_ms - 1, start_ms, start_ms + 1, end_ms - 1, end_ms, end_ms + grace_ms)
    times = times + [at for at in near if 0 <= at < TIME_LIMIT_MS]
    at = array(*times)
    found = (*calendar.containing(at), calendar.first_open(at, grace_ms))
    assert {each.dtype for each in found} == {np.dtype(np.int64)}
    for time_ms, low, high, still in zip(times, *(each.tolist() for each in found), strict=True):
        around = range(min(low, high) - 2, max(low, high) + 3)
        counted = {index: range(*calendar.counted(index)) for index in around}
        holding = [index for index in around if time_ms in counted[index]]
        assert holding == list(range(low, high + 1))
        assert len(holding) <= calendar.overlap
        ends_ms = [calendar.bounds(index)[1] + grace_ms for index in (still - 1, still)]
        assert ends_ms[0] <= time_ms < ends_ms[1]


@given(st.sampled_from(CALENDARS), st.lists(INT64, min_size=1, max_size=5))
@example(CALENDARS[4], [-(2**63), 2**63 - 1])
def test_hostile_times_are_read_as_the_nearest_valid_time(calendar, times):
    """No time overflows: those outside 1970 to 9999 count as its first or last millisecond."""
    hostile = array(*times)
    near = np.clip(hostile, 0, TIME_LIMIT_MS - 1)
    assert calendar.first_open(hostile, 5).tolist() == calendar.first_open(near, 5).tolist()
    for found, clipped in zip(calendar.containing(hostile), calendar.containing(near), strict=True):
        assert found.tolist() == clipped.tolist()


@given(
    st.sampled_from(CALENDARS),
    st.integers(0, 2**42) | st.integers(-(2**40), 100),
)
def test_the_first_window_to_start_is_found(calendar, time_ms):
    """It starts at that time or later, and the one before it earlier."""
    index = calendar.first_starting_at(time_ms)
    assert calendar.bounds(index)[0] >= time_ms > calendar.bounds(index - 1)[0]


def test_windows_begin_with_the_epoch_and_weeks_on_mondays():
    """Every instant lies in one window, in several, or in none; which, the property above tells.

    ::

        time        0    5    10   15   20
        size 10     [----0----)[---1----)             tumbling
        15 by 10    [-----0------)                    hopping
                              [------1-----)
        5 by 8      [-0-)    [-1-)                    gaps: 5, 6 and 7 lie in no window
    """
    assert [calendar.bounds(1) for calendar in CALENDARS[:3]] == [(10, 20), (10, 25), (8, 13)]
    assert CALENDARS[1].bounds(-1) == (-10, 5)
    assert [calendar.overlap for calendar in (*CALENDARS[:3], CALENDARS[-1])] == [1, 2, 1, 3]
    assert LocalCalendar(7, 7, "UTC").bounds(0) == (-3 * DAY_MS, 4 * DAY_MS)
    assert LocalCalendar(7, 1, "UTC").bounds(0) == (0, 7 * DAY_MS)


@pytest.mark.long
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "around",
    [(2018, 11, 4), (2011, 12, 30), (2024, 3, 31), (2006, 10, 29), (1972, 1, 7), (2018, 5, 5)],
)
def test_local_days_start_when_the_date_first_shows(zone, around):
    """No instant before shows its date, minute by minute, and that instant does or a later one."""

    def shown(at_ms):
        return datetime.fromtimestamp(at_ms / 1000, tz=load_zone(zone)).date().toordinal()

    for day in range(ms(*around) // DAY_MS - 2, ms(*around) // DAY_MS + 3):
        start_ms, date = midnights(zone).start_ms(day), EPOCH + day
        assert shown(start_ms) >= date
        assert all(shown(at) < date for at in range(start_ms - 1, start_ms - 3 * HOUR_MS, -60_000))


def test_a_gap_around_midnight_starts_the_day_at_its_end():
    """In Toronto, clocks went from 23:30 to 00:30 on 1919-03-30: the 31st began at that instant."""
    day = ms(1919, 3, 31) // DAY_MS
    assert midnights("America/Toronto").start_ms(day) == ms(1919, 3, 31, 4, 30)


def test_a_skipped_day_is_never_active():
    """Apia had no 2011-12-30: no window is only that day, and none starts with it.

    ::

        local date     28       29       31       32 (1 January)
        2 by 1 days    [-------28-------)
                                [-------29--------)      29 and the missing 30: just the 29th
                                         [-30-)          starts with 31: not active
                                         [-------31---...
    """
    single = PERIODS[1]
    start_ms, end_ms = single.bounds(SKIPPED)
    assert start_ms == end_ms == ms(2011, 12, 30, 10)
    for calendar in (single, APIA):
        assert [calendar.active(SKIPPED + shift) for shift in (-1, 0, 1)] == [True, False, True]
        assert calendar.next_active(SKIPPED) == SKIPPED + 1
    assert single.containing(array(start_ms))[0].tolist() == [SKIPPED + 1]
    assert APIA.bounds(SKIPPED - 1) == (start_ms - DAY_MS, start_ms)
    assert LocalCalendar(2, 2, "Pacific/Apia").active(SKIPPED // 2)  # it holds the other day


def test_schedules_choose_windows():
    """Only windows inside one active interval run, whatever clock changes make of a day."""
    days = LocalCalendar(1, 1, "Europe/Berlin", Schedule.parse("Sun 00:00-24:00", "Europe/Berlin"))
    sunday = days.first_starting_at(ms(2024, 3, 30, 23))
    assert days.active(sunday)  # 23 hours long
    assert days.longest_ms == 25 * HOUR_MS  # where clocks are put back
    assert LocalCalendar(1, 1, "UTC").longest_ms == DAY_MS
    assert [days.next_active(sunday + shift) for shift in (1, 7)] == [sunday + 7, sunday + 7]


def test_a_schedule_that_never_fits_is_refused():
    """Windows longer than every interval, or never aligned with one, are a configuration error."""
    lunch = Schedule.parse("Mon-Sun 12:00-12:30", "UTC")
    for calendar in (
        FixedCalendar(HOUR_MS, 60_000, lunch),
        LocalCalendar(1, 1, "UTC", lunch),
        FixedCalendar(60_000, 7 * DAY_MS, Schedule.parse("Fri 12:00-13:00", "UTC")),
    ):
        with pytest.raises(ConfigError, match="no window fits into one interval of `active`"):
            calendar.next_active(0)


@given(st.integers(-(2**33), 2**43), st.sampled_from([1, 5, 60, 400]))
@settings(max_examples=60)
def test_next_active_skips_nothing(time_ms, minutes):
    """Between an index and its next active one, no window is active."""
    schedule = Schedule.parse("Mon-Tue 07:00-07:30, Tue 22:00-02:00, Sat 09:00-17:00", "Asia/Tokyo")
    calendar = FixedCalendar(minutes * 60_000, 17 * 60_000, schedule)
    index = calendar.first_starting_at(time_ms)
    found = calendar.next_active(index)
    assert calendar.active(found)
    assert not any(calendar.active(between) for between in range(index, found))


@given(
    st.sampled_from(
        [CALENDARS[5], LocalCalendar(1, 1, "Pacific/Apia"), FixedCalendar(DAY_MS, DAY_MS)]
    ),
    st.integers(-10, 2**41),
    st.integers(1, 100 * HOUR_MS),
)
@example(PERIODS[0], ms(2024, 10, 24, 22), 3 * DAY_MS + HOUR_MS)  # clocks are put back
@example(PERIODS[1], ms(2011, 12, 29), 2 * DAY_MS)  # a day is skipped
@example(PERIODS[2], -5, 5 + DAY_MS + 1)
def test_periods_name_events_by_their_start(calendar, start_ms, length_ms):
    """Every event has one period; a window touches those that some hour of it is in."""
    periods = Periods(calendar)
    times = array(*range(start_ms, start_ms + length_ms, HOUR_MS), start_ms + length_ms - 1)
    found = periods.of(times).tolist()
    assert found == [calendar.bounds(index)[0] for index in calendar.containing(times)[0].tolist()]
    assert periods.touched(start_ms, start_ms + length_ms) == tuple(sorted(set(found)))


def test_a_lifetime_is_one_period():
    """Under ``lifetime`` every event and every window share period 0."""
    lifetime = Periods.lifetime()
    assert lifetime.of(array(5, 2**60)).tolist() == [0, 0]
    assert lifetime.touched(-7, 2**60) == (0,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedCalendar(0, 5), "at least 1 ms"),
        (lambda: FixedCalendar(5, TIME_LIMIT_MS + 1), "at least 1 ms"),
        (lambda: CumulativeCalendar(60, 25), "divides"),
        (lambda: LocalCalendar(0, 1, "UTC"), "1 day"),
        (lambda: LocalCalendar(1, 1, "Europe/Atlantis"), "unknown time zone"),
        (lambda: LocalCalendar(1, 1, "../etc/passwd"), "unknown time zone"),
        # Else an event would have two periods, or none.
        (lambda: Periods(FixedCalendar(15, 10)), "gaps or overlaps"),
        (lambda: Periods(LocalCalendar(1, 2, "UTC")), "gaps or overlaps"),
        (lambda: Periods.lifetime().touched(3, 3), "empty"),
    ],
)
def test_senseless_windows_and_periods_are_refused(make, message):
    """Sizes, steps and zones are checked when a calendar is made."""
    with pytest.raises(ValueError, match=message):
        make()


def test_calendars_are_told_in_words():
    """What a golden record has no example of: steps that overlap, odd sizes, a schedule."""
    office = Schedule.parse("Mon-Fri 07:00-22:00", "UTC")
    assert FixedCalendar(1_500, 1_000, office).describe() == (
        "hopping windows of 1500 ms every 1 second, active Mon-Fri 07:00-22:00 (UTC)"
    )
    assert LocalCalendar(2, 1, "UTC").describe() == (
        "hopping windows of 2 days in UTC every 1 day in UTC"
    )
