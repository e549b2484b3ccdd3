"""Early alarms by enumeration: a window costs its charge, not more, and keeps what it promises.

That the code answers as the definition does is held by ``test_early_pipeline_exact``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from accountant.costs.runs import StoredRun
from operators.registry import create
from operators.registry import price as price_of
from operators.single.looks import EachLook, EarlyAlarms
from operators.svt.early import RunLooks
from tests.statistical.enumeration import ONE, ints
from tests.statistical.svt_law import law, run_of, terms
from tests.support.exact import excess
from tests.support.svt import aim, condition

LOOKS = 3
GROWING = list(combinations_with_replacement(range(-3, 3), LOOKS))
"""Step counts of one cell, one per look."""
EARLY = replace(aim(4), looks=LOOKS)


def plan(opening="7/10", alarm="1/2", correction=-1):
    """Return the terms of one cell's looks."""
    losses = {"opening": Fraction(opening), "alarm": Fraction(alarm)}
    return terms(1, **losses, monotone=True, correction=correction)


SOUND = run_of(plan())


def price(run, *, steady):
    """Return what a cell of a window is charged: where its events stay, the dearer of two.

    Otherwise a neighbour may pay for threshold and ring.
    """
    both = float(run.plan.threshold_rate), float(run.plan.query_rate)
    return max(both) if steady else sum(both)


def within(run):
    """Return a twin that tells whether half of the last step's growth would have rung as well."""

    def released(growth):
        before, step = growth
        rings, early = run.ring(step), run.ring((before + step) // 2)
        return {"early": np.minimum(early, rings), "late": np.maximum(rings - early, 0.0)}

    finer = replace(run, ring=lambda growth: run.ring(growth[1]), released=released)
    return lambda path: law(finer, tuple(zip((path[0], *path), path, strict=False)))


def neighbours(path, *, forgets=False):
    """Return the paths with one event more or less: it lies in a step and in all later ones.

    Or up to where a later event makes no difference of it, as in a distinct count, which forgets.
    """
    for first, end in combinations(range(len(path) + 1), 2):
        if forgets or end == len(path):
            for by in (1, -1):
                yield (*path[:first], *(step + by for step in path[first:end]), *path[end:])


def kept(step):
    """Return what the next look goes on with."""
    return StoredRun("", "", (), 1, 1, step.after.left, 0, 0, 0, step.after.state)


def counted(*, steady=True):
    """Return COUNT > 50, of events that stay or may be forgotten."""
    return replace(condition(1), steady=steady)


def planned(mechanism, *, steady=True):
    """Return what looks at it so often."""
    found = create(mechanism, counted(steady=steady), EARLY)
    assert isinstance(found, EarlyAlarms)
    return found


def asked_by(early):
    """Return a planned run as the enumeration sees it."""
    assert isinstance(early.looker, RunLooks)
    return run_of(replace(early.looker.terms, questions=1))  # each look is a cell of its own


def worst(of, others, paths):
    """Return the worst loss of any outcome, over all neighbours."""
    told = cache(of)
    return max(excess(told(path), told(other)) for path in paths for other in others(path))


FALLING = sorted({*product(range(-2, 2), repeat=LOOKS)}.difference(GROWING))
FORGETS = {True: neighbours, False: partial(neighbours, forgets=True)}
"""Neighbours, by whether events stay."""
RUNS = {
    "sound": SOUND,
    "a dearer ring": run_of(plan("1/2", "7/10")),
    "even": run_of(plan("3/5", "3/5", 0)),
    **{f"as planned, {steady}": asked_by(planned("svt", steady=steady)) for steady in FORGETS},
}


@pytest.mark.parametrize("name", RUNS)
def test_an_event_that_stays_pays_the_dearer_of_threshold_and_ring(name):
    """Every growing path of three looks, an event in any step; where it may be forgotten, both.

    In a distinct count a later event may stand for it. Of the planned terms that is what the ledger
    is told; sums that fall cost no more, as the proof asks nothing of the path.
    """
    run, told = RUNS[name], partial(law, RUNS[name])
    for steady, others in FORGETS.items():
        assert abs(worst(told, others, GROWING) - price(run, steady=steady)) < 1e-9
        assert worst(told, others, FALLING) < price(run, steady=steady) + 1e-9
        if name == f"as planned, {steady}":
            epsilon = float(planned("svt", steady=steady).plan.epsilon)
            assert math.isclose(price(run, steady=steady), epsilon, rel_tol=1e-9)


TWINS = {
    "a threshold drawn anew for every step": (partial(law, run_of(plan(), crashes=True)), 0.05),
    "a cell that rings twice": (partial(law, run_of(replace(plan(), alarms=LOOKS))), 0.05),
    "a time finer than a step": (within(SOUND), 99),
}


@pytest.mark.parametrize("name", TWINS)
def test_broken_looks_are_caught(name):
    """Each loses more than is charged, whether events stay or may be forgotten."""
    twin, least = TWINS[name]
    for steady, others in FORGETS.items():
        assert worst(twin, others, GROWING) > price(SOUND, steady=steady) + least


def test_a_distinct_count_at_the_price_of_a_count_is_caught():
    """Who takes every count for one in which events stay charges too little."""
    assert worst(partial(law, SOUND), FORGETS[False], GROWING) > price(SOUND, steady=True) + 0.4


def by_look(law):
    """Return how likely each look is the first that rings, -1 for none."""
    return {len(said) - 1 if said[-1][1] else -1: mass for said, mass in law.items()}


def of_each_look(early, path):
    """Return the law of looks that are decisions of their own, in rationals."""
    assert isinstance(early.looker, EachLook)
    scored, left, found = early.looker.operator, Fraction(1), {}
    for look, step in enumerate(path):
        rings = Fraction(int(scored.operator.law(scored.score.read(ints([[51 + step]])))[0]), ONE)
        found[look] = left * rings
        left *= 1 - rings
    return found | {-1: left}


def test_decisions_of_their_own_cost_their_sum_and_not_more():
    """Each look by tslm: the worst loss is what all looks cost, and half of it is too little."""
    early = planned("tslm")
    loss = worst(partial(of_each_look, early), neighbours, GROWING)
    assert loss <= float(early.plan.epsilon) * (1 + 1e-12)
    assert loss > float(early.plan.epsilon) * 0.99


LAWS = {
    "svt": lambda early, path: by_look(law(asked_by(early), path)),
    "tslm": of_each_look,
}


@pytest.mark.parametrize("mechanism", LAWS)
def test_misses_and_false_alarms_are_as_promised(mechanism):
    """What holds at the end has rung by then; what never comes near seldom rings at any look."""
    early, chances = planned(mechanism), LAWS[mechanism]
    steps, far = early.condition.test("a").steps(EARLY.tolerances[0]), -(10**6)
    true = ((far, far, 0), (far, 0, 0), (0, 0, 0), (far, far, 2), (2, 2, 0))
    missed = max(chances(early, path)[-1] for path in true)
    assert 0.9 * EARLY.max_fnr < missed <= EARLY.max_fnr
    false, nearer = (1 - chances(early, (far,) * LOOKS)[-1] for far in (-steps, 1 - steps))
    assert 0 < false <= EARLY.max_fnr
    assert nearer > false


@pytest.mark.parametrize(
    ("looks", "steady", "times"),
    [(12, False, 2.99), (60, False, 3.58), (12, True, 1.56), (60, True, 1.91)],
)
def test_prices_beside_one_decision(looks, steady, times):
    """The table of the guide: prices of a window beside one decision at its end."""
    asked = aim(15)
    run = price_of("svt", counted(steady=steady), replace(asked, looks=looks)).epsilon
    once = price_of("tslm", condition(), asked).epsilon
    assert abs(float(run / once) - times) < 0.02
    assert price_of("tslm", condition(), replace(asked, looks=looks)).epsilon > 5 * run
