"""The YAML of lifecycles, of ``deliver`` and of ``board``."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, PlainValidator, WithJsonSchema

from stream.config.closed import Closed
from stream.config.scalars import (
    Address,
    DurationMs,
    Name,
    Text,
    TopicName,
    Whole,
    whole_of,
    wrong,
)
from stream.config.schema import shapes
from stream.model.boards import Board

__all__ = [
    "AlertmanagerModel",
    "BoardModel",
    "DeliverModel",
    "LifecycleModel",
    "MqttModel",
    "WebhookModel",
]

_BOARD: Final = Board()


def _of(value: Any) -> tuple[int, int]:
    """Return ``[m, n]``."""
    if not isinstance(value, list) or len(value) != 2:
        raise wrong("`of` is a pair: rings needed, and among how many windows", "write of: [2, 3]")
    return whole_of(value[0]), whole_of(value[1])


class LifecycleModel(Closed):
    """When an alarm begins and ends, and what is said of it."""

    for_: Whole | None = Field(default=None, alias="for")
    of: Annotated[tuple[int, int], PlainValidator(_of), WithJsonSchema(shapes.PAIR)] | None = None
    resolve_after: Whole = 1
    labels: dict[str, Text] = Field(default_factory=dict)
    annotations: dict[str, Text] = Field(default_factory=dict)


class AlertmanagerModel(Closed):
    """One Alertmanager."""

    short: ClassVar[str] = "url"

    url: Text
    resend: DurationMs = 60_000


class WebhookModel(Closed):
    """One web server that takes notices."""

    url: Text
    secret: Text


class MqttModel(Closed):
    """One MQTT broker."""

    short: ClassVar[str] = "broker"

    broker: Address
    username: Text | None = None
    password: Text | None = None
    cafile: Text | None = None
    topics: Name = "tocsin"
    discovery: Name | None = None


class DeliverModel(Closed):
    """Where alarms are brought."""

    group: TopicName = "analyst-deliver"
    read_back: DurationMs = 7 * 86_400_000
    give_up: DurationMs = 86_400_000
    dead_letters: Text | None = None
    alertmanagers: dict[Name, AlertmanagerModel] = Field(default_factory=dict)
    webhooks: dict[Name, WebhookModel] = Field(default_factory=dict)
    mqtt: dict[Name, MqttModel] = Field(default_factory=dict)


class BoardModel(Closed):
    """Where alarms are shown."""

    listen: Address = _BOARD.listen
    token: Text | None = None
    windows: Whole = _BOARD.windows
    predicates: Whole = _BOARD.predicates
    read_back: DurationMs = _BOARD.read_back_ms
