"""The MQTT side: messages are acknowledged only once the buffer has them on the disk.

The session is the broker's to keep (MQTT 5, without an end): what sensors publish at QoS 1 while
the MQTT source is away waits there. What was not acknowledged is sent again after every connection.

The broker is told how large a packet may be, so that what is larger never comes here: it drops it.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final

from stream.events.mqtt_events import MOST_EVENT_BYTES, Message, event_of, route_of
from stream.kafka.clients import mqtt_arguments, no_mqtt
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
    from stream.kafka.mqtt.buffer import Buffer, Record
    from stream.kafka.mqtt.page import MqttMetrics
    from stream.logs.lines import Log
    from stream.model.mqtt import MqttSource

__all__ = ["Intake"]

_PAUSE_S: Final = 1.0
_FOR_EVER_S: Final = 0xFFFFFFFF  # what MQTT 5 writes for a session without an end
_MOST_OPEN: Final = 64  # messages that the broker sends before it waits for acknowledgements
_MOST_SIZE: Final = 200_000  # of events at once, and one more: the smallest buffer has room
_MOST_BYTES: Final = 600_000  # of a packet: 64 of them are 38 MB
_TAKEN_OVER: Final = 0x8E
_AGAIN_S: Final = 60.0
_FAILED: Final = 128  # reason codes from here on refuse


@dataclass(eq=False)
class Intake:
    """Takes messages into a buffer until it is cancelled.

    Args:
        source: where from and what of it.
        buffer: where to, and the session with the broker.
        connectivity: told whether the broker answers.
        metrics: told what was taken and dropped.
        log: where messages that are no events are told of.
    """

    source: MqttSource
    buffer: Buffer
    connectivity: Connectivity
    _: KW_ONLY
    metrics: MqttMetrics
    log: Log

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self.connected = asyncio.Event()
        """Set once the broker has had a session with every subscription."""
        self._present = False
        self._said_s: dict[tuple[Line, str], float] = {}

    async def run(self) -> None:
        """Take messages until cancelled; a broker that is away is tried again.

        Raises:
            DependencyError: the buffer cannot be written.
        """
        while True:
            try:
                async with self._client() as client:
                    if self.buffer.made and not self._present:
                        self._lost(Line.SESSION_LOST)
                    await self._subscribe(client)
                    await self.buffer.keep_session()
                    self.connectivity.found()
                    self.connected.set()
                    while True:
                        await self._take(client)
            except (aiomqtt.MqttError, OSError) as error:
                self.connectivity.missed(error)
            await asyncio.sleep(_PAUSE_S)

    def _client(self) -> aiomqtt.Client:
        settings = self.source.sensors
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = _FOR_EVER_S
        properties.ReceiveMaximum = _MOST_OPEN
        properties.MaximumPacketSize = _MOST_BYTES
        client = aiomqtt.Client(
            identifier=self.buffer.client,
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
            connected(*given)

        def gone(*given: Any) -> None:
            if given[3] == _TAKEN_OVER:
                self._lost(Line.TAKEN_OVER)
            disconnected(*given)

        inner.on_connect, inner.on_disconnect = come, gone
        return client

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        # What is retained is a state that was told before, and no event.
        options = SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND)
        filters = [(route.filter, options) for route in self.source.routes]
        for code in await client.subscribe(filters):
            if code.value >= _FAILED:
                raise aiomqtt.MqttError("a subscription is refused")

    async def _take(self, client: aiomqtt.Client) -> None:
        """Take what is there, at least one message; acknowledge all once the disk has the events.

        Where the buffer or its disk is full, none is acknowledged: the broker keeps the rest.
        """
        taken: list[aiomqtt.Message] = []
        events: list[Record] = []
        size = 0
        while not taken or (len(client.messages) and len(taken) < _MOST_OPEN and size < _MOST_SIZE):
            taken.append(await anext(client.messages))
            event = self._event(taken[-1])
            if event is not None:
                events.append(event)
                size += sum(map(len, event))
        await self.buffer.append(events)
        for message in taken:
            # One that is not heard is asked for again: the broker sends the message once more.
            client._client.ack(message.mid, message.qos)  # noqa: SLF001  # aiomqtt has no such call

    def _event(self, taken: aiomqtt.Message) -> Record | None:
        topic = taken.topic.value
        route = route_of(self.source.routes, topic)
        if route is None:  # of a subscription that the session had before
            return None
        self.metrics.taken.labels(route.written).inc()
        number, nonce = (taken.mid, 0) if taken.qos else (0, time.time_ns())
        payload = taken.payload if isinstance(taken.payload, bytes) else b""
        if len(payload) > MOST_EVENT_BYTES:
            self._drop(Line.TOO_LARGE, route.written)
            return None
        message = Message(topic, payload, number, time.time_ns() // 1_000_000, nonce)
        event = event_of(route, self.source.unit, message)
        if event is None:
            self._drop(Line.UNFIT, route.written)
        return event

    def _lost(self, line: Line) -> None:
        self.metrics.session_lost.set_to_current_time()
        self.log.warning(line)

    def _drop(self, line: Line, written: str) -> None:
        self.metrics.dropped.labels(written, KINDS[line]).inc()
        now_s = time.monotonic()
        if now_s - self._said_s.get((line, written), -_AGAIN_S) >= _AGAIN_S:
            self._said_s[line, written] = now_s
            self.log.warning(line, filter=written)
