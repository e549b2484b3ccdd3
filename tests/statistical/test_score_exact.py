"""The score of a condition, by enumeration of data, neighbours and distances; twins are caught."""

from __future__ import annotations

import numpy as np
import pytest

from operators.conditions.formula import atom_of
from operators.conditions.score import score_of
from operators.conditions.syntax import fold
from tests.statistical.condition_law import (
    CASES,
    GROUPS,
    Case,
    broken,
    condition_of,
    holds,
)

SHARED = "(a AND NOT b) OR c"  # of one count: above 100 and below 50, or above 200


def counts(text, thresholds, tolerances):
    """Return a condition over one count."""
    condition = condition_of(text, thresholds, places=dict.fromkeys(thresholds, 0))
    return Case(condition, tolerances, -10, 260)


APART = counts(SHARED, {"a": 101, "b": 50, "c": 201}, (1, 1, 20))
SHARING = [  # whoever is above 200 is far from all that is false: the narrow literal costs less
    counts("a OR b", {"a": 101, "b": 201}, (5, 0)),
    counts("a OR b", {"a": 101, "b": 151}, (0, 60)),
    APART,
]


def test_the_score_is_the_condition_as_one_test_of_sensitivity_one():
    """200 random trees and 60 quantifiers: true iff >= 0, -k beyond tolerances, one step apart."""
    assert [case for case in [*CASES, *GROUPS, *SHARING] if broken(case)] == []


@pytest.mark.parametrize(
    ("cases", "equals", "mores"), [([*CASES, *SHARING], 50, 20), (GROUPS, 1, 1)]
)
def test_the_score_has_all_the_steps_that_there_are(cases, equals, mores):
    """K is the length of the shortest way from true to false beyond tolerances, never less.

    A mechanism is a test of k steps along that way, so its loss is the limit of k: the ratio is 1.
    """
    equal = more = 0
    for case in cases:
        distance = case.distance()
        plain = min(case.least_steps().values())
        if distance is None:  # nothing is promised
            assert case.condition.members > 1 or case.score.steps == plain
            continue
        assert case.score.steps == distance >= plain
        equal, more = equal + (distance == plain), more + (distance > plain)
    assert equal + more > 40
    assert equal > equals
    assert more > mores


def test_cells_with_other_thresholds_have_scores_of_their_own():
    """Which sets of literals can hold together is found cell by cell; the fewest steps count."""
    alone = [
        counts(SHARED, {name: each[cell] for name, each in OWN.items()}, (1, 1, 20)).score.steps
        for cell in range(3)
    ]
    score = score_of(MANY["cells"], (1, 1, 20))
    assert alone == [41, 3, 41]
    assert score.steps == 3
    assert score.decisive in {"a", "NOT b"}


OWN = {"a": [101, 21, 31], "b": [50, 50, 30], "c": [201, 201, 400]}
MANY = {
    "cells": condition_of(SHARED, OWN, places=dict.fromkeys(OWN, 0)),
    "statistics": condition_of(SHARED, OWN, places={"a": 0, "b": 1, "c": 0}, sensitivities=(1, 2)),
    "groups": condition_of("a", {"a": (1, 2, 30, 4, 50, 60)}, members=3, least=2),
}


@pytest.mark.parametrize("name", MANY)
def test_many_cells_and_windows_are_scored_as_each_alone(name):
    """Windows batched, cells or groups that follow each other with thresholds of their own."""
    of = MANY[name]
    score = score_of(of, (1,) * len(of.atoms))
    windows = np.random.default_rng(3).integers(-9, 260, (50, of.statistics, of.cells))
    scores, true = score.read(windows), holds(of, windows.swapaxes(0, 1))
    assert ((scores >= 0) == true).all()
    assert 0 < true.mean() < 1
    for window, found, truth in zip(windows, scores, true, strict=True):
        assert (of.truth(window) == truth).all()
        assert (score.read(window) == found).all()
        for at, own in enumerate(np.split(window, of.answers, axis=1)):
            assert score.of(at, own[:, None] if of.members > 1 else own) == found[at]


def test_what_is_written_without_need_costs_nothing():
    """``a OR (a AND b)`` is ``a``: the strict b of another statistic sets no price."""
    score = score_of(condition_of("a OR (a AND b)", {"a": 3, "b": 3}), (4, 0))
    assert (score.steps, score.decisive) == (9, "a")


def plain(case, data, lower=None):
    """Return AND as the least and OR as the largest step count, as they are written."""

    def steps(one):
        test = case.condition.test(one).at(np.zeros(data.shape[1], np.intp))
        own = test.quantise(data[case.condition.atoms[atom_of(one)].statistic])
        return own - (lower or {}).get(one, 0)

    return folded(case, steps)


def folded(case, leaf):
    """Fold a condition's literals."""
    return fold(
        case.condition.formula.monotone, leaf, lambda p: np.min(p, 0), lambda p: np.max(p, 0)
    )


def test_one_inequality_that_is_off_is_caught():
    """Twin: one literal's test is strict where it is not, so its step count is one too low."""
    mattered = 0
    for case in CASES[:50]:
        lower = {case.condition.formula.literals[0]: 1}
        whole, off = (plain(case, case.data, each) >= 0 for each in (None, lower))
        if (whole != off).any():  # the first literal alone decides some data
            mattered += 1
            assert "truth" in broken(case, lambda d, c=case, by=lower: plain(c, d, by), 1)
    assert mattered > 20


def test_what_is_not_quantised_is_caught():
    """Twin: the largest of raw distances moves by a whole sensitivity for one record."""
    wide = [each for each in CASES if min(each.condition.sensitivities) > 1]
    assert len(wide) > 10

    def raw(case, data):
        def distance(one):
            atom = case.condition.atoms[atom_of(one)]
            apart = data[atom.statistic] - atom.thresholds[0]
            return apart if one == atom_of(one) else ~apart

        return folded(case, distance)

    assert all("step" in broken(each, lambda data, of=each: raw(of, data)) for each in wide)


def test_the_largest_of_the_steps_is_caught():
    """Twin: k of the widest literal; the strictest then fires where it may not."""
    caught = [
        "tolerance" in broken(each, steps=most)
        for each in CASES
        if (most := max(each.least_steps().values())) > each.score.steps
        and each.distance() is not None
    ]
    assert len(caught) > 50
    assert all(caught)


def test_the_most_steps_with_the_plain_score_are_caught():
    """Twin: 75 people are 26 steps from 101 and from 50, and are promised 41."""
    assert broken(APART, lambda data: plain(APART, data)) == {"tolerance"}
    assert plain(APART, np.array([[75]])).tolist() == [-26]
    assert not broken(APART, lambda data: plain(APART, data), 3)  # with the strictest it is sound
