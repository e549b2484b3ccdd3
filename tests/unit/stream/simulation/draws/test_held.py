"""Simulated holds: what is tallied has the law of what is run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from operators.noise.source import KeyedNoise
from operators.registry import create
from stream.decisions.mechanisms import run_of
from stream.simulation.crew import try_out
from stream.simulation.draws.held import Holding, holds_since
from stream.simulation.draws.runs import drawn_run
from stream.simulation.settings import settings_of
from tests.support.simulated import HOUR_MS, THRESHOLD, alarm, bench_of, counted_alarm, own
from tests.unit.stream.replay.test_hold_alarms import rooms
from tests.unit.stream.replay.test_run_alarms import MINUTE_MS, running

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.queries import Query

COUNTS = [[101, 95, 80, 99], [103, 0, 97, 101], [120, 90, 100, 0], [101, 101, 60, 96]] * 3


def holding(mechanism: str) -> Query:
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
    if run is None:
        drawn.decide(create(mechanism, query.condition, query.aim), statistics, noise)
    else:
        drawn_run(run, list(statistics), noise, drawn, 0)
    assert drawn.fired.tolist() == [[room in rang for room in "abcd"] for rang in told]
    assert drawn.fired.any()


@pytest.mark.parametrize("mechanism", ["tslm", "dppwlm", "svt"])
def test_held_cells_count_as_nothing_and_cost_nothing(mechanism: str) -> None:
    """Full rooms are asked in every third window; none of those asked is missed."""
    query = holding(mechanism)
    statistics = np.full((9, 1, 3), 100 * THRESHOLD, np.int64)
    counted = counted_alarm(statistics)
    bench = replace(
        bench_of(query, counted, own(query, mechanism)),
        holds={query.id: holds_since(query, counted)},
    )
    (tried,) = try_out(bench, 4)
    assert (tried.tally.true, tried.tally.missed) == (4 * 3 * 3, 0)
    assert tried.tally.false == tried.tally.uncertain == 0
    if mechanism != "svt":
        assert tried.tally.losses[0] == 4 * 3 * 6


def test_mechanisms_that_hold_nobody_are_not_tried() -> None:
    """It is said why."""
    tried, untried = settings_of(holding("tslm"), mechanisms=("tslm", "probe"))
    assert {one.mechanism for one in tried} == {"tslm"}
    assert {one.reason for one in untried if one.setting.mechanism == "probe"} == {
        "it asks all predicates of a window, and holds none"
    }


def test_early_alarms_forget_what_held_windows_drew() -> None:
    """Windows share no noise: a window drawn and forgotten is a window that is not asked."""
    fired = np.array([[[True, False]], [[True, True]], [[True, True]], [[False, True]]])
    drawn = Holding(np.array([0, 0, 1, 2]), fired.copy())
    held = drawn.drop_held()
    assert held[:, 0].tolist() == [[False] * 2, [True, False], [False, True], [True, False]]
    assert np.array_equal(drawn.fired, fired & ~held)
