"""A dependency that goes away and comes back: what is news of it."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any
from unittest.mock import AsyncMock

import pytest

from stream.kafka.connectivity import Connectivity, Dependencies
from stream.logs.lines import Line, Log
from stream.logs.settings import Form, Level, LogSettings
from stream.model.alarms import KafkaSettings


class Watched:
    """A dependency, a clock and the log."""

    def __init__(self) -> None:
        self.now_s = 5000.0
        self.stream = io.StringIO()
        self.log = Log(self.stream, LogSettings(Level.INFO, Form.JSON))
        self.kafka = Connectivity("kafka", self.log, lambda: self.now_s)

    def said(self) -> list[tuple[str, int | None]]:
        """Return the sentences so far, and for how long it was away by then."""
        return [(line["event"], line.get("unreachable_s")) for line in self.lines()]

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines so far."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


def test_a_line_when_it_goes_one_a_minute_one_when_it_is_back() -> None:
    """However often it is missed.

    ::

    missed  ||||||||||||||||||||||||||||||||
    said    away      still      still       back
            |-- 60 s --|-- 60 s --|
    """
    watched = Watched()
    watched.kafka.found()
    for _ in range(1401):
        watched.kafka.missed(ConnectionError())
        watched.now_s += 0.1
    assert watched.kafka.unreachable_s
    watched.kafka.found()
    watched.kafka.found()
    assert not watched.kafka.unreachable_s
    assert watched.said() == [
        (Line.UNREACHABLE, None),
        (Line.STILL_UNREACHABLE, 60),
        (Line.STILL_UNREACHABLE, 120),
        (Line.BACK, 140),
    ]


def test_each_time_it_goes_is_news() -> None:
    """Also within the same minute."""
    watched = Watched()
    for _ in range(3):
        watched.kafka.missed(ConnectionError())
        watched.kafka.found()
    assert [event for event, _ in watched.said()] == [Line.UNREACHABLE, Line.BACK] * 3


async def test_a_broker_that_is_not_there_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for Kafka never fails, and looks again until it is cancelled."""
    watched = Watched()
    dependencies = Dependencies(watched.log)
    nobody = KafkaSettings("127.0.0.1:1", "group", "a", "b", "c", "d", {})
    sleep = AsyncMock(side_effect=[None, None, asyncio.CancelledError])
    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "sleep", sleep)
        with pytest.raises(asyncio.CancelledError):
            await dependencies.look_for_kafka(nobody)
    assert dependencies.kafka.unreachable_s
    (line,) = watched.lines()
    assert (line["dependency"], line["error"]) == ("kafka", "KafkaConnectionError")
