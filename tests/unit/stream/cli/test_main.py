"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from stream.decisions.records import schema
from tests.support.commands import configuration, events, json_lines, tocsin


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
    refusal = budget["first_refusal"]
    assert (refusal["alarm"], refusal["granted"]) == ("crowd", {"crowd": 5})
    assert refusal["window_start"] == "1970-01-01T05:00:00.000Z"


def test_run_refuses_at_the_window_that_the_plan_foretold(tmp_path: Path) -> None:
    """The first denial of a replay is the first refusal of its plan."""
    path = configuration(tmp_path, unit="user", epsilon_max="12.5")
    _, budget = json_lines(tocsin("plan", path, "--json"))
    lines = json_lines(tocsin("run", path, "--replay", events(tmp_path), "--json"))
    denied = [line["window_start"] for line in lines if line.get("reason") == "budget"]
    assert denied[0] == budget["first_refusal"]["window_start"]


def test_plan_says_what_to_change(tmp_path: Path) -> None:
    """Where it does not fit, the table ends with the smallest change, and the exit code stays 0."""
    path = configuration(tmp_path, epsilon_max="1.38")
    result = tocsin("plan", path)
    assert result.exit_code == 0
    assert "does not fit" in result.stdout
    assert "recommended: max_fnr: crowd 0.0506" in result.stdout
    assert 'epsilon_max: "1.3863"' in result.stdout
    changes = [line for line in json_lines(tocsin("plan", path, "--json")) if "change" in line]
    assert [line["change"] for line in changes] == ["tolerance", "max_fnr", "window", "epsilon_max"]
    assert [line["recommended"] for line in changes] == [False, True, False, False]


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
    "command", [("run",), ("topics",), ("watch",), ("ledger", "mark-spent"), ("replay",), ("dump",)]
)
def test_kafka_commands_ask_for_a_kafka_section(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Without ``kafka`` in the file these commands say so, with exit code 2."""
    path = configuration(tmp_path)
    more = {
        ("replay",): [events(tmp_path), "--to-kafka"],
        ("dump",): ["badges", str(tmp_path / "log.parquet")],
    }
    result = tocsin(command[0], path, *command[1:], *more.get(command, ()))
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
        (("dump", "FILE", "badges", "FILE"), "exists"),
        (("dump", "FILE", "badges", "nowhere/log.parquet"), "no such folder"),
    ],
)
def test_wrong_use_is_bad_input(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    """Wrong arguments end with exit code 2 and a sentence on standard error."""
    places = {"FILE": configuration(tmp_path), "EVENTS": events(tmp_path)}
    result = tocsin(*(places.get(word, word) for word in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr


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
