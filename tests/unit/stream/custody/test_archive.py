"""Entries in Parquet files: all are there, once, whatever was cut off, and edits are named."""

from __future__ import annotations

import os
import time
from pathlib import Path

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
from stream.custody.archive import archive, archived_in, write_entries
from tests.support.ledgers import Series, deny, open_ledger, set_up, settle
from tests.support.published import decisions_in

A, B = Series("a", period=100), Series("b", period=100)


class Killed(BaseException):
    """The command was killed here."""


class Scene:
    """A ledger with some windows of two alarms, and the folder that it is archived to."""

    def __init__(self, ledger, folder):
        self.ledger, self.folder, self.windows = ledger, folder, 0
        set_up(ledger, PrivacyUnit.USER, 99, [A, B])
        self.go_on(8)

    def go_on(self, windows):
        """Decide some windows of both alarms, and publish them."""
        ledger = self.ledger
        for index in range(self.windows, self.windows + windows):
            ledger.admit("s", [one.request(index) for one in (A, B)])
            settle(ledger, A, index, alarms=b'["lab"]', alarm_count=index % 2)
            deny(ledger, B, index, "no") if index % 3 else settle(ledger, B, index)
            ledger.mark_published(A.key(index), B.key(index))
        self.windows += windows

    def archive(self, before_ms=10**9):
        """Run the command."""
        return archive(self.ledger, self.folder, before_ms)

    def cut_off(self, step="before any entry leaves"):
        """Begin to archive, and be killed; return a file that is left over, if there is one."""
        owner, name, after = STEPS[step]
        real, calls = getattr(owner, name), iter(range(10**6))

        def killed(*args, **kwargs):
            if next(calls) >= after:
                raise Killed
            return real(*args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, killed)
            with pytest.raises(Killed):
                self.archive()
        return next(self.folder.iterdir(), self.folder)

    @property
    def here(self):
        """The entries that the ledger still has."""
        return list(self.ledger.reports.entries())

    @property
    def moved(self):
        """The entries that lie in the archive."""
        return list(archived_in(self.ledger, self.folder))

    def problems(self):
        """Return what the custodian is told, given the archive."""
        try:
            return self.ledger.reports.verify(archived=archived_in(self.ledger, self.folder))
        except LedgerError as error:
            return [error.message]

    def expect(self, moved=None):
        """Hold the ledger and its archive against each other, and find every entry once."""
        assert self.ledger.reports.verify() == self.problems() == []
        found = [row.seq for row in self.moved]
        kept = [row.seq for row in self.here if row.seq > len(found)]
        assert [*found, *kept] == list(range(1, len(found) + len(kept) + 1))
        assert moved in {None, len(found)}


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A ledger whose entries go five at a time."""
    monkeypatch.setattr(archives, "_PAUSE_S", 0.0)
    monkeypatch.setattr(archives, "_STEP", 5)
    with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        yield Scene(ledger, tmp_path / "archive")


def test_all_that_may_go_lies_in_files(scene):
    """File by file: whole entries with their hashes, for the owner's eyes, and nothing twice."""
    before, ledger = scene.here, scene.ledger
    decided = {one for query in "ab" for one in ledger.progress.numbered(query, 1, 99)}
    moved = scene.archive()
    (path,) = scene.folder.iterdir()
    assert moved == (len(before), [path.name])
    assert path.stat().st_mode & 0o777 == 0o600
    assert pq.read_table(path).to_pylist() == [
        {**row._asdict(), "payload": row.payload.decode()} for row in before
    ]
    assert scene.moved == before
    assert set(decisions_in(ledger, scene.folder)) == decided
    assert [row.kind for row in scene.here] == ["archived", "snapshot"]
    scene.expect(len(before))


def test_nothing_new_is_no_file_more(scene):
    """What tells of archives alone goes with what comes next."""
    first = scene.archive()
    assert scene.archive() == scene.archive() == (0, [])
    scene.go_on(3)
    more = scene.archive()
    assert len(more.files) == 1
    scene.expect(first.entries + more.entries)


STEPS = {
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


@pytest.mark.parametrize("meanwhile", [0, 2])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_goes_on(scene, step, meanwhile):
    """Nothing is lost, nothing lies in two files that the ledger names, and both add up.

    Workers that decide before it is called again find all they need.
    """
    before = scene.here
    scene.cut_off(step)
    scene.expect()
    scene.go_on(meanwhile)
    scene.expect()
    assert scene.archive().entries > 0
    scene.expect(None if meanwhile else len(before))
    assert scene.moved[: len(before)] == before
    decided = {one.sequence for one in decisions_in(scene.ledger, scene.folder)}
    assert decided == set(range(1, scene.windows + 1))
    scene.go_on(2)
    scene.archive()
    scene.expect()


def test_an_interval_ends_where_it_is_told(scene):
    """Windows that end later stay, also where a larger file lies there that was left over."""
    many, left_over = len(scene.here), scene.cut_off()
    early = scene.archive(30)
    decided = {one.key.end_ms for one in decisions_in(scene.ledger, scene.folder)}
    assert decided == {10, 20, 30}
    scene.expect(early.entries)
    late = scene.archive()
    assert left_over.name not in early.files + late.files
    scene.expect(many + 2)


def test_what_is_open_or_has_not_left_stays(scene):
    """A decision that waits to leave keeps itself and all behind it in the ledger."""
    ledger, index = scene.ledger, scene.windows
    ledger.admit("s", [one.request(index) for one in (A, B)])
    settle(ledger, A, index)
    scene.archive()
    assert [one.sequence for one in ledger.progress.numbered("a", 1, 99)] == [index + 1]
    scene.expect()


def relabelled(rows, path):
    """Write entries with another key than they have."""
    write_entries((row._replace(key="other") for row in rows), path)


def rewritten(change):
    """Return what puts another table in a file's place."""
    return lambda path: pq.write_table(change(pq.read_table(path)), path)


SPOILT = {
    "a value": lambda path: relabelled(room._entries_in(path), path),
    "a column less": rewritten(lambda table: table.drop_columns(["hash"])),
    "a column more": rewritten(lambda table: table.append_column("more", table.column("seq"))),
    "other columns": rewritten(lambda _: pa.table({name: [None] for name in EntryRow._fields})),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_bytes(b""),
    "none": lambda path: path.write_bytes(b"none"),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_spoilt_file_is_named(scene, spoilt):
    """Of entries, ``tests/contracts/test_ledger_archives.py`` edits every one in every way."""
    scene.archive()
    (path,) = scene.folder.iterdir()
    SPOILT[spoilt](path)
    (first, *_) = scene.problems()
    if spoilt == "a value":
        assert first.startswith("entry 1 ")
    else:
        assert first == f"{path.name} is not a readable archive"
        with pytest.raises(LedgerError, match=first):
            list(decisions_in(scene.ledger, scene.folder))
    path.unlink()
    assert scene.problems() == [f"{path.name} is missing from {scene.folder}"]
    assert scene.ledger.reports.verify() == [], "without the archive, it stands by itself"


def test_an_older_copy_writes_what_it_has(scene, tmp_path):
    """Its entries lie in files already, which stay as they are: it has its own."""
    copy = tmp_path / "copy.db"
    scene.ledger._store.backup(copy)
    scene.archive(40)
    scene.archive()
    with open_ledger(f"sqlite:///{copy}") as older:
        assert archive(older, scene.folder, 10**9).entries > 0
        assert older.reports.verify(archived=archived_in(older, scene.folder)) == []
    scene.expect()


@pytest.mark.parametrize("number", [1, 12, 20])
def test_what_does_not_follow_is_not_moved(scene, number):
    """An entry that was edited in the ledger goes into no archive: the command refuses."""
    with scene.ledger._store.write() as tx:
        tx.connection.exec_driver_sql(
            f"UPDATE tocsin_entries SET key = 'other' WHERE seq = {number}"  # noqa: S608
        )
    before = scene.here
    with pytest.raises(LedgerCorruptError, match=f"entry {number} of the ledger"):
        scene.archive()
    assert (scene.ledger.archives.kept(), scene.here) == ([], before)


def test_files_of_other_ledgers_are_left_alone(scene, tmp_path):
    """One folder may hold archives of several ledgers, and what is none."""
    many = len(scene.here)
    with open_ledger(f"sqlite:///{tmp_path}/other.db") as ledger:
        other = Scene(ledger, scene.folder)
        other.cut_off()
        names = f"entries-1-{many}-0.parquet", "entries-a-b-c.parquet"
        for name in names:
            (scene.folder / name).write_bytes(b"none")
        for one in (scene, other):
            assert one.archive().entries == many
            one.expect(many)
    assert [(scene.folder / name).read_bytes() for name in names] == [b"none"] * 2


def test_what_was_written_otherwise_than_it_was_given_is_not_let_go(scene, monkeypatch):
    """A disk that lies is found before anything leaves."""
    monkeypatch.setattr(room, "write_entries", relabelled)
    before = scene.here
    with pytest.raises(LedgerCorruptError, match="does not hold what was written to it"):
        scene.archive()
    assert scene.here == before


def test_one_command_at_a_time(scene, tmp_path):
    """A second one is told to wait; a folder that cannot be made is named."""
    with (
        scene.ledger.exclusive("archive"),
        pytest.raises(LedgerError, match="another process archives this ledger"),
    ):
        scene.archive()
    (tmp_path / "file").write_text("")
    scene.folder = tmp_path / "file" / "archive"
    with pytest.raises(ConfigError, match="cannot be written"):
        scene.archive()
