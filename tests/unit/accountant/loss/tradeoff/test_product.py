"""Tensor products beside products of laws, exact or between bounds, and twins that understate."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy

from accountant.loss.tradeoff import (
    Between,
    TradeOff,
    approximate,
    identity,
    pure,
    tensor,
    tensor_power,
)
from accountant.loss.tradeoff.curve import hull
from tests.support.laws import product_of, random_law


@cache
def product(seed, factors=3):
    """Return curves of random laws and that of their product, by enumeration."""
    rng = random.Random(seed)
    pairs = [(random_law(rng, 4), random_law(rng, 4)) for _ in range(factors)]
    null, other = [Fraction(1)], [Fraction(1)]
    for p, q in pairs:
        null, other = product_of(null, p), product_of(other, q)
    return tuple(TradeOff.of_laws(*pair) for pair in pairs), TradeOff.of_laws(null, other)


@pytest.mark.parametrize("seed", range(10))
def test_small_products_are_exact(seed):
    """Definition 6: the trade-off function of the joint laws, corner by corner."""
    curves, truth = product(seed)
    assert tensor(curves) == Between(truth, truth)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("pieces", [2, 5, 9])
def test_large_products_lie_between_their_bounds(seed, pieces):
    """With fewer slopes than the product has pieces, the truth is never passed."""
    curves, truth = product(seed)
    found = tensor(curves, pieces)
    assert truth.at_least(found.low)
    assert found.high.at_least(truth)


def test_a_product_that_rounds_the_wrong_way_is_caught():
    """Broken twin: chords are no guarantee, and tangents show nobody's loss."""
    wrong = 0
    for seed in range(10):
        curves, truth = product(seed)
        found = tensor(curves, 5)
        wrong += not truth.at_least(found.high)
        wrong += not found.low.at_least(truth)
    assert wrong == 20


@pytest.mark.parametrize("seed", range(4))
def test_a_minimum_in_place_of_a_product_is_caught(seed):
    """Broken twin: of mechanisms that one row is in, the worst alone is too good."""
    curves, truth = product(seed)
    assert not truth.at_least(hull([corner for curve in curves for corner in curve.corners]))


def test_pure_losses_compose_to_the_exact_mixture():
    """100 mechanisms of 0.1 lose less than 10 for nearly everyone: by the binomial law, to 1e-9."""
    many, epsilon = 100, 0.1
    likely = scipy.stats.binom(many, 1 / (1 + math.exp(-epsilon)))
    lost = epsilon * (2 * np.arange(many + 1) - many)
    found = tensor_power(pure(Fraction(1, 10)), many)
    for loss in (0, 1, 3, 4.77, 8):
        delta = likely.pmf(range(many + 1)) @ np.maximum(0, -np.expm1(loss - lost))
        assert delta * (1 - 1e-9) <= found.low.delta(loss)
        for bound in (found.low, found.high):
            assert math.isclose(bound.delta(loss), delta, rel_tol=1e-6)
    assert math.isclose(found.low.epsilon(0), 10, rel_tol=1e-9)
    assert found.low.epsilon(1e-6) < 4.8


def test_nothing_composes_to_the_identity():
    """No factors make it, and none that fails for sure leaves anything."""
    assert tensor([]) == Between(identity(), identity()) == tensor_power(pure(1), 0)
    assert tensor([approximate(0, 1), pure(1)]).low(0) == 0
