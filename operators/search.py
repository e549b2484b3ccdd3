"""The least whole number that will do, and where a function passes zero; imports no other room."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["least", "passing_zero"]


def least(fits: Callable[[int], bool], low: int, guess: int) -> int:
    """Return the least number above ``low`` that fits, where all above it do.

    Args:
        fits: asked about numbers above ``low`` only; few times where the guess is near.
        low: does not fit.
        guess: where to begin, above ``low``.
    """
    high, stride = guess, 1
    if fits(high):
        while high - stride > low and fits(high - stride):
            high, stride = high - stride, 2 * stride
        low = max(low, high - stride)
    else:
        while True:
            low, high, stride = high, high + stride, 2 * stride
            if fits(high):
                break
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def passing_zero(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function passes zero, to the last bit of a float.

    By halving: some sixty questions, and nothing of ``scipy.optimize``, which takes longer to
    import than all else that a plan needs.

    Args:
        rising: asked about numbers between ``low`` and ``high``.
        low: where it is zero or less.
        high: above ``low``; where it is zero or more.
    """
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high
