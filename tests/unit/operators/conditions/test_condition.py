"""Conditions: which atoms share a noisy value, and what each of them is as a test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula

EVERY = range(-7, 8)


def column(*numbers):
    """Whole numbers as a vector."""
    return np.array(numbers, np.int64)


@pytest.mark.parametrize("comparison", [Comparison.GT, Comparison.GE, Comparison.LT, Comparison.LE])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_one_test_is_a_condition_of_one_literal(comparison, sensitivity):
    """Truth and step counts of the literal are those of the test it came from."""
    test = IntegerTest(comparison, column(*(0 for _ in EVERY)), sensitivity)
    condition = Condition.single(test)
    statistics = column(*EVERY)
    (literal,) = condition.formula.literals
    assert (condition.truth(statistics[None, :]) == test.truth(statistics)).all()
    assert (condition.test(literal).quantise(statistics) == test.quantise(statistics)).all()


def test_a_channel_serves_every_literal_that_reads_it():
    """Step counts from a channel and an offset are those of the literal's own test."""
    formula = Formula.parse("(a AND NOT b) OR (c AND d)")
    atoms = {
        "a": ThresholdAtom(0, column(-4, 0, 2)),
        "b": ThresholdAtom(0, column(2, 3, -1)),  # whole steps of 3 from a, in every cell
        "c": ThresholdAtom(0, column(-3, 3, 2)),  # not in the first cell
        "d": ThresholdAtom(1, column(0, 1, 2)),
    }
    condition = Condition(formula, atoms, (3, 2))
    assert [(channel.name, *channel.offsets) for channel in condition.channels] == [
        ("a", "a", "b"),
        ("c", "c"),
        ("d", "d"),
    ]
    for s, other in product(EVERY, EVERY):
        statistics = np.array([[s] * 3, [other] * 3], np.int64)
        for literal in formula.literals:
            name = literal.removeprefix("NOT ")
            channel = next(each for each in condition.channels if name in each.offsets)
            steps = channel.steps(statistics) + channel.offsets[name]
            if literal != name:
                steps = -steps - 1
            row = statistics[atoms[name].statistic]
            assert (steps == condition.test(literal).quantise(row)).all()
