"""Simulated holds: what is tallied has the law of what is run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.units import Contribution, PrivacyUnit
from operators.conditions.condition import Aim
from operators.noise.source import NoiseSource
from stream.model.alarms import Budget
from stream.simulation.plays import Played
from stream.windows.cumulative import CumulativeCalendar
from tests.support.simulated import HOUR_MS, THRESHOLD, alarm, counted_alarm, file_of, tried

if TYPE_CHECKING:
    from stream.model.alarm import Alarm


def holding(mechanism: str) -> Alarm:
    """Return an alarm of three rooms that holds for two windows."""
    return replace(alarm(3, mechanism=mechanism), hold_ms=2 * HOUR_MS)


@pytest.mark.parametrize("mechanism", ["tslm", "dppwlm", "svt"])
def test_held_cells_count_as_nothing_and_cost_nothing(mechanism: str) -> None:
    """Full rooms are asked in every third window; none of those asked is missed."""
    query = holding(mechanism)
    statistics = np.full((9, 1, 3), 100 * THRESHOLD, np.int64)
    tally = tried(query, statistics, 4)
    assert (tally.true, tally.missed) == (4 * 3 * 3, 0)
    assert tally.false == tally.uncertain == 0
    if mechanism != "svt":
        assert tally.losses[0] == 4 * 3 * 6


def test_early_alarms_forget_what_held_windows_drew() -> None:
    """Windows share no noise: a window drawn and forgotten is a window that is not asked."""
    query = replace(
        alarm(2),
        aim=Aim(Fraction(1, 20), (6,), looks=2),
        calendar=CumulativeCalendar(HOUR_MS, HOUR_MS // 2),
        hold_ms=HOUR_MS,
    )
    fired = np.array([[True, False], [True, True], [True, True], [False, True]])
    counts = np.where(fired, 1000 * THRESHOLD, -1000 * THRESHOLD).repeat(2, axis=0)
    steps = replace(
        counted_alarm(counts[:, None]),
        starts_ms=np.arange(8, dtype=np.int64) * HOUR_MS // 2,
        looks=2,
    )
    budget = Budget(PrivacyUnit.EVENT, Fraction(100), None, Contribution(1, 1))
    file = Played(replace(file_of(query), budget=budget), {query.id: steps}, {})
    tally = file.replay(NoiseSource())[query.id]
    held = np.array([[False, False], [True, False], [False, True], [True, False]])
    assert tally.true == np.count_nonzero(fired & ~held) == 4
    assert tally.missed == tally.false_alarms == 0
    assert tally.losses[0] == np.count_nonzero(held)
    assert tally.delays.steps == {0: 4}
