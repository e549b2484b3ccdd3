"""Files that only their owner may read, locks on them, and names that outlive a power cut."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["locked", "open_private", "sync_directory"]


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
