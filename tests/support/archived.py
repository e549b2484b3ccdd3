"""Entries that move out of a ledger, without a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from accountant.store.entry_rows import EntryRow


def moved(ledger: Ledger, before_ms: int, file: str = "f") -> list[EntryRow]:
    """Let all entries go that may, as if they lay in a file; return them."""
    first, last = ledger.archives.movable(before_ms)
    rows = list(ledger.archives.entries(first, last))
    if rows:
        copy = ledger.archives.copied(rows, first, last)
        assert copy is not None
        assert ledger.archives.move(file, copy, before_ms) == len(rows)
    return rows


def move_all(ledger: Ledger, before_ms: int, file: str = "f") -> int:
    """Let all entries go that may, as if they lay in a file; return how many."""
    return len(moved(ledger, before_ms, file))
