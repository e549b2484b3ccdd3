"""Boundaries: monotone, within their shares, and tight; single cuts meet the theoretical limit."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.noise.boundaries import Cut, boundaries, finest_cut
from operators.single.tslm import theoretical_limit
from tests.support.boundaries import crossing_bound
from tests.support.formulas import BETA

LEVELS = tuple(map(Fraction, ("1e-5", "0.01", "0.2", "0.5", "1.7")))
ONE = Fraction(1)
EVEN = (ONE,) * 5


def test_shifts_fall_and_spend_the_bound():
    """Finer levels have smaller shifts; what is spent is close to the bound and never above."""
    found = boundaries(LEVELS, BETA, shape=EVEN)
    assert all(coarse >= fine >= 0 for coarse, fine in pairwise(found.shifts))
    assert BETA * Fraction(99, 100) < sum(found.spent) <= BETA
    assert found.spent == crossing_bound(LEVELS, found.shifts)
    assert found.drop == 0


@pytest.mark.parametrize("shape", [EVEN, (Fraction(9), *EVEN[1:])], ids=["even", "uneven"])
def test_no_shift_can_be_less(shape):
    """One step less at any level spends more than its share and those of the finer levels."""
    found = boundaries(LEVELS, BETA, shape=shape)
    for at, (shift, finer) in enumerate(pairwise((*found.shifts, 0))):
        shifts = (*found.shifts[:at], shift - 1, *found.shifts[at + 1 :])
        if shift > finer:
            assert sum(crossing_bound(LEVELS, shifts)[at:]) > BETA * sum(shape[at:]) / sum(shape)


@pytest.mark.parametrize("beta", [BETA, Fraction(1, 10**9)], ids=str)
@pytest.mark.parametrize("rate", [Fraction(1, 100), ONE, Fraction(3)], ids=str)
def test_one_level_is_the_laplace_tail(rate, beta):
    """At q = 1/4-like rates a single shift is the quantile of the discrete Laplace."""
    (shift,) = boundaries([rate], beta, shape=[ONE]).shifts
    q = float(np.exp(-float(rate)))
    assert q ** (shift + 1) / (1 + q) <= float(beta)
    assert shift == 0 or q**shift / (1 + q) > float(beta)


def test_nearly_equal_levels_keep_their_precision():
    """Rates that differ in the sixth digit, tiny and large: hardly anything is spent twice."""
    levels = [Fraction(10**6 + i, 10**12) for i in range(8)] + [ONE, Fraction(30)]
    found = boundaries(levels, BETA, shape=[ONE] * 10)
    assert sum(found.spent) <= BETA
    assert found.shifts[:8] == (found.shifts[7],) * 8
    assert all(0 < spent < Fraction(1, 10**7) for spent in found.spent[:7])


def test_a_chosen_cut_is_kept():
    """A cut within the finest share is used as it is."""
    cut = Cut(2, Fraction(1, 8))
    found = boundaries(LEVELS, BETA, shape=(*EVEN[1:], Fraction(12)), finest=cut)
    assert (found.shifts[-1], found.drop) == (2, Fraction(1, 8))


@pytest.mark.parametrize(("alpha", "beta"), [(BETA, BETA), (Fraction(1, 5), Fraction(1, 100))])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 10, 11, 500])
def test_a_single_cut_meets_the_limit(steps, alpha, beta):
    """With its coin the cut is feasible at the limit, or near it for unequal bounds."""
    limit = theoretical_limit(steps, alpha, beta)

    def feasible(factor):
        t = from_loss_units(round(limit * factor * 10**12))
        return finest_cut(t, steps, alpha, beta) is not None

    assert not feasible(1 - 1e-9)
    assert feasible(1 + 1e-9 if alpha == beta else 1.15)
