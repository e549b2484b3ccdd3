"""``tight`` by its table: what it loses, and that no other decider does better."""

import math
from fractions import Fraction

import numpy as np
import pytest

from operators.deciders import (
    Count,
    Quantile,
    Sum,
    TightBand,
)
from tests.statistical.deciders_law import HALF, inside, multisets, rows_of, step
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


def test_tight_reaches_what_no_decider_can_pass():
    """Between the miss just outside and the centre lies the extremal curve: exact powers."""
    band = TightBand.planned(Count(), Fraction(1, 5), 20, HALF)
    assert band.error(0) == pytest.approx(math.exp(-4) / 2, rel=1e-9)
    assert band.error(40) == pytest.approx(math.exp(-4) / 2, rel=1e-9)


def units_to(data, outside, values, most):
    """Return how many events have to be added or removed until a cell is outside, or most + 1."""
    front = {data}
    for changed in range(most + 1):
        if any(map(outside, front)):
            return changed
        added = {tuple(sorted((*each, value))) for each in front for value in values}
        front = added | {each[:at] + each[at + 1 :] for each in front for at in range(len(each))}
    return most + 1


MEDIAN, ONES = Quantile(HALF, range(3)), [(1,) * number for number in range(3, 8)]
CHANGED = [
    (Count(), 5, 3, range(1, 2), ONES),
    *((MEDIAN, at, tau, range(3), multisets(range(3), 4)) for at, tau in ((1, 1), (0, 1), (2, 2))),
]


@pytest.mark.parametrize(("kind", "reference", "tau", "values", "datasets"), CHANGED, ids=str)
def test_steps_are_the_units_that_must_change(kind, reference, tau, values, datasets):
    """So no decider is better inside, for counts and medians."""
    band = TightBand.planned(kind, Fraction(1), tau)
    steps = {data: -step(band, rows_of(band, data, reference), reference) for data in datasets}
    near = {data: far for data, far in steps.items() if 0 < far < 4}

    def outside(data):
        return not inside(kind, data, reference, tau)

    assert {data: units_to(data, outside, values, 3) for data in near} == near != {}


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
