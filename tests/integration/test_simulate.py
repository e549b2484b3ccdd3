"""``tocsin simulate`` from files to tables: the office, exports, what is refused, Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from stream.config.loading import load
from stream.events.records import Record
from stream.replay.exports import ExportInfo, LoggedRecord, log_writer
from stream.simulation import history
from stream.simulation.history import count_history
from tests.support.commands import tocsin
from tests.support.examples import BADGES, copied
from tests.support.oracle import add_up
from tests.support.recording import replayed
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

HOUR_MS = 3_600_000

ONCE = ("--runs", "1", "--workers", "1")

EXPORTED = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [hall, lab]}, ts: timestamp}
    history: {from: 1970-01-01, until: 1970-01-01T06:00}
budget: {privacy_unit: event, epsilon_max: "1000"}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, HOP(ts, INTERVAL '30' MINUTE, INTERVAL '1' HOUR)
      HAVING COUNT(*) > 20
    max_fnr: 0.05
    tolerance: 1
    timing: {grace: 10m}
"""


def office(folder):
    """Copy the office example, so that its ledger would be made elsewhere; return the file."""
    return copied("office", folder)


def exported(folder, *, first_offset=0):
    """Write an export of two partitions; a first offset above 0: older records are gone."""
    random = np.random.default_rng(1)
    times_ms = np.sort(random.integers(0, 7 * HOUR_MS, 400)).tolist()
    path = folder / "log.parquet"
    with log_writer(path, ExportInfo("building.badges", 2)) as write:
        for offset, append_ms in enumerate(times_ms, first_offset):
            room = str(random.choice(["hall", "lab"]))
            event = {"person": f"p{random.integers(9)}", "room": room, "ts": append_ms}
            record = Record(offset, append_ms, log_append=True, value=json.dumps(event).encode())
            # One of the two is in the wrong partition, and counts nowhere.
            write([LoggedRecord(partition, record) for partition in (0, 1)])
    return path


def configured(folder, text=EXPORTED):
    """Write a configuration for such an export."""
    path = folder / "alarms.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("partitions", "busy"), [(1, 100), (2, 10)], ids=["office", "export"])
def test_windows_and_counts_are_those_of_a_run(tmp_path, partitions, busy):
    """The office, and an export of several partitions: what ``tocsin run --replay`` decides."""
    if partitions == 1:
        alarms = load(office(tmp_path), environ={})
        files = {"badges": [Path(shutil.copy(BADGES, tmp_path))]}  # the run claims its file
    else:
        alarms, files = load(configured(tmp_path), environ={}), {"badges": [exported(tmp_path)]}
    heard = []
    ((name, mine),) = count_history(
        alarms, files, on_windows=lambda done, total: heard.append((done, total))
    ).items()
    assert heard == [(done, mine.windows) for done in range(1, mine.windows + 1)]
    _, stored = replayed(alarms, files)
    assert {one["alarm"] for one in stored} == {name} == set(alarms.by_name)
    assert len(stored) == partitions * mine.windows
    windows = [tuple(mine.dense(at).reshape(-1).tolist()) for at in range(mine.windows)]
    sums = add_up(stored, cells=mine.statistics * mine.cells)
    assert sums == dict(zip(mine.starts_ms.tolist(), windows, strict=True))
    assert np.count_nonzero(windows) > busy


def test_windows_that_the_log_no_longer_holds_are_left_out(tmp_path):
    """What a run would deny as incomplete is not simulated, and it is said how much that is."""
    config, log = configured(tmp_path), exported(tmp_path, first_offset=5)
    counted = count_history(load(config, environ={}), {"badges": [log]})["crowd"]
    assert counted.incomplete >= 1
    assert counted.windows + counted.incomplete == 11
    result = tocsin("simulate", config, "--replay", log, *ONCE, code=0)
    assert f"{counted.incomplete} windows left out" in " ".join(result.stdout.split())


def test_bands_are_left_out_and_it_is_said(tmp_path):
    """Beside another alarm a sentence is enough; alone there is nothing to try."""
    head, alarm = EXPORTED.split("alarms:\n")
    band = alarm.replace("COUNT(*) > 20", "ABS(COUNT(*) - REFERENCE) >= 50").replace(
        "tolerance: 1", 'mechanism: {decider: {epsilon: "1", reference: 9}}'
    )
    command = ("simulate", tmp_path / "alarms.yaml", "--replay", exported(tmp_path), *ONCE)
    configured(tmp_path, f"{head}alarms:\n{band}")
    assert "crowd: the band of a decider has no mechanism" in tocsin(*command, code=2).stderr
    configured(tmp_path, f"{head}alarms:\n{band}{alarm.replace('crowd', 'many')}")
    assert "left out: crowd" in tocsin(*command, code=0).stderr


@pytest.mark.parametrize(
    ("guard", "most"), [("MOST_WINDOWS", 74), ("MOST_ENTRIES", 100), ("MOST_CELLS", 900)]
)
def test_too_much_history_is_refused_with_a_hint(tmp_path, monkeypatch, guard, most):
    """Beyond the guards an error names the limit to write; nothing private is in it."""
    monkeypatch.setattr(history, guard, most)
    said = tocsin("simulate", office(tmp_path), "--replay", BADGES, *ONCE, code=2).stderr
    assert "--limit" in said
    assert str(most) in said


def test_the_office_is_simulated_and_nothing_else_happens(tmp_path, monkeypatch):
    """JSON and page come out, and no ledger is made."""
    command = ("simulate", office(tmp_path), "--replay", BADGES, "--runs", "3", "--workers", "2")
    before = set(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    tocsin(*command, "--json", "out.json", "--html", "out.html", code=0)
    assert {path.name for path in set(tmp_path.rglob("*")) - before} == {"out.json", "out.html"}
    (one,) = json.loads((tmp_path / "out.json").read_text())["alarms"]
    assert {each["fnr"]["of"] for each in one["settings"]} == {3 * 3}  # three crowds, three runs


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_every_process_ends(tmp_path, number):
    """Ctrl-C, or the parent killed outright, leaves no worker with private counts, and no file."""
    words = ("--replay", BADGES, "--runs", "100000", "--workers", "2", "--mechanisms", "tslm,ppwlm")
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "stream.cli.entry", "simulate", office(tmp_path), *words),
            *("--json", tmp_path / "out.json"),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_until(
            "a worker starts", lambda: b"spawn_main" in commands_of(running.pid), every_s=0.02
        )
        time.sleep(1)
        assert running.poll() is None
        # A terminal interrupts everybody; whatever kills kills one.
        (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
        running.wait(PATIENCE_S)
        wait_until("the workers are gone", lambda: not commands_of(running.pid))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        out, err = running.communicate()
    assert running.returncode == (1 if number == signal.SIGINT else -signal.SIGKILL)
    assert (b"Aborted" in err) == (number == signal.SIGINT)
    assert b"Traceback" not in err
    assert out == b""
    assert not (tmp_path / "out.json").exists()


def commands_of(session):
    """Return the command lines of all living processes of a session, the first one left out."""
    found = b""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == session:
            continue
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found += (process / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
