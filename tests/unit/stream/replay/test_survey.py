"""Files that hold nothing to decide are refused before anything is spent; what is read is told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream.events.records import Record
from stream.replay.exports import ExportInfo, LoggedRecord, log_writer
from tests.support.commands import tocsin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from click.testing import Result

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
PEOPLE = 40


def _event(number: int, **other: object) -> dict[str, object]:
    """Return one good event, but for what is said otherwise; ``None`` leaves a field out."""
    good = {"person": f"p{number}", "room": "hall", "n": 1, "ts": "2025-03-03T09:12:00Z"}
    return {name: value for name, value in (good | other).items() if value is not None}


def _jsonl(**other: object) -> str:
    return "".join(json.dumps(_event(number, **other)) + "\n" for number in range(PEOPLE))


def _csv(header: str, row: str = "p{},hall,1,2025-03-03T09:12:00Z") -> str:
    return "\n".join([*([header] if header else []), *(row.format(n) for n in range(PEOPLE))])


@dataclass(frozen=True)
class Case:
    """A file that cannot be right, and what must be said of it."""

    text: str
    said: tuple[str, ...]
    name: str = "badges.jsonl"
    config: Mapping[str, str] = field(default_factory=dict)


CASES = {
    "every line is bad JSON": Case(
        '{"person": "p1", "room": \n' * PEOPLE,
        ("none of its events can be used", "40 undecodable", "row 1", "one JSON object"),
    ),
    "HALL for hall": Case(
        _jsonl(room="HALL"),
        (
            "none of its events has a value of the declared domain",
            "40 out of domain, first: badges.jsonl, row 1: 'HALL' is not in rooms.txt",
            "did you mean 'hall'?",
        ),
    ),
    "US dates": Case(
        _jsonl(ts="03/05/2025 09:12"),
        ("40 wrong type", "`ts` is '03/05/2025 09:12'", "write ISO 8601"),
    ),
    "US dates in CSV": Case(
        _csv("person,room,n,ts", "p{},hall,1,03/05/2025 09:12"),
        ("40 wrong type, first: badges.csv, row 2", "`ts` is '03/05/2025 09:12'"),
        name="badges.csv",
    ),
    "outside the history": Case(
        _jsonl(ts="2024-03-04T09:12:00Z"),
        ("none of its events lies in the feed's `history`", "40 outside history", "2024-03-04"),
    ),
    "all in the future": Case(
        _jsonl(ts="2035-03-05T09:12:00Z"),
        ("none of its events lies in the feed's `history`", "dated 2035-03-05"),
    ),
    "the unit's field is missing": Case(
        _jsonl(person=None, Person="p1"),
        ("40 missing field", "no `person`; is it `Person`?"),
    ),
    "a field of the wrong type": Case(
        _jsonl(n="1"),
        ("40 wrong type", "`n` is '1', declared as integer"),
    ),
    "seconds for milliseconds": Case(
        _jsonl(ts=1_740_993_120),
        ("none of its events lies in the feed's `history`", "are the times seconds?"),
    ),
    "microseconds for milliseconds": Case(
        _jsonl(ts=1_740_993_120_000_000),
        ("40 bad time", "not micro- or nanoseconds"),
    ),
    "another time zone": Case(
        _jsonl(ts="2025-03-03T23:12:00Z"),
        ("none of its events lies in a window that would be decided", "is that its time zone?"),
    ),
    "CSV without a header": Case(
        _csv(""),
        ("row 1: column 'person' is missing", "the first line names the columns"),
        name="badges.csv",
    ),
    "CSV with other column names": Case(
        _csv("person,place,n,ts"),
        ("column 'room' is missing", "the file has 'place' instead"),
        name="badges.csv",
    ),
    "an empty file": Case("", ("there is no event in it", "0 events read")),
    "only empty lines": Case("\n\n", ("there is no event in it",)),
    "more than half is bad": Case(
        "\n".join(_jsonl().splitlines()[:10]) + "\n" + "nonsense\n" * PEOPLE,
        ("more than half of its events cannot be used", "40 undecodable"),
    ),
    "one of two alarms can use nothing": Case(
        _jsonl(),
        ("alarm 'night' can use none of its events",),
        config={
            "alarms:\n": "alarms:\n  night:\n    sql: SELECT room FROM badges GROUP BY room,"
            " TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 30\n"
            '    active: "Mon-Fri 22:00-24:00"\n    max_fnr: 0.05\n    tolerance: 1\n'
        },
    ),
    "nothing that is asked for": Case(
        _jsonl(),
        ("no alarm asks for any of its events", "40 unasked"),
        config={"FROM badges": "FROM badges WHERE n > 5"},
    ),
}


def _written(
    folder: Path,
    text: str = "",
    name: str = "badges.jsonl",
    config: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Write a configuration and its events; return the command."""
    told = CONFIG
    for before, after in (config or {}).items():
        assert before in told
        told = told.replace(before, after)
    (folder / "alarms.yaml").write_text(told, encoding="utf-8")
    (folder / "rooms.txt").write_text("lab\nhall\n", encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    return "run", str(folder / "alarms.yaml"), "--replay", str(folder / name)


def _noted(result: Result) -> str:
    """Return the one line on what was read; the command ended well."""
    assert result.exit_code == 0, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("note: badges")]
    return line


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_cannot_be_right_spends_nothing(tmp_path: Path, case: Case) -> None:
    """Exit code 2, the reason with counts, an example and a remedy; no ledger, no claim."""
    result = tocsin(*_written(tmp_path, case.text, case.name, case.config), code=2)
    assert result.stdout == ""
    for said in case.said:
        assert said in result.stderr
    assert "hint:" in result.stderr
    assert not (tmp_path / ".tocsin").exists()


@pytest.mark.parametrize("name", ["HALL for hall", "an empty file", "outside the history"])
def test_a_custodian_may_want_it_so(tmp_path: Path, name: str) -> None:
    """With --accept-drops the windows are decided; what was found is said all the same."""
    case = CASES[name]
    result = tocsin(
        *_written(tmp_path, case.text, case.name, case.config), "--accept-drops", code=0
    )
    assert "30 decided now" in result.stdout
    assert "note: badges: " in result.stderr
    assert "0 usable" in result.stderr


def test_a_few_bad_lines_are_one_line_at_the_end(tmp_path: Path) -> None:
    """A good file runs; one line says what was read, with the first of the most frequent fault."""
    text = _jsonl() + "nonsense\n" + json.dumps(_event(99, room="Hall")) + "\nmore\n"
    result = tocsin(*_written(tmp_path, text), "--json")
    line = _noted(result)
    for said in (
        "43 events read, 40 usable; not usable: 2 undecodable (first: badges.jsonl, row 41: 'nons",
        "1 out of domain (first: badges.jsonl, row 42: 'Hall' is not in rooms.txt; did you mean",
        "1 of 2 groups of crowd never seen (lab)",
    ):
        assert said in line
    for private in ("nonsense", "usable", "never seen"):
        assert private not in result.stdout


def test_examples_are_safe_to_show_on_a_terminal(tmp_path: Path) -> None:
    """What a line holds cannot move the cursor, and does not fill the screen."""
    text = _jsonl(room="\x1b[2J" + "x" * 500)
    result = tocsin(*_written(tmp_path, text))
    assert "\x1b" not in result.stderr
    assert "x" * 200 not in result.stderr


def test_the_same_is_found_in_every_format(tmp_path: Path) -> None:
    """Parquet, CSV and JSON lines of the same rows give the same line, but for the place."""
    rows: list[dict[str, Any]] = [
        _event(n, room="HALL" if n % 10 == 0 else "lab") for n in range(PEOPLE)
    ]
    table = pa.Table.from_pylist(rows)
    stamps = pa.array([1_740_993_120_000] * PEOPLE)
    writers: dict[str, Callable[[Path], object]] = {
        "badges.parquet": lambda path: pq.write_table(
            table.set_column(table.schema.get_field_index("ts"), "ts", stamps), path
        ),
        "badges.csv": lambda path: path.write_text(
            "person,room,n,ts\n" + "\n".join(",".join(map(str, row.values())) for row in rows)
        ),
        "badges.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, rows))),
    }
    told = set()
    for at, (name, write) in enumerate(writers.items()):
        folder = tmp_path / str(at)
        folder.mkdir()
        command = _written(folder, name=name)
        write(folder / name)
        line = _noted(tocsin(*command))
        told.add(line.replace(name, "FILE").replace("row 2:", "row 1:"))
    (line,) = told
    assert "40 events read, 36 usable; not usable: 4 out of domain" in line
    assert "'HALL' is not in rooms.txt; did you mean 'hall'?" in line


def test_what_is_told_is_what_the_replay_drops(tmp_path: Path) -> None:
    """The counts are those of the custodian's metrics of the same replay, reason by reason."""
    faulty: list[dict[str, object]] = [
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
    text = _jsonl() + "".join(json.dumps(_event(n, **one)) + "\n" for n, one in enumerate(faulty))
    command = _written(tmp_path, text)
    report = tmp_path / "metrics.txt"
    result = tocsin(*command, "--custodian-report", report)
    lines = report.read_text().splitlines()
    dropped = {
        line.split('reason="')[1].split('"')[0]: int(float(line.rsplit(" ", 1)[1]))
        for line in lines
        if line.startswith("tocsin_events_dropped_total{")
    }
    line = _noted(result)
    for reason, count in dropped.items():
        assert (f"{count} {reason.replace('_', ' ')} (" in line) == (count > 0), (reason, line)
    assert sum(dropped.values()) == 7
    assert "49 events read, 40 usable" in line
    assert "1 outside history" in line
    assert "1 outside windows" in line


def _export(path: Path, values: list[tuple[bytes | None, int, bool]]) -> str:
    """Write an export of one partition: values, append times, and whether the broker gave them."""
    with log_writer(path, ExportInfo("building.badges", 1)) as write:
        write(
            LoggedRecord(0, Record(offset, append_ms, log_append, value, ()))
            for offset, (value, append_ms, log_append) in enumerate(values)
        )
    return str(path)


def test_a_dump_is_counted_as_a_replay_counts_it(tmp_path: Path) -> None:
    """In the metrics' numbers; what could be read has its offset beside it."""
    (command, config, _, _) = _written(tmp_path)
    good_ms = 1_740_993_120_000

    def value(**other: object) -> bytes:
        return json.dumps(_event(1, ts=good_ms, **other)).encode()

    records: list[tuple[bytes | None, int, bool]] = [(value(), good_ms, True)] * 20
    records += [
        (value(), good_ms, False),
        (b"nonsense", good_ms, True),
        (None, good_ms, True),
        (value(room="HALL"), good_ms, True),
        (value(n="x"), good_ms, True),
        (json.dumps(_event(1, ts=good_ms + 10_000_000)).encode(), good_ms, True),
        (value(), good_ms + 9_000_000, True),
    ]
    export = _export(tmp_path / "log.parquet", records)
    report = tmp_path / "metrics.txt"
    result = tocsin(command, config, "--replay", export, "--custodian-report", report)
    line = _noted(result)
    assert "27 events read, 20 usable" in line
    for said in (
        "2 undecodable (no example)",
        "1 create time (no example)",
        "1 out of domain (first: partition 0, offset 23: 'HALL' is not in rooms.txt",
        "1 wrong type (no example)",
        "1 early (first: partition 0, offset 25: ",
        "1 late (first: partition 0, offset 26: ",
    ):
        assert said in line, line
    text = report.read_text()
    for reason, count in (("undecodable", 2), ("late", 1), ("early", 1), ("create_time", 1)):
        name = f'tocsin_events_dropped_total{{feed="badges",reason="{reason}"}}'
        assert f"{name} {count}.0" in text


def test_a_dump_of_nothing_usable_is_refused(tmp_path: Path) -> None:
    """Records that the broker did not date would all be dropped: nothing is spent on them."""
    (command, config, _, _) = _written(tmp_path)
    value = json.dumps(_event(1)).encode()
    export = _export(tmp_path / "log.parquet", [(value, 1_740_993_120_000, False)] * 9)
    result = tocsin(command, config, "--replay", export, code=2)
    assert "9 create time, no example" in result.stderr
    assert "LogAppendTime" in result.stderr
    assert not (tmp_path / ".tocsin").exists()


def test_options_of_replays_are_refused_with_a_worker(tmp_path: Path) -> None:
    """--accept-drops without --replay would promise what no worker does."""
    command = _written(tmp_path)
    result = tocsin(*command[:2], "--accept-drops", code=2)
    assert "needs --replay" in result.stderr
