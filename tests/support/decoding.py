"""Feeds, records and messages for the tests of decoding, and the property they share."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accountant.layouts import Layouts
from stream.counting.partition import PartitionReader
from stream.events.decoder import Batch, Decoder, Drop, Record
from stream.events.hashing import KeyedHash
from stream.model.feeds import Codec, Feed, Field, FieldType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

HASH_KEY = bytes(range(32))
NOON_MS = 1_714_564_800_000
KINDS = {
    "person": FieldType.STRING,
    "ts": FieldType.TIMESTAMP,
    "room": FieldType.STRING,
    "n": FieldType.INTEGER,
    "x": FieldType.FLOAT,
    "b": FieldType.BOOLEAN,
}
REASONS = {drop.value for drop in Drop}


def a_feed(codec: Codec, **changes: Any) -> Feed:
    """A feed with a field of every type."""
    options: dict[str, Any] = {
        "name": "badges",
        "topic": "badges",
        "codec": codec,
        "time": "ts",
        "unit": "person",
        "id": None,
        "fields": {name: Field(name, kind) for name, kind in KINDS.items()},
    }
    return Feed(**{**options, **changes})


def a_reader(
    feed: Feed, alarms: Sequence[Alarm], budget: Budget, *, whole: bool = True, **more: Any
) -> PartitionReader:
    """A reader of a topic's only partition, that begins each alarm at its first window."""
    first = more.pop("first", 0)
    reader = PartitionReader(
        feed=feed,
        partition=0,
        layouts=Layouts(1),
        topic_id=f"log of {feed.name}",
        alarms=alarms,
        budget=budget,
        hash_key=HASH_KEY,
        **more,
    )
    reader.begin({query.id: first for query in alarms})
    if not whole:
        reader.whole_from_ms = math.inf
    return reader


class AtOnce(Decoder):
    """Decodes records that are known to be small."""

    def decode(self, records: Sequence[Record]) -> tuple[Batch, Mapping[str, int]]:
        """Return all of their rows as one batch, and what was dropped."""
        (decoded,) = self.batches(records)
        return decoded


def a_decoder(codec: Codec, *, partition: int = 0, partitions: int = 1, **changes: Any) -> AtOnce:
    """A decoder of that feed."""
    feed = a_feed(codec, **changes)
    return AtOnce(feed, partition=partition, partitions=partitions, hash_key=HASH_KEY)


def at(offset: int, value: bytes | None, *, log_append: bool = True) -> Record:
    """A record whose append time follows from its offset."""
    return Record(offset, NOON_MS + 7 * offset, log_append=log_append, value=value)


def in_a_row(*values: bytes | None) -> list[Record]:
    """Records of these values."""
    return [at(offset, value) for offset, value in enumerate(values)]


def ipc(columns: Mapping[str, pa.Array], **options: Any) -> bytes:
    """One message: an IPC stream of one batch."""
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, **options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def laid_out(batch: Batch) -> list[tuple[Any, ...]]:
    """The rows of a batch, everything of a row beside it."""
    assert len(batch.rows) == len(batch) == len(batch.unit) == len(batch.offset)
    units = batch.unit.hashes()
    identities = units if batch.event_id is None else batch.event_id
    return list(
        zip(
            (tuple(row.values()) for row in batch.rows.to_pylist()),
            batch.time_ms.tolist(),
            batch.append_ms.tolist(),
            batch.offset.tolist(),
            (half.tobytes() for half in units),
            (half.tobytes() for half in identities),
            strict=True,
        )
    )


def assert_independent(decoder: AtOnce, records: Sequence[Record]) -> None:
    """Decoding everything at once is decoding every record by itself."""
    batch, drops = decoder.decode(records)
    rows: list[tuple[Any, ...]] = []
    counted: Counter[str] = Counter()
    for record in records:
        alone, dropped = decoder.decode([record])
        rows += laid_out(alone)
        counted.update(dropped)
    assert laid_out(batch) == rows
    assert counted == drops
    assert set(drops) <= REASONS


def hashings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by how many texts are hashed, with each call from now on."""
    sizes: list[int] = []
    call = KeyedHash.__call__

    def counted(self, texts):
        sizes.append(len(texts))
        return call(self, texts)

    monkeypatch.setattr(KeyedHash, "__call__", counted)
    return sizes
