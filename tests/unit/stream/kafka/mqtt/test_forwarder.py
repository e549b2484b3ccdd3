"""What is acknowledged to the MQTT broker, and when."""

from __future__ import annotations

import asyncio
import importlib
import sys
from contextlib import asynccontextmanager
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import aiomqtt
import pytest
from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError, MessageSizeTooLargeError

from accountant.errors import DependencyError
from stream.events.mqtt_events import levels_of, template_of
from stream.kafka.connectivity import Connectivity
from stream.kafka.mqtt import forwarder
from stream.kafka.mqtt.forwarder import Forwarder
from stream.kafka.mqtt.page import MqttMetrics
from stream.logs.lines import Line
from stream.logs.settings import LogSettings
from stream.model.alarms import KafkaSettings
from stream.model.mqtt import MqttSetup, Route, Sensors
from tests.support.said import Said

PAYLOADS = {
    "s/bad": b"{",
    "s/large": b"1" * 500_001,
    "s/most": b"1" + b" " * 499_999,
    "s/vast": b'"%08000d"' % 1,
}
NUMBER = 24_472_803
"""Of the filter s/+: with another one, what waits in sessions would be dropped."""
NUMBERS = {"s/old": [7], "s/both": [7, NUMBER]}
LOST = "tocsin_mqtt_session_lost_timestamp_seconds"


class Scene:
    """What takes messages of one filter, the broker's client before it, and Kafka behind it.

    Args:
        topics: of the messages 1, 2, ... that the broker sends.
        outcomes: of producers, one after the other: an error that it starts with, or else the keys
            of the records that Kafka refuses; of those with a ! nothing is heard.
    """

    def __init__(self, topics=(), outcomes=()):
        self.happened = []
        self.outcomes = list(outcomes)
        levels, places = levels_of("s/+who")
        fields = {"who": template_of("{topic.who}", places), "n": template_of("{payload}", places)}
        route = Route("s/+who", levels, fields)
        kafka = KafkaSettings("localhost:9092", "g", "a", "d", "b", "l", {})
        sensors = Sensors(("h", 1), "c")
        setup = MqttSetup(kafka, sensors, "t", "who", (route,), LogSettings())
        self.said, self.metrics = Said(), MqttMetrics(setup.routes)
        log = self.said.log
        dependencies = [Connectivity(name, log) for name in ("mqtt", "kafka")]
        self.forwarder = Forwarder(setup, *dependencies, self.metrics, log)
        self.sent = [
            aiomqtt.Message(topic, PAYLOADS.get(topic, b"1"), 1, False, mid, came_by)
            for mid, topic in enumerate(topics, 1)
            for came_by in [SimpleNamespace(SubscriptionIdentifier=NUMBERS.get(topic, [NUMBER]))]
        ]
        self.left = []

    def client(self):
        """Return a client; the broker sends it all that was not acknowledged."""
        acknowledged = {one[0] for one in self.happened if isinstance(one, tuple)}
        self.left = [one for one in self.sent if one.mid not in acknowledged]
        messages = MagicMock()
        messages.__len__.side_effect = lambda: len(self.left)
        messages.__anext__ = AsyncMock(side_effect=self._next)
        inner = SimpleNamespace(ack=lambda *given: self.happened.append(given))
        return SimpleNamespace(
            messages=messages, _client=inner, subscribe=AsyncMock(return_value=())
        )

    async def _next(self):
        if not self.left:
            await asyncio.Event().wait()
        return self.left.pop(0)

    @asynccontextmanager
    async def connected(self):
        """Yield a client within its connection."""
        self.happened.append("in")
        yield self.client()
        self.happened.append("out")

    def producer(self, **settings):
        """Return the next producer."""
        assert settings["acks"] == "all"
        assert settings["enable_idempotence"]
        outcome = self.outcomes.pop(0) if self.outcomes else ()

        async def start():
            if isinstance(outcome, Exception):
                raise outcome

        async def send(topic, value, *, key):
            assert (topic, bool(value)) == ("t", True)
            self.happened.append(key)
            delivered = asyncio.get_running_loop().create_future()
            if key == b"vast":
                delivered.set_exception(MessageSizeTooLargeError())
            elif key in outcome:
                delivered.set_exception(KafkaTimeoutError())
            elif key + b"!" not in outcome:
                delivered.set_result(None)
            return delivered

        async def stop():
            self.happened.append("stopped")

        return SimpleNamespace(start=start, send=send, stop=stop)


@pytest.mark.parametrize(
    ("topics", "happened", "said"),
    [
        (  # what is no event is told of once
            ["s/a", "s/bad", "other", "s/bad", "s/b"],
            [b"a", b"b", *((mid, 1) for mid in range(1, 6))],
            [Line.UNFIT],
        ),
        # one that is too large, by the byte, would come again for ever
        (["s/large", "s/most"], [b"most", (1, 1), (2, 1)], [Line.TOO_LARGE]),
        # one message counts once, though the session has filters of before
        (["s/old", "s/both"], [b"both", (1, 1), (2, 1)], [Line.OLD_SUBSCRIPTION]),
        ([f"s/{mid}" for mid in range(1, 66)], None, []),  # not more than the broker sends at once
    ],
)
async def test_messages_are_acknowledged_after_kafka_has_them(topics, happened, said):
    """In the order of their coming, also those that are no event."""
    scene = Scene(topics)
    client, producer = scene.client(), scene.producer(acks="all", enable_idempotence=True)
    while scene.left:
        await scene.forwarder._take(client, producer)
    if happened is None:
        first = [(mid, 1) for mid in range(1, 65)]
        happened = [b"%d" % mid for mid, _ in first] + first + [b"65", (65, 1)]
    assert scene.happened == happened
    assert scene.said.events == said
    assert all(line["filter"] == "s/+who" for line in scene.said.lines)


async def test_nothing_is_acknowledged_that_kafka_does_not_take(monkeypatch):
    """The broker, which is left and asked again, sends it once more: all of what came together.

    Only what is too large for the topic is dropped, and what came after it has a new producer.
    """
    scene = Scene(["s/a", "s/b", "s/vast", "s/c"], [KafkaConnectionError(), {b"b"}, {b"a!"}])
    monkeypatch.setattr(forwarder, "_PAUSE_S", 0.0)
    monkeypatch.setattr(forwarder, "_SENT_S", 0.05)
    monkeypatch.setattr(forwarder, "AIOKafkaProducer", scene.producer)
    monkeypatch.setattr(scene.forwarder, "_client", scene.connected)
    running = asyncio.create_task(scene.forwarder.run())
    async with asyncio.timeout(60):
        while (4, 1) not in scene.happened:
            assert not running.done()
            await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.wait([running])
    away, sent = ["in", "stopped", "out"], ["in", b"a", b"b", b"vast"]
    refused = [*sent, "stopped", "out"]
    taken = [*sent, (1, 1), (2, 1), (3, 1), "stopped", b"c", (4, 1), "stopped"]
    assert scene.happened == [*away, *refused, *refused, *taken]
    lines = [line for line in scene.said.events if line != Line.NO_SESSION]
    assert lines == [Line.UNREACHABLE, Line.READING_MQTT, Line.TOO_LARGE, Line.BACK]


async def test_a_subscription_is_numbered_or_the_broker_is_refused():
    """Without the number nobody can tell by which filter a message came."""
    scene = Scene()
    client = scene.client()
    await scene.forwarder._subscribe(client)
    assert client.subscribe.call_args.kwargs["properties"].SubscriptionIdentifier == [NUMBER]
    connack = SimpleNamespace(session_present=True, SubscriptionIdentifierAvailable=0)
    scene.forwarder._client()._client.on_connect(None, None, connack, 0, connack)
    with pytest.raises(aiomqtt.MqttError, match="identifiers"):
        await scene.forwarder._subscribe(client)


@pytest.mark.parametrize(("code", "said"), [(0x8E, [Line.TAKEN_OVER]), (0x80, [])])
async def test_a_session_that_another_client_took_is_said(code, said):
    """Where the broker says so; a connection that broke is something else."""
    scene = Scene()
    told = scene.forwarder._client()._client.on_disconnect
    told(None, None, None, code)
    assert scene.said.events == said
    assert bool(scene.metrics.registry.get_sample_value(LOST)) == bool(said)


def test_mqtt_without_its_client_names_the_extra(monkeypatch):
    """The client comes with an extra; without it one is told which."""
    monkeypatch.delitem(sys.modules, "stream.kafka.mqtt.forwarder")
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    with pytest.raises(DependencyError, match=r"tocsin\[mqtt\]"):
        importlib.import_module("stream.kafka.mqtt.forwarder")
