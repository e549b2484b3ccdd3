"""Literals of a condition: their shares of the rates, their step counts, their limit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from operators.base import Plan
from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.formulas.literals import apportioned, formula_limit, least_common_rate
from operators.registry import price
from operators.single.tslm import theoretical_limit
from tests.support.formulas import BETA, aim, condition


def test_rate_serves_every_literal_of_a_channel() -> None:
    """The least common rate is the most demanding literal's."""
    of = condition("a AND NOT b", statistics=(0, 0))
    (share,) = apportioned(of, aim(2, tolerances=(1, 30)))
    units, cuts = least_common_rate(share.readings)
    alone = max(least_common_rate((each,))[0] for each in share.readings)
    assert len(cuts) == 2
    assert alone <= units <= alone + 3


def test_limit_is_what_the_most_demanding_literal_pays_alone() -> None:
    """For distinct statistics the smallest k counts; it is a lower bound on every plan."""
    of = condition("(a AND b) OR c")
    wanted = aim(3, tolerances=(9, 2, 5))
    assert formula_limit(of, wanted) == theoretical_limit(5, BETA, BETA)


def test_limit_leaves_out_literals_that_never_decide_alone() -> None:
    """``s >= 100 AND s >= 200`` is ``s >= 200``: the wider tolerance of the other is no bound."""
    formula = Formula.parse("a AND b")
    atoms = {
        "a": ThresholdAtom(0, np.array([100], dtype=np.int64)),
        "b": ThresholdAtom(0, np.array([200], dtype=np.int64)),
    }
    of = Condition(formula, atoms, (1,))
    assert formula_limit(of, aim(2, tolerances=(0, 7))) == theoretical_limit(15, BETA, BETA)


def test_a_condition_that_no_data_meet_has_no_limit() -> None:
    """``s >= 200 AND NOT s >= 100``: nothing need be paid, and the ratio says so."""
    formula = Formula.parse("a AND NOT b")
    atoms = {
        "a": ThresholdAtom(0, np.array([200], dtype=np.int64)),
        "b": ThresholdAtom(0, np.array([100], dtype=np.int64)),
    }
    plan = price("tslm", Condition(formula, atoms, (1,)), aim(2))
    assert plan.limit == 0
    assert plan.ratio == math.inf
    assert Plan("tslm", Fraction(3), 2.0).ratio == 1.5


def test_readings_are_the_literals_own_step_counts() -> None:
    """A channel's exact step counts give every literal's as its own test has them."""
    formula = Formula.parse("(a AND NOT b) OR (b AND NOT a)")
    thresholds = np.array([7, -3, 40], dtype=np.int64)
    atoms = {"a": ThresholdAtom(0, thresholds), "b": ThresholdAtom(0, thresholds + 30)}
    of = Condition(formula, atoms, (10,))
    (share,) = apportioned(of, aim(2))
    for value in range(-60, 80, 7):
        statistics = np.full((1, 3), value, dtype=np.int64)
        steps = share.channel.steps(statistics)
        for reading in share.readings:
            expected = of.test(reading.literal).quantise(statistics[0])
            assert np.array_equal(reading.own(steps), expected)
            chosen = np.array([2, 0])
            assert np.array_equal(reading.own(steps[chosen], chosen), expected[chosen])
            assert reading.steps == of.test(reading.literal).steps(5)
    assert {atom_of(each.literal) for each in share.readings} == {"a", "b"}


def test_shares_of_any_part_add_up_to_the_whole() -> None:
    """Minimising for a level of part of the rates leaves the literals the whole of them."""
    of = condition("a AND b AND c")
    for part in (Fraction(1), Fraction(1, 2), Fraction(1, 7)):
        readings = [share.readings[0] for share in apportioned(of, aim(3), part)]
        assert sum(each.beta for each in readings) <= BETA
        assert sum(each.beta for each in readings) > BETA * Fraction(999, 1000)
