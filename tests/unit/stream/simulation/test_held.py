"""Simulated holds: what is tallied has the law of what is run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from operators.conditions.condition import Aim
from stream.simulation.tally import Cells
from tests.support.simulated import HOUR_MS, THRESHOLD, alarm, stepped, tried


@pytest.mark.parametrize("mechanism", ["tslm", "dppwlm", "svt"])
def test_held_cells_count_as_nothing_and_cost_nothing(mechanism):
    """Full rooms are asked in every third window; none of those asked is missed."""
    query = replace(alarm(3, mechanism=mechanism), hold_ms=2 * HOUR_MS)
    tally = tried(query, np.full((9, 1, 3), 10**6 * THRESHOLD, np.int64), 4)
    assert tally.cells == Cells(true=4 * 3 * 3)
    if mechanism != "svt":
        assert tally.losses[0] == 4 * 3 * 6


def test_early_alarms_forget_what_held_windows_drew():
    """Windows share no noise: a window drawn and forgotten is a window that is not asked."""
    query = replace(alarm(2), aim=Aim(Fraction(1, 20), (6,), looks=2), hold_ms=HOUR_MS)
    fired = np.array([[True, False], [True, True], [True, True], [False, True]])
    counts = np.where(fired, 1000 * THRESHOLD, -1000 * THRESHOLD).repeat(2, axis=0)
    tally = stepped(query, counts, 2)
    held = np.array([[False, False], [True, False], [False, True], [True, False]])
    assert tally.cells.true == np.count_nonzero(fired & ~held) == 4
    assert tally.cells.missed == tally.cells.false_alarms == 0
    assert tally.losses[0] == np.count_nonzero(held)
    assert tally.delays == {0: 4}
