"""``tocsin test``: what goes in is counted as in a replay, and what comes out is compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from tests.support.commands import HOUR_MS, configuration, json_lines, tocsin
from tests.support.examples import copied
from tests.support.keys import nested

if TYPE_CHECKING:
    from pathlib import Path

ROOM = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {domain: [lab, hall]}
      floor: {type: integer, domain: [1, 2]}
      age: {type: integer, clip: [0, 110]}
      load: {type: float, clip: [0, 50], resolution: "0.5"}
      ts: timestamp
  forecast: {topic: f, time: ts, unit: room, fields: {room: {domain: [lab, hall]}, ts: timestamp}}
budget: {privacy_unit: event, epsilon_max: "90"}
alarms:
  a:
    max_fnr: 0.05
"""
HOUR = "TUMBLE(ts, INTERVAL '1' HOUR)"


def alarm(folder: Path, group: str, having: str, *lines: str) -> None:
    """Write a configuration with one alarm, ``a``, over an hour."""
    by = f"{group}, {HOUR}" if group else HOUR
    sql = f"sql: SELECT {group or 1} FROM badges GROUP BY {by} HAVING {having}"  # noqa: S608  # ours
    text = "\n".join([ROOM.rstrip(), *(f"    {line}" for line in nested([sql, *lines])), ""])
    (folder / "alarms.yaml").write_text(text)


def written(folder: Path, *tests: str, alarms: str = "alarms.yaml") -> str:
    """Write a file of tests, each as a mapping of YAML, and return its path."""
    text = f"alarms: {alarms}\ntests:\n" + "".join(f"  - {test}\n" for test in tests)
    path = folder / "alarms_test.yaml"
    path.write_text(text)
    return str(path)


def tried(folder: Path, *tests: str, code: int = 0, **more: str) -> str:
    """Try tests, and return what is printed and said."""
    return tocsin("test", written(folder, *tests, **more), code=code).output


def checks(folder: Path, *tests: str, code: int = 0) -> list[dict[str, Any]]:
    """Return all checks of tests."""
    lines = json_lines(tocsin("test", written(folder, *tests), "--json"), code)
    return [check for line in lines if line["record"] == "test" for check in line["checks"]]


def test_a_test_fails_at_its_place(tmp_path: Path) -> None:
    """Exit code 1 where one fails, 2 where one cannot be tried."""
    configuration(tmp_path)
    path = written(
        tmp_path,
        '{name: a full lab, counts: {lab: 60}, fires: {lab: ">= 0.95", hall: "< 0.01"}}',
        '{name: an empty one, counts: {lab: 3}, fires: {lab: ">= 0.95"}}',
    )
    result = tocsin("test", path, code=1)
    assert result.stderr == ""
    assert result.stdout.endswith(", expected >= 0.95\n2 tests, 1 failed\n")
    assert f"\n        {path}:4:57: lab: fires with probability " in result.stdout
    assert tocsin("test", path, "-v").stdout.count(f"{path}:3:") == 2
    (tmp_path / "alarms.yaml").write_text("alarms: {}\n")
    result = tocsin("test", path, code=2)
    assert result.stdout == "0 tests, 0 failed, and 3 errors\n"
    assert "alarms.yaml:1:1: `feeds` is missing" in result.stderr


def test_numbers_are_shown_in_digits_that_tell(tmp_path: Path) -> None:
    """A probability that misses by little is not shown as what was expected."""
    configuration(tmp_path)
    test = '{name: t, counts: {lab: 33}, fires: {lab: "RANGE"}}'
    (fires,) = checks(tmp_path, test.replace("RANGE", "> 0"))
    bound = f"{fires['least'] + 1e-7:.9f}"
    told = tried(tmp_path, test.replace("RANGE", f">= {bound}"), code=1)
    shown = told.partition("probability ")[2].partition(",")[0]
    assert 0 < float(bound) - eval(shown) < 2e-7  # noqa: S307  # a number, or 1 - a number


def test_events_are_what_count_counts(tmp_path: Path) -> None:
    """Caps, repetitions, domains and WHERE: `tocsin inspect` on the same events says the same."""
    path = configuration(
        tmp_path, unit="user", epsilon_max="100", aggregate="COUNT(DISTINCT person) > 120"
    )
    rooms = ("lab", "hall", "hall", "attic")
    rows = [
        {"person": f"p{number}", "room": room, "n": 1, "ts": 5 * HOUR_MS + step * 60_000}
        for step, room in enumerate(rooms)
        for number in range(1, 151)
    ]
    file = tmp_path / "badges.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    lines = json_lines(tocsin("inspect", path, "--replay", file, "--json"))
    counted = {line["group"]["room"]: line["statistics"][0] for line in lines if "true" in line}
    assert counted == {"lab": 150}
    lost = [line["dropped_by_bounds"] for line in lines if "dropped_by_bounds" in line][5]
    reasons = {reason: lost[reason] for reason in ("repeats", "beyond_groups")}
    listed = ", ".join(
        f'{{repeat: 150, person: "p{{i}}", room: {room}, n: 1, ts: {5 * HOUR_MS + step * 60_000}}}'
        for step, room in enumerate(rooms)
    )
    expected = f"counts: {counted | {'hall': 0}}, dropped_by_bounds: {reasons}"
    test = (
        "{name: t, events: EVENTS, dropped: {out_of_domain: 150},"
        f" windows: [{{start: 1970-01-01T05:00, {expected}}}]}}"
    )
    for given in (f"[{listed}]", "badges.jsonl", "[badges.jsonl]", "{badges: badges.jsonl}"):
        found = checks(tmp_path, test.replace("EVENTS", given))
        assert [one["passed"] for one in found] == [True] * 5
    test = test.replace("EVENTS", given)
    for old, new in {
        "150}, win": "151}, win",
        "{'lab': 150": "{'lab': 149",
        "s': 150": "s': 1",
    }.items():
        assert old in test
        wrong = checks(tmp_path, test.replace(old, new), code=1)
        assert not all(one["passed"] for one in wrong)


def test_listed_events_are_meant_to_count(tmp_path: Path) -> None:
    """One that is dropped fails the test, unless that is expected; a file's may be dropped."""
    configuration(tmp_path)
    event = '{person: p, room: HALL, n: 1, ts: "1970-01-01T05:00:00Z"}'
    windows = "windows: [{start: 1970-01-01T05:00, counts: {hall: 0}}]"
    told = tried(tmp_path, f"{{name: t, events: [{event}], {windows}}}", code=1)
    assert "out_of_domain: dropped 1, expected 0" in told
    assert "badges.jsonl, row 1: 'HALL' is not in" in " ".join(told.split())
    assert "did you mean 'hall'?" in told
    (tmp_path / "e.jsonl").write_text('{"person": "p", "room": "HALL", "n": 1, "ts": 18000000}\n')
    tried(tmp_path, f"{{name: t, events: e.jsonl, {windows}}}")


def test_values_take_the_declared_types(tmp_path: Path) -> None:
    """A word stays one where a text is declared; what is in quotes is no number."""
    alarm(tmp_path, "room, floor", "SUM(load) > 30", "tolerance: 9")
    rows = [
        "{person: 7, room: lab, floor: 2, load: 1.5, age: null, ts: 1970-01-01T05:00:00Z}",
        "{repeat: 3, person: 'p{i}', room: lab, floor: '{i}', load: 4, ts: '1970-01-01T05:59:59Z'}",
        "{person: no, room: lab, floor: 2, load: '4', ts: 18000000}",
    ]
    window = "{start: 1970-01-01T05:00, counts: {'lab, 2': 5.5, 'lab,1': 4, 'hall, 1': 0}}"
    test = (
        f"{{name: t, events: [{', '.join(rows)}], windows: [{window}],"
        " dropped: {wrong_type: 1, out_of_domain: 1}}"
    )
    tried(tmp_path, test)


def test_several_aggregates_are_a_list(tmp_path: Path) -> None:
    """A formula over them has an exact law where its values are read by themselves."""
    alarm(
        *(tmp_path, "", "COUNT(*) > 50 AND AVG(age) > 65"),
        *("mechanism: tslm", "tolerance: {COUNT(*) > 50: 5, AVG(age) > 65: 30}"),
    )
    both, one = checks(
        tmp_path,
        '{name: both, counts: [90, 900], fires: ">= 0.9"}',
        '{name: one, counts: {(all): [90, -900]}, fires: {(all): "<= 0.1"}}',
    )
    assert (both["about"], one["about"]) == ("(all)", "(all)")
    refused = tried(tmp_path, '{name: t, counts: 90, fires: "> 0"}', code=2)
    assert "write a list of COUNT(*), SUM(age - threshold)" in refused


def test_what_has_no_law_is_refused_or_estimated(tmp_path: Path) -> None:
    """With why, and what to do; an estimate says that it is one, and fails beyond doubt only."""
    alarm(
        *(tmp_path, "room", "COUNT(*) > 50 AND AVG(age) > 65"),
        *("mechanism: probe", "tolerance: {COUNT(*) > 50: 5, AVG(age) > 65: 30}"),
    )
    test = '{name: t, counts: {lab: [90, 900]}, fires: {lab: ">= 0.9", hall: "<= 0.1"}SAMPLED}'
    refused = tried(tmp_path, test.replace("SAMPLED", ""), code=2)
    assert "alarms_test.yaml:3:54: how likely alarm `a` fires is not computed" in refused
    assert "add `sampled: 1000`" in refused
    test = test.replace("SAMPLED", ", sampled: 200")
    lab, hall = checks(tmp_path, test)
    assert (lab["draws"], hall["draws"]) == (200, 200)
    assert lab["least"] < 0.95 < lab["most"]
    shown = tocsin("test", written(tmp_path, test), "-v").stdout
    assert "200 draws (an estimate: " in shown
    assert "alone in its window" not in shown
    lab, hall = checks(tmp_path, test.replace(">= 0.9", "<= 0.1"), code=1)
    assert (lab["passed"], hall["passed"]) == (False, True)


def test_a_band_rings_outside_its_reference(tmp_path: Path) -> None:
    """Around a number, or around what a feed says: told beside the counts, or as its events."""
    lines = ('mechanism: {decider: {epsilon: "1"}}',)
    having = "ABS(COUNT(*) - REFERENCE) >= 20"
    alarm(tmp_path, "room", having, *lines, "reference: 40")
    inside = '{name: t, counts: {lab: 40, hall: 90}, fires: {lab: "< 0.01", hall: "> 0.99"}}'
    tried(tmp_path, inside)
    alarm(tmp_path, "room", having, *lines, "reference: {feed: forecast}")
    told = '{name: t, counts: {lab: 40}, references: {hall: 50, lab: 40}, fires: {lab: "< 0.01"}}'
    tried(tmp_path, told, told.replace('lab: "< 0.01"', 'hall: "> 0.99"'))
    refused = tried(tmp_path, '{name: t, counts: {lab: 1}, fires: {lab: "> 0"}}', code=2)
    assert "write references: {hall: 60}" in refused
    ts = "ts: 1970-01-01T05:00:00Z"
    own = f"badges: [{{repeat: 60, person: '{{i}}', room: lab, {ts}}}]"
    window = 'windows: [{start: 1970-01-01T05:00, fires: {lab: "< 0.01", hall: "< 0.01"}}]'
    both = f"{{name: t, events: {{{own}, forecast: [{{repeat: 60, room: lab, {ts}}}]}}, {window}}}"
    tried(tmp_path, both)
    refused = tried(tmp_path, f"{{name: t, events: {{{own}}}, {window}}}", code=2)
    assert "events of feed `forecast` are missing" in refused


def test_a_run_says_what_it_is_the_law_of(tmp_path: Path) -> None:
    """Between asked last and asked first; a bound holds for both."""
    run = ("mechanism: {svt: {max_alarms: 1}}", "tolerance: 9")
    alarm(tmp_path, "room", "COUNT(*) > 50", *run)
    both = '{name: t, counts: {lab: 60, hall: 60}, fires: {lab: "> 0.9"}}'
    told = tried(tmp_path, both, code=1)
    assert " to " in told
    assert "at least if asked last, at most if asked first" in told
    tried(tmp_path, both.replace(", hall: 60", ""))


def test_several_files_and_standard_input(tmp_path: Path) -> None:
    """Each is named above its tests; paths start from the file, or from here."""
    configuration(tmp_path)
    good = written(tmp_path, '{name: "a < b", counts: {lab: 60}, fires: {lab: "> 0.9"}}')
    other = tmp_path / "other.yaml"
    text = (tmp_path / "alarms_test.yaml").read_text().replace("> 0.9", "< 0.9")
    other.write_text(text)
    lines = tocsin("test", good, other, code=1).stdout.splitlines()
    assert [lines[0], lines[2]] == [f"{good}:", f"{other}:"]
    assert lines[-1] == "2 tests, 1 failed"
    given = text.replace("alarms: ", f"alarms: {tmp_path}/")
    told = CliRunner().invoke(main, ["test", "-"], input=given, catch_exceptions=False)
    assert (told.exit_code, "-:3:" in told.stdout) == (1, True)


def test_one_wanted_alarm_or_a_name_is_needed(tmp_path: Path) -> None:
    """What is left to the planner cannot be tested; of several alarms one is named."""
    alarm(tmp_path, "room", "COUNT(*) > 50", "baseline: 3", "false_alarms: 1 per week")
    test = '{name: t, counts: {lab: 60}, fires: {lab: "> 0.9"}}'
    assert "run `tocsin lock" in tried(tmp_path, test, code=2)
    alarm(tmp_path, "room", "COUNT(*) > 50", "tolerance: 9")
    text = (tmp_path / "alarms.yaml").read_text()
    one = text[text.index("  a:\n") :]
    (tmp_path / "alarms.yaml").write_text(text + one.replace("  a:", "  b:"))
    assert "write alarm: a or b" in tried(tmp_path, test, code=2)
    tried(tmp_path, "{alarm: a, " + test[1:])


@pytest.mark.parametrize("example", ["office", "retail"])
def test_the_examples_pass_their_tests(example: str, tmp_path: Path) -> None:
    """The file beside each example, and nothing is left behind: no ledger, no claim."""
    folder = copied(example, tmp_path).parent
    before = sorted(folder.rglob("*"))
    assert "0 failed" in tocsin("test", folder / "alarms_test.yaml", code=0).stdout
    assert sorted(folder.rglob("*")) == before
