"""A cap over a period from the file to the ledger: counted, charged, kept, changed."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from accountant.ledger.ledger import Ledger
from stream.config.loading import load
from stream.replay.replay import Replay
from tests.support.commands import json_lines, tocsin
from tests.support.ledgers import Clock
from tests.unit.stream.replay.test_gaussian_kinds import budget_of

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


def written(folder: Path, *, most: int = 6, wall: str = "1.5", name: str = "alarms") -> str:
    """Write a configuration whose day costs 5.8 without a cap, and 1.45 with one of six."""
    path = folder / f"{name}.yaml"
    path.write_text(CONFIG.format(folder=folder, most=most, wall=wall), encoding="utf-8")
    return str(path)


def events(folder: Path) -> str:
    """Write forty people who are there all of two days, and five who come in the evening."""
    path = folder / "events.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for hour in range(48):
            present = range(40) if hour % 24 < 18 else range(45)
            for person in present:
                at = f"2025-03-{3 + hour // 24:02d}T{hour % 24:02d}:{person % 60:02d}:00Z"
                file.write(json.dumps({"person": f"p{person}", "room": "hall", "ts": at}) + "\n")
    return str(path)


@dataclass(frozen=True)
class Ran:
    """A folder in which two days were replayed, and what was printed."""

    folder: Path
    path: str
    data: str
    printed: str


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Replay two days once, for all tests that only look."""
    folder = tmp_path_factory.mktemp("capped")
    path, data = written(folder), events(folder)
    done = tocsin("run", path, "--replay", data, "--json", code=0)
    return Ran(folder, path, data, done.stdout)


def test_the_plan_says_what_a_cap_saves(tmp_path: Path) -> None:
    """A budget that could not carry the day does, and the table says why."""
    (budget,) = json_lines(tocsin("plan", written(tmp_path), "--json"))
    (alarm,) = budget["alarms"]
    assert (alarm["charged"], budget["fits"]) == (6, True)
    shown = tocsin("plan", written(tmp_path), "--details")
    assert "a person counts in 6 windows of a period at most" in shown.stdout
    uncapped = float(shown.stdout.rpartition("without that it would be ")[2].split()[0])
    assert uncapped == pytest.approx(4 * alarm["per_person"], abs=1e-3)
    tocsin("plan", written(tmp_path, wall="1.4"), code=3)


def test_count_says_whom_the_cap_leaves_out(tmp_path: Path) -> None:
    """Who was there in the morning counts no more in the evening; on the next day they do."""
    shown = json_lines(tocsin("inspect", written(tmp_path), "--replay", events(tmp_path), "--json"))
    windows = [line for line in shown if "dropped_by_bounds" in line]
    beyond = [line["dropped_by_bounds"]["people_beyond_windows"] for line in windows]
    assert beyond == ([0] * 6 + [40] * 18) * 2
    table = tocsin("inspect", written(tmp_path), "--replay", events(tmp_path)).stdout
    assert "windows_per_period" in " ".join(table.split())


def test_every_window_is_decided_and_charged_as_the_dearest_six(ran: Ran) -> None:
    """Under a wall that carries six of 24 windows; a second run draws nothing, verify agrees."""
    lines = map(json.loads, ran.printed.splitlines())
    outcomes = [line["outcome"] for line in lines if "alarm_id" not in line]
    assert outcomes == ["decided"] * 48
    assert tocsin("run", ran.path, "--replay", ran.data, "--json").stdout == ran.printed
    tocsin("ledger", ran.path, "verify", code=0)
    assert 1.4 < float(budget_of(ran.path)["spent"]) < 1.5


def test_a_changed_cap_is_a_changed_configuration(ran: Ran) -> None:
    """It is refused under a live ledger, until it is accepted."""
    changed = written(ran.folder, most=5, name="changed")
    refused = tocsin("run", changed, "--replay", ran.data, "--json")
    assert refused.exit_code != 0
    assert "max_windows_per_period (6 -> 5)" in refused.stderr


def test_what_people_used_up_goes_when_the_period_is_over(ran: Ran) -> None:
    """One row is left, and it tells of nobody; in the middle of a day it tells of the present."""
    with closing(sqlite3.connect(ran.folder / "ledger.db")) as ledger:
        ((start_ms, state),) = ledger.execute("SELECT start_ms, state FROM tocsin_used").fetchall()
    assert start_ms % (24 * HOUR_MS) == 23 * HOUR_MS
    assert state == b""


def test_the_custodian_sees_whom_the_cap_leaves_out_by_the_hour(tmp_path: Path) -> None:
    """In the custodian's metrics, and in no public one."""
    path = Path(written(tmp_path))
    url = f"sqlite:///{tmp_path / 'other.db'}"
    with closing(Ledger.open(url, clock_ms=Clock(), entropy=os.urandom)) as ledger:
        replay = Replay(load(path, environ={}), ledger, {"badges": [Path(events(tmp_path))]})
        list(replay.run())
        metrics = replay.runtime.metrics
        shown = generate_latest(metrics.custodian).decode()
        assert 'tocsin_window_people_total{alarm="crowd",hour="05"} 80.0' in shown
        assert 'tocsin_window_people_beyond_cap_total{alarm="crowd",hour="05"} 0.0' in shown
        assert 'tocsin_window_people_beyond_cap_total{alarm="crowd",hour="20"} 80.0' in shown
        assert "window_people" not in generate_latest(metrics.public).decode()
