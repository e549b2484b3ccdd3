"""The planner's run against the paper's split and optimal correction: never dearer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from operators import SvtPlan
from operators.svt import integer_correction
from operators.svt.planning import planned_terms
from tests.support.tree import ROOT

RATE = Fraction(1, 20)
PAGE = ROOT / "docs" / "research" / "svt-runs.md"
NEGATIVES = (1, 20)
STEPS = (1, 5, 21, 101)  # odd: the paper's tolerance is half of what lies between
ALARMS = (1, 10, 50)


def planned(steps, alarms, *, monotone, questions=1):
    """Return the planner's terms at usual rates."""
    return planned_terms(steps, RATE, RATE, alarms=alarms, questions=questions, monotone=monotone)


def keeps(units, steps, mine, negatives):
    """Tell whether the paper's run of this loss keeps the promise, in floats.

    Its threshold lies midway, so that either error is ``tolerance`` away from it.
    """
    plan = SvtPlan.of_budget(units, mine.alarms, monotone=mine.monotone)
    tolerance = (steps - 1) // 2
    r = integer_correction(plan, negatives, tolerance) - tolerance
    law = replace(plan, correction=r).difference
    return law.below(r) <= RATE and law.at_least(r + steps) <= RATE / mine.questions


def ratio(steps, mine, negatives):
    """Return about how much dearer the paper's run is, by halving."""
    low, high = 1.0, 2.0
    while not keeps(round(high * mine.epsilon_units), steps, mine, negatives):
        low, high = high, 2 * high
    for _ in range(12):
        middle = (low + high) / 2
        kept = keeps(round(middle * mine.epsilon_units), steps, mine, negatives)
        low, high = (low, middle) if kept else (middle, high)
    return high


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("steps", STEPS)
def test_no_run_of_the_paper_keeps_the_promise_for_less(steps, monotone):
    """At less than the planner's loss the paper's split and correction break the promise."""
    for alarms, questions, negatives in product(ALARMS, (1, 12), NEGATIVES):
        mine = planned(steps, alarms, monotone=monotone, questions=questions)
        for share in (0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 0.999999):
            units = int(share * mine.epsilon_units)
            assert not keeps(units, steps, mine, negatives), (alarms, questions, negatives, share)


def test_a_dearer_planner_is_caught():
    """A plan at five times its price is undercut at once, by the same check."""
    mine = planned(21, 10, monotone=True)
    dear = replace(mine, open_units=5 * mine.open_units, alarm_units=5 * mine.alarm_units)
    assert keeps(int(0.9 * dear.epsilon_units), 21, dear, 1)


@pytest.mark.parametrize("steps", STEPS)
def test_the_page_has_these_ratios(steps):
    """How much dearer the paper's run is for the same promise, as the page's table says."""
    cells = [
        f"{ratio(steps, planned(steps, alarms, monotone=True), negatives):.2f}"
        for alarms, negatives in product(ALARMS, NEGATIVES)
    ]
    assert f"| {steps} | {' | '.join(cells)} |" in PAGE.read_text()
