"""With priors the bracket holds the least entropy, and posteriors keep their bounds."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from accountant.costs.minentropy import min_entropy
from accountant.costs.vertices import VertexSearch
from tests.support.entropies import bounds, in_decimals, over_vertices, term
from tests.unit.accountant.costs.test_minentropy import must_close


def cases(number, seed=31):
    """Costs and unequal priors: spread, repeated, free of charge, very rare."""
    rng = np.random.default_rng(seed)
    for index in range(number):
        k = int(rng.integers(2, 10))
        most = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        epsilons = (
            rng.uniform(0, most, k),
            rng.choice(rng.uniform(0, most, 2), k),
            np.where(rng.random(k) < 0.5, 0.0, most),
        )[index % 3]
        priors = (
            rng.uniform(0.01, 1, k),
            rng.choice([1.0, 2.0, 5.0], k),
            10 ** rng.uniform(-6, 0, k),
            np.where(np.arange(k) < k // 2, 0.7, 0.3),
        )[index % 4]
        if priors.min() < priors.max():
            yield epsilons, priors / priors.sum()


@cache
def enumerated():
    """Return about 300 cases, each with the least entropy over all its vertices."""
    return [(*each, over_vertices(*bounds(*each))) for each in cases(320)]


def test_equals_every_vertex():
    """On cases of up to 9 predicates the value is exact and the bracket closed."""
    for epsilons, priors, exact in enumerated():
        must_close(min_entropy(epsilons, priors=priors), exact)


def test_the_bracket_holds_the_exact_value():
    """The minimum to 50 digits lies within the rounded bracket, also of rare predicates."""
    few = [case for case in cases(60, seed=37) if len(case[0]) <= 5]
    assert len(few) > 15
    rare = (np.array([0.1, 2.0, 0.4]), np.array([1e-90, 1.0, 0.3]))
    for epsilons, priors in [*few, rare]:
        found = min_entropy(epsilons, priors=priors)
        exact = in_decimals(epsilons.tolist(), priors.tolist())
        assert Decimal(found.lower) <= exact <= Decimal(found.upper), (epsilons, priors)


def misprinted(epsilons, priors):
    """The bounds with the paper's misprint."""
    down = priors * np.exp(-epsilons)
    return down / down.sum(), bounds(epsilons, priors)[1]


def test_equal_priors_and_the_misprint_are_caught():
    """Bounds for equal priors, or with the paper's misprint, miss the value nearly always."""
    spread = [one for one in enumerated()[:60] if one[0].max() > 0.05 and np.ptp(one[0]) > 0.01]
    assert len(spread) > 30
    for twin in (lambda epsilons, _: bounds(epsilons), misprinted):
        missed = [
            abs(over_vertices(*twin(e, priors)) - exact) > 1e-9 for e, priors, exact in spread
        ]
        assert sum(missed) > 0.9 * len(spread)


def test_states_of_the_fraction_are_needed(monkeypatch):
    """Without them the search believes in brackets above the minimum."""
    relax = VertexSearch._relax

    def without(search, state, known):
        if state.one < 0:
            relax(search, state, known)

    monkeypatch.setattr(VertexSearch, "_relax", without)
    wrong = 0
    for epsilons, priors, exact in enumerated():
        wrong += min_entropy(epsilons, priors=priors).lower > exact + 1e-9
    assert wrong > 0


def test_posteriors_of_every_output_keep_the_bounds():
    """Of all outputs of random mechanisms; bounds for equal priors are broken by some."""
    rng = np.random.default_rng(33)
    broken = 0
    for epsilons, priors in cases(40, seed=34):
        # Per predicate: a coin of the record's, that its own loss decides how far to trust, with
        # the outputs of all coins together published. Without the record all coins are fair.
        k = len(epsilons)
        outputs = np.array(list(product((0, 1), repeat=k)))
        share = np.exp(-epsilons * rng.uniform(0, 1, k)) / 2
        per_coin = np.where(outputs == 1, share, 1 - share) / 0.5
        assert (abs(np.log(per_coin)) <= epsilons * (1 + 1e-12)).all()
        joint = per_coin * priors
        found = joint / joint.sum(axis=1, keepdims=True)  # Bayes
        low, high = bounds(epsilons, priors)
        assert (found >= low * (1 - 1e-12)).all()
        assert (found <= high * (1 + 1e-12)).all()
        gamma = min_entropy(epsilons, priors=priors)
        assert (term(found).sum(axis=1) >= gamma.lower).all()
        least, most = bounds(epsilons)
        broken += bool(((found < least - 1e-9) | (found > most + 1e-9)).any())
    assert broken > 20


def test_equal_priors_are_as_none():
    """In any scale; and a predicate that is out of the question is one fewer."""
    costs = [0.1, 0.4, 0.4, 0.8]
    expected = min_entropy(costs)
    assert min_entropy(costs, priors=[3, 3, 3, 3]) == expected
    assert min_entropy([*costs, 2.0], priors=iter([Fraction(1, 4)] * 4 + [0])) == expected
    assert min_entropy(costs, priors=[0, 1, 0, 0]).normalised == 1.0
    nearly = min_entropy(costs, priors=1 + np.arange(4) * 1e-9)
    assert nearly.value == pytest.approx(expected.value, abs=1e-7)


def test_nothing_spent_keeps_the_priors():
    """At cost zero the entropy is that of the priors, at unbounded cost nothing is left."""
    priors = [0.5, 0.25, 0.25]
    free = min_entropy([0, 0, 0], priors=priors)
    assert free.lower <= 1.5 * math.log(2) <= free.upper
    assert free.normalised == pytest.approx(1.0)
    spent = min_entropy([800, 900, 1e300], priors=[1e-90, 1, 0.3])
    assert 0 <= spent.lower <= spent.value <= spent.upper < 1e-9


@pytest.mark.parametrize(
    "priors",
    [[], [1], [1, -1], [0, 0], [1, math.nan], [1, math.inf], "12", [10**400, 1], [1, 1e-200], 3],
)
def test_priors_that_are_none_are_refused(priors):
    """Another number of them, negative, no number, all zero, or too far apart."""
    with pytest.raises(ValueError, match="priors are"):
        min_entropy([0.1, 0.2], priors=priors)


def test_a_negative_node_limit_is_refused():
    """A limit below zero is a mistake, not a hurry."""
    for priors in (None, [1, 2]):
        with pytest.raises(ValueError, match="node limit"):
            min_entropy([1, 2], priors=priors, node_limit=-1)
