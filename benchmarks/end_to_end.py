"""From counts to alarms on Kafka: decisions per second, and time from a window's cut to its alarm.

``decisions_per_s`` takes counted windows through ledger and topic in this process: partials are
read, the worst case is reserved, noise is drawn, the decision is settled, and the worker's own
publisher sends the alarms to a real broker. ``window_close_to_alarm`` watches a running worker from
outside: events are written as a building would, and the clock stops when a consumer has the alarm.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from accountant.costs.charges import WindowKey
from accountant.records import Partial
from benchmarks.system import QUERY, System
from deploy.kafka.broker import Broker
from stream.build import wall_clock_ms
from stream.kafka.clock import HeldClock
from stream.kafka.guard import claim_feeds
from stream.kafka.publish import Publisher
from stream.kafka.witness import Witness
from stream.windows.instants import from_iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream.build import Runtime

__all__ = ["run"]

ROOT = Path(__file__).resolve().parents[1]
GROUPS = 100_000
DECIDED_WINDOWS = 10
CROWDED_SHARE = 0.01
WARM_UP_WINDOWS = 10  # the first ones are caught up with
WATCHED_WINDOWS = 60
ROOMS = 8
PEOPLE_PER_ROOM = 30
EVENTS_PER_S = 400
FIRST_ALARM_S = 60.0
WINDOW_MS = 1_000
GRACE_MS = 500
MAX_APPEND_TIME_REGRESSION_MS = 100
TICK_MS = 100


def run() -> dict[str, float]:
    """Return decisions/s through ledger and topic, and milliseconds from cut to alarm."""
    with Broker(fast_start=False) as broker, tempfile.TemporaryDirectory() as directory:
        through = System(
            broker,
            Path(directory) / "decide",
            "decide",
            rooms=GROUPS,
            window="'1' SECOND",
            grace_ms=0,
        )
        watched = System(
            broker,
            Path(directory) / "watch",
            "watch",
            rooms=ROOMS,
            window="'1' SECOND",
            threshold=PEOPLE_PER_ROOM // 3,
            publish_interval_ms=TICK_MS,
            grace_ms=GRACE_MS,
        )
        results = asyncio.run(_decide(through))
        with _worker(watched):
            delays_ms = asyncio.run(_watch(watched))
    return results | {
        "window_close_to_alarm_median_ms": float(np.median(delays_ms)),
        "window_close_to_alarm_p99_ms": float(np.percentile(delays_ms, 99)),
        "window_close_to_alarm_windows": float(len(delays_ms)),
    }


async def _decide(system: System) -> dict[str, float]:
    first_ms = (wall_clock_ms() // WINDOW_MS - DECIDED_WINDOWS - 1) * WINDOW_MS
    runtime, identities = system.runtime(first_ms)
    (identity,) = identities.values()
    mine = (runtime.alarms, runtime.ledger, identities, "benchmark", HeldClock(runtime.alarms))
    await asyncio.to_thread(claim_feeds, *mine)
    generator = np.random.default_rng(7)
    for number in range(DECIDED_WINDOWS):
        crowd = generator.integers(1, system.threshold // 2, GROUPS)
        crowd[generator.random(GROUPS) < CROWDED_SHARE] = 2 * system.threshold
        for partition in range(system.partitions):
            # Each partition holds its part of every room's people.
            part = np.where(partition, crowd // 2, crowd - crowd // 2)
            start_ms = first_ms + number * WINDOW_MS
            runtime.ledger.counts.put_partial(
                _partial(runtime, start_ms, partition, identity.topic_id, part)
            )
    with ThreadPoolExecutor(2) as executor:
        publisher = Publisher(runtime, executor, lambda: Witness(*mine).opened(), None)
        publishing = asyncio.create_task(publisher.run())
        try:
            await asyncio.sleep(1.0)  # until its producer is connected
            loop = asyncio.get_running_loop()
            began_s = time.perf_counter()
            decisions = await loop.run_in_executor(
                executor, lambda: list(runtime.judge.decide_due(QUERY))
            )
            decided_s = time.perf_counter() - began_s
            await loop.run_in_executor(executor, _wait_until_published, runtime)
            published_s = time.perf_counter() - began_s
        finally:
            publishing.cancel()
            await asyncio.gather(publishing, return_exceptions=True)
            runtime.ledger.close()
    return {
        "groups_decided_per_s_ledger": len(decisions) * GROUPS / decided_s,
        "groups_decided_per_s_ledger_and_topic": len(decisions) * GROUPS / published_s,
        "alarms_published_per_s": sum(one.alarm_count for one in decisions) / published_s,
    }


def _partial(
    runtime: Runtime, start_ms: int, partition: int, topic_id: str, crowd: NDArray[np.int64]
) -> Partial:
    index = np.flatnonzero(crowd)
    return Partial(
        key=WindowKey(end_ms=start_ms + WINDOW_MS, query=QUERY, start_ms=start_ms),
        partition=partition,
        fingerprint=runtime.alarms.by_name[QUERY].fingerprint,
        topic_id=topic_id,
        complete=True,
        cells=len(crowd),
        index=index,
        value=crowd[index],
        first_offset=0,
        last_offset=0,
    )


def _wait_until_published(runtime: Runtime) -> None:
    while runtime.ledger.reports.status().queries[QUERY].unpublished:
        time.sleep(TICK_MS / 10_000)


@contextmanager
def _worker(system: System) -> Iterator[None]:
    """Run one worker process."""
    with (system.directory / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from stream.cli.main import main; main()",
                "run",
                str(system.file),
            ],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        worker.terminate()
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


async def _watch(system: System) -> list[float]:
    """Return milliseconds from the cut to the last alarm of each watched window."""
    last_ms: dict[int, float] = {}
    address = system.broker.bootstrap
    async with (
        AIOKafkaProducer(bootstrap_servers=address) as producer,
        AIOKafkaConsumer(f"{system.name}.alarms", bootstrap_servers=address) as consumer,
    ):
        writing = asyncio.create_task(_write(producer, system))
        give_up_s = (
            time.monotonic()
            + FIRST_ALARM_S
            + 2 * (WARM_UP_WINDOWS + WATCHED_WINDOWS) * WINDOW_MS / 1000
        )
        try:
            while len(last_ms) < WARM_UP_WINDOWS + WATCHED_WINDOWS + 1:
                if time.monotonic() > give_up_s:
                    printed = (system.directory / "worker.log").read_text(errors="replace")
                    raise RuntimeError(f"the worker sends no alarms; it printed:\n{printed}")
                for records in (await consumer.getmany(timeout_ms=1000)).values():
                    now_ms = time.time_ns() / 1e6
                    for record in records:
                        end_ms = from_iso_utc(msgspec.json.decode(record.value)["window_end"])
                        last_ms[end_ms] = now_ms - end_ms - GRACE_MS
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
    # Of the last window, not every alarm may have come.
    return [last_ms[end_ms] for end_ms in sorted(last_ms)[WARM_UP_WINDOWS:-1]]


async def _write(producer: AIOKafkaProducer, system: System) -> None:
    """Write badge readings dated now, at a steady rate, so that every room is always crowded."""
    number = 0
    people = ROOMS * PEOPLE_PER_ROOM
    while True:
        person = f"person-{number % people}"
        event = {"person": person, "room": f"room-{number % ROOMS}", "ts": wall_clock_ms()}
        await producer.send(system.topic, msgspec.json.encode(event), key=person.encode())
        number += 1
        await asyncio.sleep(1 / EVENTS_PER_S)


if __name__ == "__main__":
    for label, value in run().items():
        print(f"{label:45} {value:14,.1f}")
