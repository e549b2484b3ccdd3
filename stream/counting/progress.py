"""How far each alarm is on one partition, and where counting begins for it.

Under a cap over a period, who counts in a window follows from the windows before it. So counting
begins behind the last window through which it is known what people had used up, and else with the
first window of the period: what was never stored, or is gone, is had again from the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from stream.model.routing import counted_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accountant.records import Used
    from stream.counting.sharing import SharedCounter
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["AlarmProgress", "beginnings", "slice_start_ms"]


@dataclass(slots=True)
class AlarmProgress:
    """Progress of one alarm on one partition: its next window to be complete.

    Its windows are counted from ``began`` on, and what people used up before that is known.
    """

    alarm: Alarm
    counter: SharedCounter
    budget: Budget
    index: int = 0
    start_ms: int = 0
    end_ms: int = 0
    began: int = 0

    @property
    def cut_ms(self) -> int:
        """Window end + grace."""
        return self.end_ms + self.alarm.grace_ms

    @property
    def slice_ms(self) -> int:
        """When the slice of the log begins that the window's count depends on."""
        return slice_start_ms(self.alarm, self.counted_ms)

    @property
    def read_ms(self) -> int:
        """The same, without what was known already when reading began."""
        start_ms = max(self.counted_ms, self.alarm.calendar.counted(self.began)[0])
        return slice_start_ms(self.alarm, start_ms)

    @property
    def counted_ms(self) -> int:
        """Start of the first window that the window's count depends on."""
        calendar = self.alarm.calendar
        return calendar.counted(counted_from(self.alarm, self.budget, self.index))[0]

    def go_to(self, index: int) -> None:
        """Wait for the first window that runs, from ``index`` on; what lies before is forgotten."""
        self.index = self.alarm.calendar.next_active(index)
        self.start_ms, self.end_ms = self.alarm.calendar.bounds(self.index)
        self.counter.keep_from(self.alarm.id, self.index)


def slice_start_ms(alarm: Alarm, start_ms: int) -> int:
    """Return the append time at or after which every event of a window was appended."""
    return start_ms - alarm.feed.allowed_skew_ms - alarm.feed.max_append_time_regression_ms


def beginnings(
    states: Iterable[AlarmProgress], cursors: Mapping[str, int], used: Mapping[str, Used]
) -> dict[str, tuple[int, bytes]]:
    """Return per alarm id its first window to count, and what people had used up before it.

    Args:
        states: of all alarms of a partition.
        cursors: per alarm id the start (ms) of its oldest undecided window.
        used: per alarm id what is known of an earlier window; alarms may be missing.
    """
    found: dict[str, tuple[int, bytes]] = {}
    for state in states:
        # Alarms that share a counter begin together.
        alike = state.counter.alarms
        known = [used[name] for name in alike if name in used]
        calendar = state.alarm.calendar
        if len(known) == len(alike):
            least = min(known, key=attrgetter("start_ms"))
            after = calendar.next_active(calendar.first_starting_at(least.start_ms) + 1)
            found[state.alarm.id] = after, least.state
            continue
        index = calendar.next_active(
            calendar.first_starting_at(min(cursors[name] for name in alike))
        )
        found[state.alarm.id] = counted_from(state.alarm, state.budget, index), b""
    return found
