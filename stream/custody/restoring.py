"""What was published and a ledger lacks is taken over as spent, whatever is configured by now."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from accountant.errors import ConfigChangedError, DataError, LedgerError
from accountant.units import PrivacyUnit
from stream.decisions.records import (
    DecisionRecord,
    alarms_digest,
    decode_alarm,
    decode_count,
    decode_decision,
)
from stream.decisions.registration import registration, scopes_of, terms_of
from stream.decisions.release import released_ids, seen_decision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import SeenDecision
    from stream.decisions.records import Record
    from stream.model.alarms import Alarms

__all__ = [
    "published_in",
    "read_decision",
    "records_in",
    "refuse_moved",
    "refuse_renamed",
    "seen_by",
    "take_over",
]

_ALIKE = attrgetter("ledger_id", "key", "sequence", "epsilon_units", "alarm_count")


def refuse_moved(alarms: Alarms, opened: Ledger) -> None:
    """Refuse to charge anything where an alarm has another budget or feed than in the ledger.

    Raises:
        ConfigChangedError: one moved.
    """
    opened.pins.refuse_moved([registration(q, alarms, 0) for q in alarms.running.values()])


def refuse_renamed(alarms: Alarms, names: Iterable[tuple[str, str]]) -> None:
    """Refuse a feed that has a budget of its own under another name: nobody would charge this one.

    Args:
        alarms: the configuration.
        names: of feeds, each with what a ledger calls it that owned it; empty where unknown.

    Raises:
        ConfigChangedError: one has another name.
    """
    for feed, known in names:
        if alarms.budget.unit is PrivacyUnit.EVENT and known not in ("", feed):
            raise ConfigChangedError(
                f"feed {feed!r} was charged as feed {known!r}",
                hint=f"name the feed {known!r}: what was spent on its events stays spent",
            )


def take_over(alarms: Alarms, opened: Ledger, seen: Sequence[SeenDecision]) -> int:
    """Charge published decisions that a ledger lacks, and return how many.

    Each is charged to the periods that this configuration has, whatever they were when it left. A
    budget that neither the configuration nor the ledger has, as of a feed that was removed since,
    is registered with the configuration's terms. What was noted of the ledger outside of it is
    noted anew.

    Args:
        alarms: the configuration.
        opened: the ledger.
        seen: what was published, of any alarm.

    Raises:
        ConfigChangedError: an alarm moved, or a budget has other terms than the ledger's.
        LedgerError: something was published under another privacy unit than the configuration's.
    """
    refuse_moved(alarms, opened)
    unknown = {one.scope for one in seen} - {one.scope for one in opened.pins.budgets()}
    of_users = alarms.budget.unit is PrivacyUnit.USER
    for one in seen:
        if one.scope in unknown and bool(one.periods) is not of_users:
            raise LedgerError(
                f"alarm {one.query!r} was published under another privacy unit than "
                f"{alarms.budget.unit.value!r}: what it cost cannot be charged here",
                hint="run this with the configuration that it was published under",
            )
    for budget in sorted({*scopes_of(alarms), *unknown}):
        opened.pins.register_budget(terms_of(alarms, budget))
    touched = alarms.budget.touched
    adopted = opened.upkeep.reconcile(
        [replace(one, periods=touched(one.start_ms, one.end_ms)) for one in seen]
    )
    opened.heads.begin()
    return adopted


def seen_by(opened: Ledger, read: Sequence[tuple[SeenDecision, str]]) -> list[SeenDecision]:
    """Return published decisions as a ledger sees them.

    Where two copies of a ledger drew for the same window, number and cost are the same: what fired
    then names the draw that is not this ledger's, or not the first of another's.

    Args:
        opened: the ledger.
        read: decisions, each with what tells who fired; see :func:`read_decision`.
    """
    starts: defaultdict[str, list[int]] = defaultdict(list)
    for one, _ in read:
        if one.ledger_id == opened.ledger_id:
            starts[one.query].append(one.start_ms)
    fired = {
        _ALIKE(own): alarms_digest(released_ids(own))
        for query, at in starts.items()
        for own in opened.progress.decided(query, min(at), max(at))
    }
    return [
        one
        if digest == fired.setdefault(_ALIKE(one), digest)
        else replace(one, draw=one.draw or digest)
        for one, digest in read
    ]


def read_decision(record: DecisionRecord) -> tuple[SeenDecision, str]:
    """Return a published decision, and the digest that tells who fired.

    Raises:
        ValueError: its times are not ones that Tocsin writes.
    """
    return seen_decision(record), record.alarms_digest


def published_in(opened: Ledger, paths: Sequence[Path]) -> list[SeenDecision]:
    """Return the decisions that saved output of ``tocsin run --json`` shows; no more is charged.

    Args:
        opened: the ledger that reads them.
        paths: of files with one record a line.

    Raises:
        DataError: a line is no record of Tocsin, or no file shows a decision.
    """
    files = ", ".join(map(str, paths))
    try:
        read = [
            read_decision(one)
            for path in paths
            for one in records_in(path)
            if isinstance(one, DecisionRecord)
        ]
    except ValueError as error:
        raise DataError(f"{files}: a decision is not Tocsin's: {error}") from None
    if not read:
        raise DataError(
            f"{files}: no decision in the file",
            hint="write a file with the whole output of `tocsin run FILE --replay ... --json`",
        )
    return seen_by(opened, read)


def records_in(path: Path) -> Iterator[Record]:
    """Yield what saved output of ``tocsin run --json`` shows, line by line.

    Raises:
        DataError: a line is no record of Tocsin.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", hint="check the path") from None
    for number, line in enumerate(lines, start=1):
        for decode in (decode_decision, decode_alarm, decode_count):
            with suppress(DataError):
                yield decode(line)
                break
        else:
            raise DataError(
                f"{path}:{number}: not a decision and not an alarm",
                hint="write a file with the output of `tocsin run FILE --replay ... --json`",
            )
