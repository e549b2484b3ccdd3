"""What is acknowledged to the MQTT broker, and when."""

from __future__ import annotations

import asyncio
import importlib
import io
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock, MagicMock

import aiomqtt
import pytest

from accountant.errors import DependencyError
from stream.events.mqtt_events import levels_of, template_of
from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt.intake import Intake
from stream.kafka.mqtt.page import MqttMetrics
from stream.logs.lines import Line, Log
from stream.model.mqtt import MqttSource, Route, Sensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


PAYLOADS = {
    "s/bad": b"{",
    "s/large": b"1" * 500_001,
    "s/most": b"1" + b" " * 499_999,
    "s/long": b'"' + b"x" * 200_000 + b'"',
}


class Disk:
    """A buffer that notes what it takes.

    Args:
        events: where it notes it.
        broken: whether it takes nothing.
    """

    client, made, full = "c", False, False

    def __init__(self, events: list[Any], *, broken: bool = False) -> None:
        self._events, self._broken = events, broken

    async def append(self, records: Sequence[tuple[bytes, bytes]]) -> None:
        """Note the keys."""
        if self._broken:
            raise DependencyError("no room on the disk")
        self._events.append([key for key, _ in records])


def source(folder: Path) -> MqttSource:
    """Return an MQTT source of one filter."""
    levels, names = levels_of("s/+who")
    fields = {"who": template_of("{topic.who}", ["who"]), "n": template_of("{payload}", [])}
    route = Route("s/+who", levels, names, fields)
    return MqttSource(Sensors(("h", 1), "c"), "t", "who", (route,), folder / "b", 1_000)


def intake_of(folder: Path, disk: Any) -> tuple[Intake, MqttMetrics, io.StringIO]:
    """Return what takes messages, its metrics, and what it says."""
    said, metrics = io.StringIO(), MqttMetrics(source(folder).routes, disk)
    log = Log(said)
    mqtt = Connectivity("mqtt", log)
    return Intake(source(folder), disk, mqtt, metrics=metrics, log=log), metrics, said


def taken(
    folder: Path, topics: Sequence[str], *, broken: bool = False, times: int = 1
) -> tuple[list[Any], str]:
    """Take messages 1, 2, ... of topics; return what happened in which order, and was said."""
    events: list[Any] = []
    messages = [
        aiomqtt.Message(topic, PAYLOADS.get(topic, b"1"), 1, False, mid, None)
        for mid, topic in enumerate(topics, 1)
    ]

    def ack(mid: int, qos: int) -> None:
        events.append((mid, qos))

    left = MagicMock()
    left.__len__.side_effect = lambda: len(messages)
    left.__anext__ = AsyncMock(side_effect=lambda: messages.pop(0))
    client = SimpleNamespace(messages=left, _client=SimpleNamespace(ack=ack))
    intake, _, said = intake_of(folder, Disk(events, broken=broken))
    try:
        for _ in range(times):
            asyncio.run(intake._take(client))  # type: ignore[arg-type]
    except DependencyError:
        events.append("ended")
    return events, said.getvalue()


def test_messages_are_acknowledged_after_the_disk_has_them(tmp_path: Path) -> None:
    """In the order of their coming; what is no event goes with them and is told of once."""
    events, said = taken(tmp_path, ["s/a", "s/bad", "other", "s/bad", "s/b"])
    assert events == [[b"a", b"b"], *((mid, 1) for mid in range(1, 6))]
    assert said.count(Line.UNFIT) == 1
    assert "filter=s/+who" in said.replace('"', "")


def test_a_message_too_large_is_named_and_acknowledged(tmp_path: Path) -> None:
    """By the byte; it would come again for ever."""
    events, said = taken(tmp_path, ["s/large", "s/most"])
    assert events == [[b"most"], (1, 1), (2, 1)]
    assert said.count(Line.TOO_LARGE) == 1


def test_not_more_is_taken_at_once_than_fits_into_the_smallest_buffer(tmp_path: Path) -> None:
    """The broker keeps the rest until there is room."""
    events, _ = taken(tmp_path, ["s/a", "s/long", "s/most", "s/b"], times=2)
    assert events == [[b"a", b"long"], (1, 1), (2, 1), [b"most", b"b"], (3, 1), (4, 1)]


def test_nothing_is_acknowledged_that_the_disk_does_not_take(tmp_path: Path) -> None:
    """The process ends instead."""
    assert taken(tmp_path, ["s/a", "s/b"], broken=True)[0] == ["ended"]


@pytest.mark.parametrize(("code", "said"), [(0x8E, 1), (0x80, 0)])
async def test_a_session_that_another_client_took_is_said(
    tmp_path: Path, code: int, said: int
) -> None:
    """Where the broker says so; a connection that broke is something else."""
    intake, metrics, lines = intake_of(tmp_path, Disk([]))
    told: Any = intake._client()._client.on_disconnect
    told(None, None, None, code)
    assert lines.getvalue().count(Line.TAKEN_OVER) == said
    lost_s = metrics.registry.get_sample_value("tocsin_mqtt_session_lost_timestamp_seconds")
    assert bool(lost_s) == bool(said)


def test_mqtt_without_its_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client comes with an extra; without it one is told which."""
    monkeypatch.delitem(sys.modules, "stream.kafka.mqtt.intake")
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    with pytest.raises(DependencyError, match=r"tocsin\[mqtt\]"):
        importlib.import_module("stream.kafka.mqtt.intake")
