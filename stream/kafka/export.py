"""``tocsin export``: what a feed's topic holds, as a file that replays and simulations read."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from stream.events.records import Record
from stream.kafka.columns import LOG_APPEND_TIME
from stream.kafka.topics import feed_of
from stream.kafka.whole import read_whole
from stream.model.alarms import require_kafka
from stream.replay.exports import ExportInfo, LoggedRecord, log_writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.kafka.whole import Whole
    from stream.model.alarms import Alarms

__all__ = ["export"]


def export(
    alarms: Alarms,
    feed_name: str,
    file: IO[bytes],
    progress: Callable[[int, int], None],
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
    feed = feed_of(alarms, feed_name)

    async def copy(whole: Whole) -> int:
        written, read = 0, dict(whole.begins)
        first, last = sum(whole.begins.values()), sum(whole.ends.values())
        begins = tuple(begin for _, begin in sorted(whole.begins.items()))
        with log_writer(file, ExportInfo(feed.topic, len(begins), begins)) as write:
            async for place, records in whole.records():
                write(_logged(place.partition, record) for record in records)
                written += len(records)
                # Positions also pass marks of transactions, which are no records.
                read[place] = await whole.consumer.position(place)
                progress(sum(read.values()) - first, max(last - first, 1))
        return written

    return read_whole(require_kafka(alarms), feed.topic, copy)


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
