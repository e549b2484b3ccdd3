"""Mechanisms by name: what each takes, what it costs, what is refused."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.base import Band, Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.deciders import Count, planned
from operators.formulas.probe import Probe
from operators.noise.source import KeyedNoise
from operators.registry import ALL, DEFAULT, create, price
from operators.single.adapter import Scored
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm
from tests.support.formulas import BETA, FORMULAS, aim, condition

if TYPE_CHECKING:
    from operators.base import Operator


@pytest.mark.parametrize("text", ["a", "NOT a", "a AND a"])
@pytest.mark.parametrize("mechanism", ["tslm", "ppwlm", "dppwlm", "nlm"])
def test_one_literal_is_decided_as_before(mechanism, text):
    """The adapter has the plan, the answers and the costs of the operator of one test."""
    of = condition(text, 300, sensitivity=3)
    made = create(mechanism, of, aim(1), experimental=True)
    assert isinstance(made, Scored)
    comparison = Comparison.LT if text.startswith("NOT") else Comparison.GE
    test = IntegerTest(comparison, np.full(300, 100), 3)
    planners = {
        "tslm": Tslm.planned,
        "ppwlm": Ppwlm.planned,
        "dppwlm": Dppwlm.planned,
        "nlm": Nlm.planned,
    }
    direct = planners[mechanism](test, Promise(BETA, 5))
    assert made.plan == direct.plan
    statistics = np.arange(300)
    ours = made.decide(statistics[None, :], KeyedNoise(b"one"))
    theirs = direct.decide(statistics, KeyedNoise(b"one"))
    assert np.array_equal(ours.fired, theirs.fired)
    assert ours.cost == theirs.cost
    if mechanism != "nlm":
        assert price(mechanism, of, aim(1)) == direct.plan


@pytest.mark.long
@pytest.mark.parametrize("text", ["a", "NOT a", "a AND NOT b", "(a AND b) OR (NOT a AND c)"])
@pytest.mark.parametrize("mechanism", FORMULAS)
@pytest.mark.parametrize("more", [{}, {"max_fpr": Fraction(1, 10)}])
def test_price_is_the_plan(mechanism, text, more):
    """Pricing gives the plan of the operator, which is named as in the configuration."""
    of = condition(text)
    wanted = replace(aim(len(of.formula.atoms)), **more)  # type: ignore[arg-type]  # its fields
    plan = create(mechanism, of, wanted).plan
    assert price(mechanism, of, wanted) == plan
    assert plan.mechanism == mechanism
    assert plan.ratio > 1 - 1e-9
    assert (plan.epsilon * 10**12).denominator == 1


@pytest.mark.parametrize("mechanism", ALL.values(), ids=ALL)
def test_a_descriptor_says_what_its_mechanism_does(mechanism):
    """What it takes, reads, makes and keeps, and under which name."""
    band = None
    if mechanism.bands is not None:
        assert mechanism.conditions is None
        band = Band(planned("lm", Count(), Fraction(1), 5), np.array([100]))
        with pytest.raises(ConfigError, match="mechanism decider needs a band around REFERENCE"):
            mechanism.price(condition("a"), aim(1))
    plan = mechanism.operator(condition("a"), aim(1), band).plan
    assert plan.mechanism == mechanism.name
    assert mechanism.price(condition("a"), aim(1), band) == plan
    if mechanism.panes is not None:
        with pytest.raises(ConfigError, match="HAVING becomes 2"):
            mechanism.price(condition("a AND b"), aim(2))
    if mechanism.run is not None:
        run = mechanism.run(condition("a"), aim(1))
        assert run.run_terms.worst_units == to_loss_units(plan.epsilon)
        assert run.outlook.alarms == aim(1).alarms
    assert set(mechanism.needs) <= set(mechanism.keys)
    assert not set(mechanism.refuses) & set(mechanism.keys)
    assert mechanism.releases


def test_a_single_literal_costs_what_dppwlm_costs():
    """ProBE-Ent on one literal has DPPWLM's last level."""
    of = condition("a")
    assert price("probe-ent", of, aim(1)).epsilon == price("dppwlm", of, aim(1)).epsilon


@pytest.mark.parametrize(
    ("mechanism", "text", "wanted", "words"),
    [
        ("laplace", "a", aim(1), "unknown mechanism"),
        ("nlm", "a", aim(1), "experiments"),
        ("panes", "a AND b", aim(2), "HAVING becomes 2"),
        ("panes", "a OR NOT a AND b", aim(2), "HAVING becomes 3"),
        ("probe", "a", aim(1, first_tolerances=()), "needs a first tolerance for every comparison"),
        ("tslm", "a AND b", aim(2, max_fnr=Fraction(0)), "max_fnr"),
        ("probe", "a AND b", aim(2, max_fnr=Fraction(3, 5)), "chance alone"),
        ("probe-ent", "a AND b", aim(2, tolerances=(1, -1)), "tolerance"),
        ("tslm", "a AND b", aim(2, tolerances=(50_000, 50_000)), "100001 steps"),
        ("probe", "a AND b", aim(2, first_tolerances=(5, -1)), "tolerance"),
    ],
)
def test_what_cannot_be_kept_is_refused(mechanism, text, wanted, words):
    """With what is wrong and a hint, from both functions."""
    for function in (create, price):
        with pytest.raises(ConfigError, match=words) as caught:
            function(mechanism, condition(text), wanted)
        assert "tslm" in caught.value.hint or mechanism not in {"laplace", "nlm"}
        assert caught.value.hint


@pytest.mark.parametrize("mechanism", FORMULAS)
def test_rates_are_planned_for_down_to_a_millionth_of_a_millionth(mechanism):
    """What is refused is what the message says, whatever part of it one look may use."""
    of, least = condition("a AND b"), Fraction(1, 10**12)
    wanted = aim(2, max_fnr=least, max_fpr=least)
    assert price(mechanism, of, wanted).epsilon > 4
    with pytest.raises(ConfigError, match="max_fnr is below 1e-12"):
        price(mechanism, of, replace(wanted, max_fnr=least * Fraction(99, 100)))


def test_an_aim_of_another_size_is_a_programming_error():
    """One tolerance per atom, and one first tolerance where they are needed; of one literal too."""
    with pytest.raises(ValueError, match="one tolerance for each atom"):
        DEFAULT.price(condition("a"), aim(2))
    with pytest.raises(ValueError, match="one tolerance"):
        create("tslm", condition("a AND b"), aim(1))
    with pytest.raises(ValueError, match="one first tolerance"):
        create("probe", condition("a AND b"), aim(2, first_tolerances=(9,)))


def test_distant_thresholds_of_one_statistic_are_refused():
    """Offsets that noisy values could not be added to."""
    formula = Formula.parse("a AND NOT b")
    atoms = {
        "a": ThresholdAtom(0, np.array([-(2**62)])),
        "b": ThresholdAtom(0, np.array([2**62])),
    }
    with pytest.raises(ConfigError, match="2\\^60"):
        create("probe-ent", Condition(formula, atoms, (1,)), aim(2))


def test_a_shared_statistic_is_charged_once():
    """ProBE: an interval on one statistic costs one channel, one on two statistics two."""
    once = price("probe-ent", condition("a AND NOT b", statistics=(0, 0)), aim(2))
    twice = price("probe-ent", condition("a AND NOT b"), aim(2))
    assert twice.epsilon == 2 * once.epsilon


@pytest.mark.parametrize("mechanism", [*FORMULAS, "fresh"])
def test_far_cells_are_decided_rightly(mechanism):
    """Ends of int64 and anything far away: the formula's truth, whatever its shape."""
    ends = (np.iinfo(np.int64).min, -(10**9), 10**9, np.iinfo(np.int64).max)
    for text in ("(a AND b) OR c", "NOT (a AND b OR c)", "(a AND b) OR (NOT a AND c)"):
        statistics = np.array(list(product(ends, repeat=3)), dtype=np.int64).T
        of = condition(text, statistics.shape[1])
        operator = made(mechanism, of)
        decision = operator.decide(np.ascontiguousarray(statistics), KeyedNoise(b"far"))
        assert np.array_equal(decision.fired, of.truth(statistics))


def made(mechanism: str, of: Condition) -> Operator:
    """Return an operator of three atoms; ``fresh`` is ProBE with noise for every phase."""
    if mechanism == "fresh":
        return Probe.planned(of, aim(3), fresh=Fraction(1, 2))
    return create(mechanism, of, aim(3))


@pytest.mark.parametrize("mechanism", [*FORMULAS, "fresh"])
def test_costs_stay_within_the_plan(mechanism):
    """No cell pays more than the plan's epsilon."""
    cells = 1000
    rng = np.random.default_rng(5)
    of = condition("(a AND NOT b) OR (b AND c)", cells, statistics=(0, 0, 1))
    statistics = rng.integers(70, 130, (2, cells), dtype=np.int64)
    operator = made(mechanism, of)
    decision = operator.decide(statistics, KeyedNoise(b"costs"))
    assert decision.cost.cells == cells
    assert decision.cost.worst_units <= operator.plan.epsilon * 10**12
    assert decision.fired.shape == (cells,)


@pytest.mark.parametrize("mechanism", ["ppwlm", *FORMULAS])
@pytest.mark.parametrize("shape", [(2,), (2, 3), (3, 2), (1, 2)])
def test_statistics_of_another_shape_are_refused(mechanism, shape):
    """One row per statistic and one column per cell, int64."""
    text = "a" if mechanism == "ppwlm" else "a AND b"
    operator = create(mechanism, condition(text, 2), aim(1 if mechanism == "ppwlm" else 2))
    if shape == (1, 2) and mechanism == "ppwlm":
        shape = (2, 2)
    with pytest.raises(ValueError, match="int64"):
        operator.decide(np.zeros(shape, dtype=np.int64), KeyedNoise(b""))
    with pytest.raises(ValueError, match="int64"):
        operator.decide(np.zeros((2, 2)), KeyedNoise(b""))  # type: ignore[arg-type]  # float64


@pytest.mark.parametrize("mechanism", [*FORMULAS, "dppwlm"])
def test_a_hundred_thousand_cells_decide(mechanism):
    """Three channels or one; all cells close to their thresholds, the slowest data there are."""
    cells, text = 100_000, "a" if mechanism == "dppwlm" else "(a AND b) OR c"
    of = condition(text, cells)
    operator = create(mechanism, of, aim(len(of.formula.atoms), 10))
    statistics = np.full((of.statistics, cells), 95)
    started = time.process_time()
    decision = operator.decide(statistics, KeyedNoise(b"quick"))
    assert time.process_time() - started < 60  # a guard: far less
    assert decision.cost.cells == cells
