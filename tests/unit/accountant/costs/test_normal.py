"""Bounds of the normal law hold it, and are as narrow as was asked for."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from accountant.costs.normal import normal_bounds
from accountant.errors import ArgumentError
from tests.support.normal import MARGIN, normal

DRAWN = random.Random(5)
CASES = [
    *((Fraction(k, 4), 96) for k in range(-36, 37)),
    *((Fraction(DRAWN.randrange(-8 * 10**6, 8 * 10**6), 10**6 + k), 64) for k in range(60)),
    *((Fraction(k, 7), bits) for k in (-40, -1, 1, 40) for bits in (1, 8, 130)),
]


def outside(x, bits, bounds):
    """Tell whether Phi(x) certainly lies outside its bounds."""
    exact, wide = normal(x) * 2**bits, MARGIN * 2**bits
    return exact + wide < bounds[0] or exact - wide > bounds[1]


@pytest.mark.parametrize(("x", "bits"), CASES)
def test_the_bounds_hold_the_normal_law(x, bits):
    """Both sides, and no more than three units apart."""
    lo, hi = normal_bounds(x, bits)
    assert not outside(x, bits, (lo, hi))
    assert hi - lo <= 3


def test_narrower_bounds_are_caught():
    """Twins that leave out the last rounding, or the first power, miss the law somewhere."""
    tight = [(x, 96, normal_bounds(x, 96)) for x, bits in CASES if bits == 96]
    assert any(outside(x, bits, (lo, lo)) for x, bits, (lo, _) in tight)
    assert any(outside(x, bits, (hi, hi)) for x, bits, (_, hi) in tight)


def test_far_out_it_is_nearly_0_or_1():
    """No series is added up where the tail is less than a unit."""
    one = 1 << 64
    assert normal_bounds(Fraction(1_000), 64) == (one - 1, one)
    assert normal_bounds(Fraction(-1_000), 64) == (0, 1)


def test_no_bits_are_refused():
    """There is nothing to say then."""
    with pytest.raises(ArgumentError):
        normal_bounds(Fraction(1), 0)
