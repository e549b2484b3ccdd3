"""Plans of runs: the promise kept for the least, and what cannot be planned."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from accountant.units import UNITS_PER_EPSILON
from operators import (
    Svt,
)
from operators.svt import (
    optimal_split,
)
from operators.svt.difference import OneSided
from operators.svt.planning import planned_terms
from tests.support.svt import RATE, aim, condition


def errors(r, opening, asking, steps):
    """Return P[v - rho < r] and P[v - rho >= r + steps] of two geometrics, by their definition."""

    def at_least(m):
        both = -np.expm1(-opening - asking)
        above = np.exp(-asking * np.maximum(m, 0)) * -np.expm1(-opening) / both
        below = np.exp(-opening * np.maximum(1 - m, 0)) * -np.expm1(-asking) / both
        return np.where(m >= 0, above, 1 - below)

    return 1 - at_least(r), at_least(r + steps)


def cheaper_runs(terms, steps, alpha, beta):
    """Count runs that keep a promise for less, over a grid of losses, splits and corrections."""
    rs = np.unique(np.concatenate([np.arange(-min(steps, 120) - 4, 6), [1 - steps, -steps]]))
    rs = np.unique(np.concatenate([rs, terms.correction + np.arange(-4, 5)]))
    whole = terms.epsilon_units / UNITS_PER_EPSILON
    ours = math.log(terms.alarms * terms.alarm_units / terms.open_units)
    theirs = math.log(optimal_split(terms.alarms, monotone=terms.monotone))
    far = np.linspace(-9, 9, 120)
    w = np.exp(np.concatenate([ours + far / 20, ours + far, [ours, theirs]]))
    # A promise in whole loss units may cost each price a unit more than one in real numbers.
    least = 1 - max(1e-9, 2 * (terms.alarms + 1) / terms.epsilon_units)
    losses = whole * least * np.array([1, 1 - 1e-6, 0.9999, 0.999, 0.99, 0.9, 0.7, 0.4])
    r, loss, split = (each.ravel() for each in np.meshgrid(rs, losses, w))
    opening = loss / (1 + split)
    asking = (loss - opening) / (terms.alarms * (1 if terms.monotone else 2))
    missed, rung = errors(r.astype(np.int64), opening, asking, steps)
    return int(np.count_nonzero((missed <= beta) & (rung <= alpha)))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("tolerance", "alarms", "questions"),
    [(0, 1, 1), (1, 10, 1), (5, 10, 3), (40, 50, 1), (30_000, 2, 1)],
)
def test_plan_keeps_its_promise_for_the_least(tolerance, alarms, questions, monotone):
    """Certified errors; a unit less breaks the promise, and no other split or r keeps it for less.

    Among the other splits is the paper's, which has the least variance, with any correction.
    """
    made = Svt.planned(
        condition(monotone=monotone), aim(tolerance, alarms=alarms, questions=questions)
    )
    terms, steps = made.terms, condition().test("a").steps(tolerance)
    assert terms.one_sided

    def kept(given):
        law = OneSided(given.query_rate, given.threshold_rate)
        rung = law.bounds(given.correction + steps)[1]
        return 1 - law.bounds(given.correction)[0] <= RATE and rung <= RATE / questions

    assert kept(terms)
    assert not kept(replace(terms, open_units=terms.open_units - 1))
    assert not kept(replace(terms, alarm_units=terms.alarm_units - 1))
    assert not kept(replace(terms, correction=terms.correction + 1))
    assert cheaper_runs(terms, steps, float(RATE) / questions, float(RATE)) == 0
    assert made.plan.epsilon * UNITS_PER_EPSILON == terms.epsilon_units
    assert made.plan.epsilon > made.plan.limit


@pytest.mark.long
def test_random_promises_are_kept_for_the_least():
    """Odd rates, from nearly a guess to one in a million millions; all in all 60 of them."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        beta = Fraction(float(10 ** rng.uniform(-10, -0.1))).limit_denominator(10**12)
        alpha = Fraction(float(10 ** rng.uniform(-12, -0.1))).limit_denominator(10**15)
        if alpha + beta >= 1:
            alpha = (1 - beta) * Fraction(99, 100)
        steps, alarms = int(rng.integers(1, 30)), int(rng.choice([1, 2, 10, 1_000, 10**4]))
        terms = planned_terms(
            steps, alpha, beta, alarms=alarms, questions=1, monotone=bool(rng.integers(2))
        )
        r, law = terms.correction, OneSided(terms.query_rate, terms.threshold_rate)
        assert -steps < r <= 0
        assert 1 - law.bounds(r)[0] <= beta
        assert law.bounds(r + steps)[1] <= alpha
        assert cheaper_runs(terms, steps, float(alpha), float(beta)) == 0


def test_a_promise_that_is_nearly_a_guess_costs_next_to_nothing():
    """Rates that add up to nearly 1 are kept for less than a millionth, soon found."""
    for missed, short, most in (
        (Fraction(1, 2), Fraction(1, 10**9), 10**6),
        (Fraction(1, 2), Fraction(1, 10**30), 100),
        (Fraction(1, 3), Fraction(1, 10**12), 10**6),
        (Fraction(31, 97), Fraction(1, 10**11), 10**6),
    ):
        rung = 1 - missed - short
        terms = planned_terms(50, rung, missed, alarms=3, questions=1, monotone=True)
        law = OneSided(terms.query_rate, terms.threshold_rate)
        assert terms.epsilon_units < most
        assert 1 - law.bounds(terms.correction)[0] <= missed
        assert law.bounds(terms.correction + 50)[1] <= rung
