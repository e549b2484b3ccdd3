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
    statistics = column(*EVERY)
    test = IntegerTest(comparison, np.zeros_like(statistics), sensitivity)
    condition = Condition.single(test)
    (literal,) = condition.formula.literals
    assert (condition.truth(statistics[None, :]) == test.truth(statistics)).all()
    assert (condition.test(literal).quantise(statistics) == test.quantise(statistics)).all()


def test_a_channel_serves_every_literal_that_reads_it():
    """Step counts from a channel and an offset are those of the literal's own test."""
    atoms = {
        "a": ThresholdAtom(0, column(-4, 0, 2)),
        "b": ThresholdAtom(0, column(2, 3, -1)),  # whole steps of 3 from a, in every cell
        "c": ThresholdAtom(0, column(-3, 3, 2)),  # not in the first cell
        "d": ThresholdAtom(1, column(0, 1, 2)),
    }
    condition = Condition(Formula.parse("(a AND NOT b) OR (c AND d)"), atoms, (3, 2))
    read = {channel.name: list(channel.offsets) for channel in condition.channels}
    assert read == {"a": ["a", "b"], "c": ["c"], "d": ["d"]}
    for values in product(EVERY, EVERY):
        statistics = np.array([[value] * 3 for value in values])
        for literal in condition.formula.literals:
            name = literal.removeprefix("NOT ")
            channel = next(each for each in condition.channels if name in each.offsets)
            steps = channel.steps(statistics) + channel.offsets[name]
            own = condition.test(literal).quantise(statistics[atoms[name].statistic])
            assert ((steps if literal == name else -steps - 1) == own).all()
