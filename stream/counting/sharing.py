"""What the alarms of one feed have in common is done once: cells, filters, rows, counts.

Alarms on one feed differ mostly in their thresholds, and counting knows nothing of those. Alarms
of one ``Selection`` count the same rows; where windows and grace are the same too, they share a
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
from typing import TYPE_CHECKING

import numpy as np

from stream.counting.alike import counting_key, selection_key, statistics_key
from stream.counting.counter import WindowCounter
from stream.counting.fates import Fate
from stream.counting.projection import Columns, project
from stream.counting.usage import Usage
from stream.model.alarms import windows_cap

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from stream.counting.bounding import Capped
    from stream.counting.counter import CellVector
    from stream.counting.projection import Rows
    from stream.events.decoder import Batch
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget


__all__ = ["FeedCounters", "SharedCounter"]


class SharedCounter:
    """One counter, for alarms that count the same but for their filters.

    Args:
        alarms: at least one; any of them says what is counted of which its filter is true.
        budget: unit, caps and periods.
        whole: as there.

    Raises:
        ValueError: as ``WindowCounter``.
    """

    def __init__(self, alarms: Sequence[Alarm], budget: Budget, *, whole: bool = False) -> None:
        """Start with nothing counted."""
        self.wheres = tuple(dict.fromkeys(alarm.where for alarm in alarms))
        self._filter = {alarm.id: self.wheres.index(alarm.where) for alarm in alarms}
        self._counter = WindowCounter(alarms[0], budget, whole=whole, filters=len(self.wheres))
        self.alarms = tuple(alarm.id for alarm in alarms)
        self._needs: dict[str, int] = {}
        self._cuts: dict[int, Sequence[CellVector]] = {}
        self._calendar, self._periods = alarms[0].calendar, budget.periods
        self._most = windows_cap(alarms[0], budget)
        self._next = 0
        self._usage = Usage(self._most or 1)
        self._through: dict[int, Usage] = {}
        self._before: dict[int, Usage] = {}

    def begin(self, index: int, used: bytes = b"") -> None:
        """Start with a window, where there is a cap over a period; called before the first row.

        Args:
            index: an active window.
            used: what people used up before it; empty where nobody did that a window to come asks
                about.
        """
        self._next, self._usage = index, Usage(self._most or 1, used)

    def add(self, rows: Rows) -> NDArray[np.uint8]:
        """Count rows as ``WindowCounter.add`` does, once for all alarms."""
        return self._counter.add(rows)

    def cut(self, index: int, alarm: str) -> CellVector:
        """Return an alarm's statistics of a window that no further row may join, worked out once.

        Raises:
            ValueError: every alarm has said that it needs no window so early.
        """
        if self._most is not None:
            # Whoever counts here follows from the windows before: none is passed over.
            while self._next <= index:
                self._cut_next()
        elif index not in self._cuts:
            self._cuts[index] = self._counter.cuts(index)
        return self._cuts[index][self._filter[alarm]]

    def usage(self, index: int) -> Usage | None:
        """Return what people used up through a window that was cut, and how many were in it.

        ``None`` without a cap over a period.
        """
        return self._through.get(index)

    def capped(self, index: int) -> Capped:
        """Return what ``WindowCounter.capped`` does, of a window that was cut."""
        if self._most is None:
            return self._counter.capped(index)
        return self._counter.capped(index, self._before[index].copy())

    def keep_from(self, alarm: str, index: int) -> None:
        """Take note that an alarm needs no window before ``index``; what none needs is forgotten.

        Called for every alarm before the first row, and whenever one has had a window.
        """
        self._needs[alarm] = index
        if len(self._needs) < len(self.alarms):
            return
        floor = min(self._needs.values())
        if self._most is not None:
            floor = min(floor, self._next)
        self._counter.forget_before(floor)
        for kept in (self._cuts, self._through, self._before):
            for at in [at for at in kept if at < floor]:
                del kept[at]

    def _cut_next(self) -> None:
        at = self._next
        self._before[at] = self._usage.copy()
        self._usage.forget_last()
        self._cuts[at] = self._counter.cuts(at, self._usage)
        self._next = self._calendar.next_active(at + 1)
        if self._periods is not None:
            self._usage.forget_before(self._periods.touched(*self._calendar.bounds(self._next))[0])
        self._through[at] = self._usage.copy()


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
        self._of: dict[str, SharedCounter] = {}
        selections: defaultdict[Hashable, list[tuple[Alarm, SharedCounter]]] = defaultdict(list)
        for members in alike.values():
            counter = SharedCounter(members, budget, whole=whole)
            self._of |= dict.fromkeys(counter.alarms, counter)
            of_rows = statistics_key(members[0]), counter.wheres
            selections[of_rows].append((members[0], counter))
        self._selections = [
            (found[0][0], [counter for _, counter in found]) for found in selections.values()
        ]

    def of(self, alarm: str) -> SharedCounter:
        """Return the counter of an alarm, by its id."""
        return self._of[alarm]

    def count(self, batch: Batch) -> NDArray[np.uint8]:
        """Count a batch for every query.

        Args:
            batch: the next rows of the partition, in log order.

        Returns:
            The fate of every row, shape (n,): the farthest that any alarm brought it.
        """
        columns = Columns(batch.rows)
        farthest = np.full(len(batch), Fate.UNASKED, np.uint8)
        for alarm, counters in self._selections:
            wheres = counters[0].wheres
            rows, fates = project(alarm, batch, wheres if len(wheres) > 1 else (), columns)
            taken = counters[0].add(rows)
            for counter in counters[1:]:
                np.maximum(taken, counter.add(rows), out=taken)
            if len(rows) == len(batch):
                fates = taken
            else:
                fates[fates == Fate.USED] = taken
            np.maximum(farthest, fates, out=farthest)
        return farthest
