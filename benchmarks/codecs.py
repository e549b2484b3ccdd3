"""How fast bytes become events: JSON messages and Arrow batches already in memory, one thread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from stream.events.decoder import Decoder, Record
from stream.events.hashing import ByteStrings
from stream.events.partitioning import partitions_of
from stream.model.feeds import Codec, Feed, Field, FieldType, Partitioner

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = 100_000
PARTITIONS = 4
BATCH_ROWS = 10_000
START_MS = 1_700_000_000_000
KEY = bytes(range(32))


def run() -> dict[str, float]:
    """Return events per second by codec."""
    generator = np.random.default_rng(20240501)
    everyone = [f"person-{number:06d}" for number in range(PEOPLE)]
    strings = ByteStrings.from_arrow(pa.array(everyone))
    home = partitions_of(strings, Partitioner.MURMUR2, PARTITIONS)
    people = np.flatnonzero(home == 0)

    def drawn(count: int) -> list[str]:
        return [everyone[number] for number in generator.choice(people, count).tolist()]

    return {
        "json_epoch_ms": _rate(Codec.JSON, _json(drawn(100_000), iso=False), 1),
        "json_iso_8601": _rate(Codec.JSON, _json(drawn(100_000), iso=True), 1),
        "arrow_10k_rows": _rate(
            Codec.ARROW, [_arrow(drawn(BATCH_ROWS), at) for at in range(20)], BATCH_ROWS
        ),
    }


def _json(people: list[str], *, iso: bool) -> list[Record]:
    records = []
    for at, person in enumerate(people):
        moment = f"2024-05-01T10:00:00.{at % 1000:03d}Z" if iso else START_MS + at
        value = {"person": person, "room": f"room-{at % 40}", "ts": moment}
        records.append(Record(at, START_MS + at, log_append=True, value=msgspec.json.encode(value)))
    return records


def _arrow(people: list[str], offset: int) -> Record:
    rooms = [f"room-{at % 40}" for at in range(len(people))]
    moments = pa.array(range(START_MS, START_MS + len(people)), pa.timestamp("ms", tz="UTC"))
    batch = pa.record_batch({"person": people, "room": rooms, "ts": moments})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return Record(offset, START_MS, log_append=True, value=sink.getvalue().to_pybytes())


def _rate(codec: Codec, records: list[Record], rows: int) -> float:
    kinds = {"person": FieldType.STRING, "room": FieldType.STRING, "ts": FieldType.TIMESTAMP}
    feed = Feed(
        name="badges",
        topic="badges",
        codec=codec,
        time="ts",
        unit="person",
        id=None,
        fields={name: Field(name, kind) for name, kind in kinds.items()},
    )
    decoder = Decoder(feed, partition=0, partitions=PARTITIONS, hash_key=KEY)
    step = max(1, BATCH_ROWS // rows)

    def once() -> None:
        for first in range(0, len(records), step):
            decoder.decode(records[first : first + step])

    return len(records) * rows / _best_seconds(once)


def _best_seconds(work: Callable[[], None], repeats: int = 5) -> float:
    best = float("inf")
    for _ in range(repeats):
        before = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - before)
    return best


if __name__ == "__main__":
    for name, per_second in run().items():
        print(f"{name:>16}  {per_second:>12,.0f} events/s")
