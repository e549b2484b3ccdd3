"""Which windows the alarms of one budget ask for, in the order in which they are served.

The schedule is public: it follows from calendars, and from how far each alarm was when the process
first looked. To remember a place in it saves listing all of it for every decision; nothing rests on
it. A schedule that lags behind names windows once more, which the ledger ignores as served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accountant.costs.charges import WindowKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.model.alarm import Alarm

__all__ = [
    "Window",
    "first_start_ms",
    "window_after",
    "window_from",
    "windows_through",
    "windows_within",
]


class Window(NamedTuple):
    """One window of one alarm.

    Args:
        key: its place in the order; no two windows share one.
        number: in the alarm's calendar.
        alarm: the alarm.
    """

    key: WindowKey
    number: int
    alarm: Alarm


def window_from(alarm: Alarm, time_ms: int) -> Window:
    """Return an alarm's first active window that starts at an instant or later.

    From a cursor on, that is its oldest undecided one: an applied change may have cut time up anew.
    """
    return _window(alarm, alarm.calendar.first_starting_at(time_ms))


def first_start_ms(alarm: Alarm, since_ms: int) -> int:
    """Return the start of an alarm's first active window that opens at an instant or later."""
    calendar = alarm.calendar
    return calendar.bounds(calendar.next_active(calendar.first_opening_at(since_ms)))[0]


def window_after(window: Window) -> Window:
    """Return the next active window of an alarm."""
    return _window(window.alarm, window.number + 1)


def windows_through(
    following: Iterable[Window], last: WindowKey
) -> tuple[list[Window], list[Window]]:
    """Return the windows up to one in order, and the next window of every alarm behind them.

    Args:
        following: the next window of every alarm.
        last: that one.
    """
    found, rest = [], []
    for window in following:
        while window.key <= last:
            found.append(window)
            window = window_after(window)  # noqa: PLW2901 -- the next one
        rest.append(window)
    return sorted(found), rest


def windows_within(alarm: Alarm, since_ms: int, until_ms: int) -> Iterator[WindowKey]:
    """Yield the active windows that start at an instant or later, and end by another, in order."""
    window = window_from(alarm, since_ms)
    while window.key.end_ms <= until_ms:
        yield window.key
        window = window_after(window)


def _window(alarm: Alarm, index: int) -> Window:
    """Return the first active window from one on."""
    index = alarm.calendar.next_active(index)
    start_ms, end_ms = alarm.calendar.bounds(index)
    return Window(WindowKey(end_ms=end_ms, query=alarm.id, start_ms=start_ms), index, alarm)
