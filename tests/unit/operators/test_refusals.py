"""What mechanisms refuse: promises that cannot be kept, and calls that make no sense.

A row is what is said, or advised, and the call with its arguments.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from accountant.errors import ConfigError
from operators import Promise, RunState, SeededSource, Svt, SvtPlan, svt_correction
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.deciders import (
    DECIDERS,
    Count,
    ExponentialQuantileBand,
    HistogramBand,
    LaplaceBand,
    PrivateBound,
    Quantile,
    RaceBand,
    Sum,
    TightBand,
    choose,
    planned,
    tau_min,
    units_min,
)
from operators.noise.boundaries import Cut, boundaries
from operators.noise.gradual import GradualNoise
from operators.panes import LaplaceSum, LaplaceWalk, Panes
from operators.registry import ALL, DEFAULT, create, price
from operators.single.ladder import Grid
from operators.single.pure import gaussian_units
from operators.svt import (
    Exponential,
    Laplace,
    accuracy,
    ask,
    open_run,
    optimal_split,
)
from operators.svt.endurance import endurance, missed_in_silence
from operators.svt.planning import planned_terms
from operators.svt.variants import discrete_gaussian, gaussian_epsilon
from tests.statistical.panes_law import asked as asked_of
from tests.support import svt
from tests.support.formulas import BETA, FORMULAS, aim, condition

NOISE = SeededSource(1)
NONE, ONE, HALF, TINY = Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 10**12)
MEDIAN = Quantile(HALF, range(100))
YES = np.ones(3, np.bool_)
asked = partial(asked_of, threshold=120, cells=2)


def of_conditions():
    """Yield conditions that no mechanism, or not the one that is named, can decide."""
    for function in (create, price):
        for words, mechanism, text, wanted in (
            ("unknown mechanism.*tslm", "laplace", "a", aim(1)),
            ("experiments.*tslm", "nlm", "a", aim(1)),
            ("HAVING becomes 2", "panes", "a AND b", aim(2)),
            ("HAVING becomes 3", "panes", "a OR NOT a AND b", aim(2)),
            ("a first tolerance for every", "probe", "a", aim(1, first_tolerances=())),
            ("max_fnr", "tslm", "a AND b", aim(2, max_fnr=NONE)),
            ("chance alone", "probe", "a AND b", aim(2, max_fnr=Fraction(3, 5))),
            ("tolerance", "probe-ent", "a AND b", aim(2, tolerances=(1, -1))),
            ("100001 steps", "tslm", "a AND b", aim(2, tolerances=(50_000, 50_000))),
            ("tolerance", "probe", "a AND b", aim(2, first_tolerances=(5, -1))),
        ):
            yield words, function, mechanism, condition(text), wanted
    below = aim(2, max_fnr=TINY * Fraction(99, 100), max_fpr=TINY)
    for mechanism in FORMULAS:
        yield "max_fnr is below 1e-12", price, mechanism, condition("a AND b"), below
    yield "needs a band around REFERENCE", ALL["decider"].price, condition("a"), aim(1)
    ends = {"a": ThresholdAtom(0, np.array([-(2**62)])), "b": ThresholdAtom(0, np.array([2**62]))}
    apart = Condition(Formula.parse("a AND NOT b"), ends, (1,))
    yield "2\\^60", create, "probe-ent", apart, aim(2)
    for wrong in (
        {"first": NONE},
        {"rounds": 0},
        {"refinement": 0},
        {"rounds": 30, "refinement": 3},
        {"finest_share": ONE},
    ):
        yield "levels", partial(Grid, **wrong)


def of_runs_and_panes():
    """Yield runs of the sparse vector, and windows of panes."""
    for wrong in ({"alarms": 0}, {"alarms": 10**5}):
        yield "max_alarms is not from 1 to", price, "svt", svt.condition(), svt.aim(**wrong)
    for wrong in ({"questions": 0}, {"questions": 10**4}):
        yield "repeat is not from 1 to", price, "svt", svt.condition(), svt.aim(**wrong)
    guess = replace(svt.aim(), max_fnr=HALF)
    yield "add up to 1", price, "svt", svt.condition(), guess
    yield "the limit is", price, "svt", svt.condition(), svt.aim(10**6)
    for limit in ("0.05", "0.04", "0.0500000001"):
        bound = aim(1, 3, max_fpr=BETA, alarms=2, max_fnr_in_silence=Fraction(limit))
        words = f"{float(limit):g}, is not larger than max_fnr, 0.05.*no_alarm: 0.1"
        yield words, Svt.planned, svt.condition(), replace(bound, asked_in_silence=5)
    yield "a window has 1,440 panes; the limit is 600", Panes.planned, [asked(1440, 20)]
    wide = asked(60, 5 * 10**13, sensitivity=10**12)
    yield "the noise of a pane would be too wide.*resolution", Panes.planned, [wide]


def of_bands():
    """Yield deciders: names, losses, half-widths and promises of theirs."""
    tiny, wide, promise = Fraction(1, 10**6), Sum(0, 40), Promise(max_fnr=BETA, tolerance=4)
    yield "epsilon", planned, "lm", Count(), NONE, 3
    yield "tau", planned, "em", Count(), ONE, 0
    yield "tau", planned, "tight", Count(), ONE, 1 << 61
    yield "decider hist does not support COUNT", planned, "hist", Count(), ONE, 3
    yield "decider lm does not support QUANTILE", planned, "lm", MEDIAN, ONE, 3
    yield "never negative", planned, "r2t", Sum(-1, 5), ONE, 3
    yield "never negative", planned, "svt", Sum(-5, 0), ONE, 3
    yield "2\\^40", planned, "lm", Sum(0, 1 << 50), ONE, 3
    yield "2\\^40", planned, "r2t", Sum(0, 1 << 39), ONE, 3
    yield "more than 65,536 steps", planned, "em", Quantile(HALF, range(1 << 17)), ONE, 3
    yield "support", LaplaceBand.planned, MEDIAN, HALF, 3
    yield "support", HistogramBand.planned, Count(), HALF, 3
    yield "support", ExponentialQuantileBand.planned, Count(), HALF, 3
    for wrong in (NONE, ONE, Fraction(-1, 2), Fraction(1, 1 << 65)):
        yield "max_fnr is not from 2\\^-64 to 1", TightBand.planned, Count(), HALF, 3, wrong
    for wrong in (NONE, ONE):
        yield "delta is not from 1e-12 to 1", RaceBand.planned, Sum(0, 4), HALF, 3, wrong
        yield "theta is not between 0 and 1", PrivateBound, wrong
    for wrong in (NONE, HALF):
        yield "error probability", choose, Count(), HALF, 3, wrong
    for kind, tau in product((Count(), Sum(0, 4)), (1, 8)):
        yield "tolerance is half of tau or more", TightBand.promised, kind, tau, promise
    for kind, epsilon in product((Count(3), Sum(0, 40, 3), MEDIAN), (10**400, TINY**40)):
        loss = Fraction(epsilon)
        yield "epsilon", choose, kind, loss, 3, BETA
        for name in DECIDERS[type(kind)]:
            yield "epsilon", planned, name, kind, loss, 3
            if kind is not MEDIAN and name != "svt":
                yield "epsilon", partial(tau_min, largest=2), name, kind, loss, BETA
    for largest in (41, 10**6):  # values are clipped: none is larger
        yield "clip", partial(tau_min, largest=largest), "r2t", wide, HALF, BETA
        yield "clip", partial(choose, largest=largest), wide, HALF, 3, BETA
    yield "too small for tight", tau_min, "tight", Count(), tiny, BETA
    yield "too small for tight", units_min, tiny, BETA, MEDIAN
    yield "too small for tight", choose, MEDIAN, tiny, 3, BETA


CONFIGURATIONS = [*of_conditions(), *of_runs_and_panes(), *of_bands()]


@pytest.mark.parametrize("case", CONFIGURATIONS, ids=lambda case: case[0])
def test_what_cannot_be_kept_is_refused(case):
    """With a sentence about the configuration and a hint; never a bare overflow."""
    words, call, *arguments = case
    with pytest.raises(ConfigError) as caught:
        call(*arguments)
    assert caught.value.hint
    assert re.search(words, f"{caught.value.message} ({caught.value.hint})")


def parts_of_conditions():
    """Yield thresholds, formulas and their values that fit nothing."""
    one, over = np.array([1]), Comparison.GT
    for wrong in (np.array([1.0]), np.array([], np.int64), np.array([[1]])):
        yield "thresholds", IntegerTest, over, wrong, 1
    for wrong in (0, 2**63):
        yield "sensitivity", IntegerTest, over, one, wrong
    for wrong in (Comparison.EQ, Comparison.NE):
        yield ">, >=, < or <=", IntegerTest, wrong, one, 1
    for wrong in (one, np.array([1.0, 2.0])):
        yield "statistics", IntegerTest(over, np.array([1, 2]), 1).quantise, wrong
    last = IntegerTest(over, np.array([np.iinfo(np.int64).max]), 1)
    yield "end of int64", Condition.single, last
    formula, a, b = Formula.parse("a AND b"), ThresholdAtom(0, one), ThresholdAtom(1, one)
    longer = ThresholdAtom(1, np.array([1, 2]))
    yield "one entry for each", Condition, formula, {"a": a}, (1, 1)
    yield "one threshold per cell", Condition, formula, {"a": a, "b": longer}, (1, 1)
    yield "every statistic", Condition, formula, {"a": a, "b": b}, (1,)
    for wrong in (0, -1, 1 << 63, 1 << 70):
        yield "fits int64", Condition, formula, {"a": a, "b": a}, (wrong,)
    yield "int64", ThresholdAtom, 0, np.array([1.5])
    for words, text in (
        ("at character 1, found the end; supported: names of atoms, AND, OR, NOT", ""),
        ("expected an atom, NOT or an opening parenthesis at character 6", "a AND"),
        ("expected AND, OR or the end at character 3, found 'b'", "a b"),
        ("at character 3, found '>'", "a > 5"),
        ("closing parenthesis at character 8", "(a OR b"),
        ("at character 2", "a)"),
        ("at character 1, found 'or'", "or"),
        ("at character 4", "NOT"),
        ("at character 1, found '2'", "2a"),
        ("at character 1", "é"),
        ("true whatever its atoms are", "a OR NOT a"),
        ("false whatever its atoms are", "(a OR b) AND NOT a AND NOT b"),
        ("17 distinct atoms and may have 16", " OR ".join(f"a{i}" for i in range(17))),
        ("at most 100 nested", "(" * 5000 + "a" + ")" * 5000),
        ("at most 100 nested", "NOT " * 5000 + "a"),
    ):
        yield words, Formula.parse, text
    either = Formula.parse("a OR NOT b")
    yield "missing: b; unknown: c", either.evaluate, {"a": YES, "c": YES}
    yield "missing: NOT b; unknown: b", either.evaluate_literals, {"a": YES, "b": YES}
    yield "bool", either.evaluate, {"a": YES, "b": np.ones(3)}
    yield "one shape", either.evaluate_literals, {"a": YES, "NOT b": YES[:2]}


def calls_of_mechanisms():
    """Yield aims of another size, levels without order, and statistics of another shape."""
    yield "one tolerance for each atom", DEFAULT.price, condition("a"), aim(2)
    yield "one tolerance", create, "tslm", condition("a AND b"), aim(1)
    first = aim(2, first_tolerances=(9,))
    yield "one first tolerance", create, "probe", condition("a AND b"), first
    for mechanism, *shapes in (
        ("ppwlm", (2,), (2, 3), (3, 2), (2, 2)),
        *((mechanism, (2,), (2, 3), (3, 2), (1, 2)) for mechanism in FORMULAS),
    ):
        text = "a" if mechanism == "ppwlm" else "a AND b"
        decide = create(mechanism, condition(text, 2), aim(len(set(text) & set("ab")))).decide
        for statistics in (*(np.zeros(shape, int) for shape in shapes), np.zeros((2, 2))):
            yield "int64", decide, statistics, NOISE
    for levels in ((), (NONE,), (-ONE, ONE), (ONE, ONE), (2, 1)):
        yield "gradual release", GradualNoise, levels
    for words, levels, bound, weights in (
        ("levels", [], BETA, []),
        ("levels", [NONE], BETA, [ONE]),
        ("levels", [Fraction(2), ONE], BETA, [ONE] * 2),
        ("bound", [ONE], NONE, [ONE]),
        ("bound", [ONE], ONE, [ONE]),
        ("weight", [ONE], BETA, [NONE]),
        ("weight", [ONE], BETA, [ONE] * 2),
    ):
        yield words, partial(boundaries, shape=weights), levels, bound
    cut = partial(boundaries, shape=[ONE], finest=Cut(0))
    yield "exceeds its share", cut, [ONE], BETA
    yield "no loss is negative", gaussian_units, -ONE
    yield "no keys and no identifiers", NOISE.token, 16
    for seed in (0.5, "7", np.random.default_rng(7)):
        yield "`seed` is a whole number", SeededSource, seed


def calls_of_runs():
    """Yield terms, states and laws of the sparse vector."""
    exp, lap, plan = Exponential(1), Laplace(1), svt.plan(3)
    for negatives, tolerance in ((0, 0), (-1, 0), (math.inf, 0), (1, -1), (1, math.nan)):
        yield "above 0", svt_correction, exp, lap, negatives, tolerance
    yield "above 0", lambda: svt_correction(Exponential(0), lap, 1)
    yield "closed form", svt_correction, lap, exp, 1
    yield "cannot see", svt_correction, exp, lap, 1e300, 0, "fft"
    yield "method", svt_correction, exp, lap, 1, 0, "guess"
    yield "at least one alarm", partial(optimal_split, monotone=True), 0
    good = {"steps": 3, "alpha": BETA, "beta": BETA, "alarms": 1, "questions": 1, "monotone": True}
    for wrong in (
        {"steps": 0},
        {"alarms": 0},
        {"questions": 0},
        {"alpha": NONE},
        {"beta": Fraction(1, 10**50)},
        {"alpha": Fraction(19, 20)},
    ):
        yield "at least", partial(planned_terms, **good | wrong)
    yield "loss unit", SvtPlan.of_budget, 3, 50
    for wrong in ({"open_units": 0}, {"alarm_units": 1}, {"alarms": 0}, {"questions": 0}):
        yield "out of range|loss unit", partial(replace, plan, **wrong)
    yield "correction", partial(replace, plan, correction=1 << 61)
    for negatives, beta in ((-1, 0.1), (1, 0.0), (1, 1.0)):
        yield "accuracy", accuracy, plan, negatives, beta
    yield "above 0", discrete_gaussian, NOISE, NONE, 1
    yield "delta", gaussian_epsilon, plan, 1.0, 1, 0.0
    for rung in (-1, 4):
        yield "`rung` is not from 0", partial(plan.cost_units, opening=True, rung=rung)
    state, steps = open_run(plan, NOISE), np.zeros(2, int)
    queued = replace(state, queue=np.zeros((1, 4), int))
    for terms, of in ((svt.plan(2), state), (svt.plan(3, open_units=5), state), (plan, queued)):
        yield "other terms", ask, terms, of, steps, NOISE
    for odd in (np.zeros(2), np.zeros((1, 2), int)):
        yield "int64", ask, plan, state, odd, NOISE
    run = Svt.planned(svt.condition(), svt.aim())
    yield "one row per statistic", run.ask, np.zeros((1, 2), int), state, NOISE
    yield "is negative", RunState, 0, -1, 0, 1
    yield "is negative", RunState, 0, 0, -1, 1
    yield "four int64", RunState, 0, 1, 0, 1, np.zeros((2, 3), int)
    yield "below their thresholds", missed_in_silence, plan, 0, 3
    yield "below their thresholds", missed_in_silence, plan, 2, -1
    yield "at least one window", endurance, plan, np.array([-1]), 0


def calls_of_panes_and_bands():
    """Yield sums of panes, and aggregates of a band."""
    panes, three = Panes.planned([asked(2, 9)]), np.zeros((3, 2), int)
    yield "at least one question", Panes.planned, []
    others = [asked(1, 5), asked(2, 5, sensitivity=2)]
    yield "same cells and sensitivity", Panes.planned, others
    yield "within 2\\^52", Panes.planned, [asked(1, 5, threshold=2**53)]
    yield "at most as many", panes.decide, 0, three
    yield "`question` is out", panes.decide, 1, three
    yield "one column per cell", panes.release, three[:, :1], NOISE
    yield "at least one pane", asked, 0, 5
    for law, (rate, terms) in product((LaplaceSum, LaplaceWalk), ((NONE, 1), (-ONE, 1), (ONE, 0))):
        yield "at least one term", law, rate, terms
    yield "`events` is not", Count, 0
    yield "sum", Sum, 3, 2
    yield "sum", Sum, 0, 0
    yield "sum", Sum, 0, 1 << 61
    yield "between 0 and 1", Quantile, NONE, range(4)
    yield "quantile", Quantile, Fraction(1, 10**6), range(4)
    for domain in (range(0), range(4, 0, -1), range(1 << 62, (1 << 62) + 2)):
        yield "domain", Quantile, HALF, domain
    yield "svt", tau_min, "svt", Sum(0, 4), HALF, BETA
    yield "quantile", TightBand.planned(MEDIAN, HALF, 3).error, 0


CALLS = [
    *parts_of_conditions(),
    *calls_of_mechanisms(),
    *calls_of_runs(),
    *calls_of_panes_and_bands(),
]


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case[0])
def test_what_makes_no_sense_is_a_programming_error(case):
    """Nothing is drawn or planned, and what is said is about the argument."""
    words, call, *arguments = case
    with pytest.raises((ValueError, TypeError), match=words):
        call(*arguments)
