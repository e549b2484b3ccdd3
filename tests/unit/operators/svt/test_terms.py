"""Terms of runs: budgets split, accuracies, and the noise of variants."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from accountant.units import UNITS_PER_EPSILON
from operators import SvtPlan
from operators.noise.source import KeyedNoise
from operators.svt import (
    accuracy,
    integer_correction,
    optimal_split,
)
from operators.svt.variants import discrete_gaussian
from tests.statistical.enumeration import p_value
from tests.statistical.svt_law import run_of
from tests.support.svt import plan


def test_terms_split_a_budget():
    """Never above it, below by less than one unit per alarm, at the optimal w."""
    for units, alarms in ((10**12, 50), (10**12 + 7, 3), (5, 1)):
        terms = SvtPlan.of_budget(units, alarms)
        assert 0 <= units - terms.epsilon_units < alarms
        if units > 100:
            w = float(optimal_split(alarms, monotone=False))
            assert alarms * terms.alarm_units / terms.open_units == pytest.approx(w, rel=1e-6)


@pytest.mark.parametrize("one_sided", [False, True])
def test_accuracy_is_that_of_runs(one_sided):
    """Cells alpha steps off are all answered right at least as often as said, one less is not."""
    terms = plan(2, correction=3, one_sided=one_sided)
    negatives, beta, run = 30, 0.2, run_of(terms)
    alpha = int(accuracy(terms, negatives, beta))

    def right(steps):
        return run.threshold @ ((1 - run.ring(-steps)) ** negatives * run.ring(steps) ** 2)

    assert right(alpha) >= 1 - beta > right(alpha - 1)
    assert accuracy(terms, negatives, 1e-300) > 100
    assert accuracy(terms, 0, beta) <= alpha <= accuracy(replace(terms, questions=5), 30, beta)


def test_accuracy_meets_the_papers_theorem():
    """For one alarm at even halves of epsilon, alpha is at most 4 (ln k + ln(2 / beta)) / eps."""
    for epsilon, negatives in ((0.1, 50), (1.0, 500)):
        half = round(epsilon * UNITS_PER_EPSILON / 2)
        terms = SvtPlan(open_units=half, alarm_units=half, alarms=1)
        terms = replace(terms, correction=integer_correction(terms, negatives))
        bound = 4 * (math.log(negatives) + math.log(2 / 0.1)) / epsilon
        assert accuracy(terms, negatives, 0.1) <= bound


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(25, 2)], ids=str)
def test_discrete_gaussian_follows_its_law(variance):
    """40,000 draws against exp(-z^2 / 2 sigma^2), scaled; twice the variance fails."""
    noise, at = KeyedNoise(b"gauss"), np.arange(-60, 61)
    drawn = discrete_gaussian(noise, variance, 40_000)
    right, wider = (np.exp(-(at**2) / (2 * float(each))) for each in (variance, 2 * variance))
    assert p_value(drawn, right / right.sum()) > 1e-4
    assert p_value(drawn, wider / wider.sum()) < 1e-9
    assert discrete_gaussian(noise, variance, 0).size == 0
