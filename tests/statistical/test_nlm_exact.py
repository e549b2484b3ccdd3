"""NLM, the baseline: its loss and its weaker promise by enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.noise.source import KeyedNoise
from operators.single.nlm import Nlm
from operators.single.tslm import Tslm
from tests.statistical.enumeration import (
    GivenNoise,
    bernoulli_chi_square,
    exp_bounds,
    frequencies,
    ints,
)
from tests.support.svt import RATE

THRESHOLD = 100
CASES = list(product((1, 2, 7, 10, 100), (0, 1, 5, 50), (None, Fraction(1, 1000))))


def exceeds(sensitivity, cells=1):
    """Return ``s > 100`` over some cells."""
    return IntegerTest(Comparison.GT, np.full(cells, THRESHOLD), sensitivity)


def fires(steps, q, *, strict=False):
    """Return P[s' + DLap >= 0] (or > 0), exactly, for a rational q."""
    steps -= strict
    return q**-steps / (1 + q) if steps < 0 else 1 - q ** (steps + 1) / (1 + q)


@pytest.mark.parametrize("q", [Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)])
def test_loss_is_exactly_the_rate(q):
    """Adjacent step counts differ by a factor of at most 1 / q, exactly that at the middle."""
    losses = []
    for steps in range(-60, 60):
        a, b = fires(steps, q), fires(steps + 1, q)
        losses += [a / b, b / a, (1 - a) / (1 - b), (1 - b) / (1 - a)]
    assert max(losses) == 1 / q
    assert max(losses) > 1 / q * Fraction(99, 100)  # a charge one per cent lower would be caught


def test_decision_is_the_comparison_of_the_noisy_step_count():
    """For every noise value and statistic, extremes included: fire iff s' + z >= 0."""
    statistics = ints([*range(70, 131), -(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1])
    nlm = Nlm.planned(exceeds(7, statistics.size), Promise(RATE, 5))
    steps = nlm.test.quantise(statistics).tolist()
    strict = 0
    for value in (*range(-12, 13), -(2**62), 2**62):
        fired = nlm.decide(statistics, GivenNoise(np.full(statistics.size, value))).fired.tolist()
        assert fired == [step + value >= 0 for step in steps]
        strict += fired != [step + value > 0 for step in steps]
    assert strict  # the twin that compares strictly decides otherwise somewhere


@pytest.mark.parametrize(("sensitivity", "tolerance", "alpha"), CASES)
def test_the_papers_promise_holds_and_one_unit_less_breaks_it(sensitivity, tolerance, alpha):
    """Misses at c + 1 + u and alarms at c - u stay within their bounds, at the least epsilon."""
    nlm = Nlm.planned(exceeds(sensitivity), Promise(RATE, tolerance, alpha))
    far = int(nlm.test.quantise(ints([THRESHOLD + 1 + tolerance]))[0])
    low = int(nlm.test.quantise(ints([THRESHOLD - tolerance]))[0])
    kept = []
    for epsilon in (nlm.plan.epsilon, nlm.plan.epsilon - Fraction(1, 10**12)):
        q = exp_bounds(-epsilon)[1]
        kept.append(1 - fires(far, q) <= RATE and fires(low, q) <= (alpha or RATE))
    assert kept == [True, False]
    assert nlm.plan.epsilon == Fraction(nlm.units, 10**12)
    assert nlm.plan.ratio >= 1 - 1e-9


def test_at_sensitivity_one_it_costs_what_tslm_costs():
    """MIDE compares the two at one budget; for counts with one rate that is this epsilon."""
    for tolerance in (0, 1, 5, 50):
        promise = Promise(RATE, tolerance)
        gap = Nlm.planned(exceeds(1), promise).units - Tslm.planned(exceeds(1), promise).units
        assert abs(gap) <= 1


def test_it_misses_far_more_than_max_fnr_at_the_threshold():
    """Why it is a baseline: at s = c + 1 it misses 20 % of the time where 5 % were asked for."""
    nlm = Nlm.planned(exceeds(1), Promise(RATE, 1))
    assert 1 - fires(0, exp_bounds(-nlm.plan.epsilon)[0]) > 3 * RATE


def test_frequencies_follow_the_law():
    """A million decisions agree with the exact law; a law one step off does not."""
    statistics = np.arange(90, 111)
    draws = 50_000
    nlm = Nlm.planned(exceeds(1), Promise(RATE, 5))
    counts = frequencies(nlm, statistics, draws, b"nlm")
    q = exp_bounds(-nlm.plan.epsilon)[0]
    steps = nlm.test.quantise
    for off, sound in ((0, True), (1, False)):
        law = [fires(int(steps(np.array([s]))[0]) + off, q) for s in statistics]
        p_value = bernoulli_chi_square(counts, draws, np.array([float(p) for p in law]))
        assert (p_value > 1e-4) is sound
        assert sound or p_value < 1e-9
    cost = nlm.decide(ints([THRESHOLD]), KeyedNoise(b"nlm")).cost
    assert (cost.units, cost.cells) == (nlm.units, 1)
