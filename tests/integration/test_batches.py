"""Batches as producers pack them: every codec counts."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaProducer

from stream.logs.lines import Line
from tests.support.hostile import WINDOW_MS
from tests.support.oracle import add_up
from tests.support.scenario import ROOMS, Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_EACH = 8  # people a codec


@pytest.fixture
def scenario(broker: Broker, tmp_path: Path) -> Iterator[Scenario]:
    """A worker that counts two partitions."""
    made = Scenario(
        broker,
        tmp_path / "batches",
        f"batches-{time.monotonic_ns()}",
        f"sqlite:///{tmp_path}/batches.db",
    )
    try:
        made.create_topics()
        made.start_worker()
        wait_until("a worker counts", lambda: bool(made.done("partial")))
        yield made
    finally:
        made.stop()


def test_every_codec_is_counted(scenario: Scenario) -> None:
    """Batches of all codecs lie side by side in one log, and every person in them counts."""
    start_ms = _send_in_one_window(scenario, _CODECS)
    wait_until("the window is counted", lambda: _partitions_of(scenario, start_ms) == {0, 1})
    counted = add_up(scenario.done("partial"))[start_ms]
    assert counted == (len(_CODECS) * _EACH // len(ROOMS),) * len(ROOMS)
    assert scenario.workers[0].alive
    assert Line.FAILED not in scenario.workers[0].text()


def _send_in_one_window(scenario: Scenario, codecs: tuple[str, ...]) -> int:
    """Send people of every codec, all in time for one window; return its start (ms)."""
    while True:
        now_ms = int(time.time() * 1000)
        start_ms = now_ms // WINDOW_MS * WINDOW_MS + WINDOW_MS
        time.sleep((start_ms + 100 - now_ms) / 1000)
        for codec in codecs:
            people = {f"{codec}-{start_ms}-{number}": number for number in range(_EACH)}
            events = [
                {"person": one, "event": one, "room": ROOMS[number % len(ROOMS)], "ts": start_ms}
                for one, number in people.items()
            ]
            asyncio.run(_send(scenario, codec, events))
        if time.time() * 1000 < start_ms + WINDOW_MS:
            return start_ms


async def _send(scenario: Scenario, codec: str, events: list[dict[str, Any]]) -> None:
    """Send events packed by one codec."""
    async with AIOKafkaProducer(
        bootstrap_servers=scenario.broker.bootstrap,
        compression_type=None if codec == "none" else codec,
        linger_ms=50,
    ) as producer:
        sent = [
            await producer.send(
                scenario.topic, json.dumps(event).encode(), key=event["person"].encode()
            )
            for event in events
        ]
        await asyncio.gather(*sent)


def _partitions_of(scenario: Scenario, start_ms: int) -> set[int]:
    found = scenario.done("partial")
    return {one["partition"] for one in found if one["start_ms"] == start_ms}
