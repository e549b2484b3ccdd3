"""The file of heads beside a SQLite ledger: what was added is there, what was cut off is not."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accountant.errors import DependencyError, LedgerCorruptError
from accountant.store import headfile
from accountant.store.headfile import HeadFile, Noted

ONE, TWO, THREE = (Noted('i"\nd', f"{number}:00") for number in (1, 2, 3))


@pytest.fixture
def file(tmp_path):
    """A file that is not there yet."""
    return HeadFile(tmp_path / "heads")


def test_heads_are_read_as_they_were_added(file):
    """In their order, by whoever owns the file, and none before the first."""
    assert file.noted() == []
    assert file.add(ONE) < file.add(TWO) < file.add(THREE)
    assert HeadFile(file.path).noted() == [ONE, TWO, THREE]
    assert file.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_line_that_was_cut_off_is_not_there(file, cut):
    """Whatever is left of it, and the next head does not hang on to it."""
    file.add(ONE)
    size = file.add(TWO)
    os.truncate(file.path, size - cut)
    assert file.noted() == [ONE]
    file.add(THREE)
    assert file.noted() == [ONE, THREE]


@pytest.mark.parametrize(
    "line", [b"nonsense", b"[1, 2, 3]", b'["a", "b", "c"]', b"{}", b"7", b"\xff"]
)
def test_a_whole_line_that_is_no_head_is_refused(file, line):
    """It says that somebody changed the file: what it said is not known. It can be begun anew."""
    file.path.write_bytes(line + b"\n")
    for read in (file.noted, lambda: file.renew(lambda noted: noted[-1])):
        with pytest.raises(LedgerCorruptError, match="heads has a line that is not the head of a"):
            read()
    file.begin(lambda: TWO)
    assert file.noted() == [TWO]


def test_what_others_add_while_a_file_is_renewed_is_kept(tmp_path):
    """Threads add, one renews all the time: it is told of every head that somebody waited for."""
    path = tmp_path / "heads"
    heads = [[Noted(f"{writer}", f"{n}:00") for n in range(200)] for writer in range(3)]
    told = []

    def add(mine):
        for one in mine:
            HeadFile(path).add(one)

    def newest(noted):
        told.extend(noted)
        return Noted("renewed", "0:00")

    with ThreadPoolExecutor() as pool:
        adding = [pool.submit(add, mine) for mine in heads]
        while not all(one.done() for one in adding):
            HeadFile(path).renew(newest)
        for one in adding:
            one.result()
    told.extend(HeadFile(path).noted())
    for mine in heads:
        assert [one for one in told if one.ledger_id == mine[0].ledger_id] == mine
    assert [each.name for each in tmp_path.iterdir()] == ["heads"]


def test_a_renewal_that_is_refused_leaves_the_file(file):
    """What was noted stays noted."""
    file.add(ONE)
    file.add(TWO)

    def refuse(noted):
        assert noted == [ONE, TWO]
        raise LookupError

    with pytest.raises(LookupError):
        file.renew(refuse)
    assert file.noted() == [ONE, TWO]


def test_a_file_that_cannot_be_written_stops_what_would_leave(tmp_path):
    """The error names the file and says that nothing has left."""
    file = HeadFile(tmp_path / "nowhere" / "heads")
    with pytest.raises(
        DependencyError, match=r"cannot write .*heads beside the ledger: No such file"
    ) as caught:
        file.add(ONE)
    assert caught.value.ledger
    assert "nothing was published" in caught.value.hint
    assert file.noted() == []


def test_heads_are_on_the_disk_before_anybody_goes_on(file, monkeypatch):
    """What is written is synced, a new name's folder too, and nothing takes a name before that."""
    done = []

    def fsync(number):
        where = Path(f"/proc/self/fd/{number}").readlink()
        done.append(f"{where.name}: {os.fstat(number).st_size} bytes")

    def renamed(part, path):
        done.append(f"{part.name} becomes {path.name}")
        os.replace(part, path)  # noqa: PTH105  # `Path` is what is watched

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(headfile, "sync_directory", lambda path: done.append(f"{path.name}/"))
    monkeypatch.setattr(Path, "rename", renamed)
    one, both = file.add(ONE), file.add(TWO)
    folder = f"{file.path.parent.name}/"
    assert done == [f"heads: {one} bytes", folder, f"heads: {both} bytes"]
    done.clear()
    file.renew(lambda noted: noted[0])
    assert done == [f"heads.part: {one} bytes", "heads.part becomes heads", folder]
