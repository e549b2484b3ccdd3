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
"""No weight passes this, and sums are read as the nearest number within it, above or below 0."""

_WORD_BITS: Final = 32
_WORD_MASK: Final = (1 << _WORD_BITS) - 1
_CARRY_EVERY: Final = 2**29
_SPARSE_SHARE: Final = 8


class Sums:
    """One sum per cell, sparse while few cells have one.

    Args:
        cells: number of cells.
    """

    def __init__(self, cells: int) -> None:
        """Start with every sum at zero."""
        self._size = cells
        self._cells: NDArray[np.int64] | None = np.zeros(0, np.int64)  # None: all of them
        self._words = np.zeros((2, 0), np.int64)  # a sum is high * 2**32 + low: low, then high
        self._since_carry = 0

    def add(self, cells: NDArray[np.int64], weights: NDArray[np.int64] | None) -> None:
        """Add weights to cells.

        Args:
            cells: shape (n,), in ``[0, cells)``, repeated as needed.
            weights: shape (n,), within +-2**62; ``None`` for 1 each.
        """
        if not len(cells):
            return
        at = self._places(cells)
        low, high = self._words
        if weights is None:
            if len(low) <= len(at):
                low += np.bincount(at, minlength=len(low))
            else:
                np.add.at(low, at, 1)
        else:
            carried = weights >> _WORD_BITS
            if carried.any():
                np.add.at(high, at, carried)
                weights = weights & _WORD_MASK
            np.add.at(low, at, weights)
        self._since_carry += len(at)
        if self._since_carry > _CARRY_EVERY:
            self._carry()

    def merge(self, other: Sums) -> None:
        """Add the sums of ``other``, which has the same cells."""
        self._carry()
        other._carry()  # changes the words, not the sums they stand for
        if other._cells is None:
            self._spread(None)
            self._words += other._words
        else:
            at = self._places(other._cells)
            self._words[:, at] += other._words
        self._carry()

    def nonzero(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells whose sum is not zero, ascending, and their saturated sums."""
        self._carry()
        low, high = self._words
        top = SUM_LIMIT >> _WORD_BITS
        values = (np.clip(high, -top, top - 1) << _WORD_BITS) + low
        values[high >= top] = SUM_LIMIT
        values[high < -top] = -SUM_LIMIT
        at = np.flatnonzero(values)
        return (at if self._cells is None else self._cells[at]), values[at]

    def _places(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the sums of some cells are kept, making room for new ones."""
        if self._cells is not None:
            if len(self._cells) + len(cells) > self._size // _SPARSE_SHARE:
                self._spread(None)
            else:
                self._spread(np.unique(np.concatenate([self._cells, cells])))
        return cells if self._cells is None else np.searchsorted(self._cells, cells)

    def _spread(self, cells: NDArray[np.int64] | None) -> None:
        """Keep the sums of ``cells``, all kept ones among them; ``None`` for every cell."""
        old, words = self._cells, self._words
        if old is not None:
            self._words = np.zeros((2, self._size if cells is None else len(cells)), np.int64)
            self._words[:, old if cells is None else np.searchsorted(cells, old)] = words
            self._cells = cells

    def _carry(self) -> None:
        """Bring the words back into range, long before any of them could wrap."""
        self._since_carry = 0
        low, high = self._words
        high += low >> _WORD_BITS
        low &= _WORD_MASK
        np.clip(high, -SUM_LIMIT // 2, SUM_LIMIT // 2, out=high)
