"""``tocsin dump``: what a feed's topic holds, as a file that replays and simulations read."""

from __future__ import annotations

import asyncio
from typing import IO, TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from accountant.errors import ConfigError, DependencyError, LogChangedError
from stream.events.records import Record
from stream.kafka.clients import FETCH, aiokafka_arguments, stop_consumer
from stream.kafka.columns import LOG_APPEND_TIME
from stream.kafka.headers import tolerate_headers
from stream.kafka.topics import admin_client, describe
from stream.model.alarms import require_kafka
from stream.replay.dumps import DumpInfo, LoggedRecord, LogWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.model.alarms import Alarms, KafkaSettings

__all__ = ["dump"]

_POLL_MS = 500
_MOST_RECORDS = 20_000  # at once: a fraction of a second's work
_SILENT_S = 60.0  # a client goes on asking a broker that is gone


def dump(
    alarms: Alarms,
    feed_name: str,
    file: IO[bytes],
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> int:
    """Write every committed record of a feed's topic to a file, up to the ends that it has now.

    Args:
        alarms: the checked configuration.
        feed_name: whose topic it is.
        file: open for writing.
        progress: told how many offsets of how many have been passed.

    Returns:
        How many records were written.

    Raises:
        ConfigError: there is no such feed, or the configuration has no ``kafka`` section.
        DependencyError: Kafka cannot be reached, or deleted records before they were read.
        LogChangedError: there is no such topic.
    """
    feed = alarms.feeds.get(feed_name)
    if feed is None:
        raise ConfigError(
            f"there is no feed {feed_name!r}",
            file=alarms.file,
            hint=f"one of {', '.join(alarms.feeds)}",
        )
    kafka = require_kafka(alarms)
    with admin_client(kafka) as client:
        facts = describe(client, [feed.topic]).get(feed.topic)
    if facts is None:
        raise LogChangedError(
            f"topic {feed.topic!r} does not exist",
            hint="create it with `tocsin topics FILE --apply`",
        )
    info = DumpInfo(feed.topic, facts.partitions)
    try:
        with LogWriter(file, info) as writer:
            return asyncio.run(_copy(kafka, info, writer, progress))
    except (KafkaError, ConnectionError, TimeoutError) as error:
        raise DependencyError(
            f"topic {feed.topic!r} cannot be read to its end ({type(error).__name__})",
            hint="check that Kafka is up, that this user may read the topic, and its retention",
        ) from error


async def _copy(
    kafka: KafkaSettings,
    info: DumpInfo,
    writer: LogWriter,
    progress: Callable[[int, int], None],
) -> int:
    tolerate_headers()
    consumer = AIOKafkaConsumer(
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",  # what retention takes meanwhile is missed, never skipped
        isolation_level="read_committed",
        **FETCH,
        **aiokafka_arguments(kafka),
    )
    places = [TopicPartition(info.topic, number) for number in range(info.partitions)]
    written = 0
    async with asyncio.timeout(_SILENT_S) as silent:
        try:
            await consumer.start()
            consumer.assign(places)
            begin = await consumer.beginning_offsets(places)
            ends = await consumer.end_offsets(places)
            for place in places:
                consumer.seek(place, begin[place])
            first, last = sum(begin.values()), sum(ends.values())
            read = dict(begin)
            while any(read[place] < ends[place] for place in places):
                batches = await consumer.getmany(timeout_ms=_POLL_MS, max_records=_MOST_RECORDS)
                for place, records in batches.items():
                    silent.reschedule(asyncio.get_running_loop().time() + _SILENT_S)
                    writer.write(_logged(place.partition, record) for record in records)
                    written += len(records)
                # Positions also pass marks of transactions, which are no records.
                read = {place: await consumer.position(place) for place in places}
                progress(sum(read.values()) - first, max(last - first, 1))
        finally:
            await stop_consumer(consumer)
    return written


def _logged(partition: int, record: Any) -> LoggedRecord:
    """Return a consumed record; those of the oldest format have no timestamp."""
    return LoggedRecord(
        partition,
        Record(
            record.offset,
            -1 if record.timestamp is None else record.timestamp,
            record.timestamp_type == LOG_APPEND_TIME,
            record.value,
            record.headers,
        ),
        record.key,
    )
