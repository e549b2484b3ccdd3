"""MQTT: a retained state a group, and what Home Assistant finds by itself.

::

    tocsin/status                      online | offline (said by the broker where we are gone)
    tocsin/alarms/ALARM/VALUE/VALUE    {"state": "ON", "status": "firing", ...}, retained, QoS 1
    tocsin/denied/ALARM                the last window without an answer, retained, QoS 1
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from stream.kafka.clients import mqtt_arguments, no_mqtt
from stream.kafka.notify.messages import AwayError, Target, body
from stream.model.characters import UNFIT

try:
    import aiomqtt
except ImportError as error:
    raise no_mqtt() from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.decisions.lifecycle import Notice
    from stream.kafka.notify.messages import Message

__all__ = ["TARGET", "MqttTarget", "escaped", "topic_of"]

_SPECIAL: Final = re.compile(f"[%+#/{UNFIT}]")


def escaped(value: str) -> str:
    """Return a value as one level of a topic, each with a level of its own.

    ``%``, ``+``, ``#``, ``/``, control characters and what is no character are written as ``%`` and
    two hex digits for every byte of UTF-8; an empty value is ``%``.
    """
    return _SPECIAL.sub(_percents, value) or "%"


def _percents(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def topic_of(first: str, notice: Notice) -> str:
    """Return the topic of a notice's state.

    Args:
        first: level of all topics.
        notice: of a group, or a denial.
    """
    kind = "denied" if notice.status == "denied" else "alarms"
    values = map(escaped, notice.group.values())
    return "/".join((first, kind, escaped(notice.alarm), *values))


class MqttTarget(Target):
    """One broker; what is retained there is written again after every connection.

    Args:
        name: as configured.
        broker: ``(host, port)``.
        topic_prefix: first level of every topic.
        discovery_prefix: first level of Home Assistant's discovery; empty for none.
        username: empty for none.
        password: empty for none.
        cafile: authorities of its certificate, for TLS; empty for none.
    """

    resend_s = 5.0
    """Between two words of being online: within them, a broker that was restarted is noticed."""

    def __init__(
        self,
        name: str,
        *,
        broker: tuple[str, int],
        topic_prefix: str,
        discovery_prefix: str,
        username: str = "",
        password: str = "",
        cafile: str = "",
    ) -> None:
        self.name = f"mqtt-{name}"
        self._arguments = partial(mqtt_arguments, broker, username, password, cafile)
        self._prefix = topic_prefix
        self._discovery = discovery_prefix
        self._client: aiomqtt.Client | None = None
        self._standing: dict[str, Message] = {}
        self._announced: set[str] = set()

    def remember(self, message: Message) -> None:
        """Keep the last state of every topic, to write it again."""
        self._standing[topic_of(self._prefix, message.notice)] = message

    async def send(self, messages: Sequence[Message]) -> None:
        """Publish the states; the broker has acknowledged them then."""
        client = await self._connected()
        for message in messages:
            await self._tell(client, topic_of(self._prefix, message.notice), message)
            self.remember(message)

    async def refresh(self) -> bool:
        """Say that we are here."""
        await self._publish(await self._connected(), self._status, b"online")
        return True

    async def close(self) -> None:
        """Say goodbye."""
        if self._client is not None:
            with suppress(AwayError):
                await self._publish(self._client, self._status, b"offline")
            await self._part()

    @property
    def _status(self) -> str:
        return f"{self._prefix}/status"

    async def _connected(self) -> aiomqtt.Client:
        if self._client is not None:
            return self._client
        try:
            # Its authorities are read anew each time: their file may just be written.
            client = aiomqtt.Client(
                will=aiomqtt.Will(self._status, b"offline", qos=1, retain=True),
                **self._arguments(),
            )
            await client.__aenter__()
        except (aiomqtt.MqttError, OSError, ValueError) as error:
            raise AwayError(type(error).__name__) from error
        self._client = client
        self._announced.clear()
        await self._publish(client, self._status, b"online")
        for topic, message in self._standing.items():
            await self._tell(client, topic, message)
        return client

    async def _tell(self, client: aiomqtt.Client, topic: str, message: Message) -> None:
        """Publish a state; Home Assistant is told of its sensor before.

        Raises:
            AwayError: the broker did not take it.
        """
        notice, told = message.notice, body(message)
        if notice.status != "denied":
            told = {"state": "OFF" if notice.status == "resolved" else "ON", **told}
            if self._discovery and topic not in self._announced:
                await self._announce(client, topic, notice)
                self._announced.add(topic)
        await self._publish(client, topic, msgspec.json.encode(told))

    async def _announce(self, client: aiomqtt.Client, topic: str, notice: Notice) -> None:
        """Tell Home Assistant of a sensor."""
        place = f"{self._discovery}/binary_sensor/tocsin_{notice.fingerprint}/config"
        told = {
            "name": ", ".join(notice.group.values()) or notice.alarm,
            "unique_id": f"tocsin_{notice.fingerprint}",
            "device_class": "problem",
            "state_topic": topic,
            "value_template": "{{ value_json.state }}",
            "json_attributes_topic": topic,
            "availability_topic": self._status,
            "device": {
                "identifiers": [f"tocsin_{notice.alarm}"],
                "name": notice.alarm,
                "manufacturer": "Tocsin",
            },
        }
        await self._publish(client, place, msgspec.json.encode(told))

    async def _publish(self, client: aiomqtt.Client, topic: str, content: bytes) -> None:
        """Publish what is retained, and wait for the acknowledgement.

        Raises:
            AwayError: it did not come.
        """
        try:
            await client.publish(topic, content, qos=1, retain=True)
        except (aiomqtt.MqttError, OSError, ValueError) as error:
            await self._part()
            raise AwayError(type(error).__name__) from error

    async def _part(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(aiomqtt.MqttError, OSError):
                await client.__aexit__(None, None, None)


TARGET: Final = MqttTarget
