"""``tocsin test``: what goes in is counted as in a replay, and what comes out is compared."""

from __future__ import annotations

import pytest

from tests.support.commands import HOUR_MS, configuration, json_lines, tocsin
from tests.support.examples import copied
from tests.support.files import edit, write_rows
from tests.support.keys import nested

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


def alarm(folder, group, having, *lines):
    """Write a configuration with one alarm, ``a``, over an hour."""
    by = f"{group}, {HOUR}" if group else HOUR
    sql = f"sql: SELECT {group or 1} FROM badges GROUP BY {by} HAVING {having}"  # noqa: S608  # ours
    text = "\n".join([ROOM.rstrip(), *(f"    {line}" for line in nested([sql, *lines])), ""])
    (folder / "alarms.yaml").write_text(text)


def written(folder, *tests):
    """Write a file of tests, each as a mapping of YAML, and return its path."""
    path = folder / "alarms_test.yaml"
    path.write_text(
        "alarms: alarms.yaml\ntests:\n" + "".join(f"  - {{{test}}}\n" for test in tests)
    )
    return path


def tried(folder, *tests, code=0):
    """Try tests, and return what is printed and said."""
    return tocsin("test", written(folder, *tests), code=code).output


def checks(folder, *tests, code=0):
    """Return all checks of tests."""
    lines = json_lines(tocsin("test", written(folder, *tests), "--json"), code)
    return [check for line in lines if line["record"] == "test" for check in line["checks"]]


def test_a_test_fails_at_its_place(tmp_path):
    """Exit code 1 where one fails, 2 where one cannot be tried."""
    configuration(tmp_path)
    path = written(
        tmp_path,
        'name: a full lab, counts: {lab: 60}, fires: {lab: ">= 0.95", hall: "< 0.01"}',
        'name: an empty one, counts: {lab: 3}, fires: {lab: ">= 0.95"}',
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


def test_events_are_what_count_counts(tmp_path):
    """Caps, repetitions and domains: `tocsin inspect` says the same (``test_inspect.py``)."""
    configuration(
        tmp_path, unit="user", epsilon_max="100", aggregate="COUNT(DISTINCT person) > 120"
    )
    rooms = dict(enumerate(("lab", "hall", "hall", "attic"), 5 * HOUR_MS))
    event = "{{repeat: 150, person: 'p{{i}}', room: {}, n: 1, ts: {}}}"
    listed = ", ".join(event.format(room, ts) for ts, room in rooms.items())
    rows = [
        {"person": f"p{number}", "room": room, "n": 1, "ts": ts}
        for ts, room in rooms.items()
        for number in range(150)
    ]
    write_rows(tmp_path / "badges.jsonl", rows)
    expected = "counts: {lab: 150, hall: 0}, dropped_by_bounds: {repeats: 150, beyond_groups: 150}"
    test = (
        "name: t, events: EVENTS, dropped: {out_of_domain: 150},"
        f" windows: [{{start: 1970-01-01T05:00, {expected}}}]"
    )
    for events in (f"[{listed}]", "badges.jsonl", "[badges.jsonl]", "{badges: badges.jsonl}"):
        given = test.replace("EVENTS", events)
        assert [one["passed"] for one in checks(tmp_path, given)] == [True] * 5
    for right in ("domain: 150", "lab: 150", "repeats: 150", "groups: 150"):
        wrong = given.replace(right, right.replace("150", "149"))
        assert not all(one["passed"] for one in checks(tmp_path, wrong, code=1))


def test_listed_events_are_meant_to_count(tmp_path):
    """One that is dropped fails the test, unless that is expected; a file's may be dropped."""
    configuration(tmp_path)
    event = '{person: p, room: HALL, n: 1, ts: "1970-01-01T05:00:00Z"}'
    windows = "windows: [{start: 1970-01-01T05:00, counts: {hall: 0}}]"
    told = " ".join(tried(tmp_path, f"name: t, events: [{event}], {windows}", code=1).split())
    dropped = "out_of_domain: dropped 1, expected 0"
    for said in (dropped, "badges.jsonl, row 1: 'HALL' is not in", "did you mean 'hall'?"):
        assert said in told
    (tmp_path / "e.jsonl").write_text('{"person": "p", "room": "HALL", "n": 1, "ts": 18000000}\n')
    tried(tmp_path, f"name: t, events: e.jsonl, {windows}")


def test_values_take_the_declared_types(tmp_path):
    """A word stays one where a text is declared; what is in quotes is no number."""
    alarm(tmp_path, "room, floor", "SUM(load) > 30", "tolerance: 9")
    rows = (
        "{person: 7, room: lab, floor: 2, load: 1.5, age: null, ts: 1970-01-01T05:00:00Z},"
        "{repeat: 3, person: 'p{i}', room: lab, floor: '{i}', load: 4, ts: '1970-01-01T05:59:59Z'},"
        "{person: no, room: lab, floor: 2, load: '4', ts: 18000000}"
    )
    window = "{start: 1970-01-01T05:00, counts: {'lab, 2': 5.5, 'lab,1': 4, 'hall, 1': 0}}"
    dropped = "{wrong_type: 1, out_of_domain: 1}"
    test = f"name: t, events: [{rows}], windows: [{window}], dropped: {dropped}"
    tried(tmp_path, test)
    for group in ("'lab,2': 5.5", r'"lab\n, 2": 0'):  # one that is written already, and none
        tried(tmp_path, test.replace("'hall, 1': 0", group), code=2)


def test_windows_over_panes_are_counted_for_themselves(tmp_path):
    """Twice the same window is checked twice."""
    alarm(tmp_path, "room", "COUNT(*) > 50", "tolerance: 9", "mechanism: panes")
    file = tmp_path / "alarms.yaml"
    edit(file, "TUMBLE(ts,", "HOP(ts, INTERVAL '15' MINUTE,")
    window = "{start: 1970-01-01T05:00, counts: {lab: 8}}"
    event = "{repeat: 8, person: p, room: lab, ts: 18000000}"
    test = f"name: t, events: [{event}], windows: [{window}, {window}]"
    assert len(checks(tmp_path, test)) == 2
    checks(tmp_path, test.replace("8}}", "9}}", 1), code=1)


def test_several_aggregates_are_a_list(tmp_path):
    """A formula over them has an exact law where its values are read by themselves."""
    having, tolerances = "COUNT(*) > 50 AND AVG(age) > 65", "{COUNT(*) > 50: 5, AVG(age) > 65: 30}"
    alarm(tmp_path, "", having, "mechanism: tslm", f"tolerance: {tolerances}")
    both, one = checks(
        tmp_path,
        'name: both, counts: [90, 900], fires: ">= 0.9"',
        'name: one, counts: {(all): [90, -900]}, fires: {(all): "<= 0.1"}',
    )
    assert (both["about"], one["about"]) == ("(all)", "(all)")
    refused = tried(tmp_path, 'name: t, counts: 90, fires: "> 0"', code=2)
    assert "write a list of COUNT(*), SUM(age - threshold)" in refused


def test_what_has_no_law_is_refused_or_estimated(tmp_path):
    """With why, and what to do; an estimate says that it is one, and fails beyond doubt only."""
    having, tolerances = "COUNT(*) > 50 AND AVG(age) > 65", "{COUNT(*) > 50: 5, AVG(age) > 65: 30}"
    alarm(tmp_path, "room", having, "mechanism: probe", f"tolerance: {tolerances}")
    test = 'name: t, counts: {lab: [90, 900]}, fires: {lab: ">= 0.9", hall: "<= 0.1"}'
    refused = tried(tmp_path, test, code=2)
    assert "alarms_test.yaml:3:54: how likely alarm `a` fires is not computed" in refused
    assert "add `sampled: 1000`" in refused
    test += ", sampled: 200"
    lab, hall = checks(tmp_path, test)
    assert (lab["draws"], hall["draws"]) == (200, 200)
    assert lab["least"] < 0.95 < lab["most"]
    shown = tocsin("test", written(tmp_path, test), "-v").stdout
    assert "200 draws (an estimate: " in shown
    assert "alone in its window" not in shown
    wrong = checks(tmp_path, test.replace(">= 0.9", "<= 0.1"), code=1)
    assert [one["passed"] for one in wrong] == [False, True]


def test_a_band_fires_outside_its_reference(tmp_path):
    """Around a number, or around what a feed says: told beside the counts, or as its events."""

    def band(reference):
        keys = ('mechanism: {decider: {epsilon: "1"}}', f"reference: {reference}")
        alarm(tmp_path, "room", "ABS(COUNT(*) - REFERENCE) >= 20", *keys)

    band(40)
    tried(tmp_path, 'name: t, counts: {lab: 40, hall: 90}, fires: {lab: "< 0.01", hall: "> 0.99"}')
    band("{feed: forecast}")
    told = 'name: t, counts: {lab: 40}, references: {hall: 50, lab: 40}, fires: {lab: "< 0.01"}'
    tried(tmp_path, told, told.replace('lab: "< 0.01"', 'hall: "> 0.99"'))
    refused = tried(tmp_path, 'name: t, counts: {lab: 1}, fires: {lab: "> 0"}', code=2)
    assert "write references: {hall: 60}" in refused
    own = "badges: [{repeat: 60, person: '{i}', room: lab, ts: 1970-01-01T05:00:00Z}]"
    other = "forecast: [{repeat: 60, room: lab, ts: 1970-01-01T05:00:00Z}]"
    window = 'windows: [{start: 1970-01-01T05:00, fires: {lab: "< 0.01", hall: "< 0.01"}}]'
    tried(tmp_path, f"name: t, events: {{{own}, {other}}}, {window}")
    refused = tried(tmp_path, f"name: t, events: {{{own}}}, {window}", code=2)
    assert "events of feed `forecast` are missing" in refused


def test_a_run_says_what_it_is_the_law_of(tmp_path):
    """Between asked last and asked first; a bound holds for both."""
    run = ("mechanism: {svt: {max_alarms: 1}}", "tolerance: 9")
    alarm(tmp_path, "room", "COUNT(*) > 50", *run)
    both = 'name: t, counts: {lab: 60, hall: 60}, fires: {lab: "> 0.9"}'
    told = tried(tmp_path, both, code=1)
    assert " to " in told
    assert "at least if asked last, at most if asked first" in told
    tried(tmp_path, both.replace(", hall: 60", ""))


def test_several_files(tmp_path):
    """Each is named above its tests."""
    configuration(tmp_path)
    good = written(tmp_path, 'name: "a < b", counts: {lab: 60}, fires: {lab: "> 0.9"}')
    other = tmp_path / "other.yaml"
    other.write_text(good.read_text().replace("> 0.9", "< 0.9"))
    first, _, second, *_, last = tocsin("test", good, other, code=1).stdout.splitlines()
    assert [first, second, last] == [f"{good}:", f"{other}:", "2 tests, 1 failed"]


def test_one_wanted_alarm_or_a_name_is_needed(tmp_path):
    """What is left to the planner cannot be tested; of several alarms one is named."""
    alarm(tmp_path, "room", "COUNT(*) > 50", "baseline: 3", "false_alarms: 1 per week")
    test = 'name: t, counts: {lab: 60}, fires: {lab: "> 0.9"}'
    assert "run `tocsin lock" in tried(tmp_path, test, code=2)
    alarm(tmp_path, "room", "COUNT(*) > 50", "tolerance: 9")
    text = (tmp_path / "alarms.yaml").read_text()
    (tmp_path / "alarms.yaml").write_text(text + "  b:\n" + text.partition("  a:\n")[2])
    assert "write alarm: a or b" in tried(tmp_path, test, code=2)
    tried(tmp_path, f"alarm: a, {test}")


@pytest.mark.parametrize("example", ["office", "retail"])
def test_the_examples_pass_their_tests(example, tmp_path):
    """The file beside each example, and nothing is left behind: no ledger, no claim."""
    folder = copied(example, tmp_path).parent
    before = sorted(folder.rglob("*"))
    assert "0 failed" in tocsin("test", folder / "alarms_test.yaml", code=0).stdout
    assert sorted(folder.rglob("*")) == before
