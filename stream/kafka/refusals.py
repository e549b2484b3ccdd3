"""What stopped a worker is written where it outlives the process: into the ledger.

A worker that ends is not scraped any more. Writing is tried once, for two seconds: the ledger may
be what is away, and a worker that must end ends.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Final

from accountant.errors import TocsinError
from stream.metrics.journal import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.ledger.ledger import Ledger

__all__ = ["note", "noting_refusals"]

_PATIENCE_S: Final = 2.0


def note(ledger: Ledger, entry: str) -> None:
    """Count an entry in the ledger's journal, or do not; never raises, never waits for long."""

    def write() -> None:
        with suppress(TocsinError):
            ledger.journal.note(entry)

    writing = Thread(target=write, name="tocsin-journal", daemon=True)
    with suppress(RuntimeError):  # no thread is to be had: nothing is noted
        writing.start()
        writing.join(_PATIENCE_S)


@contextmanager
def noting_refusals(ledger: Ledger) -> Iterator[None]:
    """Note the kind of any error that leaves the block, and let it go on."""
    try:
        yield
    except Exception as error:
        note(ledger, kind_of(error))
        raise
