"""Events per second from Kafka to counted windows, beside a consumer that only counts records.

The worker's own ingest service runs against a real broker and a real ledger, from its first fetch
until it has counted the last record of the topic. All events lie in one open window, so that the
ledger plays no part. The raw consumer is aiokafka's ``getmany`` in a loop, with the same fetch
settings, on the same topic, in turns with ours.

``python -m benchmarks kafka_ingest`` measures this tree, by the clock on the wall.
``python -m benchmarks.aims ingest`` measures an earlier commit beside it, and aiokafka and
librdkafka alone, all on the same topics with the same fetches, each in a process of its own, by the
processor's time: that of all its threads, the kernel's work for them included. A process is a slice
of a second or two. Readers take turns, every other round backwards, and a ratio is the median of
those of one round each: what the machine does meanwhile slows neighbours alike. Where
``benchmarks/peers.py`` has its environment, other stream processors take their turn with JSON.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka
import numpy as np
import pyarrow as pa
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.memory_records import MemoryRecords

from benchmarks import peers
from benchmarks.checkouts import ROOT, checkout
from benchmarks.system import QUERY, System
from deploy.kafka.broker import Broker
from stream.build import wall_clock_ms
from stream.events.partitioning import partitions_of
from stream.events.texts import Texts
from stream.kafka.clients import FETCH
from stream.kafka.ingest import Ingest
from stream.logs.lines import Log
from stream.model.feeds import Partitioner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

PEOPLE = 100_000
ROOMS_OF_ONE = 3
EVENTS = 1_000_000
MESSAGES = 1_200
MESSAGE_ROWS = 10_000
DIFFERENT_MESSAGES = 20
ROUNDS = 3
LOOK_AGAIN_S = 0.001
MOST_RECORDS = 20_000
CODECS = ("json", "arrow")
# An earlier commit has the same functions, but they look at the clock on the wall, and so often
# whether all is read that on a busy machine the looking takes a good part of the processor's time.
PROGRAM = """\
import asyncio, os, sys, time
from pathlib import Path
from types import SimpleNamespace
from benchmarks import kafka_ingest

how, bootstrap, directory, codec = sys.argv[1:]
kernel_s = []

def processor_s():
    kernel_s.append(os.times().system)
    return time.process_time()

kafka_ingest.time = SimpleNamespace(perf_counter=processor_s)
kafka_ingest.LOOK_AGAIN_S = 0.05
broker = SimpleNamespace(bootstrap=bootstrap)
system = kafka_ingest.System(broker, Path(directory), f"ingest-{codec}", codec=codec)
print(asyncio.run(getattr(kafka_ingest, how)(system)), kernel_s[-1] - kernel_s[0])
"""


class Slice(NamedTuple):
    """What one process measured.

    Args:
        events_per_s: by the processor's time.
        kernel: share of that time that the kernel took for it: fetches received, pages cleared.
    """

    events_per_s: float
    kernel: float


def run() -> dict[str, float]:
    """Return events/s by codec, the raw consumer's, and the ratio of ours to it.

    Rates are medians over the rounds; so are the ratios, each of two neighbouring runs.
    """
    results: dict[str, float] = {}
    with Broker(fast_start=False) as broker, tempfile.TemporaryDirectory() as directory:
        for codec in CODECS:
            system = System(broker, Path(directory) / codec, f"ingest-{codec}", codec=codec)
            events = asyncio.run(_produce(system))
            raw, ours = np.array(
                [
                    (asyncio.run(_raw_seconds(system)), asyncio.run(_our_seconds(system)))
                    for _ in range(ROUNDS)
                ]
            ).T
            results[f"{codec}_events_per_s"] = events / float(np.median(ours))
            results[f"{codec}_raw_events_per_s"] = events / float(np.median(raw))
            results[f"{codec}_ratio_to_raw"] = float(np.median(raw / ours))
    return results


def beside(commit: str, *, rounds: int = ROUNDS) -> dict[str, dict[str, list[Slice]]]:
    """Return by codec and reader what was measured in each round.

    Args:
        commit: the earlier one.
        rounds: how often each is measured.
    """
    taken: dict[str, dict[str, list[Slice]]] = {}
    with (
        checkout(commit) as old,
        Broker(fast_start=False) as broker,
        tempfile.TemporaryDirectory() as folder,
    ):
        readers = {
            "now": (ROOT, "_our_seconds"),
            commit: (old, "_our_seconds"),
            "aiokafka alone": (ROOT, "_raw_seconds"),
            "librdkafka alone": (ROOT, "_librdkafka_seconds"),
        }
        for codec in CODECS:
            system = System(broker, Path(folder) / codec, f"ingest-{codec}", codec=codec)
            events = asyncio.run(_produce(system))
            slices = taken[codec] = {name: [] for name in readers}
            for turn in range(rounds):
                for name in list(readers)[:: -1 if turn % 2 else 1]:
                    tree, how = readers[name]
                    directory = Path(folder) / f"{codec}-{turn}-{name}"
                    given = how, broker.bootstrap, str(directory), codec
                    seconds, kernel_s = _seconds([sys.executable, "-c", PROGRAM, *given], tree)
                    slices[name].append(Slice(events / seconds, kernel_s / seconds))
                    print(codec, name, slices[name][-1], file=sys.stderr)
                for name in peers.NAMES if codec == "json" and peers.PYTHON.exists() else ():
                    given = name, broker.bootstrap, system.topic, str(events)
                    seconds, kernel_s = _seconds([str(peers.PYTHON), peers.__file__, *given], ROOT)
                    slices.setdefault(name, []).append(Slice(events / seconds, kernel_s / seconds))
                    print(codec, name, slices[name][-1], file=sys.stderr)
    return taken


def _seconds(command: list[str], tree: Path) -> tuple[float, float]:
    """Return the processor's time of one reader in a process of its own, and the kernel's of it."""
    done = subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    seconds, kernel_s = map(float, done.stdout.split())
    return seconds, kernel_s


async def _raw_seconds(system: System) -> float:
    fetcher.MemoryRecords = MemoryRecords  # as it comes: our ingest replaces this class
    consumer = AIOKafkaConsumer(
        group_id=None,
        bootstrap_servers=system.broker.bootstrap,
        enable_auto_commit=False,
        isolation_level="read_committed",
        **FETCH,
    )
    await consumer.start()
    try:
        places = [TopicPartition(system.topic, number) for number in range(system.partitions)]
        left = sum((await consumer.end_offsets(places)).values())
        consumer.assign(places)
        began_s = time.perf_counter()
        for place in places:
            consumer.seek(place, 0)
        while left:
            batches = await consumer.getmany(timeout_ms=200, max_records=MOST_RECORDS)
            left -= sum(len(records) for records in batches.values())
        return time.perf_counter() - began_s
    finally:
        await consumer.stop()


async def _librdkafka_seconds(system: System) -> float:
    """Return what librdkafka takes, its threads included, to hand out every record."""
    ends = await _ends(system)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": system.broker.bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "max.partition.fetch.bytes": FETCH["max_partition_fetch_bytes"],
            "check.crcs": True,
        }
    )
    left = sum(ends.values())
    began_s = time.perf_counter()
    consumer.assign(
        [confluent_kafka.TopicPartition(place.topic, place.partition, 0) for place in ends]
    )
    while left:
        left -= len(consumer.consume(MOST_RECORDS, timeout=0.2))
    took_s = time.perf_counter() - began_s
    consumer.close()
    return took_s


async def _our_seconds(system: System) -> float:
    calendar = system.alarms().by_name[QUERY].calendar
    now_ms = np.array([wall_clock_ms()])
    window = int(calendar.containing(now_ms)[0][0]) - 1  # midnight may pass while we measure
    runtime, _ = system.runtime(calendar.bounds(window)[0])
    ends = await _ends(system)
    ingest = Ingest(runtime, ring=_no_bell, log=Log(sys.stderr))
    task = asyncio.create_task(ingest.run())
    try:
        await _until(lambda: set(ingest.assigned) == set(ends), task)
        began_s = time.perf_counter()
        await _until(
            lambda: {place: each.position for place, each in ingest.assigned.items()} == ends, task
        )
        return time.perf_counter() - began_s
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        runtime.ledger.close()


async def _until(reached: Callable[[], bool], task: asyncio.Task[None]) -> None:
    while not reached():
        if task.done():
            task.result()  # raises what ended it
        await asyncio.sleep(LOOK_AGAIN_S)


async def _ends(system: System) -> dict[TopicPartition, int]:
    async with AIOKafkaConsumer(bootstrap_servers=system.broker.bootstrap) as consumer:
        places = [TopicPartition(system.topic, number) for number in range(system.partitions)]
        return dict(await consumer.end_offsets(places))


async def _no_bell(_query: str) -> None:
    """Ring nobody: nothing is decided here."""


async def _produce(system: System) -> int:
    """Fill the topic and return the number of events."""
    everyone = [f"person-{number:06d}" for number in range(PEOPLE)]
    strings = Texts.of(pa.array(everyone))
    home = partitions_of(strings, Partitioner.MURMUR2, system.partitions)
    generator = np.random.default_rng(20240501)
    async with AIOKafkaProducer(
        bootstrap_servers=system.broker.bootstrap, acks=1, max_request_size=1 << 20
    ) as producer:
        for partition in range(system.partitions):
            people = np.flatnonzero(home == partition)
            if system.codec == "json":
                drawn = generator.choice(people, EVENTS // system.partitions)
                await _send_json(producer, system, partition, drawn, generator)
            else:
                messages = [
                    _arrow(generator.choice(people, MESSAGE_ROWS), generator)
                    for _ in range(DIFFERENT_MESSAGES)
                ]
                for number in range(MESSAGES // system.partitions):
                    value = messages[number % DIFFERENT_MESSAGES]
                    await producer.send(system.topic, value, partition=partition)
        await producer.flush()
    return EVENTS if system.codec == "json" else MESSAGES * MESSAGE_ROWS


async def _send_json(
    producer: AIOKafkaProducer,
    system: System,
    partition: int,
    people: NDArray[np.int64],
    generator: np.random.Generator,
) -> None:
    batch = producer.create_batch()
    for key, value in _json(people, generator):
        if batch.append(key=key, value=value, timestamp=None) is None:
            await producer.send_batch(batch, system.topic, partition=partition)
            batch = producer.create_batch()
            batch.append(key=key, value=value, timestamp=None)
    await producer.send_batch(batch, system.topic, partition=partition)


def _json(
    people: NDArray[np.int64], generator: np.random.Generator
) -> Iterator[tuple[bytes, bytes]]:
    now_ms = wall_clock_ms()
    for person, room in zip(people.tolist(), _rooms(people, generator).tolist(), strict=True):
        name = f"person-{person:06d}"
        value = f'{{"person": "{name}", "room": "room-{room}", "ts": {now_ms}}}'
        yield name.encode(), value.encode()


def _arrow(people: NDArray[np.int64], generator: np.random.Generator) -> bytes:
    now_ms = wall_clock_ms()
    batch = pa.record_batch(
        {
            "person": [f"person-{person:06d}" for person in people.tolist()],
            "room": [f"room-{room}" for room in _rooms(people, generator).tolist()],
            "ts": pa.array(np.full(len(people), now_ms), pa.timestamp("ms", tz="UTC")),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def _rooms(people: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return where people are: each has a few rooms of the forty."""
    return (people * 7 + generator.integers(0, ROOMS_OF_ONE, len(people))) % 40


def to_ours(slices: Mapping[str, Sequence[Slice]], reader: str) -> list[float]:
    """Return how many times as fast as a reader ours was in each round."""
    pairs = zip(slices["now"], slices[reader], strict=True)
    return [ours.events_per_s / other.events_per_s for ours, other in pairs]


def spread(ratios: Sequence[float]) -> str:
    """Return the median of some ratios, and between which they lie."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def table(found: Mapping[str, Mapping[str, Sequence[Slice]]]) -> Iterator[str]:
    """Yield what ``beside`` found as a table of Markdown, a line at a time: medians of rounds."""
    heads = [f"{name} | of it in the kernel | ours to it" for name in ("JSON", "Arrow")]
    yield f"""\
| events per second of processor time | {" | ".join(heads)} |
|---|{"--:|" * 6}"""
    for reader in found["json"]:
        cells = []
        for codec in CODECS:
            if reader not in found[codec]:
                cells.append(" | | ")
                continue
            rates, kernel = zip(*found[codec][reader], strict=True)
            ratio = spread(to_ours(found[codec], reader))
            cells.append(f"{statistics.median(rates):,.0f} | {statistics.median(kernel):.0%}")
            cells.append("" if reader == "now" else ratio)
        yield f"| {reader} | {' | '.join(cells)} |"
