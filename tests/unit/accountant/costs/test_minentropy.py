"""The bracket of the min-entropy holds the minimum over every vertex, and closes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product
from operator import gt, lt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.costs import vertices
from accountant.costs.minentropy import NODE_LIMIT, min_entropy, min_entropy_levels
from tests.support.entropies import bounds, in_decimals, over_counts, over_vertices, term

CLOSE = 1e-9


def misprinted_bounds(epsilons):
    """Bounds as section 5 of the paper prints them."""
    down = np.exp(-epsilons)
    return down / down.sum(), np.exp(epsilons) / down.sum()


def algorithm_5(low, high, better=lt):
    """MIDE's Algorithm 5 as printed, which keeps the solution of lower entropy."""

    def solve(size, slack):
        if size == 1:
            return [float(low[0]) + slack]
        last, room = size - 1, high - low
        most = min(float(room[last]), slack)
        first = [*solve(last, slack - most), float(low[last]) + most]
        others = min(float(room[:last].sum()), slack)
        second = [*solve(last, others), float(low[last]) + slack - others]
        return first if better(entropy(first), entropy(second)) else second

    def entropy(p):
        return float(term(np.maximum(p, 0.0)).sum())

    return entropy(solve(len(low), float(1 - low.sum())))


def cases(number, *, largest, seed=20):
    """Costs of many shapes: spread, repeated, with zeros, huge, tiny, equal but for rounding."""
    rng = np.random.default_rng(seed)
    for index in range(number):
        k = int(rng.integers(1, largest + 1))
        yield (
            rng.uniform(0, 2, k),
            rng.choice(rng.uniform(0, 1.5, 3), k),
            rng.exponential(3, k),
            np.where(rng.random(k) < 0.5, 0.0, rng.uniform(0, 1, k)),
            10 ** rng.uniform(-6, 1.5, k),
            rng.uniform(0, 0.3, k),
            rng.choice(rng.uniform(0, 1, 3), k) * (1 + rng.integers(-3, 4, k) * 2.0**-52),
            10 ** rng.uniform(-16, -10, k),
        )[index % 8]


def agrees(solver, epsilons):
    """Tell whether a solver finds the least entropy over the vertices."""
    return abs(solver(epsilons) - over_vertices(*bounds(epsilons))) < 1e-11


@pytest.mark.long
def test_equals_every_vertex():
    """On 500 cases of up to 12 predicates the value is exact and the bracket closed around it."""
    for epsilons in cases(500, largest=12):
        found = min_entropy(epsilons)
        exact = over_vertices(*bounds(epsilons))
        assert abs(found.value - exact) < 1e-11, epsilons
        assert found.lower <= exact + 1e-15, epsilons
        assert exact - 1e-15 <= found.upper, epsilons
        assert found.upper - found.lower < CLOSE, epsilons
        assert found.predicates == len(epsilons)


@pytest.mark.parametrize(
    "twin",
    [
        lambda e: over_vertices(*misprinted_bounds(e)),
        lambda e: algorithm_5(*bounds(np.sort(e)), better=gt),
    ],
    ids=["misprint", "higher"],
)
def test_the_papers_errors_are_caught(twin):
    """The misprinted bound and the higher of Algorithm 5's two solutions fail the same check."""
    # Equal costs of nothing leave one posterior only, which both get right.
    spread = [e for e in cases(60, largest=7) if len(set(e)) > 1 and 0.05 < e.max() < 2]
    assert len(spread) > 15
    assert sum(agrees(twin, epsilons) for epsilons in spread) < len(spread) / 10


def test_equals_the_papers_algorithm():
    """Algorithm 5 with the lower entropy finds the same minimum."""
    for epsilons in cases(60, largest=9, seed=21):
        expected = algorithm_5(*bounds(np.sort(epsilons)))
        assert min_entropy(epsilons).value == pytest.approx(expected, abs=1e-11), epsilons


def test_levels_equal_every_vertex():
    """With up to 13 predicates on each of up to 4 levels the value is exact and closed."""
    rng = np.random.default_rng(22)
    for _ in range(60):
        levels = rng.uniform(0, rng.choice([0.05, 0.5, 3.0]), int(rng.integers(2, 5)))
        counts = rng.integers(1, 14, len(levels))
        found = min_entropy_levels(levels, counts)
        exact = over_counts(levels, counts)
        assert found.lower <= exact + 1e-14
        assert exact - 1e-14 <= found.upper
        assert found.upper - found.lower < CLOSE


def test_the_bound_from_remainders(monkeypatch):
    """It is below the minimum, in use, and fails when one per cent up; without it all closes."""
    rng = np.random.default_rng(23)
    remainder, returned = vertices._remainder, [0.0]

    def aside(box, split, rest):  # the search caps it at the best vertex
        returned.append(remainder(box, split, rest))
        return 0.0

    used = caught = 0
    for _ in range(40):
        epsilons = rng.uniform(0, rng.choice([0.5, 1.0, 1.5]), int(rng.integers(12, 17)))
        exact = over_vertices(*bounds(epsilons))
        first = min_entropy(epsilons, node_limit=0)
        assert first.nodes == 0
        assert first.lower <= exact <= first.upper
        returned[:] = [0.0]
        with monkeypatch.context() as patched:
            patched.setattr(vertices, "_remainder", aside)
            chords = min_entropy(epsilons, node_limit=0).lower
        assert chords + returned[-1] <= exact
        used += returned[-1] > CLOSE
        caught += chords + 1.01 * returned[-1] > exact
    assert used >= 20
    assert caught >= 5
    monkeypatch.setattr(vertices, "_remainder", lambda *_: 0.0)
    plain = min_entropy(np.linspace(0, 1, 15))
    assert plain.upper - plain.lower < CLOSE


@pytest.mark.parametrize(
    "epsilons",
    [
        [0.1, 0.5, 1.0],
        [0.2, 0.4, 1.0],
        [0.0, 0.0, 0.0],
        [1e-14, 2e-14, 1e-15],
        [3.0, 3.0, 3.0, 3.0],
        [0.3, 0.1 + 0.2, 0.1, 0.7, 0.7],
        [40.0, 1.0, 0.0],
        [1000.0, 1000.0, 0.0],
        [1000.0, 0.25, 0.5, 0.125],
        [0.0, 0.0, 0.0, 0.0, 0.0, 2.0],
        [0.9, 0.85, 0.8, 0.3, 0.2, 0.1],
        *cases(60, largest=5, seed=24),
    ],
)
def test_the_bracket_holds_the_exact_value(epsilons):
    """The minimum to 50 digits lies within the rounded bracket."""
    found = min_entropy(epsilons)
    assert Decimal(found.lower) <= in_decimals(list(epsilons)) <= Decimal(found.upper)
    assert found.upper - found.lower < 1e-11


def test_levels_of_an_alarm_are_exact():
    """544 predicates on 4 levels and 100,000 on 12 close with few states."""
    for levels, counts in (
        ([0.1, 0.3, 0.7, 1.2], [136] * 4),
        ([0.05, 0.1, 0.2, 0.4], [400, 100, 34, 10]),
        (np.linspace(0.1, 1.5, 12), [8333] * 11 + [8337]),
        (0.05 * 1.4 ** np.arange(12), [50_000, 25_000, 12_500, 6_250, 3_125, 1_563, *([260] * 6)]),
    ):
        found = min_entropy_levels(levels, counts)
        assert found.upper - found.lower < CLOSE
        assert found.nodes <= 2_000
        assert found == min_entropy(np.repeat(levels, counts))


def test_costs_equal_but_for_rounding_close():
    """Levels a few last bits apart, as sums in another order leave them, cost no precision."""
    for levels, counts in (
        ([0.3, 0.1 + 0.2, 0.7], [40_000, 10_000, 50_000]),
        ([5.0, 5.0 * (1 + 2.0**-51)], [733_859, 13_021]),
        (0.2 * (1 + np.arange(6) * 2.0**-52), [288, 1, 437, 3, 44, 572]),
    ):
        found = min_entropy_levels(levels, counts)
        assert found.upper - found.lower < CLOSE
        alike = min_entropy_levels([round(float(level), 9) for level in levels], counts)
        assert found.value == pytest.approx(alike.value, abs=1e-10)


@pytest.mark.parametrize("most", [0.05, 0.5, 1.0, 2.0, 5.0, 50.0])
def test_distinct_costs_leave_a_narrow_bracket(most):
    """5,000 random costs, all distinct, leave less than 1e-4."""
    found = min_entropy(np.random.default_rng(25).uniform(0, most, 5_000))
    assert found.upper - found.lower < 1e-4
    assert found.nodes * 5_000 <= NODE_LIMIT


def narrowed(epsilons, limits, priors=None):
    """Return the last of brackets that are true, meet, and narrow as the limit of nodes rises."""
    brackets = [min_entropy(epsilons, priors=priors, node_limit=limit) for limit in limits]
    for found, limit in zip(brackets, limits, strict=True):
        assert found.nodes * len(epsilons) <= limit
        assert found.lower <= found.value <= found.upper
    assert max(b.lower for b in brackets) <= min(b.upper for b in brackets)
    widths = [b.upper - b.lower for b in brackets]
    assert widths == sorted(widths, reverse=True)
    return brackets[-1]


@pytest.mark.timeout(600)
def test_hard_costs_stop_at_the_node_limit():
    """20 to 200 distinct costs: any limit keeps a true bracket, the same every time."""
    rng = np.random.default_rng(26)
    for k, most in product((20, 60, 100, 200), (0.2, 1.0, 3.0)):
        epsilons = rng.uniform(0, most, k)
        last = narrowed(epsilons, (0, 1, 300, 5_000, NODE_LIMIT))
        assert last.upper - last.lower < (CLOSE if k == 20 else 1e-3)
        assert min_entropy(rng.permutation(epsilons)) == last


@given(st.lists(st.floats(0, 4), min_size=1, max_size=8), st.data())
def test_more_cost_never_leaves_more_uncertainty(costs, data):
    """Raising one cost widens every bound, so the minimum cannot rise."""
    before = min_entropy(costs)
    costs[data.draw(st.integers(0, len(costs) - 1))] += data.draw(st.floats(0, 4))
    assert min_entropy(costs).lower <= before.upper
    assert 0 <= before.lower <= before.value <= before.upper


def test_nothing_spent_keeps_everything():
    """At cost zero the min-entropy is ln k, at unbounded cost nothing is left."""
    for k in (2, 3, 1000):
        free = min_entropy([0] * k)
        assert free.value == pytest.approx(math.log(k), abs=1e-12)
        assert free.normalised == pytest.approx(1.0, abs=1e-12)
        for cost in (1e3, 1e6, 1e300, 10**400, Fraction(10**700, 3)):
            spent = min_entropy([cost] * k)
            assert 0 <= spent.lower <= spent.value <= spent.upper < 1e-10
            assert spent.normalised < 1e-10


def test_one_predicate_has_nothing_to_guess():
    """A single predicate has entropy zero, all of the zero there is."""
    for cost in (0, 0.3, 1000):
        found = min_entropy([cost])
        assert found.value == 0
        assert found.lower == 0
        assert found.normalised == 1.0


def test_the_normalised_value_is_the_share_of_ln_k():
    """It is the value over the most there can be."""
    found = min_entropy([0.1, 0.4, 0.4, 0.8])
    assert found.normalised == pytest.approx(found.value / math.log(4))


def test_any_kind_of_number_counts():
    """Ints, Fractions, floats and arrays of the same costs give the same bracket."""
    expected = min_entropy([0.0, 1.0, 2.0, 1.0])
    for given_costs in (
        [0, 1, 2, 1],
        (Fraction(0), Fraction(1), 2, 1.0),
        np.array([0, 1, 2, 1], dtype=np.uint8),
        np.array([1, 0, 1, 2], dtype=np.float32),
        iter([2, 1, 1, 0]),
    ):
        assert min_entropy(given_costs) == expected
    assert min_entropy_levels([2, 0, 1, 1, 9], [1, 1, 1, 1, 0]) == expected
    assert min_entropy_levels(iter([0, 1, 2]), iter([1, 2, 1])) == expected


@pytest.mark.parametrize(
    "costs",
    [
        [],
        [-1e-9, 1],
        [math.nan],
        [1, math.inf],
        [Fraction(-1, 3)],
        [-(10**400)],
        [10**400, math.nan],
        [[0.1, 0.2]],
        [True, False],
        ["0.1"],
        ["0.1", Fraction(1)],
        [None],
        [1j],
        "12",
    ],
)
def test_costs_that_are_none_are_refused(costs):
    """Nothing, negative, NaN, infinite or no number: refused, in both forms."""
    with pytest.raises(ValueError, match="costs are"):
        min_entropy(costs)
    with pytest.raises(ValueError, match="costs are"):
        min_entropy_levels(costs, [1] * len(costs))


@pytest.mark.parametrize("counts", [[1], [1, -1], [0, 0], [1.0, 2.0], [[1, 2]], [2**60, 2**60]])
def test_counts_that_are_none_are_refused(counts):
    """Counts are whole, not negative, one per level, and cover a predicate."""
    with pytest.raises(ValueError, match="counts are"):
        min_entropy_levels([0.1, 0.2], counts)


def test_a_negative_node_limit_is_refused():
    """A limit below zero is a mistake, not a hurry."""
    for priors in (None, [1, 2]):
        with pytest.raises(ValueError, match="node limit"):
            min_entropy([1, 2], priors=priors, node_limit=-1)
