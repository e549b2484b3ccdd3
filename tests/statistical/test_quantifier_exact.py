"""Quantifiers whose groups, or how many of them, data choose; who cannot count groups at all.

That a quantifier is decided as one comparison is, with the same score and price, is held beside the
trees of ``test_score_exact`` and ``test_score_mechanisms_exact``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from operators.conditions.condition import Aim
from operators.conditions.score import score_of
from operators.registry import create, price
from tests.statistical.condition_law import BETA, broken, condition_of, groups_of, loss


def summed(steps, _present):
    """Twin: the score added up over the groups."""
    return np.asarray(steps.sum(axis=1))


def found_in_data(steps, present):
    """Twin: the j-th smallest over the groups that are there: EVERY room that has anybody."""
    return np.asarray(np.where(present, steps, 99).min(axis=1))


def half_of_those(steps, present):
    """Twin: half of the groups that are there, whichever they are."""
    ranked = -np.sort(-np.where(present, steps, -99), axis=1)
    asked = np.maximum(-(-present.sum(axis=1) // 2), 1) - 1
    return np.asarray(ranked[np.arange(len(ranked)), asked])


@pytest.mark.parametrize("twin", [summed, found_in_data, half_of_those])
def test_scores_of_groups_that_data_choose_are_caught(twin):
    """One record moves them by several steps, and the loss passes what is charged."""
    case = replace(groups_of("a", {"a": (5, 5, 5)}, 2, 2), low=0, high=9)
    each, aim = condition_of("a", {"a": 5}), Aim(BETA, (2,))
    single = score_of(each, (2,))

    def read(data):
        steps = single.of(0, data.reshape(1, -1)).reshape(data.shape[1:])
        return twin(steps, data[0] > 0)

    assert "step" in broken(case, read, 1)
    operator = create("tslm", each, aim)
    law = operator.chances(0, read(case.data)[None] + 5)
    assert price("tslm", case.condition, aim).epsilon == operator.plan.epsilon
    assert loss(case, law.reshape(case.shape)) > 1.9 * float(operator.plan.epsilon)
