"""Mechanisms by name: what each takes, what it costs, what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.units import to_loss_units
from operators.base import Band, Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.deciders import Count, planned
from operators.formulas.probe import Probe
from operators.noise.source import KeyedNoise
from operators.registry import ALL, create, price
from operators.single.adapter import Scored
from operators.single.nlm import Nlm
from operators.single.progressive import Dppwlm, Ppwlm
from operators.single.tslm import Tslm
from tests.support.formulas import BETA, FORMULAS, aim, condition


@pytest.mark.parametrize("text", ["a", "NOT a", "a AND a"])
@pytest.mark.parametrize("operator", [Tslm, Ppwlm, Dppwlm, Nlm])
def test_one_literal_is_decided_as_before(operator, text):
    """The adapter has the plan, the answers and the costs of the operator of one test."""
    mechanism, of = operator.__name__.lower(), condition(text, 300, sensitivity=3)
    made = create(mechanism, of, aim(1), experimental=True)
    comparison = Comparison.LT if text.startswith("NOT") else Comparison.GE
    direct = operator.planned(IntegerTest(comparison, np.full(300, 100), 3), Promise(BETA, 5))
    assert isinstance(made, Scored)
    assert made.plan == direct.plan
    statistics = np.arange(300)
    ours = made.decide(statistics[None, :], KeyedNoise(b"one"))
    theirs = direct.decide(statistics, KeyedNoise(b"one"))
    assert np.array_equal(ours.fired, theirs.fired)
    assert ours.cost == theirs.cost
    assert operator is Nlm or price(mechanism, of, aim(1)) == direct.plan


@pytest.mark.long
@pytest.mark.parametrize("text", ["a", "NOT a", "a AND NOT b", "(a AND b) OR (NOT a AND c)"])
@pytest.mark.parametrize("mechanism", FORMULAS)
@pytest.mark.parametrize("max_fpr", [None, Fraction(1, 10)])
def test_price_is_the_plan(mechanism, text, max_fpr):
    """Pricing gives the plan of the operator, which is named as in the configuration."""
    of = condition(text)
    wanted = aim(len(of.formula.atoms), max_fpr=max_fpr)
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
    plan = mechanism.operator(condition("a"), aim(1), band).plan
    assert plan.mechanism == mechanism.name
    assert mechanism.price(condition("a"), aim(1), band) == plan
    if mechanism.run is not None:
        run = mechanism.run(condition("a"), aim(1))
        assert run.run_terms.worst_units == to_loss_units(plan.epsilon)
        assert run.outlook.alarms == aim(1).alarms
    assert set(mechanism.needs) <= set(mechanism.keys)
    assert not set(mechanism.refuses) & set(mechanism.keys)
    assert mechanism.releases


def test_a_single_literal_costs_what_dppwlm_costs():
    """ProBE-Ent on one literal has DPPWLM's last level."""
    ours, theirs = (price(each, condition("a"), aim(1)) for each in ("probe-ent", "dppwlm"))
    assert ours.epsilon == theirs.epsilon


@pytest.mark.parametrize("mechanism", FORMULAS)
def test_rates_are_planned_for_down_to_a_millionth_of_a_millionth(mechanism):
    """What is refused is what the message says, whatever part of it one look may use."""
    least = Fraction(1, 10**12)
    wanted = aim(2, max_fnr=least, max_fpr=least)
    assert price(mechanism, condition("a AND b"), wanted).epsilon > 4


def test_a_shared_statistic_is_charged_once():
    """ProBE: an interval on one statistic costs one channel, one on two statistics two."""
    once = price("probe-ent", condition("a AND NOT b", statistics=(0, 0)), aim(2))
    twice = price("probe-ent", condition("a AND NOT b"), aim(2))
    assert twice.epsilon == 2 * once.epsilon


@pytest.mark.parametrize("text", ["(a AND b) OR c", "NOT (a AND b OR c)", "a AND b OR NOT a AND c"])
@pytest.mark.parametrize("mechanism", [*FORMULAS, "fresh"])
def test_far_cells_are_decided_rightly(mechanism, text):
    """Ends of int64 and anything far away: the formula's truth, whatever its shape."""
    ends = (np.iinfo(np.int64).min, -(10**9), 10**9, np.iinfo(np.int64).max)
    statistics = np.array(list(product(ends, repeat=3))).T.copy()
    of = condition(text, statistics.shape[1])
    decision = made(mechanism, of).decide(statistics, KeyedNoise(b"far"))
    assert np.array_equal(decision.fired, of.truth(statistics))


def made(mechanism, of):
    """Return an operator of three atoms; ``fresh`` is ProBE with noise for every phase."""
    if mechanism == "fresh":
        return Probe.planned(of, aim(3), fresh=Fraction(1, 2))
    return create(mechanism, of, aim(3))


@pytest.mark.parametrize("mechanism", [*FORMULAS, "fresh"])
def test_costs_stay_within_the_plan(mechanism):
    """No cell pays more than the plan's epsilon."""
    operator = made(mechanism, condition("a AND NOT b OR b AND c", 1000, statistics=(0, 0, 1)))
    statistics = np.random.default_rng(5).integers(70, 130, (2, 1000))
    decision = operator.decide(statistics, KeyedNoise(b"costs"))
    assert decision.cost.cells == decision.fired.size == 1000
    assert decision.cost.worst_units <= operator.plan.epsilon * 10**12
