"""Making room: charges of the past give way to what they left behind, and no live loss changes.

Guarantee: totals, the worst settled row and the head of the chain stand as they stood; no window
that may still be served overlaps one whose charge is gone (it is refused instead); the decisions
stay, so that a rolled-back copy is still recognised by them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accountant.charging import vouching
from accountant.store.tables.charged import OPEN

if TYPE_CHECKING:
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["compact"]


def compact(tx: Transaction, scope: ScopeRow, before_ms: int) -> int:
    """Delete charges of a budget that ended, up to an instant; return how many.

    Args:
        tx: holds the scope's lock and those of its queries.
        scope: the budget.
        before_ms: windows that end after it are kept. So are windows that end after the start of
            any window that is open or still to be served, and all that came onto the chain after
            the first link that has to stay.
    """
    name = scope.terms.scope
    starts = [
        query.cursor_ms for query in tx.queries.all() if query.scope == name and not query.retired
    ]
    starts += [charge.start_ms for charge in tx.charges.in_state(name, *OPEN)]
    horizon_ms = min(before_ms, *starts) if starts else before_ms
    base = tx.links.last_compactable(name, horizon_ms)
    if base is None or base[0] <= scope.base_link:
        return 0
    gone = tx.charges.ended_by_link(name, base[0])
    if not gone:
        return 0
    vouching.check_state(tx, scope)
    left: Counter[int] = Counter()
    for charge in gone:
        left.update(dict.fromkeys(charge.periods, charge.final_units))
    tx.totals.add_compacted(name, +left)
    tx.charges.drop_by_link(name, base[0])
    tx.links.drop_up_to(name, base[0])
    tx.scopes.change(
        {"scope": name},
        base_link=base[0],
        base_hash=base[1],
        compacted_before_ms=max(horizon_ms, scope.compacted_before_ms or horizon_ms),
        compacted_worst_units=scope.settled_worst_units,
    )
    vouching.vouch(tx, name)
    return len(gone)
