"""Windows over panes that are looked at while they fill: laws by enumeration, and twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.base import Promise
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.noise.source import SeededSource
from operators.panes import LaplaceSum, LaplaceWalk, PaneQuestion, Panes
from operators.panes.windows import PaneWindows
from tests.statistical.enumeration import ints
from tests.statistical.panes_law import law_of, mass
from tests.support.exact import worst_ratio
from tests.support.svt import RATE

Q = Fraction(1, 3)
BOX = range(-6, 10)
LOOKS = 3
COUNTS = (1, 0, 2)


def windows(cells, threshold=3, *, looks=LOOKS, between=1):
    """Return what looks at windows."""
    test = IntegerTest(Comparison.GT, np.full(cells, threshold), 1)
    aim = Aim(RATE, (2,), panes=looks * between, looks=looks)
    return PaneWindows.planned(Condition.single(test), aim)


def walked(rate, steps, at, reach=400):
    """Return how likely some sum is ``at`` or more, step by step."""
    q, sums = np.exp(-rate), np.arange(-reach, reach + 1)
    law = (1 - q) / (1 + q) * q ** np.abs(np.arange(-2 * reach, 2 * reach + 1))
    state, gone = (sums == 0).astype(np.float64), 0.0
    for _ in range(steps):
        state = np.convolve(state, law)[2 * reach : -2 * reach]
        gone += state[sums >= at].sum()
        state[sums >= at] = 0
    return float(gone)


def test_the_law_of_a_walk_is_exact():
    """Between its certified bounds, for barriers on either side of where it starts."""
    for rate, steps in product((Fraction(1, 5), Fraction(1, 2)), (1, 2, 3, 12)):
        for at in (-7, -1, 0, 1, 2, 5, 20):
            low, high = LaplaceWalk(rate, steps).tail(at)
            expected = walked(float(rate), steps, at)
            assert 0 <= low <= high
            assert float(high - low) < 1e-30
            assert float(low) == pytest.approx(expected, rel=1e-9, abs=1e-12)
            (found,) = LaplaceWalk(rate, steps).tails(np.array([at]))
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_law_of_two_steps_in_rationals():
    """Bounds of q, both ways, through P[Z >= b] + sum over z < b of P[z] P[Z >= b - z]."""
    for at in (1, 3):
        law = LaplaceWalk(Fraction(1, 2), 2).tail(at)
        q = Fraction(np.exp(-0.5))
        tail = sum(mass(z, q) * q ** (at - z) / (1 + q) for z in range(-80, at))
        expected = q**at / (1 + q) + tail
        assert float(law[0]) == pytest.approx(float(expected), rel=1e-14)


def first_looks(counts, *, released):
    """Return the law of the look that rings first, by the code under test, noise in a box."""
    values = ints(list(product(BOX, repeat=LOOKS))).T
    decides = windows(values.shape[1])
    fired = np.stack([decides.reached(values[: look + 1]) > 0 for look in range(LOOKS)])
    assert fired.sum(axis=0).max() == 1  # once in a window, or not at all
    first = np.where(fired.any(axis=0), fired.argmax(axis=0), LOOKS).tolist()

    def draws():
        for at, look in enumerate(first):
            noisy = values[:, at].tolist()
            chances = [mass(z - n, Q) for z, n in zip(noisy, counts, strict=True)]
            yield chances[0] * chances[1] * chances[2], (look, tuple(noisy) if released else ())

    return law_of(draws())


@pytest.mark.parametrize("pane", range(LOOKS))
@pytest.mark.parametrize("released", [False, True])
def test_when_a_window_rings_costs_what_a_pane_costs(pane, released):
    """An event more in one pane: no look is likelier to be the first by more than 1 / q."""
    more = tuple(count + (at == pane) for at, count in enumerate(COUNTS))
    laws = [first_looks(each, released=released) for each in (COUNTS, more)]
    assert released or laws[0].keys() == {(look, ()) for look in range(LOOKS + 1)}
    worst = worst_ratio(*laws)
    assert worst <= 1 / Q
    assert worst == 1 / Q if released else worst > Fraction(1, 2) / Q


@pytest.mark.parametrize("max_fpr", [None, Fraction(1, 100), Fraction(1, 5)])
@pytest.mark.parametrize("looks", [2, 3, 12])
def test_both_errors_are_those_of_the_worst_window(looks, max_fpr):
    """A miss: all comes in the last pane. A false alarm: all comes in the first, and looks add up.

    One loss unit less breaks the promise, wherever the threshold is put.
    """
    test = IntegerTest(Comparison.GT, ints([120]), 1)
    question = PaneQuestion(test, Promise(RATE, 9, max_fpr), looks, looks=looks)
    panes = Panes.planned([question])
    missed, false = panes.errors(0)
    assert missed <= RATE
    assert false <= (max_fpr or RATE)
    rate, (shift,) = float(panes.rate), panes.shifts
    assert float(missed) == pytest.approx(1 - _last(rate, looks, -shift), rel=1e-6)
    assert float(false) == pytest.approx(walked(rate, looks, 19 - shift), rel=1e-6)
    less = from_loss_units(panes.units - 1)
    for at in range(20):
        broken = LaplaceSum(less, looks).tail(at + 1)[0] > RATE
        rings = LaplaceWalk(less, looks).tail(19 - at)[0] if at < 19 else 1
        assert broken or rings > (max_fpr or RATE)


def _last(rate, steps, at):
    """Return P[S >= at] of the sum of all steps."""
    return float(LaplaceSum(Fraction(rate), steps).tails(np.array([at]))[0])


def test_the_price_of_one_look_is_caught():
    """Windows that are looked at twelve times for the price of one ring for nothing too often."""
    test = IntegerTest(Comparison.GT, ints([120]), 1)
    once = Panes.planned([PaneQuestion(test, Promise(RATE, 20), 12)])
    often = Panes.planned([PaneQuestion(test, Promise(RATE, 20), 12, looks=12)])
    assert once.units < often.units < 1.06 * once.units
    false = LaplaceWalk(once.rate, 12).tail(41 - once.shifts[0])[0]
    assert false > Fraction(11, 10) * RATE


@pytest.mark.parametrize("between", [1, 4])
def test_rings_are_as_frequent_as_the_law_says(between):
    """Growing counts, looked at four times: the first look that rings, and whether any does."""
    runs, looks = 40_000, 4
    test = IntegerTest(Comparison.GT, np.full(runs, 30), 1)
    aim = Aim(RATE, (6,), panes=looks * between, looks=looks)
    decides = PaneWindows.planned(Condition.single(test), aim)
    counts = np.zeros((looks * between, 1), int)
    counts[::between, 0] = (8, 6, 7, 8)
    whole = np.repeat(counts, runs, axis=1)
    noisy = decides.panes.release(whole, SeededSource(7))
    ends = range(between, looks * between + 1, between)
    fired = np.stack([decides.reached(noisy[:end]) for end in ends]).mean(axis=1)
    sums = np.cumsum(counts[::between], axis=0).T
    expected = decides.first_rings(0, sums)
    assert np.abs(fired - expected).max() < 4 * np.sqrt(0.25 / runs)
    assert expected.sum() <= 1 + 1e-9
    steady = decides.chances(0, np.full((1, 1), 30))
    once = decides.first_rings(0, np.full((1, looks), 30)).sum()
    assert once == pytest.approx(steady[0], abs=1e-9) if between == 1 else once < steady[0]
