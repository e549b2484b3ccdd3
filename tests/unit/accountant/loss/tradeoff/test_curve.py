"""Trade-off functions beside every test of finite laws, and their envelopes beside every chord."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from accountant.errors import ArgumentError
from accountant.loss.tradeoff import TradeOff, approximate, gaussian, lower_envelope, pure
from accountant.loss.tradeoff.curve import hull
from tests.support.laws import least_miss, random_law

ONE, ZERO = Fraction(1), Fraction(0)
HALF, QUARTER = ONE / 2, ONE / 4
SIZES = [Fraction(each, 24) for each in range(25)][::3]


def laws(seed, outcomes=4):
    """Return two laws over the same outcomes."""
    rng = random.Random(seed)
    return random_law(rng, outcomes), random_law(rng, outcomes)


@pytest.mark.parametrize("seed", range(12))
def test_no_test_of_two_laws_misses_less(seed):
    """Definition 3: at every size f is the least miss rate, over every event and coin."""
    null, other = laws(seed)
    curve = TradeOff.of_laws(null, other)
    assert [curve(alpha) for alpha in SIZES] == least_miss(null, other, SIZES)
    assert [curve.inverse(alpha) for alpha in SIZES] == least_miss(other, null, SIZES)


def test_rejecting_in_another_order_is_caught():
    """Broken twin: a test that rejects the outcomes as they are listed misses more."""
    null, other = [QUARTER, Fraction(3, 4)], [HALF, HALF]
    assert TradeOff.of_laws(null, other)(QUARTER) == HALF
    listed = 1 - other[1] * QUARTER / null[1]
    assert [listed] > least_miss(null, other, [QUARTER])


@pytest.mark.parametrize(
    "corners",
    [
        ((ZERO, ONE),),
        ((ZERO, ONE), (HALF, Fraction(3, 5)), (ONE, ZERO)),
        ((ZERO, HALF), (HALF, HALF), (ONE, ZERO)),
        ((ZERO, QUARTER), (HALF, HALF), (ONE, ZERO)),
        ((ZERO, ONE), (HALF, ZERO), (ONE, Fraction(1, 8))),
        ((ZERO, Fraction(9, 8)), (ONE, ZERO)),
        ((ZERO, ONE), (ZERO, ZERO), (ONE, ZERO)),
        ((Fraction(1, 8), ONE), (ONE, ZERO)),
    ],
)
def test_what_no_laws_have_is_refused(corners):
    """Proposition 1: convex, falling, at most 1 - alpha."""
    with pytest.raises(ArgumentError):
        TradeOff(corners)


@pytest.mark.parametrize("seed", range(8))
def test_an_envelope_is_the_largest_below_all(seed):
    """Definition 7: it meets the least chord between points of any two of the curves."""
    curves = [TradeOff.of_laws(*laws(10 * seed + at)) for at in range(3)]
    envelope = lower_envelope(curves)
    points = [corner for curve in curves for corner in curve.corners]
    for alpha in SIZES:
        assert all(envelope(alpha) <= curve(alpha) for curve in curves)
        left = [point for point in points if point[0] <= alpha]
        right = [point for point in points if point[0] > alpha]
        chords = [
            low + (high - low) * (alpha - start) / (end - start)
            for start, low in left
            for end, high in right
        ]
        assert envelope(alpha) == min([*chords, *(low for _, low in left)]), alpha


def test_an_envelope_from_above_is_no_trade_off_function():
    """Broken twin: the least of two curves that cross bends the wrong way where they do."""
    curves = [approximate(0, Fraction(1, 5)), pure(1)]
    assert not curves[0].at_least(curves[1])
    assert not curves[1].at_least(curves[0])
    envelope = lower_envelope(curves)
    sizes = {*SIZES, *(size for curve in curves for size, _ in curve.corners)}
    above = tuple((size, min(curve(size) for curve in curves)) for size in sorted(sizes))
    assert any(low > envelope(size) for size, low in above)
    with pytest.raises(ArgumentError):
        TradeOff(above)


@pytest.mark.parametrize("seed", range(8))
def test_delta_and_epsilon_are_those_of_every_event(seed):
    """Delta is the most that an event gains over e^epsilon times its other mass, rounded up."""
    null, other = laws(seed, 4)
    curve = TradeOff.of_laws(null, other)
    for epsilon in (0, 0.25, 1, 3):
        steep = math.exp(epsilon)
        exact = sum(max(0.0, float(q) - steep * float(p)) for p, q in zip(null, other, strict=True))
        delta = curve.delta(epsilon)
        assert math.isclose(delta, exact, abs_tol=1e-14)
        again = curve.epsilon(delta)
        assert again <= epsilon + 1e-9 or delta == 0
        assert curve.delta(again) <= delta
    infinite = any(q and not p for p, q in zip(null, other, strict=True))
    assert math.isinf(curve.epsilon(0)) == infinite


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.25), (0.5, 0.0), (1, 0.125), (3, 1e-6)])
def test_epsilon_and_delta_of_their_own_curve(epsilon, delta):
    """f_(epsilon, delta) has that delta at epsilon, and that epsilon at delta, both rounded up."""
    curve = approximate(epsilon, delta)
    assert delta <= curve.delta(epsilon) <= delta * (1 + 1e-12) + 1e-40
    assert epsilon <= curve.epsilon(delta) <= epsilon + 1e-12
    assert curve.delta(10.0**300) == delta


@pytest.mark.parametrize("epsilon", [0, 0.5, 2])
def test_a_curve_keeps_its_delta_and_none_below(epsilon):
    """It lies above f_(epsilon, delta), in one order of the neighbours or in the other."""
    curve = gaussian(1, 32)

    def keeps(promised):
        curves = (curve, curve.inverse, promised)
        sizes = {corner[0] for each in curves for corner in each.corners}
        return all(max(curve(at), curve.inverse(at)) >= promised(at) for at in sizes)

    delta = Fraction(curve.delta(epsilon))
    assert keeps(approximate(epsilon, delta))
    assert not keeps(approximate(epsilon, Fraction(9, 10) * delta))


def test_rounded_curves_lie_on_their_side():
    """Down for a guarantee, up for what none can pass; a twin the wrong way is caught."""
    third = TradeOff.of_laws([Fraction(1, 3**120), 1 - Fraction(1, 3**120)], [ONE / 7, 6 * ONE / 7])
    low, high = third.rounded(), third.rounded(upwards=True)
    assert low != third != high
    assert third.at_least(low)
    assert high.at_least(third)
    assert not low.at_least(third)
    short = hull([(ZERO, ONE), (QUARTER, QUARTER)])
    assert short.rounded() is short
