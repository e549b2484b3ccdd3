"""Notices of every kind, as decisions and alarms lead to them, and as an MQTT broker gets them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream.decisions.lifecycle import State, step
from stream.kafka.notify.messages import Message, ends_ms
from stream.kafka.notify.mqtt import MqttTarget
from stream.model.lifecycles import Lifecycle
from tests.support.published import HOUR_MS, alarm_of, decision_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.decisions.lifecycle import Notice

_PUBLISHED_MS = 2 * HOUR_MS
_TERMS = Lifecycle(
    labels={"severity": "page"},
    annotations={"summary": "{alarm} is {status} since {since}"},
)


@dataclass(frozen=True, slots=True)
class _Hour:
    rings: bool = False
    denied: bool = False
    unanswered: int = 0
    whole: bool = True


_HOURS = (
    _Hour(rings=True),
    _Hour(rings=True),
    _Hour(denied=True),
    _Hour(unanswered=1),
    _Hour(whole=False),
    _Hour(),
)


def notices(group: Mapping[str, str]) -> list[Notice]:
    """Return what is said while a group rings twice, gets no answer three times, and is silent.

    Without an answer are a denied window, one in which a run was spent, and one whose alarms are
    not all there.

    Args:
        group: the group's values by field.
    """
    state, found = State(), []
    for number, hour in enumerate(_HOURS):
        alarms = [alarm_of(number, group)] if hour.rings else []
        decision = decision_of(
            number, denied=hour.denied, unanswered=hour.unanswered, alarms=alarms
        )
        state, said = step(state, decision, alarms, _TERMS, whole=hour.whole)
        found += said
    return found


def messages(group: Mapping[str, str]) -> list[Message]:
    """Return these notices on their way."""
    return [Message(one, _PUBLISHED_MS, ends_ms(one, _PUBLISHED_MS)) for one in notices(group)]


class _Client:
    """An MQTT client that keeps what is published."""

    def __init__(self):
        self.published: list[tuple[str, bytes, dict[str, Any]]] = []

    async def publish(self, topic, content, **options):
        """Keep it."""
        self.published.append((topic, content, options))


def on_mqtt(group: Mapping[str, str]) -> list[tuple[str, bytes, dict[str, Any]]]:
    """Return topic, payload and options of what a broker gets: these notices, and being there."""
    target, client = (
        MqttTarget("home", broker=("localhost", 1), topic_prefix="tocsin", discovery_prefix=""),
        _Client(),
    )
    target._client = client  # type: ignore[assignment]

    async def work():
        await target.send(messages(group))
        await target.refresh()

    asyncio.run(work())
    return client.published
