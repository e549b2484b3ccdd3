"""What is acknowledged to the MQTT broker, and when."""

from __future__ import annotations

import asyncio
import builtins
import importlib
import io
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiomqtt
import pytest

from accountant.errors import DependencyError
from stream.events.mqtt_events import levels_of, template_of
from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt.intake import Intake
from stream.kafka.mqtt.page import MqttMetrics
from stream.kafka.mqtt.session import Session
from stream.kafka.mqtt.store import unpacked
from stream.logs.lines import Line, Log
from stream.model.mqtt import MqttSource, Route, Sensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


PAYLOADS = {"s/bad": b"{", "s/large": b"1" * 500_001, "s/most": b"1" + b" " * 499_999}


class Messages:
    """What the broker sent."""

    def __init__(self, messages: Sequence[aiomqtt.Message]) -> None:
        self._messages = list(messages)

    def __len__(self) -> int:
        """Return how many are left."""
        return len(self._messages)

    async def __anext__(self) -> aiomqtt.Message:
        """Return the next one."""
        return self._messages.pop(0)


class Disk:
    """A store that notes what happens, with room for some records at a time.

    Args:
        events: where it notes it.
        most: records it has room for.
        broken: whether it takes nothing.
    """

    def __init__(self, events: list[Any], most: int, *, broken: bool) -> None:
        self._events, self._most, self._broken = events, most, broken

    def fits(self, bodies: Sequence[bytes]) -> bool:
        """Tell whether there is room."""
        return len(bodies) <= self._most

    async def room(self, _body: bytes) -> None:
        """Note that somebody waits."""
        self._events.append("room")

    async def append(self, bodies: Sequence[bytes]) -> None:
        """Note the keys."""
        if self._broken:
            raise DependencyError("no room on the disk")
        self._events.append([unpacked(body)[0] for body in bodies])


def source(folder: Path) -> MqttSource:
    """Return an MQTT source of one filter."""
    levels, names = levels_of("s/+who")
    fields = {"who": template_of("{topic.who}", ["who"]), "n": template_of("{payload}", [])}
    route = Route("s/+who", levels, names, fields)
    return MqttSource(Sensors(("h", 1), "c"), "t", "who", (route,), folder / "b", 1_000)


def taken(
    folder: Path, topics: Sequence[str], most: int, said: io.StringIO, *, broken: bool = False
) -> list[Any]:
    """Take messages 1, 2, ... of topics, and return what happened in which order."""
    events: list[Any] = []
    messages = [
        aiomqtt.Message(topic, PAYLOADS.get(topic, b"1"), 1, False, mid, None)
        for mid, topic in enumerate(topics, 1)
    ]

    def ack(mid: int, qos: int) -> None:
        events.append((mid, qos))

    client = SimpleNamespace(messages=Messages(messages), _client=SimpleNamespace(ack=ack))
    log, metrics = Log(said), MqttMetrics(source(folder).routes)
    disk: Any = Disk(events, most, broken=broken)
    session = Session(folder / "session", "c")
    intake = Intake(
        source(folder), disk, session, Connectivity("mqtt", log), metrics=metrics, log=log
    )
    try:
        asyncio.run(intake._take(client))  # type: ignore[arg-type]
    except DependencyError:
        events.append("ended")
    return events


def test_messages_are_acknowledged_after_the_disk_has_them(tmp_path: Path) -> None:
    """In the order of their coming; what is no event goes with them and is told of once."""
    said = io.StringIO()
    topics = ["s/a", "s/bad", "other", "s/bad", "s/b"]
    events = taken(tmp_path, topics, 9, said)
    assert events == [[b"a", b"b"], *((mid, 1) for mid in range(1, 6))]
    assert said.getvalue().count(Line.UNFIT) == 1
    assert "filter=s/+who" in said.getvalue() or 'filter="s/+who"' in said.getvalue()


def test_a_message_too_large_is_named_and_acknowledged(tmp_path: Path) -> None:
    """By the byte; it would come again for ever."""
    said = io.StringIO()
    events = taken(tmp_path, ["s/large", "s/most"], 9, said)
    assert events == [[b"most"], (1, 1), (2, 1)]
    assert said.getvalue().count(Line.TOO_LARGE) == 1


def test_what_has_no_room_waits_without_an_acknowledgement(tmp_path: Path) -> None:
    """The broker keeps the rest until there is room."""
    events = taken(tmp_path, ["s/a", "s/b", "s/c"], 2, io.StringIO())
    assert events == [[b"a", b"b"], (1, 1), (2, 1), "room", [b"c"], (3, 1)]


def test_nothing_is_acknowledged_that_the_disk_does_not_take(tmp_path: Path) -> None:
    """The process ends instead."""
    assert taken(tmp_path, ["s/a", "s/b"], 9, io.StringIO(), broken=True) == ["ended"]


@pytest.mark.parametrize(("code", "said"), [(0x8E, 1), (0x80, 0)])
def test_a_session_that_another_client_took_is_said(tmp_path: Path, code: int, said: int) -> None:
    """Where the broker says so; a connection that broke is something else."""
    lines = io.StringIO()
    log, metrics = Log(lines), MqttMetrics([])

    async def story() -> None:
        session, disk = Session(tmp_path / "session", ""), Disk([], 1, broken=False)
        intake = Intake(
            source(tmp_path), disk, session, Connectivity("mqtt", log), metrics=metrics, log=log
        )  # type: ignore[arg-type]
        told: Any = intake._client()._client.on_disconnect
        told(None, None, None, code)

    asyncio.run(story())
    assert lines.getvalue().count(Line.TAKEN_OVER) == said
    lost_s = metrics.registry.get_sample_value("tocsin_mqtt_session_lost_timestamp_seconds")
    assert bool(lost_s) == bool(said)


def test_mqtt_without_its_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client comes with an extra; without it one is told which."""
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "aiomqtt":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "stream.kafka.mqtt.intake")
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(DependencyError, match=r"tocsin\[mqtt\]"):
        importlib.import_module("stream.kafka.mqtt.intake")
