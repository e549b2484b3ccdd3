"""The ingest loop over rebalances, against a consumer that behaves as aiokafka's does there."""

from __future__ import annotations

import asyncio
import io
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from accountant.costs.charges import WindowKey
from accountant.layouts import Growth, Layouts
from accountant.records import PartialStatus, Stand
from stream.config.loading import load
from stream.decisions.steps import no_step
from stream.events.records import Record, Records
from stream.kafka import ingest
from stream.kafka.ingest import Assigned
from stream.kafka.positions import Bounds
from stream.logs.lines import Log
from stream.model.feeds import Clock
from tests.support.commands import configuration

if TYPE_CHECKING:
    from collections.abc import Coroutine

PARTITION = TopicPartition("badges", 0)
Seen = dict[str, dict[int, tuple[int, Stand]]]
LAYOUTS = Layouts(1)
GROWTHS = SimpleNamespace(layouts=lambda: {"badges": LAYOUTS})


class _Consumer:
    """Forgets every position when its assignment is replaced, and waits for one until a seek."""

    def __init__(self) -> None:
        self.seeks = 0
        self.positioned = asyncio.Event()
        self.records: list[Any] = []
        self.fetching = asyncio.get_running_loop().create_future()
        self._fetcher = SimpleNamespace(error_future=self.fetching)

    def assignment(self) -> set[TopicPartition]:
        return {PARTITION}

    def seek(self, _partition: TopicPartition, _offset: int) -> None:
        self.seeks += 1
        self.positioned.set()

    async def position(self, _partition: TopicPartition) -> int:
        await self.positioned.wait()
        return 0

    async def getmany(self, *_: Any, **__: Any) -> dict[TopicPartition, list[Any]]:
        await asyncio.sleep(0.01)
        records, self.records = self.records, []
        return {PARTITION: records} if records else {}


class _Reader:
    """Always has a window that is due; does something when it reads."""

    def __init__(self, on_read: Any) -> None:
        self.on_read = on_read
        self.newest_append_ms = -1
        self.layouts = LAYOUTS
        self.completed = asyncio.Event()

    def oldest_open_cut_ms(self) -> int:
        return 0

    def read(self, _records: Any) -> None:
        self.on_read()

    def partials(self) -> list[Any]:
        return []

    def arrived_through(self, _time_ms: int) -> None:
        self.completed.set()


def _reading(reader: Any = None, position: int = 0, **runtime: Any) -> ingest.Ingest:
    """Return a loop over a runtime that has what is named and is silent on the rest.

    Args:
        reader: of the one partition that it reads from a position on; ``None`` for none.
        position: offset of the next record.
        runtime: what matters of it; ``rung`` takes the bells.
    """
    rung: list[str] = runtime.pop("rung", [])
    silent = dict.fromkeys(("told", "shared_out", "begun", "unassigned"), lambda *_: None)
    partitions = SimpleNamespace(**{**silent, **runtime.pop("partitions", {})})
    runtime["metrics"] = SimpleNamespace(partitions=partitions, appended=lambda *_: None)
    alarms = SimpleNamespace(feeds={}, by_name={}, kafka=object(), file="")
    counts = SimpleNamespace(put_places=lambda *_: None)
    ledger = SimpleNamespace(counts=counts, growths=GROWTHS)
    world: Any = SimpleNamespace(
        **{"alarms": alarms, "ledger": ledger, "clock_ms": lambda: 1, "step": no_step, **runtime}
    )

    async def ring(query: str) -> None:
        rung.append(query)

    reading = ingest.Ingest(world, ring=ring, log=Log(io.StringIO()))
    feed: Any = SimpleNamespace(name="badges", clock=Clock.APPEND_TIME, idle_partition_timeout_ms=0)
    if reader is not None:
        reading.assigned[PARTITION] = Assigned(feed, reader, position)
    return reading


async def _until(loop: Coroutine[Any, Any, None], *events: asyncio.Event) -> None:
    """Run a loop until all of these have happened."""
    task = asyncio.create_task(loop)
    for event in events:
        await event.wait()
    task.cancel()
    await asyncio.wait([task])


async def test_a_partition_that_goes_while_it_is_opened_is_forgotten() -> None:
    """Nobody else would say that it is another worker's."""
    gone: list[tuple[str, int]] = []
    reading = _reading(partitions={"unassigned": lambda *of: gone.append(of)})
    other = TopicPartition(PARTITION.topic, PARTITION.partition + 1)
    reading._feeds[other.topic] = SimpleNamespace(name="badges")  # type: ignore[assignment]
    reading._opening[other] = asyncio.create_task(asyncio.sleep(60))  # type: ignore[assignment]
    reading._take_over(_Consumer())
    assert (gone, reading._opening) == ([("badges", other.partition)], {})


@pytest.mark.parametrize("while_reading", [True, False])
async def test_rebalance_never_leaves_the_loop_waiting_for_a_position(
    monkeypatch: pytest.MonkeyPatch, *, while_reading: bool
) -> None:
    """A rebalance during a read, or unmarked as yet, ends in a seek and not in a wait for ever."""
    monkeypatch.setattr(ingest, "_POSITION_S", 0.05)
    shared_out: list[bool] = []
    told = {"shared_out": lambda: shared_out.append(rebalanced)}
    reader: Any = _Reader(None)
    reading = _reading(reader, partitions=told)
    consumer = _Consumer()
    loop = asyncio.get_running_loop()
    rebalanced = False

    def rebalance() -> None:
        nonlocal rebalanced
        if not rebalanced:
            rebalanced = True
            consumer.positioned.clear()
            if while_reading:
                reading.on_partitions_assigned([PARTITION])
            else:  # the assignment is live before its callback
                loop.call_later(0.01, reading.on_partitions_assigned, [PARTITION])

    reader.on_read = rebalance

    class Answers(dict[TopicPartition, Bounds]):
        def get(self, *_: Any) -> Bounds:
            if not while_reading:
                rebalance()
            return Bounds(1, 0, 0)

    reading._bounds = Answers()
    if while_reading:
        consumer.records = [Records.of([Record(0, 0, log_append=True, value=b"")])]
    await _until(reading._loop(consumer, None), reader.completed)
    assert consumer.seeks >= 2
    assert all(shared_out)  # not before the first assignment


async def test_a_damaged_batch_stops_its_partition_and_not_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its partition rests for a while and is tried again, and the custodian is told both times."""
    monkeypatch.setattr(ingest, "_AGAIN_S", 0.05)
    monkeypatch.setattr(ingest, "_POLL_MS", 1)
    monkeypatch.setattr(ingest, "_LOOK_S", 0.0)
    told: list[str] = []
    reading_on = asyncio.Event()

    def hold(_feed: str, _number: int, why: str, _offset: int, _lag: int) -> None:
        told.append(why)
        if told[0] != why:
            reading_on.set()

    fetches: list[list[Any]] = [
        [None],
        [Records.of([Record(7, 0, log_append=True, value=b"")])],
    ]
    asked_s: list[float] = []

    class Consumer(_Consumer):
        async def getmany(self, *wanted: Any, **_: Any) -> dict[TopicPartition, list[Any]]:
            assert wanted == (PARTITION,)
            asked_s.append(loop.time())
            return {PARTITION: fetches.pop(0)} if fetches else await super().getmany()

    loop, read = asyncio.get_running_loop(), asyncio.Event()
    consumer = Consumer()
    reader: Any = _Reader(lambda: loop.call_soon_threadsafe(read.set))
    reader.newest_append_ms = 0
    reading = _reading(reader, 7, partitions={"told": hold})
    reading._bounds[PARTITION] = Bounds(1, 9, 9)
    await _until(reading._loop(consumer, None), read, reading_on)
    assert asked_s[1] - asked_s[0] >= 0.05
    assert [why for why, _ in groupby(told)] == ["corrupt", "reading"]


async def test_a_fetcher_that_died_is_noticed() -> None:
    """The error that ended aiokafka's background task comes out; a silent end is an error too."""
    failed, ended = _Consumer(), _Consumer()
    ingest._alive(failed)
    failed.fetching.set_exception(RuntimeError("gone"))
    with pytest.raises(RuntimeError, match="gone"):
        ingest._alive(failed)
    ended.fetching.set_result(None)
    with pytest.raises(KafkaError):
        ingest._alive(ended)


def test_a_feed_that_no_alarm_reads_is_not_fetched(tmp_path: Path) -> None:
    """It has no window to begin at: reading it would stop the worker."""
    plain = Path(configuration(tmp_path))
    other = "  spare: {topic: spare, time: ts, unit: p, fields: {p: string, ts: timestamp}}\n"
    text = plain.read_text().replace("    history: {from: 1970-01-01, until: 1970-01-02}\n", other)
    plain.write_text("kafka: {bootstrap: 127.0.0.1:9}\n" + text)
    alarms = load(plain, environ={})
    assert [feed.name for feed in _reading(alarms=alarms)._feeds.values()] == ["badges"]
    assert set(alarms.feeds) == {"badges", "spare"}


async def test_a_reader_that_does_not_know_of_a_growth_is_let_go() -> None:
    """It is opened again, at the oldest undecided window; one that knows reads on."""
    known = {"badges": LAYOUTS}
    ledger = SimpleNamespace(growths=SimpleNamespace(layouts=lambda: known))
    reading = _reading(_Reader(None), ledger=ledger)
    await reading._follow_growths()
    assert set(reading.assigned) == {PARTITION}
    known["badges"] = Layouts(1, (Growth("badges", 2, 1, 5, None, 0),))
    await reading._follow_growths()
    assert not reading.assigned


async def test_a_count_that_the_ledger_calls_stale_is_made_again() -> None:
    """Nothing behind it is stored, no bell is rung, and the partition is opened again."""
    tried: list[int] = []

    def put(counted: Any) -> PartialStatus:
        tried.append(counted.key.start_ms)
        return PartialStatus.STALE if counted.key.start_ms else PartialStatus.STORED

    partials: Any = [
        SimpleNamespace(key=WindowKey(end_ms=start + 5, query="crowd", start_ms=start))
        for start in (0, 5, 10)
    ]

    rung: list[str] = []
    ledger = SimpleNamespace(counts=SimpleNamespace(put_partial=put), growths=GROWTHS)
    reading = _reading(_Reader(None), ledger=ledger, rung=rung)
    await reading._store(PARTITION, reading.assigned[PARTITION].reader, partials)
    assert not reading.assigned
    assert (rung, tried) == (["crowd"], [0, 5])


async def _told(monkeypatch: pytest.MonkeyPatch, looks: list[Seen]) -> list[bool]:
    """Return whether the ledger is told at each of these looks, half a second apart."""
    now_s, told = 100.0, list[Seen]()
    monkeypatch.setattr(ingest, "time", SimpleNamespace(monotonic=lambda: now_s))
    counts = SimpleNamespace(put_places=told.append)
    reading = _reading(ledger=SimpleNamespace(counts=counts, growths=GROWTHS))
    found = []
    for seen in looks:
        before = len(told)
        await reading._report(seen)
        found.append(len(told) > before)
        now_s += 0.5
    return found


def at(offset: int, stand: Stand = Stand.READING) -> Seen:
    """Return one partition of one feed."""
    return {"badges": {0: (offset, stand)}}


async def test_a_partition_that_is_read_is_reported_every_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However far it went, and whether it stood at its end when it was looked at."""
    looks = [at(n, Stand.END if n % 2 else Stand.READING) for n in range(9)]
    assert await _told(monkeypatch, looks) == [n in {0, 4, 8} for n in range(9)]


async def test_what_holds_a_partition_back_is_reported_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When it begins, when it is something else, and when it is over; two seconds from then on."""
    held = [
        *(at(1), at(1, Stand.TRANSACTION), at(1, Stand.TRANSACTION), at(1, Stand.CORRUPT)),
        *(at(2), at(3), at(4), at(5), at(6)),
    ]
    assert await _told(monkeypatch, held) == [
        True,
        True,
        False,
        True,
        True,
        False,
        False,
        False,
        True,
    ]


async def test_other_partitions_are_reported_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that came with a rebalance, and what is left after one."""
    both = {"badges": {0: (1, Stand.END), 1: (1, Stand.END)}}
    other = {"badges": {0: (1, Stand.END)}, "forecast": {1: (1, Stand.END)}}
    assert await _told(monkeypatch, [at(1), both, both, other, other]) == [
        True,
        True,
        False,
        True,
        False,
    ]


async def test_nothing_is_written_where_nothing_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker without a partition has nothing to say."""
    assert await _told(monkeypatch, [{}, at(1), {}, {}]) == [False, True, False, False]
