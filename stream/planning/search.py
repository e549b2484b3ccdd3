"""Finding the smallest number that will do, numbers of three digits, and cells that are alike."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["alike", "index_within", "largest", "rounded", "rounded_index", "smallest"]

_PER_DECADE = 900


def smallest(fits: Callable[[int], bool], low: int, high: int, *, near: bool = False) -> int | None:
    """Return the smallest number in ``(low, high]`` that fits, where all above it fit too.

    Args:
        fits: asked about numbers in ``(low, high]`` only.
        low: does not fit.
        high: the largest number looked at.
        near: whether it is looked for from ``low`` on, in steps that double; else from both ends.

    Returns:
        The number, or ``None`` when not even ``high`` fits. Both it and the number before it were
        asked about, unless that is ``low``.
    """
    stride = 1 if near else high - low
    while low < high and not fits(found := min(low + stride, high)):
        low, stride = found, 2 * stride
    if low >= high:
        return None
    return largest(lambda middle: not fits(middle), low, found - 1) + 1


def largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Return the largest number in ``(low, high]`` that fits, where all below it do; else ``low``.

    Args:
        fits: asked about numbers in ``(low, high]`` only.
        low: is not asked about.
        high: the largest number looked at.
    """
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def rounded(index: int) -> Fraction:
    """Return number ``index`` of those with three significant digits: 1 is number 0, 1.01 is 1."""
    decade, digits = divmod(index, _PER_DECADE)
    return Fraction(100 + digits, 100) * Fraction(10) ** decade


def index_within(value: Fraction) -> int:
    """Return the index of the largest number of three significant digits that is <= ``value``."""
    index = rounded_index(value)
    return index - (rounded(index) > value)


def rounded_index(value: Fraction) -> int:
    """Return the index of the least number of three significant digits that is >= ``value`` > 0."""
    decade = 0
    while value >= 10:
        value, decade = value / 10, decade + 1
    while value < 1:
        value, decade = value * 10, decade - 1
    digits = -(-value.numerator * 100 // value.denominator) - 100
    return decade * _PER_DECADE + digits


def alike(*rows: NDArray[np.float64] | NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return a cell of each kind that has the same figures, with how many there are of it.

    Args:
        rows: of figures, shape (cells,) each.
    """
    _, cells, sizes = np.unique(np.stack(rows), axis=1, return_index=True, return_counts=True)
    return list(zip(cells.tolist(), sizes.tolist(), strict=True))
