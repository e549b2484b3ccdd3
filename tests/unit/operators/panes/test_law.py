"""The tails of a sum of discrete Laplaces, against the difference of two negative binomials."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from operators.panes import LaplaceSum, LaplaceWalk
from tests.statistical.panes_law import exact_tail

RATES = (Fraction(1, 3), Fraction(2), Fraction(1, 20))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("terms", [1, 2, 3, 7])
def test_bounds_and_floats_are_those_of_the_law(rate, terms):
    """On both sides of zero, from the middle far out, to 40 digits; the bounds are narrow."""
    total, tiny = LaplaceSum(rate, terms), Fraction(1, 10**40)
    at = [-40, -3, 0, 1, 2, 9, 40]
    for each, found in zip(at, total.tails(np.array(at)).tolist(), strict=True):
        low, high = total.tail(each)
        exact = Fraction(exact_tail(rate, terms, max(each, 1 - each)))
        assert low - tiny <= (exact if each > 0 else 1 - exact) <= high + tiny
        assert 0 <= low <= high <= min(1, low + tiny)
        assert found == pytest.approx(float(high), rel=1e-11)


@pytest.mark.parametrize("law", [LaplaceSum, LaplaceWalk])
@pytest.mark.parametrize("j", [1, 2, 8, 40])
def test_tails_fall_with_the_rate_and_grow_with_the_terms(law, j):
    """What bisection, windows that share sharper noise, and panes between looks rely on."""
    half = Fraction(1, 2)
    by_rate = [law(Fraction(n, 10), 4).tail(j) for n in range(1, 15)]
    by_terms = [law(half, n).tail(j) for n in range(1, 15)]
    assert all(a[0] > b[1] for a, b in pairwise(by_rate))
    assert all(a[1] < b[0] for a, b in pairwise(by_terms))
    assert LaplaceWalk(half, 4).tail(j)[0] > LaplaceSum(half, 4).tail(j)[1]


@pytest.mark.parametrize(
    ("rate", "terms", "at"),
    [
        (Fraction(1, 1000), 60, 20_001),
        (Fraction(9, 10), 250, 400),
        (Fraction(30), 12, 3),
        (Fraction(1, 10**9), 3, 10**10),
    ],
)
def test_far_out_the_bounds_hold(rate, terms, at):
    """Deep tails, many terms, fast and slow rates: bounds in order, floats between them."""
    law = LaplaceSum(rate, terms)
    low, high = law.tail(at)
    assert 0 < low <= high
    assert float(high / low) == pytest.approx(1, rel=1e-12)
    found = law.tails(np.array([at, 2**62, -(2**63)])).tolist()
    assert found == [pytest.approx(float(low), rel=1e-9), 0, 1]
