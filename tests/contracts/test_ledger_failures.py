"""What the ledger does when the database fails, or when it is not the newest copy."""

from __future__ import annotations

import shutil
import stat
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from accountant.errors import ClockError, DependencyError, LedgerError
from accountant.log.entries import Passed
from accountant.records import Answer, Outcome, PartialStatus, SeenDecision
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
    open_ledger,
    partial,
    registration,
    seen,
    set_up,
    settle,
    status_of,
    terms,
)
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.ledger.ledger import Ledger
    from accountant.units import PrivacyUnit
    from tests.support.ledgers import Clock
    from tests.support.postgres import Postgres

A = Series("a")
LARGE = b"x" * 1_000_000


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_is_refused(postgres: Postgres, encoding: str) -> None:
    """It could not hold every text; that is said before anything is made in it."""
    with pytest.raises(LedgerError, match=encoding) as caught:
        open_ledger(postgres.new_database(encoding=encoding))
    assert "UTF8" in caught.value.hint


def test_the_tests_databases_are_as_users_are(
    ledger_url: str, empty_url: str, request: pytest.FixtureRequest
) -> None:
    """Table by table, index by index, wherever a ledger of the tests begins."""
    open_ledger(ledger_url).close()
    request.getfixturevalue("made_anew")
    open_ledger(empty_url).close()
    assert schema_of(ledger_url) == schema_of(empty_url)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////nowhere/at/all/ledger.db",
        "postgresql://user:sesame@127.0.0.1:1/ledger",
    ],
)
def test_an_unreachable_database_is_a_dependency_error(url: str) -> None:
    """After the time given to it, opening fails with a hint and without the password."""
    with pytest.raises(DependencyError) as caught:
        open_ledger(url, connect_timeout_s=0.3)
    assert caught.value.hint
    assert "sesame" not in str(caught.value)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "sqlite:///:memory:", "what?"])
def test_other_databases_are_refused(url: str) -> None:
    """A ledger lies in a file or in PostgreSQL, nowhere else."""
    with pytest.raises(LedgerError, match="ledger"):
        open_ledger(url)


def test_the_file_is_private(tmp_path: Path) -> None:
    """Raw counts and the hash key are for the owner's eyes only."""
    path = tmp_path / "ledger.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, EVENT, 5, [A])
        modes = {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """When nothing more fits, writing fails cleanly, and goes on once there is room."""
    limit = ["PRAGMA max_page_count = 1073741823"]
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        engine = ledger._store._engine
        event.listen(engine, "checkout", lambda connection, *_: connection.execute(limit[0]))
        set_up(ledger, EVENT, 5, [A])
        admit(ledger, 100, A)
        settle(ledger, A, 0)
        limit[0] = "PRAGMA max_page_count = 1"  # the least SQLite grants is what it has now
        with pytest.raises(DependencyError, match="full") as caught:
            settle(ledger, A, 1, alarms=LARGE)
        assert "free space" in caught.value.hint
        assert ledger.cursor("a") == 10
        must_verify(ledger)
        limit[0] = "PRAGMA max_page_count = 1073741823"
        assert settle(ledger, A, 1, alarms=LARGE).sequence == 2
        must_verify(ledger)


def test_a_dropped_connection_loses_nothing(postgres: Postgres) -> None:
    """A server that hangs up in the middle rolls back, and the next call connects again."""
    url = postgres.new_database()
    with open_ledger(url) as ledger:
        set_up(ledger, EVENT, 5, [A])
        admit(ledger, 100, A)
        with pytest.raises(DependencyError) as caught:
            _write_while_connections_drop(ledger, postgres, url)
        assert caught.value.hint
        assert ledger.cursor("a") == 0
        assert settle(ledger, A, 0).sequence == 1
        with ledger.exclusive("publish:a") as mine:
            assert mine
            postgres.drop_connections(url)
        assert ledger.counts.put_partial(partial(A, 1)) is PartialStatus.STORED


def test_a_restored_backup_is_noticed_and_marked_as_spent(tmp_path: Path) -> None:
    """Decisions that were released after the backup are found, charged, and never drawn again."""
    path, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    a = Series("a", units=2, period=10**9)
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, USER, 8, [a])
        admit(ledger, 20, a)
        topic = [seen(settle(ledger, a, 0), periods=(0,))]
        ledger._store.close()
        shutil.copy(path, backup)
        topic += [seen(settle(ledger, a, 1), periods=(0,))]
        admit(ledger, 30, a)
        topic += [seen(deny(ledger, a, 2), periods=(0,))]
        assert ledger.upkeep.unknown_decisions(topic) == []
    with open_ledger(f"sqlite:///{backup}") as restored:
        assert restored.upkeep.unknown_decisions(topic) == topic[1:]
        assert restored.upkeep.reconcile(topic) == 2
        assert restored.upkeep.reconcile(topic) == 0
        assert restored.upkeep.unknown_decisions(topic) == []
        must_verify(restored)
        assert restored.cursor("a") == 30
        known = restored.decision(a.key(1))
        assert known is not None
        assert (known.outcome, known.epsilon_units, known.published) == (Outcome.DECIDED, 2, True)
        assert settle(restored, a, 1) == known
        assert restored.unpublished("a", 10**9) != []  # the one before the backup, not marked yet
        admit(restored, 60, a)
        assert settle(restored, a, 3).sequence == 4
        assert held(restored) == 8
        must_verify(restored)


@each_unit
def test_two_timelines_are_both_charged(opened: Opens, unit: PrivacyUnit) -> None:
    """Where a window was drawn twice, both draws count, beyond the wall if need be."""
    period = 10**9 if unit is USER else 0
    a = Series("a", units=2, period=period)
    ledger = opened()
    set_up(ledger, unit, 4, [a])
    admit(ledger, 20, a)
    mine = settle(ledger, a, 0)
    twin = seen(mine, alarm_count=1, periods=(0,) if period else ())
    other = replace(twin, ledger_id="other", start_ms=0, epsilon_units=3)
    assert ledger.upkeep.unknown_decisions([seen(mine)]) == []
    assert len(ledger.upkeep.unknown_decisions([seen(mine), twin, other, twin])) == 2
    assert ledger.upkeep.reconcile([other, twin]) == 2
    # Under unit user window 1 still holds its own reservation.
    assert held(ledger) == 2 + 2 + 3 + (2 if period else 0)
    assert settle(ledger, a, 1).sequence == 2
    admit(ledger, 40, a)
    reserved = status_of(ledger).reservations
    assert reserved == (0 if period else 2)
    must_verify(ledger)


def test_a_window_that_another_timeline_released_does_not_leave_again(ledger: Ledger) -> None:
    """Of two draws analysts have one: the other stays charged, and here."""
    set_up(ledger, EVENT, 4, [A])
    admit(ledger, 20, A)
    mine, later = settle(ledger, A, 0), settle(ledger, A, 1)
    assert ledger.upkeep.reconcile([seen(mine, alarm_count=mine.alarm_count + 1)]) == 1
    assert [one.key for one in ledger.unpublished("a", 2**62)] == [later.key]
    must_verify(ledger)


def test_windows_before_an_adopted_one_are_passed_over(ledger: Ledger) -> None:
    """What the topic no longer shows is taken as spent, and late registrations skip it too."""
    set_up(ledger, EVENT, 4, [A])
    admit(ledger, 30, A)
    decision = settle(ledger, A, 0)
    for index in (1, 2, 3):
        ledger.counts.put_partial(partial(A, index))
    later = seen(decision, sequence=5, start_ms=20, end_ms=30, next_start_ms=30)
    stranger = replace(later, query="new", ledger_id="other", start_ms=0, end_ms=10)
    assert ledger.upkeep.reconcile([later, replace(stranger, next_start_ms=10)]) == 2
    assert ledger.cursor("a") == 30
    assert ledger.counts.put_partial(partial(A, 1)) is PartialStatus.DECIDED
    stored = [bool(ledger.counts.partials(A.key(index))) for index in range(4)]
    assert stored == [False, False, False, True]  # raw counts go with their windows
    new = Series("new")
    ledger.pins.register_query(registration(new))
    admit(ledger, 60, A, new)
    assert settle(ledger, new, 0).ledger_id == "other"
    assert ledger.cursor("new") == 10
    assert settle(ledger, A, 3).sequence == 6
    must_verify(ledger)


@each_unit
def test_waiting_windows_that_are_passed_over_count_as_spent(
    ledger: Ledger, unit: PrivacyUnit
) -> None:
    """The other timeline may have granted them; none is answered while they are being passed."""
    period = 10**9 if unit is USER else 0
    a, b = (Series(name, 40, 10, 2, period=period) for name in "ab")
    set_up(ledger, unit, 3, [a, b])
    admit(ledger, 80, a, b)
    assert status_of(ledger).pending == 9
    last = a.key(3)
    place = ("other", "a", "s", last.start_ms, last.end_ms, 4, Outcome.DECIDED)
    adopted = SeenDecision(*place, 1, 0, next_start_ms=40, periods=(0,) if period else ())
    assert ledger.upkeep.reconcile([adopted]) == 1
    answers = [[ledger.answer(one.key(index)) for index in range(4)] for one in (a, b)]
    # a0 was granted; a1 and a2 were not, but who knows; a3 was decided elsewhere.
    yes, missed, refused = Answer.RESERVED, Answer.MISSED, Answer.REFUSED
    assert answers == [[yes, missed, missed, missed], [refused] * 4]
    scope = status_of(ledger)
    assert (scope.spent_units, scope.pending) == (3 * 2 + 1, 0)
    must_verify(ledger)


def test_numbers_go_on_per_query_behind_what_was_seen(ledger: Ledger) -> None:
    """Adopting moves the numbers of the queries seen, registered or not, and of no other."""
    b, new = Series("b"), Series("new")
    set_up(ledger, EVENT, 9, [A, b])
    admit(ledger, 30, A, b)
    mine = settle(ledger, A, 0)
    settle(ledger, b, 0)
    lost = seen(mine, sequence=4, start_ms=10, end_ms=20, next_start_ms=20)
    unregistered = replace(lost, query="new", sequence=2, start_ms=0, end_ms=10, next_start_ms=10)
    foreign = replace(lost, query="b", sequence=9, ledger_id="other")
    same_number = seen(mine, query="b", start_ms=10, end_ms=20, next_start_ms=20)
    topic = [seen(mine), lost, unregistered, foreign, same_number]
    assert sorted(ledger.upkeep.unknown_decisions(topic), key=repr) == sorted(topic[1:], key=repr)
    assert ledger.upkeep.reconcile(topic) == 4
    assert ledger.upkeep.reconcile(topic) == 0
    ledger.pins.register_query(registration(new))
    status = ledger.reports.status().queries
    assert {name: one.sequence for name, one in status.items()} == {"a": 4, "b": 1, "new": 2}
    admit(ledger, 60, A, b, new)
    must_verify(ledger)
    assert settle(ledger, A, 2).sequence == 5
    assert settle(ledger, b, 2).sequence == 2
    assert settle(ledger, new, 0).sequence == 2  # the adopted one
    assert deny(ledger, new, 1).sequence == 3
    must_verify(ledger)


def test_who_waited_for_the_mark_of_time_looks_at_the_clock_then(
    opened: Opens, clock: Clock
) -> None:
    """While another worker held it time went by: no clock went back. One that did is found."""
    first, second = opened(), opened()
    other = Thread(target=second.pins.register_budget, args=[terms(EVENT, 5)])
    with first._door.write() as writing:
        other.start()
        other.join(0.2)
        assert other.is_alive()
        clock.now_ms += 60_000
        writing.tick()
    other.join(PATIENCE_S)
    assert [one.scope for one in first.pins.budgets()] == ["s"]
    clock.now_ms -= 60_000
    with pytest.raises(ClockError):
        second.pins.register_budget(terms(EVENT, 5, "t"))


def _write_while_connections_drop(ledger: Ledger, postgres: Postgres, url: str) -> None:
    with ledger._door.write() as writing:
        writing.append(Passed("a", 50))
        postgres.drop_connections(url)
        writing.append(Passed("a", 60))


def schema_of(url: str) -> dict[str, list[object]]:
    """Return tables with their columns, keys and indexes, as the database tells them."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    found = sa.inspect(engine)
    kinds = (found.get_columns, found.get_pk_constraint, found.get_indexes)
    told = {name: [_told(of(name)) for of in kinds] for name in sorted(found.get_table_names())}
    engine.dispose()
    return told


def _told(value: object) -> object:
    match value:
        case dict():
            return {name: _told(one) for name, one in value.items()}
        case list():
            return [_told(one) for one in value]
        case _:
            return str(value)
