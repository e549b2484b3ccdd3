"""Decisions that move out of a ledger, without a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.charging.archiving import Binder

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from accountant.store.tables.decided import ArchiveRow

__all__ = ["bound", "move_all"]


def bound(ledger: Ledger, before_ms: int, file: str = "f") -> list[ArchiveRow]:
    """Return what would be kept of all decisions that may go."""
    binder = Binder(file, ledger.ledger_id, ledger.archives.moved())
    found: list[ArchiveRow] = []
    for span in ledger.archives.movable(before_ms):
        for one in ledger.archives.decisions(span):
            found += binder.take(one)
    found += binder.end()
    assert binder.problems == []
    return found


def move_all(ledger: Ledger, before_ms: int, file: str = "f") -> int:
    """Let all decisions go that may, as if they lay in a file; return how many."""
    return ledger.archives.move(bound(ledger, before_ms, file), before_ms)
