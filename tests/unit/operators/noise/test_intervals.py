"""Intervals hold what they should, whatever rounds, and no more than rounding asks for."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from operators.noise.intervals import Interval

ONE = 8
ANY = [Interval(lo, hi) for lo, hi in product(range(-9, 10, 3), repeat=2) if lo <= hi]
POSITIVE = [Interval(lo, hi) for lo, hi in product((1, 3, 8, 11), repeat=2) if lo <= hi]
CASES = {
    "plus": (ANY, lambda a, b: a.plus(b), lambda x, y: x + y),
    "minus": (ANY, lambda a, b: a.minus(b), lambda x, y: x - y),
    "times": (ANY, lambda a, b: a.times(b, ONE), lambda x, y: x * y),
    "over": (POSITIVE, lambda a, b: a.over(b, ONE), lambda x, y: x / y),
}


@pytest.mark.parametrize("name", CASES)
def test_every_result_lies_between_the_bounds(name):
    """The ends of both numbers are the extremes of every operation; each end rounds outwards."""
    numbers, bounded, exact = CASES[name]
    for a, b in product(numbers, repeat=2):
        found = bounded(a, b)
        ends = product((a.lo, a.hi), (b.lo, b.hi))
        exactly = [exact(Fraction(x, ONE), Fraction(y, ONE)) * ONE for x, y in ends]
        assert found.lo <= min(exactly) < found.lo + 1
        assert found.hi - 1 < max(exactly) <= found.hi


def test_a_fraction_of_a_number_rounds_outwards():
    """Below and above, unless it is whole."""
    for number, by, over in product(ANY, (0, 1, 5, 7), (1, 2, 7)):
        found = number.scaled(by, over)
        assert found.lo <= Fraction(number.lo * by, over) < found.lo + 1
        assert found.hi - 1 < Fraction(number.hi * by, over) <= found.hi
