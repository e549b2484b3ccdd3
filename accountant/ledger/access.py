"""What every part of the ledger works with: its database, its identity, the wall clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.errors import ClockError, LedgerError
from accountant.store.schema import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.store.store import Store
    from accountant.store.tables.pinned import QueryRow, ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["CLOCK_GRAIN_MS", "Access", "registered_query", "registered_scope"]

CLOCK_GRAIN_MS = 100
"""Frequent writes move the clock's mark in steps, so that they do not queue up for its row."""


@dataclass(frozen=True, slots=True)
class Access:
    """One ledger in an open database.

    Args:
        store: the database.
        ledger_id: the ledger's identity.
        clock_ms: wall clock, milliseconds since the Unix epoch.
        allowed_step_back_ms: how far it may stand before the last time the ledger saw.
    """

    store: Store
    ledger_id: str
    clock_ms: Callable[[], int]
    allowed_step_back_ms: int

    def tick(self, tx: Transaction, *, grain_ms: int = 0) -> int:
        """Return the time; compare it with the last one the ledger saw, and move that mark.

        Raises:
            ClockError: the clock went back.
            LedgerError: newer code has taken the ledger over since it was opened here.
        """
        if grain_ms:
            row, now_ms = tx.ledger(), self.clock_ms()
        else:
            now_ms = self.clock_ms()
            row = tx.advance(clock_ms=now_ms)
            if row.clock_ms > now_ms:  # who moved it held it, and time went by until it was free
                now_ms = self.clock_ms()
        if row.schema_version != VERSION:
            raise LedgerError(
                f"a newer version of Tocsin has taken the ledger over (schema {row.schema_version};"
                f" this one writes {VERSION})",
                hint="start this worker with that version, too; nothing was written",
            )
        behind_ms = row.clock_ms - now_ms
        if behind_ms > self.allowed_step_back_ms:
            raise ClockError(
                f"the clock stands {behind_ms} ms before the last time the ledger saw",
                hint="set this machine's clock right; where it is, and was ahead before: "
                "`tocsin ledger FILE set-clock`; nothing was written",
            )
        if now_ms - row.clock_ms > grain_ms > 0:
            tx.advance(clock_ms=now_ms)
        return now_ms


def registered_scope(tx: Transaction, name: str, *, lock: bool = False) -> ScopeRow:
    """Return a budget.

    Raises:
        LedgerError: it is not registered.
    """
    row = tx.scopes.get("update" if lock else "", scope=name)
    if row is None:
        raise LedgerError(f"budget {name!r} is not registered")
    return row


def registered_query(
    tx: Transaction, name: str, *, lock: bool = False, share: bool = False
) -> QueryRow:
    """Return a query; ``share`` keeps it from changing, ``lock`` also from being shared.

    Raises:
        LedgerError: it is not registered.
    """
    row = tx.queries.get("update" if lock else "share" if share else "", query=name)
    if row is None:
        raise LedgerError(f"query {name!r} is not registered")
    return row
