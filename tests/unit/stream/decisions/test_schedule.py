"""The public schedule of a budget: every window, once, in the order in which it is served."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from accountant.costs.charges import WindowKey
from stream.decisions.schedule import first_windows, oldest_index, windows_through
from stream.windows.calendars import FixedCalendar

UNTIL = 120


@dataclass(frozen=True)
class Alarm:
    """As much of an alarm as a schedule looks at."""

    id: str
    calendar: FixedCalendar

    def keys(self, cursor_ms: int) -> list[WindowKey]:
        """Return its windows from one on, for a while."""
        first = oldest_index(self, cursor_ms)
        bounds = (self.calendar.bounds(number) for number in range(first, first + UNTIL))
        return [WindowKey(end_ms, self.id, start_ms) for start_ms, end_ms in bounds]


ALARMS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4).map(
    lambda found: [Alarm(f"q{at}", FixedCalendar(*each)) for at, each in enumerate(found)]
)


@given(ALARMS, st.lists(st.integers(0, 30), min_size=4, max_size=4), st.lists(st.integers(1, 60)))
def test_every_window_comes_once_and_in_order(
    alarms: list[Alarm], cursors: list[int], ends: list[int]
) -> None:
    """However far a schedule is asked each time, it goes on where it was."""
    starts = {alarm.id: cursor for alarm, cursor in zip(alarms, cursors, strict=False)}
    every = sorted(key for alarm in alarms for key in alarm.keys(starts[alarm.id]))
    following = first_windows(alarms, starts)
    found: list[WindowKey] = []
    for end_ms in sorted(ends):
        last = WindowKey(end_ms, "q1", end_ms - 1)
        windows, following = windows_through(following, last)
        found += [window.key for window in windows]
        assert found == [key for key in every if key <= last]
        for window in windows:
            start_ms, end = window.alarm.calendar.bounds(window.number)
            assert window.key == WindowKey(end, window.alarm.id, start_ms)
