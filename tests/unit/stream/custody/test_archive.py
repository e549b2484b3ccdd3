"""Entries in Parquet files: all are there, once, whatever was cut off, and edits are named."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accountant.errors import ConfigError, LedgerCorruptError, LedgerError
from accountant.ledger import archives
from accountant.ledger.archives import Archives
from accountant.log import images
from accountant.store.entry_rows import EntryRow, Log
from accountant.units import PrivacyUnit
from stream.custody import archive as room
from stream.custody.archive import archive, archived_in, decisions_in, write_entries
from tests.support.ledgers import Series, deny, open_ledger, set_up, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accountant.ledger.ledger import Ledger

A, B = Series("a", period=100), Series("b", period=100)
LATE = 10**9
WINDOWS = 8


class Killed(BaseException):
    """The command was killed here."""


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """A ledger whose entries go five at a time."""
    monkeypatch.setattr(archives, "_PAUSE_S", 0.0)
    monkeypatch.setattr(archives, "_STEP", 5)
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as opened:
        set_up(opened, PrivacyUnit.USER, 99, [A, B])
        go_on(opened, 0, WINDOWS)
        yield opened


def go_on(ledger: Ledger, first: int, until: int) -> None:
    """Decide some windows of both queries, and publish them."""
    for index in range(first, until):
        ledger.admit("s", [one.request(index) for one in (A, B)])
        settle(ledger, A, index, alarms=b'["lab"]', alarm_count=index % 2)
        deny(ledger, B, index, "no") if index % 3 else settle(ledger, B, index)
        ledger.mark_published(A.key(index), B.key(index))


def here(ledger: Ledger) -> list[EntryRow]:
    """Return the entries that the ledger still has."""
    return list(ledger.reports.entries())


def problems(ledger: Ledger, folder: Path) -> list[str]:
    """Return what the custodian is told, given the archive."""
    try:
        return ledger.reports.verify(archived=archived_in(ledger, folder))
    except LedgerError as error:
        return [error.message]


def sound(ledger: Ledger, folder: Path, through: int | None = None) -> None:
    """Hold the ledger and its archive against each other, and find every entry once."""
    assert ledger.reports.verify() == []
    assert problems(ledger, folder) == []
    moved = [row.seq for row in archived_in(ledger, folder)]
    kept = [row.seq for row in here(ledger) if row.seq > len(moved)]
    assert [*moved, *kept] == list(range(1, len(moved) + len(kept) + 1))
    if through is not None:
        assert len(moved) == through


def test_all_that_may_go_lies_in_files(ledger: Ledger, tmp_path: Path) -> None:
    """File by file: whole entries with their hashes, for the owner's eyes, and nothing twice."""
    folder, before = tmp_path / "archive", here(ledger)
    decided = {one for query in "ab" for one in ledger.progress.numbered(query, 1, 99)}
    moved = archive(ledger, folder, LATE)
    assert moved.entries == len(before)
    (path,) = folder.iterdir()
    assert moved.files == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600
    assert pq.read_table(path).to_pylist() == [
        {**row._asdict(), "payload": row.payload.decode()} for row in before
    ]
    assert list(archived_in(ledger, folder)) == before
    assert set(decisions_in(ledger, folder)) == decided
    assert [row.kind for row in here(ledger)] == ["archived", "snapshot"]
    sound(ledger, folder, len(before))


def test_nothing_new_is_no_file_more(ledger: Ledger, tmp_path: Path) -> None:
    """What tells of archives alone goes with what comes next."""
    folder = tmp_path / "archive"
    first = archive(ledger, folder, LATE)
    for _ in range(2):
        assert archive(ledger, folder, LATE) == (0, [])
    go_on(ledger, WINDOWS, WINDOWS + 3)
    more = archive(ledger, folder, LATE)
    assert len(more.files) == 1
    sound(ledger, folder, first.entries + more.entries)


STEPS: dict[str, tuple[Any, str, int]] = {
    "writing": (pq.ParquetWriter, "write_batch", 0),
    "syncing": (os, "fsync", 0),
    "renaming": (Path, "replace", 0),
    "syncing the folder": (room, "sync_directory", 0),
    "reading again": (room, "_entries_in", 0),
    "before any entry leaves": (Archives, "move", 0),
    "within the first transaction": (images, "dump", 0),
    "after the first transaction": (Log, "drop_through", 0),
    "after some have left": (Log, "drop_through", 2),
    "between two transactions": (time, "sleep", 1),
}
"""Who is killed at a call, and after how many calls."""


def cut_off(ledger: Ledger, folder: Path, step: str = "before any entry leaves") -> None:
    """Begin to archive, and be killed."""
    owner, name, after = STEPS[step]
    real, calls = getattr(owner, name), iter(range(10**6))

    def killed(*args: Any, **kwargs: Any) -> Any:
        if next(calls) >= after:
            raise Killed
        return real(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, killed)
        with pytest.raises(Killed):
            archive(ledger, folder, LATE)


@pytest.mark.parametrize("meanwhile", [0, 2])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_goes_on(
    ledger: Ledger, tmp_path: Path, step: str, meanwhile: int
) -> None:
    """Nothing is lost, nothing lies in two files that the ledger names, and both add up.

    Workers that decide before it is called again find all they need.
    """
    folder, before, until = tmp_path / "archive", here(ledger), WINDOWS + meanwhile
    cut_off(ledger, folder, step)
    sound(ledger, folder)
    go_on(ledger, WINDOWS, until)
    sound(ledger, folder)
    assert archive(ledger, folder, LATE).entries > 0
    sound(ledger, folder, None if meanwhile else len(before))
    assert list(archived_in(ledger, folder))[: len(before)] == before
    assert {one.sequence for one in decisions_in(ledger, folder)} == set(range(1, until + 1))
    if not meanwhile:  # else a part of the file that was not finished lies beside
        files = {one.file for one in ledger.archives.kept()}
        assert {path.name for path in folder.iterdir()} == files
    go_on(ledger, until, until + 2)
    archive(ledger, folder, LATE)
    sound(ledger, folder)


def test_an_interval_ends_where_it_is_told(ledger: Ledger, tmp_path: Path) -> None:
    """Windows that end later stay, also where a larger file lies there that was left over."""
    folder, many = tmp_path / "archive", len(here(ledger))
    cut_off(ledger, folder)
    (left_over,) = folder.iterdir()
    early = archive(ledger, folder, 30)
    assert {one.key.end_ms for one in decisions_in(ledger, folder)} == {10, 20, 30}
    sound(ledger, folder, early.entries)
    late = archive(ledger, folder, LATE)
    assert left_over.name not in early.files + late.files
    sound(ledger, folder, many + 2)


def test_what_is_open_or_has_not_left_stays(ledger: Ledger, tmp_path: Path) -> None:
    """A decision that waits to leave keeps itself and all behind it in the ledger."""
    ledger.admit("s", [one.request(WINDOWS) for one in (A, B)])
    settle(ledger, A, WINDOWS)
    archive(ledger, tmp_path / "archive", LATE)
    assert [one.sequence for one in ledger.progress.numbered("a", 1, 99)] == [WINDOWS + 1]
    sound(ledger, tmp_path / "archive")


def rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
    """Return what puts another table in a file's place."""
    return lambda path: pq.write_table(change(pq.read_table(path)), path)


def edited(column: str, value: Any) -> Callable[[Path], object]:
    """Return what changes one value of a file's fifth row."""

    def edit(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[4][column] = value
        return pa.Table.from_pylist(rows, schema=table.schema)

    return rewritten(edit)


NAMED: dict[str, Callable[[Path], object]] = {
    "a value": edited("key", "other"),
    "a hash": edited("hash", bytes(16)),
    "no row": rewritten(lambda table: table.slice(0, 0)),
}
UNREADABLE: dict[str, Callable[[Path], object]] = {
    "a column less": rewritten(lambda table: table.drop_columns(["hash"])),
    "a column more": rewritten(lambda table: table.append_column("more", table.column("seq"))),
    "other columns": rewritten(lambda _: pa.table({name: [None] for name in EntryRow._fields})),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_bytes(b""),
    "none": lambda path: path.write_bytes(b"none"),
}


@pytest.mark.parametrize("spoilt", [*NAMED, *UNREADABLE])
def test_a_spoilt_file_is_named_and_not_taken_up(
    ledger: Ledger, tmp_path: Path, spoilt: str
) -> None:
    """Left over, its entries are all in the ledger and are written again; later it is named.

    Of entries, ``tests/contracts/test_ledger_archives.py`` edits every one in every way.
    """
    folder, many = tmp_path / "archive", len(here(ledger))
    spoil = {**NAMED, **UNREADABLE}[spoilt]
    cut_off(ledger, folder)
    (path,) = folder.iterdir()
    spoil(path)
    assert archive(ledger, folder, LATE).entries == many
    sound(ledger, folder, many)
    spoil(path)
    if spoilt in UNREADABLE:
        assert problems(ledger, folder) == [f"{path.name} is not a readable archive"]
        with pytest.raises(LedgerError, match=f"{path.name} is not a readable archive"):
            list(decisions_in(ledger, folder))
    else:
        (first, *_) = problems(ledger, folder)
        assert path.name in first or first.startswith("entry 5 ")
    path.unlink()
    assert problems(ledger, folder) == [f"{path.name} is missing from {folder}"]
    assert ledger.reports.verify() == [], "without the archive, the ledger stands by itself"


def test_an_older_copy_takes_up_what_lies_there(ledger: Ledger, tmp_path: Path) -> None:
    """Its entries lie in a file already: they leave it, and it goes on as if it had written it."""
    folder, copy = tmp_path / "archive", tmp_path / "copy.db"
    ledger._store.backup(copy)
    (first,) = archive(ledger, folder, 40).files
    archive(ledger, folder, LATE)
    with open_ledger(f"sqlite:///{copy}") as older:
        assert archive(older, folder, LATE).files[0] == first
        sound(older, folder)
    sound(ledger, folder)


@pytest.mark.parametrize("number", [1, 12, 20])
def test_what_does_not_follow_is_not_moved(ledger: Ledger, tmp_path: Path, number: int) -> None:
    """An entry that was edited in the ledger goes into no archive: the command refuses."""
    with ledger._store.write() as tx:
        tx.connection.exec_driver_sql(
            f"UPDATE tocsin_entries SET key = 'other' WHERE seq = {number}"  # noqa: S608
        )
    with pytest.raises(LedgerCorruptError, match=f"entry {number} of the ledger"):
        archive(ledger, tmp_path / "archive", LATE)
    assert ledger.archives.kept() == []
    assert len(here(ledger)) > 20


def test_files_of_other_ledgers_are_left_alone(ledger: Ledger, tmp_path: Path) -> None:
    """One folder may hold archives of several ledgers, and what is none."""
    folder, many = tmp_path / "archive", len(here(ledger))
    with open_ledger(f"sqlite:///{tmp_path}/other.db") as other:
        set_up(other, PrivacyUnit.USER, 99, [A, B])
        go_on(other, 0, WINDOWS)
        cut_off(other, folder)
        strange = [folder / f"entries-1-{many}-0.parquet", folder / "entries-a-b-c.parquet"]
        for path in strange:
            path.write_bytes(b"none")
        assert archive(ledger, folder, LATE).entries == many
        sound(ledger, folder, many)
        assert archive(other, folder, LATE).entries == many
        sound(other, folder, many)
    assert [path.read_bytes() for path in strange] == [b"none"] * 2


def test_what_was_written_otherwise_than_it_was_given_is_not_let_go(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that lies is found before anything leaves."""

    def lying(rows: Any, path: Path) -> None:
        write_entries((row._replace(key="") for row in rows), path)

    monkeypatch.setattr(room, "write_entries", lying)
    before = here(ledger)
    with pytest.raises(LedgerCorruptError, match="does not hold what was written to it"):
        archive(ledger, tmp_path / "archive", LATE)
    assert here(ledger) == before


def test_one_command_at_a_time(ledger: Ledger, tmp_path: Path) -> None:
    """A second one is told to wait; a folder that cannot be made is named."""
    with (
        ledger.exclusive("archive"),
        pytest.raises(LedgerError, match="another process archives this ledger"),
    ):
        archive(ledger, tmp_path / "archive", LATE)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        archive(ledger, tmp_path / "file" / "archive", LATE)
