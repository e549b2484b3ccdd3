"""What was published, compared with what was decided: which alarm was altered, removed or added.

The ledger's log holds which groups rang of every decision. One that another timeline stored, or
that lies in an archive which is not given, is compared with the digest in its own record alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from accountant.costs.charges import WindowKey
from stream.custody.published import Number, fields_altered
from stream.decisions.records import (
    AlarmRecord,
    CountRecord,
    DecisionRecord,
    alarm_id,
    alarms_digest,
    decision_loss_fields,
    loss_fields,
)
from stream.decisions.release import (
    alarm_records,
    count_records,
    decision_record,
    released_ids,
    released_severities,
    seen_decision,
)
from stream.windows.instants import from_iso_utc, iso_utc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from stream.custody.published import Records
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["Comparison", "compare", "published_by"]

_OF_NO_KIND: Final[dict[str, Any]] = dict.fromkeys(("epsilon", "privacy", "rho"), msgspec.UNSET)
_WHOSE: Final = {"window_start", "outcome", "epsilon_units", "rho_units", "alarms", "draw"}
"""Fields by which an adopted decision differs from the one that has its number here."""


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
    archived: Iterable[StoredDecision] = (),
    to_the_end: bool,
) -> Comparison:
    """Compare what was published with what a ledger decided.

    Args:
        alarms: the configuration; of alarms that it has as they were decided, all is compared.
        ledger: open.
        records: what was published.
        through: up to which number everything had left before the records were read, by query.
        archived: decisions that lie in archives.
        to_the_end: whether the records reach up to there, so that none may be missing behind.
    """
    comparing = _Comparing(alarms, ledger, records, through)
    shown: defaultdict[str, list[int]] = defaultdict(list)
    for number in comparing.without_row:
        if number.ledger == ledger.ledger_id:
            shown[number.alarm].append(number.sequence)
    moved: defaultdict[str, list[StoredDecision]] = defaultdict(list)
    for row in archived:
        if row.key.query in shown:
            moved[row.key.query].append(row)
    problems = [
        f"{many} published record(s) are no {kind} of this version"
        for kind, many in records.unreadable.items()
    ]
    for alarm in sorted(shown.keys() | through.keys()):
        problems += comparing.alarm(alarm, shown[alarm], moved[alarm], to_the_end=to_the_end)
    for number in sorted(comparing.without_row):
        problems += comparing.by_record_alone(number)
    alone = [
        f"{alarm}: {many} decision(s) not covered: the ledger has no row of them: compared with "
        "their own records alone"
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
        self.notes: list[str] = []
        self.without_row = {
            one
            for one in records.numbers()
            if one.ledger == ledger.ledger_id or one.alarm in alarms.running
        }
        """Decisions that records are about, of which no row was found so far."""
        self.alone: Counter[str] = Counter()
        """How many decisions were compared with their own records alone, by alarm."""
        self._first_counts = records.first_counts()
        budgets = {one.scope for one in ledger.pins.budgets() if one.promise is not None}
        self._gaussian = {row.query: row.scope in budgets for row in ledger.pins.queries()}

    def alarm(
        self,
        alarm: str,
        shown: Collection[int],
        archived: Iterable[StoredDecision],
        *,
        to_the_end: bool,
    ) -> Iterator[str]:
        """Compare the decisions of an alarm, from the first that is shown on, with their rows."""
        left = self._through.get(alarm, 0)
        if not shown:
            if left:
                self.notes.append(f"{alarm}: none of its {left} published decisions is shown")
            return
        first, last = min(shown), max(shown)
        until = max(last, left) if to_the_end else last
        moved = (row for row in archived if first <= row.sequence <= until)
        here = self._ledger.progress.numbered(alarm, first, until)
        for row in chain(moved, here):
            yield from self._with_row(row)
        behind = f", and not those published behind, up to {left}" if left > until else ""
        self.notes.append(f"{alarm}: decisions {first} to {until} compared{behind}")

    def _with_row(self, decision: StoredDecision) -> Iterator[str]:
        """Compare a decision that the ledger, or an archive, has with what was published of it."""
        key, sequence = decision.key, decision.sequence
        number = Number(decision.ledger_id, key.query, sequence)
        self.without_row.discard(number)
        where = f"window from {iso_utc(key.start_ms)} of {key.query!r} (number {sequence})"
        alarm = self._alarms.running.get(key.query)
        if alarm is not None and alarm.fingerprint != decision.fingerprint:
            alarm = None
        wrong = [
            (record, fields_altered(record, self._again(record, decision, alarm)))
            for record in self._records.of(DecisionRecord, number)
        ]
        if any(not _WHOSE.isdisjoint(names) and not self._unknown(one) for one, names in wrong):
            yield from self.by_record_alone(number)
            return
        # Whether all of it had left before the records were read.
        whole = sequence <= self._through.get(key.query, 0)
        if whole and not wrong:
            if self._ledger.upkeep.adopted(key):
                return  # another timeline's left in its place: it has a number of its own
            yield f"{where}: its decision record is missing"
        yield from (_altered(f"{where}: its decision record", names) for _, names in wrong if names)
        rang = alarm_records(alarm, decision) if alarm is not None else ()
        as_configured = {one.alarm_id: one for one in rang}
        severities = released_severities(decision)
        lost = loss_fields(decision.epsilon_units, gaussian=self._gaussian.get(key.query, False))
        alarms = (
            (
                one.alarm_id,
                one,
                as_configured.get(one.alarm_id) or _as_decided(one, lost, severities),
            )
            for one in self._records.of(AlarmRecord, number)
        )
        yield from _others(f"{where}: alarm", alarms, set(released_ids(decision)), whole=whole)
        left = {one.count_id: one for one in count_records(decision)}
        counts = (
            (one.count_id, one, left.get(one.count_id, one))
            for one in self._records.of(CountRecord, number)
        )
        # Counts of it may be gone with the beginning of those shown.
        forgotten = sequence <= self._first_counts.get((decision.ledger_id, key.query), 0)
        yield from _others(f"{where}: count", counts, left, whole=whole and not forgotten)

    def by_record_alone(self, number: Number) -> Iterator[str]:
        """Compare what was published of a decision that the ledger has no row of with itself."""
        decisions = self._records.of(DecisionRecord, number)
        alarms = self._records.of(AlarmRecord, number)
        where = f"number {number.sequence} of {number.alarm!r}, ledger {number.ledger}"
        if not decisions:
            counts = len(self._records.of(CountRecord, number))
            yield f"{where}: {len(alarms)} alarm(s) and {counts} count(s) without a decision"
            return
        if any(map(self._unknown, decisions)):
            yield f"{where}: the ledger knows of no such decision"
            return
        if len(decisions) > 1:
            yield f"{where}: {len(decisions)} decision records contradict each other"
        record = decisions[0]
        of_gaussian = record.privacy is not msgspec.UNSET
        if self._gaussian.get(number.alarm, of_gaussian) is not of_gaussian:
            yield _altered(f"{where}: its decision record", ["privacy"])
        lost = {each: getattr(record, each) for each in _OF_NO_KIND}
        for one in alarms:
            if names := fields_altered(one, _as_decided(one, lost)):
                yield _altered(f"{where}: alarm {one.alarm_id}", names)
        self.alone[number.alarm] += 1
        if alarms_digest(one.alarm_id for one in alarms) != record.alarms_digest:
            yield f"{where}: its alarms are not those of its record"

    def _unknown(self, record: DecisionRecord) -> bool:
        try:
            seen = seen_decision(record)
        except ValueError:
            return True
        return bool(self._ledger.upkeep.unknown_decisions([seen]))

    def _again(
        self, record: DecisionRecord, decision: StoredDecision, alarm: Alarm | None
    ) -> DecisionRecord:
        """Return a decision's record as the ledger has it, as far as that is known."""
        if alarm is not None:
            return decision_record(alarm, self._alarms, decision)
        key, gaussian = decision.key, self._gaussian.get(decision.key.query, False)
        said: dict[str, Any] = {
            "window_start": iso_utc(key.start_ms),
            "window_end": iso_utc(key.end_ms),
            "outcome": decision.outcome.value,
            "reason": decision.reason,
            "alarms": decision.alarm_count,
            "alarms_digest": alarms_digest(released_ids(decision)),
            "fingerprint": decision.fingerprint,
            "draw": decision.draw or msgspec.UNSET,
            **_OF_NO_KIND,
            **dict.fromkeys(("epsilon_units", "rho_units"), msgspec.UNSET),
            **decision_loss_fields(decision.epsilon_units, gaussian=gaussian),
        }
        return msgspec.structs.replace(record, **said)


def _as_decided(
    one: AlarmRecord, lost: Mapping[str, Any], severities: Mapping[str, str] | None = None
) -> AlarmRecord:
    """Return an alarm as a decision writes it, as far as that does not depend on configuration."""
    step = one.step_start, one.step_end
    start, end = step if any(step) else (one.window_start, one.window_end)
    try:
        end_ms, start_ms = from_iso_utc(end or ""), from_iso_utc(start or "")
        identity = alarm_id(WindowKey(end_ms, one.alarm, start_ms), one.group)
    except ValueError:
        identity = ""  # of times that Tocsin does not write
    said: dict[str, Any] = {"alarm_id": identity, **_OF_NO_KIND, **lost}
    if severities is not None:
        said["severity"] = severities.get(one.alarm_id, msgspec.UNSET)
    return msgspec.structs.replace(one, **said)


def _altered(what: str, names: Iterable[str]) -> str:
    return f"{what} was altered: {', '.join(names)}"


def _others(
    what: str,
    found: Iterable[tuple[str, msgspec.Struct, msgspec.Struct]],
    released: Collection[str],
    *,
    whole: bool,
) -> Iterator[str]:
    """Name the records that were altered, that nobody released, and those that are missing.

    Args:
        what: a record of which window that is, in words.
        found: what was published: id, record, and the record as it was decided.
        released: ids of what left with the decision.
        whole: whether all of it had left before the records were read.
    """
    missing = set(released) if whole else set()
    for identity, one, again in found:
        missing.discard(identity)
        if identity not in released:
            yield f"{what} {identity} was not released"
        elif names := fields_altered(one, again):
            yield _altered(f"{what} {identity}", names)
    for identity in sorted(missing):
        yield f"{what} {identity} is missing"
