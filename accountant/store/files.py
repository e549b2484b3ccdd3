"""Files that only their owner may read, locks on them, and names that outlive a power cut."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["locked", "open_private", "sync_directory", "written_whole"]


def open_private(path: str | Path, flags: int = os.O_CREAT | os.O_RDWR) -> int:
    """Open a file that only its owner may read, and return its descriptor.

    Args:
        path: of the file.
        flags: how.

    Raises:
        OSError: it cannot be opened.
    """
    return os.open(path, flags, 0o600)


def sync_directory(path: Path) -> None:
    """Make new names in a directory outlive a power cut.

    Raises:
        OSError: it cannot be synced.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(descriptor: int) -> Iterator[bool]:
    """Lock an open file among all processes, and close it; yield whether it was free."""
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


@contextmanager
def written_whole(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a new file that only its owner may read; it gets its name once all of it is on the disk.

    The name outlives a power cut once its directory is synced.

    Args:
        path: of the file; a symbolic link is replaced, never followed.
        force: replace a file that exists.

    Raises:
        FileExistsError: it exists, also where another process was faster.
        OSError: it cannot be written; nothing has changed.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        if force:
            part.replace(path)
        else:
            os.link(part, path)  # unlike a rename, this never replaces a file
    finally:
        part.unlink(missing_ok=True)
