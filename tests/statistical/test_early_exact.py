"""Early alarms by enumeration: a window costs its charge, not more, and keeps what it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.costs.runs import StoredRun
from accountant.units import UNITS_PER_EPSILON
from operators.registry import create, price
from operators.single.adapter import Scored
from operators.single.looks import EachLook, EarlyAlarms
from operators.single.tslm import Tslm
from operators.svt.early import RunLooks
from tests.statistical.early_law import (
    Path,
    Run,
    forgetting,
    growing,
    law,
    neighbours,
    steps_of,
    worst_loss,
)
from tests.statistical.enumeration import GivenNoise
from tests.support.svt import aim, condition

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from operators.conditions.condition import Condition

BOX = range(-3, 3)
LOOKS = 3
GROWING = [path for path in product(BOX, repeat=LOOKS) if growing(path)]
SOUND = Run(0.7, 0.5, -1)
EARLY = replace(aim(4), looks=LOOKS)


def counted(cells: int = 1, *, steady: bool = True) -> Condition:
    """Return COUNT > 50, of events that stay or may be forgotten."""
    return replace(condition(cells), steady=steady)


def planned(mechanism: str, cells: int = 1, *, steady: bool = True) -> EarlyAlarms:
    """Return what looks at it so often."""
    found = create(mechanism, counted(cells, steady=steady), EARLY)
    assert isinstance(found, EarlyAlarms)
    return found


def run_of(early: EarlyAlarms) -> Run:
    """Return a planned run as the enumeration sees it."""
    assert isinstance(early.looker, RunLooks)
    terms = early.looker.terms
    return Run(float(terms.threshold_rate), float(terms.query_rate), terms.correction)


def worst(run: Run, others: Callable[[Path], list[Path]], paths: list[Path]) -> float:
    """Return the worst loss of any outcome, over all neighbours."""
    return max(
        worst_loss(law(run, path), law(run, other)) for path in paths for other in others(path)
    )


@pytest.mark.parametrize("run", [SOUND, Run(0.5, 0.7, -1), Run(0.6, 0.6, 0)])
def test_an_event_that_stays_pays_the_dearer_of_threshold_and_ring(run):
    """Every growing path of three looks, an event in any step: worst loss = max(eps_1, x)."""
    assert abs(worst(run, neighbours, GROWING) - run.dearer) < 1e-9


def test_an_event_that_is_forgotten_pays_both():
    """In a distinct count a later event may stand for it: worst loss = eps_1 + x."""
    assert abs(worst(SOUND, forgetting, GROWING) - SOUND.both) < 1e-9


def test_sums_that_fall_cost_no_more():
    """The proof asks nothing of the path: it may go up and down."""
    paths = [path for path in product(range(-2, 2), repeat=LOOKS) if not growing(path)]
    assert worst(SOUND, neighbours, paths) < SOUND.dearer + 1e-9
    assert worst(SOUND, forgetting, paths) < SOUND.both + 1e-9


@pytest.mark.parametrize("steady", [True, False])
def test_a_planned_window_costs_its_plan(steady):
    """The same of terms that the planner found, against what the ledger is told."""
    early = planned("svt", steady=steady)
    run, epsilon = run_of(early), float(early.plan.epsilon)
    loss = worst(run, neighbours if steady else forgetting, GROWING)
    assert math.isclose(loss, epsilon, rel_tol=1e-9)
    assert math.isclose(run.dearer if steady else run.both, epsilon, rel_tol=1e-9)


@pytest.mark.parametrize(("twin", "least"), [("fresh", 0.05), ("again", 0.05), ("within", 99)])
def test_broken_looks_are_caught(twin, least):
    """A threshold drawn anew for every step, a cell that rings twice, a time finer than a step."""
    broken = replace(SOUND, twin=twin)
    assert worst(broken, neighbours, GROWING) > broken.dearer + least
    assert worst(broken, forgetting, GROWING) > broken.both + least


def test_a_distinct_count_at_the_price_of_a_count_is_caught():
    """Who takes every count for one in which events stay charges too little."""
    assert worst(SOUND, forgetting, GROWING) > SOUND.dearer + 0.4


def test_the_code_has_the_law_of_the_definition():
    """All noises in a box as cells of one window: which look rings, weighed by their chances."""
    side, path = 16, (-2, 0, 1)
    axes = np.meshgrid(*[np.arange(side)] * (LOOKS + 1), indexing="ij")
    rho, *asked = (axis.ravel() for axis in axes)
    early = planned("svt", cells=rho.size)
    run = run_of(early)
    noise = GivenNoise(rho, *asked)
    first = first_rings(early, path, noise)
    rates = (run.open_eps, *[run.alarm_eps] * LOOKS)
    mass = np.ones(rho.size)
    for rate, drawn in zip(rates, (rho, *asked), strict=True):
        mass *= -math.expm1(-rate) * np.exp(-rate * drawn)
    outside = 1 - mass.sum()
    for look, chance in law(run, path).items():
        assert -1e-12 <= chance - mass[first == look].sum() <= outside + 1e-12
    assert isinstance(early.looker, RunLooks)
    assert (
        noise.rates == [early.looker.terms.threshold_rate] + [early.looker.terms.query_rate] * LOOKS
    )


def first_rings(early: EarlyAlarms, path: Path, noise: GivenNoise) -> np.ndarray:
    """Return the first look that rings, per cell, or -1, as the ledger carries the state along."""
    first = np.full(early.condition.cells, -1)
    before = None
    for look, statistics in enumerate(steps_of(early, path)):
        step = early.go_on(statistics, before, noise, window=look)
        assert not (first[step.fired] >= 0).any()  # once per window
        first[step.fired] = look
        after = step.after
        before = StoredRun("", "", (), 1, 1, after.left, 0, 0, 0, after.state)
    return first


def of_each_look(early: EarlyAlarms, path: Path) -> Mapping[Hashable, Fraction]:
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
    loss = max(
        math.log(mass / theirs[said])
        for path in GROWING
        for other in neighbours(path)
        for theirs in (of_each_look(early, other),)
        for said, mass in of_each_look(early, path).items()
    )
    assert loss <= float(early.plan.epsilon) * (1 + 1e-12)
    assert loss > float(early.plan.epsilon) * 0.99


LAWS = {
    "svt": lambda early, path: law(run_of(early), path),
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
    run = price("svt", counted(steady=steady), replace(asked, looks=looks))
    once = price("tslm", condition(), asked)
    each = price("tslm", condition(), replace(asked, looks=looks))
    assert abs(float(run.epsilon / once.epsilon) - times) < 0.02
    assert each.epsilon > 5 * run.epsilon
    assert run.epsilon * UNITS_PER_EPSILON == int(run.epsilon * UNITS_PER_EPSILON)
