"""Files that only their owner may read, and names that outlive a power cut."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["open_private", "sync_directory"]


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
