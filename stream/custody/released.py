"""What was published, compared with what was decided: which record was altered, removed or added.

The ledger's log holds which groups fired of every decision. One that another configuration or
another timeline decided, or that lies in an archive, is compared with the digest in its own record
alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from accountant.costs.charges import WindowKey
from stream.custody.published import Number, fields_altered
from stream.custody.restoring import read_decision, seen_by
from stream.decisions.records import (
    AlarmRecord,
    CountRecord,
    DecisionRecord,
    alarm_id,
    alarms_digest,
)
from stream.decisions.release import alarm_records, count_records, decision_record
from stream.windows.instants import from_iso_utc, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from stream.custody.published import Records
    from stream.decisions.records import Record
    from stream.model.alarms import Alarms

__all__ = ["Comparison", "compare", "published_by"]


class Comparison(NamedTuple):
    """What came of it.

    Args:
        problems: what does not match, one sentence each.
        notes: what was compared, and what could not be, one sentence each.
    """

    problems: list[str]
    notes: list[str]


def published_by(ledger: Ledger) -> dict[str, int]:
    """Return, by alarm, up to which number everything has left: before records are read."""
    alarms = ledger.reports.status().queries.values()
    return {one.query: one.sequence - one.unpublished for one in alarms}


def compare(
    alarms: Alarms,
    ledger: Ledger,
    records: Records,
    *,
    through: Mapping[str, int],
    to_the_end: bool,
) -> Comparison:
    """Compare what was published with what a ledger decided.

    Args:
        alarms: the configuration; of alarms that it has as they were decided, all is compared.
        ledger: open.
        records: what was published.
        through: up to which number everything had left before the records were read, by query.
        to_the_end: whether the records reach up to there, so that none may be missing behind.
    """
    comparing = _Comparing(alarms, ledger, records, through)
    shown = {one.alarm for one in comparing.without_row if one.ledger == ledger.ledger_id}
    problems = [
        f"{many} published record(s) are no {kind} of this version"
        for kind, many in records.unreadable.items()
    ]
    for alarm in sorted(shown | through.keys()):
        problems += comparing.alarm(alarm, to_the_end=to_the_end)
    for number in sorted(comparing.without_row):
        problems += comparing.by_record_alone(number)
    alone = [
        f"{alarm}: {many} decision(s) not covered: compared with their own records alone"
        for alarm, many in sorted(comparing.alone.items())
    ]
    return Comparison(problems, comparing.notes + alone)


class _Comparing:
    def __init__(
        self, alarms: Alarms, ledger: Ledger, records: Records, through: Mapping[str, int]
    ) -> None:
        self._alarms = alarms
        self._ledger = ledger
        self._records = records
        self._through = through
        self._first_counts = records.first_counts()
        self.notes: list[str] = []
        self.without_row = {
            one
            for one in records.numbers()
            if one.ledger == ledger.ledger_id or one.alarm in alarms.running
        }
        """Decisions that records are about, of which no row was found so far."""
        self.alone: Counter[str] = Counter()
        """How many decisions were compared with their own records alone, by alarm."""

    def alarm(self, alarm: str, *, to_the_end: bool) -> Iterator[str]:
        """Compare the decisions of an alarm, from the first that is shown on, with their rows."""
        ledger_id, left = self._ledger.ledger_id, self._through.get(alarm, 0)
        mine = (one for one in self.without_row if one.ledger == ledger_id)
        shown = [one.sequence for one in mine if one.alarm == alarm]
        if not shown:
            if left:
                self.notes.append(f"{alarm}: none of its {left} published decisions is shown")
            return
        first, last = min(shown), max(shown)
        until = max(last, left) if to_the_end else last
        for row in self._ledger.progress.numbered(alarm, first, until):
            yield from self._with_row(row)
        behind = f", and not those published behind, up to {left}" if left > until else ""
        self.notes.append(f"{alarm}: decisions {first} to {until} compared{behind}")

    def _with_row(self, decision: StoredDecision) -> Iterator[str]:
        """Compare a decision that the ledger has with what was published of it."""
        key, sequence = decision.key, decision.sequence
        number = Number(decision.ledger_id, key.query, sequence)
        self.without_row.discard(number)
        shown = self._records.of(number)
        whole = sequence <= self._through.get(key.query, 0)
        where = f"window from {iso_utc(key.start_ms)} of {key.query!r} (number {sequence})"
        if not any(isinstance(one, DecisionRecord) for one in shown):
            if self._ledger.upkeep.adopted(key):
                return  # another timeline's left in its place: it has a number of its own
            if whole:
                yield f"{where}: its decision record is missing"
        alarm = self._alarms.running.get(key.query)
        if alarm is None or alarm.fingerprint != decision.fingerprint:
            if shown:
                yield from self.by_record_alone(number)
            return
        record = decision_record(alarm, self._alarms, decision)
        if any(self._of_another_timeline(one, record) for one in shown):
            yield from self.by_record_alone(number)
            return
        left: list[Record] = [record, *alarm_records(alarm, decision), *count_records(decision)]
        released = {_named(one): one for one in left}
        # Counts of it may be gone with the beginning of those shown.
        forgotten = sequence <= self._first_counts.get((decision.ledger_id, key.query), 0)
        missing = {
            name
            for name, one in released.items()
            if whole and one is not record and not (forgotten and isinstance(one, CountRecord))
        }
        for one in shown:
            name = _named(one)
            missing.discard(name)
            if name not in released:
                yield f"{where}: {name} was not released"
            elif altered := fields_altered(one, released[name]):
                yield f"{where}: {name} was altered: {', '.join(altered)}"
        yield from (f"{where}: {name} is missing" for name in sorted(missing))

    def _of_another_timeline(self, one: Record, mine: DecisionRecord) -> bool:
        """Tell whether it is a decision that was taken over, under the number of another."""
        if one == mine or not isinstance(one, DecisionRecord) or self._unknown(one):
            return False
        seen, own = seen_by(self._ledger, [read_decision(one), read_decision(mine)])
        return seen.digest != own.digest

    def by_record_alone(self, number: Number) -> Iterator[str]:
        """Compare what was published of a decision with the digest in its own record."""
        shown = self._records.of(number)
        decisions = [one for one in shown if isinstance(one, DecisionRecord)]
        alarms = [one for one in shown if isinstance(one, AlarmRecord)]
        where = f"number {number.sequence} of {number.alarm!r}, ledger {number.ledger}"
        if not decisions:
            counts = len(shown) - len(alarms)
            yield f"{where}: {len(alarms)} alarm(s) and {counts} count(s) without a decision"
            return
        if any(map(self._unknown, decisions)):
            yield f"{where}: the ledger knows of no such decision"
            return
        if len(decisions) > 1:
            yield f"{where}: {len(decisions)} decision records contradict each other"
        self.alone[number.alarm] += 1
        ids = (name for one in alarms for name in (one.alarm_id, _identity(one)))
        if alarms_digest(ids) != decisions[0].alarms_digest:
            yield f"{where}: its alarms are not those of its record"

    def _unknown(self, record: DecisionRecord) -> bool:
        try:
            seen = seen_by(self._ledger, [read_decision(record)])
        except ValueError:
            return True
        return bool(self._ledger.upkeep.unknown_decisions(seen))


def _named(record: Record) -> str:
    """Return which record of its decision it is, in words."""
    if isinstance(record, AlarmRecord):
        return f"alarm {record.alarm_id}"
    if isinstance(record, CountRecord):
        return f"count {record.count_id}"
    return "its decision record"


def _identity(one: AlarmRecord) -> str:
    """Return the id that an alarm of this window and group has; of no window that is one, ""."""
    step = one.step_start, one.step_end
    start, end = step if any(step) else (one.window_start, one.window_end)
    try:
        key = WindowKey(from_iso_utc(end or ""), one.alarm, from_iso_utc(start or ""))
    except ValueError:
        return ""  # of times that Tocsin does not write
    return alarm_id(key, one.group)
