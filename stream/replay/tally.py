"""Counts what a replay could use of the rows of one feed, as they are read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.counting.alike import selection_key
from stream.counting.fates import FAULTS, Fate
from stream.counting.projection import Columns, project
from stream.model.references import counted_on
from stream.replay.faults import passed_by, why
from stream.replay.findings import (
    OUTSIDE_HISTORY,
    OUTSIDE_WINDOWS,
    UNASKED,
    AlarmSurvey,
    FeedSurvey,
    Finding,
)
from stream.replay.spans import Spans
from stream.windows.instants import TIME_END_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from numpy.typing import NDArray

    from stream.events.decoder import Batch
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

__all__ = ["Row", "Tally"]

_UNSEEN_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One row as its file has it.

    Args:
        place: file and row, or partition and offset.
        values: by field, or its text.
        text: the values are cells of CSV.
    """

    place: str
    values: Mapping[str, object] | str
    text: bool = False


class _Use:
    """What one selection of rows uses of a feed."""

    def __init__(self, alarm: Alarm, names: tuple[str, ...], spans: Spans) -> None:
        self._alarm = alarm
        self._names = names
        self._spans = spans
        self._seen = np.zeros(len(alarm.counted), np.bool_)
        self._asked = self._usable = 0

    def add(
        self, columns: Columns, taken: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.bool_]]:
        """Count a batch.

        Args:
            columns: of the batch.
            taken: rows that came in time; ``None`` for all.

        Returns:
            Per row its fate, whether nothing but its time may be wrong, and whether it is usable.
        """
        rows, fates = project(self._alarm, columns)
        self._asked += int(np.count_nonzero(fates))
        ready = fates == Fate.USED
        runs, inside = self._spans.of(rows.time_ms)
        fates[np.flatnonzero(ready)[~runs]] = Fate.UNASKED
        usable = np.zeros(len(fates), np.bool_)
        usable[ready] = inside
        if taken is not None:
            usable &= taken
        chosen = usable[ready]
        self._usable += int(np.count_nonzero(chosen))
        self._seen[rows.cell[chosen]] = True
        return fates, ready, usable

    def counted(self) -> AlarmSurvey:
        """Return what was found."""
        unseen = np.flatnonzero(~self._seen)
        domain = self._alarm.counted
        return AlarmSurvey(
            alarms=self._names,
            asked=self._asked,
            usable=self._usable,
            windows=self._spans.any,
            groups=len(domain),
            unseen=tuple(
                ", ".join(domain.group(cell).values()) or "(all)"
                for cell in unseen[:_UNSEEN_SHOWN].tolist()
            ),
            unseen_count=len(unseen),
        )


class Tally:
    """Counts the rows of one feed."""

    def __init__(self, feed: Feed, alarms: Alarms) -> None:
        self.feed = feed
        self.alarms, self.budget = counted_on(feed, alarms)
        alike: dict[Hashable, list[Alarm]] = {}
        for alarm in self.alarms:
            alike.setdefault((selection_key(alarm), alarm.calendar), []).append(alarm)
        self._uses = [
            # The windows are the alarm's own, also where its references are counted here.
            _Use(same[0], tuple(q.id for q in same), Spans(alarms.by_name[same[0].id]))
            for same in alike.values()
        ]
        self._timezone = alarms.timezone
        self._rows = 0
        self._dropped: defaultdict[str, Finding] = defaultdict(Finding)
        self._usable = 0
        self._passed_by: defaultdict[str, Finding] = defaultdict(Finding)

    def see(
        self, batch: Batch, row_at: Callable[[int], Row], fates: NDArray[np.uint8] | None = None
    ) -> None:
        """Count rows that could be read.

        Args:
            batch: the rows.
            row_at: gives one of them as its file has it.
            fates: what became of them, where somebody else counts the drops; ``None`` where all
                came in time.
        """
        columns = Columns(batch)
        taken = None if fates is None else fates == Fate.USED
        farthest = np.full(len(batch), Fate.UNASKED, np.uint8)
        ready, usable = (np.zeros(len(batch), np.bool_) for _ in range(2))
        for use in self._uses:
            own, own_ready, own_usable = use.add(columns, taken)
            np.maximum(farthest, own, out=farthest)
            ready |= own_ready
            usable |= own_usable
        self._usable += int(np.count_nonzero(usable))
        left = ~usable
        for fate in FAULTS:
            mine = (farthest if fates is None else fates) == fate
            left &= ~mine
            if mine.any():
                rows = int(np.count_nonzero(mine)) if fates is None else 0
                self.drop(fate.name.lower(), rows, partial(row_at, int(np.argmax(mine))))
        from_ms, until_ms = self.feed.history or (0, TIME_END_MS)
        outside = ready & ((batch.time_ms < from_ms) | (batch.time_ms >= until_ms))
        for reason, mine in (
            (OUTSIDE_HISTORY, left & outside),
            (OUTSIDE_WINDOWS, left & ready & ~outside),
            (UNASKED, left & ~ready),
        ):
            if mine.any():
                at = int(np.argmax(mine))
                row, time_ms = partial(row_at, at), int(batch.time_ms[at])
                told = partial(self._why_not, reason, row, time_ms)
                self._passed_by[reason].add(int(np.count_nonzero(mine)), told)

    def read(self, rows: int) -> None:
        """Count rows that were read, bad ones included."""
        self._rows += rows

    def told(self, drops: Mapping[str, int]) -> None:
        """Count rows that somebody else found to be dropped, by reason."""
        for reason, rows in drops.items():
            self._dropped[reason].add(rows)

    def drop(self, reason: str, rows: int, row: Callable[[], Row]) -> None:
        """Count rows that could not be read."""
        self._dropped[reason].add(rows, partial(self._why, reason, row))

    def counted(self) -> FeedSurvey:
        """Return what was found."""
        return FeedSurvey(
            feed=self.feed.name,
            rows=self._rows,
            usable=self._usable,
            dropped=self._dropped,
            passed_by=self._passed_by,
            alarms=tuple(use.counted() for use in self._uses),
        )

    def _why(self, reason: str, row_of: Callable[[], Row]) -> tuple[str, str]:
        row = row_of()
        return row.place, why(reason, row.values, self.feed, self.alarms, text=row.text)

    def _why_not(self, reason: str, row_of: Callable[[], Row], time_ms: int) -> tuple[str, str]:
        return row_of().place, passed_by(reason, time_ms, self.feed, self._timezone)
