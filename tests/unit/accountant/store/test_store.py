"""SQLite's transactions; the space that a ledger gives back, and the kind of file that does not."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from accountant.errors import DependencyError
from accountant.store.store import Store

ROWS = 400


def opened(path):
    """Open a database."""
    return Store.open(f"sqlite:///{path}", connect_timeout_s=5)


def fill(store):
    """Store rows that take some pages, and delete them."""
    with store.write() as tx:
        for number in range(ROWS):
            tx.counters.put(f"{number:0500}", 1, 0)
    with store.write() as tx:
        tx.counters.drop()


def free(path):
    """Return how many pages are free."""
    return counted(path, "freelist_count")


def counted(path, pragma):
    """Return a number that a file tells of itself."""
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(found)


def test_reads_see_one_snapshot(tmp_path):
    """What is committed meanwhile is seen by the next ones."""
    store = opened(tmp_path / "ledger.db")
    with store.read() as before:
        assert list(before.counters.each()) == []
        with store.write() as tx:
            tx.counters.put("q", 1, 0)
        assert list(before.counters.each()) == []
    with store.read() as after:
        assert after.counters.of("q") == (1, 0)
    store.close()


def test_a_write_is_alone_and_whole(tmp_path, monkeypatch):
    """Another one cannot even begin, and of one that fails nothing stays."""
    monkeypatch.setattr("accountant.store.store.BUSY_TIMEOUT_S", 0)
    store = opened(tmp_path / "ledger.db")

    def write_twice():
        with store.write() as tx:
            tx.counters.put("q", 1, 0)
            with store.write():
                pytest.fail("two write at once")

    with pytest.raises(DependencyError, match="locked"):
        write_twice()
    with store.read() as tx:
        assert list(tx.counters.each()) == []
    store.close()


def test_free_pages_are_given_back_some_at_a_time(tmp_path):
    """As many as were asked for; the file is shorter once it is closed."""
    path = tmp_path / "ledger.db"
    store = opened(path)
    fill(store)
    many, pages = free(path), counted(path, "page_count")
    assert many > 20
    assert store.give_back(20)
    assert free(path) == many - 20
    assert not store.give_back(many)
    assert free(path) == 0
    assert counted(path, "page_count") < pages - many + 2, "a page that keeps account may go, too"
    store.close()
    assert path.stat().st_size == counted(path, "page_count") * counted(path, "page_size")


def test_the_file_is_short_while_the_ledger_is_open(tmp_path):
    """What a large transaction left beside it goes with the next write."""
    path = tmp_path / "ledger.db"
    store = opened(path)
    with store.write() as tx:
        tx.connection.exec_driver_sql("CREATE TABLE much (bytes BLOB)")
        tx.connection.exec_driver_sql("INSERT INTO much VALUES (randomblob(20 << 20))")
    with store.write() as tx:
        tx.connection.exec_driver_sql("DROP TABLE much")
    assert not store.give_back(1 << 20)
    assert path.stat().st_size == counted(path, "page_count") * counted(path, "page_size") < 4 << 20
    fill(store)
    assert path.with_name("ledger.db-wal").stat().st_size <= 8 << 20
    store.close()


def test_an_older_file_keeps_what_is_free_and_its_copy_does_not(tmp_path):
    """Nobody waits for it to give anything back."""
    older, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    opened(older).close()
    with closing(sqlite3.connect(older, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA auto_vacuum=NONE")
        connection.execute("VACUUM")
    store = opened(older)
    fill(store)
    many = free(older)
    assert not store.give_back(20)
    assert free(older) == many > 20
    store.backup(copy)
    store.close()
    store = opened(copy)
    fill(store)
    assert store.give_back(1)
    store.close()


def test_a_file_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    """As for any other write: what was committed before stays."""
    monkeypatch.setattr("accountant.store.store.BUSY_TIMEOUT_S", 0)
    path = tmp_path / "ledger.db"
    store = opened(path)
    fill(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DependencyError, match="locked"):
            store.give_back(20)
    store.close()
