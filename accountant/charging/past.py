"""Charges that count for good, remembered by a process so that it reads each of them once.

Guarantee: what is remembered is what the database holds. A memory is good for one link of the
budget's chain, whose hash covers every charge that ended up to it: it is used only if that link is
still in the chain, and then the charges that ended since are read after it. Otherwise, say on a
copy of the ledger that was put back, it is dropped and everything is read again.

A charge that ended never changes (``docs/proofs/filter.md``); one that is open is never remembered.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.charging.standing import known_shapes
from accountant.store.tables.charged import FINAL

if TYPE_CHECKING:
    from accountant.budget.standings import Standing
    from accountant.charging.standing import KnownShapes, Standings
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["Past"]

_SPARE = 1_000
"""So many charges that nobody asks for are kept before they are forgotten."""


@dataclass(slots=True)
class _Memory:
    """What was read of one budget.

    Args:
        link: number of the last link that was read.
        hash: its hash.
        since_ms: charges of windows that end by then are left out.
        held: by end of their windows.
    """

    link: int
    hash: bytes
    since_ms: int
    held: list[Standing]


class Past:
    """Remembers what the ended charges of budgets hold; one a process.

    Callers hold the lock of the budget that they ask about, and have not changed it yet; who only
    asks for shapes sees one snapshot, or holds it.
    """

    def __init__(self) -> None:
        self._memories: dict[str, _Memory] = {}
        self._shapes: dict[str, tuple[str | None, KnownShapes]] = {}

    def shapes(self, tx: Transaction, scope: str) -> KnownShapes:
        """Return what a budget's queries cover; good for as long as its chain says the same."""
        vouched = tx.links.last_state(scope)
        before, known = self._shapes.get(scope, (None, None))
        if known is None or vouched is None or vouched != before:
            known = known_shapes(tx, scope)
            self._shapes[scope] = vouched, known
        return known

    def after(
        self, tx: Transaction, scope: ScopeRow, standings: Standings, since_ms: int
    ) -> list[Standing]:
        """Return what charges hold for good whose windows end after an instant, by that end.

        Args:
            tx: holds the budget's lock.
            scope: the budget, as it stands.
            standings: reads its charges.
            since_ms: the instant.
        """
        name = scope.terms.scope
        memory = self._memories.pop(name, None)  # not kept where an error leaves it half-way
        reaches = memory is not None and memory.since_ms <= since_ms
        if memory is None or not reaches or not _goes_on(tx, scope, memory, standings):
            held = sorted(standings.all_of(tx.charges.after(name, since_ms, *FINAL)), key=_end)
            memory = _Memory(scope.chain_link, scope.chain_hash, since_ms, held)
        wanted = memory.held[bisect_right(memory.held, since_ms, key=_end) :]
        if len(memory.held) > 2 * len(wanted) + _SPARE:
            memory.since_ms, memory.held = since_ms, list(wanted)
        self._memories[name] = memory
        return wanted


def _goes_on(tx: Transaction, scope: ScopeRow, memory: _Memory, standings: Standings) -> bool:
    """Read what ended since; say whether the chain is still the one that was read."""
    if (memory.link, memory.hash) == (scope.chain_link, scope.chain_hash):
        return True
    if tx.links.hash_of(scope.terms.scope, memory.link) != memory.hash:
        return False
    for charge in tx.charges.ended_since(scope.terms.scope, memory.link):
        standing = standings.of(charge)
        if standing is not None and standing.held.end_ms > memory.since_ms:
            insort(memory.held, standing, key=_end)
    memory.link, memory.hash = scope.chain_link, scope.chain_hash
    return True


def _end(standing: Standing) -> int:
    return standing.held.end_ms
