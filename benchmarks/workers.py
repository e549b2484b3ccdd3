"""What a second worker on the same machine brings.

Workers read two partitions of JSON events from a real broker on the same machine, with a ledger in
PostgreSQL. They are stopped while the topic is filled, and timed by the clock on the wall from when
they go on until their pages say that every event was read. All events lie in one open window.

``python -m benchmarks.aims workers``; the machine is to have nothing else to do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import numpy as np
from kafka import KafkaProducer

from benchmarks.checkouts import processor_s
from benchmarks.kafka_ingest import _produce
from benchmarks.system import QUERY, System
from deploy.kafka.broker import Broker
from deploy.kafka.runtime import HOST, free_port
from stream.build import assemble, open_ledger, wall_clock_ms
from stream.kafka.guard import check_feeds
from tests.support.postgres import Postgres
from tests.support.processes import Command
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILLS = 8  # of a million events each: a third of a second goes by until all read again
PATIENCE_S = 300.0
TAKERS = ("workers", "broker", "database")
"""Who takes processor time while events are read; this process, whose children they are, asks
seldom."""
_ANY_PORT = f'custodian: "{HOST}:0"'
READ = 'tocsin_events_total{feed="badges"}'


@dataclass(frozen=True, slots=True)
class Reading:
    """How some workers read the topic.

    Args:
        events_per_s: by the clock on the wall.
        processor_ns: an event, by who took it: of ``TAKERS``.
    """

    events_per_s: float
    processor_ns: Mapping[str, float]


def beside(*, rounds: int) -> dict[int, list[Reading]]:
    """Return by the number of workers what was measured in each round.

    Args:
        rounds: how often each is measured, in turns.
    """
    taken: dict[int, list[Reading]] = {1: [], 2: []}
    with Broker() as broker, Postgres() as postgres, tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            for count, found in taken.items():
                name = f"workers-{turn}-{count}"
                ledger = postgres.new_database()
                system = System(broker, Path(folder) / name, name, ledger=ledger)
                found.append(_reading(system, postgres, count))
                print(f"{count} workers: {found[-1]}", file=sys.stderr)
    return taken


def table(taken: Mapping[int, Sequence[Reading]]) -> Iterator[str]:
    """Yield what ``beside`` found as tables of Markdown, a line at a time: medians of rounds."""
    one, two = (_median(found) for found in taken.values())
    yield """\
| events per second by the clock | one worker | two workers | ratio |
|---|--:|--:|--:|"""
    rates = f"{one.events_per_s:,.0f} | {two.events_per_s:,.0f} | {ratio(taken):.2f}"
    yield f"""\
| JSON, two partitions, ledger in PostgreSQL | {rates} |

| processor time in ns an event | {" | ".join(TAKERS)} | all |
|---|{"--:|" * (len(TAKERS) + 1)}"""
    for name, found in (("one worker", one), ("two workers", two)):
        cells = " | ".join(f"{found.processor_ns[taker]:,.0f}" for taker in TAKERS)
        yield f"| {name} | {cells} | {sum(found.processor_ns.values()):,.0f} |"
    yield ""
    cores = os.cpu_count() or 1
    busy = sum(one.processor_ns.values()) * one.events_per_s / 1e9
    work = one.processor_ns["workers"] / two.processor_ns["workers"]
    yield (
        "The ratio is the median of the rounds'. "
        f"One worker and what serves it keep {busy:.2f} of {cores} cores busy: two that do the "
        f"same work can be {cores / busy:.2f} times as fast here. By what they take of the "
        f"processor themselves they would be {2 * work:.2f} times as fast with cores to spare."
    )


def ratio(taken: Mapping[int, Sequence[Reading]]) -> float:
    """Return two workers' rate to one's: the median of rounds, as neighbours are slowed alike."""
    one, two = taken.values()
    rounds = zip(one, two, strict=True)
    return statistics.median(after.events_per_s / before.events_per_s for before, after in rounds)


def _median(found: Sequence[Reading]) -> Reading:
    return Reading(
        statistics.median(one.events_per_s for one in found),
        {taker: statistics.median(one.processor_ns[taker] for one in found) for taker in TAKERS},
    )


def _reading(system: System, postgres: Postgres, count: int) -> Reading:
    """Let so many workers read a topic."""
    text = system.file.read_text(encoding="utf-8")
    text = text.replace("kafka:\n", "kafka:\n  session_timeout: 300s\n")
    system.file.write_text(text, encoding="utf-8")
    _register(system)
    pages = [free_port() for _ in range(count)]
    with _workers(system, pages) as pids:
        with _producer(system) as producer:  # one event a partition, so that all are seen to read
            for partition in range(system.partitions):
                producer.send(system.topic, b"{}", partition=partition)
        wait_until("every worker reads", lambda: all(map(_read, pages)), every_s=0.05)
        time.sleep(2)  # for a rebalance that is under way
        before = sum(map(_read, pages))
        _tell(pids, signal.SIGSTOP)
        events = sum(asyncio.run(_produce(system)) for _ in range(FILLS))
        takers = (pids, [system.broker.pid or 0], [postgres.pid])
        taking = dict(zip(TAKERS, takers, strict=True))
        before_s = {taker: processor_s(*each) for taker, each in taking.items()}
        _tell(pids, signal.SIGCONT)
        began_s = time.perf_counter()
        took_s = _until_read(pages, before, events) - began_s
        taken_s = {taker: processor_s(*each) - before_s[taker] for taker, each in taking.items()}
        return Reading(
            events / took_s, {taker: 1e9 * each / events for taker, each in taken_s.items()}
        )


def _until_read(pages: Sequence[int], before: int, events: int) -> float:
    """Return when workers had read so many more events, asking them seldom: a page costs them 3 ms.

    Each time about half of what is left is waited for.
    """
    began_s = time.perf_counter()
    while True:
        read = sum(map(_read, pages)) - before
        now_s = time.perf_counter()
        if read >= events:
            return now_s
        if now_s - began_s > PATIENCE_S:
            raise TimeoutError("the workers stand still")
        left_s = (now_s - began_s) * (events - read) / max(read, 1)
        time.sleep(min(max(left_s / 2, 0.02), 0.5))


def _register(system: System) -> None:
    """Make a ledger whose first window is today's, so that workers read what is in the topic."""
    alarms = system.alarms()
    calendar = alarms.by_name[QUERY].calendar
    window = int(calendar.containing(np.array([wall_clock_ms()]))[0][0]) - 1
    with open_ledger(alarms) as ledger:
        first = {QUERY: calendar.bounds(window)[0]}
        assemble(alarms, ledger, identities=check_feeds(alarms), first_start_ms=first)


@contextmanager
def _workers(system: System, pages: Sequence[int]) -> Iterator[list[int]]:
    """Run a worker for each port of a custodian's page; yield their process ids."""
    text = system.file.read_text(encoding="utf-8")
    with ExitStack() as stack:
        started = []
        for page in pages:
            own = system.directory / f"{page}.yaml"
            own.write_text(text.replace(_ANY_PORT, f'custodian: "{HOST}:{page}"'), encoding="utf-8")
            worker = Command.start(system.directory / f"{page}.log", "run", own)
            stack.callback(worker.stop)
            started.append(worker.pid)
        yield started


@contextmanager
def _producer(system: System) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(bootstrap_servers=system.broker.bootstrap)
    try:
        yield producer
        producer.flush()
    finally:
        producer.close()


def _tell(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def _read(custodian_port: int) -> int:
    """Return how many events a worker says it has read; 0 while it does not answer."""
    try:
        with urlopen(f"http://{HOST}:{custodian_port}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return 0
    return next((int(float(line.split()[-1])) for line in lines if line.startswith(READ)), 0)
