"""Which windows the alarms of one budget ask for, in the order in which they are served.

The schedule is public: it follows from calendars, and from how far each alarm was when the process
first looked. To remember a place in it saves listing all of it for every decision; nothing rests on
it. A schedule that lags behind names windows once more, which the ledger ignores as served.
"""

from __future__ import annotations

from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, NamedTuple, Self

from accountant.costs.charges import WindowKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.model.alarm import Alarm

__all__ = ["Schedule", "Window", "oldest_index"]


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


class Schedule:
    """Every active window of some alarms from one place in the order on; immutable.

    Args:
        following: the next window of each alarm, as a heap.
    """

    def __init__(self, following: list[Window]) -> None:
        self._following = following

    @classmethod
    def since(cls, alarms: Iterable[Alarm], cursors: Mapping[str, int]) -> Self:
        """Begin with the oldest undecided window of every alarm.

        Args:
            alarms: all that draw on one budget, at least one.
            cursors: per alarm id the start (ms) of its oldest undecided window.
        """
        following = [_window(alarm, oldest_index(alarm, cursors[alarm.id])) for alarm in alarms]
        heapify(following)
        return cls(following)

    def through(self, last: WindowKey) -> tuple[list[Window], Schedule]:
        """Return the windows up to ``last`` in order, and the schedule that goes on behind them."""
        found: list[Window] = []
        following = list(self._following)
        while following[0].key <= last:
            window = following[0]
            found.append(window)
            heapreplace(following, _window(window.alarm, window.number + 1))
        return found, Schedule(following)


def oldest_index(alarm: Alarm, cursor_ms: int) -> int:
    """Return the oldest undecided window; an applied change may have cut time up anew."""
    return alarm.calendar.next_active(alarm.calendar.first_starting_at(cursor_ms))


def _window(alarm: Alarm, index: int) -> Window:
    """Return the first active window from one on."""
    index = alarm.calendar.next_active(index)
    start_ms, end_ms = alarm.calendar.bounds(index)
    return Window(WindowKey(end_ms=end_ms, query=alarm.id, start_ms=start_ms), index, alarm)
