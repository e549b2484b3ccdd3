"""``check``, ``plan`` and ``run`` object to what does not fit, and to alarms of low utility."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from stream.config.loading import load
from stream.planning.checks import Objections, objections
from tests.support.commands import configuration, events, json_lines, tocsin

OVERRUN = (
    "the budget covers 5 of 24 windows per period in the worst case\n"
    "  hint: write on_shortfall: deny to accept denied windows; the budget covers about 5 windows"
    " of every alarm, then denies all\n"
)


def overrunning(folder: Path, *, denials: bool = False) -> str:
    """Write a lifetime of 24 hours whose budget holds five, and return its path."""
    return configuration(folder, unit="user", epsilon_max="7", denials=denials)


def test_run_refuses_before_anything_is_there(tmp_path: Path) -> None:
    """Exit code 3, the reason, and no ledger; with denials wanted, it runs."""
    run = ("run", overrunning(tmp_path), "--replay", events(tmp_path))
    refused = tocsin(*run, code=3)
    assert f"error: 'crowd': {OVERRUN}" in refused.stderr
    assert not (tmp_path / ".tocsin").exists()
    overrunning(tmp_path, denials=True)
    tocsin(*run, code=0)


def test_check_and_run_refuse_the_same(tmp_path: Path) -> None:
    """Two alarms of which either gets a window, and not both: denials that are wanted."""
    path = Path(configuration(tmp_path, unit="user", epsilon_max="2", denials=True))
    text = path.read_text()
    alarm = text[text.index("  crowd:") :].replace("crowd", "queue").replace("> 30", "> 20")
    path.write_text(text + alarm)
    tocsin("check", path, code=0)
    ran = tocsin("run", path, "--replay", events(tmp_path), code=0)
    assert "1 decided now" in " ".join(ran.stdout.split())


@pytest.mark.parametrize(("baseline", "code"), [(8, 0), (24, 0), (27, 3), (40, 3)])
def test_an_alarm_that_fires_at_its_baseline_has_low_utility(
    tmp_path: Path, baseline: int, code: int
) -> None:
    """Beyond a probability of one half at ``baseline`` it is refused, by each of the commands."""
    path = configuration(tmp_path, tolerance=5, more=f"baseline: {baseline}")
    for command in (("check", path), ("plan", path), ("run", path, "--replay", events(tmp_path))):
        result = tocsin(*command, code=code)
        assert (f"at the baseline in lab, {baseline}" in result.stderr) is (code == 3)


@pytest.mark.parametrize(
    ("aggregate", "max_fpr", "low_utility"),
    [
        ("COUNT(*) > 4", "0.9", True),
        ("COUNT(*) > 4", "0.05", False),
        ("COUNT(*) < 4", "0.9", False),
    ],
)
def test_an_alarm_that_fires_for_nobody_has_low_utility(
    tmp_path: Path, aggregate: str, max_fpr: str, *, low_utility: bool
) -> None:
    """Unless an empty cell is what it is to ring for."""
    mechanism = f"mechanism: {{tslm: {{max_fpr: {max_fpr}}}}}"
    path = configuration(tmp_path, aggregate=aggregate, epsilon_max="9", more=mechanism)
    kinds = [one.kind for one in objections(load(Path(path), environ={}))]
    assert kinds == ([Objections.LOW_UTILITY] if low_utility else [])


def test_several_files_and_the_worst_of_them(tmp_path: Path) -> None:
    """Each is named; a bad one says more than one that does not fit."""
    paths = []
    for name in ("good", "over", "bad"):
        folder = tmp_path / name
        folder.mkdir()
        paths.append(overrunning(folder) if name == "over" else configuration(folder))
    good, over, bad = paths
    Path(bad).write_text("feeds: {}\n")
    assert tocsin("check", good, over, code=3).stdout == f"{good}: ok\n"
    tocsin("check", good, over, bad, code=2)
    tocsin("plan", good, bad, code=2)
    lines = json_lines(tocsin("plan", good, over, "--json"), 3)
    assert {line["file"] for line in lines} == {good, over}
    verdicts = [line for line in lines if line["record"] == "verdict"]
    assert [line["verdict"] for line in verdicts] == ["ok", "refused"]


def test_check_speaks_json(tmp_path: Path) -> None:
    """One object a finding with its place, and one verdict a file; nothing on standard error."""
    path = overrunning(tmp_path)
    result = tocsin("check", path, "--json")
    *findings, verdict = json_lines(result, 3)
    assert result.stderr == ""
    assert [line["level"] for line in findings] == ["warning", "warning", "note", "error"]
    keys = ["record", "file", "line", "column", "level", "message", "hint"]
    assert all(list(line) == keys and line["file"] == path for line in findings)
    assert all(line["line"] > 1 and line["column"] >= 1 for line in findings)
    assert (verdict["verdict"], verdict["exit_code"], verdict["warnings"]) == ("refused", 3, 2)
    assert [one["kind"] for one in verdict["refused"]] == ["overrun"]
    Path(path).write_text("feeds: {}\n")
    *findings, verdict = json_lines(tocsin("check", path, "--json"), 2)
    assert verdict["errors"] == len(findings) > 0


def test_warnings_are_shown_by_check_alone(tmp_path: Path) -> None:
    """Others say in one line how many there are, and which command shows them."""
    path = overrunning(tmp_path, denials=True)
    assert tocsin("check", path, code=0).stderr.count("warning: ") == 2
    for command in (("plan", path), ("run", path, "--replay", events(tmp_path), "--dry-run")):
        said = tocsin(*command, code=0).stderr
        assert said.count(f"note: 2 warnings, shown by: tocsin check {path}\n") == 1
        assert "warning: " not in said


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` is checked as a file is; domains lie in the working directory."""
    text = Path(configuration(tmp_path)).read_text()
    text = text.replace("{domain: [lab, hall]}", "{domain: rooms.txt}")
    monkeypatch.chdir(tmp_path)
    missing = CliRunner().invoke(main, ["check", "-"], input=text)
    assert missing.exit_code == 2
    assert missing.stderr.startswith("-:8:")
    (tmp_path / "rooms.txt").write_text("lab\nhall\n")
    assert CliRunner().invoke(main, ["check", "-"], input=text).stdout == "ok\n"
    planned = CliRunner().invoke(main, ["plan", "-", "--json"], input=text)
    assert json.loads(planned.stdout)["file"] == "-"
