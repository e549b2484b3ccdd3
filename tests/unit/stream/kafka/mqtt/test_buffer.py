"""The buffer's file: what was appended is found by the next process, and nothing else."""

from __future__ import annotations

import asyncio
import io
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from accountant.errors import DataError, DependencyError
from stream.kafka.mqtt import buffer as buffers
from stream.kafka.mqtt.buffer import Buffer
from stream.logs.lines import Line, Log
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream.kafka.mqtt.buffer import Record

MIB = 1 << 20
RECORDS: list[Record] = [(b"a", b"one"), (b"", b""), (b"\0b", b"\xff" * 9_000), (b"a", b"four")]


def opened(
    path: Path, most: int = MIB, client: str = "", said: io.StringIO | None = None
) -> Buffer:
    """Open a buffer."""
    return Buffer(path, most, client, Log(said or io.StringIO()))


async def found(path: Path) -> list[Record]:
    """Return what a new process finds."""
    with opened(path) as buffer:
        return await buffer.next(100) if buffer.waiting else []


async def test_what_was_not_delivered_is_found_again(tmp_path: Path) -> None:
    """In order, from where the last process stopped; and nothing once all of it was delivered."""
    path = tmp_path / "buffer"
    with opened(path) as buffer:
        await buffer.append(RECORDS[:2])
        await buffer.append([])
        await buffer.append(RECORDS[2:])
        assert await buffer.next(1) == RECORDS[:1]
        await buffer.delivered(RECORDS[:1])
        assert await buffer.next(100) == RECORDS[1:]
    assert await found(path) == RECORDS[1:]
    with opened(path) as buffer:
        await buffer.delivered(await buffer.next(100))
        assert not buffer.waiting
    assert await found(path) == []
    with opened(path) as buffer:
        await buffer.append(RECORDS[:1])
    assert await found(path) == RECORDS[:1]


def test_what_was_appended_outlives_a_kill(tmp_path: Path) -> None:
    """A process that is killed right after it leaves all of it; nobody else reads the file."""
    path = tmp_path / "buffer"
    source = f"""
import asyncio, os, pathlib, signal
from stream.kafka.mqtt.buffer import Buffer
buffer = Buffer(pathlib.Path({str(path)!r}), {MIB}, "", None)
asyncio.run(buffer.append({RECORDS!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", source], cwd=ROOT, check=False)
    assert asyncio.run(found(path)) == RECORDS
    assert path.stat().st_mode & 0o777 == 0o600


async def test_who_reads_waits_for_records_and_who_writes_for_room(tmp_path: Path) -> None:
    """A full buffer says so, once, and takes again when all of it was delivered."""
    said, many = io.StringIO(), [(b"key", bytes(50_000))] * 4
    with opened(tmp_path / "buffer", 300_000, said=said) as buffer:
        reader = asyncio.create_task(buffer.next(10))
        await asyncio.sleep(0)
        assert not reader.done()
        await buffer.append(many)
        assert await reader == many
        for _ in range(5):
            writer = asyncio.create_task(buffer.append(many))
            while not buffer.full:  # noqa: ASYNC110  # it sets no event
                await asyncio.sleep(0.01)
            await buffer.delivered(many)
            await writer
            assert not buffer.full
            assert await buffer.next(10) == many
    assert said.getvalue().count(Line.FULL) == 5
    assert (tmp_path / "buffer").stat().st_size <= 300_000


@contextmanager
def failing(buffer: Buffer, *kinds: str, code: int = sqlite3.SQLITE_FULL) -> Iterator[None]:
    """Let changes of some kinds fail half way for a while."""

    def change(change: str, rows: Any) -> None:
        file.executemany(change, rows)
        if change.startswith(kinds):
            error = sqlite3.OperationalError("it fails")
            error.sqlite_errorcode = code
            raise error

    file = buffer._file
    disk: Any = MagicMock(wraps=file, executemany=change)
    disk.__enter__.side_effect, disk.__exit__.side_effect = file.__enter__, file.__exit__
    buffer._file = disk
    yield
    buffer._file = file


async def test_a_full_disk_is_waited_for_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads goes on meanwhile."""
    path, said = tmp_path / "buffer", io.StringIO()
    monkeypatch.setattr(buffers, "_AGAIN_S", 0.01)
    with opened(path, said=said) as buffer:
        await buffer.append(RECORDS)
        with failing(buffer, "INSERT", "UPDATE", "DELETE"):
            writer = asyncio.create_task(buffer.append(RECORDS[:1]))
            while not buffer.full:  # noqa: ASYNC110  # it sets no event
                await asyncio.sleep(0.01)
            await buffer.keep_session()
            assert await buffer.next(1) == RECORDS[:1]
            await buffer.delivered(RECORDS[:1])
            assert await buffer.next(100) == RECORDS[1:]
            await buffer.delivered(RECORDS[1:])
            assert not buffer.waiting
        await writer
        assert await buffer.next(100) == RECORDS[:1]
    assert said.getvalue().count(Line.FULL) == 1
    assert (await found(path))[-1:] == RECORDS[:1]


@pytest.mark.parametrize("size", [20, 1_000, 20_000])
async def test_what_was_delivered_goes_from_a_disk_without_room(tmp_path: Path, size: int) -> None:
    """To delete takes no more of the disk than was taken at the start."""
    path = tmp_path / "buffer"
    journal = path.with_name("buffer-journal")
    with opened(path, 8 * MIB) as buffer:
        taken = journal.stat().st_size
        while not buffer.full:
            records = [(b"key", bytes(size))] * max(1, 200_000 // size)
            writer = asyncio.create_task(buffer.append(records))
            await asyncio.wait([writer], timeout=0.2)
        while buffer.waiting:
            await buffer.delivered(await buffer.next(1_000))
        await writer
        assert journal.stat().st_size == taken


async def test_records_are_never_numbered_as_those_that_were_delivered(tmp_path: Path) -> None:
    """Whichever change of a delivery a full disk takes: the next process skips nothing."""
    for kind in ("UPDATE", "DELETE"):
        path = tmp_path / kind
        with opened(path) as buffer:
            await buffer.append(RECORDS)
            with failing(buffer, kind):
                await buffer.delivered(RECORDS)
        with opened(path) as buffer:
            await buffer.append([(b"new", kind.encode())])
            assert await buffer.next(100) == [(b"new", kind.encode())]
        assert await found(path) == [(b"new", kind.encode())]


async def test_a_broken_disk_ends_it(tmp_path: Path) -> None:
    """Nothing of what was not said to be on the disk is acknowledged."""
    path = tmp_path / "buffer"
    with (
        opened(path) as buffer,
        failing(buffer, "INSERT", code=sqlite3.SQLITE_IOERR),
        pytest.raises(DependencyError, match=r"cannot be used \(it fails\)"),
    ):
        await buffer.append(RECORDS)
    assert await found(path) == []


async def test_one_process_has_it_at_a_time(tmp_path: Path) -> None:
    """Two would deliver each other's, and share a session."""
    path = tmp_path / "buffer"
    for _ in range(2):
        with opened(path), pytest.raises(DependencyError, match="another process"):
            opened(path)
    assert await found(path) == []


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """Also a database, and a buffer of an earlier version."""
    path, database = tmp_path / "notes", tmp_path / "database"
    sqlite3.connect(database).executescript("CREATE TABLE notes (line TEXT)").connection.close()
    for other, content in (
        (path, b"my notes, and more of them"),
        (path, b"TOCSINB2" + bytes(12)),
        (database, database.read_bytes()),
    ):
        other.write_bytes(content)
        with pytest.raises(DataError, match="no buffer"):
            opened(other)
        assert other.read_bytes() == content


def test_a_file_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """With what to check."""
    for path in (tmp_path / "none" / "buffer", tmp_path):
        with pytest.raises(DependencyError, match="cannot be used"):
            opened(path)


async def test_a_session_without_a_name_gets_one_that_nobody_guesses(tmp_path: Path) -> None:
    """With 128 bits, drawn once; another MQTT source has another."""
    names = []
    for name in ("buffer", "buffer", "other"):
        with opened(tmp_path / name) as buffer:
            names.append(buffer.client)
    assert len(names[0]) == len("tocsin-") + 32
    assert names[0] == names[1] != names[2]


async def test_that_the_broker_had_the_session_is_kept(tmp_path: Path) -> None:
    """Of this name: who gives another begins anew, with the same records."""
    path = tmp_path / "buffer"
    with opened(path, client="given") as buffer:
        assert (buffer.client, buffer.made) == ("given", False)
        await buffer.keep_session()
        await buffer.append(RECORDS)
    for client, made in (("given", True), ("", True), ("other", False)):
        with opened(path, client=client) as buffer:
            assert (buffer.client, buffer.made) == (client or "given", made)
            assert await buffer.next(100) == RECORDS
