"""The ingest loop over rebalances, against a consumer that behaves as aiokafka's does there."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from stream.config.loading import load
from stream.decisions.steps import no_step
from stream.kafka import ingest
from stream.model.feeds import Clock
from tests.support.commands import configuration
from tests.support.waiting import PATIENCE_S

PARTITION = TopicPartition("badges", 0)


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

    async def getmany(self, **_: Any) -> dict[TopicPartition, list[Any]]:
        await asyncio.sleep(0.01)
        records, self.records = self.records, []
        return {PARTITION: records} if records else {}


class _Reader:
    """Always has a window that is due; does something when it reads."""

    def __init__(self, on_read: Any) -> None:
        self.on_read = on_read
        self.completed = asyncio.Event()

    def oldest_open_cut_ms(self) -> int:
        return 0

    def read(self, _records: Any) -> None:
        self.on_read()

    def partials(self) -> list[Any]:
        return []

    def arrived_through(self, _time_ms: int) -> None:
        self.completed.set()


async def _loop_through_rebalance(*, while_reading: bool) -> None:
    feed: Any = SimpleNamespace(name="badges", clock=Clock.APPEND_TIME, idle_margin_ms=0)
    metrics = SimpleNamespace(events_read=lambda *_: None, lag=lambda *_: None)
    runtime: Any = SimpleNamespace(
        alarms=SimpleNamespace(feeds={}, queries={}, kafka=object(), file=""),
        metrics=metrics,
        clock_ms=lambda: 1,
        step=no_step,
    )

    async def ring(_query: str) -> None:
        """Ring nowhere."""

    reading = ingest.Ingest(runtime, identities={}, ring=ring)
    consumer = _Consumer()
    listener = reading._listener
    loop = asyncio.get_running_loop()
    rebalanced = False

    def rebalance() -> None:
        nonlocal rebalanced
        if not rebalanced:
            rebalanced = True
            consumer.positioned.clear()
            if while_reading:
                listener.on_partitions_assigned([PARTITION])
            else:  # the assignment is live before its callback
                loop.call_later(0.01, listener.on_partitions_assigned, [PARTITION])

    class Probe:
        async def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
            if not while_reading:
                rebalance()
            return dict.fromkeys(partitions, 0)

    reader: Any = _Reader(rebalance)
    reading._assigned[PARTITION] = ingest._Assigned(feed, reader, 0)
    if while_reading:
        consumer.records = [
            SimpleNamespace(offset=0, timestamp=0, timestamp_type=1, value=b"", headers=())
        ]
    task = asyncio.create_task(reading._loop(consumer, Probe()))
    try:
        await asyncio.wait_for(reader.completed.wait(), PATIENCE_S)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    assert consumer.seeks >= 2


@pytest.mark.parametrize("while_reading", [True, False])
def test_rebalance_never_leaves_the_loop_waiting_for_a_position(
    monkeypatch: pytest.MonkeyPatch, *, while_reading: bool
) -> None:
    """A rebalance during a read, or unmarked as yet, ends in a seek and not in a wait for ever."""
    monkeypatch.setattr(ingest, "_POSITION_S", 0.05)
    asyncio.run(_loop_through_rebalance(while_reading=while_reading))


def test_a_fetcher_that_died_is_noticed() -> None:
    """The error that ended aiokafka's background task comes out; a silent end is an error too."""

    async def look() -> None:
        consumer = _Consumer()
        ingest._alive(consumer)
        consumer.fetching.set_exception(RuntimeError("gone"))
        with pytest.raises(RuntimeError, match="gone"):
            ingest._alive(consumer)
        consumer = _Consumer()
        consumer.fetching.set_result(None)
        with pytest.raises(KafkaError):
            ingest._alive(consumer)

    asyncio.run(look())


def test_a_feed_that_no_alarm_reads_is_not_fetched(tmp_path: Path) -> None:
    """It has no window to begin at: reading it would stop the worker."""
    plain = Path(configuration(tmp_path))
    other = "  spare: {topic: spare, time: ts, unit: p, fields: {p: string, ts: timestamp}}\n"
    text = plain.read_text().replace("    history: {from: 1970-01-01, until: 1970-01-02}\n", other)
    plain.write_text("kafka: {bootstrap: 127.0.0.1:9}\n" + text)
    runtime: Any = SimpleNamespace(alarms=load(plain, environ={}))

    async def ring(_query: str) -> None:
        """Ring nowhere."""

    reading = ingest.Ingest(runtime, identities={}, ring=ring)
    assert [feed.name for feed in reading._feeds.values()] == ["badges"]
    assert set(runtime.alarms.feeds) == {"badges", "spare"}
