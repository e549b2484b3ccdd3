"""What a custodian changes in a ledger: decisions of other timelines, charges of the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.charging import adoption, compaction
from accountant.ledger.access import registered_query, registered_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.ledger.access import Access
    from accountant.records import SeenDecision

__all__ = ["Upkeep"]


class Upkeep:
    """Adopts and compacts."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._store = access.store

    def unknown_decisions(self, seen: Sequence[SeenDecision]) -> list[SeenDecision]:
        """Return released decisions that this ledger lacks or holds differently.

        Any of them means that this ledger was restored from an older copy, that two copies run, or
        that another ledger wrote to the topic.
        """
        with self._store.read() as tx:
            return adoption.unknown(tx, seen, ledger_id=self._access.ledger_id)

    def mark_spent(self, seen: Sequence[SeenDecision]) -> int:
        """Take released decisions over as spent, and return how many were new.

        Their cost is charged beside anything this ledger charged itself, their windows are never
        drawn again, and the numbers of their queries go on behind them. Reservations of older
        windows of the same queries count as spent too: nobody knows what became of them.
        """
        with self._store.write() as tx:
            drawn_on = {one.scope for one in seen}
            beside = {row.query for row in tx.queries.all() if row.scope in drawn_on}
            names = sorted({one.query for one in seen} | beside)
            rows = [tx.queries.get("update", query=name) for name in names]
            queries = {row.query: row for row in rows if row is not None}
            budgets = {one.scope for one in seen} | {row.scope for row in queries.values()}
            scopes = {name: registered_scope(tx, name, lock=True) for name in sorted(budgets)}
            fresh = adoption.unknown(tx, seen, ledger_id=self._access.ledger_id)
            if fresh:
                adoption.adopt(
                    tx,
                    fresh,
                    scopes=scopes,
                    queries=queries,
                    ledger_id=self._access.ledger_id,
                    now_ms=self._access.tick(tx),
                )
            return len(fresh)

    def compact(self, scope: str, before_ms: int) -> int:
        """Delete charges of the past, keeping what they left behind; return how many.

        No answer, total or status changes; see :mod:`accountant.charging.compaction` for what
        stays.
        """
        with self._store.write() as tx:
            # Sorted here: a database may order names differently, and locks have one order.
            for name in sorted(one.query for one in tx.queries.all() if one.scope == scope):
                registered_query(tx, name, lock=True)
            gone = compaction.compact(tx, registered_scope(tx, scope, lock=True), before_ms)
            self._access.tick(tx)
            return gone
