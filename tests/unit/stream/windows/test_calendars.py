"""Windows, panes and periods: which instant belongs where."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountant.errors import ConfigError
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.localtime import DAY_MS, TIME_LIMIT_MS, load_zone, midnights
from stream.windows.periods import Periods
from stream.windows.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.windows.calendars import Calendar

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
)


def ms(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    """Return a UTC date and time in milliseconds."""
    moment = datetime(year, month, day, hour, minute, tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def array(*times: int) -> np.ndarray:
    """Return times as the vectorised methods take them."""
    return np.array(times, np.int64)


def day(zone: str, year: int, month: int, number: int) -> tuple[int, int]:
    """Return the bounds of one local day."""
    return LocalCalendar(1, 1, zone).bounds(ms(year, month, number) // DAY_MS)


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
@example(CALENDARS[7], [ms(2011, 12, 29, 12), ms(2011, 12, 30, 9, 59), ms(2011, 12, 30, 10)], 0)
@example(CALENDARS[7], [0, TIME_LIMIT_MS - 1], 0)
def test_vectors_agree_with_the_bounds_of_single_windows(
    calendar: Calendar, times: list[int], grace_ms: int
) -> None:
    """``containing``, ``panes`` and ``first_open`` say what ``bounds`` says, to the millisecond."""
    start_ms, end_ms = calendar.bounds(int(calendar.containing(array(times[0]))[1][0]))
    near = (start_ms - 1, start_ms, start_ms + 1, end_ms - 1, end_ms, end_ms + grace_ms)
    times = times + [at for at in near if 0 <= at < TIME_LIMIT_MS]
    first, last = calendar.containing(array(*times))
    panes = calendar.panes(array(*times))
    opened = calendar.first_open(array(*times), grace_ms)
    assert {x.dtype for x in (first, last, panes, opened)} == {np.dtype(np.int64)}
    for at, low, high, pane, still in zip(times, first, last, panes, opened, strict=True):
        around = range(min(int(low), int(high)) - 2, max(int(low), int(high)) + 3)
        holding = [i for i in around if calendar.bounds(i)[0] <= at < calendar.bounds(i)[1]]
        assert holding == list(range(int(low), int(high) + 1))
        assert len(holding) <= calendar.overlap
        spans = {i: calendar.pane_range(i) for i in around}
        assert holding == [i for i, (begin, end) in spans.items() if begin <= pane < end]
        assert calendar.bounds(int(still))[1] + grace_ms > at
        assert calendar.bounds(int(still) - 1)[1] + grace_ms <= at


@given(st.sampled_from(CALENDARS), st.lists(INT64, min_size=1, max_size=5))
@example(CALENDARS[4], [-(2**63), 2**63 - 1])
def test_hostile_times_are_read_as_the_nearest_valid_time(
    calendar: Calendar, times: list[int]
) -> None:
    """No time overflows: those outside 1970 to 9999 count as its first or last millisecond."""
    hostile = array(*times)
    near = np.clip(hostile, 0, TIME_LIMIT_MS - 1)
    for method in (calendar.panes, lambda x: calendar.first_open(x, 5)):
        assert method(hostile).tolist() == method(near).tolist()
    for found, clipped in zip(calendar.containing(hostile), calendar.containing(near), strict=True):
        assert found.tolist() == clipped.tolist()


@given(
    st.sampled_from(CALENDARS),
    st.integers(0, 2**42) | st.integers(-(2**40), 100),
)
def test_the_first_window_to_start_is_found(calendar: Calendar, time_ms: int) -> None:
    """It starts at that time or later, and the one before it earlier."""
    index = calendar.first_starting_at(time_ms)
    assert calendar.bounds(index)[0] >= time_ms > calendar.bounds(index - 1)[0]


def test_tumbling_hopping_and_gapped_windows() -> None:
    """Every instant lies in one window, in several, or in none; which, the property above tells.

    ::

        time        0    5    10   15   20
        size 10     [----0----)[---1----)             tumbling
        15 by 10    [-----0------)                    hopping; panes of 5
                              [------1-----)
        5 by 8      [-0-)    [-1-)                    gaps: 5, 6 and 7 lie in no window
    """
    tumbling, hopping, gaps = CALENDARS[:3]
    assert (tumbling.bounds(1), hopping.bounds(1), gaps.bounds(1)) == ((10, 20), (10, 25), (8, 13))
    assert hopping.bounds(-1) == (-10, 5)
    assert hopping.pane_range(1) == (2, 5)
    assert [calendar.overlap for calendar in (tumbling, hopping, gaps)] == [1, 2, 1]


@pytest.mark.long
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "around",
    [(2018, 11, 4), (2011, 12, 30), (2024, 3, 31), (2006, 10, 29), (1972, 1, 7), (2018, 5, 5)],
)
def test_local_days_start_when_the_date_first_shows(
    zone: str, around: tuple[int, int, int]
) -> None:
    """Found by walking minute by minute: the first instant whose local date is the day's."""
    start_ms = ms(*around) - 2 * DAY_MS
    first_seen: dict[int, int] = {}
    latest = -1
    for minute in range(4 * 24 * 60):
        # Half a minute, because Monrovia's clocks differed from UTC by 44 min 30 s.
        for at_ms in (start_ms + minute * 60_000, start_ms + minute * 60_000 + 30_000):
            local = datetime.fromtimestamp(at_ms / 1000, tz=load_zone(zone))
            number = local.date().toordinal() - datetime(1970, 1, 1, tzinfo=UTC).toordinal()
            if number > latest:
                first_seen.update(dict.fromkeys(range(latest + 1, number + 1), at_ms))
                latest = number
    days = [number for number, at_ms in first_seen.items() if at_ms > start_ms]
    assert len(days) >= 3
    for number in days:
        assert midnights(zone).start_ms(number) == first_seen[number]


def test_a_gap_around_midnight_starts_the_day_at_its_end() -> None:
    """In Toronto, clocks went from 23:30 to 00:30 on 1919-03-30: the 31st began at that instant."""
    start_ms, _ = day("America/Toronto", 1919, 3, 31)
    assert start_ms == ms(1919, 3, 31, 4, 30)


def test_a_skipped_day_is_never_active() -> None:
    """Apia had no 2011-12-30: no window is only that day, and none starts with it.

    ::

        local date     28       29       31       32 (1 January)
        2 by 1 days    [-------28-------)
                                [-------29--------)      29 and the missing 30: just the 29th
                                         [-30-)          starts with 31: not active
                                         [-------31---...
    """
    skipped = ms(2011, 12, 30) // DAY_MS
    single, double = (LocalCalendar(size, 1, "Pacific/Apia") for size in (1, 2))
    start_ms, end_ms = single.bounds(skipped)
    assert start_ms == end_ms == ms(2011, 12, 30, 10)
    for calendar in (single, double):
        assert [calendar.active(skipped + shift) for shift in (-1, 0, 1)] == [True, False, True]
        assert calendar.next_active(skipped) == skipped + 1
    assert single.containing(array(start_ms))[0].tolist() == [skipped + 1]
    assert double.bounds(skipped - 1)[1] - double.bounds(skipped - 1)[0] == DAY_MS
    assert LocalCalendar(2, 2, "Pacific/Apia").active(skipped // 2)  # it holds the other day
    assert skipped % 2 == 0


def test_weeks_start_on_mondays() -> None:
    """Windows of whole weeks begin on Monday, index 0 on 1969-12-29."""
    assert LocalCalendar(7, 7, "UTC").bounds(0) == (-3 * DAY_MS, 4 * DAY_MS)
    assert LocalCalendar(7, 1, "UTC").bounds(0) == (0, 7 * DAY_MS)


def test_schedules_choose_windows() -> None:
    """Only windows inside one active interval run; the next one is found across the weekend."""
    office = Schedule.parse("Mon-Fri 07:00-22:00", "Europe/Berlin")
    hours = FixedCalendar(HOUR_MS, HOUR_MS, office)
    friday = ms(2024, 4, 26, 19) // HOUR_MS  # 21:00 in Berlin
    assert hours.active(friday)
    assert not hours.active(friday + 1)
    assert hours.next_active(friday + 1) == ms(2024, 4, 29, 5) // HOUR_MS
    assert hours.next_active(friday) == friday
    active = sum(hours.active(friday - hour) for hour in range(24))
    assert active == 15
    days = LocalCalendar(1, 1, "Europe/Berlin", Schedule.parse("Sun 00:00-24:00", "Europe/Berlin"))
    sunday = days.first_starting_at(ms(2024, 3, 30, 23))
    assert days.active(sunday)  # 23 hours long
    assert days.longest_ms == 25 * HOUR_MS  # where clocks are put back
    assert LocalCalendar(1, 1, "UTC").longest_ms == DAY_MS
    assert [days.next_active(sunday + shift) for shift in (1, 7)] == [sunday + 7, sunday + 7]


def test_a_schedule_that_never_fits_is_refused() -> None:
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
def test_next_active_skips_nothing(time_ms: int, minutes: int) -> None:
    """Between an index and its next active one, no window is active."""
    schedule = Schedule.parse("Mon-Tue 07:00-07:30, Tue 22:00-02:00, Sat 09:00-17:00", "Asia/Tokyo")
    calendar = FixedCalendar(minutes * 60_000, 17 * 60_000, schedule)
    index = calendar.first_starting_at(time_ms)
    found = calendar.next_active(index)
    assert calendar.active(found)
    assert not any(calendar.active(between) for between in range(index, found))


def test_periods_name_events_by_their_start() -> None:
    """Every event has one period; a window may touch several.

    ::

        days      |---25---|---26---|---27 (25 hours)---|
        window          [-------------------)             touches all three
    """
    days = Periods(LocalCalendar(1, 1, "Europe/Berlin"))
    starts = [day("Europe/Berlin", 2024, 10, number)[0] for number in (25, 26, 27, 28)]
    times = array(starts[0], starts[1] - 1, starts[2] + 24 * HOUR_MS, starts[3])
    assert days.of(times).tolist() == [starts[0], starts[0], starts[2], starts[3]]
    assert days.touched(starts[0] + 1, starts[2] + 1) == tuple(starts[:3])
    assert days.touched(starts[0], starts[1]) == (starts[0],)
    far = array(0, TIME_LIMIT_MS - 1, starts[1])
    assert days.of(far)[2] == starts[1]
    assert Periods(FixedCalendar(DAY_MS, DAY_MS)).touched(-5, DAY_MS + 1) == (0, DAY_MS)
    apia = Periods(LocalCalendar(1, 1, "Pacific/Apia"))
    assert apia.touched(ms(2011, 12, 30), ms(2011, 12, 31)) == (
        ms(2011, 12, 29, 10),
        ms(2011, 12, 30, 10),
    )


def test_a_lifetime_is_one_period() -> None:
    """Under ``lifetime`` every event and every window share period 0."""
    lifetime = Periods.lifetime()
    assert lifetime.of(array(5, 2**60)).tolist() == [0, 0]
    assert lifetime.touched(-7, 2**60) == (0,)
    with pytest.raises(ValueError, match="empty"):
        lifetime.touched(3, 3)


@pytest.mark.parametrize("calendar", [FixedCalendar(15, 10), LocalCalendar(1, 2, "UTC")])
def test_periods_that_overlap_or_leave_gaps_are_refused(calendar: Calendar) -> None:
    """A period is a tumbling window: else an event would have two, or none."""
    with pytest.raises(ValueError, match="gaps or overlaps"):
        Periods(calendar)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedCalendar(0, 5), "at least 1 ms"),
        (lambda: FixedCalendar(5, TIME_LIMIT_MS + 1), "at least 1 ms"),
        (lambda: LocalCalendar(0, 1, "UTC"), "1 day"),
        (lambda: LocalCalendar(1, 1, "Europe/Atlantis"), "unknown time zone"),
        (lambda: LocalCalendar(1, 1, "../etc/passwd"), "unknown time zone"),
    ],
)
def test_senseless_calendars_are_refused(make: Callable[[], Calendar], message: str) -> None:
    """Sizes, steps and zones are checked when a calendar is made."""
    with pytest.raises(ValueError, match=message):
        make()


def test_calendars_are_told_in_words() -> None:
    """What a golden record has no example of: steps that overlap, odd sizes, a schedule."""
    office = Schedule.parse("Mon-Fri 07:00-22:00", "UTC")
    assert FixedCalendar(1_500, 1_000, office).describe() == (
        "hopping windows of 1500 ms every 1 second, active Mon-Fri 07:00-22:00 (UTC)"
    )
    assert LocalCalendar(2, 1, "UTC").describe() == (
        "hopping windows of 2 days in UTC every 1 day in UTC"
    )
