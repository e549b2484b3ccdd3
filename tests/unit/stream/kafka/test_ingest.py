"""The ingest loop over rebalances, against a consumer that behaves as aiokafka's does there."""

from __future__ import annotations

import asyncio
import io
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, call

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError

from accountant.costs.charges import WindowKey
from accountant.layouts import Growth, Layouts
from accountant.records import PartialStatus, Stand
from stream.config.loading import load
from stream.events.records import Record, Records
from stream.kafka import ingest
from stream.kafka.columns import as_columns
from stream.kafka.ingest import Assigned
from stream.kafka.positions import Bounds
from stream.logs.lines import Log
from stream.model.feeds import Clock
from tests.support.commands import configuration

PARTITION, OTHER = (TopicPartition("badges", number) for number in range(2))
FEED = SimpleNamespace(name="badges", clock=Clock.APPEND_TIME, idle_partition_timeout_ms=0)
LAYOUTS = Layouts(1)
RECORD = Records.of([Record(7, 0, log_append=True, value=b"")])
READING, END, OPEN, CORRUPT = Stand.READING, Stand.END, Stand.TRANSACTION, Stand.CORRUPT


class _Consumer:
    """Forgets every position when its assignment is replaced, and waits for one until a seek."""

    def __init__(self):
        self.seeks = 0
        self.positioned = asyncio.Event()
        self.fetches = []
        self.asked_s = []
        self.fetching = asyncio.get_running_loop().create_future()
        self._fetcher = SimpleNamespace(error_future=self.fetching)

    def assignment(self):
        return {PARTITION}

    def seek(self, _partition, _offset):
        self.seeks += 1
        self.positioned.set()

    async def position(self, _partition):
        await self.positioned.wait()
        return 0

    async def getmany(self, *wanted, **_):
        await asyncio.sleep(0.01)
        if wanted != (PARTITION,):
            assert wanted == (TopicPartition("", 0),)
            return {}
        self.asked_s.append(asyncio.get_running_loop().time() - 0.01)
        return {PARTITION: self.fetches.pop(0)} if self.fetches else {}


def _reader(on_read=None):
    """Return a reader with a window that is due; it does something when it reads."""
    completed = asyncio.Event()
    return SimpleNamespace(
        newest_append_ms=0,
        layouts=LAYOUTS,
        completed=completed,
        oldest_open_cut_ms=lambda: 0,
        read=on_read,
        partials=list,
        arrived_through=lambda _: completed.set(),
    )


def _reading(reader=None, position=0, **world):
    """Return a loop over a world that takes everything and says nothing.

    Args:
        reader: of the one partition that it reads from a position on; ``None`` for none.
        position: offset of the next record.
        world: what matters of the runtime.
    """
    runtime = MagicMock(**{"ledger.growths.layouts.return_value": {"badges": LAYOUTS}})
    runtime.configure_mock(**world)
    reading = ingest.Ingest(runtime, ring=AsyncMock(), log=Log(io.StringIO()))
    if reader is not None:
        reading.assigned[PARTITION] = Assigned(FEED, reader, position)
    return reading


async def _until(loop, *events):
    """Run a loop until all of these have happened."""
    task = asyncio.create_task(loop)
    for event in events:
        await event.wait()
    task.cancel()
    await asyncio.wait([task])


async def test_a_partition_that_goes_while_it_is_opened_is_forgotten():
    """Nobody else would say that it is another worker's."""
    reading = _reading()
    reading._feeds["badges"] = FEED
    reading._opening[OTHER] = asyncio.create_task(asyncio.sleep(60))
    reading._take_over(_Consumer())
    told = reading._runtime.metrics.partitions.unassigned.mock_calls
    assert (told, reading._opening) == ([call("badges", 1)], {})


@pytest.mark.parametrize("while_reading", [True, False])
async def test_rebalance_never_leaves_the_loop_waiting_for_a_position(
    monkeypatch, *, while_reading
):
    """A rebalance during a read, or unmarked as yet, ends in a seek and not in a wait for ever."""
    monkeypatch.setattr(ingest, "_POSITION_S", 0.05)
    reader, consumer = _reader(), _Consumer()
    reading = _reading(reader)
    partitions, loop = reading._runtime.metrics.partitions, asyncio.get_running_loop()
    told_before = []

    def rebalance(*_):
        if not told_before:
            told_before.append(partitions.shared_out.called)
            consumer.positioned.clear()
            if while_reading:
                reading.on_partitions_assigned([PARTITION])
            else:  # the assignment is live before its callback
                loop.call_later(0.01, reading.on_partitions_assigned, [PARTITION])

    def bounds(_partition):
        if not while_reading:
            rebalance()
        return Bounds(1, 0, 0)

    reader.read, reading._bounds = rebalance, SimpleNamespace(get=bounds)
    if while_reading:
        consumer.fetches = [[RECORD]]
    await _until(reading._loop(consumer, None), reader.completed)
    assert consumer.seeks >= 2
    assert told_before == [False]  # nobody knows its share before the first assignment


async def test_a_damaged_batch_stops_its_partition_and_not_the_worker(monkeypatch):
    """Its partition rests for a while and is tried again, and the custodian is told both times."""
    for name, value in (("_AGAIN_S", 0.05), ("_POLL_MS", 1), ("_LOOK_S", 0.0)):
        monkeypatch.setattr(ingest, name, value)
    stands = []
    loop, read, read_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def tell(_feed, _number, stand, *_):
        stands.append(stand)
        if stand is not stands[0]:
            read_on.set()

    reader = _reader(lambda _: loop.call_soon_threadsafe(read.set))
    reading = _reading(reader, 7, **{"metrics.partitions.told": tell})
    reading._bounds[PARTITION] = Bounds(1, 9, 9)
    consumer = _Consumer()
    consumer.fetches = [[None], [RECORD]]
    await _until(reading._loop(consumer, None), read, read_on)
    assert consumer.asked_s[1] - consumer.asked_s[0] >= 0.05
    assert [stand for stand, _ in groupby(stands)] == [CORRUPT, READING]


async def test_a_spare_worker_fetches_and_hears_of_errors():
    """Otherwise aiokafka leaves the group, and keeps an error of the group's to itself."""
    consumer = AIOKafkaConsumer(group_id="g", **as_columns())
    errors = Mock(side_effect=[None, None, GroupAuthorizationFailedError])
    consumer._coordinator = SimpleNamespace(check_errors=errors, close=AsyncMock())
    spare = consumer._subscription
    spare.subscribe({"badges"})
    spare.assign_from_subscribed([])
    consumer._fetcher = Fetcher(consumer._client, spare)
    with pytest.raises(GroupAuthorizationFailedError):
        async with asyncio.timeout(60):  # who does not fetch never hears
            await _reading()._loop(consumer, None)
    await consumer.stop()
    assert spare.fetcher_idle_time < 1


async def test_a_fetcher_that_died_is_noticed():
    """The error that ended aiokafka's background task comes out; a silent end is an error too."""
    failed, ended = _Consumer(), _Consumer()
    ingest._alive(failed)
    failed.fetching.set_exception(RuntimeError("gone"))
    with pytest.raises(RuntimeError, match="gone"):
        ingest._alive(failed)
    ended.fetching.set_result(None)
    with pytest.raises(KafkaError):
        ingest._alive(ended)


def test_a_feed_that_no_alarm_reads_is_not_fetched(tmp_path):
    """It has no window to begin at: reading it would stop the worker."""
    plain = Path(configuration(tmp_path))
    other = "  spare: {topic: spare, time: ts, unit: p, fields: {p: string, ts: timestamp}}\n"
    text = plain.read_text().replace("    history: {from: 1970-01-01, until: 1970-01-02}\n", other)
    plain.write_text("kafka: {bootstrap: 127.0.0.1:9}\n" + text)
    alarms = load(plain, environ={})
    assert [feed.name for feed in _reading(alarms=alarms)._feeds.values()] == ["badges"]
    assert set(alarms.feeds) == {"badges", "spare"}


async def test_a_reader_that_does_not_know_of_a_growth_is_let_go():
    """It is opened again, at the oldest undecided window; one that knows reads on."""
    reading = _reading(_reader())
    await reading._follow_growths()
    assert set(reading.assigned) == {PARTITION}
    grown = Layouts(1, (Growth("badges", 2, 1, 5, None, 0),))
    reading._runtime.ledger.growths.layouts.return_value = {"badges": grown}
    await reading._follow_growths()
    assert not reading.assigned


async def test_a_count_that_the_ledger_calls_stale_is_made_again():
    """Nothing behind it is stored, nobody is woken up, and the partition is opened again."""
    statuses = [PartialStatus.STORED, PartialStatus.STALE]
    partials = [SimpleNamespace(key=WindowKey(5 * n + 5, "crowd", 5 * n)) for n in range(3)]
    reading = _reading(_reader(), **{"ledger.counts.put_partial.side_effect": statuses})
    await reading._store(PARTITION, reading.assigned[PARTITION].reader, partials)
    assert not reading.assigned
    assert reading._ring.mock_calls == [call("crowd")]
    stored = reading._runtime.ledger.counts.put_partial.mock_calls
    assert stored == [call(one) for one in partials[:2]]


def _at(*stands):
    """Return looks at one partition, which goes on meanwhile."""
    return [{"badges": {0: (offset, stand)}} for offset, stand in enumerate(stands)]


BOTH = {"badges": {0: (1, END), 1: (1, END)}}
MOVED = {"badges": {0: (1, END)}, "forecast": {1: (1, END)}}


@pytest.mark.parametrize(
    ("looks", "told"),
    [
        (_at(READING, END, READING, END, READING, END, READING, END, READING), "x...x...x"),
        (_at(READING, OPEN, OPEN, CORRUPT, READING, END, END, END, END), "xx.xx...x"),
        ([*_at(READING), BOTH, BOTH, MOVED, MOVED], "xx.x."),
        ([{}, *_at(READING), {}, {}], ".x.."),
    ],
    ids=["read", "blocked", "other partitions", "none"],
)
async def test_the_ledger_is_told_every_two_seconds_and_at_once_of_news(monkeypatch, looks, told):
    """What blocks a partition and ends to, and a rebalance are; looks are half a second apart."""
    now_s = 100.0
    monkeypatch.setattr(ingest, "time", SimpleNamespace(monotonic=lambda: now_s))
    reading = _reading()
    put, found = reading._runtime.ledger.counts.put_places, ""
    for look in looks:
        put.reset_mock()
        await reading._report(look)
        found += "x" if put.called else "."
        now_s += 0.5
    assert found == told
