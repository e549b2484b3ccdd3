"""Finding the smallest number that will do, and numbers of three significant digits."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["rounded", "rounded_index", "smallest"]

_PER_DECADE = 900


def smallest(
    fits: Callable[[int], bool], low: int, high: int, guess: int | None = None
) -> int | None:
    """Return the smallest number in ``(low, high]`` that fits, where all above it fit too.

    Args:
        fits: asked about numbers in ``(low, high]`` only; few times where the guess is near.
        low: does not fit.
        high: the largest number looked at.
        guess: where to begin; ``high`` if left out.

    Returns:
        The number, or ``None`` when not even ``high`` fits. Both it and the number before it were
        asked about, unless that is ``low``.
    """
    if high <= low:
        return None
    found = min(max(high if guess is None else guess, low + 1), high)
    stride = 1
    if fits(found):
        while guess is not None and found - stride > low and fits(found - stride):
            found, stride = found - stride, 2 * stride
        low = max(low, found - stride) if guess is not None else low
    else:
        while True:
            low, found = found, min(found + stride, high)
            if found == low:
                return None
            if fits(found):
                break
            stride *= 2
    while found - low > 1:
        middle = (low + found) // 2
        if fits(middle):
            found = middle
        else:
            low = middle
    return found


def rounded(index: int) -> Fraction:
    """Return number ``index`` of those with three significant digits: 1 is number 0, 1.01 is 1."""
    decade, digits = divmod(index, _PER_DECADE)
    return Fraction(100 + digits, 100) * Fraction(10) ** decade


def rounded_index(value: Fraction) -> int:
    """Return the index of the least number of three significant digits that is >= ``value`` > 0."""
    decade = 0
    while value >= 10:
        value, decade = value / 10, decade + 1
    while value < 1:
        value, decade = value * 10, decade - 1
    digits = -(-value.numerator * 100 // value.denominator) - 100
    return decade * _PER_DECADE + digits
