"""What the alarms of one feed have in common is done once: cells, filters, rows, counts.

Alarms on one feed differ mostly in their thresholds, and counting knows nothing of those. Alarms
of one selection count the same rows; where windows and grace are the same too, they share a
counter. Those that differ in WHERE besides share one too, which adds up rows once for all filters
(:mod:`stream.counting.filters`), unless a cap over a period or the steps of a window make who
counts depend on what the alarm counted before::

    batch ─▶ filters, cells, values ─▶ rows of a selection ─▶ counter of its windows and grace
             once each                  once                   once; a window is cut once for all

What is shared shows nowhere: a partial is each alarm's own, with its own fingerprint, and an alarm
counts the same whatever stands beside it (``tests/unit/stream/counting/test_sharing.py``).
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from stream.counting.alike import counting_key, selection_key, statistics_key
from stream.counting.counter import WindowCounter
from stream.counting.fates import Fate
from stream.counting.projection import Columns, project
from stream.counting.usage import Usage
from stream.model.alarms import windows_cap
from stream.model.routing import counted_from

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.records import Used
    from stream.counting.bounding import Capped
    from stream.counting.counter import CellVector
    from stream.counting.projection import Rows
    from stream.events.decoder import Batch
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget


__all__ = ["FeedCounters", "SharedCounter", "slice_start_ms"]


class SharedCounter:
    """One counter, for alarms that count the same but for their filters, and how far it is.

    It goes through the active windows in order. Under a cap over a period, who counts in a window
    follows from the windows before it. So it begins behind the last one through which it is known
    what people had used up, and else with the first of the period: what was never stored, or is
    gone, is had again from the log.

    Args:
        alarms: at least one; any of them says what is counted of which its filter is true.
        budget: unit, caps and periods.
        whole: as ``WindowCounter`` has it.

    Attributes:
        alarm: the first of them; all have its windows and grace.
        wheres: their filters.
        index: of the next window to be complete, "the window" below.
        start_ms: where it starts.
        end_ms: where it ends.
        usage: what people used up of a cap over a period, through the window that was cut last;
            ``None`` without such a cap.

    Raises:
        ValueError: as ``WindowCounter``.
    """

    def __init__(self, alarms: Sequence[Alarm], budget: Budget, *, whole: bool = False) -> None:
        """Start with nothing counted."""
        self.alarm, self._alarms, self._budget = alarms[0], alarms, budget
        self.wheres = tuple(dict.fromkeys(alarm.where for alarm in alarms))
        self._filters = [self.wheres.index(alarm.where) for alarm in alarms]
        self._counter = WindowCounter(alarms[0], budget, whole=whole, filters=len(self.wheres))
        self._most = windows_cap(alarms[0], budget)
        self.usage: Usage | None = None
        self._cursors: Mapping[str, int] = {}
        self.index = self.start_ms = self.end_ms = self._began_ms = 0

    def begin(self, cursors: Mapping[str, int], used: Mapping[str, Used]) -> None:
        """Start at the oldest undecided window, or before it; called before the first row.

        Args:
            cursors: per alarm id the start (ms) of its oldest undecided window.
            used: per alarm id what people had used up through a window before that; alarms may be
                missing.
        """
        calendar, names, seed = self.alarm.calendar, [alarm.id for alarm in self._alarms], b""
        oldest = calendar.first_active_at(min(cursors[name] for name in names))
        index = counted_from(self.alarm, self._budget, oldest)
        if self._most is not None:
            if used.keys() >= {*names}:
                known = min((used[name] for name in names), key=attrgetter("start_ms"))
                index, seed = calendar.first_active_at(known.start_ms + 1), known.state
            self.usage = Usage(self._most, seed)
        self._cursors, self._began_ms = cursors, calendar.counted(index)[0]
        self.go_to(index)

    @property
    def cut_ms(self) -> int:
        """When the window is over: its end + grace."""
        return self.end_ms + self.alarm.grace_ms

    @property
    def counted_ms(self) -> int:
        """Start of the first window that the window's count depends on."""
        first = counted_from(self.alarm, self._budget, self.index)
        return self.alarm.calendar.counted(first)[0]

    @property
    def read_ms(self) -> int:
        """When the slice of the log begins that has to be read to count the window."""
        return slice_start_ms(self.alarm, max(self.counted_ms, self._began_ms))

    def add(self, rows: Rows) -> NDArray[np.uint8]:
        """Count rows as ``WindowCounter.add`` does, once for all alarms."""
        return self._counter.add(rows)

    def capped(self) -> Capped:
        """Return what caps leave out of the window, before it is cut."""
        usage = None if self.usage is None else self.usage.copy()
        return self._counter.capped(self.index, usage)

    def cut(self) -> list[tuple[Alarm, CellVector]]:
        """Return the window's statistics for every alarm that has not had it; no row may join it.

        Called once for every window, as who counts in the next ones may follow from it.
        """
        vectors = self._counter.cuts(self.index, self.usage)
        if self.usage is not None and self._budget.periods is not None:
            following = self.alarm.calendar.next_active(self.index + 1)
            touched = self._budget.periods.touched(*self.alarm.calendar.bounds(following))
            self.usage.forget_before(touched[0])
        return [
            (alarm, vectors[at])
            for alarm, at in zip(self._alarms, self._filters, strict=True)
            if self._cursors[alarm.id] <= self.start_ms
        ]

    def go_to(self, index: int) -> None:
        """Wait for the first window that runs, from ``index`` on; what lies before is forgotten."""
        self.index = self.alarm.calendar.next_active(index)
        self.start_ms, self.end_ms = self.alarm.calendar.bounds(self.index)
        self._counter.forget_before(self.index)


def slice_start_ms(alarm: Alarm, start_ms: int) -> int:
    """Return the append time at or after which every event of a window was appended."""
    return start_ms - alarm.feed.allowed_skew_ms - alarm.feed.max_append_time_regression_ms


class FeedCounters:
    """The counters of all alarms of one partition of a feed.

    Args:
        alarms: the feed's alarms.
        budget: unit, caps and periods.
        whole: as there.

    Raises:
        ValueError: as ``WindowCounter``, or the alarms read different feeds.
    """

    def __init__(
        self,
        alarms: Sequence[Alarm],
        budget: Budget,
        *,
        whole: bool = False,
    ) -> None:
        """Find out which alarms count the same."""
        if len({alarm.feed.name for alarm in alarms}) > 1:
            raise ValueError("only queries of one feed are counted together")
        alike: defaultdict[Hashable, list[Alarm]] = defaultdict(list)
        for alarm in alarms:
            alone = whole or alarm.firsts or windows_cap(alarm, budget) is not None
            selected = selection_key(alarm) if alone else statistics_key(alarm)
            alike[alone, selected, counting_key(alarm)].append(alarm)
        self.all: list[SharedCounter] = []
        selections: defaultdict[Hashable, list[SharedCounter]] = defaultdict(list)
        for members in alike.values():
            counter = SharedCounter(members, budget, whole=whole)
            self.all.append(counter)
            selections[statistics_key(counter.alarm), counter.wheres].append(counter)
        self._selections = selections.values()

    def count(self, batch: Batch) -> NDArray[np.uint8]:
        """Count a batch for every query.

        Args:
            batch: the next rows of the partition, in log order.

        Returns:
            The fate of every row, shape (n,): the farthest that any alarm brought it.
        """
        columns = Columns(batch.rows)
        farthest = np.full(len(batch), Fate.UNASKED, np.uint8)
        for counters in self._selections:
            rows, fates = project(counters[0].alarm, batch, counters[0].wheres, columns)
            taken = reduce(np.maximum, [counter.add(rows) for counter in counters])
            if len(rows) == len(batch):
                fates = taken
            else:
                fates[fates == Fate.USED] = taken
            np.maximum(farthest, fates, out=farthest)
        return farthest
