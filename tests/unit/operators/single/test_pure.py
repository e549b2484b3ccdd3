"""What a pure loss costs a Gaussian budget: never less than it takes, and hardly more."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from accountant.loss.gaussian import delta_bounds
from accountant.units import UNITS_PER_EPSILON, to_loss_units
from operators.single.pure import gaussian_units
from tests.statistical.enumeration import exp_bounds
from tests.support.normal import MARGIN, quantile

DRAWN = random.Random(7)
CASES = [
    *(Fraction(1, 10**k) for k in range(1, 6)),
    *(Fraction(k, 4) for k in range(1, 21)),
    *(Fraction(DRAWN.randrange(1, 10**7), 10**6) for _ in range(20)),
    *(Fraction(k) for k in (12, 20, 30, 40)),
]


def least(epsilon):
    """Return mu^2 / 2 of randomised response, by another computation of the normal law."""
    mu = -2 * quantile(1 / (1 + exp_bounds(epsilon)[0]))
    return mu**2 / 2 * UNITS_PER_EPSILON


def wrong(epsilon, units):
    """Tell whether a price is certainly too low, or more than a unit and a half too high."""
    return not Fraction(-1, 1000) <= units - least(epsilon) <= Fraction(3, 2)


@pytest.mark.parametrize("epsilon", CASES)
def test_the_price_is_the_least_that_will_do(epsilon):
    """In whole units, rounded up; and the coin of randomised response is no further apart."""
    assert not wrong(epsilon, gaussian_units(epsilon))


def test_other_prices_are_caught():
    """A unit less, epsilon^2 / 2, which holds for another kind of privacy, and 4 epsilon."""
    for cheap in (
        lambda epsilon: gaussian_units(epsilon) - 1,
        lambda epsilon: to_loss_units(epsilon**2 / 2),
        lambda epsilon: to_loss_units(4 * epsilon),
    ):
        assert any(wrong(epsilon, cheap(epsilon)) for epsilon in CASES)


@pytest.mark.parametrize("epsilon", CASES[:12])
def test_randomised_response_keeps_the_curve_of_its_price(epsilon):
    """At every other epsilon: its one event, in closed form, and met where it is the vertex."""
    grown, units = exp_bounds(epsilon)[0], gaussian_units(epsilon)
    p, q = grown / (1 + grown), 1 / (1 + grown)
    for part in (Fraction(0), Fraction(1, 3), Fraction(2, 3), Fraction(9, 10)):
        delta = max(p - exp_bounds(part * epsilon)[1] * q, Fraction(0))
        assert delta <= delta_bounds(part * epsilon, units)[1] + MARGIN
    if epsilon > Fraction(1, 100):
        assert p - q > delta_bounds(Fraction(0), units * 99 // 100)[1]


def test_nothing_costs_nothing_and_much_is_bounded():
    """Beyond an epsilon of 100 the bound of all tails stands in, which is above what it takes."""
    assert gaussian_units(Fraction(0)) == 0
    assert gaussian_units(Fraction(1, 10**12)) == 1
    assert gaussian_units(Fraction(100)) < gaussian_units(Fraction(101)) == 404 * UNITS_PER_EPSILON
    assert gaussian_units(Fraction(100)) > 380 * UNITS_PER_EPSILON
