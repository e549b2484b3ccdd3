"""Simulated holds: what is tallied has the law of what is run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.units import Contribution, PrivacyUnit
from operators.conditions.condition import Aim
from operators.noise.source import KeyedNoise, NoiseSource
from operators.registry import create
from stream.decisions.mechanisms import run_of
from stream.model.alarms import Budget
from stream.simulation.draws.held import Holding
from stream.simulation.draws.runs import RunDraws
from stream.simulation.plays import Played
from stream.windows.cumulative import CumulativeCalendar
from tests.support.simulated import HOUR_MS, THRESHOLD, alarm, counted_alarm, file_of, tried
from tests.unit.stream.replay.test_hold_alarms import rooms
from tests.unit.stream.replay.test_run_alarms import MINUTE_MS, running

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarm import Alarm

COUNTS = [[101, 95, 80, 99], [103, 0, 97, 101], [120, 90, 100, 0], [101, 101, 60, 96]] * 3


def holding(mechanism: str) -> Alarm:
    """Return an alarm of three rooms that holds for two windows."""
    return replace(alarm(3, mechanism=mechanism), hold_ms=2 * HOUR_MS)


@pytest.mark.parametrize("mechanism", ["tslm", "ppwlm", "dppwlm", "svt"])
def test_a_simulation_plays_holds_as_a_run_does(tmp_path: Path, mechanism: str) -> None:
    """With the same noise, the same rooms fire in the same windows."""
    with running(tmp_path, mechanism=mechanism, lines=["hold: 2m"]) as one:
        one.runtime.judge._noise = KeyedNoise(b"held")
        decided = [one.decide(at, counts) for at, counts in enumerate(COUNTS)]
        told = [rooms(one, each) for each in decided]
        query, run = one.query, run_of(one.query)
    statistics = np.array(COUNTS, np.int64)[:, None]
    since = np.maximum(np.arange(len(COUNTS)) - query.hold_ms // MINUTE_MS, 0)
    drawn, noise = Holding.of(since, len(COUNTS), 4), KeyedNoise(b"held")
    runs = None if run is None else RunDraws(run, noise, drawn)
    for at, each in enumerate(statistics):
        if runs is None:
            drawn.ask(at, create(mechanism, query.condition, query.aim), each, noise)
        else:
            runs.ask(at, each)
    assert drawn.fired.tolist() == [[room in rang for room in "abcd"] for rang in told]
    assert drawn.fired.any()


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
