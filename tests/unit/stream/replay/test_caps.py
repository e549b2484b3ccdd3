"""A cap over a period from the file to the ledger: counted, charged, kept, changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copy

import pytest
from prometheus_client import generate_latest

from stream.build import open_ledger
from stream.config.loading import load
from stream.replay.replay import Replay
from tests.support.commands import json_lines, tocsin
from tests.support.files import write_rows
from tests.unit.stream.replay.test_gaussian import budget_of

HOUR_MS = 3_600_000
CONFIG = """\
ledger: sqlite:///{folder}/ledger.db
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {{person: string, room: {{domain: [hall]}}, ts: timestamp}}
    history: {{from: 2025-03-03, until: 2025-03-05}}
budget:
  privacy_unit: user
  epsilon_max: "{wall}"
  period: 1d
  contribution: {{max_windows_per_period: {most}}}
alarms:
  crowd:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(DISTINCT person) > 20
    max_fnr: 0.05
    tolerance: 9
"""  # noqa: E501  # one line of SQL


def written(folder, *, most=6, wall="1.5", name="alarms"):
    """Write a configuration whose day costs 5.8 without a cap, and 1.45 with one of six."""
    path = folder / f"{name}.yaml"
    path.write_text(CONFIG.format(folder=folder, most=most, wall=wall))
    return path


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """Forty people who are there all of two days, and five who come in the evening."""
    rows = [
        {
            "person": f"p{person}",
            "room": "hall",
            "ts": f"2025-03-{3 + hour // 24:02d}T{hour % 24:02d}:{person:02d}:00Z",
        }
        for hour in range(48)
        for person in range(40 if hour % 24 < 18 else 45)
    ]
    return write_rows(tmp_path_factory.mktemp("events") / "events.jsonl", rows)


@pytest.fixture(scope="module")
def ran(tmp_path_factory, events):
    """A configuration of which two days were replayed, and what was printed."""
    path = written(tmp_path_factory.mktemp("capped"))
    return path, tocsin("run", path, "--replay", events, "--json")


def test_the_plan_says_what_a_cap_saves(tmp_path):
    """A budget that could not carry the day does, and the table says why."""
    path = written(tmp_path)
    (budget,) = json_lines(tocsin("plan", path, "--json"))
    (alarm,) = budget["alarms"]
    assert (alarm["charged"], budget["fits"]) == (6, True)
    shown = tocsin("plan", path, "--details").stdout
    assert "a person counts in 6 windows of a period at most" in shown
    uncapped = float(shown.rpartition("without that it would be ")[2].split()[0])
    assert uncapped == pytest.approx(4 * alarm["per_person"], abs=1e-3)
    tocsin("plan", written(tmp_path, wall="1.4"), code=3)


def test_count_says_whom_the_cap_leaves_out(tmp_path, events):
    """Who was there in the morning counts no more in the evening; on the next day they do."""
    inspect = ("inspect", written(tmp_path), "--replay", events)
    lost = [line.get("dropped_by_bounds") for line in json_lines(tocsin(*inspect, "--json"))]
    beyond = [each["people_beyond_windows"] for each in lost if each]
    assert beyond == ([0] * 6 + [40] * 18) * 2
    assert "windows_per_period" in " ".join(tocsin(*inspect).stdout.split())


def test_every_window_is_decided_and_charged_as_the_highest_cost_six(ran, events):
    """Under a wall that carries six of 24 windows; a second run draws nothing, verify agrees."""
    path, printed = ran
    outcomes = [line["outcome"] for line in json_lines(printed) if "alarm_id" not in line]
    assert outcomes == ["decided"] * 48
    assert tocsin("run", path, "--replay", events, "--json").stdout == printed.stdout
    tocsin("ledger", path, "verify", code=0)
    assert 1.4 < float(budget_of(path)["spent"]) < 1.5


def test_a_changed_cap_is_a_changed_configuration(ran, events):
    """It is refused under a live ledger, until it is accepted."""
    changed = written(ran[0].parent, most=5, name="changed")
    refused = tocsin("run", changed, "--replay", events, "--json")
    assert refused.exit_code != 0
    assert "max_windows_per_period (6 -> 5)" in refused.stderr


def test_what_people_used_up_goes_when_the_period_is_over(ran):
    """One row is left, and it tells of nobody; in the middle of a day it tells of the present."""
    with closing(sqlite3.connect(ran[0].with_name("ledger.db"))) as ledger:
        ((start_ms, state),) = ledger.execute("SELECT start_ms, state FROM tocsin_used").fetchall()
    assert (start_ms % (24 * HOUR_MS), state) == (23 * HOUR_MS, b"")


def test_the_custodian_sees_whom_the_cap_leaves_out_by_the_hour(tmp_path, events):
    """In the custodian's metrics, and in no public one."""
    alarms = load(Path(written(tmp_path)), environ={})
    with open_ledger(alarms) as ledger:
        own = Path(copy(events, tmp_path))  # who owns it is said beside a file
        replay = Replay(alarms, ledger, {"badges": [own]})
        list(replay.run())
    pages = replay.runtime.metrics.custodian, replay.runtime.metrics.public
    custodian, public = (generate_latest(page).decode() for page in pages)
    for name, hour, people in (("", "05", 80), ("_beyond_cap", "05", 0), ("_beyond_cap", "20", 80)):
        series = f'tocsin_window_people{name}_total{{alarm="crowd",hour="{hour}"}} {people}.0'
        assert series in custodian
    assert "window_people" not in public
