"""``tocsin load``: write history to Kafka, with watermarks, exactly once.

One trusted writer sends the events of a file in event-time order and, on a fixed public grid, a
mark into every partition. A transaction ends right after marks, so a replay that was killed goes on
behind the last mark that was committed, and no event stands in the log twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import InitVar, dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from aiokafka import AIOKafkaProducer

from accountant.errors import ConfigError
from stream.events.codings import coding_of
from stream.events.files import EventFiles
from stream.events.marks import Mark, encode_mark, verified_mark
from stream.events.partitioning import partitions_of
from stream.events.texts import Texts
from stream.kafka.clients import aiokafka_arguments, reaching
from stream.kafka.guard import check_feeds
from stream.kafka.topics import feed_of
from stream.kafka.whole import opened
from stream.model.alarms import require_kafka
from stream.model.feeds import Clock
from stream.model.references import counted_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from aiokafka import TopicPartition

    from stream.model.alarms import Alarms
    from stream.model.feeds import Feed

__all__ = ["replay"]

_ROWS_PER_TRANSACTION = 5_000
_MARKS_ROWS = 10  # as many rows are marks worth, one in every partition
_TAIL_RECORDS = 64


def replay(
    alarms: Alarms,
    feed_name: str,
    paths: Sequence[Path],
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> int:
    """Write the events of files that lie in a feed's declared history to its topic.

    Args:
        alarms: the checked configuration.
        feed_name: a feed with ``clock: watermarks``, a ``history`` and a watermarks key.
        paths: parquet, CSV or JSONL.
        progress: told how many events of how many have been dealt with.

    Returns:
        How many events were written by this call; an earlier call's are not written again.

    Raises:
        ConfigError: the feed is not set up for replay.
        DataError: a file is not what the feed declares.
        DependencyError: Kafka cannot be reached.
        LogChangedError: a topic is missing or not as it must be.
    """
    feed = _replayable(alarms, feed_name)
    partitions = check_feeds(alarms)[feed_name].partitions
    source = EventFiles(feed, paths)
    writer = _Writer(alarms, feed, partitions, source, progress)
    with reaching(
        "the replay stopped, and what was committed stays",
        "run the same command again: it continues after the last watermark",
    ):
        return asyncio.run(writer.run())


@dataclass(eq=False)
class _Writer:
    """Writes one feed's history."""

    alarms: InitVar[Alarms]
    feed: Feed
    partitions: int
    source: EventFiles
    progress: Callable[[int, int], None]

    def __post_init__(self, alarms: Alarms) -> None:
        """Begin: nothing has come yet."""
        self._kafka = require_kafka(alarms)
        grace_ms = max((alarm.grace_ms for alarm in counted_on(self.feed, alarms)[0]), default=0)
        from_ms, until_ms = self.feed.history or (0, 0)
        every_ms = self.feed.watermark_interval_ms
        first_ms = from_ms // every_ms * every_ms
        self._grid_ms = range(first_ms, until_ms + grace_ms + 2 * every_ms, every_ms)
        self._until_ms = until_ms

    async def run(self) -> int:
        """Write what is missing and return how many events that were."""
        producer = AIOKafkaProducer(
            transactional_id=f"{self._kafka.group}-replay-{self.feed.name}",
            acks="all",
            linger_ms=20,
            **aiokafka_arguments(self._kafka),
        )
        try:
            # Ends what a killed replay left open; only then is its last committed mark the last.
            await producer.start()
            return await self._write(producer, await self._next_mark())
        finally:
            await producer.stop()

    async def _write(self, producer: Any, number: int) -> int:
        """Write marks from a number on, each behind its events, and return how many these were."""
        written = 0
        while number < len(self._grid_ms):
            sent = []
            rows = 0
            async with producer.transaction():
                while rows < _ROWS_PER_TRANSACTION and number < len(self._grid_ms):
                    part = self._rows_before(number)
                    messages = chain(self._events(part), self._marks(number))
                    sent += [await producer.send(self.feed.topic, **one) for one in messages]
                    written += part.num_rows
                    rows += part.num_rows + _MARKS_ROWS
                    number += 1
                await asyncio.gather(*sent)
            self.progress(written, len(self.source))
        return written

    def _rows_before(self, number: int) -> pa.RecordBatch:
        """Return the rows between a mark and the one before it; none lies before the first."""
        start_ms, end_ms = self._grid_ms[max(number - 1, 0)], self._grid_ms[number]
        return self.source.between(start_ms, min(end_ms, self._until_ms))

    def _events(self, rows: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Yield the messages that hold rows, as arguments of ``send``."""
        units = Texts.of(rows.column(self.feed.unit).cast(pa.string()))
        homes = partitions_of(units, self.feed.partitioner, self.partitions)
        coding = coding_of(self.feed.codec)
        for partition in range(self.partitions):
            part = rows.filter(pa.array(homes == partition))
            keys: Iterable[bytes | None] = repeat(None)
            if coding.single:
                keys = (str(unit).encode() for unit in part.column(self.feed.unit).to_pylist())
            for value, key in zip(coding.write(part), keys, strict=coding.single):
                yield {"value": value, "key": key, "partition": partition}

    def _marks(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield a mark for every partition, as arguments of ``send``."""
        for partition in range(self.partitions):
            mark = Mark(self.feed.name, self._grid_ms[number], partition, number)
            value, headers = encode_mark(mark, self.feed.watermark_key or b"")
            yield {"value": value, "partition": partition, "headers": headers}

    async def _next_mark(self) -> int:
        """Return the number of the first mark that is not committed to every partition.

        Partitions end with their last one, but for transactions that were aborted: they are read
        from further and further back.
        """
        last: dict[TopicPartition, int] = {}
        tail, all_read = _TAIL_RECORDS, False
        async with opened(self._kafka, self.feed.topic, self.partitions) as whole:
            while len(last) < len(whole.ends) and not all_read:
                for place, end in whole.ends.items():
                    whole.consumer.seek(place, max(whole.begins[place], end - tail))
                async for place, records in whole.records():
                    for record in records:
                        mark = verified_mark(
                            record.value,
                            record.headers,
                            key=self.feed.watermark_key or b"",
                            feed=self.feed.name,
                            partition=place.partition,
                        )
                        if mark is not None:
                            last[place] = mark.sequence
                all_read = all(end - tail <= whole.begins[at] for at, end in whole.ends.items())
                tail *= 8
        return 1 + min(last.values()) if len(last) == len(whole.ends) else 0


def _replayable(alarms: Alarms, feed_name: str) -> Feed:
    feed = feed_of(alarms, feed_name)
    if feed.clock is not Clock.WATERMARKS or feed.history is None or not feed.watermark_key:
        raise ConfigError(
            f"feed {feed_name!r} cannot be loaded into Kafka",
            file=alarms.file,
            hint="declare clock: watermarks, watermarks: {key} and history: {from, until}",
        )
    return feed
