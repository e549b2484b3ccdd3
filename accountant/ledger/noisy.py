"""Noisy counts of panes, as windows over them read them: free, and as often as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountant.ledger.access import Access
    from accountant.store.tables.decided import NoisyRow

__all__ = ["NoisyCounts"]


class NoisyCounts:
    """Reads what :meth:`accountant.ledger.ledger.Ledger.settle` stored of panes."""

    def __init__(self, access: Access) -> None:
        self._store = access.store

    def between(self, query: str, start_ms: int, end_ms: int) -> list[NoisyRow]:
        """Return the stored panes of a query that lie in a span, in their order.

        A pane that was denied, or that no window to come reads, has none.

        Args:
            query: the panes' own.
            start_ms: inclusive.
            end_ms: exclusive.
        """
        with self._store.read() as tx:
            return tx.noisy.between(query, start_ms, end_ms)
