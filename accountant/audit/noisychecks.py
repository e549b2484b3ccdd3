"""Whether noisy counts of panes are as their decisions left them, and none is gone too early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.audit.chargechecks import named
from accountant.store import decisionchain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.store.tables.decided import DecisionRow
    from accountant.store.tables.pinned import QueryRow
    from accountant.store.transaction import Transaction

__all__ = ["Panes"]


class Panes:
    """Holds the stored panes of one query against its decisions.

    What is kept is bounded by the windows over it, and only digests of it are held here.

    Args:
        tx: sees one snapshot.
        query: its name.
    """

    def __init__(self, tx: Transaction, query: str) -> None:
        key = tx.ledger().hash_key
        self._digests: dict[tuple[str, int, int], bytes] = {}
        self._fingerprints: set[str] = set()
        self._kept_from_ms = 0
        for row in tx.noisy.each(query=query):
            self._digests[row.window] = decisionchain.noisy_digest(row, key)
            self._fingerprints.add(row.fingerprint)
            self._kept_from_ms = row.kept_from_ms  # in order: that of the last one stays
        self._kept = bool(self._digests)
        self._last: DecisionRow | None = None

    def take(self, one: DecisionRow) -> Iterator[str]:
        """Take the next decision, and yield what is wrong with what it left."""
        stored, left = self._digests.pop(one.window, None), None
        if one.draw is not None:
            self._last, left = one, one.run_digest
        forgotten = not self._kept or one.start_ms < self._kept_from_ms
        if stored == left or (stored is None and forgotten):
            return
        what = "are gone" if stored is None else "are not as its decision left them"
        yield f"{named(one.key)}: its noisy counts {what}"

    def end(self, query: QueryRow) -> Iterator[str]:
        """Say what no decision vouches for, and whether all of them are gone too early."""
        if self._digests:
            yield f"{len(self._digests)} pane(s) of {query.query!r} have no decision"
        if self._kept and (query.retired or self._fingerprints != {query.fingerprint}):
            yield f"noisy counts of {query.query!r} outlived their configuration"
        if self._kept or self._last is None or query.retired:
            return
        if query.effective_from_ms is None or query.effective_from_ms <= self._last.start_ms:
            yield f"the noisy counts of {query.query!r} are gone, and nothing has ended them"
