"""Entries that move to an archive: the past gives way, and nothing that is alive can tell."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from accountant.errors import LedgerError
from accountant.ledger import archives
from accountant.ledger.archives import Archives
from accountant.log.entries import Ended, read_checkpoint
from accountant.records import Answer, Outcome, SeenDecision
from stream.custody.archive import archive, archived_in, missing_in
from tests.support.archived import move_all, moved
from tests.support.ledgers import (
    EVENT,
    USER,
    Opens,
    Series,
    admit,
    deny,
    each_unit,
    held,
    must_verify,
    registration,
    requests,
    set_up,
    settle,
    status_of,
    without_checkpoint,
)
from tests.support.runs import RUN, WHOLE, ask, ring

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.records import ScopeStatus, StoredDecision
    from accountant.store.entry_rows import EntryRow
    from accountant.units import PrivacyUnit

DATABASES = ["sqlite"]
BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
PERIOD = 60
LATE = 10**9
SMALL = 7


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else waits for the database here; the ledgers of tests take many steps."""
    monkeypatch.setattr(archives, "_PAUSE_S", 0.0)
    monkeypatch.setattr(archives, "_STEP", SMALL)


def queries(unit: PrivacyUnit) -> list[Series]:
    """Return a tumbling, a hopping and a long query."""
    period = PERIOD if unit is USER else 0
    return [
        Series("a", units=1, period=period),
        Series("hop", 20, 10, 2, period=period),
        Series("long", 40, 40, 1, cells_per_unit=2 if period else 1, period=period),
    ]


def wall(unit: PrivacyUnit) -> int:
    """Return a wall that some windows pass."""
    return 8 if unit is USER else 4


def end_until(ledger: Ledger, all_series: list[Series], until_ms: int) -> None:
    """Ask for every window that ends by an instant, one by one, end it and publish it."""
    asked = requests(all_series, until_ms)
    for number, request in enumerate(asked, 1):
        key = request.charge.key
        if ledger.cursor(key.query) > key.start_ms:
            continue
        ledger.admit("s", asked[:number])
        one = next(series for series in all_series if series.query == key.query)
        index = key.start_ms // one.step
        kind = (key.start_ms // 10 + len(key.query)) % 4
        if ledger.answer(key) is not Answer.RESERVED or kind == 3:
            deny(ledger, one, index)
        elif kind == 2:
            settle(ledger, one, index, cells=(one.units, 0, 0, 0))
        else:
            settle(ledger, one, index, units=min(kind, one.units))
        ledger.mark_published(key)


def on_the_topic(decision: StoredDecision, **changes: object) -> SeenDecision:
    """Return a decision as it stands on the topic."""
    key = decision.key
    one = SeenDecision(
        *(decision.ledger_id, key.query, "s", key.start_ms, key.end_ms, decision.sequence),
        *(decision.outcome, decision.epsilon_units, decision.alarm_count),
        next_start_ms=key.end_ms,
    )
    return replace(one, **changes)  # type: ignore[arg-type]  # fields of a decision


def scopes(ledger: Ledger) -> Mapping[str, ScopeStatus]:
    """Return the status of every budget without what it says of archives."""
    return without_checkpoint(ledger.reports.status()).scopes


@BOTH
@each_unit
def test_nobody_can_tell(fresh: Opens, opened: Opens, unit: PrivacyUnit) -> None:
    """A ledger whose past was moved goes on as one that has all of it; no answer differs."""
    all_series = queries(unit)
    whole, one = fresh(), opened()
    for ledger in (whole, one):
        set_up(ledger, unit, wall(unit), all_series)
        end_until(ledger, all_series, 120)
        admit(ledger, 150, *all_series)
    decisions = [one.decision(each.charge.key) for each in requests(all_series, 120)]
    topic = [on_the_topic(each) for each in decisions if each is not None]
    assert {each.outcome for each in topic} == set(Outcome)
    before = without_checkpoint(one.reports.status())
    noted = dict([read_checkpoint(one.reports.status().checkpoint)])

    rows = moved(one, 100)

    assert sum(row.kind == Ended.kind for row in rows) > 20
    assert move_all(one, 100, "again") == 0
    other = opened()  # folds from the snapshot; the first goes on with what it knows
    for ledger in (one, other):
        assert without_checkpoint(ledger.reports.status()) == before
        assert status_of(ledger).archived_ms == 100
        assert ledger.reports.verify(noted) == []
        assert ledger.reports.verify(noted, archived=rows) == []
        # What lies on the topic is known still; what was never decided so, is not.
        assert ledger.upkeep.unknown_decisions(topic) == []
        for wrong in (
            replace(topic[0], sequence=99),
            replace(topic[0], epsilon_units=99),
            replace(topic[0], end_ms=99),
            replace(topic[0], alarm_count=9),
            replace(topic[0], ledger_id="another"),
        ):
            assert ledger.upkeep.unknown_decisions([wrong]) == [wrong]

    end_until(whole, all_series, 200)
    end_until(one, all_series, 160)
    end_until(other, all_series, 200)
    later = [each.charge.key for each in requests(all_series, 200) if each.charge.key.end_ms > 100]
    answers = [[ledger.answer(key) for key in later] for ledger in (whole, one, other)]
    assert answers[0] == answers[1] == answers[2]
    assert {Answer.RESERVED, Answer.REFUSED} <= set(answers[0])
    assert scopes(whole) == scopes(one) == scopes(other)
    rows += moved(other, 190, "g")
    assert scopes(whole) == scopes(one) == scopes(opened())
    assert one.upkeep.unknown_decisions(topic) == []
    assert one.reports.verify(noted, archived=rows) == []
    must_verify(one)


@each_unit
@pytest.mark.parametrize("before_ms", range(5, 125, 15))
def test_wherever_it_is_cut(fresh: Opens, unit: PrivacyUnit, before_ms: int) -> None:
    """Also between two windows that are compared with each other, and where some wait."""
    all_series = queries(unit)
    ledgers = [fresh(), fresh()]
    for ledger in ledgers:
        set_up(ledger, unit, wall(unit), all_series)
        end_until(ledger, all_series, 70)
        admit(ledger, 120, *all_series)
    moved(ledgers[1], before_ms)
    ledgers[1]._door._state = None  # as whoever opens it next
    asked = [each.charge.key for each in requests(all_series, 120)]
    for until_ms in (80, 90, 100, 110, 120):
        found = [
            [one.answer(key) for key in asked if key.end_ms > until_ms - 10] for one in ledgers
        ]
        assert found[0] == found[1]
        assert scopes(ledgers[0]) == scopes(ledgers[1])
        for ledger in ledgers:
            end_until(ledger, all_series, until_ms)
    must_verify(ledgers[1])


def test_windows_beside_what_is_gone_are_missed(ledger: Ledger) -> None:
    """A query that comes later cannot reach back to rows whose losses are known no more."""
    a, new = Series("a", units=3), Series("new", size=20, step=20, units=2)
    set_up(ledger, EVENT, 4, [a])
    end_until(ledger, [a], 60)
    assert move_all(ledger, 50) > 5
    ledger.pins.register_query(registration(new))
    admit(ledger, 100, a, new)
    answers = [ledger.answer(new.key(index)) for index in range(5)]
    assert answers == [*[Answer.MISSED] * 3, *[Answer.PENDING] * 2]
    for index in range(3):
        deny(ledger, new, index, "not_admitted")
    must_verify(ledger)


def test_rows_that_were_given_up_stay_given_up(ledger: Ledger) -> None:
    """Also after an archive that reaches less far back than one before it.

    ::

            0        20        40   50             80
    a       |===| .. |== .. ===|====|                    goes, up to 50
    new     |---------|---------|                        denied later; the first goes, up to 20
    late                        |------------------|     beside the losses of a that are gone
    """
    a, new = Series("a", units=3), Series("new", size=20, step=20)
    late = Series("late", size=40, step=40, units=2)
    set_up(ledger, EVENT, 4, [a])
    end_until(ledger, [a], 50)
    assert move_all(ledger, 50) > 5
    ledger.pins.register_query(registration(new))
    for index in range(2):
        deny(ledger, new, index, "not_admitted")
        ledger.mark_published(new.key(index))
    assert move_all(ledger, 20, "g") > 0
    ledger.pins.register_query(registration(late))
    admit(ledger, 100, a, new, late)
    assert ledger.answer(late.key(1)) is Answer.MISSED
    assert status_of(ledger).archived_ms == 50
    must_verify(ledger)


def ended_in(rows: list[EntryRow]) -> int:
    """Return how many windows ended in some entries."""
    return sum(row.kind == Ended.kind for row in rows)


def test_what_something_still_needs_stays(ledger: Ledger) -> None:
    """An unpublished decision stays, and all that was appended after it; so does what is young."""
    a = Series("a", period=PERIOD)
    set_up(ledger, USER, 9, [a])
    for index in range(5):
        admit(ledger, 10 * index + 10, a)
        settle(ledger, a, index, alarms=f"[{index}]".encode())
    admit(ledger, 60, a)
    ledger.mark_published(a.key(0), a.key(1))
    assert ended_in(moved(ledger, 9)) == 0
    assert ended_in(moved(ledger, 19, "19")) == 1
    assert ended_in(moved(ledger, LATE, "late")) == 1, "the third has not left"
    assert [one.alarms for one in ledger.unpublished("a", LATE)] == [b"[2]", b"[3]", b"[4]"]
    assert ledger.decision(a.key(0)) is None
    ledger.mark_published(*(a.key(index) for index in (2, 3, 4)))
    assert ended_in(moved(ledger, 40, "40")) == 2
    assert ended_in(moved(ledger, LATE, "all")) == 1
    assert ledger.unpublished("a", LATE) == []
    assert ledger.upkeep.last_decided_ms() is not None
    assert status_of(ledger).periods == {0: 6}
    assert ledger.reports.status().queries["a"].unpublished == 0
    assert settle(ledger, a, 5).sequence == 6
    must_verify(ledger)


def test_what_waits_keeps_what_it_waits_for(ledger: Ledger) -> None:
    """Nothing goes that a pending window may still be weighed against."""
    a, long = Series("a", period=PERIOD), Series("long", 60, 60, 2, period=PERIOD)
    set_up(ledger, USER, 5, [a, long])
    end_until(ledger, [a], 40)
    admit(ledger, 60, a, long)
    assert ledger.answer(long.key(0)) is Answer.PENDING
    assert ended_in(moved(ledger, 60)) == 0
    for index in (4, 5):
        settle(ledger, a, index, units=0)
        ledger.mark_published(a.key(index))
    assert ledger.answer(long.key(0)) is Answer.RESERVED
    assert ended_in(moved(ledger, 60, "g")) == 0
    deny(ledger, long, 0, "budget")
    assert ended_in(moved(ledger, 60, "h")) == 5, "until the long one has left"
    ledger.mark_published(long.key(0))
    assert ended_in(moved(ledger, 60, "i")) == 2
    must_verify(ledger)


def test_an_open_run_keeps_its_windows(ledger: Ledger) -> None:
    """A run that goes on is added up from its first window on."""
    set_up(ledger, USER, 2 * WHOLE, [RUN])
    for index in range(5):
        ask(ledger, 10 * index + 10)
        ring(ledger, index, 3 * (index == 1))
        ledger.mark_published(RUN.key(index))
    assert ended_in(moved(ledger, LATE)) == 2, "the second run begins with the third window"
    must_verify(ledger)


def test_a_window_that_was_moved_is_not_drawn_again(ledger: Ledger) -> None:
    """Whoever asks for its decision once more is refused: nothing is stored, nothing charged."""
    a = Series("a", period=PERIOD)
    set_up(ledger, USER, 9, [a])
    end_until(ledger, [a], 50)
    assert ended_in(moved(ledger, 40)) == 4
    before = ledger.reports.status()
    for again in (settle, deny):
        with pytest.raises(LedgerError, match="out of turn"):
            again(ledger, a, 1)
    ledger.mark_published(a.key(1))
    assert ledger.reports.status() == before
    must_verify(ledger)


@pytest.mark.parametrize("archived", [True, False])
def test_noted_entries_outlive_what_was_moved(ledger: Ledger, *, archived: bool) -> None:
    """At the end of an archive and behind it they are compared; before it, with the archive."""
    a = Series("a", period=PERIOD)
    set_up(ledger, USER, 9, [a])
    noted = dict([read_checkpoint(ledger.reports.status().checkpoint)])
    for index in range(4):
        admit(ledger, 10 * index + 10, a)
        noted.update([read_checkpoint(ledger.reports.status().checkpoint)])
        settle(ledger, a, index)
        noted.update([read_checkpoint(ledger.reports.status().checkpoint)])
        ledger.mark_published(a.key(index))
    rows = moved(ledger, 20)
    last = rows[-1].seq
    inside = {number: hashed for number, hashed in noted.items() if number < last}
    beyond = {number: hashed for number, hashed in noted.items() if number >= last}
    assert inside
    assert last in noted
    assert len(beyond) > 3
    with_files = rows if archived else None
    assert ledger.reports.verify(beyond, archived=with_files) == []
    found = ledger.reports.verify(noted, archived=with_files)
    assert len(found) == (0 if archived else len(inside))
    assert all("give the archive it lies in" in line for line in found)
    wrong = dict.fromkeys(beyond, b"?" * 16)
    found = ledger.reports.verify(wrong, archived=with_files)
    assert [line for line in found if "not the one that was noted" in line] == found
    assert len(found) == len(beyond)
    # From a noted entry on: at the end of an archive, and behind it.
    for since in beyond.items():
        assert ledger.reports.verify(since=since) == []
        assert ledger.reports.verify(since=(since[0], b"?" * 16))
    for since in inside.items():
        assert bool(ledger.reports.verify(since=since, archived=with_files)) is not archived


def test_a_decision_found_beside_what_is_gone_counts_on_top(ledger: Ledger) -> None:
    """Another timeline's draw over rows whose losses are gone adds to the worst of them."""
    a = Series("a", units=2)
    set_up(ledger, EVENT, 4, [a])
    end_until(ledger, [a], 50)
    spent = held(ledger)
    known = ledger.decision(a.key(0))
    assert known is not None
    assert ended_in(moved(ledger, 40)) == 4
    other = on_the_topic(known, ledger_id="other", epsilon_units=3)
    assert ledger.upkeep.reconcile([on_the_topic(known)]) == 0, "it is known"
    assert ledger.upkeep.reconcile([other]) == 1
    assert held(ledger) == spent + 3
    assert ledger.upkeep.reconcile([on_the_topic(known, ledger_id="third", epsilon_units=1)]) == 1
    assert held(ledger) == spent + 4
    assert ledger.upkeep.reconcile([other]) == 0
    must_verify(ledger)


def test_gaps_in_the_numbers_are_no_marks(ledger: Ledger) -> None:
    """Numbers of another timeline are in no archive; those about them are known, and no others."""
    a = Series("a")
    set_up(ledger, EVENT, 9, [a])
    end_until(ledger, [a], 20)
    last = ledger.decision(a.key(1))
    assert last is not None
    lost = on_the_topic(last, sequence=7, start_ms=20, end_ms=30)
    ledger.upkeep.reconcile([replace(lost, next_start_ms=30)])
    for index in range(3, 7):
        ledger.admit("s", [a.request(index)])
        deny(ledger, a, index)
        ledger.mark_published(a.key(index))
    topic = [on_the_topic(one) for i in range(7) if (one := ledger.decision(a.key(i))) is not None]
    assert [one.sequence for one in topic] == [1, 2, 7, 8, 9, 10, 11]
    assert ended_in(moved(ledger, 50)) == 4
    assert ended_in(moved(ledger, LATE, "g")) == 2
    assert ledger.upkeep.unknown_decisions(topic) == []
    absent = [replace(topic[0], sequence=number) for number in range(3, 7)]
    assert ledger.upkeep.unknown_decisions(absent) == absent
    must_verify(ledger)


def test_what_must_not_go_is_refused(ledger: Ledger) -> None:
    """Entries that do not begin where the last archive ended, that are not there, or too young."""
    a = Series("a", period=PERIOD)
    set_up(ledger, USER, 9, [a])
    end_until(ledger, [a], 50)
    first, last = ledger.archives.movable(40)
    rows = list(ledger.archives.entries(first, last + 1))
    copy, more = (ledger.archives.copied(rows[:many], first, many) for many in (last, last + 1))
    assert copy is not None
    assert more is not None
    for wrong, before_ms in (
        (copy._replace(first=first + 1), 40),
        (copy._replace(first=first - 1), 40),
        (copy._replace(last=copy.last._replace(number=last + 100)), 40),
        (copy._replace(last=copy.last._replace(number=last - 1)), 40),
        (copy, 30),
        (more, 40),
    ):
        with pytest.raises(LedgerError, match="cannot go now"):
            ledger.archives.move("f", wrong, before_ms)
    assert ledger.archives.kept() == []
    assert move_all(ledger, 40) == last
    must_verify(ledger)


class Killed(BaseException):
    """Whoever archives was killed here."""


@pytest.mark.parametrize("steps", range(6))
def test_killed_at_any_step_it_goes_on(
    opened: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """Between file and ledger, or between two steps: nothing is lost, nothing lies twice."""
    all_series = queries(USER)
    ledger = opened()
    set_up(ledger, USER, 8, all_series)
    end_until(ledger, all_series, 120)
    before = without_checkpoint(ledger.reports.status())
    whole = list(ledger.reports.entries())
    left = iter(range(steps))

    def next_step(*_: object) -> None:
        if next(left, None) is None:
            raise Killed

    own = Archives.move

    def move(*given: Any) -> int:
        next_step()
        return own(*given)

    with monkeypatch.context() as patch:
        patch.setattr(time, "sleep", next_step)
        patch.setattr(Archives, "move", move)
        with pytest.raises(Killed):
            archive(ledger, tmp_path / "archive", 100)
    for one in (ledger, opened()):
        assert without_checkpoint(one.reports.status()) == before
        must_verify(one)
    end_until(ledger, all_series, 160)
    after = without_checkpoint(ledger.reports.status())
    archive(ledger, tmp_path / "archive", 150)
    assert without_checkpoint(opened().reports.status()) == after
    rows = [*archived_in(ledger, tmp_path / "archive"), *ledger.reports.entries()]
    assert rows[: len(whole)] == whole
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert missing_in(ledger, tmp_path / "archive") == []
    assert ledger.reports.verify(archived=archived_in(ledger, tmp_path / "archive")) == []


@BOTH
def test_two_at_once_archive_everything_once(opened: Opens, tmp_path: Path) -> None:
    """One is told to wait; others go on deciding meanwhile."""
    all_series = queries(EVENT)
    ledgers = [opened() for _ in range(4)]
    set_up(ledgers[0], EVENT, 4, all_series)
    end_until(ledgers[0], all_series, 120)
    moves: list[int] = []
    failures: list[BaseException] = []

    def run(ledger: Ledger) -> None:
        try:
            moves.append(archive(ledger, tmp_path / "archive", 100).entries)
        except LedgerError as error:
            if "archived already" not in error.message:
                failures.append(error)
        except BaseException as error:  # noqa: BLE001  # handed to the test
            failures.append(error)

    threads = [Thread(target=run, args=[one]) for one in ledgers[:3]]
    for thread in threads:
        thread.start()
    end_until(ledgers[3], all_series, 200)
    for thread in threads:
        thread.join()
    assert failures == []
    assert moves.count(0) == len(moves) - 1
    folder = tmp_path / "archive"
    rows = [*archived_in(ledgers[0], folder), *ledgers[0].reports.entries()]
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    for one in ledgers:
        assert one.reports.verify(archived=archived_in(one, folder)) == []
        assert one.reports.status() == ledgers[0].reports.status()


def test_every_change_of_an_archive_is_named(ledger: Ledger) -> None:
    """Whichever entry is changed, left out or put in another place."""
    all_series = queries(EVENT)
    set_up(ledger, EVENT, 4, all_series)
    end_until(ledger, all_series, 40)
    rows = moved(ledger, 30)
    end_until(ledger, all_series, 70)
    rows += moved(ledger, 60, "g")
    assert ledger.reports.verify(archived=rows) == []
    for at, row in enumerate(rows):
        for other in (
            [row._replace(seq=row.seq + 1)],
            [row._replace(kind=f"{row.kind}x")],
            [row._replace(key=f"{row.key}x")],
            [row._replace(payload=row.payload + b" ")],
            [row._replace(hash=row.hash[::-1])],
            [row, row],
            [],
        ):
            changed = [*rows[:at], *other, *rows[at + 1 :]]
            assert ledger.reports.verify(archived=changed), (at, other)
    assert ledger.reports.verify(archived=rows[::-1])


@each_unit
def test_every_flipped_byte_of_a_file_is_named(
    ledger: Ledger, tmp_path: Path, unit: PrivacyUnit
) -> None:
    """But for bytes that nobody reads: then every entry is still what it was."""
    all_series = queries(unit)
    set_up(ledger, unit, wall(unit), all_series)
    end_until(ledger, all_series, 60)
    (name,) = archive(ledger, tmp_path, 40).files
    path = tmp_path / name
    whole, rows = path.read_bytes(), list(archived_in(ledger, tmp_path))
    assert ledger.reports.verify(archived=rows) == []
    named = 0
    steps = range(0, len(whole), len(whole) // 200)
    for at in steps:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            found = ledger.reports.verify(archived=archived_in(ledger, tmp_path))
            same = not found and list(archived_in(ledger, tmp_path)) == rows
        except LedgerError:
            same = False
        named += not same
        assert same or found, at
    assert named > len(steps) // 2
