"""Events of every kind a sensor may send, produced live into several topics at once.

The same events go to every topic. Their window and whether they are late is decided by their place
in the window's clock: nothing is sent near a cut, so that append times that differ a little between
topics do not change what an event is. On a machine that stands still for longer they may: whoever
compares topics asks the logs.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from kafka import KafkaProducer
from kafka.partitioner.default import murmur2

from tests.support.scenario import ROOMS
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WINDOW_MS = 3_000
_PEOPLE = 60
_QUIET_MS = 125
_CUT_MS = 600
_PAUSE_MS = 8_000
_LINGER_MS = 80  # a batch for each event would keep the broker busy; less than what is quiet


def time_ms() -> int:
    """Return the time."""
    return time.time_ns() // 1_000_000


def next_window_ms() -> int:
    """Return the start of the next window."""
    return (time_ms() // WINDOW_MS + 1) * WINDOW_MS


def sleep_until(instant_ms: int) -> None:
    """Sleep until an instant, if it is to come."""
    time.sleep(max(instant_ms - time_ms(), 0) / 1000)


def home(person: str, partitions: int) -> int:
    """Return the partition of a person, as Kafka's own partitioner has it."""
    return int(murmur2(person.encode()) & 0x7FFFFFFF) % partitions


def event_of(person: str, room: str, event: str = "", **changes: Any) -> tuple[str, bytes]:
    """Return ``(key, value)`` of a good event of now; under its person's name where it has none."""
    good = {"person": person, "event": event or person, "room": room, "ts": time_ms(), **changes}
    return person, json.dumps(good).encode()


def hostile_events(now_ms: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield ``(unit, value)`` of what is sent at one instant.

    ``grace`` is one second: an event of the last window is late but counts in the first second of
    the next window, and is lost after that::

        |--- window ---|--- next window ---|
                       | grace |  too late |
    """
    phase_ms = now_ms % WINDOW_MS
    start_ms = now_ms - phase_ms
    person = f"p{rng.randrange(_PEOPLE)}"
    room = rng.choice(ROOMS[: 1 + rng.randrange(len(ROOMS))])
    identity = f"{person}-{now_ms}-{rng.randrange(3)}"
    good = {"person": person, "event": identity, "room": room, "ts": now_ms}
    yield person, json.dumps(good).encode()
    yield from _mischief(good, rng)
    late_or_lost = {**good, "ts": start_ms - 1}
    if rng.randrange(12) == 0:
        if phase_ms < 1_000 - _CUT_MS:
            yield person, json.dumps({**late_or_lost, "event": "late"}).encode()
        elif phase_ms > 1_000 + _CUT_MS:
            yield person, json.dumps({**late_or_lost, "event": "too late"}).encode()
    if rng.randrange(12) == 0:
        back_ms = max(now_ms - rng.randrange(1, 400), start_ms)
        yield person, json.dumps({**good, "ts": back_ms, "event": "out of order"}).encode()


def _mischief(good, rng):
    """Yield what a broken or a malicious sensor may send beside a good event, or nothing."""
    person, now_ms = good["person"], good["ts"]
    kinds = [
        (person, json.dumps(good).encode()),  # a duplicate
        (person, json.dumps({**good, "room": "cellar", "event": "nowhere"}).encode()),
        (person, b'{"person": "p1", "room": '),
        (person, json.dumps({**good, "ts": now_ms + 3_600_000, "event": "future"}).encode()),
        (person, json.dumps({"person": person, "ts": now_ms}).encode()),
        (person, json.dumps({**good, "ts": "soon"}).encode()),
        ("somebody else", json.dumps({**good, "event": "misrouted"}).encode()),
        (person, b"\x00\xff\xfe"),
    ]
    kind = rng.randrange(len(kinds) + 4)
    if kind < len(kinds):
        yield kinds[kind]


def produce_live(bootstrap: str, topics: Sequence[str], *, until_ms: int, seed: int) -> int:
    """Send the same hostile events to every topic until a window's end; return how many."""
    with flowing(bootstrap, *topics, seed=seed, every_ms=10) as sent:
        sleep_until(until_ms)  # near a cut nothing is sent
    return len(sent)


@contextmanager
def flowing(
    bootstrap: str,
    *topics: str,
    seed: int,
    every_ms: int = 40,
    metadata_max_age_ms: int = 300_000,
    pauses: bool = False,
) -> Iterator[list[str]]:
    """Send hostile events while the block runs; yield whose they are.

    The block begins when the first ones are acknowledged; all are at its end.

    Args:
        bootstrap: the broker.
        topics: each gets every event.
        seed: of the events' kinds.
        every_ms: pause between instants.
        metadata_max_age_ms: how long it may not know of new partitions.
        pauses: whether nothing is sent in every other eight seconds.
    """
    stop, begun, sent = Event(), Event(), list[str]()
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        linger_ms=_LINGER_MS,
        metadata_max_age_ms=metadata_max_age_ms,
    )

    def produce():
        rng = random.Random(seed)
        while not stop.is_set():
            now_ms = time_ms()
            distance_ms = min(now_ms % WINDOW_MS, WINDOW_MS - now_ms % WINDOW_MS)
            if distance_ms > _QUIET_MS and not (pauses and now_ms // _PAUSE_MS % 2):
                for unit, value in hostile_events(now_ms, rng):
                    for topic in topics:
                        producer.send(topic, key=unit.encode(), value=value)
                    sent.append(unit)
                if not begun.is_set():
                    producer.flush()
                    begun.set()
            time.sleep(every_ms / 1000)

    thread = Thread(target=produce, daemon=True)
    thread.start()
    try:
        assert begun.wait(PATIENCE_S)
        yield sent
    finally:
        stop.set()
        thread.join()
        producer.flush()
        producer.close()
