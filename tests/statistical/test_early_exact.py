"""Early alarms by enumeration: a window costs its charge, not more, and keeps what it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product

import numpy as np
import pytest

from accountant.costs.runs import StoredRun
from accountant.units import UNITS_PER_EPSILON
from operators.registry import create
from operators.registry import price as priced
from operators.single.adapter import Scored
from operators.single.looks import EachLook, EarlyAlarms
from operators.single.tslm import Tslm
from operators.svt.early import RunLooks
from tests.statistical.enumeration import GivenNoise
from tests.statistical.svt_law import run_of, terms
from tests.support.exact import losses, transcripts
from tests.support.svt import aim, condition

"""Step counts of one cell, one per look."""
BOX = range(-3, 3)
LOOKS = 3
GROWING = [path for path in product(BOX, repeat=LOOKS) if path == tuple(sorted(path))]
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


def first_look(run, path, twin=""):
    """Return how likely each look is the first that rings, by transcripts.

    A twin asks a cell ``again`` that rang, or tells ``within`` whether half of the last step's
    growth would have rung as well.
    """

    def turn(said):
        look = len(said)
        if look == len(path) or (said and said[-1][1] and twin != "again"):
            return {}
        found = run.answers(look, path[look])
        if twin == "within":
            rings = found.pop((look, True))
            early = run.ring((path[look - 1 if look else 0] + path[look]) // 2)
            found[look, True, "early"] = np.minimum(early, rings)
            found[look, True, "late"] = np.maximum(rings - early, 0.0)
        return found

    return transcripts(run.threshold, turn)


def moved(path, spans):
    """Return the paths with one event more or less, that lies in some looks."""
    return [
        tuple(step + by * (look in span) for look, step in enumerate(path))
        for span in spans
        for by in (1, -1)
    ]


def neighbours(path):
    """Return the paths with one event more or less: it lies in a step and in all later ones."""
    return moved(path, (range(first, len(path)) for first in range(len(path))))


def forgetting(path):
    """Return those where a later event makes no difference of it, as in a distinct count."""
    looks = range(len(path))
    return moved(path, (looks[a:b] for a in looks for b in range(a + 1, len(path) + 1)))


def kept(step):
    """Return what the next look goes on with."""
    return StoredRun("", "", (), 1, 1, step.after.left, 0, 0, 0, step.after.state)


def steps_of(early, path):
    """Return the statistics of every look that give all cells a path's step counts."""
    test = early.condition.test(early.condition.formula.literals[0])
    zero = int(test.thresholds[0]) + int(test.quantise(test.thresholds)[0] < 0)
    shape = 1, early.condition.cells
    return [np.full(shape, zero + step) for step in path]


def counted(cells=1, *, steady=True):
    """Return COUNT > 50, of events that stay or may be forgotten."""
    return replace(condition(cells), steady=steady)


def planned(mechanism, cells=1, *, steady=True):
    """Return what looks at it so often."""
    found = create(mechanism, counted(cells, steady=steady), EARLY)
    assert isinstance(found, EarlyAlarms)
    return found


def asked_by(early):
    """Return a planned run as the enumeration sees it."""
    assert isinstance(early.looker, RunLooks)
    return run_of(early.looker.terms)


def worst(law, others, paths):
    """Return the worst loss of any outcome, over all neighbours."""
    told = cache(law)
    pairs = ((path, other) for path in paths for other in others(path))
    return max(loss for one, two in pairs for _, loss in losses(told(one), told(two)))


FALLING = [path for path in product(range(-2, 2), repeat=LOOKS) if path != tuple(sorted(path))]
FORGETS = {True: neighbours, False: forgetting}
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
    run, law = RUNS[name], partial(first_look, RUNS[name])
    for steady, others in FORGETS.items():
        assert abs(worst(law, others, GROWING) - price(run, steady=steady)) < 1e-9
        assert worst(law, others, FALLING) < price(run, steady=steady) + 1e-9
        if name == f"as planned, {steady}":
            epsilon = float(planned("svt", steady=steady).plan.epsilon)
            assert math.isclose(price(run, steady=steady), epsilon, rel_tol=1e-9)


FRESH = run_of(plan(), crashes=True)


@pytest.mark.parametrize(
    ("run", "twin", "least"), [(FRESH, "", 0.05), (SOUND, "again", 0.05), (SOUND, "within", 99)]
)
def test_broken_looks_are_caught(run, twin, least):
    """A threshold drawn anew for every step, a cell that rings twice, a time finer than a step."""
    for steady, others in FORGETS.items():
        law = partial(first_look, run, twin=twin)
        assert worst(law, others, GROWING) > price(run, steady=steady) + least


def test_a_distinct_count_at_the_price_of_a_count_is_caught():
    """Who takes every count for one in which events stay charges too little."""
    law = partial(first_look, SOUND)
    assert worst(law, forgetting, GROWING) > price(SOUND, steady=True) + 0.4


def test_the_code_has_the_law_of_the_definition():
    """All noises in a box as cells of one window: which look rings, weighed by their chances."""
    side, path = 16, (-2, 0, 1)
    axes = np.meshgrid(*[np.arange(side)] * (LOOKS + 1), indexing="ij")
    rho, *asked = (axis.ravel() for axis in axes)
    early = planned("svt", cells=rho.size)
    plan = asked_by(early).plan
    noise = GivenNoise(rho, *asked)
    first = first_rings(early, path, noise)
    rates = [plan.threshold_rate, *[plan.query_rate] * LOOKS]
    mass = np.ones(rho.size)
    for rate, drawn in zip(map(float, rates), (rho, *asked), strict=True):
        mass *= -math.expm1(-rate) * np.exp(-rate * drawn)
    outside = 1 - mass.sum()
    for look, chance in by_look(first_look(asked_by(early), path)).items():
        assert -1e-12 <= chance - mass[first == look].sum() <= outside + 1e-12
    assert noise.rates == rates


def by_look(law):
    """Return how likely each look is the first that rings, -1 for none."""
    return {len(said) - 1 if said[-1][1] else -1: mass for said, mass in law.items()}


def first_rings(early, path, noise):
    """Return the first look that rings, per cell, or -1, as the ledger carries the state along."""
    first = np.full(early.condition.cells, -1)
    before = None
    for look, statistics in enumerate(steps_of(early, path)):
        step = early.go_on(statistics, before, noise, window=look)
        assert not (first[step.fired] >= 0).any()  # once per window
        first[step.fired] = look
        before = kept(step)
    return first


def of_each_look(early, path):
    """Return the law of looks that are decisions of their own, in rationals."""
    assert isinstance(early.looker, EachLook)
    scored = early.looker.operator
    assert isinstance(scored, Scored)
    once = scored.operator
    assert isinstance(once, Tslm)
    found = {}
    left = Fraction(1)
    for look, statistics in enumerate(steps_of(early, path)):
        rings = Fraction(int(once.law(scored.score.read(statistics))[0]), 1 << 64)
        found[look] = left * rings
        left *= 1 - rings
    found[-1] = left
    return found


def test_decisions_of_their_own_cost_their_sum_and_not_more():
    """Each look by tslm: the worst loss is what all looks cost, and half of it is too little."""
    early = planned("tslm")
    loss = worst(partial(of_each_look, early), neighbours, GROWING)
    assert loss <= float(early.plan.epsilon) * (1 + 1e-12)
    assert loss > float(early.plan.epsilon) * 0.99


LAWS = {
    "svt": lambda early, path: by_look(first_look(asked_by(early), path)),
    "tslm": of_each_look,
}


@pytest.mark.parametrize("mechanism", LAWS)
def test_misses_and_false_alarms_are_as_promised(mechanism):
    """What holds at the end has rung by then; what never comes near seldom rings at any look."""
    early = planned(mechanism)
    chances = LAWS[mechanism]
    steps = condition().test(condition().formula.literals[0]).steps(EARLY.tolerances[0])
    far = -(10**6)
    missed = max(
        chances(early, path)[-1]
        for path in ((far, far, 0), (far, 0, 0), (0, 0, 0), (far, far, 2), (2, 2, 0))
    )
    assert missed <= EARLY.max_fnr
    assert missed > 0.9 * EARLY.max_fnr
    false = 1 - chances(early, (-steps,) * LOOKS)[-1]
    assert 0 < false <= EARLY.max_fnr
    nearer = 1 - chances(early, (1 - steps,) * LOOKS)[-1]
    assert nearer > false


@pytest.mark.parametrize(
    ("looks", "steady", "times"),
    [(12, False, 2.99), (60, False, 3.58), (12, True, 1.56), (60, True, 1.91)],
)
def test_prices_beside_one_decision(looks, steady, times):
    """The table of the guide: prices of a window beside one decision at its end."""
    asked = aim(15)
    run = priced("svt", counted(steady=steady), replace(asked, looks=looks))
    once = priced("tslm", condition(), asked)
    each = priced("tslm", condition(), replace(asked, looks=looks))
    assert abs(float(run.epsilon / once.epsilon) - times) < 0.02
    assert each.epsilon > 5 * run.epsilon
    assert run.epsilon * UNITS_PER_EPSILON == int(run.epsilon * UNITS_PER_EPSILON)
