"""TSLM by exact enumeration (no sampling), then by frequencies; broken twins must be caught."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.single import gaussian
from operators.single.tslm import Tslm, extremal_table
from tests.statistical.enumeration import (
    ONE,
    Words,
    exp_bounds,
    ints,
    least_epsilon,
    loss_violations,
    over,
)

THRESHOLD = 100
RATES = (Fraction(1, 100), Fraction(5, 100), Fraction(1, 10))
FALSE_ALARMS = (None, Fraction(1, 5), Fraction(1, 1000))
PAPER = Fraction(1, 20)
CASES = [
    *product((1, 2, 7, 10, 100), (1, 5, 50), RATES, FALSE_ALARMS),
    (1, 5, Fraction(1, 10**12), None),
]
LONGEST = (1, 49_999, PAPER, None)
GAUSSIAN_CASES = [
    (1, 20, PAPER, None),
    (1, 1, Fraction(1, 100), Fraction(1, 5)),
    (7, 50, Fraction(1, 10), Fraction(1, 1000)),
    (100, 5, PAPER, None),
    (1, 0, Fraction(1, 10**12), Fraction(1, 10**12)),
    (1, 60, PAPER, Fraction(1, 10**9)),
]


def name_of(case):
    """Return a case in words."""
    return "D{}-u{}-beta{}-alpha{}".format(*case).replace("/", "_")


CASE = pytest.mark.parametrize("case", CASES, ids=name_of)


def planned(
    sensitivity,
    tolerance,
    beta=PAPER,
    alpha=None,
    comparison=Comparison.GT,
    *,
    planner=Tslm.planned,
):
    """Plan one cell with threshold 100."""
    test = IntegerTest(comparison, ints([THRESHOLD]), sensitivity)
    return planner(test, Promise(beta, tolerance, alpha))


def law_of(tslm):
    """Return P[fire | s] in units of 2^-64, for raw statistics s."""
    return lambda statistics: over(tslm, statistics.size).law(statistics)


def fires(tslm, statistic):
    """Return P[fire | s] exactly."""
    return Fraction(int(law_of(tslm)(ints([statistic]))[0]), ONE)


def every_statistic(tslm):
    """Return the raw statistics of the whole table and of the constant parts beyond both ends."""
    sensitivity = tslm.test.sensitivity
    lowest = THRESHOLD + 1 + (tslm.lowest - 3) * sensitivity
    highest = THRESHOLD + 1 + (tslm.lowest + tslm.probabilities.size + 3) * sensitivity
    return np.arange(lowest, highest)


def first_true(comparison, away=0):
    """Return the statistic ``away`` units into the false side, counted from the first true one."""
    return {
        Comparison.GT: THRESHOLD + 1 - away,
        Comparison.GE: THRESHOLD - away,
        Comparison.LT: THRESHOLD - 1 + away,
        Comparison.LE: THRESHOLD + away,
    }[comparison]


@pytest.mark.parametrize("case", [*CASES, LONGEST], ids=name_of)
def test_loss_never_exceeds_the_charge(case):
    """Every pair of raw statistics 1..D apart, both outcomes, both ends included, exactly."""
    tslm = planned(*case)
    assert not loss_violations(law_of(tslm), every_statistic(tslm), case[0], tslm.plan.epsilon)
    assert int(tslm.probabilities.min()) >= 1  # an outcome of probability 0 would lose everything
    _, tolerance, beta, alpha = case
    steps = tslm.test.steps(tolerance)
    assert int(tslm.probabilities[-steps - tslm.lowest]) <= (alpha or beta) * ONE


@pytest.mark.parametrize(
    ("planner", "case"),
    [
        *(pytest.param(Tslm.planned, each, id=name_of(each)) for each in CASES),
        *(pytest.param(gaussian.planned, each, id=name_of(each)) for each in GAUSSIAN_CASES),
    ],
)
def test_promise_holds_exactly(planner, case):
    """Misses at the first true value and alarms at the first forbidden one stay within bounds."""
    _, tolerance, beta, alpha = case
    false_alarms = alpha or beta
    for comparison in (Comparison.GT, Comparison.GE, Comparison.LT, Comparison.LE):
        tslm = planned(*case, comparison, planner=planner)
        assert 1 - fires(tslm, first_true(comparison)) <= beta
        assert fires(tslm, first_true(comparison, 2 * tolerance + 1)) <= false_alarms
    assert (np.diff(tslm.probabilities.astype(object)) > 0).all()  # so further out is safer still


@CASE
def test_charge_is_the_theoretical_minimum(case):
    """The charge meets an independent bisection on the iterated map to 1e-11, never below it."""
    tslm, (_, tolerance, beta, alpha) = planned(*case), case
    least = least_epsilon(tslm.test.steps(tolerance), alpha or beta, beta)
    near = 1e-11 if beta > Fraction(1, 10**11) else 1e-9
    assert 0 <= float(tslm.plan.epsilon - Fraction(least)) + 1e-18 < near
    assert abs(tslm.plan.limit - float(least)) < 1e-12
    assert abs(tslm.plan.ratio - 1) < 1e-9
    assert tslm.plan.epsilon == Fraction(tslm.units, 10**12)


def test_one_unit_less_would_break_the_false_alarm_bound():
    """The charge is the least whole number of loss units: one less and P(-k) passes alpha."""
    for sensitivity, tolerance, alpha in product((1, 10), (1, 5, 50), FALSE_ALARMS):
        tslm = planned(sensitivity, tolerance, PAPER, alpha)
        steps = tslm.test.steps(tolerance)
        less = from_loss_units(tslm.units - 1)
        table, lowest = extremal_table(1 - PAPER, less, reach=steps)
        assert int(table[-steps - lowest]) > (alpha or PAPER) * ONE


@pytest.mark.parametrize(("tolerance", "t"), [(0, "2.9"), (1, "1.3863"), (2, "0.9"), (4, "0.55")])
def test_odd_steps_give_threshold_shift_laplace(tolerance, t):
    """With beta of the discrete Laplace's own, the curve is its shifted law to 2 / beta units.

    A unit is 2^-64; rounding the anchor by one grows by 1/q a step on the way down, to 1 / beta.
    """
    epsilon = Fraction(t)
    q = exp_bounds(-epsilon)[0]
    shift = tolerance  # (k - 1) / 2 for k = 2u + 1
    beta = q ** (shift + 1) / (1 + q)
    table, lowest = extremal_table(1 - beta, epsilon, reach=2 * tolerance + 1)
    for at, probability in enumerate(table.tolist()):
        margin = lowest + at + shift  # fire iff DLap >= -margin
        tail = q ** abs(margin if margin < 0 else margin + 1) / (1 + q)
        exact = tail if margin < 0 else 1 - tail
        assert abs(Fraction(probability, ONE) - exact) <= Fraction(2, ONE) / beta


FIRST, WIDE, NEXT = planned(1, 1), planned(10, 5), planned(1, 5)
PAPERS = Fraction(math.log(10)).limit_denominator(10**12)  # MIDE's ln(1 / (2 beta)) / u
OWN = dict(
    zip(("probabilities", "lowest"), extremal_table(1 - PAPER, PAPERS, reach=3), strict=True)
)
CLAMPED = np.concatenate([np.zeros(1, np.uint64), FIRST.probabilities[1:]])
LESS = Fraction(99, 100)


@pytest.mark.parametrize(
    ("tslm", "changes", "epsilon", "sound"),
    [
        pytest.param(FIRST, {}, FIRST.plan.epsilon * LESS, False, id="charged less"),
        pytest.param(FIRST, OWN, PAPERS, True, id="the paper's"),
        pytest.param(FIRST, OWN, PAPERS * LESS, False, id="the paper's, charged less"),
        pytest.param(
            WIDE,
            {"test": replace(WIDE.test, sensitivity=1)},
            WIDE.plan.epsilon,
            False,
            id="one unit read as one step",
        ),
        pytest.param(
            FIRST, {"probabilities": CLAMPED}, FIRST.plan.epsilon, False, id="zero at its low end"
        ),
        pytest.param(  # constant beyond any cut: only far accuracy changes
            NEXT,
            {"probabilities": NEXT.probabilities[5:-5], "lowest": NEXT.lowest + 5},
            NEXT.plan.epsilon,
            True,
            id="cut short",
        ),
    ],
)
def test_what_costs_more_than_it_is_charged_is_caught(tslm, changes, epsilon, sound):
    """Other tables and charges: sound ones pass the same check, and broken twins do not."""
    twin = replace(tslm, **changes)
    violations = loss_violations(
        law_of(twin), every_statistic(tslm), tslm.test.sensitivity, epsilon
    )
    assert (not violations) is sound


@pytest.mark.parametrize("shift", [-1, 1])
def test_shifted_twins_are_caught(shift):
    """One step down misses too often; one step up rings too often."""
    twin = replace(FIRST, lowest=FIRST.lowest - shift)
    misses = 1 - fires(twin, THRESHOLD + 1) > PAPER
    alarms = fires(twin, THRESHOLD - 2) > PAPER
    assert (misses, alarms) == (shift < 0, shift > 0)


NORMAL = planned(1, 5, planner=gaussian.planned)


@pytest.mark.parametrize("tslm", [WIDE, NORMAL], ids=["pure", "gaussian"])
def test_decisions_are_drawn_from_the_table(tslm):
    """At every statistic words below its probability fire, and no others; one step off errs."""
    at = every_statistic(tslm)
    of = over(tslm, at.size)
    law = of.law(at)
    for words, fires in ((law - 1, True), (law, False)):
        decision = of.decide(at, Words(words))
        assert (decision.fired == fires).all()
        assert (decision.cost.units, decision.cost.cells) == (tslm.units, at.size)
        twin = replace(of, lowest=of.lowest + (1 if fires else -1))
        assert (twin.decide(at, Words(words)).fired != fires).any()
