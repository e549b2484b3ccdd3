"""What a trial counts as a miss, a false alarm and uncertain, and how many there are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accountant.costs.charges import UniformCost
from operators.base import Decision, Plan
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.registry import create
from operators.svt import Svt
from stream.simulation import plays
from stream.simulation.results import interval
from stream.simulation.shown import html_page
from stream.simulation.truth import may_fire, must_fire
from tests.statistical.svt_law import law as law_of_run
from tests.statistical.svt_law import run_of
from tests.support.simulated import (
    THRESHOLD,
    alarm,
    near_the_threshold,
    shown,
    simulated,
    tried,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource


def test_measured_rates_of_tslm_are_its_exact_law() -> None:
    """Misses, false alarms and uncertain rings lie within six standard errors of the table."""
    query = alarm(50)
    statistics = near_the_threshold(20, 50)
    operator = create("tslm", query.condition, query.aim)
    law: Any = operator
    probability = (
        np.stack([law.operator.law(law.score.read(window)) for window in statistics]) / 2.0**64
    )
    tally = tried(query, statistics, 200)
    values = statistics[:, 0]
    true, false = values > THRESHOLD, values <= THRESHOLD - 18
    uncertain = ~true & ~false
    for cells, rings, count, of in (
        (true, False, tally.cells.missed, tally.cells.true),
        (false, True, tally.cells.false_alarms, tally.cells.false),
        (uncertain, True, tally.cells.uncertain_fired, tally.cells.uncertain),
    ):
        assert of == 200 * np.count_nonzero(cells) > 10_000
        chances = probability[cells] if rings else 1 - probability[cells]
        error = np.sqrt((chances * (1 - chances)).mean() / of)
        assert abs(count / of - chances.mean()) < 6 * error
        low, high = interval(count, of, 0.999_999_9)
        assert low < chances.mean() < high


class Mute:
    """A broken mechanism: it promises everything and never rings."""

    def __init__(self, cells: int) -> None:
        """Cost one loss unit a cell."""
        self.plan = Plan("tslm", Fraction(1, 10**12), 1.0)
        self._cells = cells

    def decide(self, _statistics: NDArray[np.int64], _noise: NoiseSource) -> Decision:
        """Stay silent."""
        return Decision(np.zeros(self._cells, np.bool_), UniformCost(1, self._cells))


def test_a_mechanism_that_never_rings_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin shows a miss rate of 1, is accused, also on the page."""
    query = alarm(10)

    def broken(_mechanism: str, condition: Condition, _aim: Aim, **_: object) -> Mute:
        return Mute(condition.cells)

    monkeypatch.setattr(plays, "create", broken)
    simulation = simulated(query, near_the_threshold(20, 10))
    (results,) = simulation.alarms
    for one in results.settings:
        assert one.fnr.value == 1.0
        assert (one.fpr.value or 0) + (one.uncertain.value or 0) == 0
        assert not one.keeps_max_fnr
    assert "missed more than max_fnr allows" in shown(simulation)
    assert "missed more than max_fnr allows" in html_page(simulation)


def test_what_a_spent_run_did_not_answer_is_no_broken_promise() -> None:
    """It is missed; that nobody was asked, for lack of budget, is said instead."""
    query = replace(alarm(1, mechanism="svt"), aim=replace(alarm(1).aim, alarms=2))
    often = np.full((200, 1, 1), THRESHOLD + 200, dtype=np.int64)
    one_run = Svt.planned(query.condition, query.aim).plan.epsilon
    simulation = simulated(query, often, runs=40, epsilon_max=one_run)
    (one,) = simulation.alarms[0].settings
    tally = tried(query, often, 40, epsilon_max=one_run)
    assert one.fnr.of == tally.cells.true == 200 * 40
    assert (one.fnr.value or 0) > 0.9
    assert one.denied > 0.9
    assert tally.unasked > 0.9 * 200 * 40
    assert not one.keeps_max_fnr
    for page in (shown(simulation), html_page(simulation)):
        words = " ".join(page.split())
        assert "please report" not in words
        assert "budget denied windows, or an SVT run was spent" in words
    twice = tried(query, often, 40, epsilon_max=2 * one_run)
    assert tally.denied > twice.denied > 0.9 * 200 * 40
    assert twice.losses.total() == 2 * tally.losses.total() == 80


def test_a_run_of_two_comparisons_has_its_exact_law() -> None:
    """A window between and one just below: misses and uncertain rings follow the run's own law."""
    bounds = {"a": THRESHOLD + 1, "b": THRESHOLD + 61}
    atoms = {name: ThresholdAtom(0, np.array([at], np.int64)) for name, at in bounds.items()}
    query = replace(
        alarm(1, mechanism="svt"),
        condition=Condition(Formula.parse("a AND NOT b"), atoms, (1,)),
        aim=Aim(Fraction(1, 20), (9, 9), alarms=2),
    )
    run = Svt.planned(query.condition, query.aim)
    assert not run.terms.monotone
    statistics = np.array([[[THRESHOLD - 2]], [[THRESHOLD + 1]]], np.int64)
    tally = tried(query, statistics, 2_000, epsilon_max=run.plan.epsilon)
    scores = run.score.read(statistics).ravel().tolist()
    assert scores == [-3, 0]
    every = law_of_run(run_of(run.terms), tuple(scores))
    law = {tuple(answer for _, answer in said): mass for said, mass in every.items()}
    for found, of, chance in (
        (tally.cells.missed, tally.cells.true, law[False, False] + law[True, False]),
        (tally.cells.uncertain_fired, tally.cells.uncertain, law[True, False] + law[True, True]),
    ):
        assert of == 2_000
        assert 0.02 < chance < 0.98
        assert abs(found / of - chance) < 6 * np.sqrt(chance * (1 - chance) / of)


@pytest.mark.parametrize("seed", range(20))
def test_uncertain_cells_follow_the_definition(seed: int) -> None:
    """Cell by cell: the formula with every literal granted twice its tolerance, and no less."""
    random = np.random.default_rng(seed)
    names = "abcd"[: int(random.integers(1, 5))]
    text = names[0]
    for name in names[1:]:
        text = f"({text} {random.choice(['AND', 'OR'])} {random.choice(['', 'NOT '])}{name})"
    formula = Formula.parse(random.choice(["NOT ", ""]) + text)
    cells, number = 30, 2
    atoms = {
        name: ThresholdAtom(int(random.integers(number)), random.integers(-5, 6, cells))
        for name in names
    }
    tolerances = tuple(random.integers(0, 4, len(formula.atoms)).tolist())
    condition = Condition(formula, atoms, (1, 3))
    statistics = random.integers(-12, 13, (number, cells))
    granted = may_fire(condition, Aim(Fraction(1, 20), tolerances), statistics)
    room = dict(zip(formula.atoms, tolerances, strict=True))
    for cell in range(cells):
        holds = {}
        for literal in formula.literals:
            name = literal.removeprefix("NOT ")
            value = int(statistics[atoms[name].statistic, cell])
            bound = int(atoms[name].thresholds[cell])
            plain = literal == name
            holds[literal] = (
                value + 2 * room[name] >= bound if plain else value - 2 * room[name] < bound
            )
        columns = {literal: np.array([held]) for literal, held in holds.items()}
        assert granted[cell] == formula.evaluate_literals(columns)[0]
    assert (condition.truth(statistics) <= granted).all()
    turned = Aim(Fraction(1, 20), tolerances, Fraction(1, 20), promise="false_alarms")
    assert (may_fire(condition, turned, statistics) == condition.truth(statistics)).all()
    plain = Aim(Fraction(1, 20), tolerances)
    beyond = ~may_fire(condition.negated, plain, statistics)
    assert (must_fire(condition, turned, statistics) == beyond).all()
    assert (must_fire(condition, plain, statistics) == condition.truth(statistics)).all()


def test_thresholds_at_the_ends_of_int64_do_not_wrap() -> None:
    """A granted literal stays granted, however far its threshold and tolerance are."""
    ends = np.iinfo(np.int64)
    bounds = np.array([ends.min, ends.min + 1, 0, ends.max], np.int64)
    for text, tolerance in product(("a", "NOT a"), (1, 1 << 61, (1 << 62) - 1)):
        condition = Condition(Formula.parse(text), {"a": ThresholdAtom(0, bounds)}, (1,))
        for values in (bounds, bounds[::-1].copy()):
            true = condition.truth(values[None])
            granted = may_fire(condition, Aim(Fraction(1, 20), (tolerance,)), values[None])
            assert (true <= granted).all()
            for one, value, bound in zip(
                granted.tolist(), values.tolist(), bounds.tolist(), strict=True
            ):
                if value == ends.max:
                    continue  # it is below no int64 bound: such a cell may look false
                above = value + 2 * tolerance >= bound
                assert one == (above if text == "a" else value - 2 * tolerance < bound)
