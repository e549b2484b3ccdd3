"""``tocsin watch``: follow the alarms, and the windows that were denied, as an analyst does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer

from stream.decisions.records import Alarm, DecisionRecord, decode_alarm, decode_decision
from stream.kafka.clients import aiokafka_arguments, reaching, stop_consumer
from stream.kafka.reach import require_kafka_there
from stream.model.alarms import require_kafka
from stream.model.panes import is_panes

if TYPE_CHECKING:
    from collections.abc import Generator

    from stream.model.alarms import Alarms, KafkaSettings

__all__ = ["Watched", "shown_of", "watch"]

Watched = Alarm | DecisionRecord


def watch(
    alarms: Alarms, *, from_beginning: bool = False, group: str | None = None
) -> Generator[Watched, None, None]:
    """Yield every alarm and every denial as they are published, until the caller stops.

    A window that was decided without an alarm is not yielded: silence says as much. Nor are panes.

    Args:
        alarms: the checked configuration.
        from_beginning: start with the oldest retained records instead of the next ones.
        group: of consumers: goes on where it stopped, and shares the topics with its other members.
            What was yielded is committed when the next record is asked for.

    Raises:
        ConfigError: the configuration has no ``kafka`` section.
        DataError: a record of the topics is not an alarm, or a decision, of this version.
        DependencyError: Kafka cannot be reached.
    """
    kafka = require_kafka(alarms)
    require_kafka_there(kafka)
    with (
        reaching(
            f"the alarms and decisions topics at {kafka.bootstrap} cannot be read",
            "check that Kafka is up, that `tocsin topics FILE` is content and the user's ACLs",
        ),
        asyncio.Runner() as runner,  # which ends what it waits for when it is interrupted
    ):
        consumer = runner.run(_consumer(kafka, from_beginning=from_beginning, group=group))
        try:
            runner.run(consumer.start())
            while True:
                found = shown_of(kafka, runner.run(consumer.getone()))
                if found is not None:
                    yield found
                if group is not None:
                    runner.run(consumer.commit())
        finally:
            runner.run(stop_consumer(consumer))


def shown_of(kafka: KafkaSettings, record: Any) -> Watched | None:
    """Return what an analyst is shown of a record: an alarm, an alarm's denial, or ``None``.

    Of panes nothing is shown: every window over one that was denied is denied itself.

    Args:
        kafka: tells the topics apart.
        record: of the client, with ``topic`` and ``value``.

    Raises:
        DataError: it is not of this version.
    """
    if record.topic == kafka.alarms_topic:
        return decode_alarm(record.value or b"")
    decision = decode_decision(record.value or b"")
    of_alarm = not is_panes(decision.query)
    return decision if of_alarm and decision.outcome == "denied" else None


async def _consumer(kafka: KafkaSettings, *, from_beginning: bool, group: str | None) -> Any:
    """Return a consumer of both topics; it takes the loop in which it is made."""
    return AIOKafkaConsumer(
        kafka.alarms_topic,
        kafka.decisions_topic,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest" if from_beginning else "latest",
        isolation_level="read_committed",
        **aiokafka_arguments(kafka),
    )
