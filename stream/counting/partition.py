"""One partition of one feed, read from a known offset: records in, final partials out.

Pure: no broker, no clock. Both shells drive it. What a window counts depends on the records of a
slice of the log alone (promise 2), so reading the slice again gives the same partials.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.charges import WindowKey
from accountant.records import REFERENCE_PARTITIONS, Partial
from stream.counting.counter import WindowCounter, project
from stream.events.decoder import Decoder, Drop, Records
from stream.events.marks import claims_mark, verified_mark
from stream.model.feeds import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stream.events.decoder import Batch, Record
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed
    from stream.model.queries import Query

__all__ = ["PartitionReader", "ReadStart", "slice_start_ms"]


@dataclass(frozen=True, slots=True)
class ReadStart:
    """Where reading begins, and what is known about the log before that point.

    Args:
        whole: the log starts at offset 0, or a record before the slice is still retained.
        live_from_ms: wall clock when reading began at the log's end; slices that start later
            cannot have lost a record. ``None`` for files.
    """

    whole: bool
    live_from_ms: int | None = None


@dataclass(slots=True)
class _QueryState:
    """Progress of one query on one partition."""

    query: Query
    counter: WindowCounter
    next_index: int


def slice_start_ms(query: Query, start_ms: int) -> int:
    """Return the append time at or after which every event of a window was appended."""
    return start_ms - query.feed.allowed_skew_ms - query.feed.broker_skew_ms


class PartitionReader:
    """Counts every query of a feed over one partition.

    Args:
        feed: the feed read.
        partition: its partition.
        partitions: how many the feed has.
        topic_id: identity of the log, part of every partial.
        queries: the feed's queries.
        budget: unit and caps.
        hash_key: key of the unit and id hashes, from the ledger.
        on_drops: told how many events were dropped for which reason (custodian only).
        public: whether its counts are the references of alarms on other feeds.
    """

    def __init__(
        self,
        *,
        feed: Feed,
        partition: int,
        partitions: int,
        topic_id: str,
        queries: Sequence[Query],
        budget: Budget,
        hash_key: bytes,
        on_drops: Callable[[Mapping[str, int]], None],
        public: bool = False,
    ) -> None:
        self.feed = feed
        self.partition = partition
        self.stored_partition = partition + (REFERENCE_PARTITIONS if public else 0)
        self._counted_on = feed.name if public else None
        self._topic_id = topic_id
        self._decoder = Decoder(feed, partition=partition, partitions=partitions, hash_key=hash_key)
        self._on_drops = on_drops
        self._states = {
            query.id: _QueryState(query, WindowCounter(query, budget), 0) for query in queries
        }
        self._start = ReadStart(whole=True)
        self._first_append_ms: int | None = None
        self._arrival_ms = -1
        self._mark_ms = -1
        self._first_mark_ms: int | None = None
        self._marks: deque[tuple[int, int]] = deque()

    def begin(self, cursors: Mapping[str, int], start: ReadStart) -> None:
        """Start at the oldest undecided window of every query.

        Args:
            cursors: per query id the start (ms) of its oldest undecided window.
            start: what is known about the log before the first record that will be read.
        """
        self._start = start
        for query_id, state in self._states.items():
            calendar = state.query.calendar
            state.next_index = calendar.next_active(calendar.first_starting_at(cursors[query_id]))
            state.counter.forget_before(state.next_index)

    def read(self, records: Sequence[Record] | Records) -> None:
        """Count records, in log order."""
        records = Records.of(records)
        if self.feed.clock is Clock.PUNCTUATION:
            self._read_punctuated(records)
            return
        self._count(records)
        # A time that a sender chose says nothing about when anything arrived.
        appended = records.timestamp_ms[records.log_append]
        if len(appended):
            if self._first_append_ms is None:
                self._first_append_ms = int(appended[0])
            self._arrival_ms = max(self._arrival_ms, int(appended.max()))

    def count_batch(self, batch: Batch) -> None:
        """Count rows that a file reader decoded already (embedded shell)."""
        for state in self._states.values():
            rows, drops = project(state.query, batch)
            self._on_drops(drops)
            state.counter.add(rows)

    def arrived_through(self, time_ms: int) -> None:
        """Take note that every record that arrived before ``time_ms`` was read (idle, file end)."""
        self._arrival_ms = max(self._arrival_ms, time_ms + self.feed.broker_skew_ms)

    def oldest_open_cut_ms(self) -> int | None:
        """Return the earliest cut (window end + grace) not passed yet; ``None`` without queries."""
        cuts = [self._cut_ms(state, state.next_index) for state in self._states.values()]
        return min(cuts, default=None)

    def partials(self) -> Iterable[Partial]:
        """Yield the partials of every window that is complete by now, each once, oldest first."""
        for state in self._states.values():
            while self._passed(self._cut_ms(state, state.next_index)) and not self._over(state):
                yield self._partial(state, state.next_index)
                state.next_index = state.query.calendar.next_active(state.next_index + 1)
                state.counter.forget_before(state.next_index)

    def resume_mark(self) -> tuple[int, int] | None:
        """Return ``(time_ms, offset)`` of the last mark at or before the oldest open slice.

        Reading again from that offset counts every open window again. Marks before it are
        forgotten. ``None`` where no mark is that old.
        """
        starts = [
            slice_start_ms(state.query, state.query.calendar.bounds(state.next_index)[0])
            for state in self._states.values()
        ]
        oldest_ms = min(starts, default=-1)
        while len(self._marks) > 1 and self._marks[1][0] <= oldest_ms:
            self._marks.popleft()
        return self._marks[0] if self._marks and self._marks[0][0] <= oldest_ms else None

    def _passed(self, cut_ms: int) -> bool:
        if self.feed.clock is Clock.PUNCTUATION and self._mark_ms >= cut_ms:
            return True
        return self._arrival_ms >= cut_ms + self.feed.broker_skew_ms

    def _over(self, state: _QueryState) -> bool:
        """Whether the next window reaches beyond a replayed history; the last mark may."""
        if self.feed.clock is not Clock.PUNCTUATION or self.feed.history is None:
            return False
        return state.query.calendar.bounds(state.next_index)[1] > self.feed.history[1]

    def _cut_ms(self, state: _QueryState, index: int) -> int:
        return state.query.calendar.bounds(index)[1] + state.query.grace_ms

    def _partial(self, state: _QueryState, index: int) -> Partial:
        start_ms, end_ms = state.query.calendar.bounds(index)
        vector = state.counter.cut(index)
        return Partial(
            key=WindowKey(end_ms=end_ms, query=state.query.id, start_ms=start_ms),
            partition=self.stored_partition,
            fingerprint=state.query.fingerprint,
            topic_id=self._topic_id,
            complete=self._complete(slice_start_ms(state.query, start_ms)),
            cells=len(state.query.aggregates) * len(state.query.domain),
            index=vector.index,
            value=vector.value,
            first_offset=vector.first_offset,
            last_offset=vector.last_offset,
            counted_on=self._counted_on,
        )

    def _complete(self, slice_ms: int) -> bool:
        if self._start.whole:
            return True
        if self._first_append_ms is not None and self._first_append_ms < slice_ms:
            return True
        if self._first_mark_ms is not None and self._first_mark_ms <= slice_ms:
            return True
        return self._start.live_from_ms is not None and self._start.live_from_ms <= slice_ms

    def _count(self, records: Records) -> None:
        for batch, drops in self._decoder.batches(records):
            self._on_drops(drops)
            self.count_batch(self._dated(batch))

    def _dated(self, batch: Batch) -> Batch:
        """Return rows with the append times that their feed's clock gives them."""
        if self.feed.clock is not Clock.PUNCTUATION:
            return batch
        last_ms = self._mark_ms + self.feed.punctuation_ms - 1
        return replace(batch, append_ms=np.clip(batch.time_ms, self._mark_ms, last_ms))

    def _read_punctuated(self, records: Records) -> None:
        """Count runs of events between marks.

        An event arrives at its own time, or at the nearest one between the marks around it.
        """
        events = np.array([not claims_mark(headers) for headers in records.headers], np.bool_)
        start = 0
        for at in np.flatnonzero(~events).tolist():
            mark = verified_mark(
                records.value[at],
                records.headers[at],
                key=self.feed.punctuation_key or b"",
                feed=self.feed.name,
                partition=self.partition,
            )
            if mark is None:
                self._on_drops({Drop.UNDECODABLE.value: 1})
                continue
            if mark.time_ms <= self._mark_ms:
                continue
            self._count(records.between(start, at).where(events[start:at]))
            start = at
            self._mark_ms = mark.time_ms
            if self._first_mark_ms is None:
                self._first_mark_ms = mark.time_ms
            self._marks.append((mark.time_ms, int(records.offset[at])))
        self._count(records.between(start, len(records)).where(events[start:]))
