"""``check``, ``plan`` and ``run`` object to what does not fit, and to alarms of low utility."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stream.config.loading import load
from stream.planning.checks import Objections, objections
from tests.support.commands import configuration, events, json_lines, tocsin

OVERRUN = (
    "error: 'crowd': the budget covers 5 of 24 windows per period in the worst case\n"
    "  hint: write on_shortfall: deny to accept denied windows; the budget covers about 5 windows"
    " of every alarm, then denies all\n"
)


def overrunning(folder, *, denials=False):
    """Write a lifetime of 24 hours whose budget holds five, and return its path."""
    return configuration(folder, unit="user", epsilon_max="7", denials=denials)


def test_run_refuses_before_anything_is_there(tmp_path):
    """Exit code 3, the reason, and no ledger; with denials wanted, it runs."""
    run = ("run", overrunning(tmp_path), "--replay", events(tmp_path))
    assert OVERRUN in tocsin(*run, code=3).stderr
    assert not (tmp_path / ".tocsin").exists()
    overrunning(tmp_path, denials=True)
    tocsin(*run, code=0)


def test_check_and_run_refuse_the_same(tmp_path):
    """Two alarms of which either gets a window, and not both: denials that are wanted."""
    path = Path(configuration(tmp_path, unit="user", epsilon_max="2", denials=True))
    text = path.read_text()
    _, _, alarm = text.partition("  crowd:")
    path.write_text(f"{text}  queue:{alarm.replace('> 30', '> 20')}")
    tocsin("check", path, code=0)
    ran = tocsin("run", path, "--replay", events(tmp_path), code=0)
    assert "1 decided now" in " ".join(ran.stdout.split())


@pytest.mark.parametrize(("baseline", "code"), [(8, 0), (24, 0), (27, 3), (40, 3)])
def test_an_alarm_that_fires_at_its_baseline_has_low_utility(tmp_path, baseline, code):
    """Beyond a probability of one half at ``baseline`` it is refused, by each of the commands."""
    path = configuration(tmp_path, tolerance=5, more=f"baseline: {baseline}")
    for command in (("check", path), ("plan", path), ("run", path, "--replay", events(tmp_path))):
        result = tocsin(*command, code=code)
        assert (f"at the baseline in lab, {baseline}" in result.stderr) is (code == 3)


@pytest.mark.parametrize(
    ("aggregate", "max_fpr", "kinds"),
    [
        ("COUNT(*) > 4", "0.9", [Objections.LOW_UTILITY]),
        ("COUNT(*) > 4", "0.05", []),
        ("COUNT(*) < 4", "0.9", []),
        ("COUNT(*) > 4 AND COUNT(DISTINCT person) > 4", "0.9", [Objections.LOW_UTILITY]),
        ("COUNT(*) < 4 OR COUNT(DISTINCT person) > 4", "0.9", []),
        (
            "2 * COUNT(*) - SUM(n) > 4 AND 3 * COUNT(*) - SUM(n) > 4",
            "0.9",
            [Objections.LOW_UTILITY],
        ),
    ],
)
def test_an_alarm_that_fires_for_nobody_has_low_utility(tmp_path, aggregate, max_fpr, kinds):
    """Unless an empty group is what it is to fire for."""
    mechanism = f"mechanism: {{tslm: {{max_fpr: {max_fpr}}}}}"
    path = configuration(
        tmp_path,
        aggregate=aggregate,
        tolerance=dict.fromkeys(re.split(" AND | OR ", aggregate), 1),
        epsilon_max="9",
        more=mechanism,
    )
    assert [one.kind for one in objections(load(Path(path), environ={}))] == kinds


def test_several_files_and_the_worst_of_them(tmp_path):
    """Each is named; a bad one says more than one that does not fit."""
    for name in ("good", "over", "bad"):
        (tmp_path / name).mkdir()
    good, over = configuration(tmp_path / "good"), overrunning(tmp_path / "over")
    bad = tmp_path / "bad" / "alarms.yaml"
    bad.write_text("feeds: {}\n")
    assert tocsin("check", good, over, code=3).stdout == f"{good}: ok\n"
    tocsin("check", good, over, bad, code=2)


def test_check_speaks_json(tmp_path):
    """One object a finding with its place, and nothing on standard error."""
    path = overrunning(tmp_path)
    result = tocsin("check", path, "--json")
    findings = json_lines(result, 3)
    assert result.stderr == ""
    assert [line["level"] for line in findings] == ["warning", "note", "error"]
    keys = ["record", "file", "line", "column", "level", "message", "hint"]
    for line in findings:
        assert (list(line), line["file"]) == (keys, path)
        assert line["line"] > 1 <= line["column"]
    assert "the budget covers 5 of 24 windows" in findings[-1]["message"]
    Path(path).write_text("feeds: {}\n")
    assert "error" in {line["level"] for line in json_lines(tocsin("check", path, "--json"), 2)}


def test_warnings_are_shown_by_check_alone(tmp_path):
    """Others say in one line how many there are, and which command shows them."""
    path = overrunning(tmp_path, denials=True)
    assert tocsin("check", path, code=0).stderr.count("warning: ") == 1
    for command in (("plan", path), ("run", path, "--replay", events(tmp_path), "--dry-run")):
        said = tocsin(*command, code=0).stderr
        assert said.count(f"note: 1 warning, shown by: tocsin check {path}\n") == 1
        assert "warning: " not in said
