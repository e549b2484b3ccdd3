"""Families of least sets, as masks: joined and multiplied with absorption, within counted work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np

from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_PRIMES", "LeastSets", "refuse_size"]

MOST_PRIMES: Final = 1 << 14
"""Most prime implicants (or implicates) that are listed; C(16, 8) is 12,870."""

_MOST_CANDIDATES: Final = 1 << 18
_MOST_COMPARISONS: Final = 1 << 29  # of two sets, in all: a second or two
_CELLS_PER_CHUNK: Final = 1 << 22


class LeastSets:
    """Families of least sets, joined and multiplied; refused where that takes too long.

    The work is counted, not timed: the same formula is refused everywhere or nowhere.
    """

    def __init__(self) -> None:
        self._left = _MOST_COMPARISONS

    def union(self, parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """Return the least sets of several families."""
        return self._minimal(np.concatenate(parts))

    def product(self, parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """Return the least unions of one set from each family.

        A family that shares most literals with what there is comes next: absorption then keeps the
        sets on the way there few.
        """
        waiting = sorted(parts, key=np.size)
        found = waiting.pop(0)
        while waiting:
            reached = np.bitwise_or.reduce(found)
            shared = [int(np.bitwise_count(reached & np.bitwise_or.reduce(p))) for p in waiting]
            found = self._multiply(found, waiting.pop(shared.index(max(shared))))
        return found

    def _multiply(self, a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
        if not np.bitwise_or.reduce(a) & np.bitwise_or.reduce(b):
            self._check_pairs(a, b)
            return _unions(a, b)  # over disjoint literals: no pair contains another
        # A set that contains one of the other family is itself a product, and absorbs its others.
        inner, outer = self._holding(a, b), self._holding(b, a)
        done = np.unique(np.concatenate([a[inner], b[outer]]))
        a, b = a[~inner], b[~outer]
        self._check_pairs(a, b)
        return self._minimal(_unions(a, b), done)

    def _minimal(
        self, masks: NDArray[np.uint64], least: NDArray[np.uint64] | None = None
    ) -> NDArray[np.uint64]:
        """Keep the sets that contain no other one (absorption), beside some that are known to."""
        kept = masks[:0] if least is None else least
        masks = np.unique(masks)
        masks = masks[~self._holding(masks, kept)]
        sizes = np.bitwise_count(masks)
        for size in np.unique(sizes).tolist():
            group = masks[sizes == size]
            # Equal sizes: none of these contains another, nor do those kept before (smaller ones)
            # need to be compared with anything but larger sets.
            kept = np.concatenate([kept, group])
            rest = sizes > size
            masks, sizes = masks[rest], sizes[rest]
            fresh = ~self._holding(masks, group)
            masks, sizes = masks[fresh], sizes[fresh]
            if kept.size > _MOST_CANDIDATES:
                refuse_size()
        return kept

    def _holding(self, sets: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Say which sets contain one of the others."""
        self._left -= sets.size * others.size
        if self._left < 0:
            refuse_size()
        rows = max(1, _CELLS_PER_CHUNK // max(1, others.size))
        found = np.zeros(sets.size, dtype=np.bool_)
        for at in range(0, sets.size, rows):
            part = sets[at : at + rows, None]
            found[at : at + rows] = (part & others == others).any(axis=1)
        return found

    def _check_pairs(self, a: NDArray[np.uint64], b: NDArray[np.uint64]) -> None:
        if a.size * b.size > _MOST_CANDIDATES:
            refuse_size()


def _unions(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    unions: NDArray[np.uint64] = (a[:, None] | b[None, :]).ravel()
    return unions


def refuse_size() -> NoReturn:
    """Refuse a formula with too many ways to be true or false.

    Raises:
        ValueError: always.
    """
    raise ArgumentError(
        f"the formula can become true, or false, in more than {MOST_PRIMES} ways, too many to"
        " apportion error rates over; split the query"
    )
