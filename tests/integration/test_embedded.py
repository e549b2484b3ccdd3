"""The embedded shell from files to decisions: the office, kills, empty windows, what is refused."""

from __future__ import annotations

import json
import runpy
from itertools import count, islice

import numpy as np
import pytest

from accountant.errors import ConfigError, DataError, LedgerError
from accountant.records import Outcome
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.steps import Step
from stream.replay.exports import ExportInfo, log_writer
from stream.replay.replay import Replay, windows_of
from tests.support.examples import BADGES, EXAMPLES
from tests.support.files import write_rows
from tests.support.ledgers import must_verify
from tests.support.recording import counts_stored, replayed

HOUR_MS = 3_600_000

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [hall, lab]}, ts: timestamp}
    history: {from: 1970-01-01, until: 1970-01-01T06:00}
  doors:
    topic: building.doors
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
    history: {from: 1970-01-01, until: 1970-01-01T06:00}
budget: {privacy_unit: user, epsilon_max: "1000", period: lifetime}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, HOP(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 20
    max_fnr: 0.05
    tolerance: 1
    timing: {grace: 10m}
  busy-door:
    sql: |
      SELECT 1 FROM doors GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 20
    max_fnr: 0.05
    tolerance: 1
"""
WINDOWS = 11 + 6


class KilledError(Exception):
    """Stands for the end of a process."""


def configured(folder, text=CONFIG):
    """Write and load a configuration; its ledger lies in the same folder."""
    path = folder / "alarms.yaml"
    path.write_text(text)
    return load(path, environ={})


def people(folder, *, hours=range(6)):
    """Write badge readings as JSON lines and door events as CSV, both out of order."""
    random = np.random.default_rng(1)
    times = random.permutation([hour * HOUR_MS + at for hour in hours for at in range(100)])
    badges, doors = folder / "badges.jsonl", folder / "doors.csv"
    rows = [
        {"person": f"p{random.integers(60)}", "room": str(random.choice(["hall", "lab"])), "ts": t}
        for t in times.tolist()
    ]
    write_rows(badges, rows)
    doors.write_text("ts,person\n" + "".join(f"{t},p{t % 7}\n" for t in times.tolist()))
    return {"badges": [badges], "doors": [doors]}


def test_office_readings_are_what_the_simulator_writes(tmp_path):
    """The committed readings can be made again, byte for byte."""
    made = tmp_path / "badges.jsonl"
    runpy.run_path(str(EXAMPLES / "office" / "simulate.py"))["main"](str(made))
    assert made.read_bytes() == BADGES.read_bytes()


def test_a_killed_replay_goes_on_where_it_stopped(tmp_path):
    """Killed at every step in turn, a replay still decides every window once and loses no alarm."""
    alarms, files = configured(tmp_path), people(tmp_path)
    seen = {}

    def take(replay):
        for decision in replay.run():
            seen.setdefault(decision.key, set()).add((decision.sequence, decision.alarms))

    for at, victim in enumerate(step for step in Step if step is not Step.AFTER_POLL):
        passed = count()

        def die(step, _key):
            if step is victim and next(passed) == at % 3:  # noqa: B023  # of this round
                raise KilledError

        with open_ledger(alarms) as ledger, pytest.raises(KilledError):
            take(Replay(alarms, ledger, files, step=die))
    with open_ledger(alarms) as ledger:
        take(Replay(alarms, ledger, files))
        must_verify(ledger)
    assert len(seen) == WINDOWS
    assert all(len(copies) == 1 for copies in seen.values())


def test_a_caller_that_stops_has_published_what_it_took(tmp_path):
    """In the order of requests; what came before the decision in hand does not come again."""
    alarms, files = configured(tmp_path), people(tmp_path)
    with open_ledger(alarms) as ledger:
        running = Replay(alarms, ledger, files).run()
        taken = list(islice(running, 5))
        running.close()
    rest, _ = replayed(alarms, files)
    order = sorted(key for query in alarms.by_name.values() for key in windows_of(query))
    assert [one.key for one in taken] == order[:5]
    assert [one.key for one in rest] == order[4:]
    for name in alarms.by_name:
        numbers = [one.sequence for one in (*taken[:4], *rest) if one.key.query == name]
        assert numbers == list(range(1, len(numbers) + 1))


def test_windows_without_events_are_decided(tmp_path):
    """All windows of the history and no others, which events before and after it cannot change."""
    alarms = configured(tmp_path)
    files = people(tmp_path, hours=range(6, 9))
    with files["badges"][0].open("a") as file:
        for time_ms in (-1, 24 * HOUR_MS, 253_402_300_799_999):
            file.write(json.dumps({"person": "p1", "room": "hall", "ts": time_ms}) + "\n")
    decisions, stored = replayed(alarms, files)
    assert [one.outcome for one in decisions] == [Outcome.DECIDED] * WINDOWS
    assert [one["value"] for one in stored] == [[]] * WINDOWS


@pytest.mark.parametrize("problem", ["beside", "topic", "history", "nothing", "suffix"])
def test_unsuitable_replays_are_refused(tmp_path, problem):
    """What cannot be replayed is refused with a hint, before anything is counted."""
    text, files = CONFIG, people(tmp_path)
    export = tmp_path / "log.parquet"
    with log_writer(export, ExportInfo("building.badges", 2)):
        pass
    if problem == "beside":
        files["badges"].append(export)
    elif problem == "topic":
        files["doors"] = [export]
    elif problem == "history":
        line = "    history: {from: 1970-01-01, until: 1970-01-01T06:00}\n"
        text = CONFIG.replace(line, "", 1)
    elif problem == "nothing":
        del files["doors"]
    else:
        files["doors"] = [files["doors"][0].rename(tmp_path / "doors.txt")]
    alarms = configured(tmp_path, text)
    with counts_stored() as stored, open_ledger(alarms) as ledger:
        with pytest.raises((ConfigError, DataError)) as caught:
            list(Replay(alarms, ledger, files).run())
        assert caught.value.hint
    assert stored == []


def test_two_replays_do_not_share_a_ledger_at_once(tmp_path):
    """While another process decides an alarm, a replay stops and says so."""
    alarms, files = configured(tmp_path), people(tmp_path)
    with (
        open_ledger(alarms) as other,
        other.exclusive("decide:busy-door") as mine,
        open_ledger(alarms) as ledger,
    ):
        assert mine
        with pytest.raises(LedgerError, match="another process"):
            list(Replay(alarms, ledger, files).run())
    assert replayed(alarms, files)[0]
