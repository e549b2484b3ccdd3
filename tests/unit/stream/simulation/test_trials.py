"""What a trial counts as a miss, a false alarm and uncertain, and how many there are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

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

TWENTIETH = Fraction(1, 20)


def assert_near(count, of, chances):
    """Find a count within six standard errors of the mean of some probabilities."""
    error = np.sqrt((chances * (1 - chances)).mean() / of)
    assert abs(count / of - chances.mean()) < 6 * error


def test_measured_rates_of_tslm_are_its_exact_law():
    """Misses, false alarms and uncertain alarms of more than ten thousand cells each."""
    query, statistics = alarm(50), near_the_threshold(20, 50)
    law = create("tslm", query.condition, query.aim)
    fires = np.stack([law.operator.law(law.score.read(each)) for each in statistics]) / 2.0**64
    cells, values = tried(query, statistics, 200).cells, statistics[:, 0]
    true, false = values > THRESHOLD, values <= THRESHOLD - 18
    for where, chances, count, of in (
        (true, 1 - fires, cells.missed, cells.true),
        (false, fires, cells.false_alarms, cells.false),
        (~true & ~false, fires, cells.uncertain_fired, cells.uncertain),
    ):
        assert of == 200 * np.count_nonzero(where) > 10_000
        assert_near(count, of, chances[where])
        low, high = interval(count, of, 0.999_999_9)
        assert low < chances[where].mean() < high


def test_a_mechanism_that_never_fires_is_found_out(monkeypatch):
    """A broken twin shows a miss rate of 1, is accused."""
    silence = Decision(np.zeros(10, np.bool_), UniformCost(1, 10))
    plan = Plan("tslm", Fraction(1, 10**12), 1.0)
    mute = SimpleNamespace(plan=plan, decide=lambda _statistics, _noise: silence)
    monkeypatch.setattr(plays, "operator_of", lambda *_, **__: mute)
    simulation = simulated(alarm(10), near_the_threshold(20, 10))
    (one,) = simulation.alarms
    assert one.fnr.value == 1.0
    assert (one.fpr.value or 0) + (one.uncertain.value or 0) == 0
    assert not one.keeps_max_fnr
    assert "missed more than max_fnr allows" in shown(simulation)


def test_what_a_spent_run_did_not_answer_is_no_broken_promise():
    """It is missed; that nobody was asked, for lack of budget, is said instead."""
    query = replace(alarm(1, mechanism="svt"), aim=replace(alarm(1).aim, alarms=2))
    often = np.full((200, 1, 1), THRESHOLD + 200, dtype=np.int64)
    one_run = Svt.planned(query.condition, query.aim).plan.epsilon
    simulation = simulated(query, often, runs=40, epsilon_max=one_run)
    (one,) = simulation.alarms
    tally, twice = (tried(query, often, 40, epsilon_max=n * one_run) for n in (1, 2))
    windows = 200 * 40
    assert one.fnr.of == tally.cells.true == windows
    assert min(one.fnr.value, one.denied, tally.unasked / windows) > 0.9
    assert not one.keeps_max_fnr
    words = " ".join(shown(simulation).split())
    assert "please report" not in words
    assert "budget denied windows, or an SVT run was spent" in words
    assert tally.denied > twice.denied > 0.9 * windows
    assert twice.losses.total() == 2 * tally.losses.total() == 80


def test_a_run_of_two_comparisons_has_its_exact_law():
    """A window between and one just below: misses and uncertain alarms follow the run's own law."""
    bounds = {"a": THRESHOLD + 1, "b": THRESHOLD + 61}
    atoms = {name: ThresholdAtom(0, np.array([at], np.int64)) for name, at in bounds.items()}
    condition = Condition(Formula.parse("a AND NOT b"), atoms, (1,))
    aim = Aim(TWENTIETH, (9, 9), alarms=2)
    query = replace(alarm(1, mechanism="svt"), condition=condition, aim=aim)
    run = Svt.planned(condition, aim)
    assert not run.terms.monotone
    statistics = np.array([[[THRESHOLD - 2]], [[THRESHOLD + 1]]], np.int64)
    cells = tried(query, statistics, 2_000, epsilon_max=run.plan.epsilon).cells
    every = law_of_run(run_of(run.terms), (-3, 0))
    law = {tuple(answer for _, answer in said): mass for said, mass in every.items()}
    assert run.score.read(statistics).ravel().tolist() == [-3, 0]
    assert cells.true == cells.uncertain == 2_000
    for found, said in (
        (cells.missed, [(False, False), (True, False)]),
        (cells.uncertain_fired, [(True, False), (True, True)]),
    ):
        assert_near(found, 2_000, np.array(sum(law[each] for each in said)))


def granted(condition, aim, statistics, times):
    """Return where the formula holds, every literal granted so often its tolerance, by any size."""
    room, holds = dict(zip(condition.formula.atoms, aim.tolerances, strict=True)), {}
    for literal in condition.formula.literals:
        name = literal.removeprefix("NOT ")
        atom, by = condition.atoms[name], times * room[name]
        values, bounds = (
            each.astype(object) for each in (statistics[atom.statistic], atom.thresholds)
        )
        held = values + by >= bounds if literal == name else values - by < bounds
        holds[literal] = held.astype(bool)
    return condition.formula.evaluate_literals(holds)


@pytest.mark.parametrize("seed", range(20))
def test_uncertain_cells_follow_the_definition(seed):
    """The formula with every literal granted twice its tolerance, and no less."""
    random = np.random.default_rng(seed)
    names = "abcd"[: int(random.integers(1, 5))]
    text = names[0]
    for name in names[1:]:
        text = f"({text} {random.choice(['AND', 'OR'])} {random.choice(['', 'NOT '])}{name})"
    formula = Formula.parse(random.choice(["NOT ", ""]) + text)
    atoms = {
        name: ThresholdAtom(int(random.integers(2)), random.integers(-5, 6, 30)) for name in names
    }
    condition = Condition(formula, atoms, (1, 3))
    plain = Aim(TWENTIETH, tuple(random.integers(0, 4, len(formula.atoms)).tolist()))
    turned = replace(plain, max_fpr=TWENTIETH, promise="false_alarms")
    statistics = random.integers(-12, 13, (2, 30))
    for aim, may, must in ((plain, 2, 0), (turned, 0, -2)):
        for found, times in ((may_fire, may), (must_fire, must)):
            expected = granted(condition, aim, statistics, times)
            assert np.array_equal(found(condition, aim, statistics), expected)
    assert np.array_equal(granted(condition, plain, statistics, 0), condition.truth(statistics))


def test_thresholds_at_the_ends_of_int64_do_not_wrap():
    """A granted literal stays granted, however far its threshold and tolerance are."""
    ends = np.iinfo(np.int64)
    bounds = np.array([ends.min, ends.min + 1, 0, ends.max], np.int64)
    for text, tolerance in product(("a", "NOT a"), (1, 1 << 61, (1 << 62) - 1)):
        condition = Condition(Formula.parse(text), {"a": ThresholdAtom(0, bounds)}, (1,))
        aim = Aim(TWENTIETH, (tolerance,))
        for values in (bounds[None], bounds[None, ::-1].copy()):
            may = may_fire(condition, aim, values)
            assert (condition.truth(values) <= may).all()
            # What lies below no int64 bound may look false.
            below = values[0] != ends.max
            assert np.array_equal(may[below], granted(condition, aim, values, 2)[below])
