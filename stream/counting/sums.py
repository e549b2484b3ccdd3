"""Exact sums per cell that saturate instead of wrapping, in any order of addition.

Saturating while adding would make a sum depend on the order of its terms. So sums are kept exactly,
large weights in two words, and saturate only when they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SUM_LIMIT", "Sums"]

SUM_LIMIT: Final = 2**62
"""Sums are read as the nearest number within +-SUM_LIMIT."""

_WORD_BITS: Final = 32
_WORD_MASK: Final = (1 << _WORD_BITS) - 1
_NARROW: Final = 2**20
_CARRY_EVERY: Final = 2**29
_SPARSE_SHARE: Final = 8


class Sums:
    """One sum per cell, sparse while few cells have one.

    Args:
        cells: number of cells.
        largest: no weight is larger in magnitude; at most 2**62.
    """

    def __init__(self, cells: int, largest: int) -> None:
        """Start with every sum at zero."""
        self._size = cells
        self._wide = largest > _NARROW
        self._cells: NDArray[np.int64] | None = np.zeros(0, np.int64)  # None: all of them
        # A sum is low, or high * 2**32 + low where weights are wide.
        self._low = np.zeros(0, np.int64)
        self._high = np.zeros(0, np.int64)
        self._since_carry = 0

    def add(self, cells: NDArray[np.int64], weights: NDArray[np.int64] | None) -> None:
        """Add weights to cells.

        Args:
            cells: shape (n,), in ``[0, cells)``, repeated as needed.
            weights: shape (n,); ``None`` for 1 each.
        """
        if not len(cells):
            return
        at = self._places(cells)
        if weights is None:
            if len(self._low) <= len(at):
                self._low += np.bincount(at, minlength=len(self._low))
            else:
                np.add.at(self._low, at, 1)
        elif self._wide:
            np.add.at(self._high, at, weights >> _WORD_BITS)
            np.add.at(self._low, at, weights & _WORD_MASK)
        else:
            np.add.at(self._low, at, weights)
        self._since_carry += len(at)
        if self._since_carry > _CARRY_EVERY:
            self._carry()

    def merge(self, other: Sums) -> None:
        """Add the sums of ``other``, which has the same cells and weights."""
        if other._cells is not None and not len(other._cells):
            return
        self._carry()
        other._carry()  # changes the words, not the sums they stand for
        at = slice(None) if other._cells is None else self._places(other._cells)
        if other._cells is None:
            self._spread(None)
        self._low[at] += other._low
        if self._wide:
            self._high[at] += other._high
            self._carry()

    def nonzero(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells whose sum is not zero, ascending, and their saturated sums."""
        self._carry()
        values = self._low
        if self._wide:
            top = SUM_LIMIT >> _WORD_BITS
            values = (np.clip(self._high, -top, top - 1) << _WORD_BITS) + self._low
            values[self._high >= top] = SUM_LIMIT
            values[self._high < -top] = -SUM_LIMIT
        at = np.flatnonzero(values)
        return (at if self._cells is None else self._cells[at]), values[at]

    def _places(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the sums of some cells are kept, making room for new ones."""
        if self._cells is None:
            return cells
        if len(self._cells) + len(cells) > self._size // _SPARSE_SHARE:
            self._spread(None)
            return cells
        known = np.sort(np.concatenate([self._cells, cells]))
        self._spread(known[np.append(True, known[1:] != known[:-1])])
        return np.searchsorted(self._cells, cells)

    def _spread(self, cells: NDArray[np.int64] | None) -> None:
        """Keep the sums of ``cells``, all kept ones among them; ``None`` for every cell."""
        old = self._cells
        if old is None:
            return
        size = self._size if cells is None else len(cells)
        at = old if cells is None else np.searchsorted(cells, old)
        low, high = np.zeros(size, np.int64), np.zeros(size if self._wide else 0, np.int64)
        low[at] = self._low
        if self._wide:
            high[at] = self._high
        self._cells, self._low, self._high = cells, low, high

    def _carry(self) -> None:
        """Bring the words back into range, long before any of them could wrap."""
        self._since_carry = 0
        if self._wide:
            self._high += self._low >> _WORD_BITS
            self._low &= _WORD_MASK
            np.clip(self._high, -SUM_LIMIT // 2, SUM_LIMIT // 2, out=self._high)
        else:
            np.clip(self._low, 1 - SUM_LIMIT, SUM_LIMIT - 1, out=self._low)
