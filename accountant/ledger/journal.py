"""What befell those who work with a ledger, counted: starts, and what stopped them.

Nothing is decided by it. It is kept where it outlives a process, so that the next one can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.errors import ClockError
from accountant.store.tables.journal import CLOCK_SET, JournalRow

if TYPE_CHECKING:
    from accountant.ledger.access import Access
    from accountant.store.transaction import Transaction

__all__ = ["CLOCK_SET", "START", "Entry", "Journal", "note"]

START: Final = "start"
"""A worker started; every further entry is the kind of an error that stopped one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How often something happened, and when last.

    Args:
        times: since the ledger was made.
        last_ms: by the clock as it stood then, right or wrong.
    """

    times: int
    last_ms: int


class Journal:
    """Counts what happened. Nothing is charged here."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._store = access.store

    def note(self, entry: str) -> None:
        """Count an entry once more.

        Also where the ledger refuses everything else, as when the clock went back: that is what
        there is to note.

        Args:
            entry: one word; never anything of an event.

        Raises:
            DependencyError: the database cannot be reached.
        """
        with self._store.write() as tx:
            note(tx, entry, self._now_ms(tx))

    def _now_ms(self, tx: Transaction) -> int:
        """Return the time; where a clock is not to be believed, the last one the ledger saw."""
        try:
            return self._access.clock_ms()
        except ClockError:
            return tx.ledger().clock_ms

    def entries(self) -> dict[str, Entry]:
        """Return everything that happened, by entry."""
        with self._store.read() as tx:
            return {row.entry: Entry(row.times, row.last_ms) for row in tx.journal.each()}


def note(tx: Transaction, entry: str, now_ms: int) -> None:
    """Count an entry once more, as of a time that the caller vouches for."""
    tx.journal.add_up([JournalRow(entry, 1, now_ms)], "times")
    tx.journal.change({"entry": entry}, last_ms=now_ms)
