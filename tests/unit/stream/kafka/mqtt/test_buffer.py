"""The buffer's file: what was appended is found by the next process, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from unittest.mock import MagicMock

import pytest

from accountant.errors import DataError, DependencyError
from stream.kafka.mqtt import buffer as buffers
from stream.kafka.mqtt.buffer import Buffer
from stream.logs.lines import Line
from tests.support.said import Said
from tests.support.tree import ROOT

MIB = 1 << 20
RECORDS = [(b"a", b"one"), (b"", b""), (b"\0b", b"\xff" * 9_000), (b"a", b"four")]


@pytest.fixture
def path(tmp_path):
    """Where the buffer is."""
    return tmp_path / "buffer"


def opened(path, most=MIB, client="", said=None):
    """Open a buffer."""
    return Buffer(path, most, client, (said or Said()).log)


async def found(path):
    """Return what a new process finds."""
    with opened(path) as buffer:
        return await buffer.next(100) if buffer.waiting else []


async def appending(buffer, records):
    """Append what does not fit, and return once that is known."""
    writer = asyncio.create_task(buffer.append(records))
    while not buffer.full:  # noqa: ASYNC110  # it sets no event
        await asyncio.sleep(0.01)
    return writer


async def test_what_was_not_delivered_is_found_again(path):
    """In order, from where the last process stopped; and nothing once all of it was delivered."""
    with opened(path) as buffer:
        for records in (RECORDS[:2], [], RECORDS[2:]):
            await buffer.append(records)
        assert await buffer.next(1) == RECORDS[:1]
        await buffer.delivered(RECORDS[:1])
        assert await buffer.next(100) == RECORDS[1:]
    assert await found(path) == RECORDS[1:]
    with opened(path) as buffer:
        await buffer.delivered(RECORDS[1:])
        assert not buffer.waiting
    assert await found(path) == []
    with opened(path) as buffer:
        await buffer.append(RECORDS[:1])
    assert await found(path) == RECORDS[:1]


def test_what_was_appended_outlives_a_kill(path):
    """A process that is killed right after it leaves all of it; nobody else reads the file."""
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


async def test_who_reads_waits_for_records_and_who_writes_for_room(path):
    """A full buffer takes nothing until it is empty, says so, and does not grow."""
    said, many = Said(), [(b"key", bytes(20_000))] * 10
    with opened(path, 300_000, said=said) as buffer:
        reader = asyncio.create_task(buffer.next(10))
        await asyncio.sleep(0)
        assert not reader.done()
        await buffer.append(many)
        assert await reader == many
        for _ in range(5):
            writer = await appending(buffer, many)
            await buffer.delivered(many)
            await writer
            assert not buffer.full
            assert await buffer.next(10) == many
    assert said.events == [Line.FULL] * 5
    assert path.stat().st_size <= 300_000


@contextmanager
def failing(buffer, *kinds, code=sqlite3.SQLITE_FULL):
    """Let changes of some kinds fail half way for a while."""

    def change(change, rows):
        file.executemany(change, rows)
        if change.startswith(kinds):
            error = sqlite3.OperationalError("it fails")
            error.sqlite_errorcode = code
            raise error

    file = buffer._file
    disk = MagicMock(wraps=file, executemany=change)
    disk.__enter__.side_effect, disk.__exit__.side_effect = file.__enter__, file.__exit__
    buffer._file = disk
    yield
    buffer._file = file


async def test_a_full_disk_is_waited_for_and_said_once(path, monkeypatch):
    """Who reads goes on meanwhile."""
    said = Said()
    monkeypatch.setattr(buffers, "_AGAIN_S", 0.01)
    with opened(path, said=said) as buffer:
        await buffer.append(RECORDS)
        with failing(buffer, "INSERT", "UPDATE", "DELETE"):
            writer = await appending(buffer, RECORDS[:1])
            await buffer.keep_session()
            for part in (RECORDS[:1], RECORDS[1:]):
                assert (await buffer.next(100))[: len(part)] == part
                await buffer.delivered(part)
            assert not buffer.waiting
        await writer
        assert await buffer.next(100) == RECORDS[:1]
    assert said.events == [Line.FULL]
    assert (await found(path))[-1:] == RECORDS[:1]


@pytest.mark.parametrize("size", [100, 20_000])
async def test_what_was_delivered_goes_from_a_disk_without_room(path, size):
    """To delete takes no more of the disk than was taken at the start."""
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


@pytest.mark.parametrize("kind", ["UPDATE", "DELETE"])
async def test_records_are_never_numbered_as_those_that_were_delivered(path, kind):
    """Whichever change of a delivery a full disk takes: the next process skips nothing."""
    with opened(path) as buffer:
        await buffer.append(RECORDS)
        with failing(buffer, kind):
            await buffer.delivered(RECORDS)
    with opened(path) as buffer:
        await buffer.append(RECORDS[:1])
        assert await buffer.next(100) == RECORDS[:1]
    assert await found(path) == RECORDS[:1]


async def test_a_broken_disk_ends_it(path):
    """Nothing of what was not said to be on the disk is acknowledged."""
    with (
        opened(path) as buffer,
        failing(buffer, "INSERT", code=sqlite3.SQLITE_IOERR),
        pytest.raises(DependencyError, match=r"cannot be used \(it fails\)"),
    ):
        await buffer.append(RECORDS)
    assert await found(path) == []


async def test_one_process_has_it_at_a_time(path):
    """Two would deliver each other's, and share a session."""
    for _ in range(2):
        with opened(path), pytest.raises(DependencyError, match="another process"):
            opened(path)
    assert await found(path) == []


def test_a_file_of_somebody_else_is_left_alone(path):
    """Also a database, and a buffer of an earlier version."""
    sqlite3.connect(path).executescript("CREATE TABLE notes (line TEXT)").connection.close()
    for content in (path.read_bytes(), b"my notes, and more of them", b"TOCSINB2" + bytes(12)):
        path.write_bytes(content)
        with pytest.raises(DataError, match="no buffer"):
            opened(path)
        assert path.read_bytes() == content
    for other in (path / "buffer", path.parent):
        with pytest.raises(DependencyError, match="cannot be used"):
            opened(other)


async def test_that_the_broker_had_the_session_is_kept(path):
    """Of this name: who gives another begins anew, with the same records.

    Without a name it gets one that nobody guesses, with 128 bits, drawn once.
    """
    with opened(path, client="given") as buffer:
        assert (buffer.client, buffer.made) == ("given", False)
        await buffer.keep_session()
        await buffer.append(RECORDS)
    for client, known, made in (
        ("given", "given", True),
        ("", "given", True),
        ("other", "other", False),
    ):
        with opened(path, client=client) as buffer:
            assert (buffer.client, buffer.made) == (known, made)
            assert await buffer.next(100) == RECORDS
    names = []
    for name in ("one", "one", "two"):
        with opened(path.with_name(name)) as buffer:
            names.append(buffer.client)
    assert len(names[0]) == len("tocsin-") + 32
    assert names[0] == names[1] != names[2]
