"""How far the queries are: many at once, in one short read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Collection

    from accountant.ledger.access import Access
    from accountant.records import StoredDecision

__all__ = ["Progress", "QueryProgress"]


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """How far one query is.

    Args:
        query: its name.
        cursor_ms: start of its oldest undecided window.
        reconfigured: whether an accepted change takes effect behind that window, which can only be
            denied then.
        counted: whether any count waits for a decision of the query.
    """

    query: str
    cursor_ms: int
    reconfigured: bool
    counted: bool


class Progress:
    """Reads what deciders and publishers look for: where nothing is due, that costs one read."""

    def __init__(self, access: Access) -> None:
        self._access, self._store = access, access.store

    def cursors(self, queries: Collection[str]) -> dict[str, int]:
        """Return the start (ms) of the oldest undecided window of some queries, by name.

        Raises:
            LedgerError: one of them is not registered.
        """
        if not queries:
            return {}
        with self._store.read() as tx:
            found = {one.query: one.cursor_ms for one in tx.queries.cursors(queries)}
        for query in queries:
            if query not in found:
                raise LedgerError(f"query {query!r} is not registered")
        return found

    def queries(self) -> list[QueryProgress]:
        """Return how far every query is that was not retired."""
        with self._store.read() as tx:
            counted = tx.partials.counted()
            return [
                QueryProgress(
                    query=one.query,
                    cursor_ms=one.cursor_ms,
                    reconfigured=one.cursor_ms < (one.effective_from_ms or 0),
                    counted=one.query in counted,
                )
                for one in tx.queries.cursors()
            ]

    def decided(self, query: str, since_ms: int, until_ms: int) -> list[StoredDecision]:
        """Return this ledger's decisions of a query whose windows start in a span, both included.

        Args:
            query: its name.
            since_ms: the first start.
            until_ms: the last start.
        """
        with self._store.read() as tx:
            return tx.decisions.between(query, since_ms, until_ms, ledger_id=self._access.ledger_id)

    def unpublished(self, released_by_ms: int) -> set[str]:
        """Return the queries with decisions that may leave by an instant and have not left."""
        with self._store.read() as tx:
            return tx.decisions.waiting(released_by_ms)
