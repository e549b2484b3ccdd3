"""One partition of one feed, read from a known offset: records in, final partials out.

Pure: no broker, no clock. Both shells drive it. What a window counts depends on the records of a
slice of the log alone (promise 2), so reading the slice again gives the same partials.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

import numpy as np

from accountant.costs.charges import WindowKey
from accountant.records import REFERENCE_PARTITIONS, Partial
from stream.counting.fates import drops_of
from stream.counting.sharing import FeedCounters, slice_start_ms
from stream.events.decoder import Decoder, Drop, Records
from stream.events.marks import claims_mark, verified_mark
from stream.model.feeds import Clock
from stream.model.routing import partitions_of_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.layouts import Layouts
    from accountant.records import Used
    from stream.counting.bounding import Capped
    from stream.counting.counter import CellVector
    from stream.counting.sharing import SharedCounter
    from stream.events.decoder import Batch, Record
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed

__all__ = ["PartitionReader", "Told", "slice_start_ms"]


_NEVER_MS: Final = int(np.iinfo(np.int64).max)
_MOST_UNMARKED = 1_000_000
"""Records that may precede a feed's first mark."""


class Told(TypedDict, total=False):
    """Who is told of what a reader reads; all of it is the custodian's alone.

    Args:
        on_read: told how many events were read, dropped ones included; a record that cannot be read
            at all is one. Rows given to ``count_batch`` are not among them.
        on_drops: told how many of them were dropped for which reason, each once however many
            alarms there are.
        on_counted: told what became of every row that could be read, batch by batch: the partition,
            the rows, and shape (rows,).
        on_capped: told of every partial, before it is yielded, what caps left out of it; ``None``
            saves the memory that this takes.
        on_people: told of every partial under a cap over a period, before it is yielded, how many
            people are in its window, and how many of them do not count.
    """

    on_read: Callable[[int], None]
    on_drops: Callable[[Mapping[str, int]], None]
    on_counted: Callable[[int, Batch, NDArray[np.uint8]], None]
    on_capped: Callable[[WindowKey, Capped], None] | None
    on_people: Callable[[WindowKey, int, int], None]


class PartitionReader:
    """Counts every alarm of a feed over one partition.

    Args:
        feed: the feed read.
        partition: its partition.
        layouts: over how many its feed is partitioned. Of windows with records of before and after
            a growth there is no partial, nor of windows from before this partition was there.
        topic_id: identity of the log, part of every partial.
        alarms: the feed's alarms.
        budget: unit and caps.
        hash_key: key of the unit and id hashes, from the ledger.
        public: whether its counts are the references of alarms on other feeds.
        told: of what it reads.
    """

    def __init__(
        self,
        *,
        feed: Feed,
        partition: int,
        layouts: Layouts,
        topic_id: str,
        alarms: Sequence[Alarm],
        budget: Budget,
        hash_key: bytes,
        public: bool = False,
        **told: Unpack[Told],
    ) -> None:
        self.feed = feed
        self.partition = partition
        self.stored_partition = partition + (REFERENCE_PARTITIONS if public else 0)
        self._counted_on = feed.name if public else None
        self._topic_id = topic_id
        self.layouts = layouts
        self._decoders = {
            each: Decoder(feed, partition=partition, partitions=each, hash_key=hash_key)
            for each in layouts.counts
        }
        self.hash_key = hash_key
        self._told = told
        self._counters = FeedCounters(alarms, budget, whole=bool(told.get("on_capped")))
        self.newest_append_ms = -1
        """Append time of the newest record read so far; for the custodian's eyes."""
        self.whole_from_ms = -math.inf
        """No record is lost of slices that start then or later: of none, where the log is whole.

        Set before the first record is read, where the log begins later than that.
        """
        self._arrival_ms = -1
        self._mark_ms = -1
        self._first_mark_ms = _NEVER_MS
        self._until_ms = _NEVER_MS
        if feed.clock is Clock.WATERMARKS and feed.history is not None:
            self._until_ms = feed.history[1]  # no window beyond it is counted; the last mark may be
        self._marks: deque[tuple[int, int]] = deque()
        self._unmarked: list[Records] = []

    def begin(self, cursors: Mapping[str, int], used: Mapping[str, Used] | None = None) -> int:
        """Start at the oldest undecided window of every query.

        Args:
            cursors: per alarm id the start (ms) of its oldest undecided window.
            used: per alarm id what people had used up through a window before that, where it is
                known; else windows are counted again from the beginning of the period.

        Returns:
            Since when records were appended that have to be read.
        """
        for counter in self._counters.all:
            counter.begin(cursors, used or {})
        return min(counter.read_ms for counter in self._counters.all)

    def read(self, records: Sequence[Record] | Records) -> None:
        """Count records, in log order."""
        records = Records.of(records)
        # A time that a sender chose says nothing about when anything arrived.
        appended = records.timestamp_ms[records.log_append]
        first = self.newest_append_ms < 0
        if len(appended):
            self.newest_append_ms = max(self.newest_append_ms, int(appended.max()))
        if self.feed.clock is Clock.WATERMARKS:
            self._read_punctuated(records)
            return
        self._count(records)
        if len(appended):
            if first:  # of what came before this record none is newer than its time and a step back
                self.whole_from_ms = min(self.whole_from_ms, int(appended[0]) + 1)
            self._arrival_ms = max(self._arrival_ms, int(appended.max()))

    def count_batch(self, batch: Batch) -> None:
        """Count rows that a file reader decoded already (embedded shell)."""
        fates = self._counters.count(batch)
        if tell := self._told.get("on_counted"):
            tell(self.partition, batch, fates)
        if drops := drops_of(fates):
            self.take_note(0, drops)

    def take_note(self, read: int, drops: Mapping[str, int]) -> None:
        """Tell of events that were read, and of those among them that are dropped."""
        if read and (tell := self._told.get("on_read")):
            tell(read)
        if told := self._told.get("on_drops"):
            told(drops)

    def arrived_through(self, time_ms: int) -> None:
        """Take note that every record that arrived before ``time_ms`` was read (idle, file end)."""
        self._count_unmarked()
        self._arrival_ms = max(self._arrival_ms, time_ms + self.feed.max_append_time_regression_ms)

    def oldest_open_cut_ms(self) -> int | None:
        """Return the earliest cut (window end + grace) not passed yet; ``None`` without alarms."""
        return min((counter.cut_ms for counter in self._counters.all), default=None)

    def partials(self) -> Iterable[Partial]:
        """Yield the partials of every window that is complete by now, each once, oldest first."""
        for counter in self._counters.all:
            while self._passed(counter.cut_ms) and counter.end_ms <= self._until_ms:
                capped = counter.capped() if self._told.get("on_capped") else None
                counted = counter.cut()
                if self._belongs(counter):
                    for alarm, vector in counted:
                        yield self._partial(counter, alarm, vector, capped)
                counter.go_to(counter.index + 1)

    def resume_mark(self) -> tuple[int, int] | None:
        """Return ``(time_ms, offset)`` of the last mark at or before the oldest open slice.

        Reading again from that offset counts every open window again. Marks before it are
        forgotten. ``None`` where no mark is that old.
        """
        slices_ms = (slice_start_ms(each.alarm, each.counted_ms) for each in self._counters.all)
        oldest_ms = min(slices_ms, default=-1)
        while len(self._marks) > 1 and self._marks[1][0] <= oldest_ms:
            self._marks.popleft()
        return self._marks[0] if self._marks and self._marks[0][0] <= oldest_ms else None

    def _passed(self, cut_ms: int) -> bool:
        arrived_ms = self._arrival_ms - self.feed.max_append_time_regression_ms
        return max(self._mark_ms, arrived_ms) >= cut_ms

    def _belongs(self, counter: SharedCounter) -> bool:
        """Whether all records that the next window takes are routed alike, some of them here."""
        partitions = partitions_of_window(
            counter.alarm, self.feed, self.layouts, counter.counted_ms, counter.end_ms
        )
        return partitions is not None and self.partition < partitions

    def _partial(
        self, counter: SharedCounter, alarm: Alarm, vector: CellVector, capped: Capped | None
    ) -> Partial:
        key = WindowKey(end_ms=counter.end_ms, query=alarm.id, start_ms=counter.start_ms)
        usage, told = counter.usage, self._told
        if usage is not None and (tell := told.get("on_people")):
            tell(key, usage.met, usage.beyond)
        if capped is not None and (tell_capped := told.get("on_capped")):
            tell_capped(key, capped)
        return Partial(
            key=key,
            partition=self.stored_partition,
            fingerprint=alarm.fingerprint,
            topic_id=self._topic_id,
            complete=counter.read_ms >= self.whole_from_ms,
            used=None if usage is None else usage.encoded(),
            cells=len(alarm.aggregates) * len(alarm.counted),
            index=vector.index,
            value=vector.value,
            first_offset=vector.first_offset,
            last_offset=vector.last_offset,
            counted_on=self._counted_on,
            revision=self.layouts.revision,
        )

    def _count(self, records: Records) -> None:
        for partitions, run in self._routed(records):
            for batch, drops in self._decoders[partitions].batches(run):
                self.take_note(len(batch) + sum(drops.values()), drops)
                self.count_batch(self._dated(batch))

    def _routed(self, records: Records) -> Iterator[tuple[int, Records]]:
        """Yield runs of records that are routed over the same number of partitions, and that.

        By the append time that the broker gave a record: what its sender says decides nothing.
        """
        partitions = self.layouts.at(records.timestamp_ms)
        edges = np.flatnonzero(np.diff(partitions)) + 1
        for start, stop in pairwise((0, *edges.tolist(), len(records))):
            if start < stop:
                yield int(partitions[start]), records.between(start, stop)

    def _dated(self, batch: Batch) -> Batch:
        """Return rows with the append times that their feed's clock gives them."""
        if self.feed.clock is not Clock.WATERMARKS:
            return batch
        until_ms = self._mark_ms + self.feed.watermark_interval_ms
        if self._mark_ms < 0:
            until_ms = self._first_mark_ms
        return replace(batch, append_ms=np.clip(batch.time_ms, self._mark_ms, until_ms - 1))

    def _read_punctuated(self, records: Records) -> None:
        """Count runs of events between marks.

        An event arrives at its own time, or at the nearest one between the marks around it: before
        the first mark, once that is known, at any time before it.
        """
        events = np.array([not claims_mark(headers) for headers in records.headers], np.bool_)
        start = 0
        for at in np.flatnonzero(~events).tolist():
            mark = verified_mark(
                records.value[at],
                records.headers[at],
                key=self.feed.watermark_key or b"",
                feed=self.feed.name,
                partition=self.partition,
            )
            if mark is None:
                self.take_note(1, {Drop.UNDECODABLE.value: 1})
                continue
            if mark.time_ms <= self._mark_ms:
                continue
            if self._mark_ms < 0:
                self._first_mark_ms = mark.time_ms
                self.whole_from_ms = min(self.whole_from_ms, mark.time_ms)
                self._count_unmarked()
            self._count(records.between(start, at).where(events[start:at]))
            start = at
            self._mark_ms = mark.time_ms
            self._marks.append((mark.time_ms, int(records.offset[at])))
        rest = records.between(start, len(records)).where(events[start:])
        if self._mark_ms < 0:
            self._keep_unmarked(rest)
        else:
            self._count(rest)

    def _keep_unmarked(self, records: Records) -> None:
        """Keep records that precede the first mark until it comes; too many are given up."""
        kept = sum(map(len, self._unmarked)) + len(records)
        if kept <= _MOST_UNMARKED:
            self._unmarked.append(records)
            return
        # Windows before the first mark are incomplete then, and say so.
        self.whole_from_ms = math.inf
        self.take_note(kept, {Drop.UNMARKED.value: kept})
        self._unmarked.clear()

    def _count_unmarked(self) -> None:
        """Count what precedes the first mark, or, at the end of a file, all marks."""
        for records in self._unmarked:
            self._count(records)
        self._unmarked.clear()
