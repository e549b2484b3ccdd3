"""Every published record is altered and removed, and others are added: all of it is named."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from accountant.costs.charges import WindowKey
from stream.build import open_ledger
from stream.config.loading import load
from stream.custody.archive import archive
from stream.custody.published import Records
from stream.custody.released import compare
from stream.custody.restoring import published_in, records_in
from stream.decisions.records import (
    AlarmRecord,
    CountRecord,
    DecisionRecord,
    alarm_id,
    alarms_digest,
    encode,
)
from stream.decisions.release import (
    alarm_records,
    count_records,
    decision_record,
    seen_decision,
)
from stream.replay.replay import Replay
from stream.windows.instants import from_iso_utc, iso_utc
from tests.support.commands import HOUR_MS, configuration, visits
from tests.support.paned import alarm, configured, opened, replayed, rows
from tests.support.published import compared

LATE = 1 << 60
BOTH, ONE = 6, 7
"""Numbers of the decisions in which both rooms fired, and one."""

UNSEEN_WITHOUT_ROWS = {
    *("alarm mechanism", "alarm max_fnr", "alarm tolerance", "alarm severity", "alarm held_until"),
    *("alarm epsilon", "alarm rho", "alarm privacy"),
    *("decision epsilon", "decision rho", "decision rho_units", "decision privacy"),
    *("decision reason", "decision cells_per_unit", "decision fingerprint"),
    *("decision budget", "decision periods", "decision next_start", "decision unanswered"),
    *("decision whole_start", "decision whole_end"),
}
"""Where the ledger has no row of a decision: what no digest of its own record holds."""


def _left(alarms, decisions):
    """Return the records of decisions as they leave."""
    found = []
    for one in decisions:
        query = alarms.running[one.key.query]
        found.append(decision_record(query, alarms, one))
        found += [*alarm_records(query, one), *count_records(one)]
    return found


def _published(folder):
    """Decide a day in which rooms were full in two hours."""
    alarms = load(Path(configuration(folder)), environ={})
    full = [1] * 200
    hours = [{}] * (BOTH - 1) + [{"lab": full, "hall": full}, {"hall": full}]
    with open_ledger(alarms) as ledger:
        replay = Replay(alarms, ledger, {"badges": [Path(visits(folder, hours))]})
        yield alarms, ledger, _left(alarms, replay.run())


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """A configuration, its ledger and what left it: for who changes nothing."""
    yield from _published(tmp_path_factory.mktemp("decided"))


@pytest.fixture
def changing(tmp_path):
    """The same for one test alone."""
    yield from _published(tmp_path)


@pytest.fixture
def counted(tmp_path):
    """The same of an alarm that releases counts: in the first two windows, nothing fires."""
    rooms, window = ("hall", "lab"), "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
    hall = alarm("hall", window, "COUNT(*) > 99", release="counts")
    alarms = configured(tmp_path, hall, rooms=rooms, until="00:06")
    with opened(alarms) as ledger:
        events = rows(tmp_path, (1, 1, 1, 400, 1, 1), rooms)
        yield alarms, ledger, _left(alarms, replayed(alarms, ledger, events))


OTHER = {
    **dict.fromkeys(("draw", "severity"), "0" * 40),
    **dict.fromkeys(("alarm_id", "alarms_digest", "count_id", "fingerprint"), "0" * 32),
    **dict.fromkeys(("step_start", "step_end", "whole_start"), iso_utc(0)),
    **dict.fromkeys(("whole_end", "held_until"), iso_utc(0)),
    **dict.fromkeys(("epsilon", "tolerance"), "0.5"),
    "max_fnr": 0.1,
    "reason": "x",
    "periods": (iso_utc(0),),
    "group": {"room": "nowhere"},
}
"""Values that nothing here has."""


def _changed(record, name):
    """Return a record with another value in a field, one that its schema takes."""
    now = getattr(record, name)
    changes = {name: OTHER.get(name)}
    if name == "outcome":
        changes = {"outcome": "denied", "reason": "budget"}
    elif name in {"privacy", "rho", "rho_units"}:  # as if a Gaussian budget had paid as much
        changes = {"privacy": "gdp", "rho": record.epsilon, "epsilon": msgspec.UNSET}
        if isinstance(record, DecisionRecord):
            changes |= {"rho_units": record.epsilon_units, "epsilon_units": msgspec.UNSET}
    elif name in {"window_start", "window_end", "next_start"}:
        changes = {name: iso_utc(from_iso_utc(now) + 1)}
    elif name not in OTHER:
        changes = {name: f"{now}x" if isinstance(now, str) else now + 1}
    return replace(record, **changes)


def _edited(records, one):
    """Yield what may be done to one record: it is removed, or another value is in a field."""
    word, at = type(one).__name__.removesuffix("Record").lower(), records.index(one)
    yield f"{word} removed", [*records[:at], *records[at + 1 :]]
    for name in one.__struct_fields__:
        yield f"{word} {name}", [*records[:at], _changed(one, name), *records[at + 1 :]]


def _edits(records):
    """Yield what may be done to published decisions and alarms, each thing alone."""
    decision, alarm, _ = (one for one in records if one.sequence == BOTH)
    yield from _edited(records, decision)
    yield from _edited(records, alarm)
    _, single = (one for one in records if one.sequence == ONE)
    assert isinstance(single, AlarmRecord)
    start, end = from_iso_utc(single.window_start), from_iso_utc(single.window_end)
    lab = {"room": "lab"}
    moved = replace(single, group=lab, alarm_id=alarm_id(WindowKey(end, "crowd", start), lab))
    yield "alarm of another room", [moved if one is single else one for one in records]
    yield "alarm added", [*records, moved]
    yield "alarm of a window that nobody decided", [*records, replace(single, sequence=99)]
    yield "window gone", [one for one in records if one.sequence != BOTH]


def _unseen(alarms, ledger, records):
    return {how for how, shown in _edits(records) if not compared(alarms, ledger, shown)[0]}


def test_every_edit_is_named(changing, tmp_path):
    """While the ledger has the decisions; once they lie in an archive, by their own records."""
    alarms, ledger, records = changing

    def check(unseen, *covered):
        problems, notes = compared(alarms, ledger, [*records, *records[::-1]])
        assert (problems, notes) == ([], ["crowd: decisions 1 to 24 compared", *covered])
        assert _unseen(alarms, ledger, records) == unseen

    check(set())
    assert archive(ledger, tmp_path / "archive", LATE).entries > 0
    check(
        {*UNSEEN_WITHOUT_ROWS, "window gone"},
        "crowd: 24 decision(s) not covered: compared with their own records alone",
    )


def test_what_another_configuration_decided_is_held_against_its_own_record(changing, tmp_path):
    """Its alarms are those of its digest, and it is not missing; the rest is said not covered."""
    _, ledger, records = changing
    alarms = load(Path(configuration(tmp_path, tolerance=2)), environ={})
    problems, notes = compared(alarms, ledger, records)
    assert problems == []
    assert notes[1:] == ["crowd: 24 decision(s) not covered: compared with their own records alone"]
    assert _unseen(alarms, ledger, records) == UNSEEN_WITHOUT_ROWS


def test_every_edit_of_a_count_is_named(counted):
    """Not of the first window: what lies before the beginning of what is shown may be forgotten."""
    alarms, ledger, records = counted
    fired = {one.sequence for one in records if isinstance(one, AlarmRecord)}
    counts = [one for one in records if isinstance(one, CountRecord) and one.sequence > 1]
    chosen = [next(one for one in counts if (one.sequence in fired) is so) for so in (True, False)]
    assert compared(alarms, ledger, records * 2)[0] == []
    for one in chosen:
        named = {how: compared(alarms, ledger, shown)[0] for how, shown in _edited(records, one)}
        assert all(named.values())
        window = f"window from {one.window_start} of 'hall' (number {one.sequence}): count "
        assert named["count removed"] == [f"{window}{one.count_id} is missing"]
        assert named["count count"] == [f"{window}{one.count_id} was altered: count"]
        added = [*records, _changed(one, "count_id")]
        assert compared(alarms, ledger, added)[0] != []
    bare = [one for one in records if not isinstance(one, CountRecord)]
    assert compared(alarms, ledger, bare)[0] != []


def test_counts_that_their_topic_has_forgotten_are_not_missed(counted):
    """It holds the most, and forgets the soonest: also in the midst of a window's counts."""
    alarms, ledger, records = counted
    counts = [one for one in records if isinstance(one, CountRecord)]
    for gone in (1, 2, 3):
        shown = [one for one in records if one not in counts[:gone]]
        assert compared(alarms, ledger, shown)[0] == []
        without = [one for one in shown if not isinstance(one, AlarmRecord)]
        assert compared(alarms, ledger, without)[0] != []


def test_saved_output_with_counts_is_read_and_charges_none(counted, tmp_path):
    """As `run --json` prints it; what is no record at all is still refused."""
    _, ledger, records = counted
    path = tmp_path / "published.jsonl"
    path.write_bytes(b"".join(encode(one) + b"\n" for one in records))
    assert list(records_in(path)) == records
    decisions = [one for one in records if isinstance(one, DecisionRecord)]
    assert published_in(ledger, [path]) == [seen_decision(one) for one in decisions]


@pytest.mark.parametrize(
    ("first", "note"),
    [(BOTH, "decisions 6 to 24 compared"), (99, "none of its 24 published decisions is shown")],
)
def test_a_part_of_what_was_published_is_no_problem(decided, first, note):
    """Topics forget their beginnings, alarms later or sooner than decisions."""
    alarms, ledger, records = decided
    shown = [one for one in records if one.sequence >= first]
    assert compared(alarms, ledger, shown) == ([], [f"crowd: {note}"])


def test_what_is_still_leaving_is_not_missed(decided):
    """A decision leaves before its alarms; what nobody released is named all the same."""
    alarms, ledger, records = decided
    shown = Records()
    for one in records:
        if not isinstance(one, AlarmRecord) or one.sequence != BOTH:
            shown.take(one)

    def told(through):
        found = compare(alarms, ledger, shown, through={"crowd": through}, to_the_end=False)
        return found.problems

    assert told(BOTH - 1) == []
    assert len(told(BOTH)) == 2
    alarm = next(one for one in records if isinstance(one, AlarmRecord))
    shown.take(replace(alarm, mechanism="other"))
    assert ["was altered: mechanism" in one for one in told(BOTH - 1)] == [True]


@pytest.mark.parametrize("number", [BOTH, 30])
def test_what_another_timeline_released_is_held_against_its_own_record(changing, number):
    """In the place of a decision of this one, which never left, under its number or another."""
    alarms, ledger, records = changing
    beside = [one for one in records if one.sequence != BOTH]
    decision, alarm, _ = (replace(one, sequence=number) for one in records if one not in beside)
    assert isinstance(decision, DecisionRecord)
    digest = alarms_digest([alarm.alarm_id])
    decision = replace(decision, alarms=1, alarms_digest=digest)
    published = [*beside, decision, alarm]
    assert compared(alarms, ledger, published)[0] != []
    assert ledger.upkeep.reconcile([seen_decision(decision)]) == 1
    problems, notes = compared(alarms, ledger, published)
    assert problems == []
    assert any("1 decision(s) not covered" in one for one in notes)
    assert len(compared(alarms, ledger, published[:-1])[0]) == 1


def test_records_that_cannot_be_read_are_counted(decided):
    """Whoever may write to a topic may write anything there."""
    alarms, ledger, records = decided
    shown = Records()
    more = msgspec.json.encode({**msgspec.to_builtins(records[0]), "more": 1})
    for kind, value in (
        *((AlarmRecord, b"{}"), (CountRecord, b"{}")),
        *((type(records[0]), value) for value in (None, more)),
    ):
        shown.read(kind, value)
    for number in (0, 2**63):
        shown.take(replace(records[0], sequence=number))
    found = compare(alarms, ledger, shown, through={}, to_the_end=True)
    assert found.problems == [
        "1 published record(s) are no alarm of this version",
        "1 published record(s) are no count of this version",
        "4 published record(s) are no decision of this version",
    ]


@pytest.mark.parametrize("without", ["alarm_count", "epsilon_units"])
def test_a_denial_that_cost_something_does_not_leave(decided, without):
    """A denied window with alarms or a charge is refused before it is a record."""
    alarms, ledger, _ = decided
    stored = ledger.decision(WindowKey(BOTH * HOUR_MS, "crowd", (BOTH - 1) * HOUR_MS))
    denied = dataclasses.replace(stored, **{"reason": "budget", without: 0})
    with pytest.raises(ValueError, match="costs nothing"):
        decision_record(alarms.by_name["crowd"], alarms, denied)
