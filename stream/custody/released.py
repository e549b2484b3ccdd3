"""What was published, compared with what was decided: which alarm was altered, removed or added.

The ledger's log holds which groups rang of every decision. One that another timeline stored, or
that lies in an archive which is not given, is compared with the digest in its own record alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from heapq import merge
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
_BY_RECORD_ALONE: Final = "the ledger has no row of them: compared with their own records alone"
_BY_COUNT_ALONE: Final = (
    "the records do not name the groups that fired: only their number is compared"
)


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
    moved: defaultdict[str, list[StoredDecision]] = defaultdict(list)
    shown = {one.alarm for one in records.numbers()}
    for row in archived:
        if row.key.query in shown:
            moved[row.key.query].append(row)
    return comparing.all(moved, to_the_end=to_the_end)


class _Comparing:
    def __init__(
        self, alarms: Alarms, ledger: Ledger, records: Records, through: Mapping[str, int]
    ) -> None:
        self._alarms = alarms
        self._ledger = ledger
        self._records = records
        self._through = through
        self._beside: Counter[tuple[str, str]] = Counter()
        self._notes: list[str] = []
        self._first_counts = records.first_counts()
        budgets = {one.scope for one in ledger.pins.budgets() if one.promise is not None}
        self._gaussian = {row.query: row.scope in budgets for row in ledger.pins.queries()}

    def all(
        self, archived: Mapping[str, Collection[StoredDecision]], *, to_the_end: bool
    ) -> Comparison:
        problems = [
            f"{many} published record(s) are no {kind} of this version"
            for kind, many in self._records.unreadable.items()
        ]
        mine = self._ledger.ledger_id
        by_alarm: defaultdict[str, set[int]] = defaultdict(set)
        others = []
        for one in self._records.numbers():
            if one.ledger == mine:
                by_alarm[one.alarm].add(one.sequence)
            elif one.alarm in self._alarms.running:
                others.append(one)
        for alarm in sorted(by_alarm.keys() | self._through.keys()):
            shown = by_alarm[alarm]
            problems += self._of_alarm(alarm, shown, archived.get(alarm, ()), to_the_end=to_the_end)
            others += [Number(mine, alarm, left) for left in shown]
        problems += self._without_rows(sorted(others))
        self._notes += [
            f"{alarm}: {many} decision(s) not covered: {why}"
            for (alarm, why), many in sorted(self._beside.items())
        ]
        return Comparison(problems, self._notes)

    def _of_alarm(
        self,
        alarm: str,
        shown: set[int],
        archived: Collection[StoredDecision],
        *,
        to_the_end: bool,
    ) -> Iterator[str]:
        """Compare the rows of an alarm; what is left in ``shown`` has none."""
        left = self._through.get(alarm, 0)
        if not shown:
            if left:
                self._notes.append(f"{alarm}: none of its {left} published decisions is shown")
            return
        first, last = min(shown), max(shown)
        until = max(last, left) if to_the_end else last
        here = self._ledger.progress.numbered(alarm, first, until)
        moved = (row for row in archived if first <= row.sequence <= until)
        for row in merge(moved, here, key=lambda one: one.sequence):
            shown.discard(row.sequence)
            yield from self._of_row(row)
        behind = f", and not those published behind, up to {left}" if left > until else ""
        self._notes.append(f"{alarm}: decisions {first} to {until} compared{behind}")

    def _of_row(self, decision: StoredDecision) -> Iterator[str]:
        key, sequence = decision.key, decision.sequence
        number = Number(decision.ledger_id, key.query, sequence)
        where = f"window from {iso_utc(key.start_ms)} of {key.query!r} (number {sequence})"
        alarm = self._alarms.running.get(key.query)
        if alarm is not None and alarm.fingerprint != decision.fingerprint:
            alarm = None
        decisions = self._records.of(DecisionRecord, number)
        alarms = self._records.of(AlarmRecord, number)
        if any(self._of_another(decision, record) for record in decisions):
            yield from self._without_rows([number])
            return
        # Whether all of it had left before the records were read.
        whole = sequence <= self._through.get(key.query, 0)
        if whole and not decisions:
            if self._ledger.upkeep.adopted(key):
                return  # another timeline's left in its place: it has a number of its own
            yield f"{where}: its decision record is missing"
        for record in decisions:
            if wrong := fields_altered(record, self._again(record, decision, alarm)):
                yield f"{where}: its decision record was altered: {', '.join(sorted(wrong))}"
        rang: dict[str, AlarmRecord | None] = dict.fromkeys(released_ids(decision))
        if alarm is not None:
            rang |= {one.alarm_id: one for one in alarm_records(alarm, decision)}
        else:
            gaussian = self._gaussian.get(key.query, False)
            lost = loss_fields(decision.epsilon_units, gaussian=gaussian)
            yield from _altered(alarms, lost, where, released_severities(decision))
        found = ((one.alarm_id, one) for one in alarms)
        yield from _others("alarm", found, rang, where, whole=whole)
        # Counts of it may be gone with the beginning of those shown.
        forgotten = sequence <= self._first_counts.get((decision.ledger_id, key.query), 0)
        counts = ((one.count_id, one) for one in self._records.of(CountRecord, number))
        left = {one.count_id: one for one in count_records(decision)}
        yield from _others("count", counts, left, where, whole=whole and not forgotten)

    def _without_rows(self, numbers: Iterable[Number]) -> Iterator[str]:
        """Compare decisions of which the ledger has no row with their own records."""
        for number in numbers:
            decisions = self._records.of(DecisionRecord, number)
            alarms = self._records.of(AlarmRecord, number)
            where = f"number {number.sequence} of {number.alarm!r}, ledger {number.ledger}"
            if not decisions:
                counts = len(self._records.of(CountRecord, number))
                beside = f" and {counts} count(s)" if counts else ""
                yield f"{where}: {len(alarms)} alarm(s){beside} without a decision"
                continue
            record = decisions[0]
            if any(map(self._unknown, decisions)):
                yield f"{where}: the ledger knows of no such decision"
                continue
            if len(decisions) > 1:
                yield f"{where}: {len(decisions)} decision records contradict each other"
            of_gaussian = record.privacy is not msgspec.UNSET
            if self._gaussian.get(number.alarm, of_gaussian) is not of_gaussian:
                yield f"{where}: its decision record was altered: privacy"
            lost = {each: getattr(record, each) for each in _OF_NO_KIND}
            yield from _altered(alarms, lost, where)
            found = [one.alarm_id for one in alarms]
            if not record.alarms_digest:
                yield from self._counted(found, record.alarms, number, where, _BY_COUNT_ALONE)
                continue
            self._beside[number.alarm, _BY_RECORD_ALONE] += 1
            if alarms_digest(found) != record.alarms_digest:
                yield f"{where}: its alarms are not those of its record"

    def _counted(
        self, found: Iterable[str], stated: int, number: Number, where: str, why: str
    ) -> Iterator[str]:
        """Compare how many alarms there are, where nothing says which."""
        many = len(set(found))
        if many != stated:
            yield f"{where}: {many} alarm(s), and {stated} were released"
        self._beside[number.alarm, why] += bool(stated)

    def _of_another(self, decision: StoredDecision, record: DecisionRecord) -> bool:
        """Tell whether a record is of a decision that was adopted, under a number of this one."""
        same = (
            record.window_start == iso_utc(decision.key.start_ms),
            record.outcome == decision.outcome.value,
            record.loss_units == decision.epsilon_units,
            record.alarms == decision.alarm_count,
            (record.draw or None) == decision.draw,
        )
        return not all(same) and not self._unknown(record)

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
        key, gaussian = decision.key, self._gaussian.get(decision.key.query, False)
        digest = alarms_digest(released_ids(decision)) if record.alarms_digest else ""
        if alarm is not None:
            again = decision_record(alarm, self._alarms, decision)
            return msgspec.structs.replace(again, alarms_digest=digest)
        said: dict[str, Any] = {
            "window_start": iso_utc(key.start_ms),
            "window_end": iso_utc(key.end_ms),
            "outcome": decision.outcome.value,
            "reason": decision.reason,
            "alarms": decision.alarm_count,
            "alarms_digest": digest,
            "fingerprint": decision.fingerprint,
            "draw": decision.draw or msgspec.UNSET,
            **_OF_NO_KIND,
            **dict.fromkeys(("epsilon_units", "rho_units"), msgspec.UNSET),
            **decision_loss_fields(decision.epsilon_units, gaussian=gaussian),
        }
        return msgspec.structs.replace(record, **said)


def _altered(
    alarms: Iterable[AlarmRecord],
    lost: Mapping[str, Any],
    where: str,
    severities: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Name the alarms that no decision writes so, whatever it decided and was configured then."""
    for one in alarms:
        window = _window_of(one)
        identity = "" if window is None else alarm_id(window, one.group)
        said: dict[str, Any] = {"alarm_id": identity, **_OF_NO_KIND, **lost}
        if severities is not None:
            said["severity"] = severities.get(one.alarm_id, msgspec.UNSET)
        if wrong := fields_altered(one, msgspec.structs.replace(one, **said)):
            yield f"{where}: alarm {one.alarm_id} was altered: {', '.join(wrong)}"


def _others(
    kind: str,
    found: Iterable[tuple[str, msgspec.Struct]],
    released: Mapping[str, msgspec.Struct | None],
    where: str,
    *,
    whole: bool,
) -> Iterator[str]:
    """Name the records that were altered, that nobody released, and those that are missing.

    Args:
        kind: of the records, in a word.
        found: what was published, with its ids.
        released: by id, what left with the decision; ``None`` where no more than that is known.
        where: which window that is, in words.
        whole: whether all of it had left before the records were read.
    """
    there = set()
    for identity, one in found:
        there.add(identity)
        if identity not in released:
            yield f"{where}: {kind} {identity} was not released"
        elif (again := released[identity]) and (wrong := fields_altered(one, again)):
            yield f"{where}: {kind} {identity} was altered: {', '.join(wrong)}"
    if whole:
        for identity in sorted(released.keys() - there):
            yield f"{where}: {kind} {identity} is missing"


def _window_of(alarm: AlarmRecord) -> WindowKey | None:
    """Return an alarm's window; ``None`` where its times are not ones that Tocsin writes."""
    try:
        start, end = alarm.window_start, alarm.window_end
        step = alarm.step_start, alarm.step_end
        if step != (msgspec.UNSET, msgspec.UNSET):
            start, end = ("" if one is msgspec.UNSET else one for one in step)
        start_ms, end_ms = from_iso_utc(start), from_iso_utc(end)
        return WindowKey(end_ms=end_ms, query=alarm.alarm, start_ms=start_ms)
    except ValueError:
        return None
