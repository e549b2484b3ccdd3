"""A sparse vector's charge by enumeration: every transcript costs its alarms, broken runs more."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.statistical.svt_law import (
    AT,
    exponential,
    geometric,
    law,
    moved,
    run_of,
    terms,
)
from tests.support.exact import excess, losses


def moves_of(cells, *, monotone):
    """Return how a neighbour may move the step counts of so many cells."""
    if monotone:
        return [*product((0, 1), repeat=cells), *product((0, -1), repeat=cells)]
    return list(product((-1, 0, 1), repeat=cells))


def worst(run, patterns, *, monotone=None):
    """Return by how much the worst transcript of all neighbours loses more than its charge."""
    one_way = run.plan.monotone if monotone is None else monotone
    return max(
        excess(law(run, steps), law(run, moved(steps, moves)), run.charge)
        for steps in patterns
        for moves in moves_of(len(steps), monotone=one_way)
    )


PLANS = [
    terms(alarms, monotone=monotone, questions=questions, one_sided=one_sided)
    for one_sided in (True, False)
    for alarms in (1, 2)
    for monotone in (False, True)
    for questions in (1, 2)
]


def name_of(plan):
    """Return a short name of a plan."""
    kind = "monotone" if plan.monotone else "any"
    side = "one" if plan.one_sided else "two"
    return f"{side}-sided-{kind}-c{plan.alarms}-k{plan.questions}"


@pytest.mark.parametrize("plan", PLANS, ids=name_of)
def test_no_transcript_costs_more_than_its_alarms(plan):
    """Two cells, every step counts in a box, every neighbour: ex post, loss is at most charge."""
    assert worst(run_of(plan), product(range(-2, 4), repeat=2)) < 1e-9


@pytest.mark.parametrize("plan", PLANS, ids=name_of)
def test_five_questions_attain_the_charge(plan):
    """High negatives before low positives lose all that a spent run costs; nobody loses more."""
    run, size = run_of(plan), 5 if plan.questions == 1 else 4
    patterns = (4, -1, 4, -1, 0), (0, 3, -2, 1, 2), (4, 4, -2, -2, 0), (-1, 4, -1, 4, 0)
    assert worst(run, [each[:size] for each in patterns]) < 1e-9
    steps, whole = patterns[0][:size], plan.epsilon_units / 10**12
    spent = max(
        loss
        for moves in moves_of(size, monotone=plan.monotone)
        for said, loss in losses(law(run, steps), law(run, moved(steps, moves)))
        if run.charge(said) == pytest.approx(whole)
    )
    assert spent == pytest.approx(whole, abs=1e-9)


PLAIN = terms(2)
RATE = float(PLAIN.query_rate)


def published(step):
    """Return the law of an alarm's distance to the public threshold."""
    drawn = {number: number - step for number in range(-2, 8)}
    return {
        number: np.where(least >= AT - step, -math.expm1(-RATE) * math.exp(-RATE * least), 0.0)
        for number, least in drawn.items()
        if least >= 0
    }


FALLS = {"threshold": geometric(0.7)[::-1].copy()}
SOME = [(4, 4, -1), (3, -1, -1), (0, 1, -1)]
HALVES = terms(1, opening=Fraction(1), alarm=Fraction(1), monotone=True)
BROKEN = {
    "threshold noise of the other sign": (run_of(PLAIN, **FALLS), SOME, math.inf),
    "no threshold noise": (run_of(PLAIN, threshold=(AT == 0) * 1.0), SOME, 0.1),
    "no query noise": (run_of(PLAIN, ring=lambda step: (step >= AT) * 1.0), SOME, math.inf),
    "noise not scaled by c": (run_of(PLAIN, ring=exponential(2 * RATE)), SOME, 0.1),
    "released distance to the public threshold": (
        run_of(PLAIN, released=published),
        SOME,
        0.1,
    ),
    "threshold redrawn after a crash": (run_of(PLAIN, crashes=True), SOME, 0.1),
    "monotone scale with COUNT > and COUNT <": (run_of(terms(2, monotone=True)), SOME, 0.1),
    # The same of one alarm: half as much again as is charged.
    "COUNT > and COUNT < in one run": (run_of(HALVES), [(4, -1)], 1 - 1e-9),
    # With rho = -Geo a cell at -1 can be quiet, one at 0 cannot.
    "falling, of one cell": (run_of(terms(1), **FALLS), [(-1,)], math.inf),
    "falling, one way": (run_of(terms(1, monotone=True), **FALLS), [(-1,)], math.inf),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_runs_are_caught(name):
    """Each of these twins loses more than is charged, by the check that the code passes."""
    run, patterns, least = BROKEN[name]
    assert worst(run, patterns, monotone=False) >= least
    assert worst(run_of(PLAIN), patterns, monotone=False) < 1e-9
