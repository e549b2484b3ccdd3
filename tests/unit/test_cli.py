"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from click.testing import CliRunner

from stream.alarms import schema
from stream.cli import main

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[2]
HOUR_MS = 3_600_000

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {domain: [lab, hall]}
      n: {type: integer, clip: [0, 10]}
      ts: timestamp
    history: {from: 1970-01-01, until: 1970-01-02}
budget: {unit: BUDGET_UNIT, epsilon_max: "EPSILON_MAX"PERIOD}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING AGGREGATE
    max_fnr: 0.05
    tolerance: TOLERANCE
"""


def configuration(
    folder: Path,
    *,
    unit: str = "event",
    epsilon_max: str = "4",
    aggregate: str = "COUNT(*) > 30",
    tolerance: int = 1,
) -> str:
    """Write a configuration and return its path."""
    period = ", period: lifetime" if unit == "user" else ""
    text = (
        CONFIG.replace("BUDGET_UNIT", unit)
        .replace("EPSILON_MAX", epsilon_max)
        .replace("PERIOD", period)
        .replace("AGGREGATE", aggregate)
        .replace("TOLERANCE", str(tolerance))
    )
    path = folder / "alarms.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def events(folder: Path, name: str = "badges.jsonl") -> str:
    """Write two hundred people in the hall at 05:00, and nobody else; return the path."""
    lines = [
        json.dumps({"person": f"p{i}", "room": "hall", "n": 1, "ts": 5 * HOUR_MS + i})
        for i in range(200)
    ]
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def tocsin(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def json_lines(result: Result) -> list[dict[str, Any]]:
    """Return standard output as JSON objects, one a line."""
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_version_is_printed() -> None:
    """``--version`` names the program and its version."""
    assert tocsin("--version").stdout.startswith("tocsin, version 0.")


def test_check_says_ok(tmp_path: Path) -> None:
    """A good configuration is ok, with exit code 0."""
    result = tocsin("check", configuration(tmp_path))
    assert (result.exit_code, result.stdout) == (0, "ok\n")


def test_check_prints_every_error_with_its_place(tmp_path: Path) -> None:
    """Every error is one ``file:line:column: message`` with a hint, and the exit code is 2."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8").replace("max_fnr: 0.05", "max_fnr: 5")
    path.write_text(text.replace("time: ts", "time: when"), encoding="utf-8")
    first = tocsin("check", str(path))
    path.write_text(text.replace("epsilon_max", "epsilon_maximum"), encoding="utf-8")
    second = tocsin("check", str(path))
    for result in (first, second):
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Traceback" not in result.stderr
    errors = [line for line in second.stderr.splitlines() if line.startswith(f"{path}:")]
    assert len(errors) >= 2
    assert all(line.split(":")[1].isdigit() and line.split(":")[2].isdigit() for line in errors)
    assert "hint: " in second.stderr


def test_missing_configuration_is_bad_input(tmp_path: Path) -> None:
    """A file that is not there is named, with exit code 2."""
    result = tocsin("check", str(tmp_path / "none.yaml"))
    assert result.exit_code == 2
    assert "none.yaml" in result.stderr


@pytest.mark.parametrize(
    ("aggregate", "tolerance", "epsilon"),
    [("COUNT(*) > 30", 1, "1.386"), ("SUM(n) > 100", 5, "2.303")],
)
def test_plan_prints_the_theoretical_minimum(
    tmp_path: Path, aggregate: str, tolerance: int, epsilon: str
) -> None:
    """The plan shows epsilon, the limit and the ratio 1.000 side by side."""
    path = configuration(tmp_path, aggregate=aggregate, tolerance=tolerance)
    result = tocsin("plan", path)
    assert result.exit_code == 0
    row = next(line for line in result.stdout.splitlines() if "crowd" in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells[:5] == ["crowd", "tslm", epsilon, epsilon, "1.000"]
    assert "fits" in result.stdout


def test_plan_speaks_json(tmp_path: Path) -> None:
    """``--json`` gives one object per alarm and per budget, and says what would fit."""
    path = configuration(tmp_path, unit="user", epsilon_max="7")
    alarm, budget = json_lines(tocsin("plan", path, "--json"))
    assert (alarm["alarm"], alarm["mechanism"]) == ("crowd", "tslm")
    assert float(alarm["epsilon"]) == pytest.approx(1.3863, abs=1e-4)
    assert alarm["ratio"] == pytest.approx(1.0, abs=1e-6)
    assert alarm["worst"] is None
    assert alarm["windows_fit"] == 5
    assert (budget["budget"], budget["epsilon_max"], budget["fits"]) == ("user", "7", True)
    assert "then all are denied" in budget["suggestion"]


def test_run_replays_to_json_lines_that_keep_their_schemas(tmp_path: Path) -> None:
    """Every line is a decision or an alarm of the published schemas; all 24 hours are decided."""
    lines = json_lines(
        tocsin("run", configuration(tmp_path), "--replay", events(tmp_path), "--json")
    )
    decisions = [line for line in lines if "alarm_id" not in line]
    alarms = [line for line in lines if "alarm_id" in line]
    for line in decisions:
        jsonschema.validate(line, schema("decision"))
    for line in alarms:
        jsonschema.validate(line, schema("alarm"))
    assert len(decisions) == 24
    at_five = [a for a in alarms if a["window_start"] == "1970-01-01T05:00:00.000Z"]
    assert [alarm["predicate"] for alarm in at_five] == [{"room": "hall"}]


def test_second_run_prints_the_same_and_draws_nothing(tmp_path: Path) -> None:
    """Running the same command again gives the same lines from the ledger."""
    command = ("run", configuration(tmp_path), "--replay", events(tmp_path))
    first = tocsin(*command, "--json")
    assert tocsin(*command, "--json").stdout == first.stdout
    shown = tocsin(*command)
    assert shown.exit_code == 0
    assert "24 decided by an earlier run (nothing was drawn again), 0 decided now" in " ".join(
        shown.stdout.split()
    )


def test_run_ends_with_alarms_budget_and_ledger(tmp_path: Path) -> None:
    """A person sees the alarms, the budget bar and where the ledger lies."""
    result = tocsin("run", configuration(tmp_path), "--replay", events(tmp_path))
    assert result.exit_code == 0
    assert "hall" in result.stdout
    assert "1.386 of 4.000 (35%)" in result.stdout
    assert str(tmp_path / ".tocsin" / "alarms.db") in result.stdout.replace("\n", "")


def test_run_refuses_a_budget_that_holds_no_window(tmp_path: Path) -> None:
    """Exit code 3 and what is needed, before a ledger is made."""
    path = configuration(tmp_path, epsilon_max="1.38")
    result = tocsin("run", path, "--replay", events(tmp_path))
    assert result.exit_code == 3
    assert "does not hold one window" in result.stderr
    assert "hint:" in result.stderr
    assert not (tmp_path / ".tocsin").exists()


def test_run_denies_what_the_budget_does_not_hold(tmp_path: Path) -> None:
    """Five hours fit under the lifetime wall; the other nineteen are denied, uncharged."""
    path = configuration(tmp_path, unit="user", epsilon_max="7")
    result = tocsin("run", path, "--replay", events(tmp_path), "--json")
    assert "then all are denied" in result.stderr
    lines = json_lines(result)
    outcomes = [(line["outcome"], line["reason"]) for line in lines if "alarm_id" not in line]
    assert outcomes == [("decided", None)] * 5 + [("denied", "budget")] * 19


def test_unreachable_ledger_is_a_dependency(tmp_path: Path) -> None:
    """A ledger in a folder that is gone (an unmounted volume) ends with 4, not with a new one."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8")
    path.write_text(f"ledger: sqlite:///volume/ledger.db\n{text}", encoding="utf-8")
    result = tocsin("run", str(path), "--replay", events(tmp_path))
    assert result.exit_code == 4
    assert "hint:" in result.stderr


def test_unreachable_broker_is_a_dependency(tmp_path: Path) -> None:
    """Exit code 4 and a hint when Kafka does not answer."""
    path = Path(configuration(tmp_path))
    text = path.read_text(encoding="utf-8")
    path.write_text(f'kafka: {{bootstrap: "127.0.0.1:1"}}\n{text}', encoding="utf-8")
    result = tocsin("watch", str(path))
    assert result.exit_code == 4
    assert "hint:" in result.stderr


@pytest.mark.parametrize(
    "command", [("run",), ("topics",), ("watch",), ("ledger", "mark-spent"), ("replay",)]
)
def test_kafka_commands_ask_for_a_kafka_section(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Without ``kafka`` in the file these commands say so, with exit code 2."""
    path = configuration(tmp_path)
    more = [events(tmp_path), "--to-kafka"] if command == ("replay",) else []
    result = tocsin(command[0], path, *command[1:], *more)
    assert result.exit_code == 2, result.stderr
    assert "hint:" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("run", "FILE", "EVENTS"), "after --replay"),
        (("run", "FILE", "--json"), "--replay"),
        (("replay", "FILE", "EVENTS"), "--to-kafka"),
        (("run", "FILE", "--replay", "nowhere.jsonl"), "no such file"),
        (("run", "FILE", "--replay", "FILE"), "suffix"),
        (("topics", "FILE", "--partitions", "0"), "partitions"),
        (("ledger", "FILE", "status"), "no ledger"),
        (("frobnicate",), "No such command"),
    ],
)
def test_wrong_use_is_bad_input(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    """Wrong arguments end with exit code 2 and a sentence on standard error."""
    places = {"FILE": configuration(tmp_path), "EVENTS": events(tmp_path)}
    result = tocsin(*(places.get(word, word) for word in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr


def test_ledger_is_shown_verified_and_exported(tmp_path: Path) -> None:
    """Status, verify and export agree with what was decided; the hash key stays inside."""
    path = configuration(tmp_path)
    tocsin("run", path, "--replay", events(tmp_path))
    status = json_lines(tocsin("ledger", path, "status", "--json"))
    assert [line["record"] for line in status] == ["ledger", "budget", "alarm"]
    assert float(status[1]["spent"]) == pytest.approx(1.3863, abs=1e-4)
    assert (status[2]["decided"], status[2]["next"]) == (24, "1970-01-02T00:00:00.000Z")
    assert "crowd" in tocsin("ledger", path, "status").stdout
    assert tocsin("ledger", path, "verify").stdout == "ok\n"
    rows = json_lines(tocsin("ledger", path, "export"))
    assert sum(row["record"] == "decisions" for row in rows) == 24
    assert not any("hash_key" in row for row in rows)


def test_verify_finds_a_ledger_that_was_tampered_with(tmp_path: Path) -> None:
    """A charge changed behind Tocsin's back is named, with exit code 2."""
    path = configuration(tmp_path)
    tocsin("run", path, "--replay", events(tmp_path))
    with sqlite3.connect(tmp_path / ".tocsin" / "alarms.db") as database:
        database.execute("UPDATE tocsin_charges SET settled_units = settled_units + 1")
    database.close()
    result = tocsin("ledger", path, "verify")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "crowd" in result.stderr


def test_changed_alarm_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    """A changed threshold is refused by name; ``accept`` takes it on at the next window."""
    path = Path(configuration(tmp_path))
    early = path.read_text(encoding="utf-8").replace("until: 1970-01-02", "until: 1970-01-01T12:00")
    path.write_text(early, encoding="utf-8")
    command = ("run", str(path), "--replay", events(tmp_path))
    assert tocsin(*command).exit_code == 0
    changed = early.replace("> 30", "> 40").replace("1970-01-01T12:00", "1970-01-02")
    path.write_text(changed, encoding="utf-8")
    refused = tocsin(*command)
    assert refused.exit_code == 2
    assert "'crowd' differs from the registered one" in refused.stderr
    accepted = tocsin("ledger", str(path), "accept")
    assert accepted.stdout == "crowd: accepted, in force from 1970-01-01T12:00:00.000Z\n"
    assert tocsin("ledger", str(path), "accept").stdout == "nothing has changed\n"
    lines = json_lines(tocsin(*command, "--json"))
    assert [line["outcome"] for line in lines if "alarm_id" not in line] == ["decided"] * 24
    assert tocsin("ledger", str(path), "verify").stdout == "ok\n"


def test_accepted_windows_may_be_cut_anew(tmp_path: Path) -> None:
    """With longer windows, the next one that starts on the new calendar is decided next."""
    path = Path(configuration(tmp_path))
    early = path.read_text(encoding="utf-8").replace("until: 1970-01-02", "until: 1970-01-01T05:00")
    path.write_text(early, encoding="utf-8")
    command = ("run", str(path), "--replay", events(tmp_path))
    tocsin(*command)
    changed = early.replace("'1' HOUR", "'4' HOUR").replace("1970-01-01T05:00", "1970-01-02")
    path.write_text(changed, encoding="utf-8")
    accepted = tocsin("ledger", str(path), "accept")
    assert "in force from 1970-01-01T08:00:00.000Z" in accepted.stdout
    shown = tocsin(*command)
    assert shown.exit_code == 0, shown.stderr
    assert "4 decided now" in " ".join(shown.stdout.split())
    assert tocsin("ledger", str(path), "verify").stdout == "ok\n"


def test_custodian_report_holds_the_drops(tmp_path: Path) -> None:
    """Exact counts go to the custodian's file, never to standard output."""
    bad = Path(events(tmp_path))
    bad.write_text(bad.read_text(encoding="utf-8") + "{}\nnonsense\n", encoding="utf-8")
    report = tmp_path / "custodian.prom"
    command = ("run", configuration(tmp_path), "--replay", str(bad), "--json")
    result = tocsin(*command, "--custodian-report", str(report))
    assert result.exit_code == 0
    text = report.read_text(encoding="utf-8")
    dropped = [line for line in text.splitlines() if line.startswith("tocsin_events_dropped_total")]
    assert sum(float(line.split()[-1]) for line in dropped) == 2
    assert "dropped" not in result.output


def test_default_command_imports_no_kafka_client(tmp_path: Path) -> None:
    """Replaying files imports neither Faust nor a Kafka client."""
    program = (
        "import sys\n"
        "from stream.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "loaded = {'faust', 'aiokafka', 'kafka'} & sys.modules.keys()\n"
        "sys.exit(f'imported {loaded}' if loaded else 0)\n"
    )
    arguments = ["run", configuration(tmp_path), "--replay", events(tmp_path), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
