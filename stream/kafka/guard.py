"""What a worker checks before it starts: the feeds' logs, and that its ledger is the newest."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from accountant.errors import (
    DataError,
    DependencyError,
    LedgerRolledBackError,
    LogChangedError,
)
from stream.alarms import decode_decision, iso_utc
from stream.kafka.security import aiokafka_arguments
from stream.kafka.settings import require_kafka
from stream.kafka.topics import admin_client, describe, plan, problems
from stream.release import seen_decision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.ledger import Ledger
    from accountant.records import LogIdentity, SeenDecision
    from stream.model import Alarms, KafkaSettings

__all__ = ["check_feeds", "check_ledger", "check_unchanged", "seen_decisions"]

_TAIL_RECORDS = 1_000
_TAIL_S = 60.0  # a client goes on asking a broker that is gone


def check_feeds(alarms: Alarms) -> dict[str, LogIdentity]:
    """Check every topic and return the identity of every feed's log.

    Raises:
        DependencyError: Kafka cannot be reached.
        LogChangedError: a topic is missing, or set up so that windows could not be exact.
    """
    with admin_client(require_kafka(alarms)) as client:
        wanted = plan(alarms)
        facts = describe(client, [topic.name for topic in wanted])
    found = [line for topic in wanted for line in problems(topic, facts.get(topic.name))]
    if found:
        raise LogChangedError(
            "\n".join(found), hint="`tocsin topics FILE` lists what each topic needs"
        )
    return {feed.name: facts[feed.topic].identity(feed.name) for feed in alarms.feeds.values()}


def check_unchanged(alarms: Alarms, identities: Mapping[str, LogIdentity]) -> None:
    """Refuse to go on when a feed's log is no longer the one this worker started on.

    Raises:
        DependencyError: Kafka cannot be reached.
        LogChangedError: a topic was re-created, got partitions, or was set up otherwise.
    """
    for feed, identity in check_feeds(alarms).items():
        if identity != identities[feed]:
            raise LogChangedError(
                f"the log of feed {feed!r} changed while this worker read it",
                hint="a re-created topic needs a new ledger, and so do new partitions",
            )


def check_ledger(alarms: Alarms, ledger: Ledger) -> None:
    """Refuse to run on a ledger that is older than what was published from it.

    Raises:
        DependencyError: Kafka cannot be reached.
        LedgerRolledBackError: the decisions topic shows what the ledger does not know.
    """
    unknown = ledger.unknown_decisions(seen_decisions(alarms))
    if unknown:
        first = min(decision.key for decision in unknown)
        raise LedgerRolledBackError(
            f"{len(unknown)} published decision(s), the first of {first.query!r} for the window "
            f"from {iso_utc(first.start_ms)} on, are missing from this ledger: it was restored "
            "from an older copy, or another ledger serves this topic",
            hint="restore the newest copy, or charge the gap: `tocsin ledger FILE mark-spent`",
        )


def seen_decisions(alarms: Alarms) -> list[SeenDecision]:
    """Return the newest published decisions of every partition of the decisions topic.

    Raises:
        DependencyError: Kafka cannot be reached.
        LogChangedError: there is no such topic.
    """
    kafka = require_kafka(alarms)
    with admin_client(kafka) as client:
        facts = describe(client, [kafka.decisions_topic]).get(kafka.decisions_topic)
    if facts is None:
        raise LogChangedError(
            f"topic {kafka.decisions_topic!r} does not exist, so what was released is not known",
            hint="correct kafka.decisions_topic, or create it with `tocsin topics FILE --apply`",
        )
    try:
        values = asyncio.run(asyncio.wait_for(_tail(kafka, facts.partitions), _TAIL_S))
    except (KafkaError, OSError) as error:
        raise DependencyError(
            f"the decisions topic cannot be read ({type(error).__name__})",
            hint="check that Kafka is up and that this user may read the topic",
        ) from error
    return [seen for value in values if (seen := _seen(value, alarms)) is not None]


def _seen(value: bytes | None, alarms: Alarms) -> SeenDecision | None:
    """Read one record of the decisions topic; what is not a decision of these alarms says nothing.

    Only Tocsin may write there (see the ACLs in ``docs/privacy.md``).
    """
    try:
        return seen_decision(decode_decision(value or b""), alarms)
    except (DataError, ValueError):
        return None


async def _tail(kafka: KafkaSettings, partitions: int) -> list[bytes | None]:
    consumer = AIOKafkaConsumer(
        group_id=None,
        enable_auto_commit=False,
        isolation_level="read_committed",
        **aiokafka_arguments(kafka),
    )
    try:
        await consumer.start()
        topic = kafka.decisions_topic
        return await _read_tail(consumer, [TopicPartition(topic, p) for p in range(partitions)])
    finally:
        await consumer.stop()


async def _read_tail(consumer: Any, partitions: list[TopicPartition]) -> list[bytes | None]:
    consumer.assign(partitions)
    begin = await consumer.beginning_offsets(partitions)
    end = await consumer.end_offsets(partitions)
    for partition in partitions:
        consumer.seek(partition, max(begin[partition], end[partition] - _TAIL_RECORDS))
    values: list[bytes | None] = []
    while any([await consumer.position(p) < end[p] for p in partitions]):
        batches = await consumer.getmany(timeout_ms=500)
        values.extend(record.value for records in batches.values() for record in records)
    return values
