"""What is found in recorded events as they are read: exact and private, for the custodian alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream.counting.alike import selection_key
from stream.counting.fates import FAULTS, Fate, drops_of
from stream.counting.projection import Columns, project
from stream.model.references import counted_on
from stream.replay.faults import OUTSIDE_HISTORY, OUTSIDE_WINDOWS, UNASKED, passed_by, why
from stream.replay.replay import windows_of
from stream.windows.instants import TIME_END_MS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from stream.events.decoder import Batch
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

    _Mask = NDArray[np.bool_]

__all__ = ["AlarmSurvey", "FeedSurvey", "Finding"]


@dataclass(slots=True)
class Finding:
    """Rows that share a fault; private.

    Args:
        rows: how many.
        place: of the first of them in its file; empty where that was not looked for.
        example: what is wrong with it, with its values.
    """

    rows: int = 0
    place: str = ""
    example: str = ""


class AlarmSurvey:
    """What one alarm, and those that count the same rows, can use of a feed; private.

    Args:
        alarm: the first of them.
        windows: to be decided.

    Attributes:
        alarm: as given.
        windows: whether there is any.
        asked: rows that its WHERE asks for, and the FILTER of some statistic.
        usable: rows that one of the windows takes.
    """

    def __init__(self, alarm: Alarm, windows: Sequence[WindowKey]) -> None:
        self.alarm = alarm
        self.windows = bool(windows)
        self.asked = self.usable = 0
        self._starts = np.array([window.start_ms for window in windows], np.int64)
        self._ends = np.array([window.end_ms for window in windows], np.int64)

    def add(
        self, batch: Batch, columns: Columns, dated: _Mask, in_time: _Mask
    ) -> tuple[NDArray[np.uint8], _Mask, _Mask]:
        """Count a batch.

        Args:
            batch: its rows.
            columns: of the batch.
            dated: rows in the history.
            in_time: rows that did not come too early or too late.

        Returns:
            Per row its fate, whether nothing but its time may be wrong, and whether it is usable.
        """
        _, fates = project(self.alarm, batch, columns=columns)
        self.asked += int(np.count_nonzero(fates))
        ready, times = fates == Fate.USED, batch.time_ms
        began, ended = (np.searchsorted(at, times, "right") for at in (self._starts, self._ends))
        inside = began > ended
        outside = np.flatnonzero(ready & dated & ~inside)
        fates[outside[~self._some_run(times[outside])]] = Fate.UNASKED
        usable = ready & in_time & inside
        self.usable += int(np.count_nonzero(usable))
        return fates, ready, usable

    def _some_run(self, times: NDArray[np.int64]) -> _Mask:
        """Tell at which times a window runs, also one that reaches beyond the history."""
        first, last = self.alarm.calendar.containing(times)
        starts, place = np.unique(first, return_inverse=True)
        running = map(self.alarm.calendar.next_active, starts.tolist())
        runs: _Mask = np.array([*running], np.int64)[place] <= last
        return runs


class FeedSurvey:
    """Counts the rows of one feed; private.

    Args:
        feed: the feed.
        alarms: the configuration.

    Attributes:
        feed: its name.
        declared: what its events are declared to be.
        counted: what is counted of them, by alarm.
        budget: its contribution bounds hold.
        windows: to be decided, by alarm id.
        rows: how many were read, bad ones included.
        usable: rows that some window takes which is to be decided.
        dropped: rows that are dropped, by reason: what ``tocsin_events_dropped_total`` will say.
        passed_by: rows that are in order and lie outside the history, outside every window that
            runs, or are not asked for by any alarm.
        alarms: what each selection of rows finds.
    """

    def __init__(self, feed: Feed, alarms: Alarms) -> None:
        self.feed, self.declared, self._timezone = feed.name, feed, alarms.timezone
        self.counted, self.budget = counted_on(feed, alarms)
        # The windows are the alarm's own, also where its references are counted here.
        self.windows = {one.id: list(windows_of(alarms.by_name[one.id])) for one in self.counted}
        alike: dict[Hashable, Alarm] = {}
        for alarm in self.counted:
            alike.setdefault((selection_key(alarm), alarm.calendar), alarm)
        self.alarms = [AlarmSurvey(one, self.windows[one.id]) for one in alike.values()]
        self.rows = self.usable = 0
        self.dropped: defaultdict[str, Finding] = defaultdict(Finding)
        self.passed_by: defaultdict[str, Finding] = defaultdict(Finding)

    def read(self, rows: int) -> None:
        """Count rows that were read, bad ones included."""
        self.rows += rows

    def drops(self, drops: Mapping[str, int]) -> None:
        """Count rows that are dropped, by reason."""
        for reason, rows in drops.items():
            self.dropped[reason].rows += rows

    def example(
        self, reason: str, place: str, values: Mapping[str, object] | str, *, text: bool = False
    ) -> None:
        """Describe a row that is dropped, where it is the first for its reason.

        Args:
            reason: why.
            place: file and row, or partition and offset.
            values: by field, or the row's text.
            text: the values are cells of CSV.
        """
        finding = self.dropped[reason]
        if not finding.place:
            finding.place = place
            finding.example = why(reason, values, self.declared, self.counted, text=text)

    def see(self, batch: Batch, where: str, fates: NDArray[np.uint8] | None = None) -> None:
        """Count rows that could be read.

        Args:
            batch: the rows.
            where: they lie, before their offsets.
            fates: what became of them, where the drops are counted already; ``None`` where all came
                in time.
        """
        from_ms, until_ms = self.declared.history or (0, TIME_END_MS)
        dated = (batch.time_ms >= from_ms) & (batch.time_ms < until_ms)
        in_time = np.ones(len(batch), np.bool_) if fates is None else fates == Fate.USED
        columns = Columns(batch.rows)
        each = zip(*(one.add(batch, columns, dated, in_time) for one in self.alarms), strict=True)
        farthest, ready, usable = (np.maximum.reduce(one) for one in each)
        self.usable += int(np.count_nonzero(usable))
        if fates is None:
            fates = farthest
            self.drops(drops_of(fates))
        for fate in FAULTS:
            if len(mine := np.flatnonzero(fates == fate)):
                row = batch.rows.slice(mine[0], 1).to_pylist()[0]
                self.example(fate.name.lower(), f"{where} {batch.offset[mine[0]]}", row)
        left = ~usable & ~np.isin(fates, FAULTS)
        for reason, rows in (
            (OUTSIDE_HISTORY, left & ready & ~dated),
            (OUTSIDE_WINDOWS, left & ready & dated),
            (UNASKED, left & ~ready),
        ):
            if len(mine := np.flatnonzero(rows)):
                finding, time_ms = self.passed_by[reason], int(batch.time_ms[mine[0]])
                finding.rows += len(mine)
                finding.place = finding.place or f"{where} {batch.offset[mine[0]]}"
                finding.example = finding.example or passed_by(
                    reason, time_ms, self.declared, self._timezone
                )

    @property
    def unfit(self) -> str | None:
        """Why deciding these rows would spend budget on nothing; ``None`` if it would not."""
        if not any(alarm.windows for alarm in self.alarms):
            return None
        if not self.rows:
            return "there is no event in it"
        if not self.usable:
            return "none of its events can be used"
        if 2 * sum(found.rows for found in self.dropped.values()) > self.rows:
            return "more than half of its events cannot be used"
        for found in self.alarms:
            if found.windows and found.asked and not found.usable:
                return f"alarm {found.alarm.id!r} can use none of its events"
        return None
