"""``tight`` by its table: what it loses, and that no other decider does better."""

import math
from fractions import Fraction

import numpy as np
import pytest

from operators.deciders import (
    Count,
    ExponentialBand,
    LaplaceBand,
    Quantile,
    Sum,
    TightBand,
)
from tests.statistical.deciders_law import HALF, multisets, quantile_within, rows_of
from tests.statistical.enumeration import (
    ONE,
    exp_bounds,
    loss_violations,
)

KINDS = [Count(), Count(3), Sum(0, 7), Sum(-4, 2, 2)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
@pytest.mark.parametrize("boundary", [None, Fraction(1, 20)])
def test_tight_loses_at_most_its_charge(kind, epsilon, boundary):
    """In exact integers, no neighbours of ``tight`` lose more than the charge, and some do."""
    band = TightBand.planned(kind, epsilon, 9, boundary)

    def law(statistics):
        return band.law(statistics[np.newaxis], np.full(statistics.size, 60))

    statistics = np.arange(-2000, 2000)
    assert not loss_violations(law, statistics, kind.sensitivity, epsilon)
    assert loss_violations(law, statistics, kind.sensitivity, epsilon * Fraction(999, 1000))
    assert loss_violations(law, statistics, kind.sensitivity + 1, epsilon)


def test_tight_beats_em_and_lm_everywhere():
    """With the same error just outside, ``tight`` errs less at every other distance."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(5, 2)):
        for tau in (1, 2, 7, 30):
            for other in (
                LaplaceBand.planned(Count(), epsilon, tau),
                ExponentialBand.planned(Count(), epsilon, tau),
            ):
                same = Fraction(other.error(tau))
                tight = TightBand.planned(Count(), epsilon, tau, same)
                for distance in range(4 * tau + 20):
                    assert tight.error(distance) <= other.error(distance) * (1 + 1e-9) + 2**-63


def test_tight_reaches_what_no_decider_can_pass():
    """Between the miss just outside and the centre lies the extremal curve: exact powers."""
    band = TightBand.planned(Count(), Fraction(1, 5), 20, HALF)
    assert band.error(0) == pytest.approx(math.exp(-4) / 2, rel=1e-9)
    assert band.error(40) == pytest.approx(math.exp(-4) / 2, rel=1e-9)


def units_to(data, outside, values, most):
    """Return how many events have to be added or removed until a cell is outside, or most + 1."""
    front = {data}
    for step in range(most + 1):
        if any(outside(each) for each in front):
            return step
        added = {tuple(sorted((*each, value))) for each in front for value in values}
        front = added | {each[:at] + each[at + 1 :] for each in front for at in range(len(each))}
    return most + 1


def test_steps_are_the_units_that_must_change_for_counts_and_medians():
    """So no decider is better inside; for sums the data may be further from the end than steps."""
    count = TightBand.planned(Count(), Fraction(1), 3)
    for number in range(3, 8):
        found = units_to((1,) * number, lambda d: abs(len(d) - 5) >= 3, range(1, 2), 4)
        assert count.steps(rows_of(count, (1,) * number, 5), np.array([5]))[0] == -found
    kind = Quantile(HALF, range(3))
    for tau, reference in ((1, 1), (1, 0), (2, 2)):
        band = TightBand.planned(kind, Fraction(1), tau)

        def left(data, tau=tau, reference=reference):
            return not quantile_within(data, HALF, reference, tau)

        for data in multisets(range(3), 4):
            step = int(band.steps(rows_of(band, data, reference), np.array([reference]))[0])
            if -3 <= step < 0:
                assert units_to(data, left, range(3), 3) == -step
    total = TightBand.planned(Sum(0, 7), Fraction(1), 13)
    assert total.steps(rows_of(total, (1,) * 10, 18), np.array([18]))[0] == -1
    assert units_to((1,) * 10, lambda d: abs(sum(d) - 18) >= 13, range(8), 2) == 3


def test_the_default_boundary_makes_the_largest_error_least():
    """No decider has both errors below 1 / (1 + exp(epsilon)); this one has them two units above.

    One unit is 2^-64. A boundary rounded down would lack that unit e^epsilon times just inside.
    """
    for epsilon in [Fraction(n, 4) for n in range(1, 200)] + [Fraction(4367, 100), Fraction(100)]:
        band = TightBand.planned(Count(), epsilon, 1)
        inside = int(band.probabilities[-1 - band.lowest])
        outside = ONE - int(band.probabilities[-band.lowest])
        lo, hi = exp_bounds(epsilon)
        assert max(inside, outside) <= ONE / (1 + lo) + 2
        assert max(inside, outside) >= ONE / (1 + hi)
