"""What a custodian settles with Kafka: a ledger that lacks what left it, a feed of another ledger.

Both charge what the decisions topic shows before they say, on the topic of ledgers, that this
ledger may go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accountant.errors import LedgerError
from stream.custody.restoring import refuse_renamed, take_over
from stream.kafka.clock import HeldClock
from stream.kafka.guard import check_feeds, seen_decisions
from stream.kafka.witness import Witness
from stream.windows.instants import from_iso_utc
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from stream.kafka.claims import Claim
    from stream.kafka.guard import Published
    from stream.model.alarms import Alarms

__all__ = ["TakenOver", "held_by_others", "reconcile", "transfer"]


class TakenOver(NamedTuple):
    """What was charged.

    Args:
        compared: published decisions that concern the ledger.
        charged: those that it lacked.
        feeds: feeds that it has claimed with this call.
    """

    compared: int
    charged: int
    feeds: list[str]


def held_by_others(alarms: Alarms, ledger: Ledger) -> list[Claim]:
    """Return the first claim of every other ledger on each of the configuration's logs.

    Raises:
        DependencyError: Kafka cannot be reached.
        LogChangedError: a topic is missing, or set up so that windows could not be exact.
    """
    return _custodian(alarms, ledger).once(_known)[0]


def reconcile(alarms: Alarms, ledger: Ledger, *, forget: bool = False) -> TakenOver:
    """Charge the published decisions that a ledger lacks, so that it may go on.

    Args:
        alarms: the configuration.
        ledger: open.
        forget: go on also where the topic does not reach back to what the ledger decided last, or
            to the first claim of another one of which it has taken nothing over.

    Raises:
        DependencyError: Kafka cannot be reached.
        LedgerError: a part of what it lacks is gone from the topic.
    """
    witness = _custodian(alarms, ledger)
    # What a start compares it with: also that of ledgers whose feeds it took over.
    others, _ = witness.once(_known)
    published = seen_decisions(alarms, ledger, others=others)
    if not forget:
        taken = ledger.upkeep.taken_over()
        since = [from_iso_utc(one.since) for one in others if one.ledger not in taken]
        since.append(ledger.upkeep.last_decided_ms() or 0)
        _refuse_gone(published, min(since), alarms.timezone)
    charged = take_over(alarms, ledger, published.decisions)
    witness.once(Witness.settle)
    return TakenOver(len(published.decisions), charged, [])


def transfer(alarms: Alarms, ledger: Ledger, *, forget: bool = False) -> TakenOver:
    """Charge what other ledgers spent on the configuration's logs, and claim these.

    Args:
        alarms: the configuration.
        ledger: open.
        forget: claim also where the topic does not reach back to the first claim of another ledger.

    Raises:
        DependencyError: Kafka cannot be reached.
        ConfigChangedError: another ledger knows a feed by another name.
        FeedClaimedError: another ledger was faster.
        LedgerError: a part of what was spent is gone from the topic.
    """
    witness = _custodian(alarms, ledger)
    others, names = witness.once(_known)
    refuse_renamed(alarms, names)
    published = seen_decisions(alarms, ledger, others=others)
    if others and not forget:
        since_ms = min(from_iso_utc(claim.since) for claim in others)
        _refuse_gone(published, since_ms, alarms.timezone)
    charged = take_over(alarms, ledger, published.decisions)
    return TakenOver(len(published.decisions), charged, witness.once(Witness.transfer))


def _refuse_gone(published: Published, since_ms: int, timezone: str) -> None:
    if published.whole_since_ms > since_ms:
        raise LedgerError(
            "records of the decisions topic were deleted: what was published after "
            f"{moment_text(since_ms, timezone)} cannot all be charged",
            hint="restore a newer copy; to go on all the same, say --forget-what-is-gone: what "
            "these people lost then is not known, and not counted",
        )


def _custodian(alarms: Alarms, ledger: Ledger) -> Witness:
    return Witness(alarms, ledger, check_feeds(alarms), "custodian", HeldClock(alarms))


async def _known(witness: Witness) -> tuple[list[Claim], list[tuple[str, str]]]:
    return witness.others(), witness.names()
