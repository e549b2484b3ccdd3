"""What is in the buffer of a ``tocsin mqtt`` that runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def buffered(path: Path) -> int:
    """Return how many records wait in a buffer; -1 where that cannot be told now."""
    return _asked(path, "SELECT count(*) FROM record, state WHERE number > delivered")


def has_session(path: Path) -> bool:
    """Tell whether the broker has had the session of a buffer."""
    return _asked(path, "SELECT made FROM state") == 1


def _asked(path, question):
    """Ask past the lock of the process that has it; in the middle of a change nothing is known."""
    try:
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as file:
            (found,) = file.execute(question).fetchone()
    except (sqlite3.DatabaseError, TypeError):
        return -1
    return int(found)
