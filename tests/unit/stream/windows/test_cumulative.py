"""Windows that are looked at in steps: which step counts what, and when it runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.windows.cumulative import CumulativeCalendar
from stream.windows.schedule import Schedule

HOUR_MS = 3_600_000
STEPS = CumulativeCalendar(60, 20)


def test_bounds_tile_time_and_counts_begin_with_the_window() -> None:
    """A step adds its own bounds to what its window counts."""
    assert [STEPS.bounds(index) for index in range(4)] == [(0, 20), (20, 40), (40, 60), (60, 80)]
    assert [STEPS.counted(index) for index in range(4)] == [(0, 20), (0, 40), (0, 60), (60, 80)]
    assert [STEPS.window(index) for index in (2, 3)] == [(0, 60), (60, 120)]
    assert (STEPS.steps, STEPS.overlap, STEPS.charged, STEPS.longest_ms) == (3, 3, 1, 60)


@given(time_ms=st.integers(0, 10_000), index=st.integers(0, 200))
def test_a_step_counts_what_lies_in_its_window_so_far(time_ms: int, index: int) -> None:
    """``containing`` and panes say what ``counted`` says."""
    first, last = (int(each[0]) for each in STEPS.containing(np.array([time_ms])))
    start_ms, end_ms = STEPS.counted(index)
    inside = start_ms <= time_ms < end_ms
    assert (first <= index <= last) is inside
    assert (int(STEPS.panes(np.array([time_ms]))[0]) in range(*STEPS.pane_range(index))) is inside


def test_a_late_event_counts_from_the_first_step_whose_cut_it_made() -> None:
    """Appended after the end and grace of a step, it is in none up to that one."""
    appends = np.array([24, 25, 44, 45])
    assert STEPS.first_open(appends, 5).tolist() == [0, 1, 1, 2]


def test_where_to_begin() -> None:
    """A cursor may stand at any step; who begins anew begins with a window."""
    assert STEPS.first_starting_at(20) == 1
    assert [STEPS.first_opening_at(time_ms) for time_ms in (0, 1, 60, 61)] == [0, 3, 3, 6]


def test_windows_run_as_a_whole() -> None:
    """A window that reaches beyond its schedule has no step that runs."""
    schedule = Schedule.parse("Mon-Sun 08:30-11:00", "UTC")
    calendar = CumulativeCalendar(HOUR_MS, HOUR_MS // 4, schedule)
    assert not any(calendar.active(8 * 4 + step) for step in range(4))
    assert all(calendar.active(step) for step in range(9 * 4, 11 * 4))
    assert calendar.next_active(0) == 9 * 4
    assert calendar.next_active(9 * 4 + 3) == 9 * 4 + 3
    assert calendar.next_active(11 * 4) == (24 + 9) * 4
    assert calendar.describe().startswith("cumulative windows of 1 hour, looked at every 15 min")


def test_steps_that_leave_a_rest_are_refused() -> None:
    """A step divides its window."""
    with pytest.raises(ValueError, match="divides"):
        CumulativeCalendar(60, 25)
