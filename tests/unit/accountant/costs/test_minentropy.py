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

from accountant.costs.minentropy import NODE_LIMIT, min_entropy, min_entropy_levels
from tests.support.entropies import bounds, in_decimals, over_vertices, term

CLOSE = 1e-9


def must_close(found, exact):
    """Fail unless a bracket holds the exact minimum and leaves no doubt of it."""
    assert found.lower <= exact + 1e-15
    assert exact - 1e-15 <= found.upper
    assert found.upper - found.lower < CLOSE
    assert abs(found.value - exact) < 1e-11


def misprinted(epsilons):
    """Least entropy within the bounds that section 5 of the paper prints."""
    down = np.exp(-epsilons)
    return over_vertices(down / down.sum(), np.exp(epsilons) / down.sum())


def algorithm_5(epsilons, better=lt):
    """MIDE's Algorithm 5 as printed, which keeps the solution of lower entropy."""
    low, high = bounds(np.sort(epsilons))
    room = high - low

    def solve(size, slack):
        if size == 1:
            return [float(low[0]) + slack]
        last = size - 1
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


@pytest.mark.long
def test_equals_every_vertex():
    """On 500 cases of up to 12 predicates the value is exact, and no early bracket misses it."""
    for epsilons in cases(500, largest=12):
        found, exact = min_entropy(epsilons), over_vertices(*bounds(epsilons))
        must_close(found, exact)
        assert found.predicates == len(epsilons)
        first = min_entropy(epsilons, node_limit=0)
        assert first.lower <= exact + 1e-15
        assert exact - 1e-15 <= first.upper


def test_levels_equal_every_vertex():
    """The same with up to 13 predicates on each of up to 4 levels."""
    rng = np.random.default_rng(22)
    for _ in range(60):
        levels = rng.uniform(0, rng.choice([0.05, 0.5, 3.0]), int(rng.integers(2, 5)))
        counts = rng.integers(1, 14, len(levels))
        up, down = np.exp(levels), np.exp(-levels)
        exact = over_vertices(down / (counts @ up), up / (counts @ down), counts)
        must_close(min_entropy_levels(levels, counts), exact)


def test_equals_the_papers_algorithm():
    """Algorithm 5 with the lower entropy finds the same minimum."""
    for epsilons in cases(60, largest=9, seed=21):
        assert min_entropy(epsilons).value == pytest.approx(algorithm_5(epsilons), abs=1e-11)


@pytest.mark.parametrize("twin", [misprinted, lambda epsilons: algorithm_5(epsilons, better=gt)])
def test_the_papers_errors_are_caught(twin):
    """The misprinted bound and the higher of Algorithm 5's two solutions fail the same check."""
    # Equal costs of nothing leave one posterior only, which both get right.
    spread = [e for e in cases(60, largest=7) if len(set(e)) > 1 and 0.05 < e.max() < 2]
    right = [abs(twin(e) - over_vertices(*bounds(e))) < 1e-11 for e in spread]
    assert len(right) > 15
    assert sum(right) < len(right) / 10


@pytest.mark.parametrize(
    "epsilons",
    [
        [0.1, 0.5, 1.0],
        [0.0, 0.0, 0.0],
        [1e-14, 2e-14, 1e-15],
        [3.0, 3.0, 3.0, 3.0],
        [0.3, 0.1 + 0.2, 0.1, 0.7, 0.7],
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


def narrowed(epsilons, priors, *more):
    """Return the last of brackets that are true, meet, and narrow as the limit of nodes rises."""
    limits = (0, 1, *more)
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
        last = narrowed(epsilons, None, 300, 5_000, NODE_LIMIT)
        assert last.upper - last.lower < (CLOSE if k == 20 else 1e-3)
        assert min_entropy(rng.permutation(epsilons)) == last


@pytest.mark.parametrize("most", [0.1, 1.0, 3.0])
def test_hard_priors_stop_at_the_node_limit(most):
    """200 distinct costs and priors do as well."""
    rng = np.random.default_rng(36)
    costs, priors = rng.uniform(0, most, 200), rng.uniform(0.1, 1, 200)
    last = narrowed(costs, priors, 5_000, 40_000, 200_000)
    assert last.upper - last.lower < 1e-3
    assert min_entropy(costs, priors=priors) == last


@given(st.lists(st.floats(0, 4), min_size=1, max_size=8), st.data())
def test_more_cost_never_leaves_more_uncertainty(costs, data):
    """Raising one cost widens every bound, so the minimum cannot rise."""
    before = min_entropy(costs)
    costs[data.draw(st.integers(0, len(costs) - 1))] += data.draw(st.floats(0, 4))
    assert min_entropy(costs).lower <= before.upper


def test_nothing_spent_keeps_everything():
    """At cost zero it is ln k, at unbounded cost 0; of one predicate, all of the 0 there is."""
    for k in (2, 3, 1000):
        free = min_entropy([0] * k)
        assert (free.value, free.normalised) == pytest.approx((math.log(k), 1.0), abs=1e-12)
        for cost in (1e3, 1e6, 1e300, 10**400, Fraction(10**700, 3)):
            spent = min_entropy([cost] * k)
            assert 0 <= spent.lower <= spent.value <= spent.upper < 1e-10
            assert spent.normalised < 1e-10
    for cost in (0, 0.3, 1000):
        one = min_entropy([cost])
        assert (one.lower, one.value, one.normalised) == (0, 0, 1)
    some = min_entropy([0.1, 0.4, 0.4, 0.8])
    assert some.normalised == pytest.approx(some.value / math.log(4))


def test_any_kind_of_number_counts():
    """Ints, Fractions, floats and arrays of the same costs give the same bracket."""
    expected = min_entropy([0.0, 1.0, 2.0, 1.0])
    for costs in (
        (Fraction(0), Fraction(1), 2, 1.0),
        np.array([0, 1, 2, 1], dtype=np.uint8),
        iter([2, 1, 1, 0]),
    ):
        assert min_entropy(costs) == expected
    assert min_entropy_levels(iter([2, 0, 1, 1, 9]), iter([1, 1, 1, 1, 0])) == expected


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
        ["0.1", Fraction(1)],
        [1j],
        "12",
    ],
)
def test_costs_that_are_none_are_refused(costs):
    """Nothing, negative, NaN, infinite or no number: refused, in both forms."""
    for call in (min_entropy, lambda costs: min_entropy_levels(costs, [1] * len(costs))):
        with pytest.raises(ValueError, match="costs are"):
            call(costs)


@pytest.mark.parametrize("counts", [[1], [1, -1], [0, 0], [1.0, 2.0], [[1, 2]], [2**60, 2**60]])
def test_counts_that_are_none_are_refused(counts):
    """Counts are whole, not negative, one per level, and cover a predicate."""
    with pytest.raises(ValueError, match="counts are"):
        min_entropy_levels([0.1, 0.2], counts)
