"""From counts to alarms on Kafka: decisions per second, and time from a window's cut to its alarm.

``decisions_per_s`` takes counted windows through ledger and topic in this process: partials are
read, the worst case is reserved, noise is drawn, the decision is settled, and the worker's own
publisher sends the alarms to a real broker. ``window_close_to_alarm`` watches a running worker from
outside: events are written as a building would, and the clock stops when a consumer has the alarm.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.closing import Meter, close
from benchmarks.system import System
from deploy.kafka.broker import Broker
from stream.build import wall_clock_ms
from stream.windows.instants import from_iso_utc
from tests.support.processes import Command

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
        worker = Command.start(watched.directory / "worker.log", "run", watched.file)
        try:
            delays_ms = asyncio.run(_watch(watched, worker))
        finally:
            worker.stop()
    return results | {
        "window_close_to_alarm_median_ms": float(np.median(delays_ms)),
        "window_close_to_alarm_p99_ms": float(np.percentile(delays_ms, 99)),
        "window_close_to_alarm_windows": float(len(delays_ms)),
    }


async def _decide(system: System) -> dict[str, float]:
    """Close some windows of one alarm, a hundredth of whose groups fire."""
    generator = np.random.default_rng(7)
    crowd = generator.integers(1, system.threshold // 4, GROUPS)
    crowd[generator.random(GROUPS) < CROWDED_SHARE] = system.threshold
    meter = Meter({})
    alarms = await close(system, crowd, DECIDED_WINDOWS, meter)
    decided_s, published_s = (
        statistics.mean(meter.ms[f"{stage} clock"]) / 1000 for stage in ("decide", "publish")
    )
    return {
        "groups_decided_per_s_ledger": GROUPS / decided_s,
        "groups_decided_per_s_ledger_and_topic": GROUPS / (decided_s + published_s),
        "alarms_published_per_s": alarms / (DECIDED_WINDOWS + 1) / published_s,
    }


async def _watch(system: System, worker: Command) -> list[float]:
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
                    raise RuntimeError(f"the worker sends no alarms: {worker.text()}")
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
