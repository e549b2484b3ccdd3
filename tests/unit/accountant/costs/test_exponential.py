"""Bounds of ``exp(-t)`` hold ``exp(-t)``, and are as narrow as was asked for."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from accountant.costs.exponential import _exp_neg_interval, exp_neg_bounds

DRAWN = random.Random(7)
CASES = [
    *((Fraction(k, 10), 64) for k in range(1, 200, 3)),
    *((Fraction(1, 10**k), bits) for k in range(1, 40, 5) for bits in (1, 17, 128)),
    *((Fraction(DRAWN.randrange(1, 10**30), 10**29 + k), 1 << k % 9) for k in range(200)),
]


def enclosed(t, bits):
    """Return rationals around ``2^bits exp(-t)``, closer than any interval under test: as 1/e^t.

    The terms of e^t are exact fractions and positive; from twice t on each is less than half of
    the one before it, so that what is left out is less than the last one.
    """
    term = total = Fraction(1)
    order = 0
    while order <= 2 * t or term > Fraction(1, 2 ** (bits + 60)):
        order += 1
        term = term * t / order
        total += term
    return 2**bits / (total + term), 2**bits / total


def unwidened(t, bits):
    """Return what the sum alone says: the mistake of taking rounded terms for exact ones."""
    work = bits + 8
    point = (t.numerator << work) // t.denominator
    term = total = 1 << work
    order = 0
    while term:
        order += 1
        term = (term * point >> work) // order
        total += -term if order % 2 else term
    return total >> 8, -(-total >> 8)


def holds(interval):
    """Tell whether every interval holds what it should, and is at most a few units wide."""
    for t, bits in CASES:
        low, high = interval(t, bits)
        least, most = enclosed(t, bits)
        if not (low <= least and most <= high and high - low <= 4):
            return False
    return True


def test_intervals_hold_what_they_bound():
    """Of small and large t, of round and of long fractions."""
    assert holds(_exp_neg_interval)
    assert holds(exp_neg_bounds)


@pytest.mark.parametrize("twin", [unwidened, lambda t, bits: (exp_neg_bounds(t, bits)[0],) * 2])
def test_bounds_that_are_none_are_caught(twin):
    """Rounded terms taken for exact, and a lower bound taken for both."""
    assert not holds(twin)
