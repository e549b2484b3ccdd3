"""The public schedule of a budget: every window, once, in the order in which it is served."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from accountant.costs.charges import WindowKey
from stream.decisions.schedule import window_from, windows_through
from stream.windows.calendars import FixedCalendar

ALARMS = st.lists(st.tuples(*[st.integers(1, 9)] * 2, st.integers(0, 30)), min_size=1, max_size=4)
"""Size and step of an alarm's windows, and its cursor."""


@given(ALARMS, st.lists(st.integers(1, 60)))
def test_every_window_comes_once_and_in_order(drawn, ends):
    """However far a schedule is asked each time, it goes on where it was."""
    alarms = {}
    every = []
    for at, (size, step, cursor) in enumerate(drawn):
        alarm = SimpleNamespace(id=f"q{at}", calendar=FixedCalendar(size, step))
        alarms[alarm.id] = alarm
        first = window_from(alarm, cursor).number
        bounds = map(alarm.calendar.bounds, range(first, first + 120))
        every += [WindowKey(end_ms, alarm.id, start_ms) for start_ms, end_ms in bounds]
    cursors = [cursor for *_, cursor in drawn]
    following = list(map(window_from, alarms.values(), cursors))
    found = []
    for end_ms in sorted(ends):
        last = WindowKey(end_ms, "q1", end_ms - 1)
        windows, following = windows_through(following, last)
        found += [window.key for window in windows]
        assert found == sorted(key for key in every if key <= last)
        for window in windows:
            start_ms, end = window.alarm.calendar.bounds(window.number)
            assert window.key == WindowKey(end, window.alarm.id, start_ms)
