"""What is news of a dependency that goes away and comes back, and of a blocked partition."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock

import pytest
from aiokafka import TopicPartition

from accountant.records import Stand
from stream.kafka.connectivity import Connectivity, Dependencies
from stream.kafka.positions import Blocked
from stream.logs.lines import Line
from stream.model.alarms import KafkaSettings
from tests.support.said import Said


def test_a_line_when_it_goes_and_one_when_it_is_back():
    """However often it is missed; each time it goes is news, also within the same minute."""
    said, now_s = Said(), 5000.0
    kafka = Connectivity("kafka", said.log, lambda: now_s)
    for _ in range(2):
        kafka.found()
        for _ in range(1401):
            kafka.missed(ConnectionError())
            now_s += 0.1
        assert kafka.unreachable_s
        kafka.found()
        assert not kafka.unreachable_s
    assert [(line["event"], line.get("unreachable_s")) for line in said.lines] == [
        (Line.UNREACHABLE, None),
        (Line.BACK, 140),
    ] * 2


async def test_a_broker_that_is_not_there_is_missed(monkeypatch):
    """Whoever looks for Kafka never fails, and looks again until it is cancelled."""
    said = Said()
    dependencies = Dependencies(said.log)
    nobody = KafkaSettings("127.0.0.1:1", "group", "a", "b", "c", "d", {})
    sleep = AsyncMock(side_effect=[None, None, asyncio.CancelledError])
    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "sleep", sleep)
        with pytest.raises(asyncio.CancelledError):
            await dependencies.look_for_kafka(nobody)
    assert dependencies.kafka.unreachable_s
    (line,) = said.lines
    assert (line["dependency"], line["error"]) == ("kafka", "KafkaConnectionError")


@pytest.mark.parametrize("stand", [Stand.TRANSACTION, Stand.CORRUPT, Stand.UNREACHABLE])
def test_a_partition_that_is_blocked_is_named_within_a_minute(stand):
    """A transaction that commits after seconds is not; what stays is told of once."""
    said, now_s = Said(), 500.0
    blocked = Blocked(said.log, lambda: now_s)
    for second in range(200):
        now_s += 1
        # Passing at first; from the 20th second on it stays for two minutes.
        stuck = second % 9 > 0 if second < 20 else second < 150
        blocked.see(TopicPartition("badges", 1), stand if stuck else Stand.READING)
    place = {"topic": "badges", "partition": 1}  # no offset: it would count records
    held = {"level": "warning", "event": Line.BLOCKED, **place, "state": stand.value}
    assert said.lines == [held, {"level": "info", "event": Line.READ_ON, **place}]
