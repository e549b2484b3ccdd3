"""NLM, the baseline: its loss and its weaker promise by enumeration."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.single.nlm import Nlm
from operators.single.tslm import Tslm
from tests.statistical.enumeration import (
    GivenNoise,
    exp_bounds,
    ints,
)
from tests.support.exact import worst_ratio
from tests.support.svt import RATE

THRESHOLD = 100
CASES = list(product((1, 2, 7, 10, 100), (0, 1, 5, 50), (None, Fraction(1, 1000))))


def exceeds(sensitivity, cells=1):
    """Return ``s > 100`` over some cells."""
    return IntegerTest(Comparison.GT, np.full(cells, THRESHOLD), sensitivity)


def fires(steps, q):
    """Return P[s' + DLap >= 0], exactly, for a rational q."""
    return q**-steps / (1 + q) if steps < 0 else 1 - q ** (steps + 1) / (1 + q)


@pytest.mark.parametrize("q", [Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)])
def test_loss_is_exactly_the_rate(q):
    """Adjacent step counts differ by a factor of at most 1 / q, exactly that at the middle."""
    chances = [fires(steps, q) for steps in range(-60, 61)]
    laws = [{"fires": chance, "not": 1 - chance} for chance in chances]
    assert max(worst_ratio(*pair) for pair in pairwise(laws)) == 1 / q


def test_decision_is_the_comparison_of_the_noisy_step_count():
    """For every noise value and statistic, extremes included: fire iff s' + z >= 0."""
    statistics = ints([*range(70, 131), -(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1])
    nlm = Nlm.planned(exceeds(7, statistics.size), Promise(RATE, 5))
    steps = nlm.test.quantise(statistics).tolist()
    for value in (*range(-12, 13), -(2**62), 2**62):
        noise = GivenNoise(np.full(statistics.size, value))
        decision = nlm.decide(statistics, noise)
        assert decision.fired.tolist() == [step + value >= 0 for step in steps]
        assert noise.rates == [nlm.plan.epsilon]
        assert (decision.cost.units, decision.cost.cells) == (nlm.units, statistics.size)


@pytest.mark.parametrize(("sensitivity", "tolerance", "alpha"), CASES)
def test_the_papers_promise_holds_and_one_unit_less_breaks_it(sensitivity, tolerance, alpha):
    """Misses at c + 1 + u and alarms at c - u stay within their bounds, at the least epsilon."""
    nlm = Nlm.planned(exceeds(sensitivity), Promise(RATE, tolerance, alpha))
    both = nlm.test.at(np.zeros(2, np.intp))
    far, low = both.quantise(ints([THRESHOLD + 1 + tolerance, THRESHOLD - tolerance])).tolist()
    for saved in (0, 1):
        q = exp_bounds(-from_loss_units(nlm.units - saved))[1]
        kept = 1 - fires(far, q) <= RATE and fires(low, q) <= (alpha or RATE)
        assert kept is not bool(saved)
    assert nlm.plan.epsilon == from_loss_units(nlm.units)
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
