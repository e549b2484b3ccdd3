"""Every published record is altered and removed, and others are added: all of it is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from accountant.costs.charges import WindowKey
from stream.build import open_ledger
from stream.config.loading import load
from stream.custody import released
from stream.custody.archive import archive
from stream.custody.published import Records
from stream.custody.released import compare
from stream.decisions.records import AlarmRecord, DecisionRecord, alarm_id, alarms_digest
from stream.decisions.release import (
    alarm_records,
    decision_record,
    seen_decision,
)
from stream.replay.replay import Replay
from stream.windows.instants import from_iso_utc, iso_utc
from tests.support.commands import HOUR_MS, configuration
from tests.support.published import compared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms

    Record = DecisionRecord | AlarmRecord
    Decided = tuple[Alarms, Ledger, list[Record]]

LATE: Final = 1 << 60
BOTH, ONE = 6, 7
"""Numbers of the decisions in which both rooms rang, and one."""

UNSEEN_WITHOUT_ROWS: Final = {
    *("alarm mechanism", "alarm max_fnr", "alarm tolerance", "alarm severity", "alarm held_until"),
    *("decision reason", "decision cells_per_unit", "decision fingerprint"),
    *("decision budget", "decision periods", "decision next_start", "decision unanswered"),
    *("decision whole_start", "decision whole_end"),
}
"""Where a decision lies in an archive that is not given: what no digest of its own record holds."""


def _published(folder: Path) -> tuple[Alarms, Ledger, list[Record]]:
    """Decide a day in which rooms were full in two hours; return what left."""
    path = Path(configuration(folder))
    rooms = {BOTH - 1: ("lab", "hall"), ONE - 1: ("hall",)}
    lines = [
        json.dumps({"person": f"p{i}", "room": room, "n": 1, "ts": hour * HOUR_MS + i})
        for hour, full in rooms.items()
        for room in full
        for i in range(200)
    ]
    events = folder / "badges.jsonl"
    events.write_text("\n".join(lines) + "\n")
    alarms = load(path, environ={})
    ledger = open_ledger(alarms)
    records: list[Record] = []
    for decision in Replay(alarms, ledger, {"badges": [events]}).run():
        query = alarms.by_name[decision.key.query]
        records.append(decision_record(query, alarms, decision))
        records += alarm_records(query, decision)
    return alarms, ledger, records


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decided]:
    """A configuration, its ledger and what left it: for who changes nothing."""
    found = _published(tmp_path_factory.mktemp("decided"))
    with found[1]:
        yield found


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[Decided]:
    """The same for one test alone."""
    found = _published(tmp_path)
    with found[1]:
        yield found


def _changed(record: Record, name: str) -> Record:
    """Return a record with another value in a field, one that its schema takes."""
    now = getattr(record, name)
    if name == "outcome":
        return msgspec.structs.replace(record, outcome="denied", reason="budget")
    if name in {"privacy", "rho", "rho_units"}:
        return _of_the_other_promise(record)
    if name in {"window_start", "window_end", "next_start"}:
        now = iso_utc(from_iso_utc(now) + 1 if now else 0)
    elif name in {"draw", "severity"}:
        now = "0" * 40
    elif name in {"step_start", "step_end", "whole_start", "whole_end", "held_until"}:
        now = iso_utc(0)
    elif name in {"alarm_id", "alarms_digest", "fingerprint"}:
        now = "0" * 32
    elif isinstance(now, str):
        now = "0.5" if name in {"epsilon", "tolerance"} else f"{now}x"
    elif isinstance(now, dict):
        now = {"room": "nowhere"}
    elif isinstance(now, tuple):
        now = ("1970-01-01T00:00:00.000Z",)
    else:
        now = "x" if now is None else now / 2 if isinstance(now, float) else now + 1
    return msgspec.structs.replace(record, **{name: now})


def _of_the_other_promise(record: Record) -> Record:
    """Return a record of a pure loss as if a Gaussian budget had paid as much."""
    told = {"rho": "epsilon", "rho_units": "epsilon_units"}
    fields = {to: of for to, of in told.items() if to in record.__struct_fields__}
    paid = {to: getattr(record, of) for to, of in fields.items()}
    none = dict.fromkeys(fields.values(), msgspec.UNSET)
    return msgspec.structs.replace(record, privacy="gdp", **paid, **none)


def _edits(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield what may be done to published records, each thing alone."""
    places = {
        kind: next(
            at for at, one in enumerate(records) if isinstance(one, kind) and one.sequence == BOTH
        )
        for kind in (DecisionRecord, AlarmRecord)
    }
    for kind, at in places.items():
        word = "alarm" if kind is AlarmRecord else "decision"
        yield f"{word} removed", [*records[:at], *records[at + 1 :]]
        for name in kind.__struct_fields__:
            yield f"{word} {name}", [*records[:at], _changed(records[at], name), *records[at + 1 :]]
    alarm = next(one for one in records if isinstance(one, AlarmRecord) and one.sequence == ONE)
    key = WindowKey(from_iso_utc(alarm.window_end), alarm.alarm, from_iso_utc(alarm.window_start))
    other = {"room": "lab"}
    moved = msgspec.structs.replace(alarm, group=other, alarm_id=alarm_id(key, other))
    yield "alarm of another room", [moved if one is alarm else one for one in records]
    yield "alarm added", [*records, moved]
    stray = msgspec.structs.replace(alarm, sequence=99)
    yield "alarm of a window that nobody decided", [*records, stray]
    yield "window gone", [one for one in records if one.sequence != BOTH]


def _unseen(
    alarms: Alarms, ledger: Ledger, records: Sequence[Record], folder: Path | None = None
) -> set[str]:
    return {how for how, shown in _edits(records) if not compared(alarms, ledger, shown, folder)[0]}


def test_every_edit_is_named(changing: Decided, tmp_path: Path) -> None:
    """While the ledger has the decisions, from an archive's files, and without these."""
    alarms, ledger, records = changing
    folder = tmp_path / "archive"
    assert [one.sequence for one in records if isinstance(one, AlarmRecord)] == [BOTH, BOTH, ONE]
    assert len(list(_edits(records))) > 30

    def check(given: Path | None, unseen: set[str], covered: str) -> None:
        problems, notes = compared(alarms, ledger, [*records, *records[::-1]], given)
        assert problems == []
        assert notes == ["crowd: decisions 1 to 24 compared", *([covered] if covered else [])]
        assert _unseen(alarms, ledger, records, given) == unseen

    check(None, set(), "")
    assert archive(ledger, folder, LATE).entries > 0
    check(folder, set(), "")
    alone = "crowd: 24 decision(s) not covered: the ledger has no row of them: compared with their"
    check(None, {*UNSEEN_WITHOUT_ROWS, "window gone"}, f"{alone} own records alone")


def test_who_only_counts_sees_no_alarm_of_another_room(
    decided: Decided, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a decision said before it said which alarms it released."""
    honest = released._others

    def counted(
        what: str, found: Iterable[tuple[str, Any, Any]], known: Any, **_: bool
    ) -> Iterator[str]:
        shown = {each[0]: each for each in found}
        if len(shown) != len(known):
            yield what
        shared = [each for identity, each in shown.items() if identity in known]
        yield from honest(what, shared, known, whole=False)

    monkeypatch.setattr(released, "_others", counted)
    assert _unseen(*decided) == {"alarm of another room", "alarm alarm_id"}


def test_a_part_of_what_was_published_is_no_problem(decided: Decided) -> None:
    """Topics forget their beginnings, alarms later or sooner than decisions."""
    alarms, ledger, records = decided
    problems, notes = compared(alarms, ledger, [one for one in records if one.sequence >= BOTH])
    assert (problems, notes) == ([], ["crowd: decisions 6 to 24 compared"])
    problems, notes = compared(alarms, ledger, [])
    assert (problems, notes) == ([], ["crowd: none of its 24 published decisions is shown"])


def test_what_is_still_leaving_is_not_missed(decided: Decided) -> None:
    """A decision leaves before its alarms; what nobody released is named all the same."""
    alarms, ledger, records = decided
    leaving = [one for one in records if not isinstance(one, AlarmRecord) or one.sequence != BOTH]
    shown = Records()
    for one in leaving:
        shown.take(one)

    def told(through: int) -> list[str]:
        found = compare(alarms, ledger, shown, through={"crowd": through}, to_the_end=False)
        return found.problems

    assert told(BOTH - 1) == []
    assert len(told(BOTH)) == 2
    (alarm, *_) = [one for one in records if isinstance(one, AlarmRecord)]
    shown.take(msgspec.structs.replace(alarm, mechanism="other"))
    assert ["was altered: mechanism" in one for one in told(BOTH - 1)] == [True]


@pytest.mark.parametrize("number", [BOTH, 30])
def test_what_another_timeline_released_is_held_against_its_own_record(
    changing: Decided, number: int
) -> None:
    """In the place of a decision of this one, which never left, under its number or another."""
    alarms, ledger, records = changing
    own = [one for one in records if one.sequence == BOTH]
    beside = [one for one in records if one.sequence != BOTH]
    decision, alarm = (msgspec.structs.replace(one, sequence=number) for one in own[:2])
    digest = alarms_digest([alarm.alarm_id])
    decision = msgspec.structs.replace(decision, alarms=1, alarms_digest=digest)
    published = [*beside, decision, alarm]
    assert compared(alarms, ledger, published)[0] != []
    seen = seen_decision(decision)
    assert ledger.upkeep.reconcile([seen]) == 1
    problems, notes = compared(alarms, ledger, published)
    assert problems == []
    assert any("1 decision(s) not covered: the ledger has no row" in one for one in notes)
    assert len(compared(alarms, ledger, [*beside, decision])[0]) == 1


def test_records_that_cannot_be_read_are_counted(decided: Decided) -> None:
    """Whoever may write to a topic may write anything there."""
    alarms, ledger, records = decided
    shown = Records()
    shown.read(AlarmRecord, b"{}")
    shown.read(DecisionRecord, None)
    for number in (0, 2**63):
        shown.take(msgspec.structs.replace(records[0], sequence=number))
    found = compare(alarms, ledger, shown, through={}, to_the_end=True)
    assert found.problems == [
        "1 published record(s) are no alarm of this version",
        "3 published record(s) are no decision of this version",
    ]


def test_a_denial_that_cost_something_does_not_leave(decided: Decided) -> None:
    """A denied window with alarms or a charge is refused before it is a record."""
    alarms, ledger, _ = decided
    stored = ledger.decision(WindowKey(BOTH * HOUR_MS, "crowd", (BOTH - 1) * HOUR_MS))
    for change in ({"alarm_count": 0}, {"epsilon_units": 0}):
        with pytest.raises(ValueError, match="costs nothing"):
            decision_record(
                alarms.by_name["crowd"], alarms, replace(stored, reason="budget", **change)
            )
