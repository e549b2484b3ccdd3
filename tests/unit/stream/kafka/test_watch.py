"""What an analyst is shown of the two topics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from stream.decisions.records import encode
from stream.kafka.watch import shown_of
from stream.model.alarms import KafkaSettings
from tests.support.published import alarm_of, decision_of

if TYPE_CHECKING:
    from stream.decisions.records import Alarm, DecisionRecord

KAFKA = KafkaSettings("localhost:9092", "tocsin", "alarms", "decisions", "bells", "ledgers", {})
ALARM = alarm_of(0, {"room": "hall"})


def on(topic: str, record: Alarm | DecisionRecord) -> Any:
    """Return a record as a client gives it."""
    return SimpleNamespace(topic=topic, value=encode(record))


@pytest.mark.parametrize(
    ("query", "denied", "shown"),
    [
        ("crowd", True, True),
        ("crowd", False, False),
        ("panes-0123abcd", True, False),
        ("panes-0123abcd", False, False),
        ("panes-front", True, True),
        ("my-panes-0123abcd", True, True),
    ],
)
def test_denials_of_alarms_are_shown(query: str, denied: bool, shown: bool) -> None:
    """Silence says as much as a decision; panes are no alarm, and what is like their name is."""
    decision = decision_of(0, denied=denied, query=query)
    found = shown_of(KAFKA, on(KAFKA.decisions_topic, decision))
    assert found == (decision if shown else None)


def test_alarms_are_shown() -> None:
    """As they are."""
    assert shown_of(KAFKA, on(KAFKA.alarms_topic, ALARM)) == ALARM
