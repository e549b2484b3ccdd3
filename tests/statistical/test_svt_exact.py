"""A sparse vector's charge by enumeration: every transcript costs its alarms, broken runs more."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

from accountant.units import UNITS_PER_EPSILON
from tests.statistical.svt_law import Rules, Steps, law, rules_of, terms

if TYPE_CHECKING:
    from operators.svt.terms import SvtPlan

LOW, HIGH = -2, 3


def excess(rules: Rules, steps: Steps, moves: Steps) -> float:
    """Return by how much the worst transcript's loss exceeds its charge, one way round."""
    ours = law(rules, steps)
    theirs = law(rules, tuple(a + b for a, b in zip(steps, moves, strict=True)))
    worst = -math.inf
    for said, mass in ours.items():
        if mass < 1e-30:  # below, what was cut off could count
            continue
        rung = sum(answer for _, answer in said)
        if rules.released:
            rung //= 2
        other = theirs.get(said, 0.0)
        loss = math.log(mass / other) if other > 0 else math.inf
        worst = max(worst, loss - rules.charge(rung))
    return worst


def moves_of(cells: int, *, monotone: bool) -> list[Steps]:
    """Return how a neighbour may move the step counts of so many cells."""
    if monotone:
        return [*product((0, 1), repeat=cells), *product((0, -1), repeat=cells)]
    return list(product((-1, 0, 1), repeat=cells))


PLANS = [
    terms(alarms, monotone=monotone, questions=questions, one_sided=one_sided)
    for one_sided in (True, False)
    for alarms in (1, 2)
    for monotone in (False, True)
    for questions in (1, 2)
]


def name_of(plan: SvtPlan) -> str:
    """Return a short name of a plan."""
    kind = "monotone" if plan.monotone else "any"
    side = "one" if plan.one_sided else "two"
    return f"{side}-sided-{kind}-c{plan.alarms}-k{plan.questions}"


@pytest.mark.parametrize("plan", PLANS, ids=name_of)
def test_no_transcript_costs_more_than_its_alarms(plan):
    """Two cells, every step counts in a box, every neighbour: ex post, loss is at most charge."""
    rules = rules_of(plan)
    worst = max(
        excess(rules, steps, moves)
        for steps in product(range(LOW, HIGH + 1), repeat=2)
        for moves in moves_of(2, monotone=plan.monotone)
    )
    assert worst < 1e-9


@pytest.mark.parametrize("plan", PLANS, ids=name_of)
def test_five_questions_attain_the_charge(plan):
    """High negatives before low positives lose the charge of a spent run, and nobody loses more."""
    rules = rules_of(plan)
    patterns = [
        (4, -1, 4, -1, 0),
        (0, 3, -2, 1, 2),
        (4, 4, -2, -2, 0),
        (-1, 4, -1, 4, 0),
    ]
    if plan.questions > 1:
        patterns = [each[:4] for each in patterns]
    worst = max(
        excess(rules, steps, moves)
        for steps in patterns
        for moves in moves_of(len(steps), monotone=plan.monotone)
    )
    assert abs(worst) < 1e-9


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("monotone", [False, True])
def test_a_spent_run_attains_its_whole_price(monotone, one_sided):
    """A transcript with all alarms loses eps_1 + eps_2 to 1e-6."""
    plan = terms(2, monotone=monotone, one_sided=one_sided)
    rules = rules_of(plan)
    steps = (4, -1, 4, -1)
    moves = (1, 0, 1, 0) if monotone else (1, -1, 1, -1)
    said = ((0, False), (1, True), (2, False), (3, True))
    other = tuple(a + b for a, b in zip(steps, moves, strict=True))
    loss = math.log(law(rules, steps)[said] / law(rules, other)[said])
    assert abs(loss - plan.epsilon_units / UNITS_PER_EPSILON) < 1e-6


SOUND = rules_of(terms(2))
BROKEN = {
    "threshold noise of the other sign": replace(SOUND, threshold="falling"),
    "no threshold noise": replace(SOUND, threshold="none"),
    "no query noise": replace(SOUND, query_noise=False),
    "noise not scaled by c": replace(SOUND, scale=SOUND.scale * 2),
    "released distance to the public threshold": replace(SOUND, released="value"),
    "threshold redrawn after a crash": replace(SOUND, crashes=True),
    "monotone scale with COUNT > and COUNT <": rules_of(terms(2, monotone=True)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_runs_are_caught(name):
    """Each of seven broken twins loses more than is charged, by the check that the code passes."""

    def worst(rules):
        return max(
            excess(rules, steps, moves)
            for steps in [(4, 4, -1), (3, -1, -1), (0, 1, -1)]
            for moves in moves_of(3, monotone=False)
        )

    assert worst(BROKEN[name]) > 0.1
    assert worst(SOUND) < 1e-9


@pytest.mark.parametrize("monotone", [False, True])
def test_a_threshold_noise_that_falls_tells_for_certain(monotone):
    """With rho = -Geo a cell at -1 can be quiet, one at 0 cannot, and the loss has no bound."""
    rules = replace(rules_of(terms(1, monotone=monotone)), threshold="falling")
    assert excess(rules, (-1,), (1,)) == math.inf
    assert excess(rules, (-1,), (0,)) < 1e-9


def test_counts_above_and_below_in_one_run_lose_half_as_much_again():
    """COUNT > c with COUNT < c at the monotone scale: 3.0 where 2.0 is charged."""
    rules = Rules(open_eps=1.0, alarm_eps=1.0, alarms=1, scale=1.0)
    assert excess(rules, (4, -1), (1, -1)) == pytest.approx(1.0, abs=1e-9)
    assert excess(rules, (4, -1), (1, 0)) < 1e-9


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("monotone", [False, True])
def test_distance_to_the_noisy_threshold_would_be_free(monotone, one_sided):
    """The gap above the noisy threshold loses nothing more; the code releases it nonetheless not.

    Shifting the threshold's noise up never asks a question's noise to be negative: only the
    distance to the public threshold tells where the support of one-sided noise begins.
    """
    plan = terms(2, monotone=monotone, one_sided=one_sided)
    rules = replace(rules_of(plan), released="gap")
    worst = max(
        excess(rules, steps, moves)
        for steps in [(3, -1, -1), (0, 2, -1)]
        for moves in moves_of(3, monotone=monotone)
    )
    assert worst < 1e-9
