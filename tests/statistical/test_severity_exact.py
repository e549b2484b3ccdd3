"""Severity levels: the joint law of all outcomes, every rate, and what breaks them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition, Severity
from operators.noise.certified import exp_neg_bounds
from operators.noise.source import NoiseSource
from operators.panes.mechanism import Panes
from operators.registry import create, price
from operators.single import severity
from operators.single.tslm import step_up, theoretical_limit
from tests.statistical.enumeration import ONE, chi_square, ints
from tests.support.exact import worst_ratio

TENTH, FINE = Fraction(1, 10), Fraction(1, 1000)
# Levels below: distance, max_fnr, max_fpr, tolerance.

TWENTIETH = Fraction(1, 20)
APART = ((0, TENTH, TWENTIETH, 5), (2, FINE, TWENTIETH, 12))
"""The nested price of 100 (u 5, beta .1) and 102 (u 12, beta .001) is far above both alone."""
LEVELS = (
    (1, APART),
    (1, ((0, TWENTIETH, TWENTIETH, 5), (20, TWENTIETH, TWENTIETH, 5))),
    (1, ((0, FINE, TENTH, 2), (3, TENTH, FINE, 9), (900, Fraction(2, 5), Fraction(1, 2), 3))),
    (10, ((0, TENTH, TENTH, 20), (25, FINE, TENTH, 30), (39, TENTH, Fraction(1, 10**9), 60))),
    (3, ((0, Fraction(9, 10), TWENTIETH, 4), (7, Fraction(1, 10**9), FINE, 6))),
)


def asked(sensitivity, levels, comparison=Comparison.GT):
    """Return condition and aim of levels above 100, or below it."""
    test = IntegerTest(comparison, np.array([100]), sensitivity)
    named = [
        Severity(str(at), np.array([distance]), fnr, fpr, tolerance)
        for at, (distance, fnr, fpr, tolerance) in enumerate(levels)
    ]
    return Condition.single(test), Aim(TENTH, (5,), severities=tuple(named))


def planned(*of, gaussian=False):
    """Return the operator of some levels."""
    condition, aim = asked(*of)
    return create("tslm", condition, replace(aim, gaussian=gaussian))


def masses(cuts):
    """Return the exact law of the highest level, none first, in units of 2^-64, by column."""
    columns = ([ONE, *column, 0] for column in cuts.T.tolist())
    return [dict(enumerate(a - b for a, b in pairwise(each))) for each in columns]


def law(operator, steps):
    """Return the law at so many steps of the first level."""
    return masses(operator.law.cuts(ints(steps) - operator.offsets[:, [0]]))


def worst(pairs):
    """Return the largest ratio of any outcome, and so of any set, either way.

    ``None`` for an infinite one.
    """
    found = []
    for pair in pairs:
        one, other = ({said: Fraction(mass) for said, mass in law.items() if mass} for law in pair)
        found.append(worst_ratio(one, other))
    return None if None in found else max(found)


def odds(operator):
    """Return exp(epsilon), rounded down."""
    return Fraction(1 << 300, exp_neg_bounds(operator.plan.epsilon, 300)[1])


def reach(operator):
    """Return the steps at which anything changes."""
    far = max(table.size for table, _ in operator.law.tables) + 2
    return [range(at - far, at + far) for at in operator.offsets[:, 0].tolist()]


@pytest.mark.parametrize(("sensitivity", "levels"), LEVELS)
def test_no_set_of_outcomes_is_likelier_by_more_than_the_price(sensitivity, levels):
    """All neighbours, all sets of none, warning and critical, in the integers that are drawn by."""
    operator = planned(sensitivity, levels)
    for steps in reach(operator):
        found = law(operator, steps)
        assert min(min(each.values()) for each in found) > 0
        assert worst(pairwise(found)) <= odds(operator)


@pytest.mark.parametrize("comparison", [Comparison.GT, Comparison.LE])
@pytest.mark.parametrize(("sensitivity", "levels"), LEVELS)
def test_every_level_keeps_its_rates_at_its_corners(sensitivity, levels, comparison):
    """At the first value that is true, and at the first beyond the tolerance, exactly."""
    operator = planned(sensitivity, levels, comparison)
    sign, first = (1, 101) if comparison is Comparison.GT else (-1, 100)
    test = operator.condition.test(*operator.condition.formula.literals).at(np.zeros(2, np.intp))
    for number, (distance, fnr, fpr, tolerance) in enumerate(levels):
        due = first + sign * distance
        quiet = due - sign * (2 * tolerance + 1)
        cuts = operator.law.cuts(test.quantise(np.array([due, quiet])) - operator.offsets[:, [0]])
        fires, rings = cuts[number].tolist()
        assert ONE - fires <= fnr * ONE
        assert rings <= fpr * ONE
    assert operator.plan.ratio == pytest.approx(1, abs=1e-9)


def test_the_price_is_that_of_the_levels_together():
    """No mechanism keeps both for what the dearest of them costs alone."""
    operator = planned(1, APART)
    condition, aim = asked(1, APART)
    alone = [
        price("tslm", condition, replace(level.aim(aim), severities=())).epsilon
        for level in aim.severities
    ]
    together = theoretical_limit(5 * 2 + 1 + 2, TWENTIETH, FINE)
    assert float(operator.plan.epsilon) == pytest.approx(together, abs=1e-9)
    assert together == pytest.approx(0.648, abs=5e-4)
    assert list(map(float, alone)) == pytest.approx([0.353, 0.340], abs=5e-4)

    def missed(epsilon):
        cut, ratio = ONE // 20, exp_neg_bounds(epsilon, 128)[1]  # warning must not ring any more
        for _ in range(13):
            cut = step_up(cut, ratio)
        return ONE - cut

    assert missed(operator.plan.epsilon) <= FINE * ONE
    assert missed(max(alone)) > 30 * FINE * ONE


def test_coins_of_their_own_are_caught():
    """Critical without warning, and the losses of all levels added up."""
    operator = planned(1, ((0, TENTH, TENTH, 5), (2, TENTH, TENTH, 5)))
    cuts = operator.law.cuts(ints(reach(operator)[0]) - operator.offsets[:, [0]]).astype(object)
    found = [
        dict(enumerate(((ONE - w) * (ONE - c), w * (ONE - c), (ONE - w) * c, w * c)))
        for w, c in cuts.T.tolist()
    ]
    ratio = worst(pairwise(found))
    assert ratio is None or ratio > odds(operator) ** Fraction(3, 2)
    assert max(one[2] for one in found) > ONE * ONE // 20


def test_rounding_without_spare_units_is_caught(monkeypatch):
    """An outcome that rounding leaves nothing of on one side has no bounded loss."""
    monkeypatch.setattr(severity, "_SPARE", 0)
    operator = planned(1, LEVELS[1][1])
    assert worst(pairwise(law(operator, reach(operator)[0]))) is None


def test_levels_off_the_grid_are_caught():
    """Each on steps of its own, from one uniform: a neighbour empties what lies between them."""
    operator = planned(10, ((0, TENTH, TENTH, 10), (10, TENTH, TENTH, 10)))
    values = np.arange(60, 151)
    laws = masses(operator.law.cuts((values - np.array([[101], [106]])) // 10))  # 100 and 105
    ratio = worst(pair for by in range(1, 11) for pair in zip(laws, laws[by:], strict=False))
    assert ratio is None or ratio > 1 << 30


def test_an_average_with_a_shared_draw_is_caught():
    """Another statistic for every threshold: one record moves both, by different steps."""
    operator = planned(1, ((0, TENTH, TENTH, 3), (1, TENTH, TENTH, 3)))
    bounds, widest, values = np.array([[2], [3]]), 8, (0, 2, 3, 5, 10)

    def at(data):
        (found,) = masses(operator.law.cuts((sum(data) - len(data) * bounds - 1) // widest))
        return found

    data = [each for n in range(4) for each in product(values, repeat=n)]
    ratio = worst((at(each), at((*each, more))) for each in data for more in values)
    assert ratio is None or ratio > 1 << 30


@pytest.mark.parametrize(("sensitivity", "levels"), [LEVELS[0], LEVELS[3]])
def test_a_gaussian_budget_pays_for_one_normal(sensitivity, levels):
    """All levels are read off one exact draw, at quantiles that move by mu a step."""
    operator = planned(sensitivity, levels, gaussian=True)
    lines = operator.law.lines
    (mu,) = {line.apart for line in lines}
    assert to_loss_units(operator.plan.epsilon) == to_loss_units(mu**2 / 2)
    assert operator.plan.ratio == pytest.approx(1, abs=1e-6)
    one = 1 << 128
    for low, (distance, _, fpr, tolerance) in enumerate(levels):
        quiet = (distance - 2 * tolerance - 1) // sensitivity
        for line, offset in zip(lines[low:], operator.offsets[low:, 0].tolist(), strict=True):
            assert line.bounds(quiet - offset, 128)[1] <= fpr * one
        assert one - lines[low].bounds(0, 128)[0] <= levels[low][1] * one


def test_levels_of_panes_are_nested_and_keep_their_rates(monkeypatch):
    """Thresholds on one noisy sum; priced level by level, the lower one rings too often."""
    condition, aim = asked(1, ((0, TENTH, TENTH, 12), (2, Fraction(1, 10**6), TENTH, 40)))

    def rates():
        operator = create("panes", condition, replace(aim, panes=3))
        warning, critical = operator.severities(0, np.array([[101, 76, 103, 22]]))  # due and quiet
        assert (critical <= warning).all()
        reached = [int(operator.reached(np.array([[each], [0]]))[0]) for each in range(200)]
        assert reached == sorted(reached)
        return np.array([1 - warning[0], warning[1], 1 - critical[2], critical[3]])

    limits = np.array([0.1, 0.1, 1e-6, 0.1])
    assert (rates() <= limits * (1 + 1e-9)).all()
    every = Panes.planned
    monkeypatch.setattr(Panes, "planned", lambda asked, **of: every(asked[:2], **of))
    assert rates()[1] > 0.2


@pytest.mark.parametrize("gaussian", [False, True])
def test_released_draws_have_the_law(gaussian):
    """A chi-square test with the cryptographic source, at steps where all outcomes occur."""
    operator, draws = planned(1, LEVELS[0][1], gaussian=gaussian), 40_000
    values = np.array([88, 92, 95, 97, 99])
    found = operator.decide_many(values.repeat(draws)[:, None, None], NoiseSource())
    ends = np.ones((1, values.size))
    likely = -np.diff(np.vstack([ends, operator.severities(0, values[None]), 0 * ends]), axis=0)
    for row, law_of in zip(found.reached.reshape(values.size, -1), likely.T, strict=True):
        assert chi_square(np.bincount(row, minlength=3), law_of) > 1e-6


def test_levels_that_are_no_step_apart_are_refused():
    """Where one record moves a count by 10, nine more are rounded down to the same step."""
    condition, aim = asked(10, [(0, TENTH, TENTH, 10), (19, TENTH, TENTH, 4)])
    with pytest.raises(ConfigError, match="by a multiple of 10"):
        create("tslm", condition, aim)
