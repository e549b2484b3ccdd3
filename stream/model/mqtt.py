"""What brings sensors' messages from MQTT to a feed: where from, what of them, where to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream.logs.settings import LogSettings
    from stream.model.alarms import KafkaSettings

__all__ = ["MqttSetup", "Page", "Route", "Sensors", "Template"]


Template: TypeAlias = "Callable[[Any], Any]"
"""Makes a field of an event of a message (:mod:`stream.events.mqtt_events`)."""


@dataclass(frozen=True, slots=True)
class Route:
    """The messages of one filter, and what becomes of them.

    Args:
        written: the filter as in the file, with the names of its levels.
        levels: of the filter as MQTT has it: texts, ``+``, and ``#`` at the end.
        fields: templates by the name of a field of the event.
    """

    written: str
    levels: tuple[str, ...]
    fields: Mapping[str, Template]

    @property
    def filter(self) -> str:
        """What is subscribed to."""
        return "/".join(self.levels)


@dataclass(frozen=True, slots=True)
class Sensors:
    """The MQTT broker that sensors publish to.

    Args:
        address: ``(host, port)``.
        client: the name of the session that the broker keeps while the MQTT source is away.
            Whoever knows it may take the session over, with all that waits in it, unless the broker
            binds names to logins.
        username: empty for none.
        password: empty for none.
        cafile: authorities of its certificate, for TLS; empty for none.
    """

    address: tuple[str, int]
    client: str
    username: str = ""
    password: str = field(default="", repr=False)
    cafile: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Where an MQTT source shows its metrics, exact counts.

    Args:
        address: ``(host, port)``.
        token: bearer token; required beyond loopback.
    """

    address: tuple[str, int]
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class MqttSetup:
    """All that ``tocsin mqtt`` has to know: from one MQTT broker to one feed.

    Args:
        kafka: how the feed's topic is reached.
        sensors: where from.
        topic: of the feed, on Kafka.
        unit: the field that holds the privacy unit's id; it is the record's key.
        routes: what is taken; no message belongs to two of them.
        log: how lines are written.
        page: where metrics are shown; ``None`` for nowhere.
    """

    kafka: KafkaSettings
    sensors: Sensors
    topic: str
    unit: str
    routes: tuple[Route, ...]
    log: LogSettings
    page: Page | None = None
