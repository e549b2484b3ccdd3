"""Ingest: read the feeds' log in batches, count, store final partials, send a wake-up message.

Faust's consumer acknowledges and commits; counting needs neither. This service owns an aiokafka
consumer with its own group, and a rebalance listener that does nothing but mark a generation: the
loop seeks before it believes a record, because an assignment is live before its callbacks end.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import (
    IllegalStateError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
)

from accountant.records import PartialStatus, Stand
from stream.decisions.steps import Step
from stream.kafka.clients import FETCH, aiokafka_arguments, stop_consumer
from stream.kafka.columns import as_columns, fetch
from stream.kafka.fetch_buffers import keep_freed_memory
from stream.kafka.guard import check_unchanged
from stream.kafka.positions import Blocked, Bounds
from stream.kafka.tasks import cancelled, every, first
from stream.model.alarms import require_kafka
from stream.model.feeds import Clock
from stream.model.references import counted_on, feeds_in_use

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from accountant.records import Partial
    from stream.build import Runtime
    from stream.counting.partition import PartitionReader
    from stream.events.records import Records
    from stream.kafka.columns import Fetched
    from stream.logs.lines import Log
    from stream.model.feeds import Feed

__all__ = ["Assigned", "Ingest"]

_COUNTED_AT_ONCE = min(os.cpu_count() or 1, 4)
"""Partitions that are counted side by side: few threads, of their own, keep little memory."""
_YOUNG_OBJECTS = 200_000
_LOOK_S = 0.5
_POLL_MS = 200
_NOWHERE = TopicPartition("", 0)
"""What is fetched by a worker that has no partition to read: see :meth:`Ingest._fetch`."""
_GATHER_BYTES, _GATHER_MS = 1 << 16, 50
"""So much gathers at the broker, or for so long: to fetch each event by itself costs too much."""
_POSITION_S = 1.0
_PATIENCE_S = 5.0
_REPORT_S = 2.0  # far below UNSEEN_MS, and below what an alarm may wait for
_AGAIN_S = 5.0
_OPEN_S = 20.0
_SEARCH_S = 10.0
_METADATA_MS = 10_000  # new partitions are read so long after they were made, at most


@dataclass(slots=True)
class Assigned:
    """A partition this worker reads, and where its next record is expected.

    Args:
        feed: whose partition it is.
        reader: counts it.
        position: offset of the next record.
        again_s: where its next batch could not be read: when that is tried again, by the
            monotonic clock.
    """

    feed: Feed
    reader: PartitionReader
    position: int
    again_s: float | None = None


class Ingest(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no stubs
    """Reads this worker's share of every feed until it is cancelled.

    Args:
        runtime: configuration, ledger, metrics, clock.
        ring: sends a wake-up message for an alarm, after a partial is stored.
        log: told of partitions that are blocked.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        ring: Callable[[str], Awaitable[None]],
        log: Log,
    ) -> None:
        self._runtime = runtime
        self._blocked = Blocked(log, time.monotonic)
        self._ring = ring
        self._feeds = {feed.topic: feed for feed in feeds_in_use(runtime.alarms)}
        self.assigned: dict[TopicPartition, Assigned] = {}
        """What this worker reads now, and how far."""
        self._opening: dict[TopicPartition, asyncio.Task[Assigned]] = {}
        self._counters = ThreadPoolExecutor(_COUNTED_AT_ONCE, thread_name_prefix="tocsin-count")
        self._generation = 0
        self._shared_out = False  # whether there has been an assignment, of no partition perhaps
        self._bounds: dict[TopicPartition, Bounds] = {}  # of those that answered in time
        self._reported: dict[tuple[str, int], Stand] = {}
        self._report_s = 0.0
        self._kafka = require_kafka(runtime.alarms)

    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        """Called before a rebalance: whatever was fetched is not to be believed any more."""
        del revoked
        self._generation += 1

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        """Called after a rebalance, when the new assignment is already live."""
        del assigned
        self._generation += 1
        self._shared_out = True

    async def run(self) -> None:
        """Read until cancelled.

        Raises:
            DependencyError: the ledger cannot be reached.
            LedgerError: the ledger refuses.
        """
        consumer = self._consumer()
        probe = AIOKafkaConsumer(
            group_id=None, isolation_level="read_uncommitted", **aiokafka_arguments(self._kafka)
        )
        async with AsyncExitStack() as stack:
            # aiokafka's consumer, which listens to it, is in cycles, and these are collected late.
            stack.callback(self.assigned.clear)
            stack.callback(self._counters.shutdown, wait=False, cancel_futures=True)
            stack.push_async_callback(stop_consumer, probe)
            stack.push_async_callback(stop_consumer, consumer)
            self._runtime.metrics.partitions.begun()
            # Records are many, short-lived and in no cycle: collections would be in vain.
            gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
            keep_freed_memory()
            await consumer.start()
            await probe.start()
            stack.push_async_callback(lambda: cancelled(self._opening.values()))
            await first(self._loop(consumer, probe), self._look_out(consumer, probe))

    def _consumer(self) -> Any:
        session_ms = self._kafka.session_timeout_ms
        marked = [feed.topic for feed in self._feeds.values() if feed.clock is Clock.WATERMARKS]
        consumer = AIOKafkaConsumer(
            group_id=f"{self._kafka.group}-ingest",
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            partition_assignment_strategy=(StickyPartitionAssignor,),
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=max(session_ms // 3, 500),
            rebalance_timeout_ms=max(session_ms, 10_000),
            metadata_max_age_ms=_METADATA_MS,
            fetch_min_bytes=_GATHER_BYTES,
            fetch_max_wait_ms=_GATHER_MS,
            **FETCH,
            **as_columns(headers_of=marked),
            **aiokafka_arguments(self._kafka),
        )
        consumer.subscribe(list(self._feeds), listener=self)
        return consumer

    async def _loop(self, consumer: Any, probe: Any) -> None:
        loop = asyncio.get_running_loop()
        next_look = 0.0
        seen = -1
        while True:
            generation = self._generation
            if generation != seen:
                self._take_over(consumer)
                seen = generation
            self._open_new(consumer, probe)
            try:
                fetched = await self._fetch(consumer)
            except NoOffsetForPartitionError:
                seen = -1  # fetched before we could seek: seek, again if need be
                continue
            except OffsetOutOfRangeError as error:
                for partition in error.args[0]:
                    self.assigned.pop(partition, None)  # retention overtook us: start over
                continue
            _alive(consumer)
            self._runtime.step(Step.AFTER_POLL, None)
            if self._generation != generation:
                continue
            await every(
                self._read(partition, records) for partition, records in fetched.records.items()
            )
            for partition in self.assigned.keys() & fetched.damaged:
                self.assigned[partition].again_s = time.monotonic() + _AGAIN_S
            if loop.time() >= next_look:
                next_look = loop.time() + _LOOK_S
                await self._look(consumer, generation)

    async def _fetch(self, consumer: Any) -> Fetched:
        """Return what comes of the partitions that were opened, within a moment.

        One at a damaged batch rests and is tried again: another replica may have it as written.

        A spare worker, which has no partition, fetches too: who does not for five minutes leaves
        the group in aiokafka and takes over nothing, and only a fetch raises the group's errors.
        """
        now_s = time.monotonic()
        wanted = [at for at, one in self.assigned.items() if (one.again_s or 0.0) <= now_s]
        return await fetch(consumer, *wanted or [_NOWHERE], timeout_ms=_POLL_MS)

    def _take_over(self, consumer: Any) -> None:
        """Seek where the readers of this worker's partitions stand; forget those of others.

        A partition that stays ours goes on where its reader stopped: its log slice was read without
        a gap.
        """
        assignment = consumer.assignment()
        for partition in (self.assigned.keys() | self._opening.keys()) - assignment:
            self.assigned.pop(partition, None)
            if opening := self._opening.pop(partition, None):
                opening.cancel()
            feed = self._feeds[partition.topic]
            self._runtime.metrics.partitions.unassigned(feed.name, partition.partition)
        for partition, assigned in self.assigned.items():
            consumer.seek(partition, assigned.position)

    def _open_new(self, consumer: Any, probe: Any) -> None:
        """Start reading new partitions at their oldest undecided windows, once these are found.

        A partition whose leader is away keeps no other waiting.
        """
        for partition in consumer.assignment() - self.assigned.keys():
            opening = self._opening.get(partition)
            if opening is None:
                self._opening[partition] = asyncio.create_task(self._open(partition, probe))
            elif opening.done():
                del self._opening[partition]
                with suppress(KafkaError, TimeoutError):  # it is tried again
                    self.assigned[partition] = opening.result()
                    consumer.seek(partition, self.assigned[partition].position)

    async def _open(self, partition: TopicPartition, probe: Any) -> Assigned:
        """Make a reader and find its first record: the slice of its oldest undecided window.

        Args:
            partition: of a feed's topic.
            probe: a consumer that sees everything, open transactions too.

        Raises:
            KafkaError: the partition has no leader that answers.
            DependencyError: the ledger cannot be reached.
        """
        feed, runtime, number = self._feeds[partition.topic], self._runtime, partition.partition
        ledger, in_thread = runtime.ledger, asyncio.to_thread
        topic_id = (await in_thread(check_unchanged, runtime.alarms, ledger))[feed.name].topic_id
        counted_for = {alarm.id for alarm in counted_on(feed, runtime.alarms)[0]}
        async with asyncio.timeout(_OPEN_S):
            layouts = (await in_thread(ledger.growths.layouts))[feed.name]
            reader = runtime.reader(feed, number, layouts, topic_id)
            cursors = await in_thread(ledger.progress.cursors, counted_for)
            used = await in_thread(ledger.counts.used, cursors, reader.stored_partition, topic_id)
            live_from_ms = runtime.clock_ms() + feed.idle_partition_timeout_ms
            begin = (await probe.beginning_offsets([partition]))[partition]
            end = (await probe.end_offsets([partition]))[partition]
            oldest_ms = reader.begin(cursors, used)
            if feed.clock is Clock.WATERMARKS:
                marked = await in_thread(ledger.counts.mark_before, feed.name, number, oldest_ms)
                offset = begin if marked is None else max(marked, begin)
                whole, whole_from_ms = marked is not None and marked >= begin, math.inf
            else:
                offset = await _appended_since(probe, partition, oldest_ms, begin, end)
                # What is appended while reading catches up cannot be deleted before it is read.
                whole, whole_from_ms = offset > begin, live_from_ms
            if begin and not whole:
                reader.whole_from_ms = whole_from_ms
            opened = {feed.name: {number: (offset, Stand.OPENED)}}
            await in_thread(ledger.counts.put_places, opened)
            return Assigned(feed, reader, offset)

    async def _read(self, partition: TopicPartition, records: Records) -> None:
        assigned = self.assigned.get(partition)
        if assigned is None or int(records.offset[0]) < assigned.position:
            return  # fetched before our seek
        partials = await self._count(assigned.reader, records)
        assigned.position = int(records.offset[-1]) + 1
        assigned.again_s = None
        self._runtime.metrics.appended(assigned.feed.name, assigned.reader.newest_append_ms)
        await self._store(partition, assigned.reader, partials)

    async def _look_out(self, consumer: Any, probe: Any) -> None:
        """Ask where partitions end, and up to where no transaction is open, twice a second.

        One without a leader keeps its own answer waiting, and no other's.
        """

        async def ask(partitions: list[TopicPartition]) -> bool:
            asked_ms = self._runtime.clock_ms()
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    stable = await consumer.end_offsets(partitions)
                    end = await probe.end_offsets(partitions)
            except (KafkaError, TimeoutError):
                for each in partitions:
                    self._bounds.pop(each, None)
                return False
            for each in partitions:
                self._bounds[each] = Bounds(asked_ms, end[each], stable[each])
            return True

        while True:
            partitions = list(consumer.assignment())
            if not await ask(partitions):
                await asyncio.gather(*(ask([each]) for each in partitions))
            await asyncio.sleep(_LOOK_S)

    async def _look(self, consumer: Any, generation: int) -> None:
        """Complete idle partitions and tell everybody how far partitions are read.

        Only in the generation in which the loop sought its positions: after a rebalance no
        partition has a position, and aiokafka would wait for one for ever, keeping the loop from
        seeking.
        """
        metrics = self._runtime.metrics.partitions
        positions: dict[str, dict[int, tuple[int, Stand]]] = defaultdict(dict)
        for partition, assigned in list(self.assigned.items()):
            if self._generation != generation:
                return
            name, number = assigned.feed.name, partition.partition
            bounds = self._bounds.get(partition)
            try:
                position = await asyncio.wait_for(consumer.position(partition), _POSITION_S)
            except (TimeoutError, IllegalStateError):
                return  # an assignment is live before its callback has marked it
            stand = Stand.UNREACHABLE if bounds is None else bounds.stand(position)
            if stand is Stand.READING and assigned.again_s is not None:
                stand = Stand.CORRUPT
            if bounds is not None and stand is Stand.END:
                await self._complete(partition, assigned, bounds.asked_ms)
            positions[name][number] = (position, stand)
            self._blocked.see(partition, stand)
            lag = 0 if bounds is None else max(bounds.end - position, 0)
            metrics.told(name, number, stand, position, lag)
        for partition in self._opening:
            self._blocked.see(partition, Stand.UNREACHABLE)
            name = self._feeds[partition.topic].name
            metrics.told(name, partition.partition, Stand.UNREACHABLE, None)
        if self._shared_out and self._generation == generation:
            metrics.shared_out()
        await self._report(positions)

    async def _report(self, positions: Mapping[str, Mapping[int, tuple[int, Stand]]]) -> None:
        """Tell the ledger how partitions stand: a transaction for all of them, now and then.

        Every two seconds; at once where the partitions are others than before, where one begins to
        be blocked, and where it goes on.
        """
        stands: dict[tuple[str, int], Stand] = {
            (feed, number): Stand.READING if stand is Stand.END else stand
            for feed, partitions in positions.items()
            for number, (_, stand) in partitions.items()
        }
        if stands != self._reported or time.monotonic() >= self._report_s:
            self._reported, self._report_s = stands, time.monotonic() + _REPORT_S
            if stands:
                await asyncio.to_thread(self._runtime.ledger.counts.put_places, positions)
                await self._follow_growths()  # as seldom: a count by who does not know is not taken

    async def _follow_growths(self) -> None:
        """Let go of readers that do not know how their feed's partitions grew.

        They are opened again at the oldest undecided window: what is counted of it anew is counted
        by the ledger's own account of when partitions were added.
        """
        layouts = await asyncio.to_thread(self._runtime.ledger.growths.layouts)
        for partition, assigned in list(self.assigned.items()):
            if assigned.reader.layouts != layouts[assigned.feed.name]:
                del self.assigned[partition]

    async def _complete(
        self, partition: TopicPartition, assigned: Assigned, read_through_ms: int
    ) -> None:
        """Complete an idle partition: the clock is well past the cut, the log was read to its end.

        Args:
            partition: of the log.
            assigned: whose reader stands at the end.
            read_through_ms: when the log ended there, or before.
        """
        reader, feed = assigned.reader, assigned.feed
        through_ms = read_through_ms - feed.idle_partition_timeout_ms
        cut_ms = reader.oldest_open_cut_ms()
        if feed.clock is Clock.APPEND_TIME and cut_ms is not None and cut_ms <= through_ms:
            reader.arrived_through(through_ms)
            await self._store(partition, reader, await self._count(reader, None))

    async def _count(self, reader: PartitionReader, records: Records | None) -> Sequence[Partial]:
        """Read on, in one of few threads: each keeps memory of its own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._counters, _read_on, reader, records)

    async def _store(
        self, partition: TopicPartition, reader: PartitionReader, partials: Sequence[Partial]
    ) -> None:
        runtime, counts = self._runtime, self._runtime.ledger.counts
        for counted in partials:
            runtime.step(Step.BEFORE_PARTIAL, counted.key)
            status = await asyncio.to_thread(counts.put_partial, counted)
            runtime.step(Step.AFTER_PARTIAL, counted.key)
            if status is PartialStatus.STALE:
                self.assigned.pop(partition, None)  # opened again, it will know
                return
            await self._ring(counted.key.query)
        if partials and (mark := reader.resume_mark()) is not None:
            await asyncio.to_thread(counts.put_mark, reader.feed.name, partition.partition, *mark)


def _alive(consumer: Any) -> None:
    """Raise what ended aiokafka's background fetching; it would go on returning nothing."""
    fetching = consumer._fetcher.error_future  # noqa: SLF001  # there is no public way to ask
    if fetching.done():
        fetching.result()
        raise KafkaError("the consumer stopped fetching")


def _read_on(reader: PartitionReader, records: Records | None) -> list[Partial]:
    if records is not None:
        reader.read(records)
    return list(reader.partials())


async def _appended_since(
    probe: Any, partition: TopicPartition, time_ms: int, begin: int, end: int
) -> int:
    """Return an offset before which nothing was appended at or after an instant.

    Only where to seek: what counts is decided record by record. A broker finds no instant in a log
    with a batch that it cannot read; it is then read from its beginning up to that batch.
    """
    try:
        async with asyncio.timeout(_SEARCH_S):
            found = (await probe.offsets_for_times({partition: max(time_ms, 0)}))[partition]
    except (KafkaError, TimeoutError):
        return begin
    return end if found is None else max(found.offset, begin)
