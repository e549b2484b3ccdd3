"""Charges that count for good, remembered by a process so that it reads each of them once.

Guarantee: what is remembered is what the database holds. A memory is good for one link of the
budget's chain, whose hash covers every charge that ended up to it: it is used only if that link is
still in the chain, and then the charges that ended since are read after it, with it. Otherwise, say
on a copy of the ledger that was put back, it is dropped and everything is read again. What queries
cover is remembered likewise: what a chain vouches for of it stands in its links of states.

A charge that ended never changes (``docs/proofs/filter.md``); one that is open is never remembered.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from accountant.charging.standing import known_shapes
from accountant.store.among import listed
from accountant.store.tables.charged import FINAL, LinkKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.budget.standings import Standing
    from accountant.charging.standing import KnownShapes, Standings
    from accountant.store.tables.charged import LinkRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["Past"]

_SPARE = 1_000
"""So many charges that nobody asks for are kept before they are forgotten."""

_FAR = 20_000
"""Beyond so many links since, what windows to come can meet is read anew: it is less."""


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


@dataclass(frozen=True, slots=True)
class _Covered:
    """What the queries of one budget cover.

    Args:
        head: number and hash of the last link of its chain then.
        vouched: what the chain said of its state; ``None`` where it said nothing.
        known: what they cover.
    """

    head: tuple[int, bytes]
    vouched: str | None
    known: KnownShapes


class Past:
    """Remembers what the ended charges of budgets hold; one a process.

    Callers hold the lock of the budget that they ask about, and have not changed it yet; who only
    asks for shapes sees one snapshot, or holds it.
    """

    def __init__(self) -> None:
        self._memories: dict[str, _Memory] = {}
        self._covered: dict[str, _Covered] = {}

    def shapes(self, tx: Transaction, scope: ScopeRow) -> KnownShapes:
        """Return what a budget's queries cover; good for as long as its chain says the same."""
        before = self._covered.get(scope.scope)
        if before is not None and before.vouched is not None and before.head == _head(scope):
            return before.known
        vouched = tx.links.last_state(scope.scope)
        if before is not None and vouched is not None and vouched == before.vouched:
            known = before.known
        else:
            known = known_shapes(tx, scope.scope)
        self._covered[scope.scope] = _Covered(_head(scope), vouched, known)
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
        name = scope.scope
        memory = self._memories.pop(name, None)  # not kept where an error leaves it half-way
        reaches = memory is not None and memory.since_ms <= since_ms
        if memory is None or not reaches or not self._goes_on(tx, scope, memory, standings):
            held = sorted(standings.all_of(tx.charges.after(name, since_ms, *FINAL)), key=_end)
            memory = _Memory(scope.chain_link, scope.chain_hash, since_ms, held)
        wanted = memory.held[bisect_right(memory.held, since_ms, key=_end) :]
        if len(memory.held) > 2 * len(wanted) + _SPARE:
            memory.since_ms, memory.held = since_ms, list(wanted)
        self._memories[name] = memory
        return wanted

    def _goes_on(
        self, tx: Transaction, scope: ScopeRow, memory: _Memory, standings: Standings
    ) -> bool:
        """Read what ended since; say whether the chain is still the one that was read."""
        head, before = _head(scope), (memory.link, memory.hash)
        if head == before:
            return True
        if scope.chain_link - memory.link > _FAR:
            return False
        found = list(chain.from_iterable(tx.links.since(scope.scope, memory.link - 1)))
        if not _continues(found, memory):
            return False
        news = found[1:]
        covered = self._covered.get(scope.scope)
        if covered and covered.head == before and all(one.kind != LinkKind.STATE for one in news):
            self._covered[scope.scope] = replace(covered, head=head)
        ended = [one.window for one in news if one.kind is LinkKind.ENDED]
        charges = tx.charges.among(listed(ended)) if ended else []
        for standing in standings.all_of(one for one in charges if one.state in FINAL):
            if standing.held.end_ms > memory.since_ms:
                insort(memory.held, standing, key=_end)
        memory.link, memory.hash = head
        return True


def _continues(found: Sequence[LinkRow], memory: _Memory) -> bool:
    """Say whether the first of some links is the last one that was read."""
    return bool(found) and (found[0].link, found[0].hash) == (memory.link, memory.hash)


def _head(scope: ScopeRow) -> tuple[int, bytes]:
    return scope.chain_link, scope.chain_hash


def _end(standing: Standing) -> int:
    return standing.held.end_ms
