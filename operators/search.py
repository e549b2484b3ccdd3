"""Looking for numbers: the least that will do, of three digits, where a function passes zero.

Imports no other room.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "index_within",
    "largest",
    "least",
    "passing_zero",
    "rounded",
    "rounded_index",
    "smallest",
]

_PER_DECADE = 900


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
    return largest(lambda middle: not fits(middle), low, high - 1) + 1


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
