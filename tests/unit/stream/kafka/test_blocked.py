"""Partitions that are blocked: named when it is no passing matter, and when it has ended."""

from __future__ import annotations

import io
import json

import pytest
from aiokafka import TopicPartition

from accountant.records import Stand
from stream.kafka.positions import Blocked
from stream.logs.lines import Line, Log
from stream.logs.settings import Form, Level, LogSettings

PLACE = TopicPartition("badges", 1)


@pytest.mark.parametrize("stand", [Stand.TRANSACTION, Stand.CORRUPT, Stand.UNREACHABLE])
def test_what_is_blocked_is_named_within_a_minute(stand: Stand) -> None:
    """A transaction that commits after seconds is not; what stays is told once a minute."""
    now_s = 500.0
    stream = io.StringIO()
    held = Blocked(Log(stream, LogSettings(Level.INFO, Form.JSON)), lambda: now_s)
    for second in range(200):
        now_s += 1
        # Passing at first; from the 20th second on it stays for two minutes.
        stuck = second % 9 > 0 if second < 20 else second < 150
        held.see(PLACE, stand if stuck else Stand.READING)
    said = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [one["event"] for one in said] == [Line.BLOCKED] * 3 + [Line.READ_ON]
    assert [(one["topic"], one["partition"]) for one in said] == [("badges", 1)] * 4
    assert not any("offset" in one for one in said), "it would count records"
    assert [one.get("state") for one in said] == [stand.value] * 3 + [None]
