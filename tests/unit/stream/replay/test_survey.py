"""Files that hold nothing to decide are refused before anything is spent; what is read is told.

Files of nonsense, values of other types, missing columns: the golden records.
"""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream.events.records import Record
from stream.replay.exports import ExportInfo, LoggedRecord, log_writer
from tests.support.commands import tocsin

CONFIG = """\
timezone: Europe/Berlin
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {domain: rooms.txt}
      n: {type: integer, clip: [0, 10]}
      ts: timestamp
    history: {from: 2025-03-03, until: 2025-03-05}
budget: {privacy_unit: event, epsilon_max: "4"}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(*) > 30
    active: "Mon-Fri 07:00-22:00"
    max_fnr: 0.05
    tolerance: 1
"""
AT_NIGHT = """\
  night:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 30
    active: "Mon-Fri 22:00-24:00"
    max_fnr: 0.05
    tolerance: 1
"""
PEOPLE = 40
GOOD_MS = 1_740_993_120_000


def event(number, **other):
    """Return one good event, but for what is said otherwise; ``None`` leaves a field out."""
    good = {"person": f"p{number}", "room": "hall", "n": 1, "ts": "2025-03-03T09:12:00Z"}
    return {name: value for name, value in (good | other).items() if value is not None}


def lines(**other):
    """Return an event of each of forty people, one a line."""
    return "".join(json.dumps(event(number, **other)) + "\n" for number in range(PEOPLE))


CASES = {
    "HALL for hall": (
        lines(room="HALL"),
        (
            "none of its events can be used",
            "40 out of domain, first: badges.jsonl, row 1: 'HALL' is not in rooms.txt",
            "did you mean 'hall'?",
        ),
    ),
    "outside the history": (
        lines(ts="2024-03-04T09:12:00Z"),
        ("none of its events can be used", "40 outside history", "2024-03-04"),
    ),
    "the unit's field is missing": (
        lines(person=None, Person="p1"),
        ("40 missing field", "no `person`; is it `Person`?"),
    ),
    "seconds for milliseconds": (
        lines(ts=1_740_993_120),
        ("none of its events can be used", "are the times seconds?"),
    ),
    "microseconds for milliseconds": (
        lines(ts=1_740_993_120_000_000),
        ("40 bad time", "not micro- or nanoseconds"),
    ),
    "another time zone": (
        lines(ts="2025-03-03T23:12:00Z"),
        ("none of its events can be used", "40 outside windows", "is that its time zone?"),
    ),
    "only empty lines": ("\n\n", ("there is no event in it", "0 events read")),
    "more than half is bad": (
        lines()[: lines().index('{"person": "p10"')] + "nonsense\n" * PEOPLE,
        ("more than half of its events cannot be used", "40 undecodable"),
    ),
}


def written(folder, text="", name="badges.jsonl", config=CONFIG):
    """Write a configuration and its events; return the command."""
    path, file = folder / "alarms.yaml", folder / name
    path.write_text(config)
    (folder / "rooms.txt").write_text("lab\nhall\n")
    file.write_text(text)
    return "run", path, "--replay", file


def noted(result):
    """Return the one line on what was read; the command ended well."""
    assert result.exit_code == 0, result.stderr
    (line,) = re.findall(r"^note: badges.*$", result.stderr, re.MULTILINE)
    return line


def refused(folder, *command):
    """Return why a replay is refused, before anything is spent: no ledger, no claim."""
    result = tocsin(*command, code=2)
    assert result.stdout == ""
    assert "hint:" in result.stderr
    assert not (folder / ".tocsin").exists()
    return result.stderr


@pytest.mark.parametrize(("text", "said"), CASES.values(), ids=CASES)
def test_what_cannot_be_right_spends_nothing(tmp_path, text, said):
    """Exit code 2, the reason with counts, an example and a remedy."""
    told = refused(tmp_path, *written(tmp_path, text))
    assert [each for each in said if each not in told] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("alarms:\n", f"alarms:\n{AT_NIGHT}", "alarm 'night' can use none of its events"),
        ("FROM badges", "FROM badges WHERE n > 5", "no alarm's WHERE or FILTER is true of it"),
    ],
)
def test_what_no_alarm_can_use_spends_nothing(tmp_path, old, new, said):
    """Of one alarm among several, or of all."""
    assert said in refused(tmp_path, *written(tmp_path, lines(), config=CONFIG.replace(old, new)))


@pytest.mark.parametrize("name", ["HALL for hall", "only empty lines", "outside the history"])
def test_a_custodian_may_want_it_so(tmp_path, name):
    """With --accept-drops the windows are decided; what was found is said all the same."""
    result = tocsin(*written(tmp_path, CASES[name][0]), "--accept-drops")
    assert "0 usable" in noted(result)
    assert "30 decided now" in result.stdout


def test_a_few_bad_lines_are_one_line_at_the_end(tmp_path):
    """A good file runs; one line says what was read, with the first of the most frequent fault."""
    text = lines() + "nonsense\n" + json.dumps(event(99, room="Hall")) + "\nmore\n"
    result = tocsin(*written(tmp_path, text), "--json")
    for said in (
        "43 events read, 40 usable; not usable: 2 undecodable (first: badges.jsonl, row 41: 'nons",
        "1 out of domain (first: badges.jsonl, row 42: 'Hall' is not in rooms.txt; did you mean",
    ):
        assert said in noted(result)
    assert not re.search("nonsense|usable", result.stdout)


def test_examples_are_safe_to_show_on_a_terminal(tmp_path):
    """What a line holds cannot move the cursor, and does not fill the screen."""
    told = refused(tmp_path, *written(tmp_path, lines(room="\x1b[2J" + "x" * 500)))
    assert "\x1b" not in told
    assert "x" * 200 not in told


def test_rows_of_parquet_are_found_as_lines_are(tmp_path):
    """What formats have in common: ``tests/unit/stream/events``."""
    rows = [event(n, room="HALL" if n % 10 == 0 else "lab", ts=GOOD_MS) for n in range(PEOPLE)]
    command = written(tmp_path, name="badges.parquet")
    pq.write_table(pa.Table.from_pylist(rows), command[-1])
    first = "(first: badges.parquet, row 1: 'HALL' is not in rooms.txt; did you mean 'hall'?"
    told = noted(tocsin(*command))
    assert f"40 events read, 36 usable; not usable: 4 out of domain {first}" in told


def dropped(folder, *command):
    """Return the line on what was read, and what the custodian's metrics of the replay say."""
    report = folder / "metrics.txt"
    line = noted(tocsin(*command, "--custodian-report", report))
    counted = r'^tocsin_events_dropped_total\{.*reason="(\w+)".* (\d+)\.0$'
    found = re.findall(counted, report.read_text(), re.MULTILINE)
    return line, {reason: int(count) for reason, count in found if count != "0"}


def test_what_is_told_is_what_the_replay_drops(tmp_path):
    """The counts are those of the custodian's metrics of the same replay, reason by reason."""
    faulty = [
        {"room": "HALL"},
        {"room": None},
        {"person": None},
        {"n": "x"},
        {"ts": -5},
        {"person": "x" * 2_000},
        {"ts": "2025-03-03T23:00:00Z"},
        {"ts": "2025-03-03T23:00:00Z", "room": "HALL"},
        {"ts": "2031-01-01T00:00:00Z"},
    ]
    text = lines() + "".join(json.dumps(event(n, **one)) + "\n" for n, one in enumerate(faulty))
    line, metrics = dropped(tmp_path, *written(tmp_path, text))
    assert sum(metrics.values()) == 7
    assert "49 events read, 40 usable" in line
    for reason, count in {**metrics, "outside history": 1, "outside windows": 1}.items():
        assert f"{count} {reason.replace('_', ' ')} (" in line


def exported(path, records):
    """Write an export of one partition: values, append times, and whether the broker gave them."""
    with log_writer(path, ExportInfo("building.badges", 1)) as write:
        write(
            LoggedRecord(0, Record(offset, append_ms, log_append, value, ()))
            for offset, (value, append_ms, log_append) in enumerate(records)
        )
    return path


def test_a_dump_is_counted_as_a_replay_counts_it(tmp_path):
    """In the metrics' numbers; what could be read has its offset beside it."""
    command = written(tmp_path)[:-1]

    def value(**other):
        return json.dumps(event(1, **{"ts": GOOD_MS, **other})).encode()

    records = [
        *[(value(), GOOD_MS, True)] * 20,
        (value(), GOOD_MS, False),
        (b"nonsense", GOOD_MS, True),
        (None, GOOD_MS, True),
        (value(room="HALL"), GOOD_MS, True),
        (value(n="x"), GOOD_MS, True),
        (value(ts=GOOD_MS + 10_000_000), GOOD_MS, True),
        (value(), GOOD_MS + 9_000_000, True),
    ]
    export = exported(tmp_path / "log.parquet", records)
    line, metrics = dropped(tmp_path, *command, export)
    assert "27 events read, 20 usable" in line
    first = "(first: partition 0, offset {}: "
    told = {
        "undecodable": (2, "(no example)"),
        "create_time": (1, "(no example)"),
        "out_of_domain": (1, f"{first.format(23)}'HALL' is not in rooms.txt"),
        "wrong_type": (1, "(no example)"),
        "early": (1, first.format(25)),
        "late": (1, first.format(26)),
    }
    assert metrics == {reason: count for reason, (count, _) in told.items()}
    for reason, (count, example) in told.items():
        assert f"{count} {reason.replace('_', ' ')} {example}" in line


def test_a_dump_of_nothing_usable_is_refused(tmp_path):
    """Records that the broker did not date would all be dropped: nothing is spent on them."""
    value = json.dumps(event(1)).encode()
    export = exported(tmp_path / "log.parquet", [(value, GOOD_MS, False)] * 9)
    told = refused(tmp_path, *written(tmp_path)[:-1], export)
    assert "9 create time, no example" in told
    assert "LogAppendTime" in told
