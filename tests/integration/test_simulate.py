"""``tocsin simulate`` from files to tables: the office, the shop, exports, options, Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream.build import open_ledger
from stream.config.loading import load
from stream.replay.replay import Replay
from stream.simulation import history
from stream.simulation.history import count_history
from tests.integration.test_embedded import export
from tests.support import examples
from tests.support.commands import tocsin
from tests.support.examples import copied
from tests.support.oracle import add_up
from tests.support.recording import journalled, stored_partials
from tests.support.tree import ROOT
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from click.testing import Result

    from stream.model.alarms import Alarms
    from stream.simulation.history import CountedAlarm

BADGES = str(examples.BADGES)
HOUR_MS = 3_600_000

PROGRAM = "from stream.cli.main import main; main()"

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


def simulate(*arguments: object, code: int = 0) -> Result:
    """Run the command in this process."""
    return tocsin("simulate", *arguments, code=code)


def office(folder: Path) -> str:
    """Copy the office example, so that its ledger would be made elsewhere; return the file."""
    return str(copied("office", folder))


def same_counts(
    alarms: Alarms,
    files: Mapping[str, Sequence[Path]],
    counted: Mapping[str, CountedAlarm],
    partitions: int = 1,
) -> int:
    """Replay into a ledger, compare what it was given, and return how much of that is not zero."""
    with pytest.MonkeyPatch.context() as patched, open_ledger(alarms) as ledger:
        stored = stored_partials(patched)
        list(Replay(alarms, ledger, files).run())
    seen = 0
    assert set(counted) == set(alarms.by_name)
    for name, mine in counted.items():
        own = [one for one in stored if one.key.query == name]
        assert len(own) == partitions * mine.windows
        windows = [tuple(mine.dense(at).reshape(-1).tolist()) for at in range(mine.windows)]
        sums = add_up(journalled(own), cells=mine.statistics * mine.cells)
        assert sums == dict(zip(mine.starts_ms.tolist(), windows, strict=True))
        seen += int(np.count_nonzero(windows))
    return seen


def test_windows_and_counts_are_those_of_a_run(tmp_path: Path) -> None:
    """The office example counts the same windows and cells that ``tocsin run --replay`` decides."""
    alarms = load(Path(office(tmp_path)), environ={})
    files = {"badges": [Path(shutil.copy(BADGES, tmp_path))]}  # the run claims its file
    heard: list[tuple[int, int]] = []
    counted = count_history(
        alarms, files, on_windows=lambda done, total: heard.append((done, total))
    )
    assert heard == [(done, 75) for done in range(1, 76)]
    assert same_counts(alarms, files, counted) > 100


def exported(folder: Path, *, first_offset: int = 0) -> Path:
    """Write an export of two partitions; a first offset above 0: older records are gone."""
    random = np.random.default_rng(1)
    rows: list[tuple[int, int, dict[str, object]]] = []
    for append_ms in np.sort(random.integers(0, 7 * HOUR_MS, 400)).tolist():
        room = str(random.choice(["hall", "lab"]))
        event = {"person": f"p{random.integers(9)}", "room": room, "ts": append_ms}
        # One of the two is the wrong one, and counts nowhere.
        rows += [(partition, append_ms, event) for partition in (0, 1)]
    return export(folder, rows, first_offset=first_offset)


def test_partitions_of_a_dump_are_added_up(tmp_path: Path) -> None:
    """An export of several partitions counts as a run counts it."""
    config = tmp_path / "alarms.yaml"
    config.write_text(EXPORTED)
    alarms = load(config, environ={})
    files = {"badges": [exported(tmp_path)]}
    counted = count_history(alarms, files)
    assert same_counts(alarms, files, counted, partitions=2) > 10


def test_windows_that_the_log_no_longer_holds_are_left_out(tmp_path: Path) -> None:
    """What a run would deny as incomplete is not simulated, and it is said how much that is."""
    config = tmp_path / "alarms.yaml"
    config.write_text(EXPORTED)
    files = {"badges": [exported(tmp_path, first_offset=5)]}
    counted = count_history(load(config, environ={}), files)["crowd"]
    assert counted.incomplete >= 1
    assert counted.windows + counted.incomplete == 11
    result = simulate(
        config, "--replay", files["badges"][0], "--runs", "1", "--workers", "1",
    )  # fmt: skip
    assert f"{counted.incomplete} windows left out" in " ".join(result.stdout.split())


def test_formulas_are_tried_with_what_answers_them(tmp_path: Path) -> None:
    """Of several comparisons TSLM, PPWLM and ProBE are tried; truths are exact."""
    config = tmp_path / "alarms.yaml"
    having = "HAVING COUNT(*) > 20 OR (COUNT(DISTINCT person) > 7 AND COUNT(*) > 12)"
    text = EXPORTED.replace("HAVING COUNT(*) > 20", having)
    config.write_text(text.replace("[hall, lab]", "[hall, lab, roof]"))
    log = exported(tmp_path)
    result = simulate(
        config, "--replay", log, "--runs", "4", "--workers", "1",
        "--mechanisms", "tslm,ppwlm,probe",
        "--json", tmp_path / "out.json", "--html", tmp_path / "out.html",
    )  # fmt: skip
    assert "not simulated" not in result.stdout
    alarms = load(config, environ={})
    condition = alarms.by_name["crowd"].condition
    counted = count_history(alarms, {"badges": [log]})["crowd"]
    true = sum(int(condition.truth(counted.dense(at)).sum()) for at in range(counted.windows))
    (one,) = json.loads((tmp_path / "out.json").read_text())["alarms"]
    assert [each["mechanism"] for each in one["settings"]] == ["tslm", "ppwlm", "probe"]
    assert {each["fnr"]["of"] for each in one["settings"]} == {4 * true}
    assert true > 0
    for each in one["settings"]:
        cells = each["fnr"]["of"] + each["fpr"]["of"] + each["uncertain"]["of"]
        assert cells == 4 * 3 * counted.windows


def test_bands_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    """Beside another alarm a sentence is enough; alone there is nothing to try."""
    head, alarm = EXPORTED.split("alarms:\n")
    band = alarm.replace("COUNT(*) > 20", "ABS(COUNT(*) - REFERENCE) >= 50").replace(
        "tolerance: 1", 'mechanism: {decider: {epsilon: "1", reference: 9}}'
    )
    config = tmp_path / "alarms.yaml"
    options = ("--replay", exported(tmp_path), "--runs", "1", "--workers", "1")
    config.write_text(f"{head}alarms:\n{band}")
    alone = tocsin("simulate", config, *options)
    assert alone.exit_code
    assert "crowd: the band of a decider has no mechanism" in alone.stderr
    config.write_text(f"{head}alarms:\n{band}{alarm.replace('crowd', 'many')}")
    assert "left out: crowd" in simulate(config, *options).stderr


def test_limit_takes_the_first_windows(tmp_path: Path) -> None:
    """A limit keeps the first so many windows of every alarm, with the same counts."""
    alarms = load(Path(office(tmp_path)), environ={})
    files = {"badges": [Path(BADGES)]}
    whole, some = (count_history(alarms, files, limit=limit)["fire-code"] for limit in (None, 9))
    assert some.windows == 9
    assert all(np.array_equal(some.dense(at), whole.dense(at)) for at in range(9))
    assert count_history(alarms, files, limit=10_000)["fire-code"].windows == 75


@pytest.mark.parametrize(
    ("guard", "most"), [("MOST_WINDOWS", 74), ("MOST_ENTRIES", 100), ("MOST_CELLS", 900)]
)
def test_too_much_history_is_refused_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str, most: int
) -> None:
    """Beyond the guards an error names the limit to write; nothing private is in it."""
    monkeypatch.setattr(history, guard, most)
    options = ("--replay", BADGES, "--runs", "1", "--workers", "1")
    said = simulate(office(tmp_path), *options, code=2).stderr
    assert "--limit" in said
    assert str(most) in said


def test_office_is_simulated_and_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table, JSON and page come out, for the custodian only; no ledger is made."""
    config = office(tmp_path)
    before = sorted(each for each in tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    result = simulate(
        config, "--replay", BADGES, "--runs", "3", "--mechanisms", "tslm,ppwlm,nlm",
        "--tolerance-factors", "1,2", "--json", "out.json", "--html", "out.html", "--workers", "2",
    )  # fmt: skip
    assert result.stdout.startswith("custodian only")
    made = {each.name for each in tmp_path.rglob("*") if each not in before}
    assert made == {"out.json", "out.html"}
    for name in made:
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    read = json.loads((tmp_path / "out.json").read_text())
    assert read["audience"].startswith("custodian only")
    (one,) = read["alarms"]
    assert (one["alarm"], one["windows"], one["cells_per_unit"]) == ("fire-code", 75, 2)
    own = [each for each in one["settings"] if each["configured"]]
    assert [(each["mechanism"], each["tolerance"]) for each in own] == [("tslm", "17")]
    assert own[0]["epsilon_worst"] == pytest.approx(0.131, abs=5e-4)
    assert own[0]["fnr"]["of"] == 3 * 3  # three crowds, three runs
    assert len(one["settings"]) == 6
    assert own[0]["denied"] == 0
    assert "custodian only" in (tmp_path / "out.html").read_text()
    again = simulate(config, "--replay", BADGES, "--json", "out.json", code=2)
    assert "--force" in again.stderr


def test_one_alarm_of_several(tmp_path: Path) -> None:
    """``--alarm`` shows and changes that one; the budget is asked for all of them."""
    simulate(
        copied("retail", tmp_path), "--replay", examples.SALES, "--alarm", "big-week",
        "--runs", "2", "--workers", "1", "--max-fnr", "0.01,0.05",
        "--tolerance-factors", "0.02,1", "--json", tmp_path / "out.json",
    )  # fmt: skip
    (one,) = json.loads((tmp_path / "out.json").read_text())["alarms"]
    assert one["alarm"] == "big-week"
    denied = {(each["max_fnr"], each["tolerance"]): each["denied"] for each in one["settings"]}
    assert denied[0.05, "9000"] == 0
    assert denied[0.01, "180"] > 0


SHOPS = """\
feeds:
  sales:
    topic: sales
    time: ts
    unit: card
    fields:
      card: string
      shop: {domain: [SHOPS]}
      class: {domain: [c0, c1, c2, c3, c4]}
      ts: timestamp
    history: {from: "2024-01-01T00:00:00Z", until: "2024-01-08T00:00:00Z"}
budget: {privacy_unit: user, period: 1w, epsilon_max: "3"}
alarms:
  promotion:
    sql: |
      SELECT shop, class FROM sales
      GROUP BY shop, class, HOP(ts, INTERVAL '5' MINUTE, INTERVAL '15' MINUTE)
      HAVING COUNT(*) > 90
    max_fnr: 0.05
    tolerance: 20
    mechanism: {svt: {max_fpr: 1e-7, max_alarms: 4}}
"""


def test_a_burst_that_takes_all_alarms_of_a_week_is_no_small_matter(tmp_path: Path) -> None:
    """What fits on paper: one burst on Monday, and all groups are denied until Sunday is over."""
    config = tmp_path / "alarms.yaml"
    config.write_text(SHOPS.replace("SHOPS", ", ".join(f"s{at}" for at in range(12))))
    bursts = {("s3", "c1"): "2024-01-01T10", ("s8", "c4"): "2024-01-05T17"}
    rows = [
        json.dumps(
            {"card": f"p{at}{shop}", "shop": shop, "class": kind}
            | {"ts": f"{hour}:{at % 30:02d}:{at // 30:02d}Z"}
        )
        for (shop, kind), hour in bursts.items()
        for at in range(600)
    ]
    log = tmp_path / "sales.jsonl"
    log.write_text("\n".join(rows) + "\n")
    out = tmp_path / "out.json"
    result = simulate(config, "--replay", log, "--runs", "5", "--workers", "1", "--json", out)
    (one,) = json.loads(out.read_text())["alarms"]
    (own,) = one["settings"]
    assert one["windows"] > 2_000
    assert own["epsilon_worst"] <= 3 < 2 * own["epsilon_worst"]
    assert own["denied"] > 0.8  # from Monday on
    assert own["fnr"]["value"] > 0.4  # all of the second burst
    assert not own["keeps_max_fnr"]
    words = " ".join(result.stdout.split())
    assert "budget denied windows, or an SVT run was spent" in words
    assert max(map(len, result.stdout.splitlines())) <= 80


@contextmanager
def simulating(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run more than ever ends in two processes, which are at work when the block begins."""
    running = subprocess.Popen(
        [
            sys.executable, "-c", PROGRAM, "simulate", office(folder), "--replay", BADGES,
            "--runs", "100000", "--workers", "2", "--mechanisms", "tslm,ppwlm",
            "--json", folder / "out.json",
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_until(
            "a worker starts", lambda: b"spawn_main" in commands_of(running.pid), every_s=0.02
        )
        time.sleep(2)
        assert running.poll() is None
        yield running
        wait_until("the workers are gone", lambda: not commands_of(running.pid))
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


def test_ctrl_c_ends_every_process(tmp_path: Path) -> None:
    """Ctrl-C while processes work ends all of them; no traceback, no file is left."""
    with simulating(tmp_path) as running:
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to everybody
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1
    assert b"Traceback" not in err
    assert b"Aborted" in err
    assert out == b""
    assert not (tmp_path / "out.json").exists()


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    """Where the parent is killed outright, no worker stays behind with private counts."""
    with simulating(tmp_path) as running:
        running.kill()
        running.wait()


def commands_of(session: int) -> bytes:
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
