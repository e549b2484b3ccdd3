"""The YAML of lifecycles, of ``notify`` and of ``board``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, ClassVar, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo

from stream.config.closed import Closed
from stream.config.reading import read_whole
from stream.config.scalars import (
    Address,
    DurationMs,
    Name,
    Pair,
    Secret,
    Text,
    TopicName,
    Whole,
    within,
    wrong,
)
from stream.model.boards import Board

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.findings import Findings

__all__ = [
    "MOST_WINDOWS",
    "AlertmanagerModel",
    "BoardModel",
    "CaFile",
    "LifecycleModel",
    "MqttModel",
    "NotifyModel",
    "WebhookModel",
]

MOST_WINDOWS: Final = 1_000
"""Most windows that a lifecycle looks back on."""

_BOARD: Final = Board()


_SHOWN: Final = within(1, "{key} is not from 1 to 200", "write {key}: 40", 200)


def _url(text: str) -> str:
    """Return the address of a web server."""
    try:
        parts = urlsplit(text)
        readable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        readable = False
    if not readable:
        hint = "write http://host:port or https://host/path"
        raise wrong("not a URL of a web server", hint)
    return text


def _beside(name: str, info: ValidationInfo[Findings]) -> str:
    """Return the path of a file; a relative one starts from the configuration's folder."""
    path: Path = info.context.folder / name
    with suppress(OSError):
        read_whole(path)
        return str(path)
    raise wrong(f"{info.field_name} is not a readable file", "write the path of a PEM file")


CaFile = Annotated[Text, AfterValidator(_beside)]
"""Authorities of a broker's certificate."""
_Url = Annotated[Text, AfterValidator(_url)]


_Windows = Annotated[
    Whole,
    within(1, f"{{key}} is not from 1 to {MOST_WINDOWS:,} windows", "write {key}: 2", MOST_WINDOWS),
]


class LifecycleModel(Closed):
    """When an alarm begins and ends, and what is said of it."""

    for_: _Windows | None = None
    """a group fires when its condition held in this many consecutive windows; costs no epsilon"""
    of: Pair[Whole] | None = None
    """[2, 3]: it fires when the condition held in 2 of the last 3 windows; instead of for"""
    resolve_after: _Windows = 1
    """it is resolved after this many consecutive windows without the condition"""
    labels: dict[str, Text] = Field(default_factory=dict)
    """labels of the notice, for routing: templates over {alarm} and the group's fields"""
    annotations: dict[str, Text] = Field(default_factory=dict)
    """text of the notice: templates over the group's fields, {window_end}, {since} and others"""


class AlertmanagerModel(Closed):
    """One Alertmanager."""

    short: ClassVar[str] = "url"

    url: _Url
    """where it is: http://localhost:9093"""
    resend_interval: Annotated[
        DurationMs,
        within(1_000, "resend_interval is shorter than 1 second", "write resend_interval: 1m"),
    ] = 60_000
    """a firing alarm is sent again after this long"""


class WebhookModel(Closed):
    """One web server that takes notices."""

    url: _Url
    """where notices are sent by POST"""
    secret: Secret
    """16 bytes or more that sign the notices, best from the environment: ${NAME}"""


class MqttModel(Closed):
    """One MQTT broker."""

    short: ClassVar[str] = "broker"

    broker: Address
    """host:port"""
    username: Text = ""
    """login on the broker"""
    password: Text = ""
    """best from the environment: ${NAME}"""
    cafile: CaFile = ""
    """authorities of the broker's certificate, in PEM; TLS if it is given"""
    topic_prefix: Name = "tocsin"
    """first level of every topic"""
    discovery_prefix: Name = ""
    """Home Assistant's discovery prefix, often homeassistant; without it, no discovery"""


class NotifyModel(Closed):
    """Where alarms are brought."""

    group: TopicName = "analyst-notify"
    """consumer group: its offsets record what was delivered"""
    lookback_ms: DurationMs = 7 * 86_400_000
    """how far back topics are read at start, to find what fires; further if lifecycles need it"""
    retry_for_ms: DurationMs = 86_400_000
    """a notice that a target does not take for this long is given up, and logged"""
    alertmanagers: dict[Name, AlertmanagerModel] = Field(default_factory=dict)
    """Alertmanagers, by name"""
    webhooks: dict[Name, WebhookModel] = Field(default_factory=dict)
    """web servers that take signed notices, by name"""
    mqtt: dict[Name, MqttModel] = Field(default_factory=dict)
    """MQTT brokers, by name"""


class BoardModel(Closed):
    """Where alarms are shown: the keys are the settings."""

    listen: Address = _BOARD.listen
    """host:port of the page; without a token, anybody who reaches it reads it"""
    token: Secret = ""
    """password of the page, 16 bytes or more, best from a file: ${file:PATH}"""
    windows: Annotated[Whole, _SHOWN] = _BOARD.windows
    """how many of an alarm's last windows are shown"""
    groups: Annotated[Whole, _SHOWN] = _BOARD.groups
    """how many groups of an alarm are shown; of further firing groups, their number"""
    lookback_ms: DurationMs = _BOARD.lookback_ms
    """how far back topics are read at start, to find what fires; further if lifecycles need it"""
    links: dict[str, _Url] = Field(default_factory=dict)
    """what else analysts may see, such as a dashboard: its name and address"""
