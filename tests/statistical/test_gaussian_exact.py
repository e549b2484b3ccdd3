"""Gaussian budgets by exact enumeration; broken twins must be caught.

Two coins are mu-GDP exactly if their quantiles are at most mu apart, so that a table is checked
entry by entry against another computation of the normal law. Rates and frequencies are held beside
those of pure losses, by ``test_tslm_exact``. What the filter lets through is
checked as a whole by ``test_gaussian_runs_exact``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.loss.gaussian import Gaussian, mu_of
from accountant.units import UNITS_PER_EPSILON
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.single import gaussian
from operators.single.tslm import Tslm
from tests.statistical.enumeration import ONE, ints, over
from tests.statistical.test_tslm_exact import (
    GAUSSIAN_CASES,
    PAPER,
    THRESHOLD,
    name_of,
)
from tests.statistical.test_tslm_exact import planned as single
from tests.support.normal import quantile

CASE = pytest.mark.parametrize("case", GAUSSIAN_CASES, ids=name_of)


def planned(*case):
    """Plan one cell with threshold 100 under a Gaussian budget."""
    return single(*case, planner=gaussian.planned)


def apart(low, high):
    """Return how far the quantiles of two entries are apart."""
    return quantile(Fraction(high, ONE)) - quantile(Fraction(low, ONE))


def too_far_apart(tslm, units):
    """Count neighbouring entries that are not mu-GDP; ``units`` are mu^2 / 2, in loss units."""
    mu = mu_of(units) + Fraction(1, 2**85)  # more than a quantile here is off by
    return sum(apart(*pair) > mu for pair in pairwise(tslm.probabilities.tolist()))


@CASE
def test_neighbouring_entries_are_as_private_as_is_charged(case):
    """Every pair of the table, and one per cent less is too little."""
    tslm, sensitivity = planned(*case), case[0]
    assert not too_far_apart(tslm, tslm.units)
    assert too_far_apart(tslm, tslm.units * 99 // 100)
    assert (np.diff(tslm.probabilities.astype(object)) > 0).all()
    assert int(tslm.probabilities[0]) > 0
    # What is one step apart is what neighbouring statistics are: D units, at most.
    statistics = np.arange(THRESHOLD - 3 * sensitivity, THRESHOLD + 3 * sensitivity)
    test = over(tslm, statistics.size).test
    moved = test.quantise(statistics + sensitivity) - test.quantise(statistics)
    assert abs(moved).max() == 1


@CASE
def test_charge_is_about_the_theoretical_minimum(case):
    """No mu-GDP mechanism takes fewer units from 1 - beta to alpha; here 1 in 1,000 more."""
    tslm, (_, tolerance, beta, alpha) = planned(*case), case
    least = (quantile(1 - beta) - quantile(alpha or beta)) / tslm.test.steps(tolerance)
    assert least**2 / 2 <= tslm.plan.epsilon < least**2 / 2 * Fraction(1001, 1000)
    assert tslm.plan.limit == pytest.approx(float(least**2 / 2))
    assert tslm.plan.epsilon == Fraction(tslm.units, UNITS_PER_EPSILON)


def test_a_rate_near_one_and_a_coarse_promise_are_planned():
    """Neither takes the quantile's float for more than it is, nor a table without an end."""
    near = Promise(Fraction(1, 10**12), 9, 1 - Fraction(2, 10**12))
    thresholds = ints([THRESHOLD])
    plan = gaussian.priced(IntegerTest(Comparison.GT, thresholds, 1), near)
    assert 1 <= plan.ratio < 10
    table, lowest = gaussian.Grid(Fraction(0), Fraction(1, 10**6)).table()
    assert (lowest, table.size) == (-20_000, 40_001)


def test_broken_tables_are_caught():
    """Rounded down for once, read at another sensitivity, or made for pure losses."""
    tslm = planned(1, 20)
    once = tslm.probabilities.copy()
    once[3:] += np.uint64(1 << 44)
    pure = Tslm.planned(tslm.test, Promise(PAPER, 20)).probabilities
    for table in (once, tslm.probabilities[::2], pure):
        assert too_far_apart(replace(tslm, probabilities=table), tslm.units)


def test_too_many_steps_are_refused():
    """Each entry takes a tail of the normal law."""
    with pytest.raises(ConfigError, match="the limit with privacy: gdp"):
        planned(1, 3_000)


@pytest.mark.parametrize(("windows", "pays"), [(15, 1.25), (96, 2.89), (1440, 8.68)])
def test_what_a_gaussian_budget_saves_at_the_same_tolerance(windows, pays):
    """Times less epsilon than pure losses come to, at tolerance 20 and a delta of 1e-6."""
    of = IntegerTest(Comparison.GE, ints([100]), 1), Promise(PAPER, 20)
    pure, rho = (windows * priced(*of).epsilon for priced in (Tslm.priced, gaussian.priced))
    spent = Gaussian(Fraction(20), Fraction(1, 10**6)).epsilon_of(int(rho * UNITS_PER_EPSILON))
    assert float(pure) / spent == pytest.approx(pays, rel=0.01)
