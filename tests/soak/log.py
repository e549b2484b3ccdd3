"""What the broker holds at the end, read with a client and decoders of our own.

Nothing of Tocsin's is used: librdkafka reads, the standard library and pyarrow decode. What is read
is kept as files, so that a soak can be judged again without its servers.
"""

from __future__ import annotations

import json
import struct
import time
from collections import Counter
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.soak.sensors import CODECS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOG_APPEND_TIME = 2
"""How librdkafka says that the broker set a record's timestamp."""

_SILENT_S = 120.0
_PIECE = 50_000
_BATCH = struct.Struct(">qiibIh")  # base offset, length, epoch, magic, CRC, attributes
_BEFORE_LENGTH_ENDS = 12
_CODEC_BITS = 0b111
_SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("append_ms", pa.int64()),
        ("value", pa.binary()),
    ]
)


class LogRecord(NamedTuple):
    """One record of a topic, dated by the broker."""

    partition: int
    offset: int
    append_ms: int
    value: bytes | None


def read_topic(bootstrap: str, topic: str) -> Iterator[LogRecord]:
    """Yield every record of a topic up to its present end, by partition, then offset.

    Raises:
        KafkaException: the broker does not answer.
        ValueError: a record was not dated by the broker.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "soak-recount",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=_SILENT_S).topics[topic].partitions
        for number in sorted(partitions):
            place = TopicPartition(topic, number)
            begin, end = consumer.get_watermark_offsets(place, timeout=_SILENT_S)
            if begin != 0:
                raise ValueError(f"{topic}-{number} begins at {begin}: records are gone")
            yield from _read_partition(consumer, TopicPartition(topic, number, begin), end)
    finally:
        consumer.close()


def keep(path: Path, records: Iterator[LogRecord]) -> None:
    """Write records to a Parquet file."""
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        while piece := list(islice(records, _PIECE)):
            columns = [list(column) for column in zip(*piece, strict=True)]
            writer.write_table(pa.table(columns, schema=_SCHEMA))


def read_kept(path: Path) -> Iterator[LogRecord]:
    """Yield the records of such a file, in its order."""
    with pq.ParquetFile(path) as opened:
        for batch in opened.iter_batches():
            columns = (column.to_pylist() for column in batch.columns)
            yield from map(LogRecord._make, zip(*columns, strict=True))


def batches_by_codec(data: Path, topic: str) -> Counter[str]:
    """Count the batches in a broker's segment files by the codec of their attributes.

    Args:
        data: the broker's ``log.dirs``.
        topic: whose.
    """
    found = Counter()
    for segment in data.glob(f"{topic}-*/*.log"):
        content = segment.read_bytes()
        at = 0
        while at + _BATCH.size <= len(content):
            _, length, _, magic, _, attributes = _BATCH.unpack_from(content, at)
            if magic != 2 or length <= 0:
                break  # preallocated, or half written when the broker was killed
            found[CODECS[attributes & _CODEC_BITS]] += 1
            at += _BEFORE_LENGTH_ENDS + length
    return found


def instant_ms(text: str) -> int:
    """Return an instant of a published record in milliseconds since the epoch."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def decisions_and_alarms(bootstrap: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what left, each record with the broker's ``append_ms`` beside its own fields."""
    decisions, alarms = (
        [
            {**json.loads(record.value or b"null"), "append_ms": record.append_ms}
            for record in read_topic(bootstrap, topic)
        ]
        for topic in ("soak.decisions", "soak.alarms")
    )
    return decisions, alarms


def _read_partition(consumer, place, end):
    consumer.assign([place])
    following = place.offset
    silent_s = time.monotonic() + _SILENT_S
    while following < end:
        # It waits for as many as are asked for, or for as long as it may.
        messages = consumer.consume(min(_PIECE, end - following), timeout=1.0)
        if time.monotonic() > silent_s:
            raise TimeoutError(f"{place.topic}-{place.partition} is silent before its end")
        for message in messages:
            if message.error() is not None:
                raise KafkaException(message.error())
            kind, append_ms = message.timestamp()
            if kind != LOG_APPEND_TIME:
                raise ValueError(f"{place.topic}-{place.partition} is not dated by the broker")
            following = message.offset() + 1
            silent_s = time.monotonic() + _SILENT_S
            yield LogRecord(place.partition, message.offset(), append_ms, message.value())
