"""How a window ends: its decision, its number, its query's cursor; its charge is another matter.

Everything here is one step of the transaction that also ends the charge, whose link tells of the
decision: :func:`accountant.charging.admission.settle` and ``deny`` take its hash.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accountant.charging import vouching

if TYPE_CHECKING:
    from accountant.records import StoredDecision
    from accountant.store.tables.pinned import QueryRow, ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["conclude", "pass_over", "place"]


def conclude(
    tx: Transaction,
    decision: StoredDecision,
    *,
    next_start_ms: int,
    run_digest: bytes | None,
    capped: bool,
) -> tuple[StoredDecision, bytes]:
    """Store a window's decision under the next number, and move its query's cursor.

    Args:
        tx: holds the locks of the query and of its budget.
        decision: whatever its number.
        next_start_ms: start of the query's next window.
        run_digest: of the run that it leaves; ``None`` without one.
        capped: whether a cap over a period may be on the window; without one, nobody uses it up.

    Returns:
        The decision as it is stored, and its hash.
    """
    query = decision.key.query
    taken = tx.sequences.take(query)
    numbered = replace(decision, sequence=taken.last_sequence)
    kept = tx.decisions.store(
        numbered, next_start_ms=next_start_ms, run_digest=run_digest, last=taken
    )
    tx.sequences.put(replace(taken, hash=kept))
    tx.queries.change({"query": query}, cursor_ms=next_start_ms)
    if capped:
        tx.used.drop_passed(query, next_start_ms)
    return numbered, kept


def pass_over(tx: Transaction, scope: ScopeRow, query: QueryRow, next_start_ms: int) -> None:
    """Move a query's cursor behind an adopted window that it had come to.

    Raises:
        LedgerCorruptError: the budget is not what its chain vouches for.
    """
    vouching.check_state(tx, scope)
    place(tx, query, next_start_ms)
    vouching.vouch(tx, scope.scope)


def place(tx: Transaction, query: QueryRow, cursor_ms: int) -> None:
    """Put a query's cursor where no decision of this ledger put it; callers vouch for that."""
    tx.queries.change({"query": query.query}, cursor_ms=cursor_ms, placed_ms=cursor_ms)
    tx.partials.drop_before(query.query, cursor_ms)
    tx.used.drop_passed(query.query, cursor_ms)
