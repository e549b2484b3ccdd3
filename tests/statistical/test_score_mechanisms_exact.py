"""Every mechanism that decides a condition by its score, by enumeration; twins are caught.

The neighbours move all statistics at once, in any directions; the corners are all data.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import norm

from accountant.units import UNITS_PER_EPSILON, to_loss_units
from operators.base import Promise
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.conditions.score import score_of
from operators.registry import create, mechanism_of, price
from operators.single.tslm import Tslm
from operators.svt.early import RunLooks, early_terms
from operators.svt.mechanism import Svt
from operators.svt.terms import SvtPlan, log_at_least, threshold_law
from tests.statistical.enumeration import Floats, ints, least_epsilon
from tests.statistical.test_score_exact import BETA, CASES, Case, moves_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


CLOSE = 1e-9
PROMISED = [case for case in CASES if case.distance() is not None]
SIX = tuple("abcdef")


def condition(text: str, threshold: int = 20, **more: object) -> Condition:
    """Return a condition over counts, each atom on one of its own."""
    formula = Formula.parse(text)
    atoms = {name: ThresholdAtom(at, ints([threshold])) for at, name in enumerate(formula.atoms)}
    made = Condition(formula, atoms, (1,) * len(atoms))
    return replace(made, **more)  # type: ignore[arg-type]  # fields of a condition


def aim_of(case: Case, **more: object) -> Aim:
    """Return the aim of a case."""
    return replace(Aim(BETA, case.tolerances), **more)  # type: ignore[arg-type]


def chances(case: Case, mechanism: str, aim: Aim) -> Floats:
    """Return how likely the cell fires, for all data."""
    operator = create(mechanism, case.condition, aim, experimental=True)
    scores = case.score.of(0, case.data)
    _, first, back = np.unique(scores, return_index=True, return_inverse=True)
    found = operator.chances(0, case.data[:, first])
    assert found is not None
    return np.asarray(found[back].reshape(case.shape))


def loss(case: Case, law: Floats, distance: Callable[[Floats, Floats], Floats]) -> float:
    """Return the largest distance between the laws of neighbours."""
    return max(
        float(distance(law[here], law[there]).max()) for here, there in moves_of(case) if law.size
    )


def odds(one: Floats, other: Floats) -> Floats:
    """Return the loss of two coins."""
    both = np.abs(np.log(one / other)), np.abs(np.log((1 - one) / (1 - other)))
    return np.asarray(np.maximum(*both))


@pytest.mark.parametrize("alpha", [None, Fraction(1, 5)])
@pytest.mark.parametrize("mechanism", ["tslm", "ppwlm", "dppwlm"])
def test_a_condition_is_decided_as_one_comparison_is(
    mechanism: str, alpha: Fraction | None
) -> None:
    """Misses, false alarms and losses of random trees, at all data and all their neighbours."""
    worst = 0.0
    for case in PROMISED[:: 1 if mechanism == "tslm" else 6]:
        aim = aim_of(case, max_fpr=alpha)
        law, plan = chances(case, mechanism, aim), price(mechanism, case.condition, aim)
        true, false = case.truths()
        assert law[true].min() >= 1 - BETA - CLOSE
        assert law[false].max() <= (alpha or BETA) + CLOSE
        inside = np.clip(law, 1e-8, 1 - 1e-8)  # beyond, floats say nothing of odds
        lost = loss(case, inside, odds) / float(plan.epsilon)
        assert lost <= 1 + 1e-6
        worst = max(worst, lost)
    assert worst > 0.999 or mechanism != "tslm"


def test_under_a_gaussian_budget_quantiles_are_no_further_apart_than_mu() -> None:
    """The same of the extremal curve of mu-GDP; what it costs is the least there is."""
    for case in PROMISED[::4]:
        aim = aim_of(case, gaussian=True)
        law, plan = chances(case, "tslm", aim), price("tslm", case.condition, aim)
        true, false = case.truths()
        assert law[true].min() >= 1 - BETA - CLOSE
        assert law[false].max() <= BETA + CLOSE
        mu = math.sqrt(2 * float(plan.epsilon))
        inside = np.clip(law, 1e-9, 1 - 1e-9)
        assert loss(case, inside, lambda p, q: np.abs(norm.ppf(p) - norm.ppf(q))) <= mu * (1 + 1e-5)
        assert plan.ratio == pytest.approx(1, abs=1e-3)


def test_every_condition_costs_its_limit() -> None:
    """200 random trees and three of six, four and six comparisons: the ratio is 1.000."""
    for case in PROMISED:
        plan = price("tslm", case.condition, aim_of(case))
        distance = case.distance()
        assert distance
        assert float(plan.epsilon) == pytest.approx(float(least_epsilon(distance, BETA, BETA)))
        assert plan.ratio == pytest.approx(1, abs=1e-9)
    for text in (" OR ".join(SIX), " AND ".join(SIX), "(a AND NOT b) OR (c AND d)"):
        of = condition(text)
        plan = price("tslm", of, Aim(BETA, (5,) * len(of.formula.atoms)))
        assert f"{plan.ratio:.3f}" == "1.000"
        assert f"{float(plan.epsilon):.3f}" == "0.415"


def test_a_noise_for_each_literal_that_is_charged_once_is_caught() -> None:
    """Twin: independent decisions on two statistics lose twice what one of them is charged."""
    of = condition("a AND b")
    aim = Aim(BETA, (5, 5))
    plan, alone = price("tslm", of, aim), Tslm.planned(of.test("a"), Promise(BETA, 5))
    assert alone.plan.epsilon == plan.epsilon
    p = alone.chances(np.arange(-30, 30))
    both = p[:, None] * p[None, :]
    assert odds(both[1:, 1:], both[:-1, :-1]).max() > 1.9 * float(plan.epsilon)


def run_law(terms: SvtPlan, scores: Sequence[int], answers: Sequence[bool]) -> float:
    """Return the probability of a run's answers, up to its last alarm."""
    noise, masses = threshold_law(terms)
    left = terms.alarms
    for score, fires in zip(scores, answers, strict=True):
        if not left:
            break
        above = np.exp(log_at_least(terms, noise + (terms.correction - score)))
        masses = masses * (above if fires else 1 - above)
        left -= fires
    return float(masses.sum())


def run_loss(terms: SvtPlan, moves: Sequence[int], most: int = 3) -> float:
    """Return the largest loss of a run of questions whose scores a neighbour moves so."""
    found = 0.0
    for scores in product(range(-terms.correction - most, most), repeat=len(moves)):
        moved = [score + move for score, move in zip(scores, moves, strict=True)]
        for answers in product((False, True), repeat=len(moves)):
            if sum(answers) <= terms.alarms:
                pair = run_law(terms, scores, answers), run_law(terms, moved, answers)
                found = max(found, abs(math.log(pair[0] / pair[1])))
    return found


CHEAP = SvtPlan(open_units=7 * 10**11, alarm_units=4 * 10**11, alarms=1, monotone=True)
"""A run that is charged 1.1."""


def test_a_mixed_condition_at_the_monotone_price_is_caught() -> None:
    """``a AND NOT b`` moves either way: it loses 1.5 where the monotone price claims 1.1."""
    of, aim = condition("a AND NOT b"), Aim(BETA, (2, 2), alarms=1)
    run = Svt.planned(of, aim)
    assert not run.terms.monotone
    score = score_of(of, aim.tolerances)
    # Whoever comes is the one more of a in one cell, and the one more of b in the other.
    here, there = np.array([[23, 40], [0, 20]]), np.array([[24, 40], [0, 21]])
    moves = (score.of(0, there) - score.of(0, here)).tolist()
    assert moves == [1, -1]
    assert run_loss(CHEAP, moves) == pytest.approx(1.5, abs=CLOSE)
    assert run_loss(replace(CHEAP, monotone=False), moves) == pytest.approx(1.1, abs=CLOSE)
    for each in product((-1, 0, 1), repeat=2):
        assert run_loss(run.terms, each) <= run.terms.epsilon_units / UNITS_PER_EPSILON + CLOSE


def test_one_question_of_an_event_has_the_monotone_price() -> None:
    """Whatever the formula: one question moves alone. A window that overlaps it makes two of it.

    Asked again it moves the same way again, which costs no more: the configuration does not use it.
    """
    of, aim = condition("a AND NOT b", one_question=True), Aim(BETA, (2, 2), alarms=1)
    assert Svt.planned(of, aim).terms == Svt.planned(replace(of, monotone=True), aim).terms
    alone = [np.roll((move, 0, 0), at).tolist() for move in (-1, 1) for at in range(3)]
    assert max(run_loss(CHEAP, moves) for moves in alone) == pytest.approx(1.1, abs=CLOSE)
    assert max(run_loss(CHEAP, (move, move, 0)) for move in (-1, 1)) <= 1.1 + CLOSE
    assert run_loss(CHEAP, (1, -1, 0)) == pytest.approx(1.5, abs=CLOSE)
    early = replace(aim, looks=2)
    assert not early_terms(of, early).monotone


def test_a_run_of_scores_keeps_both_rates() -> None:
    """A question at any true data is missed, and one beyond tolerances rings, as promised."""
    for case in PROMISED[::12]:
        run = Svt.planned(case.condition, aim_of(case, alarms=1))
        true, false = case.truths()
        law = chances(case, "svt", aim_of(case, alarms=1))
        assert law[true].min() >= 1 - BETA - CLOSE
        assert law[false].max() <= BETA + CLOSE
        assert run.terms.monotone is case.condition.monotone is False


def looks_loss(of: Condition, terms: SvtPlan, moved: tuple[int, int]) -> float:
    """Return the loss of two looks at two counts, by an event that moves these from the first on.

    At the second look b, which nobody was in at the first, decides what a decided.
    """
    looks, found = RunLooks(score_of(of, (2, 2)), terms), 0.0
    for a, b in product(range(10, 24), repeat=2):
        here = np.array([[a, 40 if "AND" in str(of.formula) else a], [0, b]])
        laws = [looks.first_rings(0, each) for each in (here, here + np.array(moved).reshape(2, 1))]
        laws = [np.append(law, 1 - law.sum()) for law in laws]
        found = max(found, float(np.abs(np.log(laws[0] / laws[1])).max()))
    return found


def test_the_steady_price_of_early_evaluations_is_caught() -> None:
    """An OR of two counts: an event of a is seen at one look, and at the next b is larger.

    The loss is that of threshold and alarm together, 1.0, where the dearer of them is 0.5.
    """
    half = SvtPlan(open_units=5 * 10**11, alarm_units=5 * 10**11, alarms=1, monotone=True)
    of = condition("a OR b", monotone=True, steady=True)
    assert looks_loss(of, half, (1, 0)) == pytest.approx(1.0, abs=CLOSE)
    alone = condition("a", monotone=True, steady=True)
    aim = Aim(BETA, (2, 2), looks=2)
    real = early_terms(of, aim)
    early = mechanism_of("svt").operator(of, aim)
    assert to_loss_units(early.plan.epsilon) == real.epsilon_units
    assert looks_loss(of, real, (1, 0)) <= real.epsilon_units / UNITS_PER_EPSILON + 1e-6
    plain = mechanism_of("svt").operator(alone, replace(aim, tolerances=(2,)))
    assert plain.plan.epsilon < early.plan.epsilon


def test_early_evaluations_of_a_mixed_condition_pay_for_either_way() -> None:
    """``a AND NOT b``: an event of both moves the score up at one look, and down at the next."""
    of = condition("a AND NOT b", steady=True)
    assert looks_loss(of, CHEAP, (1, 1)) == pytest.approx(1.5, abs=CLOSE)
    assert looks_loss(of, replace(CHEAP, monotone=False), (1, 1)) <= 1.1 + CLOSE
    aim = Aim(BETA, (2, 2), looks=2)
    real = early_terms(of, aim)
    assert not real.monotone
    assert looks_loss(of, real, (1, 1)) <= real.epsilon_units / UNITS_PER_EPSILON + 1e-6
    early = mechanism_of("svt").operator(of, aim)
    assert to_loss_units(early.plan.epsilon) == real.epsilon_units


@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("tolerance", [0, 2, 9])
def test_a_guard_asks_for_a_quorum(sensitivity: int, tolerance: int) -> None:
    """An average that holds of nothing: the empty cell rings with alpha, and the price stays."""
    formula = Formula.parse("a AND g")
    atoms = {
        "a": ThresholdAtom(0, ints([0])),
        "g": ThresholdAtom(1, ints([1])),
    }
    plain = Condition(formula, atoms, (sensitivity, sensitivity))
    guarded = replace(plain, guards=frozenset("g"))
    aim = Aim(BETA, (tolerance, 0))
    steps = plain.test("a").steps(tolerance)
    counts = np.arange(3 * (steps + 1) * sensitivity)
    data = np.array([np.zeros_like(counts), counts])  # as true as an empty cell is
    operator = create("tslm", guarded, aim)
    law = operator.chances(0, data)
    assert law is not None
    assert law[0] <= BETA + CLOSE
    assert law[counts >= steps * sensitivity].min() >= 1 - BETA - CLOSE
    alone = Condition(Formula.parse("a"), {"a": atoms["a"]}, (sensitivity,))
    assert operator.plan == price("tslm", alone, replace(aim, tolerances=(tolerance,)))
    if tolerance and sensitivity == 1:
        twin = create("tslm", plain, aim.widened((tolerance, tolerance))).chances(0, data)
        assert twin is not None
        assert twin[0] > 0.7


def test_the_mirror_of_a_guard_asks_for_a_quorum_too() -> None:
    """With false alarms promised first, the empty cell is false, and rings with max_fpr."""
    formula = Formula.parse("a AND g")
    atoms = {
        "a": ThresholdAtom(0, ints([0])),
        "g": ThresholdAtom(1, ints([1])),
    }
    guarded = Condition(formula, atoms, (1, 1), guards=frozenset("g"))
    aim = Aim(BETA, (9, 0), max_fpr=BETA, promise="false_alarms")
    operator = create("tslm", guarded, aim)
    counts = np.arange(60)
    law = operator.chances(0, np.array([np.full_like(counts, 60), counts]))
    assert law is not None
    assert law[0] <= BETA + CLOSE
    assert law[counts >= 19].min() >= 1 - BETA - CLOSE
    assert operator.plan.epsilon == price("tslm", condition("a"), Aim(BETA, (9,))).epsilon


def test_many_windows_are_scored_as_one_is() -> None:
    """Windows abreast, cells with thresholds of their own, all three axes in their places."""
    formula = Formula.parse("(a AND NOT b) OR c")
    atoms = {
        name: ThresholdAtom(at % 2, ints([3 + at, 5, 9 - at])) for at, name in enumerate("abc")
    }
    of = Condition(formula, atoms, (1, 2))
    score = score_of(of, (1, 0, 2))
    statistics = np.random.default_rng(3).integers(-9, 20, (40, 2, 3))
    plain = np.array(
        [
            [
                reduce(max, [min(x["a"], x["NOT b"]), x["c"]])
                for cell in range(3)
                for x in [
                    {
                        one: of.test(one).quantise(each[of.atoms[atom_of(one)].statistic])[cell]
                        for one in formula.literals
                    }
                ]
            ]
            for each in statistics
        ]
    )
    assert ((score.read(statistics) >= 0) == (plain >= 0)).all()
    assert ((plain >= 0) == np.array([of.truth(each) for each in statistics])).all()
