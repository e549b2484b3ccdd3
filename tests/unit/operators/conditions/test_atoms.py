"""The integer test: truth kept exactly, sensitivity one, no overflow."""

import operator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison

LOWEST, HIGHEST = -(2**63), 2**63 - 1
ORDERED = (Comparison.GT, Comparison.GE, Comparison.LT, Comparison.LE)
EXTREMES = (LOWEST, LOWEST + 1, LOWEST + 2, -1, 0, 1, HIGHEST - 1, HIGHEST)

int64s = st.one_of(st.integers(LOWEST, HIGHEST), st.integers(-300, 300), st.sampled_from(EXTREMES))
sensitivities = st.one_of(
    st.integers(1, 120), st.integers(1, HIGHEST), st.sampled_from((1, 2, HIGHEST - 1, HIGHEST))
)


def one(comparison, threshold, sensitivity):
    """Return the test of a single cell."""
    return IntegerTest(comparison, np.array([threshold]), sensitivity)


def steps_of(test, statistic):
    """Return s' of a single cell."""
    return int(test.quantise(np.array([statistic]))[0])


TRUTH = {
    Comparison.EQ: operator.eq,
    Comparison.NE: operator.ne,
    Comparison.LT: operator.lt,
    Comparison.LE: operator.le,
    Comparison.GT: operator.gt,
    Comparison.GE: operator.ge,
}


def exact_steps(comparison, statistic, threshold, sensitivity):
    """Return floor((sign s - c' - 1) / D) on Python's unbounded integers."""
    sign = 1 if comparison in (Comparison.GT, Comparison.GE) else -1
    shifted = sign * threshold - (comparison in (Comparison.GE, Comparison.LE))
    return (sign * statistic - shifted - 1) // sensitivity


@settings(max_examples=800)
@given(st.sampled_from(ORDERED), int64s, int64s, sensitivities)
def test_step_count_is_the_exact_quotient_and_keeps_the_truth(
    comparison, statistic, threshold, sensitivity
):
    """Where the distance fits int64, s' equals the formula; and s' >= 0 iff the test is true."""
    test = one(comparison, threshold, sensitivity)
    got, holds = steps_of(test, statistic), TRUTH[comparison](statistic, threshold)
    assert (got >= 0) == bool(test.truth(np.array([statistic]))[0]) == holds
    exact = exact_steps(comparison, statistic, threshold, sensitivity)
    if LOWEST <= exact_steps(comparison, statistic, threshold, 1) <= HIGHEST:
        assert got == exact
    else:
        assert abs(got) <= abs(exact) + 1


@pytest.mark.long
@settings(max_examples=500)
@given(st.sampled_from(ORDERED), int64s, int64s, sensitivities, st.data())
def test_neighbours_are_at_most_one_step_apart(comparison, statistic, threshold, sensitivity, data):
    """Statistics at most D apart have step counts at most 1 apart, near the ends of int64 too."""
    ends = max(LOWEST, statistic - sensitivity), min(HIGHEST, statistic + sensitivity)
    neighbour = data.draw(st.one_of(st.integers(*ends), st.sampled_from(ends)))
    test = one(comparison, threshold, sensitivity)
    assert abs(steps_of(test, statistic) - steps_of(test, neighbour)) <= 1


def test_truncating_division_would_break_the_truth():
    """A broken twin that divides towards zero calls c - 1 true: the same check catches it."""
    assert int((99 - 100 - 1) / 10) >= 0
    assert steps_of(one(Comparison.GT, 100, 10), 99) == -1


@pytest.mark.parametrize(
    ("tolerance", "sensitivity", "steps"),
    [(0, 1, 1), (1, 1, 3), (5, 10, 2), (5, 11, 1), (9, 1, 19), (50, 7, 15), (0, 100, 1)],
)
def test_steps_between_must_fire_and_must_not_fire(tolerance, sensitivity, steps):
    """The k of ceil((2u + 1) / D) is -s' of the first value that must not fire, c - 2u."""
    test = one(Comparison.GT, 100, sensitivity)
    assert test.steps(tolerance) == steps
    assert steps_of(test, 100 - 2 * tolerance) == -steps
    if tolerance:
        assert steps_of(test, 100 - 2 * tolerance + sensitivity) > -steps


def test_thresholds_are_frozen_and_compared_by_value():
    """The caller's array may change; the test's does not, and equality goes by value."""
    thresholds = np.array([1, 2])
    test, same = (IntegerTest(Comparison.GT, thresholds, 1) for _ in range(2))
    assert (test, hash(test)) == (same, hash(same))
    thresholds[0] = 9
    assert test.thresholds.tolist() == [1, 2]
    assert test != IntegerTest(Comparison.GT, thresholds, 1)
    with pytest.raises(ValueError, match="read-only"):
        test.thresholds[0] = 9


@pytest.mark.parametrize("comparison", Comparison)
def test_comparisons_mean_what_they_say(comparison):
    """Negation turns every truth, exchanged sides turn none; direction and strictness fit."""
    for a, b in product(range(3), repeat=2):
        holds = TRUTH[comparison](a, b)
        assert TRUTH[comparison.negated](a, b) is not holds
        assert TRUTH[comparison.flipped](b, a) is holds
    assert comparison.upward == (comparison.value[0] == ">")
    assert comparison.strict == (comparison in {Comparison.LT, Comparison.GT})
