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
from stream.decisions.records import decode_decision
from stream.decisions.release import seen_decision
from stream.kafka.clients import aiokafka_arguments
from stream.kafka.topics import admin_client, describe, plan, problems
from stream.model.alarms import require_kafka
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accountant.ledger.ledger import Ledger
    from accountant.records import LogIdentity, SeenDecision
    from stream.model.alarms import Alarms, KafkaSettings

__all__ = ["check_feeds", "check_ledger", "check_unchanged", "seen_decisions"]

_NEWEST = 1_000
_CLOCKS_MS = 3_600_000  # how far the clocks of brokers may be apart
_SILENT_S = 60.0  # a client goes on asking a broker that is gone


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
    unknown = ledger.upkeep.unknown_decisions(seen_decisions(alarms, ledger))
    if unknown:
        first = min(decision.key for decision in unknown)
        raise LedgerRolledBackError(
            f"{len(unknown)} published decision(s), the first of {first.query!r} for the window "
            f"from {iso_utc(first.start_ms)} on, are missing from this ledger: it was restored "
            "from an older copy, or another ledger serves this topic",
            hint="restore the newest copy, or charge the gap: `tocsin ledger FILE mark-spent`",
        )


def seen_decisions(alarms: Alarms, ledger: Ledger) -> list[SeenDecision]:
    """Return the published decisions that the ledger may lack.

    A ledger that was restored from an older copy lacks windows from its cursors on, and those were
    published after they ended. So the topic is read back to the oldest cursor; that another ledger
    serves it, its newest records tell, which are read in any case.

    Args:
        alarms: the configuration; alarms that are not in it are left out.
        ledger: open; with none of the alarms in it, the whole topic is read.

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
    cursors = {
        row.query: row.cursor_ms for row in ledger.pins.queries() if row.query in alarms.queries
    }
    found: list[SeenDecision] = []

    def take(value: bytes | None, *, newest: bool) -> None:
        seen = _seen(value, alarms)
        if seen is not None and (newest or seen.start_ms >= cursors.get(seen.query, 0)):
            found.append(seen)

    try:
        asyncio.run(_read(kafka, facts.partitions, _since_ms(alarms, cursors), take))
    except (KafkaError, OSError) as error:
        raise DependencyError(
            f"the decisions topic cannot be read ({type(error).__name__})",
            hint="check that Kafka is up and that this user may read the topic",
        ) from error
    return found


def _since_ms(alarms: Alarms, cursors: Mapping[str, int]) -> int | None:
    """Return when the first decision that a ledger may lack was published at the earliest.

    ``None`` when it lacks none, since every alarm has passed its feed's history.
    """
    if not cursors:
        return 0
    histories = {name: alarms.queries[name].feed.history for name in cursors}
    going_on = [
        cursor_ms
        for name, cursor_ms in cursors.items()
        if (history := histories[name]) is None or cursor_ms < history[1]
    ]
    return max(min(going_on) - _CLOCKS_MS, 0) if going_on else None


def _seen(value: bytes | None, alarms: Alarms) -> SeenDecision | None:
    """Read one record of the decisions topic; what is not a decision of these alarms says nothing.

    Only Tocsin may write there (see the ACLs in ``docs/custodian/privacy.md``).
    """
    try:
        return seen_decision(decode_decision(value or b""), alarms)
    except (DataError, ValueError):
        return None


async def _read(
    kafka: KafkaSettings, partitions: int, since_ms: int | None, take: Callable[..., None]
) -> None:
    consumer = AIOKafkaConsumer(
        group_id=None,
        enable_auto_commit=False,
        isolation_level="read_committed",
        **aiokafka_arguments(kafka),
    )
    topic = kafka.decisions_topic
    async with asyncio.timeout(_SILENT_S) as silent:
        try:
            await consumer.start()
            places = [TopicPartition(topic, number) for number in range(partitions)]
            await _read_from(consumer, places, since_ms, take, silent)
        finally:
            await consumer.stop()


async def _read_from(
    consumer: Any,
    places: list[TopicPartition],
    since_ms: int | None,
    take: Callable[..., None],
    silent: asyncio.Timeout,
) -> None:
    """Hand every record since an instant, and the newest of every partition, to ``take``."""
    consumer.assign(places)
    begin = await consumer.beginning_offsets(places)
    end = await consumer.end_offsets(places)
    since: Mapping[Any, Any] = {}
    if since_ms is not None:
        since = await consumer.offsets_for_times(dict.fromkeys(places, since_ms))
    newest = {place: max(begin[place], end[place] - _NEWEST) for place in places}
    for place in places:
        at = since.get(place)
        consumer.seek(place, newest[place] if at is None else min(at.offset, newest[place]))
    while any([await consumer.position(place) < end[place] for place in places]):
        batches = await consumer.getmany(timeout_ms=500)
        for place, records in batches.items():
            silent.reschedule(asyncio.get_running_loop().time() + _SILENT_S)
            for record in records:
                take(record.value, newest=record.offset >= newest[place])
