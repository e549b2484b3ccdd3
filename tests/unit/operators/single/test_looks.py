"""Windows that are looked at from end to end ring where the deciding operator rings, bit for bit.

Given the same noise for every window, look and cell, trying many windows at once gives the first
look that :meth:`EarlyAlarms.go_on` gives, step by step with its state carried along, and its loss.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from accountant.costs.runs import StoredRun
from accountant.errors import ArgumentError
from accountant.units import to_loss_units
from operators.conditions.condition import Aim, Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.noise.source import NoiseSource
from operators.registry import create
from operators.svt.early import RunLooks

LOOKS = 4
CELLS = 5
WINDOWS = 60


def early(mechanism, *, downward=False):
    """Return early alarms over the second of two statistics, each cell with its own threshold."""
    atom = ThresholdAtom(1, np.arange(20, 20 + CELLS))
    formula = Formula.parse("NOT a" if downward else "a")
    condition = Condition(formula, {"a": atom}, (1, 2), monotone=True)
    return create(mechanism, condition, Aim(Fraction(1, 20), (6,), looks=LOOKS))


def courses(*, downward=False):
    """Return windows whose second statistic grows, or falls, past the thresholds in some cells."""
    random = np.random.default_rng(7)
    grown = random.integers(0, 9, (WINDOWS, LOOKS, 2, CELLS)).cumsum(axis=1)
    return 44 - grown if downward else grown


class Given(NoiseSource):
    """Noise by window, look and cell, handed out to one window or to all of them at once."""

    def __init__(self, window=None):
        """Draw the same arrays every time; ``None`` is for all windows."""
        super().__init__()
        random = np.random.default_rng(11)
        geometric = random.geometric(0.2, (LOOKS + 1, WINDOWS, CELLS)) - 1
        coins = random.integers(0, 1 << 64, (LOOKS, WINDOWS, CELLS), dtype=np.uint64)
        own = slice(None) if window is None else slice(window, window + 1)
        self.steps, self.coins = iter(geometric[:, own]), iter(coins[:, own])

    def geometric(self, _t, n):
        """Return the thresholds' noise at first, then that of look after look."""
        drawn = next(self.steps).ravel()
        assert drawn.size == n
        return drawn

    def bernoulli(self, thresholds):
        """Toss the coins of look after look."""
        return next(self.coins).ravel() < thresholds


def step_by_step(operator, statistics):
    """Return the first look of every window and cell, as steps are decided for release."""
    first = np.full((WINDOWS, CELLS), LOOKS)
    for window in range(WINDOWS):
        noise, before = Given(window), None
        for look in range(LOOKS):
            step = operator.go_on(statistics[window, look], before, noise, window=look)
            assert step.units == to_loss_units(operator.plan.epsilon)
            first[window, step.fired] = look
            before = StoredRun("", "", (), 1, 1, step.after.left, 0, 0, 0, step.after.state)
    return first


@pytest.mark.parametrize("mechanism", ["svt", "tslm"])
@pytest.mark.parametrize("downward", [False, True])
def test_windows_tried_at_once_ring_as_those_that_are_released(mechanism, downward):
    """Every cell of every window rings at the same look, and all looks occur."""
    operator, statistics = early(mechanism, downward=downward), courses(downward=downward)
    many = operator.first_looks(statistics, Given())
    assert np.array_equal(many, step_by_step(operator, statistics))
    assert len(np.unique(many)) >= 3


def test_thresholds_that_windows_share_are_found_out(monkeypatch):
    """A broken twin draws one window's thresholds and looks at all windows with them."""
    operator, statistics, plain = early("svt"), courses(), RunLooks.open
    right = step_by_step(operator, statistics)

    def shared(self, cells, noise):
        return np.tile(plain(self, cells, noise)[:CELLS], cells // CELLS)

    monkeypatch.setattr(RunLooks, "open", shared)
    assert not np.array_equal(operator.first_looks(statistics, Given()), right)


def test_looks_in_the_wrong_order_are_found_out():
    """A broken twin takes the window's end first."""
    operator, statistics = early("svt"), courses()
    backward = operator.first_looks(statistics[:, ::-1], Given())
    assert not np.array_equal(backward, step_by_step(operator, statistics))


def test_a_window_is_tried_with_all_its_looks():
    """Fewer of them are another alarm."""
    operator, other = early("svt"), replace(early("svt"), looks=LOOKS + 1)
    for tried, statistics in ((operator, courses()[:, 1:]), (other, courses())):
        with pytest.raises(ArgumentError):
            tried.first_looks(statistics, Given())
