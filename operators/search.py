"""The least whole number that will do, and where a function passes zero; imports no other room."""

from __future__ import annotations

import math
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

    By a line through both ends, moved towards the middle so that both come nearer: a dozen
    questions where the function is smooth, and hardly more than by halving where it is not. Nothing
    of ``scipy.optimize``, which takes longer to import than all else that a plan needs.

    Args:
        rising: asked about numbers between ``low`` and ``high``.
        low: where it is zero or less.
        high: above ``low``; where it is zero or more.

    Source:
        I. F. D. Oliveira, R. H. C. Takahashi: An Enhancement of the Bisection Method Average
        Performance Preserving Minmax Optimality, ACM TOMS 47 (2020); their ITP.
    """
    whole, below, above = high - low, 0.0, 0.0
    reach = whole  # how wide halving leaves it
    while low < (middle := (low + high) / 2) < high:
        at, width = middle, high - low
        if below < 0 < above:
            line = low - below * (width / (above - below))
            moved = math.copysign(0.2 * width * (width / whole), middle - line)
            if abs(moved) < abs(middle - line):
                room, least_step = max(reach - width / 2, 0.0), 2 * math.ulp(line)
                at = middle + min(max(line + moved - middle, -room), room)
                at = min(max(at, low + least_step), high - least_step)
            if not low < at < high:
                at = middle
        reach /= 2
        if (value := rising(at)) < 0:
            low, below = at, value
        else:
            high, above = at, value
    return high
