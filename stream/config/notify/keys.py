"""The YAML of lifecycles, of ``notify`` and of ``board``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from stream.config.closed import Closed
from stream.config.scalars import (
    Address,
    DurationMs,
    Name,
    Text,
    TopicName,
    Whole,
    whole_of,
    within,
    wrong,
)
from stream.config.schema import shapes
from stream.model.boards import Board
from stream.model.notifications import Alertmanager, Broker, Webhook

if TYPE_CHECKING:
    from stream.config.findings import Findings

__all__ = [
    "MOST_WINDOWS",
    "AlertmanagerModel",
    "BoardModel",
    "LifecycleModel",
    "MqttModel",
    "NotifyModel",
    "WebhookModel",
    "cafile_of",
]

MOST_WINDOWS: Final = 1_000
"""Most windows that a lifecycle looks back on."""

_BOARD: Final = Board()


def _shown(what: str) -> AfterValidator:
    return within(1, f"a board shows 1 to 200 {what} of an alarm", f"write {what}: 40", 200)


def _url(text: str) -> str:
    """Return the address of a web server."""
    try:
        parts = urlsplit(text)
        readable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        readable = False
    if not readable:
        hint = "write http://host:port or https://host/path"
        raise wrong("not the address of a web server", hint)
    return text


_Url = Annotated[Text, AfterValidator(_url)]


def _of(value: Any) -> tuple[int, int]:
    """Return ``[m, n]``."""
    if not isinstance(value, list) or len(value) != 2:
        raise wrong("`of` is a pair: rings needed, and among how many windows", "write of: [2, 3]")
    return whole_of(value[0]), whole_of(value[1])


class LifecycleModel(Closed):
    """When an alarm begins and ends, and what is said of it."""

    for_: Whole | None = Field(default=None, alias="for")
    """a group fires once it rang in so many windows in a row; costs nothing"""
    of: Annotated[tuple[int, int], PlainValidator(_of), WithJsonSchema(shapes.PAIR)] | None = None
    """[2, 3]: it fires once it rang in 2 of its last 3 windows; instead of for"""
    resolve_after: Annotated[
        Whole,
        within(
            1,
            f"an alarm is resolved after 1 to {MOST_WINDOWS} silent windows",
            "write resolve_after: 2",
            MOST_WINDOWS,
        ),
    ] = 1
    """it is resolved once it was silent in so many windows in a row"""
    labels: dict[str, Text] = Field(default_factory=dict)
    """who is told: templates over {alarm} and the fields of the group"""
    annotations: dict[str, Text] = Field(default_factory=dict)
    """what is told: templates over the group, {window_end}, {since} and others"""


class AlertmanagerModel(Closed):
    """One Alertmanager."""

    short: ClassVar[str] = "url"

    url: _Url
    """where it is: http://localhost:9093"""
    resend: Annotated[DurationMs, within(1_000, "resend is under a second", "write resend: 1m")] = (
        60_000
    )
    """what fires is sent again after so long"""

    def built(self, name: str, _findings: Findings) -> Alertmanager:
        """Return the target."""
        return Alertmanager(name, self.url.rstrip("/"), self.resend)


class WebhookModel(Closed):
    """One web server that takes notices."""

    url: _Url
    """where notices are posted"""
    secret: Annotated[
        Text,
        within(
            16,
            "the secret is shorter than 16 bytes",
            "whoever guesses it can send alarms of their own: use 16 random characters",
        ),
    ]
    """16 bytes or more that sign them, best from the environment: ${NAME}"""

    def built(self, name: str, _findings: Findings) -> Webhook:
        """Return the target."""
        return Webhook(name, self.url, self.secret.encode())


class MqttModel(Closed):
    """One MQTT broker."""

    short: ClassVar[str] = "broker"

    broker: Address
    """host:port"""
    username: Text = ""
    """who tocsin notify is"""
    password: Text = ""
    """best from the environment: ${NAME}"""
    cafile: Text = ""
    """authorities of the broker's certificate, in PEM; TLS where it is given"""
    topics: Name = "tocsin"
    """first level of every topic"""
    discovery: Name = ""
    """first level of Home Assistant's discovery, often homeassistant"""

    def built(self, name: str, findings: Findings) -> Broker:
        """Return the target; errors go to ``findings``."""
        return Broker(
            name,
            self.broker,
            self.topics,
            self.discovery,
            self.username,
            self.password,
            cafile_of(self.cafile, findings),
        )


class NotifyModel(Closed):
    """Where alarms are brought."""

    group: TopicName = "analyst-notify"
    """consumer group whose offsets say how far alarms were delivered"""
    read_back: DurationMs = 7 * 86_400_000
    """at the start, what fires is found by reading back so far"""
    give_up: DurationMs = 86_400_000
    """what a target did not take for so long goes to the dead letters"""
    dead_letters: Text = ""
    """file of what was not delivered; FILE.dead-letters.jsonl where left out"""
    alertmanagers: dict[Name, AlertmanagerModel] = Field(default_factory=dict)
    """Alertmanagers, by name"""
    webhooks: dict[Name, WebhookModel] = Field(default_factory=dict)
    """web servers that take signed notices, by name"""
    mqtt: dict[Name, MqttModel] = Field(default_factory=dict)
    """MQTT brokers, by name"""


class BoardModel(Closed):
    """Where alarms are shown."""

    listen: Address = _BOARD.listen
    """host:port of the page; anybody who reaches it reads it, unless there is a token"""
    token: (
        Annotated[
            Text,
            within(
                16,
                "the token is shorter than 16 bytes",
                "use 16 random characters, or leave it out where everybody who comes may read",
            ),
        ]
        | None
    ) = None
    """password of the page, 16 bytes or more, best from a file: ${file:PATH}"""
    windows: Annotated[Whole, _shown("windows")] = _BOARD.windows
    """how many of the last windows of an alarm are shown"""
    groups: Annotated[Whole, _shown("groups")] = _BOARD.groups
    """how many groups of an alarm are shown; how many more rang is said"""
    read_back: DurationMs = _BOARD.read_back_ms
    """at the start, what rings is found by reading back so far"""
    links: dict[str, _Url] = Field(default_factory=dict)
    """what else analysts may see, such as a dashboard: its name and address"""


def cafile_of(written: str, findings: Findings) -> str:
    """Return the path of the authorities of a broker's certificate; empty for none."""
    if not written:
        return ""
    path = findings.folder / written
    if not path.is_file():
        message = "cafile names no file that can be read"
        findings.wrong("cafile", message, "write the path of a PEM file")
    return str(path)
