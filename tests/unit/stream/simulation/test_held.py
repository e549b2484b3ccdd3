"""Simulated holds: what is tallied has the law of what is run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from operators.conditions.condition import Aim
from tests.support.simulated import HOUR_MS, THRESHOLD, alarm, stepped, tried

if TYPE_CHECKING:
    from stream.model.alarm import Alarm


def holding(mechanism: str) -> Alarm:
    """Return an alarm of three rooms that holds for two windows."""
    return replace(alarm(3, mechanism=mechanism), hold_ms=2 * HOUR_MS)


@pytest.mark.parametrize("mechanism", ["tslm", "dppwlm", "svt"])
def test_held_cells_count_as_nothing_and_cost_nothing(mechanism: str) -> None:
    """Full rooms are asked in every third window; none of those asked is missed."""
    query = holding(mechanism)
    statistics = np.full((9, 1, 3), 10**6 * THRESHOLD, np.int64)
    tally = tried(query, statistics, 4)
    assert (tally.cells.true, tally.cells.missed) == (4 * 3 * 3, 0)
    assert tally.cells.false == tally.cells.uncertain == 0
    if mechanism != "svt":
        assert tally.losses[0] == 4 * 3 * 6


def test_early_alarms_forget_what_held_windows_drew() -> None:
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
