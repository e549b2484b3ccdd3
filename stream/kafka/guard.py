"""What a worker checks before it starts: the feeds' logs, and that its ledger is the newest."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from accountant.errors import (
    DataError,
    LedgerRolledBackError,
    LogChangedError,
)
from stream.custody.restoring import read_decision, seen_by
from stream.decisions.records import decode_decision
from stream.kafka.topics import check
from stream.kafka.whole import read_whole
from stream.kafka.witness import Witness
from stream.model.alarms import require_kafka
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from accountant.ledger.ledger import Ledger
    from accountant.records import LogIdentity, SeenDecision
    from stream.kafka.claims import Claim
    from stream.kafka.whole import Whole
    from stream.model.alarms import Alarms, KafkaSettings

__all__ = [
    "Published",
    "check_feeds",
    "check_ledger",
    "check_unchanged",
    "claim_feeds",
    "read_records",
    "seen_decisions",
]

_NEWEST = 1_000
_CLOCKS_MS = 3_600_000  # how far the clocks of brokers may be apart


def check_feeds(alarms: Alarms) -> dict[str, LogIdentity]:
    """Check every topic and return the identity of every feed's log.

    Raises:
        DependencyError: Kafka cannot be reached.
        LogChangedError: a topic is missing, or set up so that windows could not be exact.
    """
    found, facts = check(alarms)
    if found:
        raise LogChangedError(
            "\n".join(found), hint="`tocsin topics check FILE` lists what each topic needs"
        )
    return {feed.name: facts[feed.topic].identity(feed.name) for feed in alarms.feeds.values()}


def check_unchanged(alarms: Alarms, ledger: Ledger) -> dict[str, LogIdentity]:
    """Return the identity of every feed's log, which has to be the one that the ledger knows.

    Kafka is asked first: partitions that it has were announced to the ledger before.

    Raises:
        DependencyError: Kafka or the ledger cannot be reached.
        LogChangedError: a topic was re-created, got partitions that were not announced, or was set
            up otherwise.
    """
    logs = check_feeds(alarms)
    ledger.pins.refuse_changes((), logs.values(), ())
    return logs


def claim_feeds(witness: Witness) -> list[str]:
    """Claim the logs of a configuration for its ledger, which is not older than what left it.

    Args:
        witness: of this process, for the logs of all feeds.

    Returns:
        The feeds that nobody had claimed.

    Raises:
        ClockError: the clock is ahead of the brokers'.
        DependencyError: Kafka cannot be reached.
        FeedClaimedError: another ledger holds one of the logs.
        LedgerRolledBackError: something left this ledger that it knows nothing of.
        LogChangedError: the ledger is another log's. It claims nothing: the right one would be
            refused after it.
    """
    alarms, ledger = witness.alarms, witness.ledger
    ledger.pins.refuse_changes((), witness.all_logs.values(), ())
    try:
        claimed = witness.once(Witness.claim)
    except LedgerRolledBackError:
        check_ledger(alarms, ledger)  # says which decisions, where the topic still has them
        raise
    check_ledger(alarms, ledger, witness.others())
    return claimed


def check_ledger(alarms: Alarms, ledger: Ledger, others: Collection[Claim] = ()) -> None:
    """Refuse to run on a ledger that is older than what was published from it.

    Args:
        alarms: the configuration.
        ledger: open.
        others: claims of ledgers whose feeds it took over, with what they spent.

    Raises:
        DependencyError: Kafka cannot be reached.
        LedgerRolledBackError: the decisions topic shows what the ledger does not know.
    """
    since_ms = _since_ms(ledger)
    published = seen_decisions(alarms, ledger, since_ms=since_ms, others=others)
    unknown = ledger.upkeep.unknown_decisions(published.decisions)
    if unknown:
        first = min(decision.key for decision in unknown)
        since = moment_text(first.start_ms, alarms.timezone)
        raise LedgerRolledBackError(
            f"the ledger lacks {len(unknown)} published decision(s), the first of alarm "
            f"{first.query!r} from {since} on: it is an older copy, or not the topic's ledger",
            hint="restore the newest copy, or charge them: `tocsin ledger FILE reconcile`",
        )


class Published(NamedTuple):
    """What was read of the decisions topic.

    Args:
        decisions: those that concern a ledger.
        whole_since_ms: what was published before may be gone from the topic; 0 where it holds all.
    """

    decisions: list[SeenDecision]
    whole_since_ms: int


def seen_decisions(
    alarms: Alarms, ledger: Ledger, *, since_ms: int = 0, others: Collection[Claim] = ()
) -> Published:
    """Return the published decisions of this ledger, and those of others about the same alarms.

    An alarm need not be configured any more, nor known to this ledger: what it spent stays spent.

    Args:
        alarms: the configuration.
        ledger: open.
        since_ms: what was published before need not be read, but for the newest records of every
            partition: they tell whether another ledger serves the topic. Zero for all of it.
        others: claims of other ledgers, whose decisions concern this one.

    Raises:
        DependencyError: Kafka cannot be reached.
        LogChangedError: there is no such topic.
    """
    kafka = require_kafka(alarms)
    found: list[tuple[SeenDecision, str]] = []
    concerned = {ledger.ledger_id, *(one.ledger for one in others)}

    def take(value: bytes | None) -> None:
        # Only Tocsin may write there (see the ACLs in ``docs/how-to/secure.md``).
        with suppress(DataError, ValueError):
            record = decode_decision(value or b"")
            if record.ledger in concerned or record.alarm in alarms.running:
                found.append(read_decision(record))

    since = read_records(kafka, kafka.decisions_topic, since_ms, take)
    return Published(seen_by(ledger, found), since)


def read_records(
    kafka: KafkaSettings,
    topic: str,
    since_ms: int,
    take: Callable[[bytes | None], None],
) -> int:
    """Hand what was published to ``take``, record by record.

    Args:
        kafka: how it is reached.
        topic: one of the public ones.
        since_ms: as in :func:`seen_decisions`.
        take: told the value of every record.

    Returns:
        What was published before may be gone from the topic; 0 where it holds all.

    Raises:
        DependencyError: Kafka cannot be reached.
        LogChangedError: there is no such topic.
    """

    async def read(whole: Whole) -> int:
        since = await whole.consumer.offsets_for_times(dict.fromkeys(whole.ends, since_ms))
        first_ms = {place: 2**62 if begin else 0 for place, begin in whole.begins.items()}
        for place, end in whole.ends.items():
            newest, at = max(whole.begins[place], end - _NEWEST), since.get(place)
            whole.consumer.seek(place, newest if at is None else min(at.offset, newest))
        async for place, records in whole.records():
            for record in records:
                first_ms[place] = min(first_ms[place], record.timestamp)
                take(record.value)
        return max(first_ms.values())

    return read_whole(kafka, topic, read)


def _since_ms(ledger: Ledger) -> int:
    """Return when the first decision that a ledger may lack was published at the earliest.

    A copy lacks what was decided after its own last decision, by the clock that dates records, and
    of the alarms that it has windows from their cursors on, published after they ended: the earlier
    of the two holds also where the clock was wrong. Without a decision it may lack everything.
    """
    decided_ms = ledger.upkeep.last_decided_ms()
    if decided_ms is None:
        return 0
    going_on = [row.cursor_ms for row in ledger.pins.queries() if not row.retired]
    return max(min([decided_ms, *going_on]) - _CLOCKS_MS, 0)
