"""Windows over panes that are looked at while they fill: laws by enumeration, and twins.

When a window fires is read off the noisy panes alone: that loses what ``test_panes_exact`` has.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.condition import Aim, Condition
from operators.noise.source import SeededSource
from operators.panes import LaplaceSum, LaplaceWalk, Panes
from operators.panes.windows import PaneWindows
from tests.statistical.panes_law import asked
from tests.support.svt import RATE


def windows(cells, *, looks, between):
    """Return what looks at windows of COUNT > 30."""
    test = IntegerTest(Comparison.GT, np.full(cells, 30), 1)
    aim = Aim(RATE, (6,), panes=looks * between, looks=looks)
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
    barriers = (-7, -1, 0, 1, 2, 5, 20)
    for rate, steps in product((Fraction(1, 5), Fraction(1, 2)), (1, 2, 3, 12)):
        walk = LaplaceWalk(rate, steps)
        expected = [walked(float(rate), steps, at) for at in barriers]
        assert walk.tails(np.array(barriers)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        for at, exact in zip(barriers, expected, strict=True):
            low, high = walk.tail(at)
            assert 0 <= low <= high
            assert float(high - low) < 1e-30
            assert float(low) == pytest.approx(exact, rel=1e-9, abs=1e-12)


def first_fired(decides, noisy, between):
    """Return the look at which every cell's window fires first, once or not at all."""
    ends = range(between, len(noisy) + 1, between)
    fired = np.stack([decides.reached(noisy[:end]) > 0 for end in ends])
    assert fired.sum(axis=0).max() == 1
    return np.where(fired.any(axis=0), fired.argmax(axis=0), len(ends))


@pytest.mark.parametrize("max_fpr", [None, Fraction(1, 100), Fraction(1, 5)])
@pytest.mark.parametrize("looks", [2, 3, 12])
def test_both_errors_are_those_of_the_worst_window(looks, max_fpr):
    """A miss: all comes in the last pane. A false alarm: all comes in the first, and looks add up.

    One loss unit less breaks the promise, wherever the threshold is put.
    """
    panes = Panes.planned([asked(looks, 9, max_fpr=max_fpr, looks=looks, cells=1)])
    missed, false = panes.errors(0)
    assert missed <= RATE
    assert false <= (max_fpr or RATE)
    rate, (shift,) = float(panes.rate), panes.shifts
    (held,) = LaplaceSum(panes.rate, looks).tails(np.array([-shift]))
    assert float(missed) == pytest.approx(1 - held, rel=1e-6)
    assert float(false) == pytest.approx(walked(rate, looks, 19 - shift), rel=1e-6)
    less = from_loss_units(panes.units - 1)
    for at in range(20):
        broken = LaplaceSum(less, looks).tail(at + 1)[0] > RATE
        assert broken or at == 19 or LaplaceWalk(less, looks).tail(19 - at)[0] > (max_fpr or RATE)


def test_the_price_of_one_look_is_caught():
    """Windows that are looked at twelve times for the price of one ring for nothing too often."""
    once, often = (Panes.planned([asked(12, 20, looks=looks, cells=1)]) for looks in (1, 12))
    assert once.units < often.units < 1.06 * once.units
    false = LaplaceWalk(once.rate, 12).tail(41 - once.shifts[0])[0]
    assert false > Fraction(11, 10) * RATE


@pytest.mark.parametrize("between", [1, 4])
def test_rings_are_as_frequent_as_the_law_says(between):
    """Growing counts, looked at four times: the first look that rings, and whether any does."""
    runs, looks = 40_000, 4
    counts = np.zeros((looks * between, runs), int)
    counts[::between] = np.array([8, 6, 7, 8])[:, None]
    decides = windows(runs, looks=looks, between=between)
    noisy = decides.panes.release(counts, SeededSource(7))
    fired = np.bincount(first_fired(decides, noisy, between), minlength=looks + 1)[:looks] / runs
    expected = decides.first_rings(0, np.cumsum(counts[::between, :1], axis=0).T)
    assert np.abs(fired - expected).max() < 4 * np.sqrt(0.25 / runs)
    assert expected.sum() <= 1 + 1e-9
    (steady,) = decides.chances(0, np.full((1, 1), 30))
    once = decides.first_rings(0, np.full((1, looks), 30)).sum()
    assert once == pytest.approx(steady, abs=1e-9) if between == 1 else once < steady
