"""Decisions in Parquet files: all are there, once, whatever was cut off, and edits are named."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accountant.errors import ConfigError, LedgerCorruptError, LedgerError
from accountant.ledger import archives, upkeep
from accountant.ledger.archives import Archives
from accountant.rules import archiving, vouching
from accountant.units import PrivacyUnit
from stream.custody import archive as room
from stream.custody.archive import archive, problems
from tests.support.ledgers import Series, deny, open_ledger, set_up, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accountant.ledger.ledger import Ledger

A, B = Series("a", period=100), Series("b", period=100)
LATE = 10**9
WINDOWS = 8
MOVED = 2 * (WINDOWS - 1)


class Killed(BaseException):
    """The command was killed here."""


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """A compacted ledger, whose decisions go in parts of three."""
    monkeypatch.setattr(upkeep, "PAUSE_S", 0.0)
    monkeypatch.setattr(archiving, "PART", 3)
    monkeypatch.setattr(archives, "_STEP_DECISIONS", 4)
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as opened:
        set_up(opened, PrivacyUnit.USER, 99, [A, B])
        go_on(opened, 0, WINDOWS)
        opened.upkeep.compact("s", LATE)
        yield opened


def go_on(ledger: Ledger, first: int, until: int) -> None:
    """Decide some windows of both queries, and publish them."""
    for index in range(first, until):
        ledger.admit("s", [one.request(index) for one in (A, B)])
        settle(ledger, A, index, alarms=b'["lab"]', alarm_count=index % 2)
        deny(ledger, B, index, "no") if index % 3 else settle(ledger, B, index)
        ledger.mark_published(A.key(index), B.key(index))


def rows_of(folder: Path, ledger: Ledger) -> list[tuple[str, int]]:
    """Return the decisions that lie in the files that the ledger names."""
    names = sorted({row.file for row in ledger.archives.kept()})
    tables = [pq.read_table(folder / name, columns=["query", "sequence"]) for name in names]
    return [(row["query"], row["sequence"]) for one in tables for row in one.to_pylist()]


def sound(ledger: Ledger, folder: Path) -> None:
    """Hold the ledger and its archive against each other."""
    assert ledger.reports.verify() == []
    assert list(problems(ledger, folder)) == []


def test_all_that_may_go_lies_in_files(ledger: Ledger, tmp_path: Path) -> None:
    """File by file: whole rows with their hashes, for the owner's eyes, and nothing twice."""
    folder = tmp_path / "archive"
    whole = {one.key: one for i in range(WINDOWS) for one in map(ledger.decision, keys(i)) if one}
    moved = archive(ledger, folder, LATE)
    assert moved.decisions == MOVED
    (name,) = moved.files
    assert [path.name for path in folder.iterdir()] == [name]
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    table = pq.read_table(folder / name)
    assert table.num_rows == MOVED
    for row in table.to_pylist():
        one = whole[(A if row["query"] == "a" else B).key(row["sequence"] - 1)]
        assert (row["outcome"], row["epsilon_units"]) == (one.outcome, one.epsilon_units)
        assert len(row["hash"]) == 16
    sound(ledger, folder)
    assert archive(ledger, folder, LATE) == (0, [])
    go_on(ledger, WINDOWS, WINDOWS + 3)
    ledger.upkeep.compact("s", LATE)
    assert archive(ledger, folder, LATE).decisions == 6
    assert len(rows_of(folder, ledger)) == len(set(rows_of(folder, ledger))) == MOVED + 6
    sound(ledger, folder)


def keys(index: int) -> list[Any]:
    """Return the windows of both queries."""
    return [one.key(index) for one in (A, B)]


STEPS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "writing": lambda patch: fail(patch, pq.ParquetWriter, "write_table"),
    "syncing": lambda patch: fail(patch, os, "fsync"),
    "renaming": lambda patch: fail(patch, Path, "replace"),
    "syncing the folder": lambda patch: fail(patch, room, "sync_directory"),
    "reading again": lambda patch: fail(patch, room, "_decisions_in"),
    "before any row leaves": lambda patch: fail(patch, Archives, "move"),
    "after the first transaction": lambda patch: fail(patch, archiving, "move", after=1),
    "before the last transaction": lambda patch: fail(patch, archiving, "move", after=3),
    "within a transaction": lambda patch: fail(patch, vouching, "vouch", after=2),
    "after the last": lambda patch: fail(patch, time, "sleep", after=3),
}


def fail(patch: pytest.MonkeyPatch, owner: Any, name: str, *, after: int = 0) -> None:
    """Kill whoever calls something, but for the first calls."""
    real, calls = getattr(owner, name), iter(range(10**6))

    def killed(*args: Any, **kwargs: Any) -> Any:
        if next(calls) >= after:
            raise Killed
        return real(*args, **kwargs)

    patch.setattr(owner, name, killed)


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_goes_on(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Nothing is lost, nothing lies in two files that the ledger names, and both add up."""
    folder = tmp_path / "archive"
    with monkeypatch.context() as patch:
        STEPS[step](patch)
        with pytest.raises(Killed):
            archive(ledger, folder, LATE)
    sound(ledger, folder)
    go_on(ledger, WINDOWS, WINDOWS + 2)
    ledger.upkeep.compact("s", LATE)
    archive(ledger, folder, LATE)
    sound(ledger, folder)
    there = rows_of(folder, ledger)
    assert sorted(there) == sorted((q, n) for q in "ab" for n in range(1, WINDOWS + 2))
    assert not (folder / ".decisions.part").exists()


def test_workers_go_on_meanwhile(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decided while rows leave is decided as ever."""
    at = iter(range(WINDOWS, 99))

    def pause(_: float) -> None:
        index = next(at)
        go_on(ledger, index, index + 1)

    monkeypatch.setattr(time, "sleep", pause)
    assert archive(ledger, tmp_path / "archive", LATE).decisions == MOVED
    assert ledger.cursor("a") > A.key(WINDOWS).end_ms
    sound(ledger, tmp_path / "archive")


def test_an_interval_ends_where_it_is_told(ledger: Ledger, tmp_path: Path) -> None:
    """Windows that end later stay; a file of a larger interval is taken up when its time comes."""
    folder = tmp_path / "archive"
    with pytest.MonkeyPatch.context() as patch:
        fail(patch, Archives, "move")
        with pytest.raises(Killed):
            archive(ledger, folder, LATE)
    assert archive(ledger, folder, 30).decisions == 6
    sound(ledger, folder)
    assert archive(ledger, folder, LATE).decisions == MOVED - 6
    sound(ledger, folder)


def edited(table: pa.Table, column: str, value: Any) -> pa.Table:
    """Return a table with one value of its fifth row changed."""
    values = table.column(column).to_pylist()
    values[4] = value
    field = table.schema.field(column)
    return table.set_column(table.schema.names.index(column), field, [pa.array(values, field.type)])


def edits(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the table with one value of each column changed, and with its rows moved about."""
    for field in table.schema:
        now = table.column(field.name)[4].as_py()
        if pa.types.is_boolean(field.type):
            value: Any = not now
        elif pa.types.is_integer(field.type):
            value = (now or 0) + 1
        else:
            value = (now or "") + "x" if pa.types.is_string(field.type) else (now or b"") + b"x"
        yield field.name, edited(table, field.name, value)
        if field.nullable and now is not None:
            yield f"{field.name} missing", edited(table, field.name, None)
    yield "two rows in another order", table.take([1, 0, *range(2, MOVED)])
    yield "queries in another order", table.take([*range(7, MOVED), *range(7)])
    yield "a row that is gone", table.take([*range(3), *range(4, MOVED)])
    yield "the last row gone", table.slice(0, MOVED - 1)
    yield "a row that is there twice", table.take([*range(5), *range(4, MOVED)])
    yield "no row", table.slice(0, 0)
    yield "a column that is gone", table.drop_columns(["hash"])


def test_every_edit_of_a_file_is_named(ledger: Ledger, tmp_path: Path) -> None:
    """Each column, the order, and rows that are gone; with the file's name."""
    folder = tmp_path / "archive"
    (name,) = archive(ledger, folder, LATE).files
    path = folder / name
    table, stored = pq.read_table(path), path.read_bytes()
    for what, other in edits(table):
        pq.write_table(other, path)
        found = list(problems(ledger, folder))
        assert found, what
        assert all(line.startswith(name) for line in found), what
    path.write_bytes(stored[:-9])
    assert [line.startswith(f"{name}: it is not an archive") for line in problems(ledger, folder)]
    path.unlink()
    assert list(problems(ledger, folder)) == [f"{name}: it is missing from {folder}"]
    path.write_bytes(stored)
    sound(ledger, folder)


def test_an_older_copy_takes_up_what_lies_there(ledger: Ledger, tmp_path: Path) -> None:
    """Its decisions lie in several files already: they leave it, in their order, and none twice."""
    folder, copy = tmp_path / "archive", tmp_path / "copy.db"
    ledger._store.backup(copy)
    files = [archive(ledger, folder, until_ms).files for until_ms in (20, 40, LATE)]
    assert [len(one) for one in files] == [1, 1, 1]
    with open_ledger(f"sqlite:///{copy}") as older:
        assert archive(older, folder, 60).decisions == MOVED - 2, "the last file goes on to 70"
        assert archive(older, folder, LATE).decisions == 2
        sound(older, folder)
        assert {row.file for row in older.archives.kept()} > {*files[0], *files[1]}
    sound(ledger, folder)


def test_a_left_over_file_that_is_damaged_is_not_taken(ledger: Ledger, tmp_path: Path) -> None:
    """Its decisions are all in the ledger: they go into another file."""
    folder = tmp_path / "archive"
    with pytest.MonkeyPatch.context() as patch:
        fail(patch, Archives, "move")
        with pytest.raises(Killed):
            archive(ledger, folder, LATE)
    (path,) = folder.iterdir()
    table = pq.read_table(path)
    pq.write_table(edited(table, "epsilon_units", 9), path)
    assert archive(ledger, folder, LATE).decisions == MOVED
    sound(ledger, folder)


def test_what_does_not_follow_is_not_moved(ledger: Ledger, tmp_path: Path) -> None:
    """A row that was edited in the ledger goes into no archive: the command refuses."""
    with ledger._store.write() as tx:
        tx.connection.exec_driver_sql(
            "UPDATE tocsin_decisions SET epsilon_units = 9 WHERE query = 'b' AND sequence = 3"
        )
    with pytest.raises(LedgerCorruptError, match="number 3 of 'b'"):
        archive(ledger, tmp_path / "archive", LATE)
    assert ledger.archives.kept() == []


def test_files_of_other_ledgers_are_left_alone(ledger: Ledger, tmp_path: Path) -> None:
    """One folder may hold archives of several ledgers, and what is none."""
    folder = tmp_path / "archive"
    with open_ledger(f"sqlite:///{tmp_path}/other.db") as other:
        set_up(other, PrivacyUnit.USER, 99, [A, B])
        go_on(other, 0, WINDOWS)
        other.upkeep.compact("s", LATE)
        with pytest.MonkeyPatch.context() as patch:
            fail(patch, Archives, "move")
            with pytest.raises(Killed):
                archive(other, folder, LATE)
        (folder / "decisions-0.parquet").write_bytes(b"none")
        assert archive(ledger, folder, LATE).decisions == MOVED
        sound(ledger, folder)
        assert archive(other, folder, LATE).decisions == MOVED
        sound(other, folder)


def test_one_command_at_a_time(ledger: Ledger, tmp_path: Path) -> None:
    """A second one is told to wait; a folder that cannot be made is named."""
    with ledger.exclusive("archive"), pytest.raises(LedgerError, match="already"):
        archive(ledger, tmp_path / "archive", LATE)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be written to"):
        archive(ledger, tmp_path / "file" / "archive", LATE)
