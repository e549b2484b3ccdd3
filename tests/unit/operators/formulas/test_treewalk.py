"""Walks over the channels of a formula: which literals stay open, and what is paid."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.costs.levels import MOST_LEVELS
from operators.conditions.formula import Formula
from operators.formulas.treewalk import rounded_costs, still_open
from tests.support.formulas import random_formula


def open_by_definition(formula, sure, open_):
    """Return the open literals whose value changes the answer for some value of the others."""
    found = set()
    for one in open_:
        rest = sorted(open_ - {one})
        for values in product((False, True), repeat=len(rest)):
            holds = {**sure, **dict(zip(rest, values, strict=True))}
            columns = {each: np.array([held, held]) for each, held in holds.items()}
            answers = formula.evaluate_literals({**columns, one: np.array([True, False])})
            if answers[0] != answers[1]:
                found.add(one)
                break
    return found


def states(formula, cells=None):
    """Yield states of the literals, false, open or true: what is found to be open, and has to be.

    All of them, or those of some cells.
    """
    literals = formula.literals
    table = np.indices((3,) * len(literals)).reshape(len(literals), -1)
    sure = {one: row == 2 for one, row in zip(literals, table, strict=True)}
    possible = {one: row > 0 for one, row in zip(literals, table, strict=True)}
    marks = still_open(formula, sure, possible)
    settled = formula.evaluate_literals(sure) == formula.evaluate_literals(possible)
    assert np.array_equal(settled, ~np.logical_or.reduce(list(marks.values())))
    for cell in range(settled.size) if cells is None else cells(settled.size):
        true = {one: bool(sure[one][cell]) for one in literals}
        undecided = {one for one in literals if possible[one][cell] and not true[one]}
        found = {one for one in literals if marks[one][cell]}
        yield found, open_by_definition(formula, true, undecided)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a AND b",
        "NOT (a OR b AND NOT c)",
        "(a AND b) OR (NOT a AND c)",
        "(a OR b) AND (c OR d)",
    ],
)
def test_open_literals_are_those_that_can_change_the_answer(text):
    """Where each literal is written once: exactly, in every state of all literals."""
    assert all(found == needed for found, needed in states(Formula.parse(text)))


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_open_literals_never_leave_an_answer_undecided(seed):
    """Random formulas, literals repeated: none missing, and none open means settled."""
    source = random.Random(seed)
    formula = random_formula(source, "abc")
    some = states(formula, lambda size: source.sample(range(size), min(15, size)))
    assert all(needed <= found for found, needed in some)


def test_costs_of_many_values_are_rounded_up_to_fit():
    """More than 2^16 different sums: none falls, none exceeds the worst, and they fit."""
    costs = np.random.default_rng(1).integers(0, 10**13, 200_000)
    worst = int(costs.max())
    rounded = rounded_costs(costs, worst)
    assert (rounded >= costs).all()
    assert rounded.max() == worst
    assert np.unique(rounded).size <= MOST_LEVELS
    few = np.array([5, 7, 7])
    assert np.array_equal(rounded_costs(few, 9), few)
