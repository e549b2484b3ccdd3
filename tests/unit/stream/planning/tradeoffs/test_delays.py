"""How often to look: prices and expected delays are those of the exact laws, looked up again."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from operators.panes.windows import PaneWindows
from operators.registry import create
from operators.svt.early import RunLooks
from stream.config.loading import load
from stream.decisions.mechanisms import early_of, panes_of, plans_of
from stream.planning.tradeoffs.delays import pacings
from tests.statistical.early_law import Run, law
from tests.support.commands import json_lines, tocsin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.model.queries import Query
    from stream.planning.tradeoffs.delays import Paced

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {{person: string, room: {{domain: [a, b]}}, ts: timestamp}}
budget: {{unit: event, epsilon_max: "9"}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, {window} HAVING {having}
    max_fnr: 0.05
    tolerance: 4
    mechanism: {mechanism}
"""
CUMULATE = "CUMULATE(ts, INTERVAL '20' MINUTE, INTERVAL '1' HOUR)"
HOP = "HOP(ts, INTERVAL '20' MINUTE, INTERVAL '1' HOUR)"
HOUR_MS = 3_600_000


def loaded(
    folder: Path, *, window: str = CUMULATE, having: str = "COUNT(*) > 60", mechanism: str = "svt"
) -> Alarms:
    """Return a configuration of one alarm."""
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.format(window=window, having=having, mechanism=mechanism))
    return load(path, environ={})


def ways(alarms: Alarms) -> dict[tuple[str, str, int], Paced]:
    """Return the ways of the only alarm."""
    (pacing,) = pacings(alarms)
    assert (pacing.window_ms, pacing.jumps_to) == (HOUR_MS, 65)
    return {(way.mechanism, way.windows, way.looks): way for way in pacing.ways}


def expected_ms(chances: Sequence[float], looks: int) -> float:
    """Return the mean end of the first look that rings, by the definition."""
    step_ms = HOUR_MS / looks
    ends = [step_ms * (at + 1) for at in range(looks)]
    return sum(p * at for p, at in zip(chances, ends, strict=True)) + (1 - sum(chances)) * HOUR_MS


@pytest.mark.parametrize("looks", [2, 3, 4])
def test_delays_of_runs_are_those_of_the_enumerated_law(tmp_path: Path, looks: int) -> None:
    """Every look sees four steps beyond the threshold; the run's own law, by its definition."""
    alarms = loaded(tmp_path)
    way = ways(alarms)["svt", "CUMULATE", looks]
    early = planned(alarms.queries["crowd"], looks)
    run = Run(
        float(early.terms.threshold_rate), float(early.terms.query_rate), early.terms.correction
    )
    found = law(run, (4,) * looks)
    assert way.delay_ms == pytest.approx(expected_ms([found[at] for at in range(looks)], looks))
    assert way.exact
    late = law(run, (3,) * looks)  # one event less, and the count is not there yet: a broken twin
    assert way.delay_ms < expected_ms([late[at] for at in range(looks)], looks) - 1


def planned(query: Query, looks: int) -> RunLooks:
    """Return the looks of a run that is planned anew."""
    early = early_of(replace(query, aim=replace(query.aim, looks=looks)))
    assert early is not None
    assert isinstance(early.looker, RunLooks)
    return early.looker


def test_looks_of_their_own_ring_by_their_product(tmp_path: Path) -> None:
    """Each look by tslm: quiet so often, each time anew; and what three of them cost."""
    alarms = loaded(tmp_path)
    way = ways(alarms)["tslm", "CUMULATE", 3]
    aim = alarms.queries["crowd"].aim
    once = create(
        "tslm",
        alarms.queries["crowd"].condition,
        replace(aim, looks=1, max_fpr=Fraction(1, 60)),
    )
    chances = once.chances(0, np.array([[65]]))
    assert chances is not None
    (ring,) = chances.tolist()
    quiet = 1 - ring
    assert way.delay_ms == pytest.approx(expected_ms([ring, quiet * ring, quiet**2 * ring], 3))
    assert way.epsilon == 3 * once.plan.epsilon


def test_windows_over_panes_ring_no_later_than_is_said(tmp_path: Path) -> None:
    """Three panes a window, the noises of four enumerated: two looks in a row share two of them.

    The true mean lies below what is said, and above what looks with noise of their own would have:
    a plan that took them for independent would promise too much.
    """
    alarms = loaded(tmp_path, mechanism="panes", window=HOP)
    way = ways(alarms)["panes", "HOP", 3]
    assert (way.used, way.exact) == (True, False)
    over = panes_of(alarms.queries["crowd"])
    assert isinstance(over, PaneWindows)
    q, reach = math.exp(-float(over.plan.epsilon)), 120
    values = np.arange(-reach, reach + 1)
    mass = (1 - q) / (1 + q) * q ** np.abs(values)
    two = np.convolve(mass, mass)  # of two panes, from -2 reach on
    needed = -over.panes.shifts[0] - 4  # the count is four steps beyond
    below = np.cumsum(mass)
    rest = np.clip(needed - np.arange(-2 * reach, 2 * reach + 1) - 1 + reach, -1, 2 * reach)
    quiet = np.where(rest < 0, 0.0, below[rest])  # of a third, given two
    once, twice = float(two @ quiet), float(two @ quiet**2)
    step_ms = HOUR_MS / 3
    assert way.delay_ms == pytest.approx(step_ms * (1 + 2 * once))
    assert step_ms * (1 + once + once**2) < step_ms * (1 + once + twice) < way.delay_ms


def test_a_way_that_is_used_pays_what_is_planned(tmp_path: Path) -> None:
    """Of runs, and of panes of which another alarm asks more: the price is theirs together."""
    alarms = loaded(tmp_path)
    (used,) = [way for way in ways(alarms).values() if way.used]
    assert (used.mechanism, used.windows, used.looks) == ("svt", "CUMULATE", 3)
    assert used.epsilon == plans_of(alarms)["crowd"].epsilon
    sharper = """\
  sharp:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '10' MINUTE) HAVING COUNT(*) > 9
    max_fnr: 0.05
    tolerance: 3
    mechanism: panes
"""
    path = tmp_path / "alarms.yaml"
    text = CONFIG.format(window=HOP, having="COUNT(*) > 60", mechanism="panes")
    path.write_text(text + sharper, encoding="utf-8")
    both = load(path, environ={})
    (shared,) = [plan for name, plan in plans_of(both).items() if name.startswith("panes-")]
    found = {way.looks: way for way in pacings(both)[0].ways if way.windows == "HOP"}
    assert found[3].used
    assert found[3].epsilon == shared.epsilon > found[2].epsilon


@pytest.mark.parametrize(
    "changed",
    [
        {"window": "TUMBLE(ts, INTERVAL '1' HOUR)", "mechanism": "tslm"},
        {"having": "COUNT(*) < 60"},
        {"window": HOP, "mechanism": "tslm"},
    ],
)
def test_others_have_no_such_jump(tmp_path: Path, changed: dict[str, str]) -> None:
    """What looks once, and what rings when it is small."""
    assert pacings(loaded(tmp_path, **changed)) == ()


def test_distinct_counts_are_not_made_of_panes(tmp_path: Path) -> None:
    """They do not add up: only the ways that look at whole counts are there."""
    (pacing,) = pacings(loaded(tmp_path, having="COUNT(DISTINCT person) > 60"))
    assert {way.windows for way in pacing.ways} == {"TUMBLE", "CUMULATE"}


def test_a_plan_says_how_often_to_look(tmp_path: Path) -> None:
    """As a table and as lines; more looks ring sooner and cost more."""
    loaded(tmp_path)
    lines = json_lines(tocsin("plan", str(tmp_path / "alarms.yaml"), "--json"))
    found = [line for line in lines if line["record"] == "delay"]
    runs = [line for line in found if line["mechanism"] == "svt"]
    assert [line["looks"] for line in runs] == [2, 3, 4, 6, 12, 30, 60]
    for less, more in pairwise(runs):
        assert float(less["epsilon"]) < float(more["epsilon"])
        assert less["delay_s"] > more["delay_s"]
    assert [line["windows"] for line in found if line["looks"] == 1] == ["TUMBLE"]
    shown = " ".join(tocsin("plan", str(tmp_path / "alarms.yaml")).output.split())
    assert "crowd: how often to look at 60.0 min" in shown
    assert "65, a tolerance beyond the first that should ring" in shown
