"""Heads of a SQLite ledger's log, in a file beside it: what the database loses, this one keeps.

A line is one head: the ledger's id, and the head as :mod:`accountant.ledger.heads` says it.
Guarantee: what :meth:`HeadFile.add` returned from is on the disk, whatever is killed and in
whatever order the pages of the database reach it; a line that was cut off as it was written is not
there. Many processes may add at once.

SQLite keeps what was committed last in its ``-wal`` file, so that a copy of the database alone is
an older ledger, whole and without a trace of what it lacks.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accountant.errors import DependencyError, LedgerCorruptError
from accountant.store.files import open_private, sync_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["HeadFile", "Noted"]

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND


@dataclass(frozen=True, slots=True)
class Noted:
    """One head.

    Args:
        ledger_id: whose.
        head: ``NUMBER:HASH``.
    """

    ledger_id: str
    head: str


class HeadFile:
    """One such file; it need not be there yet.

    Args:
        path: where.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, head: Noted) -> int:
        """Append a head, with one write, and wait until it is on the disk.

        Returns:
            How many bytes the file has now.

        Raises:
            DependencyError: it cannot be written.
        """
        with self._failing(), self._locked() as file:
            size = _whole(file)
            os.ftruncate(file, size)  # what was cut off before says nothing
            line = _line(head)
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, "it was not written whole")
            os.fsync(file)
            if not size:
                sync_directory(self.path.parent)
            return size + len(line)

    def noted(self) -> list[Noted]:
        """Return every head, oldest first; none where there is no file.

        Raises:
            DependencyError: the file cannot be read.
            LedgerCorruptError: a line of it is no head.
        """
        if not self.path.exists():
            return []
        with self._failing(), self._locked() as file:
            return self._read(file)

    def renew(self, head: Callable[[list[Noted]], Noted]) -> None:
        """Put one head in the place of those that are there, whole or not at all.

        Args:
            head: told what was noted, returns what is to stand there. It is called while nobody
                can add: whatever was noted is in the database that it reads.

        Raises:
            DependencyError: they cannot be read or written.
            LedgerCorruptError: a line is no head.
        """
        with self._failing(), self._locked() as file:
            self._put(head(self._read(file)))

    def begin(self, head: Callable[[], Noted]) -> None:
        """Put one head in the place of whatever is there, readable or not.

        Args:
            head: as for :meth:`renew`.

        Raises:
            DependencyError: it cannot be written.
        """
        with self._failing(), self._locked():
            self._put(head())

    def _read(self, file: int) -> list[Noted]:
        lines = os.pread(file, _whole(file), 0).splitlines()
        try:
            return [Noted(*_strings(json.loads(line))) for line in lines]
        except (ValueError, TypeError):
            raise LedgerCorruptError(
                f"{self.path} has a line that is not the head of a ledger",
                hint="restore this file: it proves that the ledger is the newest copy",
            ) from None

    def _put(self, head: Noted) -> None:
        """Replace the file, whose lock is held: who waits for it finds that the name moved on."""
        part = self.path.with_name(f"{self.path.name}.part")
        part.unlink(missing_ok=True)
        with os.fdopen(open_private(part), "wb") as fresh:
            fresh.write(_line(head))
            fresh.flush()
            os.fsync(fresh.fileno())
        part.rename(self.path)
        sync_directory(self.path.parent)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the file among all processes."""
        while True:
            file = open_private(self.path, _FLAGS)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if self._is(file):
                    yield file
                    return
            finally:
                os.close(file)

    def _is(self, file: int) -> bool:
        """Tell whether an open file still has the name: others may have begun anew."""
        try:
            return os.path.samestat(os.fstat(file), self.path.stat())
        except FileNotFoundError:
            return False

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DependencyError(
                f"cannot write {self.path} beside the ledger: {error.strerror}",
                hint="check permissions and free disk space; nothing was published",
                ledger=True,
            ) from None


def _line(head: Noted) -> bytes:
    return json.dumps([head.ledger_id, head.head]).encode() + b"\n"


def _whole(file: int) -> int:
    """Return how many bytes of a file are whole lines."""
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return size
    return os.pread(file, size, 0).rfind(b"\n") + 1


def _strings(found: Any) -> list[str]:
    if not all(isinstance(one, str) for one in found):
        raise ValueError("two strings")
    return list(found)
