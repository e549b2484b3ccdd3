"""Messages from MQTT to the feed's topic: each is acknowledged once Kafka has its event.

Nothing is kept here. The session is the broker's to keep (MQTT 5, without an end): what sensors
publish at QoS 1 while the MQTT source or Kafka is away waits there, and what was not acknowledged
is sent again after every connection. So a source that does not reach Kafka leaves the broker, too.

The broker is told how large a packet may be, so that what is larger never comes here: it drops it.

The session keeps every filter it ever had, and the broker sends a message once for each that it
matches. So each subscription has a number of its filter, and only messages with the number of a
present filter become events: one message is one event, though ``topics`` were changed.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError

from stream.events.mqtt_events import MOST_EVENT_BYTES, Message, event_of, route_of
from stream.kafka.clients import KAFKA_AWAY, aiokafka_arguments, mqtt_arguments, no_mqtt
from stream.kafka.mqtt.page import KINDS
from stream.logs.lines import Line

try:
    import aiomqtt
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
    from paho.mqtt.subscribeoptions import SubscribeOptions
except ImportError as error:
    raise no_mqtt() from error

if TYPE_CHECKING:
    from stream.kafka.connectivity import Connectivity
    from stream.kafka.mqtt.page import MqttMetrics
    from stream.logs.lines import Log
    from stream.model.mqtt import MqttSetup, Route

__all__ = ["Forwarder"]

_PAUSE_S = 1.0
_REQUEST_MS = 10_000
_SENT_S = 20.0
_STOP_S = 5.0
_FOR_EVER_S = 0xFFFFFFFF  # what MQTT 5 writes for a session without an end
_MOST_OPEN = 64  # messages that the broker sends before it waits for acknowledgements
_MOST_BYTES = 600_000  # of a packet: 64 of them are 38 MB
_SMALL = 8_000  # bytes of an event; aiokafka makes no batch of several above 16 kB
_TAKEN_OVER = 0x8E
_FAILED = 128  # reason codes from here on refuse


@dataclass(eq=False)
class Forwarder:
    """Forwards messages until it is cancelled; whoever is away is tried again.

    Args:
        setup: where from, what of it and where to.
        mqtt: told whether the broker answers.
        kafka: told whether Kafka answers.
        metrics: told what was taken and dropped.
        log: where messages that are no events are told of.
    """

    setup: MqttSetup
    mqtt: Connectivity
    kafka: Connectivity
    metrics: MqttMetrics
    log: Log

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self._ready = self._present = False
        self._numbered = True
        self._said: set[tuple[Line, str]] = set()

    async def run(self) -> None:
        """Forward messages until cancelled."""
        while True:
            try:
                async with self._client() as client:
                    await self._subscribe(client)
                    if not self._present:
                        self._lost(Line.NO_SESSION)
                    self.mqtt.found()
                    while await self._bring(client):
                        pass
            except (aiomqtt.MqttError, OSError) as error:
                self.mqtt.missed(error)
            await asyncio.sleep(_PAUSE_S)

    async def _bring(self, client: aiomqtt.Client) -> bool:
        """Bring messages to Kafka, until it does not take one; tell whether it is there."""
        producer = AIOKafkaProducer(
            acks="all",
            enable_idempotence=True,
            request_timeout_ms=_REQUEST_MS,
            **aiokafka_arguments(self.setup.kafka),
        )
        try:
            await producer.start()
            if not self._ready:
                self._ready = True
                self.log.info(Line.READING_MQTT)
            while await self._take(client, producer):
                pass
        except KAFKA_AWAY as error:
            self.kafka.missed(error)
            return False
        finally:
            # A producer that gave a record up is not to be trusted with the order of the next.
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_S):
                    await producer.stop()
        return True

    def _client(self) -> aiomqtt.Client:
        settings = self.setup.sensors
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = _FOR_EVER_S
        properties.ReceiveMaximum = _MOST_OPEN
        properties.MaximumPacketSize = _MOST_BYTES
        client = aiomqtt.Client(
            identifier=settings.client,
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=False,
            properties=properties,
            **mqtt_arguments(
                settings.address, settings.username, settings.password, settings.cafile
            ),
        )
        inner = client._client  # noqa: SLF001  # aiomqtt has none of this
        inner.manual_ack_set(True)  # it acknowledges what it received
        connected, disconnected = inner.on_connect, inner.on_disconnect

        def come(*given: Any) -> None:
            self._present = given[2].session_present
            self._numbered = getattr(given[4], "SubscriptionIdentifierAvailable", True)
            connected(*given)

        def gone(*given: Any) -> None:
            if given[3] == _TAKEN_OVER:
                self._lost(Line.TAKEN_OVER)
            disconnected(*given)

        inner.on_connect, inner.on_disconnect = come, gone
        return client

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        if not self._numbered:
            raise aiomqtt.MqttError("the broker has no subscription identifiers")
        # What is retained is a state that was told before, and no event.
        options = SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND)
        for route in self.setup.routes:
            properties = Properties(PacketTypes.SUBSCRIBE)  # type: ignore[no-untyped-call]
            properties.SubscriptionIdentifier = _number_of(route)
            for code in await client.subscribe(
                route.filter, options=options, properties=properties
            ):
                if code.value >= _FAILED:
                    raise aiomqtt.MqttError("a subscription is refused")

    async def _take(self, client: aiomqtt.Client, producer: Any) -> bool:
        """Take what is there, at least one message; acknowledge all once Kafka has the events.

        Returns:
            whether Kafka took every event: none was too large for the topic.

        Raises:
            KafkaError, TimeoutError: one is not on every replica that is in sync: none of the
                messages is acknowledged.
        """
        taken: list[aiomqtt.Message] = []
        events, size = [], 0
        # One that is too large for the topic would come again for ever. It leaves a gap in the
        # producer's sequence, and Kafka refuses what follows: so a large one is taken last.
        while not taken or (len(client.messages) and len(taken) < _MOST_OPEN and size < _SMALL):
            taken.append(await anext(client.messages))
            if event := self._event(taken[-1]):
                events.append(event)
                size = len(event[2])
        async with asyncio.timeout(_SENT_S):  # an idempotent producer tries for ever
            sent = [
                await producer.send(self.setup.topic, value, key=key) for _, key, value in events
            ]
            answers = await asyncio.gather(*sent, return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, BaseException)]
        for error in refused:
            if not isinstance(error, MessageSizeTooLargeError):
                raise error
            self._drop(Line.TOO_LARGE, events[-1][0])
        if sent:
            self.kafka.found()
        for message in taken:
            # One that is not heard is asked for again: the broker sends the message once more.
            client._client.ack(message.mid, message.qos)  # noqa: SLF001  # aiomqtt has no such call
        return not refused

    def _event(self, taken: aiomqtt.Message) -> tuple[str, bytes, bytes] | None:
        """Return the filter, key and value of a message's event, ``None`` where it makes none."""
        topic = taken.topic.value
        route = route_of(self.setup.routes, topic)
        if route is None:  # of a subscription that the session had before
            return None
        if _number_of(route) not in getattr(taken.properties, "SubscriptionIdentifier", ()):
            self._drop(Line.OLD_SUBSCRIPTION, route.written)
            return None
        self.metrics.taken.labels(route.written).inc()
        number, nonce = (taken.mid, 0) if taken.qos else (0, time.time_ns())
        payload = taken.payload if isinstance(taken.payload, bytes) else b""
        if len(payload) > MOST_EVENT_BYTES:
            self._drop(Line.TOO_LARGE, route.written)
            return None
        message = Message(topic, payload, number, time.time_ns() // 1_000_000, nonce)
        event = event_of(route, self.setup.unit, message)
        if event is None:
            self._drop(Line.UNFIT, route.written)
            return None
        return route.written, *event

    def _lost(self, line: Line) -> None:
        self.metrics.session_lost.set_to_current_time()
        self.log.warning(line)

    def _drop(self, line: Line, written: str) -> None:
        self.metrics.dropped.labels(written, KINDS[line]).inc()
        if (line, written) not in self._said:  # the metrics count them
            self._said.add((line, written))
            self.log.warning(line, filter=written)


def _number_of(route: Route) -> int:
    """Return a subscription's identifier: the same for a filter in every session, 1 to 2**28."""
    return crc32(route.filter.encode()) // 16 or 1
