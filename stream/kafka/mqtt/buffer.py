"""What was taken from MQTT and is not in the log yet: one append-only file.

Guarantee: what :meth:`Buffer.append` returned for is found again after any crash, until
:meth:`Buffer.delivered` was called for it. A crash may leave a torn end; it was never acknowledged,
and is cut off. A record that was delivered may be found again: readers know copies by their ``id``.

::

    "TOCSINB2" | place crc | length crc body | length crc body | ...     4 bytes each but the place

The place (8 bytes) is that of the first record that was not delivered; it is written over in
place, which a full disk allows. All is little-endian. A checksum (CRC-32) covers the length as
well, so that a run of zeros is no record.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from accountant.errors import DataError, DependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["HEAD_BYTES", "Buffer"]

_MAGIC: Final = b"TOCSINB2"
_PLACE: Final = struct.Struct("<QI")
_FIRST: Final = len(_MAGIC) + _PLACE.size
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_LENGTH: Final = struct.Struct("<I")
_PAIR: Final = struct.Struct("<II")
HEAD_BYTES: Final = _PAIR.size
"""What a record takes beside its body."""


@dataclass(eq=False)
class Buffer:
    """Records in the order in which they came; a context manager.

    It begins anew whenever all of it was delivered, and takes nothing while it is full.

    Args:
        path: of the file; it is made where it is not there.
        most_bytes: how long it may become.

    Raises:
        DataError: the file is something else.
        DependencyError: it cannot be opened, or another process has it open.
    """

    path: Path
    most_bytes: int

    def __post_init__(self) -> None:
        """Open the file, or make it."""
        self.torn = False
        """Whether the end of the file was cut off."""
        self._read = self._end = _FIRST
        with _usable(self.path):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._open()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; what is in it stays."""
        os.close(self._file)

    @property
    def waiting(self) -> bool:
        """Whether there is something that was not delivered."""
        return self._read < self._end

    def fits(self, bodies: Sequence[bytes]) -> bool:
        """Tell whether there is room for more."""
        more = sum(HEAD_BYTES + len(body) for body in bodies)
        return self._end + more <= self.most_bytes

    def append(self, bodies: Sequence[bytes]) -> bool:
        """Return once records are on the disk; ``False`` where it is full, and has none of them.

        Args:
            bodies: for which there is room.

        Raises:
            DependencyError: they could not be written. What the disk holds then, the next process
                finds out; none of them may be acknowledged.
        """
        content = b"".join(_framed(body) for body in bodies)
        with _usable(self.path):
            try:
                _write(self._file, content, self._end)
                os.fsync(self._file)
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                self._cut(self._end)
                return False
        self._end += len(content)
        return True

    def next(self, most: int) -> list[bytes]:
        """Return the oldest records that were not delivered.

        Args:
            most: how many.

        Raises:
            DataError: the file was changed by somebody else.
        """
        found: list[bytes] = []
        at = self._read
        while at < self._end and len(found) < most:
            body = self._at(at, self._end)
            if body is None:
                raise DataError(
                    f"{self.path.name} was changed while it was open",
                    hint="let one MQTT source alone use it",
                )
            found.append(body)
            at += HEAD_BYTES + len(body)
        return found

    def delivered(self, bodies: Sequence[bytes]) -> None:
        """Take note that the oldest records are in the log.

        Args:
            bodies: as :meth:`next` returned them.

        Raises:
            DependencyError: the file could not be cut.
        """
        self._read += sum(HEAD_BYTES + len(body) for body in bodies)
        if self._read == self._end:
            self._begin_anew()
        else:
            with suppress(OSError):  # then the next process delivers copies
                _write(self._file, _head(self._read), 0)

    def _open(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DependencyError(
                f"another process has the buffer {self.path.name} open",
                hint="give every MQTT source a buffer and an MQTT client of its own",
            ) from error
        size = os.fstat(self._file).st_size
        head = os.pread(self._file, _FIRST, 0)
        magic = head[: len(_MAGIC)]
        if magic != _MAGIC[: len(magic)]:
            raise DataError(
                f"{self.path.name} is no buffer of an MQTT source",
                hint="name another file in `buffer`",
            )
        if size < _FIRST:
            self._begin_anew()
            _sync_folder(self.path)
            size = _FIRST
        places = {self._end}
        while (body := self._at(self._end, size)) is not None:
            self._end += HEAD_BYTES + len(body)
            places.add(self._end)
        if self._end < size:
            self.torn = True
            self._cut(self._end)
        place, _ = _PLACE.unpack(head[len(_MAGIC) :].ljust(_PLACE.size, b"\0"))
        if place in places and _head(place) == head:
            self._read = place
        if not self.waiting:  # a place that is left of records that are gone must not skip new ones
            self._begin_anew()

    def _begin_anew(self) -> None:
        with _usable(self.path):
            os.ftruncate(self._file, _FIRST)
            _write(self._file, _head(_FIRST), 0)
            # What is written next must not be found before old records that came back.
            os.fsync(self._file)
        self._read = self._end = _FIRST

    def _at(self, place: int, end: int) -> bytes | None:
        """Return the record at a place; ``None`` where there is no whole one before the end."""
        if place + HEAD_BYTES > end:
            return None
        length, checksum = _PAIR.unpack(os.pread(self._file, HEAD_BYTES, place))
        if place + HEAD_BYTES + length > end:
            return None
        body = os.pread(self._file, length, place + HEAD_BYTES)
        return body if _checksum(body) == checksum else None

    def _cut(self, end: int) -> None:
        with _usable(self.path):
            os.ftruncate(self._file, end)
            os.fsync(self._file)


def _head(place: int) -> bytes:
    packed = place.to_bytes(8, "little")
    return _MAGIC + _PLACE.pack(place, zlib.crc32(packed))


def _framed(body: bytes) -> bytes:
    return _PAIR.pack(len(body), _checksum(body)) + body


def _checksum(body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(_LENGTH.pack(len(body))))


def _write(file: int, content: bytes, place: int) -> None:
    """Write all of it: a disk that fills takes a part and says so."""
    rest = memoryview(content)
    while rest:
        written = os.pwrite(file, rest, place)
        rest, place = rest[written:], place + written


def _sync_folder(path: Path) -> None:
    """A new file is there after a crash only once its folder is on the disk."""
    opened = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DependencyError(
            f"the buffer {path.name} cannot be used ({error.strerror})",
            hint="check its folder, its rights and the room on its disk",
        ) from error
