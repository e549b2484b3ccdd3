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


def keeps(terms, steps, alpha, beta):
    """Tell whether the certified errors of a run are within its promise."""
    law = OneSided(terms.query_rate, terms.threshold_rate)
    missed, rung = 1 - law.bounds(terms.correction)[0], law.bounds(terms.correction + steps)[1]
    return missed <= beta and rung <= alpha


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
    return np.count_nonzero((missed <= float(beta)) & (rung <= float(alpha)))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("tolerance", "alarms", "questions"),
    [(0, 1, 1), (1, 10, 1), (5, 10, 3), (40, 50, 1), (30_000, 2, 1)],
)
def test_plan_keeps_its_promise_for_the_least(tolerance, alarms, questions, monotone):
    """Certified errors; a unit less breaks the promise, and no other split or r keeps it for less.

    Among the other splits is the paper's, which has the least variance, with any correction.
    """
    of = condition(monotone=monotone)
    made = Svt.planned(of, aim(tolerance, alarms=alarms, questions=questions))
    terms, steps = made.terms, of.test("a").steps(tolerance)
    asked = steps, RATE / questions, RATE
    assert terms.one_sided
    assert keeps(terms, *asked)
    assert not keeps(replace(terms, open_units=terms.open_units - 1), *asked)
    assert not keeps(replace(terms, alarm_units=terms.alarm_units - 1), *asked)
    assert not keeps(replace(terms, correction=terms.correction + 1), *asked)
    assert cheaper_runs(terms, *asked) == 0
    assert cheaper_runs(replace(terms, alarm_units=2 * terms.alarm_units), *asked) > 0
    assert made.plan.epsilon * UNITS_PER_EPSILON == terms.epsilon_units
    assert made.plan.epsilon > made.plan.limit


@pytest.mark.long
def test_random_promises_are_kept_for_the_least():
    """Odd rates, from nearly a guess to one in a million millions; all in all 60 of them."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        beta = Fraction(float(10 ** rng.uniform(-10, -0.1))).limit_denominator(10**12)
        alpha = Fraction(float(10 ** rng.uniform(-12, -0.1))).limit_denominator(10**15)
        alpha = min(alpha, (1 - beta) * Fraction(99, 100))
        steps, alarms = int(rng.integers(1, 30)), int(rng.choice([1, 2, 10, 1_000, 10**4]))
        monotone = bool(rng.integers(2))
        terms = planned_terms(steps, alpha, beta, alarms=alarms, questions=1, monotone=monotone)
        assert -steps < terms.correction <= 0
        assert keeps(terms, steps, alpha, beta)
        assert cheaper_runs(terms, steps, alpha, beta) == 0


@pytest.mark.parametrize(
    ("missed", "short", "most"),
    [
        (Fraction(1, 2), Fraction(1, 10**9), 10**6),
        (Fraction(1, 2), Fraction(1, 10**30), 100),
        (Fraction(1, 3), Fraction(1, 10**12), 10**6),
        (Fraction(31, 97), Fraction(1, 10**11), 10**6),
    ],
)
def test_a_promise_that_is_nearly_a_guess_costs_next_to_nothing(missed, short, most):
    """Rates that add up to nearly 1 are kept for less than a millionth, soon found."""
    rung = 1 - missed - short
    terms = planned_terms(50, rung, missed, alarms=3, questions=1, monotone=True)
    assert terms.epsilon_units < most
    assert keeps(terms, 50, rung, missed)
