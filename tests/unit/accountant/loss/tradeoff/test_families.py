"""Trade-off functions of known noise, beside the noise's own law and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import pytest
import scipy

from accountant.errors import ArgumentError
from accountant.loss.rounding import exp_bounds, float_up, log_bounds, normal_bounds
from accountant.loss.tradeoff import (
    TradeOff,
    approximate,
    discrete_laplace,
    gaussian,
    identity,
    laplace,
    pure,
    tensor,
    tensor_power,
)
from tests.support.normal import MARGIN, normal

EPSILONS = (0, 0.25, 1, 2.5)
HALF, ONE, ZERO = Fraction(1, 2), Fraction(1), Fraction(0)


def gaussian_delta(mu, epsilon):
    """Return the delta of two normals a distance of mu apart, in floats."""
    cdf = scipy.special.ndtr
    return float(cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * cdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("x", [-3, -1, 0, 1, 4])
def test_bounds_hold_and_are_close(x):
    """The law by another way lies inside, and bounds on both sides are nearly one."""
    root_of_e = Fraction("1.6487212707001281468486507878141635716537761007101480115750793116")
    for (low, high), known in (
        (exp_bounds(HALF), root_of_e),
        (log_bounds(root_of_e), HALF),
        (normal_bounds(Fraction(x)), normal(Fraction(x))),
    ):
        assert low - MARGIN <= known <= high + MARGIN
        assert 0 <= high - low < Fraction(1, 10**50)


@pytest.mark.parametrize("x", [-31.0, -20.0, -8.5, 31.0])
def test_bounds_far_out_are_shares(x):
    """Also where the series that they come from is long."""
    low, high = normal_bounds(Fraction(x))
    assert 0 <= low <= high <= 1
    assert math.isclose(low, scipy.special.ndtr(x), rel_tol=1e-12, abs_tol=1e-30)


def test_a_series_that_is_cut_short_is_caught():
    """Broken twin: without what is left of the series, the upper bound is none."""
    x = Fraction(3)
    terms = list(accumulate(range(3, 21, 2), lambda term, odd: term * x * x / odd, initial=x))
    density = exp_bounds(-x * x / 2)[1] * Fraction("0.398942280401432677940")
    assert HALF + sum(terms) * density < normal_bounds(x)[0]


def test_floats_are_rounded_up():
    """No float below is given for a rational."""
    assert Fraction(float_up(Fraction(1, 3))) > Fraction(1, 3)
    assert float_up(Fraction(1, 4)) == 0.25
    assert math.isinf(float_up(Fraction(10**400)))


@pytest.mark.parametrize("mu", [0.125, 1, 3])
def test_gaussian_polygons_lie_just_below_the_curve(mu):
    """Definition 5's closed form, at sizes and as deltas: never passed, and nearly met."""
    curve = gaussian(Fraction(mu), 96)
    for alpha in (0.001, 0.05, 0.3, 0.5, 0.8, 0.99):
        truth = scipy.special.ndtr(scipy.special.ndtri(1 - alpha) - mu)
        assert truth - 4e-3 < curve(alpha) <= truth * (1 + 1e-12)
    for epsilon in EPSILONS:
        delta = gaussian_delta(mu, epsilon)
        assert delta * (1 - 1e-9) - 1e-15 <= curve.delta(epsilon) <= delta + 4e-3


def test_a_gaussian_through_its_points_is_caught():
    """Broken twin: chords of the curve in place of its tangents promise too little delta."""
    sizes = [scipy.special.ndtr(at / 4 - 4) for at in range(33)]
    points = [
        (Fraction(size), Fraction(scipy.special.ndtr(-scipy.special.ndtri(size) - 1)))
        for size in sizes
    ]
    chords = TradeOff(((ZERO, ONE), *points, (ONE, ZERO)))
    assert chords.delta(0.3) < gaussian_delta(1, 0.3) * (1 - 1e-6)


@pytest.mark.parametrize(("rate", "steps"), [(HALF, 1), (Fraction(1, 3), 3), (1, 8)])
def test_discrete_laplace_is_its_enumerated_law(rate, steps):
    """Outcomes one by one, with all far ones together: the same curve to 1e-12, and below."""
    fall, reach = math.exp(-rate), 80

    def law(centre):
        masses = [Fraction(fall ** abs(at - centre)) for at in range(-reach, reach + steps + 1)]
        ends = Fraction(1 / (1 - fall))
        masses = [masses[0] * ends, *masses[1:-1], masses[-1] * ends]
        return [mass / sum(masses) for mass in masses]

    enumerated = TradeOff.of_laws(law(0), law(steps))
    curve = discrete_laplace(rate, steps)
    for alpha in (0, 0.01, 0.1, 0.25, 0.5, 0.9, 1):
        assert math.isclose(curve(alpha), enumerated(alpha), abs_tol=1e-12)
    assert curve.at_least(pure(rate * steps + Fraction(1, 10**20)))
    assert math.isclose(curve.epsilon(0), rate * steps)


def test_laplace_polygons_lie_just_below_the_curve():
    """The closed form 1 - exp((x - epsilon) / 2) of the divergence, never passed."""
    for epsilon in (0.125, 1, 4):
        curve = laplace(epsilon, 64)
        assert curve.epsilon(0) >= epsilon
        assert math.isclose(curve.epsilon(0), epsilon, rel_tol=1e-12)
        for at in (0, 0.1, 0.9):
            delta = 1 - math.exp((at - epsilon) / 2)
            assert max(delta, 0) - 1e-15 <= curve.delta(at) <= max(delta, 0) + 4e-3


def test_the_ends_of_every_family():
    """Nothing lost is the identity, everything failing is worth nothing, and more is less."""
    assert identity() == pure(0) == gaussian(0) == laplace(0) == approximate(0, 0)
    assert approximate(1, 1)(0) == 0
    for one, other in (
        (pure(1), pure(2)),
        (laplace(1, 32), pure(1.001)),
        (gaussian(1, 32), gaussian(2, 32)),
    ):
        assert one.at_least(other)
        assert not other.at_least(one)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pure(-1),
        lambda: pure(501),
        lambda: approximate(1, 2),
        lambda: gaussian(21),
        lambda: discrete_laplace(0),
        lambda: discrete_laplace(1, 0),
        lambda: pure(1)(2),
        lambda: pure(1).epsilon(2),
        lambda: TradeOff.of_laws([ONE], [HALF]),
        lambda: tensor_power(pure(1), -1),
        lambda: tensor([pure(1)], 1),
        lambda: tensor_power(pure(1), 2, 5_000),
    ],
)
def test_what_means_nothing_is_refused(call):
    """Numbers outside their ranges, laws that are none, powers below 0, and too few slopes."""
    with pytest.raises(ArgumentError) as refused:
        call()
    assert refused.value.hint
