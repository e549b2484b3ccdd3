"""What the ledger does when the database fails, or when it is not the newest copy."""

from __future__ import annotations

import json
import stat
from threading import Thread

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from accountant.errors import ClockError, DependencyError, LedgerError
from accountant.log.entries import Passed
from accountant.records import PartialStatus
from tests.support.ledgers import (
    EVENT,
    Series,
    admit,
    must_verify,
    open_ledger,
    partial,
    set_up,
    settle,
    terms,
)
from tests.support.waiting import PATIENCE_S

A = Series("a")
LARGE = b"x" * 1_000_000


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_is_refused(postgres, encoding):
    """It could not hold every text; that is said before anything is made in it."""
    with pytest.raises(LedgerError, match=encoding) as caught:
        open_ledger(postgres.new_database(encoding=encoding))
    assert "UTF8" in caught.value.hint


def test_the_tests_databases_are_as_users_are(ledger_url, empty_url, request):
    """Table by table, index by index, wherever a ledger of the tests begins."""
    open_ledger(ledger_url).close()
    request.getfixturevalue("made_anew")
    open_ledger(empty_url).close()
    assert schema_of(ledger_url) == schema_of(empty_url)


@pytest.mark.parametrize(
    "url", ["sqlite:////nowhere/at/all/ledger.db", "postgresql://user:sesame@127.0.0.1:1/ledger"]
)
def test_an_unreachable_database_is_a_dependency_error(url):
    """After the time given to it, opening fails with a hint and without the password."""
    with pytest.raises(DependencyError) as caught:
        open_ledger(url, connect_timeout_s=0.3)
    assert caught.value.hint
    assert "sesame" not in str(caught.value)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "sqlite:///:memory:", "what?"])
def test_other_databases_are_refused(url):
    """A ledger lies in a file or in PostgreSQL, nowhere else."""
    said = "is not a database URL" if url == "what?" else "is not the URL of a SQLite file or of a"
    with pytest.raises(LedgerError, match=said) as caught:
        open_ledger(url)
    assert caught.value.hint == "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def test_the_file_is_private(tmp_path):
    """Raw counts and the hash key are for the owner's eyes only."""
    path = tmp_path / "ledger.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, EVENT, 5, [A])
        modes = {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_full_disk_loses_nothing(tmp_path):
    """When nothing more fits, writing fails cleanly, and goes on once there is room."""
    room, full = (f"PRAGMA max_page_count = {pages}" for pages in (1073741823, 1))
    limit = [room]
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        engine = ledger._store._engine
        event.listen(engine, "checkout", lambda connection, *_: connection.execute(limit[0]))
        set_up(ledger, EVENT, 5, [A])
        admit(ledger, 100, A)
        settle(ledger, A, 0)
        limit[0] = full  # the least SQLite grants is what it has now
        with pytest.raises(DependencyError, match="full") as caught:
            settle(ledger, A, 1, alarms=LARGE)
        assert "free disk space" in caught.value.hint
        assert ledger.cursor("a") == 10
        must_verify(ledger)
        limit[0] = room
        assert settle(ledger, A, 1, alarms=LARGE).sequence == 2
        must_verify(ledger)


def test_a_dropped_connection_loses_nothing(postgres):
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


def test_a_server_that_hangs_up_on_every_connection_cannot_be_reached(postgres):
    """While it goes down, what the pool connects anew may be gone before it is used."""
    url = postgres.new_database()
    with open_ledger(url) as ledger:
        set_up(ledger, EVENT, 5, [A])

        def hang_up(*_):
            postgres.drop_connections(url)

        event.listen(ledger._store._engine, "checkout", hang_up, insert=True)
        with pytest.raises(DependencyError), ledger.exclusive("publish:a"):
            pass
        with pytest.raises(DependencyError):
            ledger.counts.put_partial(partial(A, 1))
        event.remove(ledger._store._engine, "checkout", hang_up)
        assert ledger.counts.put_partial(partial(A, 1)) is PartialStatus.STORED


def test_who_waited_for_the_mark_of_time_looks_at_the_clock_then(opened, clock):
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


def _write_while_connections_drop(ledger, postgres, url):
    with ledger._door.write() as writing:
        writing.append(Passed("a", 50))
        postgres.drop_connections(url)
        writing.append(Passed("a", 60))


def schema_of(url):
    """Return tables with their columns, keys and indexes, as the database tells them."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    found = sa.inspect(engine)
    kinds = (found.get_columns, found.get_pk_constraint, found.get_indexes)
    told = {
        name: json.dumps([of(name) for of in kinds], default=str)
        for name in found.get_table_names()
    }
    engine.dispose()
    return told
