"""Windows that are looked at in steps: which step counts what, and when it runs.

That vectors say what single steps say is shown with all calendars, in ``test_calendars.py``.
"""

from __future__ import annotations

from stream.windows.cumulative import CumulativeCalendar
from stream.windows.schedule import Schedule

HOUR_MS = 3_600_000
STEPS = CumulativeCalendar(60, 20)


def test_bounds_tile_time_and_counts_begin_with_the_window():
    """A step adds its own bounds to what its window counts; who begins anew begins a window."""
    assert [STEPS.bounds(index) for index in range(4)] == [(0, 20), (20, 40), (40, 60), (60, 80)]
    assert [STEPS.counted(index) for index in range(4)] == [(0, 20), (0, 40), (0, 60), (60, 80)]
    assert [STEPS.window(index) for index in (2, 3)] == [(0, 60), (60, 120)]
    assert (STEPS.steps, STEPS.charged, STEPS.longest_ms) == (3, 1, 60)
    assert [STEPS.first_opening_at(time_ms) for time_ms in (0, 1, 60, 61)] == [0, 3, 3, 6]


def test_windows_run_as_a_whole():
    """A window that reaches beyond its schedule has no step that runs."""
    schedule = Schedule.parse("Mon-Sun 08:30-11:00", "UTC")
    calendar = CumulativeCalendar(HOUR_MS, HOUR_MS // 4, schedule)
    active = [step for step in range(24 * 4) if calendar.active(step)]
    assert active == list(range(9 * 4, 11 * 4))
    found = [calendar.next_active(step) for step in (0, 9 * 4 + 3, 11 * 4)]
    assert found == [9 * 4, 9 * 4 + 3, (24 + 9) * 4]
    assert calendar.describe().startswith("cumulative windows of 1 hour, looked at every 15 min")
