"""Walls of Gaussian promises: the largest that keep them, and no larger."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from accountant.errors import ArgumentError
from accountant.loss.gaussian import Gaussian, delta_bounds, mu_of
from accountant.units import UNITS_PER_EPSILON
from tests.support.normal import MARGIN, least_delta

MILLIONTH = Fraction(1, 10**6)
PROMISES = [
    Gaussian(Fraction(epsilon), delta)
    for epsilon in ("0.01", "1", "4", "20", "60")
    for delta in (MILLIONTH, Fraction(1, 1000), Fraction(1, 10**12))
]


def keeps(promise, units):
    """Tell by another computation whether a wall keeps a promise."""
    return least_delta(promise.epsilon, mu_of(units)) <= promise.delta


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each.text)
def test_a_wall_is_the_largest_that_keeps_its_promise(promise):
    """A few units more break it, by another computation; so do walls of broken conversions."""
    units = promise.wall_units
    assert keeps(promise, units)
    assert not keeps(promise, units + 2)
    lo, hi = delta_bounds(promise.epsilon, units)
    exact = least_delta(promise.epsilon, mu_of(units))
    assert lo - MARGIN <= exact <= hi + MARGIN
    # Twins: rho taken for mu, mu for mu^2, and the tail without e^epsilon's part of it.
    assert not keeps(promise, 2 * units)
    assert not keeps(promise, int(UNITS_PER_EPSILON * mu_of(units))) or mu_of(units) > 2


def test_mu_is_rounded_up():
    """By less than 2^-95."""
    for units in (1, 2, 10**6, 3 * 10**12, 10**14):
        rho, mu = Fraction(units, UNITS_PER_EPSILON), mu_of(units)
        assert (mu - Fraction(1, 2**95)) ** 2 / 2 < rho <= mu**2 / 2
    assert mu_of(0) == 0


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each.text)
def test_what_is_shown_of_a_wall_is_its_epsilon(promise):
    """What was spent in full is the epsilon that was written; half of it is less, and 0 nothing."""
    assert promise.epsilon_of(promise.wall_units) == pytest.approx(float(promise.epsilon), rel=1e-5)
    assert promise.epsilon_of(promise.wall_units // 2) < float(promise.epsilon)
    assert promise.epsilon_of(0) == 0


def test_the_epsilon_that_is_needed_is_enough_and_least():
    """To four decimals."""
    promise = Gaussian(Fraction(1), MILLIONTH)
    for units in (1, 10**9, 10**11, 4_635_458_557_920):
        needed = promise.needed(units)
        assert Gaussian(needed, MILLIONTH).wall_units >= units
        less = needed - Fraction(1, 10_000)
        assert less == 0 or Gaussian(less, MILLIONTH).wall_units < units


def test_a_text_is_read_as_what_it_was_written_of():
    """And nothing else is."""
    promise = Gaussian(Fraction(7, 2), MILLIONTH)
    assert promise.text == "gdp epsilon=7/2 delta=1/1000000"
    assert Gaussian.read(promise.text) == promise
    assert Gaussian.read(None) is None
    for text in ("", "pure", "gdp epsilon=7/0 delta=1/10", promise.text + " "):
        with pytest.raises(ArgumentError):
            Gaussian.read(text)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("0", "1e-6"), ("101", "1e-6"), ("4", "0.01"), ("4", "0"), ("4", "1e-19")],
)
def test_promises_that_mean_nothing_are_refused(epsilon, delta):
    """A delta of one in a hundred publishes one person in a hundred."""
    with pytest.raises(ArgumentError):
        Gaussian(Fraction(epsilon), Fraction(Decimal(delta)))


def test_losses_out_of_range_are_refused():
    """No loss has no delta to bound, and an epsilon is not below 0."""
    for epsilon, units in ((Fraction(-1), 1), (Fraction(1), 0), (Fraction(101), 1)):
        with pytest.raises(ArgumentError):
            delta_bounds(epsilon, units)
