"""Where the reading of a partition begins: at the slice of its oldest undecided window."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from aiokafka.errors import KafkaError

from accountant.records import Stand
from stream.counting.partition import PartitionReader, ReadStart, slice_start_ms
from stream.model.feeds import Clock
from stream.model.references import counted_on, public_feeds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiokafka import TopicPartition

    from accountant.records import LogIdentity
    from stream.build import Runtime
    from stream.model.feeds import Feed
    from stream.model.queries import Query

__all__ = ["Assigned", "open_partition"]

T = TypeVar("T")

_SEARCH_S = 10.0


class InThread(Protocol):
    """Runs a function beside the event loop."""

    def __call__(self, call: Callable[[], T], /) -> Awaitable[T]:
        """Return what the function returns."""
        ...


@dataclass(slots=True)
class Assigned:
    """A partition this worker reads, and where its next record is expected.

    Args:
        feed: whose partition it is.
        reader: counts it.
        position: offset of the next record.
    """

    feed: Feed
    reader: PartitionReader
    position: int


async def open_partition(
    runtime: Runtime,
    feed: Feed,
    identity: LogIdentity,
    partition: TopicPartition,
    *,
    log: Any,
    in_thread: InThread,
) -> Assigned:
    """Make a reader and find its first record.

    Args:
        runtime: configuration, ledger, metrics, clock.
        feed: whose partition it is.
        identity: the feed's registered log.
        partition: of its topic.
        log: a consumer that sees everything, open transactions too.
        in_thread: runs a function beside the event loop.

    Raises:
        KafkaError: the partition has no leader that answers.
        DependencyError: the ledger cannot be reached.
    """
    queries, budget = counted_on(feed, runtime.alarms)
    layouts = (await in_thread(runtime.ledger.growths.layouts))[feed.name]
    reader = PartitionReader(
        feed=feed,
        partition=partition.partition,
        partitions=layouts.first,
        growths=layouts.growths,
        topic_id=identity.topic_id,
        queries=queries,
        budget=budget,
        hash_key=runtime.ledger.hash_key,
        on_read=partial(runtime.metrics.events_read, feed.name),
        on_drops=partial(runtime.metrics.events_dropped, feed.name),
        on_taken=partial(runtime.metrics.rows_taken, feed.name),
        public=feed.name in public_feeds(runtime.alarms),
    )
    cursors = await in_thread(
        lambda: runtime.ledger.progress.cursors({query.id for query in queries})
    )
    live_from_ms = runtime.clock_ms() + feed.idle_margin_ms
    begin = (await log.beginning_offsets([partition]))[partition]
    end = (await log.end_offsets([partition]))[partition]
    oldest_ms = min(_slice_start_ms(query, cursors[query.id]) for query in queries)
    if feed.clock is Clock.PUNCTUATION:
        marked = await in_thread(
            lambda: runtime.ledger.counts.mark_before(feed.name, partition.partition, oldest_ms)
        )
        offset = begin if marked is None else max(marked, begin)
        start = ReadStart(whole=begin == 0 or (marked is not None and marked >= begin))
    else:
        offset = await _appended_since(log, partition, oldest_ms, begin, end)
        start = ReadStart(whole=begin == 0 or offset > begin, live_from_ms=live_from_ms)
    reader.begin(cursors, start)
    opened = {feed.name: {partition.partition: (offset, Stand.OPENED)}}
    await in_thread(lambda: runtime.ledger.counts.put_places(opened))
    return Assigned(feed, reader, offset)


async def _appended_since(
    log: Any, partition: TopicPartition, time_ms: int, begin: int, end: int
) -> int:
    """Return an offset before which nothing was appended at or after an instant.

    Only where to seek: what counts is decided record by record. A broker finds no instant in a log
    with a batch that it cannot read; it is then read from its beginning up to that batch.
    """
    try:
        async with asyncio.timeout(_SEARCH_S):
            found = (await log.offsets_for_times({partition: max(time_ms, 0)}))[partition]
    except (KafkaError, TimeoutError):
        return begin
    return end if found is None else max(found.offset, begin)


def _slice_start_ms(query: Query, cursor_ms: int) -> int:
    """Return where the slice of the oldest undecided window begins: at its first step, if any."""
    calendar = query.calendar
    index = calendar.next_active(calendar.first_starting_at(cursor_ms))
    return slice_start_ms(query, calendar.counted(index)[0])
