"""Literals of a condition: their shares of the rates, their step counts, their limit."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula, atom_of
from operators.formulas.literals import apportioned, least_common_rate
from tests.support.formulas import BETA, aim, condition


def test_rate_serves_every_literal_of_a_channel():
    """The least common rate is the most demanding literal's."""
    of = condition("a AND NOT b", statistics=(0, 0))
    (share,) = apportioned(of, aim(2, tolerances=(1, 30)))
    units, cuts = least_common_rate(share.readings)
    alone = max(least_common_rate((each,))[0] for each in share.readings)
    assert len(cuts) == 2
    assert alone <= units <= alone + 3


def test_readings_are_the_literals_own_step_counts():
    """A channel's exact step counts give every literal's as its own test has them."""
    thresholds, chosen = np.array([7, -3, 40]), np.array([2, 0])
    atoms = {"a": ThresholdAtom(0, thresholds), "b": ThresholdAtom(0, thresholds + 30)}
    of = Condition(Formula.parse("(a AND NOT b) OR (b AND NOT a)"), atoms, (10,))
    (share,) = apportioned(of, aim(2))
    assert {atom_of(each.literal) for each in share.readings} == {"a", "b"}
    for value, reading in product(range(-60, 80, 7), share.readings):
        statistics, test = np.full((1, 3), value), of.test(reading.literal)
        steps, expected = share.channel.steps(statistics), test.quantise(statistics[0])
        assert np.array_equal(reading.own(steps), expected)
        assert np.array_equal(reading.own(steps[chosen], chosen), expected[chosen])
        assert reading.steps == test.steps(5)


def test_rates_go_by_sensitivity_over_tolerance():
    """ProBE's Theorem 4.5, occurrences included: D/u, each as often as it is written."""
    wanted = aim(2, tolerances=(1, 10), max_fpr=BETA / 2)
    shares = apportioned(condition("a AND b OR a AND NOT b"), wanted)
    rates = {one.literal: (one.beta, one.alpha) for share in shares for one in share.readings}
    parts = {"a": Fraction(10, 22), "b": Fraction(1, 22), "NOT b": Fraction(1, 22)}
    assert rates == {one: (part * BETA, part * BETA / 2) for one, part in parts.items()}
