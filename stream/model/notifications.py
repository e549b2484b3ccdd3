"""Where alarms are brought: targets, and what becomes of what they do not take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Alertmanager", "Broker", "NotifySettings", "Webhook"]


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """One Alertmanager, by its API v2.

    Args:
        name: as configured.
        url: where it is, without ``/api/v2``.
        resend_interval_ms: what fires is sent again after so long: it forgets when it is restarted.
    """

    name: str
    url: str = field(repr=False)
    resend_interval_ms: int


@dataclass(frozen=True, slots=True)
class Webhook:
    """One web server that takes notices.

    Args:
        name: as configured.
        url: where they are posted.
        secret: signs them.
    """

    name: str
    url: str = field(repr=False)
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Broker:
    """One MQTT broker.

    Args:
        name: as configured.
        address: ``(host, port)``.
        topic_prefix: first level of every topic.
        discovery_prefix: first level of Home Assistant's discovery; empty for none.
        username: empty for none.
        password: empty for none.
        cafile: authorities of its certificate, for TLS; empty for none.
    """

    name: str
    address: tuple[str, int]
    topic_prefix: str
    discovery_prefix: str
    username: str = ""
    password: str = field(default="", repr=False)
    cafile: str = ""


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Where alarms are brought.

    Args:
        group: consumer group whose offsets say how far.
        lookback_ms: at the start, states are found by reading back so far.
        retry_for_ms: what a target did not take for so long goes to the dead letters.
        dead_letters: file of what was not delivered, one JSON object a line.
        targets: in the order of the file's keys.
    """

    group: str
    lookback_ms: int
    retry_for_ms: int
    dead_letters: Path
    targets: tuple[Alertmanager | Webhook | Broker, ...] = ()
