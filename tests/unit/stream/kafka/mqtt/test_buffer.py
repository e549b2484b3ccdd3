"""The buffer's file: what was appended is found after a crash at any byte, and nothing else."""

from __future__ import annotations

import errno
import os
import zlib
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from accountant.errors import DataError, DependencyError
from stream.kafka.mqtt import buffer as buffers
from stream.kafka.mqtt.buffer import HEAD_BYTES, Buffer

if TYPE_CHECKING:
    from pathlib import Path

MOST = 10_000
BODIES = [b"one", b"", b"three" * 9, b"\0" * 20, b"five"]
FIRST = 20
ENDS = [FIRST + sum(HEAD_BYTES + len(body) for body in BODIES[:many]) for many in range(6)]


def found(path: Path) -> list[bytes]:
    """Return what a new process finds."""
    with Buffer(path, MOST) as opened:
        return opened.next(100)


def written(path: Path) -> bytes:
    """Write all bodies, and return the file."""
    with Buffer(path, MOST) as opened:
        for body in BODIES:
            opened.append([body])
    return path.read_bytes()


def test_a_crash_at_any_byte_loses_the_torn_record_alone(tmp_path: Path) -> None:
    """The file ends where the crash was: all whole records are found, and it can be used."""
    path = tmp_path / "buffer"
    content = written(path)
    for at in range(len(content) + 1):
        path.write_bytes(content[:at])
        whole = sum(end <= at for end in ENDS[1:])
        with Buffer(path, MOST) as opened:
            assert opened.next(100) == BODIES[:whole], at
            assert opened.torn == (at > ENDS[whole])
            opened.append([b"after"])
        assert found(path) == [*BODIES[:whole], b"after"], at


def test_zeros_after_the_crash_are_no_record(tmp_path: Path) -> None:
    """File systems that had made room leave zeros."""
    path = tmp_path / "buffer"
    content = written(path)
    for whole, at in enumerate(ENDS):
        path.write_bytes(content[:at] + bytes(30))
        assert found(path) == BODIES[:whole]


def test_a_checksum_of_the_body_alone_is_seen_to_be_too_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin: zeros are then records of nothing."""
    monkeypatch.setattr(buffers, "_checksum", zlib.crc32)
    path = tmp_path / "buffer"
    path.write_bytes(written(path) + bytes(30))
    assert found(path) != BODIES


@pytest.mark.parametrize("bit", range(8))
def test_a_bit_that_flips_in_the_last_record_is_seen(tmp_path: Path, bit: int) -> None:
    """In its length, its checksum or its body."""
    path = tmp_path / "buffer"
    content = written(path)
    for at in range(ENDS[4], ENDS[5]):
        damaged = bytearray(content)
        damaged[at] ^= 1 << bit
        path.write_bytes(damaged)
        assert found(path) == BODIES[:4]


def test_what_follows_a_torn_record_does_not_come_back(tmp_path: Path) -> None:
    """A new record of the same length stands where the torn one stood; nothing follows it."""
    path = tmp_path / "buffer"
    content = bytearray(written(path))
    content[ENDS[3] - 1] ^= 1
    path.write_bytes(content)
    with Buffer(path, MOST) as opened:
        assert opened.torn
        same = b"x" * len(BODIES[2])
        opened.append([same])
    assert found(path) == [*BODIES[:2], same]


def test_what_was_delivered_goes_when_all_of_it_was(tmp_path: Path) -> None:
    """A new process finds the rest of it; the file begins anew after the last."""
    path = tmp_path / "buffer"
    written(path)
    with Buffer(path, MOST) as opened:
        opened.delivered(opened.next(2))
        assert opened.next(100) == BODIES[2:]
        assert opened.waiting
    assert found(path) == BODIES[2:]
    with Buffer(path, MOST) as opened:
        opened.delivered(opened.next(100))
        assert not opened.waiting
        assert opened.next(100) == []
        opened.append([b"new"])
    assert found(path) == [b"new"]


def test_the_disk_has_it_before_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is synced after it, and so is the cut before anything follows it."""
    with Buffer(tmp_path / "buffer", MOST) as opened:
        disk = Mock()
        for name in ("pwrite", "fsync", "ftruncate"):
            disk.attach_mock(Mock(side_effect=getattr(os, name)), name)
            monkeypatch.setattr(os, name, getattr(disk, name))
        opened.append([b"one", b"two"])
        appended = ["pwrite", "fsync"]
        assert [name for name, *_ in disk.mock_calls] == appended
        opened.delivered(opened.next(2))
        assert [name for name, *_ in disk.mock_calls] == [*appended, "ftruncate", *appended]


def test_it_is_full_until_all_was_delivered(tmp_path: Path) -> None:
    """To the byte."""
    with Buffer(tmp_path / "buffer", FIRST + 2 * (HEAD_BYTES + 10)) as opened:
        opened.append([bytes(10)])
        assert opened.fits([bytes(10)])
        assert not opened.fits([bytes(11)])
        assert not opened.fits([b"", bytes(3)])
        opened.append([bytes(10)])
        opened.delivered(opened.next(1))
        assert not opened.fits([b""])
        opened.delivered(opened.next(1))
        assert opened.fits([bytes(20)])


def test_one_process_has_it_at_a_time(tmp_path: Path) -> None:
    """Two would write over each other."""
    path = tmp_path / "buffer"
    with Buffer(path, MOST), pytest.raises(DependencyError, match="another process"):
        Buffer(path, MOST)
    assert found(path) == []


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """Nothing of it is cut."""
    path = tmp_path / "notes"
    notes = b"my notes, and more of them"
    path.write_bytes(notes)
    with pytest.raises(DataError, match="no buffer"):
        Buffer(path, MOST)
    assert path.read_bytes() == notes


def test_a_file_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """With what to check."""
    with pytest.raises(DependencyError, match="cannot be used"):
        Buffer(tmp_path / "none" / "buffer", MOST)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_is_full_takes_nothing_and_a_broken_one_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Half of a record was written; what was there stays, and can be delivered meanwhile."""
    path = tmp_path / "buffer"
    real = os.pwrite

    def half(file: int, content: bytes, place: int) -> int:
        if place >= FIRST and len(content) < 9:
            raise OSError(code, os.strerror(code))
        return real(file, content[: len(content) // 2] if place >= FIRST else content, place)

    with Buffer(path, MOST) as opened:
        opened.append([b"one", b"two"])
        monkeypatch.setattr(os, "pwrite", half)
        if code == errno.EIO:
            with pytest.raises(DependencyError, match=os.strerror(code)):
                opened.append([b"torn" * 9])
        else:
            assert not opened.append([b"torn" * 9])
            assert path.stat().st_size == FIRST + 2 * (HEAD_BYTES + 3)
        opened.delivered(opened.next(1))
        monkeypatch.undo()
    assert found(path) == [b"two"]


def test_a_place_that_cannot_be_right_is_not_believed(tmp_path: Path) -> None:
    """In a record, beyond the end, or with a bit that flipped: copies, and nothing is skipped."""
    path = tmp_path / "buffer"
    content = written(path)
    for place in (0, FIRST + 1, ENDS[-1] + 1):
        path.write_bytes(buffers._head(place) + content[FIRST:])
        assert found(path) == BODIES
    path.write_bytes(buffers._head(ENDS[2])[:-1] + b"\0" + content[FIRST:])
    assert found(path) == BODIES
    path.write_bytes(buffers._head(ENDS[2]))  # a crash before all was begun anew
    with Buffer(path, MOST) as opened:
        opened.append(BODIES)
    assert found(path) == BODIES


def test_a_file_that_was_changed_under_it_is_said(tmp_path: Path) -> None:
    """It is not delivered as something else."""
    path = tmp_path / "buffer"
    content = bytearray(written(path))
    with Buffer(path, MOST) as opened:
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataError, match="was changed"):
            opened.next(100)
