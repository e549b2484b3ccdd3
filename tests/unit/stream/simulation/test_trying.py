"""Early alarms and alarms over panes, from their files to what ``tocsin simulate`` says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from stream.config.loading import load
from stream.decisions.mechanisms import plans_of
from stream.simulation.history import count_history
from tests.support.commands import tocsin

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarms import Alarms

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [hall, lab]}, ts: timestamp}
    history: {from: 2025-03-03T08:00, until: 2025-03-03T14:30}
budget: {privacy_unit: event, epsilon_max: "1"}
alarms:
"""
EARLY = """\
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, CUMULATE(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)
      HAVING COUNT(*) > 20
    max_fnr: 0.05
    tolerance: 9
    mechanism: svt
"""
SLIDING = """\
  {name}:
    sql: |
      SELECT room FROM badges
      GROUP BY room, HOP(ts, INTERVAL '15' MINUTE, INTERVAL '{minutes}' MINUTE)
      HAVING COUNT(*) > {most}
    max_fnr: 0.05
    tolerance: {tolerance}
    mechanism: panes
"""


def written(folder: Path, *alarms: str, budget: str = '"1"') -> Path:
    """Write a configuration of some alarms."""
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.replace('"1"', budget) + "".join(alarms))
    return path


def two_over_panes(folder: Path) -> Path:
    """Write two alarms that share panes of 15 minutes, of which the sharper one sets the noise."""
    return written(
        folder,
        SLIDING.format(name="hour", minutes=60, most=40, tolerance=19),
        SLIDING.format(name="half", minutes=30, most=30, tolerance=9),
    )


def events(folder: Path) -> Path:
    """Write a hall that fills from the second quarter of every hour on, and an empty lab."""
    path = folder / "events.jsonl"
    lines = [
        json.dumps(
            {
                "person": f"p{at}",
                "room": "hall",
                "ts": f"2025-03-03T{hour:02d}:{minute:02d}:{at:02d}Z",
            }
        )
        for hour in range(8, 15)
        for minute in (20, 35, 50)
        for at in range(15)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def simulated(folder: Path, path: Path, *options: str) -> dict[str, Any]:
    """Simulate, and return what the first alarm's JSON says."""
    out = folder / "out.json"
    ended = tocsin(
        *("simulate", path, "--replay", events(folder), "--workers", "1", "--force"),
        *("--json", out, *options),
        code=0,
    )
    (first, *_) = json.loads(out.read_text())["alarms"]
    return {**first, "shown": ended.output}


def test_early_alarms_are_tried_with_their_delay(tmp_path: Path) -> None:
    """Both early ways: the hall has 15, 30, 45 from its second look on."""
    page, path = tmp_path / "out.html", written(tmp_path, EARLY)
    one = simulated(tmp_path, path, "--runs", "200", "--mechanisms", "tslm", "--html", str(page))
    assert (one["windows"], one["looks"], one["incomplete_windows"]) == (6, 4, 0)
    assert [each["mechanism"] for each in one["settings"]] == ["svt", "tslm"]
    own = one["settings"][0]
    assert own["configured"]
    assert own["fnr"]["of"] == own["before"]["of"] == 6 * 200  # held from the third look on
    assert own["fpr"]["of"] == 6 * 200  # the lab
    assert set(own["delay_s"].values()) <= {0, 900} | {own["delay_s"]["mean"]}
    rang = sum(each["count"] for each in own["delay_steps"])
    assert rang + own["before"]["count"] + own["fnr"]["count"] == 6 * 200
    assert own["before"]["count"] > 0
    assert "6 windows of 4 steps" in one["shown"]
    assert "too early %" in page.read_text()


def test_what_does_not_look_at_steps_is_left_out_with_the_reason(tmp_path: Path) -> None:
    """Of early alarms those that decide whole windows alone."""
    path = written(tmp_path, EARLY)
    one = simulated(tmp_path, path, "--runs", "1", "--mechanisms", "dppwlm,svt")
    assert [each["mechanism"] for each in one["settings"]] == ["svt"]
    assert any("cannot decide the steps of CUMULATE" in each for each in one["refused"])


def test_panes_are_tried_as_they_are_written(tmp_path: Path) -> None:
    """For what a pane costs; nothing else is tried in their place, as others may share them."""
    path = two_over_panes(tmp_path)
    one = simulated(tmp_path, path, "--runs", "20", "--mechanisms", "tslm")
    (panes,) = one["settings"]
    assert (panes["mechanism"], panes["configured"]) == ("panes", True)
    assert panes["charged_windows"] == 1
    plans = plans_of(load(path, environ={}))
    shared = next(plan for name, plan in plans.items() if name.startswith("panes-"))
    assert panes["epsilon_worst"] == float(shared.epsilon)
    assert panes["epsilon_cell"]["mean"] == panes["epsilon_cell"]["max"] == float(shared.epsilon)
    assert any("panes are simulated as written" in each for each in one["refused"])
    windows = one["windows"]
    assert panes["fnr"]["of"] + panes["fpr"]["of"] + panes["uncertain"]["of"] == 20 * 2 * windows


def test_a_budget_is_asked_what_an_event_pays(tmp_path: Path) -> None:
    """Of panes once: all fit. Of windows each: one in four may overlap no other."""
    paned = simulated(tmp_path, two_over_panes(tmp_path), "--runs", "2")
    assert [each["denied"] for each in paned["settings"]] == [0]
    alone = SLIDING.format(name="hour", minutes=60, most=40, tolerance=19)
    tslm = written(tmp_path, alone.replace("panes", "tslm"), budget='"0.2", on_shortfall: deny')
    (one,) = simulated(tmp_path, tslm, "--runs", "2")["settings"]
    assert one["charged_windows"] == 4
    assert 0.2 / 2 < one["epsilon_worst"] <= 0.2
    assert 0.7 < one["denied"] < 0.8


def test_what_is_not_drawn_pays_all_the_same(tmp_path: Path) -> None:
    """Another alarm of the file, shown or not, leaves less of the budget."""
    tslm = SLIDING.format(name="hour", minutes=60, most=40, tolerance=19).replace("panes", "tslm")
    more = tslm.replace("hour", "more")
    both = written(tmp_path, tslm, more, budget='"0.9", on_shortfall: deny')
    found = simulated(tmp_path, both, "--runs", "2", "--alarm", "more")
    assert found["alarm"] == "more"
    assert found["settings"][0]["denied"] > 0
    alone = written(tmp_path, more, budget='"0.9"')
    assert simulated(tmp_path, alone, "--runs", "2")["settings"][0]["denied"] == 0


@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_counts_windows_and_not_steps_or_panes(tmp_path: Path, limit: int) -> None:
    """The first windows, whole; of panes, those that these are made of."""
    found: list[Alarms] = [
        load(written(tmp_path, EARLY), environ={}),
        load(two_over_panes(tmp_path), environ={}),
    ]
    files = {"badges": [events(tmp_path)]}
    early = count_history(found[0], files, limit=limit)["crowd"]
    assert (early.windows, early.looked_at(0, limit).shape) == (limit, (limit, 4, 1, 2))
    assert early.looked_at(0, limit)[0, :, 0, 0].tolist() == [0, 15, 30, 45]
    over = count_history(found[1], files, limit=limit)
    (panes,) = [each for name, each in over.items() if name.startswith("panes-")]
    assert panes.windows == limit + 3
    for name, length in (("hour", 4), ("half", 2)):
        for window in range(limit):
            rows = panes.stacked(window, window + length)
            assert (over[name].dense(window) == rows.sum(axis=0)).all()
