"""Sensors: events of both feeds, good and bad, in batches of every codec, while it runs.

One librdkafka producer for each codec. Events that a broker did not take in time are sent when it
is back, and are late then; nothing is sent while the sensors are told to be away.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, replace
from functools import cache
from threading import Event
from typing import TYPE_CHECKING

import pyarrow as pa
from confluent_kafka import Producer
from kafka.partitioner.default import murmur2

from tests.soak.alarms import CELLS, HIGHEST_AMOUNT, PARTITIONS
from tests.soak.loops import Loop
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence


CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_TICK_S = 0.05
_ROWS = 25  # of an Arrow message, about
_BAD = 0.06  # of the events, about
_REMEMBERED = 200  # events that a sensor may send again
_FUTURE_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One event as it is meant; ``raw`` replaces its bytes where they are none."""

    unit: str | None
    event: str
    room: str
    ts: int | str
    amount: int
    online: bool
    partition: int
    raw: bytes | None = None


@cache
def home(unit: str) -> int:
    """Return the partition of a person."""
    return int(murmur2(unit.encode()) & 0x7FFFFFFF) % PARTITIONS


class Sensors(Loop):
    """Sends from entering the context to leaving it.

    Args:
        bootstrap: the broker.
        pace: rates, people, and for how long a partition is silent.
        seed: of everything but the time.
    """

    def __init__(self, bootstrap, pace, *, seed):
        super().__init__("sensors", self._catch_up, every_s=_TICK_S)
        self._pace = pace
        self._rng = random.Random(seed)
        self._producers = {codec: _producer(bootstrap, codec) for codec in CODECS}
        self._people = _by_home(pace.people)
        self._sent = {"badges": [], "sales": []}
        self._away = Event()
        self._owed, self._before_s = 0.0, time.monotonic()

    def __exit__(self, *_):
        """Stop, and wait until the broker has everything."""
        super().__exit__()
        deadline_s = time.monotonic() + PATIENCE_S
        while any(len(one) for one in self._producers.values()) and time.monotonic() < deadline_s:
            for producer in self._producers.values():
                producer.flush(1)

    def go_away(self) -> None:
        """Send nothing any more until :meth:`come_back`."""
        self._away.set()

    def come_back(self) -> None:
        """Go on."""
        self._away.clear()

    def _catch_up(self):
        """Send what the time since the last call asks for; of a long stop, one second of it."""
        now_s = time.monotonic()
        if not self._away.is_set():
            self._owed += min(now_s - self._before_s, 1.0) * self._pace.events_per_s / 2
        self._before_s = now_s
        events, self._owed = int(self._owed), self._owed % 1
        self._send(events)

    def _send(self, events):
        now_ms = time.time_ns() // 1_000_000
        for _ in range(events):
            reading = self._reading("badges", now_ms)
            self._produce("soak.badges", reading.partition, as_json(reading))
        rows = [[] for _ in range(PARTITIONS)]
        for _ in range(events):
            reading = self._reading("sales", now_ms)
            if reading.raw is not None:
                self._produce("soak.sales", reading.partition, reading.raw)
            else:
                rows[reading.partition].append(reading)
        for partition, readings in enumerate(rows):
            for start in range(0, len(readings), _ROWS):
                message = as_arrow(readings[start : start + _ROWS])
                self._produce("soak.sales", partition, message)
        for producer in self._producers.values():
            producer.poll(0)

    def _reading(self, feed, now_ms):
        """Return a good event, or one with one thing wrong."""
        rng, sent = self._rng, self._sent[feed]
        if sent and rng.random() < _BAD / 3:
            return rng.choice(sent)  # once more, as it was
        partition = self._awake(now_ms)
        unit = rng.choice(self._people[partition])
        room = CELLS[min(int(rng.expovariate(0.5)), len(CELLS) - 1)]
        amount = rng.randrange(-1, HIGHEST_AMOUNT + 3)
        back_ms = rng.randrange(500) if rng.random() < 0.1 else 0
        identity = f"{unit}-{now_ms}-{rng.randrange(1 << 30)}"
        good = Reading(
            unit, identity, room, now_ms - back_ms, amount, rng.random() < 0.2, partition
        )
        if rng.random() < _BAD:
            return rng.choice(_WRONGS)(good, self._pace)
        if len(sent) < _REMEMBERED:
            sent.append(good)
        else:
            sent[rng.randrange(_REMEMBERED)] = good
        return good

    def _awake(self, now_ms):
        """Return a partition that is not silent: each is in turn, then none."""
        silent = now_ms // (self._pace.idle_s * 1000) % (PARTITIONS + 1)
        return self._rng.choice([each for each in range(PARTITIONS) if each != silent])

    def _produce(self, topic, partition, value):
        producer = self._producers[self._rng.choice(CODECS)]
        while True:
            try:
                producer.produce(topic, value, partition=partition)
            except BufferError:  # the broker is away for long
                producer.poll(0.1)
                if self.stopping:
                    return
            else:
                return


def _producer(bootstrap, codec):
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "acks": "all",
            "linger.ms": 100,
            "message.timeout.ms": 0,  # for ever: what comes late is late
            "reconnect.backoff.max.ms": 1_000,
            "log_level": 0,
        }
    )


def _by_home(people):
    found = [[] for _ in range(PARTITIONS)]
    for number in range(people):
        found[home(f"p{number}")].append(f"p{number}")
    return found


def _late(good, by_ms):
    return replace(good, ts=int(good.ts) - by_ms)


_WRONGS = (
    lambda good, pace: _late(good, pace.window_s * 1000),
    lambda good, pace: _late(good, 3000 * max(pace.window_s, pace.hop_s) + pace.grace_ms),
    lambda good, _: _late(good, -_FUTURE_MS),
    lambda good, _: replace(good, room="nowhere"),
    lambda good, _: replace(good, unit=None),
    lambda good, _: replace(good, partition=(good.partition + 1) % PARTITIONS),
    lambda good, _: replace(good, raw=b'\xff\xff\xff\xff{"person": '),
)


def as_json(reading: Reading) -> bytes:
    """Write an event of the first feed."""
    if reading.raw is not None:
        return reading.raw
    event = {
        "person": reading.unit,
        "event": reading.event,
        "room": reading.room,
        "ts": reading.ts,
        "site": "one of the fields that no alarm reads",
    }
    return json.dumps(event).encode()


_COLUMNS = pa.schema(
    {
        "customer": pa.string(),
        "sale": pa.string(),
        "room": pa.string(),
        "amount": pa.int64(),
        "online": pa.bool_(),
        "ts": pa.timestamp("ms"),
    }
)


def as_arrow(readings: Sequence[Reading]) -> bytes:
    """Write events of the second feed, as one message."""
    rows = [(one.unit, one.event, one.room, one.amount, one.online, one.ts) for one in readings]
    columns = [list(column) for column in zip(*rows, strict=True)]
    batch = pa.table(columns, schema=_COLUMNS)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _COLUMNS) as writer:
        writer.write_table(batch)
    return bytes(sink.getvalue())
