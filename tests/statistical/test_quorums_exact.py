"""Every aggregate of nothing: an empty cell fires with max_fpr at most, whatever the tolerance.

From SQL to the law of the score, over all numbers of values below, at and above the threshold.
"""

from __future__ import annotations

import operator as op
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.conditions.comparison import Comparison
from operators.registry import create
from stream.simulation.truth import may_fire
from tests.statistical.enumeration import ints
from tests.support.reference import weighed
from tests.support.scored import scored

BETA = ALPHA = 0.05
CLOSE = 1e-9
AGGREGATES = {
    "MAX(x)": lambda values: Fraction(max(values)),
    "MIN(x)": lambda values: Fraction(min(values)),
    "AVG(x)": lambda values: Fraction(sum(values), len(values)),
    "MEDIAN(x)": lambda values: Fraction(sorted(values)[-(-len(values) // 2) - 1]),
    "QUANTILE(x, 0.75)": lambda values: Fraction(sorted(values)[-(-3 * len(values) // 4) - 1]),
}
COMPARISONS = {
    Comparison.GT: op.gt,
    Comparison.GE: op.ge,
    Comparison.LT: op.lt,
    Comparison.LE: op.le,
    Comparison.EQ: op.eq,
    Comparison.NE: op.ne,
}
_SUMS = {Comparison.GT, Comparison.LT, Comparison.NE}
_RANKS = {Comparison.GT, Comparison.GE, Comparison.EQ, Comparison.NE}
FALSE_OF_0 = defaultdict(set, {"AVG(x)": _SUMS, "MEDIAN(x)": _RANKS, "QUANTILE(x, 0.75)": _RANKS})
"""Whose sum of nothing, 0, is false by one step and needs no guard: their tolerance grants it."""
MANY = tuple(product((0, 1, 2, 5, 11, 33, 60), repeat=3))
"""How many values are 1, 2 and 3; the first of them: none."""


def asked(folder, aggregate, comparison, tolerance, cap):
    """Return the alarm, from its configuration."""
    lines = f"mechanism: {{tslm: {{max_fpr: {ALPHA}}}}}", f"tolerance: {tolerance}"
    unit = "event" if cap == 1 else "user"
    return scored(folder, f"{aggregate} {comparison} 2", *lines, unit=unit).by_name["one"]


def statistics(query):
    """Return what all data count to, by definition, shape (statistics, data)."""
    return ints(
        [
            [sum(n * weighed(spec, at + 1, 0) for at, n in enumerate(many)) for many in MANY]
            for spec in query.aggregates
        ]
    )


def chances(query, **changes):
    """Return how likely a cell fires, for all data, by what is decided of the condition."""
    condition = replace(query.condition, **changes)
    aim = query.aim
    if changes:  # a literal like all others
        aim = aim.widened((max(aim.tolerances),) * len(aim.tolerances))
    return create(query.mechanism, condition, aim).chances(0, statistics(query))


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_an_empty_cell_fires_as_seldom_as_any_other_that_must_not(tmp_path, aggregate):
    """Nothing is NULL; what is true of enough values is missed with max_fnr at most.

    Enough are as many as the tolerance spans, of each value that there is.
    """
    for comparison, tolerance, cap in product(COMPARISONS, (0, 5), (1, 3)):
        query = asked(tmp_path, aggregate, comparison, tolerance, cap)
        law, condition = chances(query), query.condition
        assert law[0] <= ALPHA + CLOSE or (tolerance and comparison in FALSE_OF_0[aggregate])
        enough = max(
            cap * condition.test(one).steps(max(query.aim.tolerances))
            for one in condition.formula.literals
        )
        values = [[1] * one + [2] * two + [3] * three for one, two, three in MANY]
        holds, value_of = COMPARISONS[comparison], AGGREGATES[aggregate]
        true = [bool(each) and holds(value_of(each), 2) for each in values]
        sure = [all(n == 0 or n >= enough for n in many) for many in MANY]
        assert law[np.array(true) & sure].min(initial=1) >= 1 - BETA - CLOSE
        granted = statistics(query)[:, np.newaxis, :]
        may = [may_fire(condition, query.aim, granted[..., at]) for at in range(len(MANY))]
        assert law[~np.array(may).ravel()].max(initial=0) <= ALPHA + CLOSE


@pytest.mark.parametrize(
    ("having", "comparison"),
    [("MAX(x)", Comparison.GT), ("MIN(x)", Comparison.LE), ("MEDIAN(x)", Comparison.LT)],
)
def test_a_guard_and_an_extreme_with_a_tolerance_are_caught(tmp_path, having, comparison):
    """Twin: without a quorum an empty cell lies one step below, and fires with .80 to .94."""
    for tolerance, fires in ((1, 0.8), (20, 0.944)):
        query = asked(tmp_path, having, comparison, tolerance, 1)
        law = chances(query, guards=frozenset(), extremes=frozenset())
        assert law[0] == pytest.approx(fires, abs=1e-3)


def test_the_quorum_of_an_extreme_ends_its_tolerance(tmp_path):
    """2u + 1 values beyond the threshold are enough; one less is granted, and none is not."""
    query = asked(tmp_path, "MAX(x)", Comparison.GT, 5, 1)
    beyond = np.arange(13)[np.newaxis]
    law = create("tslm", query.condition, query.aim).chances(0, beyond)
    assert law[0] <= ALPHA + CLOSE < law[1]
    assert law[10] < 1 - BETA - CLOSE <= law[11]
    wide = asked(tmp_path, "MAX(x)", Comparison.GT, 0, 3)
    law = create("tslm", wide.condition, wide.aim).chances(0, beyond)
    assert law[0] <= ALPHA + CLOSE
    assert law[1] >= 1 - BETA - CLOSE
