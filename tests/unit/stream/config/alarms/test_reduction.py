"""Comparisons as integer tests, against direct evaluation over small multisets."""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.conditions.comparison import Comparison
from stream.config.alarms.reduction import (
    LARGEST_SCALE,
    Aggregate,
    Function,
    Tree,
    reduce,
)
from tests.support.reference import weighed

HALF = Fraction(1, 2)
QUANTILES = [HALF, Fraction(1, 4), Fraction(9, 10), Fraction(2, 3)]


def clipped(aggregate, value):
    """Return a value within the clips."""
    return min(max(value, aggregate.lo), aggregate.hi)


def evaluated(aggregate, events):
    """Compute the aggregate as SQL does, ``None`` for NULL."""
    values = sorted(clipped(aggregate, event) for event in events if event is not None)
    if aggregate.function in {Function.COUNT, Function.DISTINCT}:
        return Fraction(len(values))
    if aggregate.function in {Function.SUM, Function.LINEAR}:
        return Fraction(sum(values))
    if not values:
        return None
    if aggregate.function is Function.AVG:
        return Fraction(sum(values)) / len(values)
    rank = {Function.MIN: 1, Function.MAX: len(values)}.get(
        aggregate.function, ceil(len(values) * aggregate.quantile)
    )
    return Fraction(values[rank - 1])


HOLDS = {
    Comparison.GT: operator.gt,
    Comparison.GE: operator.ge,
    Comparison.LT: operator.lt,
    Comparison.LE: operator.le,
    Comparison.EQ: operator.eq,
    Comparison.NE: operator.ne,
}


def compared(comparison, left, right):
    """Compare as SQL does: nothing holds of NULL."""
    return left is not None and HOLDS[comparison](left, right)


def statistic(literal, aggregate, events, at):
    """Add up the weights of the events that have a value."""
    values = [clipped(aggregate, event) for event in events if event is not None]
    return sum(weighed(literal.weights, value, at) for value in values)


def reduced(aggregate, comparison, thresholds):
    """Reduce a comparison, ``=`` and ``<>`` as the two that HAVING reads them as."""
    ends = {
        Comparison.EQ: (Comparison.GE, Comparison.LE),
        Comparison.NE: (Comparison.GT, Comparison.LT),
    }.get(comparison, (comparison,))
    parts = [reduce(aggregate, end, thresholds) for end in ends]
    return Tree.joined(parts, conjunction=comparison is not Comparison.NE)


def decided(tree, aggregate, events, at):
    """Evaluate a reduced comparison."""

    def truth(literal):
        return np.array([literal.holds(statistic(literal, aggregate, events, at), at)])

    return bool(tree.holds(truth)[0])


AGGREGATES = [
    Aggregate(function, lo, hi, quantile)
    for function in Function
    for lo, hi in [(-2, 3), (0, 2), (1, 3), (-3, -1)]
    for quantile in (QUANTILES if function is Function.QUANTILE else [HALF])
]
THRESHOLDS = [Fraction(n, 6) for n in (-19, -12, -9, -6, 0, 3, 4, 6, 10, 12, 18, 20)]
MULTISETS = [
    list(events)
    for size in range(4)
    for events in combinations_with_replacement([None, -4, -1, 0, 1, 2, 4], size)
    if None not in events[1:]  # one event without a value is as good as several
]


@pytest.mark.long
@pytest.mark.parametrize("comparison", list(Comparison))
@pytest.mark.parametrize("aggregate", AGGREGATES, ids=str)
def test_a_reduced_comparison_is_true_where_sql_s_is(aggregate, comparison):
    """Every aggregate and comparison agrees with direct evaluation, on no events too."""
    tree = reduced(aggregate, comparison, THRESHOLDS)
    for events in MULTISETS:
        left = evaluated(aggregate, events)
        for at, threshold in enumerate(THRESHOLDS):
            wanted = compared(comparison, left, threshold)
            assert decided(tree, aggregate, events, at) is wanted, (events, threshold)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(AGGREGATES),
    st.sampled_from(Comparison),
    st.lists(st.none() | st.integers(-6, 6), max_size=25),
)
def test_larger_multisets_agree_as_well(aggregate, comparison, events):
    """Averages and ranks of many values keep the truth, too."""
    tree, left = reduced(aggregate, comparison, THRESHOLDS), evaluated(aggregate, events)
    for at, threshold in enumerate(THRESHOLDS):
        assert decided(tree, aggregate, events, at) is compared(comparison, left, threshold)


@pytest.mark.parametrize("aggregate", AGGREGATES, ids=str)
def test_one_event_moves_a_statistic_by_its_sensitivity_at_most(aggregate):
    """The largest weights are those of the table: the aggregate's D."""
    lo, hi = aggregate.lo, aggregate.hi
    a, b = aggregate.quantile.as_integer_ratio()
    largest = max(abs(lo), abs(hi))
    bound = {
        Function.SUM: largest,
        Function.LINEAR: largest,
        Function.AVG: max(abs(2 * lo - 1), abs(2 * hi - 1)),
        Function.QUANTILE: max(a, b - a),
    }.get(aggregate.function, 1)
    for comparison in Comparison:
        for literal in reduced(aggregate, comparison, [HALF]).leaves():
            weights = [abs(weighed(literal.weights, value, 0)) for value in range(lo, hi + 1)]
            assert max(weights) <= (1 if literal.guard else bound)
            if aggregate.function in {Function.SUM, Function.AVG} and not literal.guard:
                assert max(weights) == bound


@pytest.mark.parametrize(
    ("aggregate", "thresholds"),
    [
        (Aggregate(Function.SUM), [Fraction(2**62)]),
        (Aggregate(Function.MAX), [Fraction(-(2**62) - 1)]),
        (Aggregate(Function.AVG, 0, 9), [Fraction(1, LARGEST_SCALE + 1)]),
        (Aggregate(Function.AVG, 0, 9), [Fraction(1, 1009), Fraction(1, 1013)]),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(aggregate, thresholds):
    """Thresholds beyond 62 bits, and those of an average that need too fine a scale."""
    with pytest.raises(ValueError, match=r"the threshold"):
        reduce(aggregate, Comparison.GT, thresholds)


def test_a_guard_is_what_keeps_null_from_firing():
    """Without its guard, AVG <= c would fire for an empty cell."""
    aggregate = Aggregate(Function.AVG, 0, 9)
    tree = reduce(aggregate, Comparison.LE, [Fraction(4)])
    bare = next(leaf for leaf in tree.leaves() if not leaf.guard)
    assert decided(Tree(bare), aggregate, [], 0)
    assert not decided(tree, aggregate, [], 0)
