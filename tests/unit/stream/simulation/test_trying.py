"""Early alarms and alarms over panes, from their files to what ``tocsin simulate`` says of them."""

from __future__ import annotations

import json

import pytest

from stream.config.loading import load
from stream.decisions.mechanisms import plans_of
from stream.simulation.history import count_history
from tests.support.commands import tocsin
from tests.support.files import write_rows

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {{person: string, room: {{domain: [hall, lab]}}, ts: timestamp}}
    history: {{from: 2025-03-03T08:00, until: 2025-03-03T14:30}}
budget: {{privacy_unit: event, epsilon_max: {budget}}}
alarms:
"""
ALARM = """\
  {name}:
    sql: SELECT room FROM badges GROUP BY room, {window} HAVING COUNT(*) > {most}
    max_fnr: 0.05
    tolerance: {tolerance}
    mechanism: {mechanism}
"""


def alarm(name, minutes, most, tolerance, mechanism="panes"):
    """Write an alarm over sliding windows of so many minutes; an early one over an hour."""
    kind = "CUMULATE" if mechanism == "svt" else "HOP"
    window = f"{kind}(ts, INTERVAL '15' MINUTE, INTERVAL '{minutes}' MINUTE)"
    return ALARM.format(
        name=name, window=window, most=most, tolerance=tolerance, mechanism=mechanism
    )


EARLY = alarm("crowd", 60, 20, 9, "svt")
PANES = alarm("hour", 60, 40, 19), alarm("half", 30, 30, 9)
"""They share panes of 15 minutes, of which the sharper one sets the noise."""


def written(folder, *alarms, budget='"1"'):
    """Write a configuration of some alarms."""
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.format(budget=budget) + "".join(alarms))
    return path


def events(folder):
    """Write a hall that fills from the second quarter of every hour on, and an empty lab."""
    times = (
        f"2025-03-03T{hour:02d}:{minute}:{second:02d}Z"
        for hour in range(8, 15)
        for minute in (20, 35, 50)
        for second in range(15)
    )
    rows = ({"person": f"p{ts[-3:-1]}", "room": "hall", "ts": ts} for ts in times)
    return write_rows(folder / "events.jsonl", rows)


def simulated(path, *options):
    """Simulate, and return what the first alarm's JSON says, with what is printed."""
    out = path.with_name("out.json")
    words = ("simulate", path, "--replay", events(path.parent), "--force")
    ended = tocsin(*words, "--json", out, *options, code=0)
    first, *_ = json.loads(out.read_text())["alarms"]
    return {**first, "shown": ended.output}


def test_early_alarms_are_tried_with_their_delay(tmp_path):
    """The hall has 15, 30, 45 from its second step on."""
    windows = 6 * 200
    one = simulated(written(tmp_path, EARLY), "--runs", "200")
    assert (one["windows"], one["looks"], one["incomplete_windows"]) == (6, 4, 0)
    assert one["mechanism"] == "svt"
    fnr, before, delays = one["fnr"], one["early"]["before"], one["early"]["delay_s"]
    assert fnr["of"] == before["of"] == windows  # held from the third step on
    assert one["fpr"]["of"] == windows  # the lab
    assert set(delays.values()) <= {0, 900, delays["mean"]}
    assert before["count"] > 0
    assert "6 windows of 4 steps" in one["shown"]
    assert "too early %" in one["shown"]


def test_panes_cost_what_their_file_says(tmp_path):
    """Once, whoever shares them."""
    path = written(tmp_path, *PANES)
    panes = simulated(path, "--runs", "20")
    assert panes["mechanism"] == "panes"
    plans = plans_of(load(path, environ={}))
    (shared,) = (float(plan.epsilon) for name, plan in plans.items() if name.startswith("panes-"))
    paid = panes["epsilon_cell"]
    assert panes["epsilon_worst"] == paid["mean"] == paid["max"] == shared
    cells = sum(panes[kind]["of"] for kind in ("fnr", "fpr", "uncertain"))
    assert cells == 20 * 2 * panes["windows"]


def test_a_budget_is_asked_what_an_event_pays(tmp_path):
    """Of panes once: all fit. Of windows each: one in four may overlap no other."""
    paned = simulated(written(tmp_path, *PANES), "--runs", "2")
    assert paned["denied"] == 0
    tslm = written(tmp_path, alarm("hour", 60, 40, 19, "tslm"), budget='"0.2", on_shortfall: deny')
    one = simulated(tslm, "--runs", "2")
    assert 0.2 / 2 < one["epsilon_worst"] <= 0.2
    assert 0.7 < one["denied"] < 0.8


def test_what_is_not_drawn_pays_all_the_same(tmp_path):
    """Another alarm of the file, shown or not, leaves less of the budget."""
    hour, more = (alarm(name, 60, 40, 19, "tslm") for name in ("hour", "more"))
    both = written(tmp_path, hour, more, budget='"0.9", on_shortfall: deny')
    found = simulated(both, "--runs", "2", "--alarm", "more")
    assert found["alarm"] == "more"
    assert found["denied"] > 0
    alone = simulated(written(tmp_path, more, budget='"0.9"'), "--runs", "2")
    assert alone["denied"] == 0


@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_counts_windows_and_not_steps_or_panes(tmp_path, limit):
    """The first windows, whole; of panes, those that these are made of."""

    def counted(*alarms):
        loaded = load(written(tmp_path, *alarms), environ={})
        return count_history(loaded, {"badges": [events(tmp_path)]}, limit=limit)

    early = counted(EARLY)["crowd"]
    steps = early.looked_at(0, limit)
    assert (early.windows, steps.shape) == (limit, (limit, 4, 1, 2))
    assert steps[0, :, 0, 0].tolist() == [0, 15, 30, 45]
    over = counted(*PANES)
    (panes,) = (each for name, each in over.items() if name.startswith("panes-"))
    assert panes.windows == limit + 3
    for name, length in (("hour", 4), ("half", 2)):
        for window in range(limit):
            rows = panes.stacked(window, window + length)
            assert (over[name].dense(window) == rows.sum(axis=0)).all()
