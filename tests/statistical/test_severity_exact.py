"""Severity levels: the joint law of all outcomes, every rate, and what breaks them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, pairwise, product

import numpy as np
import pytest
from scipy.stats import chisquare

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition, Severity
from operators.noise.certified import exp_neg_bounds
from operators.noise.source import NoiseSource
from operators.panes.mechanism import Panes
from operators.registry import OFFERED, create
from operators.single import severity
from operators.single.tslm import Tslm, step_up, theoretical_limit
from tests.statistical.enumeration import ints

ONE = 1 << 64
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
    bounds = [[ONE, *column, 0] for column in cuts.T.tolist()]
    return [tuple(a - b for a, b in pairwise(one)) for one in bounds]


def law(operator, steps):
    """Return the law at so many steps of the first level."""
    at = ints(steps) - operator.offsets[:, [0]]
    return masses(operator.law.cuts(at))


def worst(pairs):
    """Return the largest ratio of any set of outcomes, either way; ``None`` for an infinite one."""
    found = Fraction(1)
    for one, other in pairs:
        sets = chain.from_iterable(combinations(range(len(one)), n) for n in range(1, len(one)))
        for chosen in sets:
            a, b = sum(one[at] for at in chosen), sum(other[at] for at in chosen)
            if not a or not b:
                if a != b:
                    return None
                continue
            found = max(found, Fraction(a, b), Fraction(b, a))
    return found


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
        assert min(map(min, found)) > 0
        ratio = worst(pairwise(found))
        assert ratio <= odds(operator)


@pytest.mark.parametrize("comparison", [Comparison.GT, Comparison.LE])
@pytest.mark.parametrize(("sensitivity", "levels"), LEVELS)
def test_every_level_keeps_its_rates_at_its_corners(sensitivity, levels, comparison):
    """At the first value that is true, and at the first beyond the tolerance, exactly."""
    operator = planned(sensitivity, levels, comparison)
    sign = 1 if comparison is Comparison.GT else -1
    first = 101 if sign > 0 else 100
    test = operator.condition.test(operator.condition.formula.literals[0])
    for number, (distance, fnr, fpr, tolerance) in enumerate(levels):
        due = first + sign * distance
        for value, most, missing in (
            (due, fnr, True),
            (due - sign * (2 * tolerance + 1), fpr, False),
        ):
            steps = test.quantise(np.array([value])) - operator.offsets
            cut = int(operator.law.cuts(steps)[number, 0])
            assert (ONE - cut if missing else cut) <= most * ONE
    assert operator.plan.ratio == pytest.approx(1, abs=1e-9)


def test_the_price_is_that_of_the_levels_together():
    """No mechanism keeps both for what the dearest of them costs alone."""
    operator = planned(1, APART)
    (test, aims) = operator.condition.test("a"), asked(1, APART)[1]
    alone = [
        Tslm.priced(test, Promise(one.max_fnr, one.tolerances[0], one.max_fpr)).epsilon
        for one in (level.aim(aims) for level in aims.severities)
    ]
    together = theoretical_limit(5 * 2 + 1 + 2, TWENTIETH, FINE)
    assert float(operator.plan.epsilon) == pytest.approx(together, abs=1e-9)
    assert together == pytest.approx(0.648, abs=5e-4)
    assert list(map(float, alone)) == pytest.approx([0.353, 0.340], abs=5e-4)

    def reached(epsilon):
        cut = ONE // 20  # where warning must not ring any more
        ratio = exp_neg_bounds(epsilon, 128)[1]
        for _ in range(13):
            cut = step_up(cut, ratio)
        return cut

    assert ONE - reached(operator.plan.epsilon) <= FINE * ONE
    assert ONE - reached(max(alone)) > 30 * FINE * ONE


def test_coins_of_their_own_are_caught():
    """Critical without warning, and the losses of all levels added up."""
    operator = planned(1, ((0, TENTH, TENTH, 5), (2, TENTH, TENTH, 5)))
    steps = reach(operator)[0]
    at = ints(steps) - operator.offsets[:, [0]]
    cuts = operator.law.cuts(at).astype(object)
    found = [
        ((ONE - w) * (ONE - c), w * (ONE - c), (ONE - w) * c, w * c) for w, c in cuts.T.tolist()
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
    alike = ((0, TENTH, TENTH, 10), (10, TENTH, TENTH, 10))
    operator = planned(10, alike)

    def at(value):
        steps = np.array([[(value - 101) // 10], [(value - 106) // 10]])  # 100 and 105
        return masses(operator.law.cuts(steps))[0]

    pairs = ((at(value), at(value + by)) for value in range(60, 140) for by in range(1, 11))
    ratio = worst(pairs)
    assert ratio is None or ratio > 1 << 30


def test_an_average_with_a_shared_draw_is_caught():
    """Another statistic for every threshold: one record moves both, by different steps."""
    operator = planned(1, ((0, TENTH, TENTH, 3), (1, TENTH, TENTH, 3)))
    bounds, widest = (2, 3), 8  # of values from 0 to 10

    def at(values):
        steps = [[(sum(values) - len(values) * bound - 1) // widest] for bound in bounds]
        return masses(operator.law.cuts(np.array(steps)))[0]

    data = [each for n in range(4) for each in product((0, 2, 3, 5, 10), repeat=n)]
    ratio = worst((at(each), at((*each, more))) for each in data for more in (0, 2, 3, 5, 10))
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
        due_and_quiet = np.array([[101, 76, 103, 22]])
        (warning, critical) = operator.severities(0, due_and_quiet)
        assert (critical <= warning).all()
        noisy = np.arange(0, 200)[:, None, None]
        reached = [int(operator.reached([each[0], each[0] * 0])[0]) for each in noisy]
        assert reached == sorted(reached)
        return [1 - warning[0], warning[1], 1 - critical[2], critical[3]]

    limits = (0.1, 0.1, 1e-6, 0.1)
    assert all(rate <= most * (1 + 1e-9) for rate, most in zip(rates(), limits, strict=True))
    every = Panes.planned
    monkeypatch.setattr(Panes, "planned", lambda asked, **of: every(asked[:2], **of))
    assert rates()[1] > 0.2


@pytest.mark.parametrize("gaussian", [False, True])
def test_released_draws_have_the_law(gaussian):
    """A chi-square test with the cryptographic source, at steps where all outcomes occur."""
    operator = planned(1, LEVELS[0][1], gaussian=gaussian)
    values = np.array([[88, 92, 95, 97, 99]])
    law_of = operator.severities(0, values)
    many = np.repeat(values, 40_000, axis=0).T.reshape(-1)
    found = operator.decide_many(many[:, None, None], NoiseSource())
    counts = found.reached.reshape(values.size, -1)
    for at, row in enumerate(counts):
        column = np.array([1, *law_of[:, at], 0])
        expected = (column[:-1] - column[1:]) * row.size
        seen = np.bincount(row, minlength=3)
        likely = expected > 5
        assert not seen[~likely].sum() > 60
        total = seen[likely].sum() / expected[likely].sum()
        assert chisquare(seen[likely], expected[likely] * total).pvalue > 1e-6


@pytest.mark.parametrize(
    ("mechanism", "distances", "said"),
    [
        ("tslm", (0, 5, 5), "severity 2 is not 1 or more beyond that of 1 in every group"),
        ("tslm", (0, 9, 4), "severity 2 is not 1 or more beyond that of 1 in every group"),
        ("tslm", (0,), "2 to 7"),
        *((name, (0, 9), "no severity levels") for name in ("ppwlm", "svt", "probe")),
    ],
)
def test_levels_that_cannot_be_are_refused(mechanism, distances, said):
    """Equal, out of order, alone, or of a mechanism that has none."""
    condition, aim = asked(1, [(each, TENTH, TENTH, 5) for each in distances])
    with pytest.raises(ConfigError, match=said):
        create(mechanism, condition, aim)
    assert {name for name, one in OFFERED.items() if one.severities} == {"tslm", "panes"}


def test_a_level_off_the_grid_by_all_of_its_tolerance_is_refused():
    """Rounding down leaves it no step between ringing and not."""
    with pytest.raises(ConfigError, match="by a multiple of 10"):
        planned(10, ((0, TENTH, TENTH, 10), (19, TENTH, TENTH, 4)))
