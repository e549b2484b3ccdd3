"""Ingest: read the feeds' log in batches, count, store final partials, ring the doorbell.

Faust's consumer acknowledges and commits; counting needs neither. This service owns an aiokafka
consumer with its own group, and a rebalance listener that does nothing but mark a generation: the
loop seeks before it believes a record, because an assignment is live before its callbacks end.
"""

from __future__ import annotations

import asyncio
import gc
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import (
    IllegalStateError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
)

from stream.counting.partition import PartitionReader, ReadStart, slice_start_ms
from stream.decisions.steps import Step
from stream.events.decoder import Records
from stream.kafka.clients import aiokafka_arguments
from stream.kafka.guard import check_unchanged
from stream.kafka.headers import tolerate_headers
from stream.model.alarms import require_kafka
from stream.model.feeds import Clock
from stream.model.references import counted_on, feeds_in_use, public_feeds

if TYPE_CHECKING:
    from collections.abc import (
        Awaitable,
        Callable,
        Coroutine,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from aiokafka import TopicPartition

    from accountant.records import LogIdentity, Partial
    from stream.build import Runtime
    from stream.model.feeds import Feed

__all__ = ["FETCH", "LOG_APPEND_TIME", "MAX_RECORDS", "Ingest"]

T = TypeVar("T")

FETCH: Final = {"max_partition_fetch_bytes": 8 << 20}
"""How the consumer fetches: arguments of aiokafka's."""

LOG_APPEND_TIME: Final = 1
"""How aiokafka says that the broker set a record's timestamp."""

MAX_RECORDS: Final = 20_000
"""Records handed on at once: a fraction of a second's work."""

_THREADS = min(os.cpu_count() or 1, 4)  # partitions are counted side by side
_YOUNG_OBJECTS = 200_000
_IDLE_CHECK_S = 0.5
_POLL_MS = 200
_POSITION_S = 1.0


@dataclass(slots=True)
class _Assigned:
    """A partition this worker reads, and where its next record is expected."""

    feed: Feed
    reader: PartitionReader
    position: int


class _Generation(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no stubs
    """Marks that the assignment changed; the loop does the work."""

    def __init__(self) -> None:
        self.number = 0

    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        """Called before a rebalance: whatever was fetched is not to be believed any more."""
        del revoked
        self.number += 1

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        """Called after a rebalance, when the new assignment is already live."""
        del assigned
        self.number += 1


class Ingest:
    """Reads this worker's share of every feed until it is cancelled.

    Args:
        runtime: configuration, ledger, metrics, clock.
        identities: per feed name, the registered log.
        ring: sends a doorbell message for a query, after a partial is stored.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        identities: Mapping[str, LogIdentity],
        ring: Callable[[str], Awaitable[None]],
    ) -> None:
        self._runtime = runtime
        self._identities = identities
        self._ring = ring
        self._feeds = {feed.topic: feed for feed in feeds_in_use(runtime.alarms)}
        self._assigned: dict[TopicPartition, _Assigned] = {}
        self._listener = _Generation()
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="tocsin-count")
        self._kafka = require_kafka(runtime.alarms)

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
            stack.callback(self._executor.shutdown, wait=False, cancel_futures=True)
            stack.push_async_callback(probe.stop)
            stack.push_async_callback(consumer.stop)
            stack.enter_context(_rare_collections())
            await consumer.start()
            await probe.start()
            await self._loop(consumer, probe)

    def positions(self) -> dict[TopicPartition, int]:
        """Return the next offset to count of every partition this worker reads."""
        return {partition: assigned.position for partition, assigned in self._assigned.items()}

    def _consumer(self) -> Any:
        session_ms = self._kafka.session_timeout_ms
        tolerate_headers()
        consumer = AIOKafkaConsumer(
            group_id=f"{self._kafka.group}-ingest",
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            partition_assignment_strategy=(StickyPartitionAssignor,),
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=max(session_ms // 3, 500),
            rebalance_timeout_ms=max(session_ms, 10_000),
            **FETCH,
            **aiokafka_arguments(self._kafka),
        )
        consumer.subscribe(list(self._feeds), listener=self._listener)
        return consumer

    async def _loop(self, consumer: Any, probe: Any) -> None:
        loop = asyncio.get_running_loop()
        next_idle_check = 0.0
        seen = -1
        while True:
            generation = self._listener.number
            if generation != seen or set(self._assigned) != consumer.assignment():
                if not await self._take_over(consumer, probe, generation):
                    await asyncio.sleep(_POLL_MS / 1000)
                    continue
                seen = generation
            try:
                batches = await consumer.getmany(timeout_ms=_POLL_MS, max_records=MAX_RECORDS)
            except NoOffsetForPartitionError:
                seen = -1  # fetched before we could seek: seek, again if need be
                continue
            except OffsetOutOfRangeError as error:
                for partition in error.args[0]:
                    self._assigned.pop(partition, None)  # retention overtook us: start over
                continue
            _alive(consumer)
            self._runtime.step(Step.AFTER_POLL, None)
            if self._listener.number != generation:
                continue
            await _all(self._read(partition, records) for partition, records in batches.items())
            if loop.time() >= next_idle_check:
                next_idle_check = loop.time() + _IDLE_CHECK_S
                await self._check_idle(consumer, probe, generation)

    async def _take_over(self, consumer: Any, probe: Any, generation: int) -> bool:
        """Seek every assigned partition; False when the assignment moved on meanwhile.

        A partition that stays ours goes on where its reader stopped: its log slice was read without
        a gap. A new one starts at its oldest undecided window.
        """
        assignment = consumer.assignment()
        for partition in set(self._assigned) - assignment:
            del self._assigned[partition]
        for partition in assignment:
            kept = self._assigned.get(partition)
            if kept is None:
                kept = await self._open(partition, consumer, probe)
            if self._listener.number != generation or partition not in consumer.assignment():
                return False
            self._assigned[partition] = kept
            consumer.seek(partition, kept.position)
        return True

    async def _open(self, partition: TopicPartition, consumer: Any, probe: Any) -> _Assigned:
        """Make a reader and find where its oldest undecided window's slice begins."""
        feed = self._feeds[partition.topic]
        identity = self._identities[feed.name]
        runtime = self._runtime
        queries, budget = counted_on(feed, runtime.alarms)
        reader = PartitionReader(
            feed=feed,
            partition=partition.partition,
            partitions=identity.partitions,
            topic_id=identity.topic_id,
            queries=queries,
            budget=budget,
            hash_key=runtime.ledger.hash_key,
            on_drops=lambda drops: runtime.metrics.events_dropped(feed.name, drops),
            public=feed.name in public_feeds(runtime.alarms),
        )
        await self._in_thread(partial(check_unchanged, runtime.alarms, self._identities))
        cursors = await self._in_thread(
            lambda: {query.id: runtime.ledger.cursor(query.id) for query in queries}
        )
        live_from_ms = runtime.clock_ms() + feed.idle_margin_ms
        begin = (await consumer.beginning_offsets([partition]))[partition]
        end = (await probe.end_offsets([partition]))[partition]
        oldest_ms = min(slice_start_ms(query, cursors[query.id]) for query in queries)
        if feed.clock is Clock.PUNCTUATION:
            marked = await self._in_thread(
                lambda: runtime.ledger.counts.mark_before(feed.name, partition.partition, oldest_ms)
            )
            offset = begin if marked is None else max(marked, begin)
            start = ReadStart(whole=begin == 0 or (marked is not None and marked >= begin))
        else:
            # Only where to seek: what counts is decided record by record.
            found = (await probe.offsets_for_times({partition: max(oldest_ms, 0)}))[partition]
            offset = end if found is None else max(found.offset, begin)
            start = ReadStart(whole=begin == 0 or offset > begin, live_from_ms=live_from_ms)
        reader.begin(cursors, start)
        return _Assigned(feed, reader, offset)

    async def _read(self, partition: TopicPartition, records: Sequence[Any]) -> None:
        assigned = self._assigned.get(partition)
        if assigned is None or not records or records[0].offset < assigned.position:
            return  # fetched before our seek
        feed, reader = assigned.feed, assigned.reader
        self._runtime.metrics.events_read(feed.name, len(records))
        partials = await self._in_thread(lambda: _read_on(reader, _columns(records)))
        assigned.position = records[-1].offset + 1
        await self._store(partition, reader, partials)

    async def _check_idle(self, consumer: Any, probe: Any, generation: int) -> None:
        """Complete idle partitions: the clock is well past the cut, the log was read to its end.

        Only in the generation in which the loop sought its places: after a rebalance no partition
        has a position, and aiokafka would wait for one for ever, keeping the loop from seeking.
        """
        now_ms = self._runtime.clock_ms()
        waiting = [
            (partition, assigned)
            for partition, assigned in self._assigned.items()
            if assigned.feed.clock is Clock.APPEND_TIME and _due(assigned, now_ms)
        ]
        if not waiting:
            return
        ends = await probe.end_offsets([partition for partition, _ in waiting])
        for partition, assigned in waiting:
            if self._listener.number != generation:
                return
            try:
                position = await asyncio.wait_for(consumer.position(partition), _POSITION_S)
            except (TimeoutError, IllegalStateError):
                return  # an assignment is live before its callback has marked it
            self._runtime.metrics.lag(
                assigned.feed.name, partition.partition, max(ends[partition] - position, 0)
            )
            if position < ends[partition]:
                continue
            reader = assigned.reader
            reader.arrived_through(now_ms - assigned.feed.idle_margin_ms)
            partials = await self._in_thread(partial(_read_on, reader, None))
            await self._store(partition, reader, partials)

    async def _store(
        self, partition: TopicPartition, reader: PartitionReader, partials: Sequence[Partial]
    ) -> None:
        runtime = self._runtime
        for counted in partials:
            runtime.step(Step.BEFORE_PARTIAL, counted.key)
            status = await self._in_thread(partial(runtime.ledger.counts.put_partial, counted))
            runtime.step(Step.AFTER_PARTIAL, counted.key)
            runtime.metrics.partial_stored(counted.key.query, status.value)
            await self._ring(counted.key.query)
        if partials and (mark := reader.resume_mark()) is not None:
            time_ms, offset = mark
            await self._in_thread(
                lambda: runtime.ledger.counts.put_mark(
                    reader.feed.name, partition.partition, time_ms, offset
                )
            )

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)


def _alive(consumer: Any) -> None:
    """Raise what ended aiokafka's background fetching; it would go on returning nothing."""
    fetching = consumer._fetcher.error_future  # noqa: SLF001  # there is no public way to ask
    if fetching.done():
        fetching.result()
        raise KafkaError("the consumer stopped fetching")


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Keep the garbage collector off the records: they are many, short-lived and in no cycle."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_YOUNG_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


async def _all(tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run tasks side by side to their ends, then raise the first error."""
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if outcome is not None:
            raise outcome


def _read_on(reader: PartitionReader, records: Records | None) -> list[Partial]:
    if records is not None:
        reader.read(records)
    return list(reader.partials())


def _columns(records: Sequence[Any]) -> Records:
    """Return consumed records as columns; those of the oldest format have no timestamp."""
    return Records(
        np.array([record.offset for record in records], np.int64),
        np.array(
            [-1 if record.timestamp is None else record.timestamp for record in records], np.int64
        ),
        np.array([record.timestamp_type == LOG_APPEND_TIME for record in records], np.bool_),
        [record.value for record in records],
        [record.headers for record in records],
    )


def _due(assigned: _Assigned, now_ms: int) -> bool:
    cut_ms = assigned.reader.oldest_open_cut_ms()
    return cut_ms is not None and cut_ms + assigned.feed.idle_margin_ms <= now_ms
