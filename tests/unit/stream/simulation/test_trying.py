"""Early alarms and alarms over panes, from their files to what ``tocsin simulate`` says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from stream.config.loading import load
from stream.decisions.mechanisms import plans_of
from stream.simulation.history import count_history
from stream.simulation.settings import settings_of
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
budget: {unit: event, epsilon_max: "1"}
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


def written(folder: Path, *alarms: str) -> Path:
    """Write a configuration of some alarms."""
    path = folder / "alarms.yaml"
    path.write_text(CONFIG + "".join(alarms), encoding="utf-8")
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
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def simulated(folder: Path, path: Path, *options: str) -> dict[str, Any]:
    """Simulate, and return what the first alarm's JSON says."""
    out = folder / "out.json"
    ended = tocsin(
        "simulate", str(path), "--replay", str(events(folder)), "--workers", "1",
        "--json", str(out), *options,
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    (first, *_) = json.loads(out.read_text("utf-8"))["alarms"]
    return {**first, "shown": ended.output}


def test_early_alarms_are_tried_with_their_delay(tmp_path: Path) -> None:
    """All early ways and the window's end: the hall has 15, 30, 45 from its second look on."""
    page = tmp_path / "out.html"
    one = simulated(tmp_path, written(tmp_path, EARLY), "--runs", "200", "--html", str(page))
    assert (one["windows"], one["looks"], one["incomplete_windows"]) == (6, 4, 0)
    assert {(each["mechanism"], each["every_step"]) for each in one["settings"]} == {
        ("tslm", True),
        ("svt", True),
        ("tslm", False),
    }
    (own,) = [each for each in one["settings"] if each["configured"]]
    (end,) = [each for each in one["settings"] if not each["every_step"]]
    assert own["fnr"]["of"] == own["before"]["of"] == 6 * 200  # held from the third look on
    assert own["fpr"]["of"] == 6 * 200  # the lab
    assert set(own["delay_s"].values()) <= {0, 900} | {own["delay_s"]["mean"]}
    assert end["delay_s"]["median"] == end["delay_s"]["max"] == 900  # the fourth look
    assert end["before"]["count"] == 0
    rang = sum(each["count"] for each in own["delay_steps"])
    assert rang + own["before"]["count"] + own["fnr"]["count"] == 6 * 200
    assert own["before"]["count"] > 0
    assert "6 windows of 4 steps" in one["shown"]
    assert "tslm, end" in one["shown"]
    drawn = page.read_text("utf-8")
    assert "rang before %" in drawn
    assert ", at the end" in drawn


def test_the_windows_end_is_never_advised(tmp_path: Path) -> None:
    """It is cheaper, and no early alarm."""
    one = simulated(tmp_path, written(tmp_path, EARLY), "--runs", "2", "--tolerance-factors", "1")
    (end,) = [each for each in one["settings"] if not each["every_step"]]
    (advised,) = [each for each in one["settings"] if each["recommended"]]
    assert end["epsilon_worst"] < advised["epsilon_worst"]
    assert advised["mechanism"] == "svt"


def test_what_does_not_look_at_steps_is_left_out_with_the_reason(tmp_path: Path) -> None:
    """Of early alarms those that decide whole windows alone."""
    path = written(tmp_path, EARLY)
    one = simulated(tmp_path, path, "--runs", "1", "--mechanisms", "dppwlm,svt")
    assert {each["mechanism"] for each in one["settings"]} == {"svt"}
    assert any("step by step" in each["reason"] for each in one["untried"])


def test_panes_are_tried_as_they_are_written(tmp_path: Path) -> None:
    """At one tolerance, for what a pane costs, beside mechanisms that pay for every window."""
    path = two_over_panes(tmp_path)
    one = simulated(tmp_path, path, "--runs", "20", "--mechanisms", "panes,tslm")
    (panes,) = [each for each in one["settings"] if each["mechanism"] == "panes"]
    assert (panes["configured"], panes["charged_windows"]) == (True, 1)
    plans = plans_of(load(path, environ={}))
    shared = next(plan for name, plan in plans.items() if name.startswith("panes-"))
    assert panes["epsilon_worst"] == float(shared.epsilon)
    assert panes["epsilon_cell"]["mean"] == panes["epsilon_cell"]["max"] == float(shared.epsilon)
    others = [each for each in one["settings"] if each["mechanism"] == "tslm"]
    assert {each["charged_windows"] for each in others} == {4}
    windows = one["windows"]
    assert panes["fnr"]["of"] + panes["fpr"]["of"] + panes["uncertain"]["of"] == 20 * 2 * windows
    assert "event" in one["shown"].split()


def test_a_budget_is_asked_what_an_event_pays(tmp_path: Path) -> None:
    """Of panes once, and nothing for windows; four windows by tslm, and panes for the other."""
    one = simulated(tmp_path, two_over_panes(tmp_path), "--runs", "1", "--mechanisms", "panes,tslm")
    fits = {(each["mechanism"], each["tolerance_factor"]): each["fits"] for each in one["settings"]}
    assert fits["panes", 1.0]
    assert not fits["tslm", 0.5]


def test_panes_of_nobody_are_not_tried(tmp_path: Path) -> None:
    """Who else shares them is not known of an alarm that is written otherwise."""
    tslm = SLIDING.format(name="hour", minutes=60, most=40, tolerance=19).replace("panes", "tslm")
    query = load(written(tmp_path, tslm), environ={}).queries["hour"]
    settings, untried = settings_of(query, mechanisms=["panes"])
    assert settings == []
    assert len(untried) == 1
    assert all("panes are tried" in each.reason for each in untried)


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
