"""PPWLM and DPPWLM: plans, extreme inputs, costs and speed; their promises are tested exactly."""

from fractions import Fraction

import numpy as np
import pytest

from accountant.costs.levels import LevelCosts
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.noise.likely import likely_inside
from operators.noise.source import KeyedNoise
from operators.single.ladder import Grid, Ladder
from operators.single.progressive import Dppwlm, Ppwlm
from tests.support.formulas import BETA

MECHANISMS = (Ppwlm, Dppwlm)


def atom(cells=1, sensitivity=1):
    """Return ``s > 1000`` in every cell."""
    return IntegerTest(Comparison.GT, np.full(cells, 1000), sensitivity)


def column(*values):
    """Return statistics."""
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(("mechanism", "levels"), [(Ppwlm, 4), (Dppwlm, 10)])
@pytest.mark.parametrize("sensitivity", [1, 7])
@pytest.mark.parametrize("tolerance", [0, 1, 40])
def test_plan_names_the_last_level(mechanism, levels, sensitivity, tolerance):
    """The worst case is the last level, less than half above the limit; levels rise to it."""
    operator = mechanism.planned(atom(1, sensitivity), Promise(BETA, tolerance))
    plan, units = operator.plan, operator.ladder.units
    assert plan.mechanism == mechanism.__name__.lower()
    assert plan.epsilon == Fraction(units[-1], 10**12)
    assert 1 < plan.ratio < 1.45
    assert (units[0], len(units)) == (10**7, levels)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_far_cells_are_decided_for_next_to_nothing(mechanism):
    """The ends of int64 and anything a million steps away stop at the first level."""
    operator = mechanism.planned(atom(4), Promise(BETA, 1))
    ends = np.iinfo(np.int64)
    far = column(ends.min, ends.max, -10_000_000, 10_000_000)
    decision = operator.decide(far, KeyedNoise(b"far"))
    assert decision.fired.tolist() == [False, True, False, True]
    assert decision.cost == LevelCosts.uniform(operator.ladder.units[0], 4)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_costs_are_levels_of_the_ladder(mechanism):
    """Each cell pays one of the levels, near cells usually the last."""
    operator = mechanism.planned(atom(500), Promise(BETA, 3))
    cost = operator.decide(np.arange(500) * 4, KeyedNoise(b"levels")).cost
    assert set(cost.levels) <= set(operator.ladder.units)
    assert cost.units(0) < operator.ladder.units[-1] / 2 < cost.units(250)
    assert cost.units(250) == operator.ladder.units[-1]


def test_walk_skips_levels_that_decide_nobody():
    """Many cells at 500 below: levels whose boundaries are thousands of steps out are passed by."""
    operator = Dppwlm.planned(atom(1000), Promise(BETA, 1))
    chosen = operator.following(0, np.full(1000, -500), np.zeros(10, int))
    assert operator.ladder.low[chosen] < 500


def test_likely_undecided_is_the_law_between_the_boundaries():
    """What ``test_likely`` holds to the laws, summed over the cells; nothing is after the last."""
    ladder = Ladder.planned(3, BETA, BETA, Grid(first=Fraction(1, 10)))
    rates, read = tuple(map(float, ladder.below.levels)), column(-9, 0, 4, 2)
    for to in (1, 2):
        law = likely_inside(rates[0], rates[to], -ladder.low[to], ladder.high[to], read)
        assert ladder.likely_undecided(0, to, read) == pytest.approx(law.sum())
    assert ladder.likely_undecided(0, 3, column(0)) == 0


@pytest.mark.parametrize("steps", [1, 2, 5, 30])
@pytest.mark.parametrize(
    ("alpha", "beta"),
    [(BETA, BETA), (Fraction(1, 1000), Fraction(1, 2)), (Fraction(2, 5), BETA)],
)
def test_every_boundary_leaves_something_undecided(steps, alpha, beta):
    """Lost and saved never overlap, whatever the bounds: the last level's tie lies in between."""
    ladder = Ladder.planned(steps, alpha, beta, Grid(refinement=2))
    *cuts, (tie, _) = zip(ladder.low, ladder.high, strict=True)
    assert all(-low <= -tie < high for low, high in cuts)


def test_one_round_is_a_single_level_at_the_limit():
    """A grid of one level is the threshold shift alone."""
    operator = Ppwlm.planned(atom(), Promise(BETA, 1), grid=Grid(rounds=1))
    assert operator.plan.ratio == pytest.approx(1, abs=1e-9)


def test_most_steps_and_finest_rates_are_planned():
    """A promise over 99,999 steps and one of 1e-12 have their levels in order."""
    assert Ppwlm.planned(atom(), Promise(BETA, 49_999)).ladder.units[0] < 10**7
    assert Ppwlm.planned(atom(), Promise(Fraction(1, 10**12), 1)).plan.ratio < 1.2
