"""Decisions that move to an archive: nobody who asks the ledger can tell, and verify proves it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from accountant.audit import verify
from accountant.rules import archiving
from accountant.ledger import archives, upkeep
from accountant.records import Outcome
from accountant.store.archives import archive_digest
from accountant.store.chain import read_anchor
from accountant.store.transaction import Transaction
from accountant.units import PrivacyUnit
from tests.contracts.test_ledger_compaction import (
    PERIOD,
    end_until,
    kept,
    on_the_topic,
    queries,
    scopes,
    wall,
)
from tests.support.archived import bound, move_all
from tests.support.everyrow import tampering
from tests.support.ledgers import Series, deny, requests, set_up, settle, without_anchors
from tests.support.runs import RUN, USER, WHOLE, ask, ring

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.ledger.ledger import Ledger

LATE = 10**9


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else waits for the database here."""
    monkeypatch.setattr(upkeep, "PAUSE_S", 0.0)


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_nobody_can_tell(fresh: Callable[[], Ledger], unit: PrivacyUnit) -> None:
    """A ledger whose past was moved goes on as one that was only compacted; no answer differs."""
    all_series = queries(unit)
    whole, moved = fresh(), fresh()
    for ledger in (whole, moved):
        set_up(ledger, unit, wall(unit), all_series)
        end_until(ledger, all_series, 120)
        ledger.admit("s", requests(all_series, 150))
    decisions = [moved.decision(one.charge.key) for one in requests(all_series, 120)]
    topic = [on_the_topic(one) for one in decisions if one is not None]
    assert {one.outcome for one in topic} == set(Outcome)
    for ledger in (whole, moved):
        assert ledger.upkeep.compact("s", 110) > 0
    before = without_anchors(moved.reports.status())
    noted = read_anchor(moved.reports.status().scopes["s"].anchor)

    gone = move_all(moved, 100)

    assert gone == kept(whole, "decisions") - kept(moved, "decisions") > 20
    assert move_all(moved, 100) == 0
    assert without_anchors(moved.reports.status()) == before
    assert moved.reports.verify({"s": dict([noted])}) == []
    assert moved.reports.verify(since={"s": noted}) == []
    # What lies on the topic is known still; what was never decided so, is not.
    assert moved.upkeep.unknown_decisions(topic) == []
    for other in (
        replace(topic[0], sequence=99),
        replace(topic[0], epsilon_units=99),
        replace(topic[0], end_ms=99),
        replace(topic[0], ledger_id="another"),
    ):
        assert moved.upkeep.unknown_decisions([other]) == [other]
    for ledger in (whole, moved):
        end_until(ledger, all_series, 300)
        assert ledger.reports.verify() == []
    assert scopes(whole) == scopes(moved)
    later = moved.reports.status()
    assert moved.upkeep.compact("s", 290) > 0
    assert move_all(moved, 290, "g") > 0
    assert without_anchors(moved.reports.status()) == without_anchors(later)
    assert moved.reports.verify() == []
    assert moved.upkeep.unknown_decisions(topic) == []


def test_a_window_that_was_moved_is_not_drawn_again(ledger: Ledger) -> None:
    """Whoever asks for its decision once more is refused: nothing is stored, nothing charged."""
    a = Series("a", period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 9, [a])
    end_until(ledger, [a], 50)
    ledger.upkeep.compact("s", 40)
    assert move_all(ledger, LATE) == 4
    before = ledger.reports.status()
    for again in (settle, deny):
        with pytest.raises(Exception, match="out of turn"):
            again(ledger, a, 1)
    ledger.mark_published(a.key(1))
    assert ledger.reports.status() == before
    assert ledger.reports.verify() == []


def test_what_something_still_needs_stays(ledger: Ledger) -> None:
    """Not compacted, not published, told of by a link, the last, too young: each stays."""
    a = Series("a", period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 9, [a])
    for index in range(6):
        ledger.admit("s", requests([a], 10 * index + 10))
        settle(ledger, a, index)
    assert move_all(ledger, LATE) == 0, "nothing is compacted"
    ledger.mark_published(*(a.key(index) for index in (0, 1, 2, 4, 5)))
    ledger.upkeep.compact("s", 60)
    assert move_all(ledger, 9) == 0, "none ended by then"
    assert move_all(ledger, 19) == 1
    assert move_all(ledger, LATE) == 2, "the fourth has not left"
    assert [one.key for one in ledger.unpublished("a", LATE)] == [a.key(3)]
    ledger.mark_published(a.key(3))
    ledger.upkeep.compact("s", 60)
    with ledger._store.write() as tx:
        kept_links = tx.links.all(query="a")
        assert [one.kind for one in kept_links] == []
    assert move_all(ledger, LATE) == 2, "the last stays: the next one follows on it"
    assert ledger.decision(a.key(5)) is not None
    assert ledger.upkeep.last_decided_ms() is not None
    assert ledger.reports.verify() == []


def test_windows_whose_refusal_was_compacted_wait_for_their_links(ledger: Ledger) -> None:
    """A denial has a link of its own, which may stay when that of its refusal has gone."""
    a, b = Series("a", units=2, period=PERIOD), Series("b", units=1, period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 3, [a, b])
    ledger.admit("s", requests([a, b], 40))
    for one in (a, b):
        for index in range(4):
            key = one.key(index)
            (settle if ledger.answer(key).value == "reserved" else deny)(ledger, one, index)
            ledger.mark_published(key)
    for until_ms in (10, 20, 30, 40):
        ledger.upkeep.compact("s", until_ms)
        move_all(ledger, LATE)
        assert ledger.reports.verify() == []
    assert kept(ledger, "decisions") == 2


def test_an_open_run_keeps_its_windows(ledger: Ledger) -> None:
    """A run is added up from its first window on."""
    set_up(ledger, USER, WHOLE, [RUN])
    for index in range(5):
        ask(ledger, 10 * index + 10)
        ring(ledger, index)
        ledger.mark_published(RUN.key(index))
    assert ledger.upkeep.compact("s", 50) > 2
    assert move_all(ledger, LATE) == 0
    assert ledger.reports.verify() == []


def test_another_timeline_is_left_alone(ledger: Ledger) -> None:
    """A file of decisions that are not the ledger's own, or were moved before, lets nothing go."""
    a = Series("a", period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 9, [a])
    end_until(ledger, [a], 50)
    ledger.upkeep.compact("s", 50)
    (part,) = bound(ledger, LATE)
    for wrong in (
        replace(part, hash=b"?" * 16),
        replace(part, first_sequence=2),
        replace(part, last_sequence=part.last_sequence + 1),
    ):
        assert ledger.archives.move([wrong], LATE) == 0
    assert ledger.archives.move([part], 5) == 0
    assert ledger.archives.move([part], LATE) == 4
    assert ledger.archives.move([part], LATE) == 0
    assert ledger.reports.verify() == []


def test_gaps_in_the_numbers_divide_what_is_kept(ledger: Ledger) -> None:
    """Numbers of another timeline are in no archive; those about them are found."""
    a = Series("a")
    set_up(ledger, PrivacyUnit.EVENT, 9, [a])
    end_until(ledger, [a], 20)
    last = ledger.decision(a.key(1))
    assert last is not None
    lost = on_the_topic(last, sequence=7, start_ms=20, end_ms=30)
    ledger.upkeep.mark_spent([replace(lost, next_start_ms=30)])
    noted = read_anchor(ledger.reports.status().scopes["s"].anchor)
    for index in range(3, 7):
        ledger.admit("s", [a.request(index)])
        deny(ledger, a, index)
        ledger.mark_published(a.key(index))
    assert ledger.reports.verify(since={"s": noted}) == []
    assert ledger.upkeep.compact("s", 70) > 0
    assert [(one.first_sequence, one.last_sequence) for one in bound(ledger, LATE)] == [
        (1, 2),
        (8, 10),
    ]
    topic = [on_the_topic(one) for i in range(7) if (one := ledger.decision(a.key(i))) is not None]
    assert move_all(ledger, LATE) == 5
    assert ledger.upkeep.unknown_decisions([one for one in topic if one.sequence != 7]) == []
    assert ledger.reports.verify() == []


def test_transactions_are_short(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts go some at a time; killed between two, the rest goes when it is called again."""
    monkeypatch.setattr(archiving, "PART", 2)
    monkeypatch.setattr(archives, "_STEP_DECISIONS", 3)
    a, b = Series("a", period=PERIOD), Series("b", period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 99, [a, b])
    end_until(ledger, [a, b], 60)
    ledger.upkeep.compact("s", 60)
    parts = bound(ledger, LATE)
    sizes = [one.last_sequence - one.first_sequence + 1 for one in parts]
    assert sizes == [2, 2, 1, 2, 2, 1]
    steps = list(archives._steps(iter(parts)))
    assert [len(one) for one in steps] == [1, 2, 1, 2]
    assert ledger.archives.move(steps[0], LATE) == 2
    assert ledger.reports.verify() == []
    assert ledger.archives.move(parts, LATE) == 8
    assert ledger.reports.verify() == []


BACK = (
    "INSERT INTO tocsin_decisions SELECT query, start_ms - 40, end_ms - 40, sequence - 4, outcome, "
    "reason, alarms, alarm_count, epsilon_units, release_ms, decided_at_ms, published, "
    "fingerprint, archived, next_start_ms, run_digest, alarms_digest, hash FROM tocsin_decisions"
)
MARKS = "UPDATE tocsin_archives SET seen = (SELECT hash FROM tocsin_decisions)"
TAMPERING = {
    "a row that came back": (BACK, "is used 2 time(s)"),
    "the marks": (MARKS, "is not what was stored"),
    "the row": ("DELETE FROM tocsin_archives", "do not end where its numbers say"),
    "the base": ("UPDATE tocsin_sequences SET moved_hash = hash", "not what was stored"),
    "its number": ("UPDATE tocsin_sequences SET moved_sequence = 3", "do not end where"),
}
"""By what is changed: how, and words of what verify says."""


def test_what_is_kept_of_archives_is_vouched_for(ledger: Ledger) -> None:
    """Each edit of it is named."""
    a = Series("a", period=PERIOD)
    set_up(ledger, PrivacyUnit.USER, 9, [a])
    end_until(ledger, [a], 50)
    ledger.upkeep.compact("s", 50)
    assert move_all(ledger, LATE) == 4
    assert ledger.reports.verify() == []
    with tampering(ledger) as connection:
        for how, (statement, said) in TAMPERING.items():
            step = connection.begin_nested()
            connection.exec_driver_sql(statement)
            found = verify.problems(Transaction(connection), {})
            step.rollback()
            assert any(said in line for line in found), how
        # Who computes the digests anew as well is told by the state link.
        tx = Transaction(connection)
        (row,), numbers = tx.archives.all(), tx.sequences.of("a")
        row = replace(row, file="g", digest=archive_digest(b"", replace(row, file="g")))
        tx.archives.put(row)
        tx.sequences.put(replace(numbers, archives_digest=row.digest))
        (problem,) = verify.problems(tx, {})
        assert "are not what its chain vouches for" in problem
