"""What is acknowledged to the MQTT broker, and when."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import aiomqtt
import pytest

from accountant.errors import DependencyError
from stream.events.mqtt_events import levels_of, template_of
from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt.intake import Intake
from stream.kafka.mqtt.page import MqttMetrics
from stream.logs.lines import Line
from stream.model.mqtt import MqttSource, Route, Sensors
from tests.support.said import Said

PAYLOADS = {
    "s/bad": b"{",
    "s/large": b"1" * 500_001,
    "s/most": b"1" + b" " * 499_999,
    "s/long": b'"' + b"x" * 200_000 + b'"',
}


class Scene:
    """What takes messages of one filter, the broker's client before it, and the disk behind it.

    Args:
        folder: of the buffer.
        topics: of the messages 1, 2, ... that the broker sends.
    """

    client, made, full = "c", False, False  # as a buffer has them

    def __init__(self, folder, topics=()):
        self.happened = []
        self.broken = False
        levels, names = levels_of("s/+who")
        fields = {"who": template_of("{topic.who}", ["who"]), "n": template_of("{payload}", [])}
        route = Route("s/+who", levels, names, fields)
        source = MqttSource(Sensors(("h", 1), "c"), "t", "who", (route,), folder / "b", 1_000)
        self.said, self.metrics = Said(), MqttMetrics(source.routes, self)
        log = self.said.log
        mqtt = Connectivity("mqtt", log)
        self.intake = Intake(source, self, mqtt, metrics=self.metrics, log=log)
        self.left = [
            aiomqtt.Message(topic, PAYLOADS.get(topic, b"1"), 1, False, mid, None)
            for mid, topic in enumerate(topics, 1)
        ]

    async def append(self, records):
        """Note the keys of what is buffered."""
        if self.broken:
            raise DependencyError("no room on the disk")
        self.happened.append([key for key, _ in records])

    async def take(self):
        """Take all messages; return what was buffered and acknowledged, in which order."""
        messages = MagicMock()
        messages.__len__.side_effect = lambda: len(self.left)
        messages.__anext__ = AsyncMock(side_effect=lambda: self.left.pop(0))
        inner = SimpleNamespace(ack=lambda *given: self.happened.append(given))
        client = SimpleNamespace(messages=messages, _client=inner)
        while self.left:
            await self.intake._take(client)
        return self.happened


@pytest.mark.parametrize(
    ("topics", "happened", "said"),
    [
        (  # what is no event is told of once
            ["s/a", "s/bad", "other", "s/bad", "s/b"],
            [[b"a", b"b"], *((mid, 1) for mid in range(1, 6))],
            [Line.UNFIT],
        ),
        # one that is too large, by the byte, would come again for ever
        (["s/large", "s/most"], [[b"most"], (1, 1), (2, 1)], [Line.TOO_LARGE]),
        (  # not more at once than fits into the smallest buffer
            ["s/a", "s/long", "s/most", "s/b"],
            [[b"a", b"long"], (1, 1), (2, 1), [b"most", b"b"], (3, 1), (4, 1)],
            [],
        ),
    ],
)
async def test_messages_are_acknowledged_after_the_disk_has_them(tmp_path, topics, happened, said):
    """In the order of their coming, also those that are no event."""
    scene = Scene(tmp_path, topics)
    assert await scene.take() == happened
    assert scene.said.events == said
    assert all(line["filter"] == "s/+who" for line in scene.said.lines)


async def test_nothing_is_acknowledged_that_the_disk_does_not_take(tmp_path):
    """The process ends instead."""
    scene = Scene(tmp_path, ["s/a", "s/b"])
    scene.broken = True
    with pytest.raises(DependencyError):
        await scene.take()
    assert scene.happened == []


@pytest.mark.parametrize(("code", "said"), [(0x8E, [Line.TAKEN_OVER]), (0x80, [])])
async def test_a_session_that_another_client_took_is_said(tmp_path, code, said):
    """Where the broker says so; a connection that broke is something else."""
    scene = Scene(tmp_path)
    told = scene.intake._client()._client.on_disconnect
    told(None, None, None, code)
    assert scene.said.events == said
    lost = scene.metrics.registry.get_sample_value("tocsin_mqtt_session_lost_timestamp_seconds")
    assert bool(lost) == bool(said)


def test_mqtt_without_its_client_names_the_extra(monkeypatch):
    """The client comes with an extra; without it one is told which."""
    monkeypatch.delitem(sys.modules, "stream.kafka.mqtt.intake")
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    with pytest.raises(DependencyError, match=r"tocsin\[mqtt\]"):
        importlib.import_module("stream.kafka.mqtt.intake")
