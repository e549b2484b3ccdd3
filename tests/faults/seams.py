"""Where Tocsin's modules meet the world: each name they look up there, and what stands in for it.

Everything else is the real code: ``run`` of the worker with all its tasks but the look for a
broker, ingest, readers, judge, ledger, publisher, witness, guard, and what a custodian settles. Not
run are Faust's app and host, aiokafka's clients with ``stream/kafka/columns.py``'s way into them,
kafka-python's administration client, the HTTP pages, and PostgreSQL's dialect.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from sqlalchemy.engine.default import DefaultDialect

from accountant.errors import DependencyError
from accountant.ledger.ledger import Ledger
from accountant.ledger.pins import Pins
from accountant.store import files, headfile, store
from operators.noise.source import KeyedNoise
from stream import build
from stream.decisions import judge
from stream.kafka import (
    ingest,
    publish,
    refusals,
    takeover,
    topics,
    whole,
    witness,
    worker,
)
from stream.kafka.clock import HeldClock
from tests.faults.clients import Consumer, Group, Producer
from tests.faults.schedule import PROCESS, Killed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.faults.disk import Storage
    from tests.faults.log import Broker
    from tests.faults.schedule import Process, Schedule
    from tests.faults.watch import Watch

_SETTLED_MS = 3_000


class WorkerPool:
    """The workers that run, who hear each other's bells.

    Args:
        schedule: of the world.
    """

    def __init__(self, schedule):
        self._schedule = schedule
        self._tasks = {}
        self._ready_ms = {}

    def host(self, tasks: Any, _hooks: Any) -> int:
        """Stand in for Faust: run a worker's tasks, each guarded, until it is killed."""
        process = PROCESS.get()
        self._tasks[process] = tasks
        self._ready_ms[process] = self._schedule.now_ms()
        process.buried.append(lambda: self._tasks.pop(process, None))

        async def serve():
            hosted = tasks.all(self._ring)
            await asyncio.gather(*(tasks.guarded(each) for each in hosted))

        self._schedule.run(serve())
        return 0

    def settled(self, process: Process) -> bool:
        """Tell whether a worker started, was not refused, and has gone on for a while."""
        waited_ms = self._schedule.now_ms() - self._ready_ms.get(process, 1 << 62)
        return not process.dead and waited_ms > _SETTLED_MS

    async def _ring(self, query):
        """Ring at one of the workers, or nowhere: a bell may be lost."""
        draw = self._schedule.random
        self._schedule.point("ring")
        if not self._tasks or draw.random() < self._schedule.weather.lost_bells:
            return
        process = draw.choice(sorted(self._tasks, key=lambda one: one.name))
        tasks, bell = self._tasks[process], query.encode()

        def heard():
            if not process.dead:
                PROCESS.set(process)
                self._schedule.loop.create_task(tasks.answer(bell))

        self._schedule.loop.call_later(self._schedule.delay_s(), heard)

    def exit(self, code: int) -> None:
        """Stand in for ``os._exit``.

        Raises:
            Killed: always.
        """
        process = PROCESS.get()
        if not process.dead:
            process.ended = process.ended or code
            self._schedule.kill(process, f"exit {code}: {process.ended}")
        raise Killed

    def failing(self, end: Callable[..., Any], tasks: Any, error: BaseException, code: int) -> None:
        """Note the error that ends a worker's tasks."""
        process = PROCESS.get()
        if not process.dead:
            process.ended = error
        end(tasks, error, code)


class _Inline:
    """A thread that has done its work once it is started."""

    def __init__(self, *, target, **_options):
        self.start = target

    def join(self, _timeout):
        """It is done."""


def around(where: Any, name: str, changed: Callable[..., Any]) -> tuple[Any, str, Any]:
    """Return an attribute, and what is called in its place: given first what it was."""
    original = getattr(where, name)
    return where, name, lambda *given, **named: changed(original, *given, **named)


@contextmanager
def world_of(
    schedule: Schedule, broker: Broker, storage: Storage, watch: Watch, pool: WorkerPool
) -> Iterator[Mapping[str, Group]]:
    """Let every process run in a simulated world while the block runs; yield its groups."""
    noise = iter(range(1 << 30))
    seed = schedule.random.getrandbits(64)

    def source():
        return KeyedNoise(f"{seed}/{next(noise)}".encode())

    held = partial(
        HeldClock,
        wall_ms=schedule.wall_ms,
        monotonic_ms=lambda: round(schedule.loop.time() * 1000),
    )
    files_os = SimpleNamespace(**{**vars(os), "fsync": storage.fsync, "close": storage.close})
    locks = SimpleNamespace(**{**vars(headfile.fcntl), "flock": storage.flock})
    groups = defaultdict(partial(Group, broker))
    consumer, producer = partial(Consumer, broker, groups), partial(Producer, broker)
    seams = [
        (asyncio, "run", schedule.run),
        (time, "sleep", schedule.sleep),
        (time, "monotonic", schedule.loop.time),
        (ingest, "AIOKafkaConsumer", consumer),
        (publish, "AIOKafkaProducer", producer),
        (witness, "AIOKafkaProducer", producer),
        (whole, "AIOKafkaConsumer", consumer),
        *((module, "admin_client", lambda _: _admin(schedule)) for module in (topics, whole)),
        (topics, "describe", lambda _, names: {one: broker.facts[one] for one in names}),
        (worker, "host", pool.host),
        (worker, "_app", lambda tasks: tasks),
        (worker, "serve", lambda *_: nullcontext()),
        (worker, "HeldClock", held),
        (worker, "NoiseSource", source),
        (worker, "os", SimpleNamespace(_exit=pool.exit)),
        around(worker._Tasks, "_end", pool.failing),
        (takeover, "HeldClock", held),
        (build, "NoiseSource", source),
        (refusals, "Thread", _Inline),
        (files, "fcntl", locks),
        (headfile, "fcntl", locks),
        (store, "os", files_os),
        (headfile, "os", files_os),
        (files, "os", files_os),
        *_rare(),
        *_database(storage),
        *_seen(storage, watch),
    ]
    thresholds = gc.get_threshold()
    with ExitStack() as stack:
        for where, name, stand_in in seams:
            stack.enter_context(mock.patch.object(where, name, stand_in))
        try:
            yield groups
        finally:
            gc.set_threshold(*thresholds)


def _rare():
    """What is done every second to no effect is done less often: it costs most of the time."""
    return [
        (worker, "_POLL_S", 2.0),
        (worker, "_STATUS_S", 20.0),
        (ingest, "_REPORT_S", 4.0),
        (ingest, "_LOOK_S", 1.0),
        (ingest, "_POLL_MS", 500),
    ]


@contextmanager
def _admin(schedule):
    """Stand in for an administration client.

    Raises:
        DependencyError: no broker answers.
    """
    schedule.pause("admin")
    if schedule.weather.away:
        raise DependencyError("Kafka does not answer")
    yield


def _database(storage):
    def connected(connect, self, **options):
        storage.before_connect()
        return connect(self, **options)

    def opened(make, self, engine):
        make(self, engine)
        storage.opened(self)

    def prepared(prepare, connection, record):
        prepare(connection, record)
        waits = connection.execute("PRAGMA synchronous").fetchone()[0] >= 2
        storage.prepared(connection, waits=waits)
        connection.execute("PRAGMA synchronous=OFF")  # no power is cut but in this world

    def committed(commit, self, connection):
        storage.commit(connection, partial(commit, self))

    return [
        around(store.Store, "_connect", connected),
        around(store.Store, "__init__", opened),
        around(store, "_prepare_sqlite", prepared),
        around(DefaultDialect, "do_commit", committed),
    ]


def _seen(storage, watch):
    def disk_of(ledger):
        return storage.disk_of(str(ledger._door.store.file))

    def drawn(draw, self, query, key, *given):
        found = draw(self, query, key, *given)
        _, partials = given
        counts = judge.statistics_of(partials.own, 1, len(query.domain))[0]
        fired = [at for at, fires in enumerate(found.fired) if fires]
        watch.drawn(disk_of(self._ledger), key, tuple(counts.tolist()), fired)
        return found

    def stored(keep, self, key, **fields):
        decision = keep(self, key, **fields)
        watch.stored(disk_of(self), key, decision.reason)
        return decision

    def registered(register, self, queries):
        disk = disk_of(self)
        known = disk.story().cursor_ms is not None
        try:
            return register(self, queries)
        finally:  # a cut connection does not undo what was committed
            watch.registered(disk, known=known)

    return [
        around(judge.Judge, "_draw", drawn),
        around(Ledger, "settle", stored),
        around(Ledger, "deny", stored),
        around(Pins, "register_queries", registered),
    ]
