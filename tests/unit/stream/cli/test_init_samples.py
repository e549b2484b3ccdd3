"""``tocsin init`` on samples of other people: what it writes is right for them, or it says why not.

What is written passes ``check`` and ``plan``, and ``inspect`` can use the sample with it.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import tocsin

TS = "2025-03-03T09:12:00Z"
_AT = datetime(2025, 3, 3, 9, 12, tzinfo=UTC)


def _lines(*rows):
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _each(field, *values):
    """Return people who differ in one field."""
    rows = ({"person": f"p{n}", "room": "hall", "ts": TS} for n in range(len(values)))
    return _lines(*(row | {field: value} for row, value in zip(rows, values, strict=True)))


def _named(person, room, ts):
    """Return two events under other names of fields, and the options that say so."""
    words = ("--unit", person, "--group-by", room, "--time", ts)
    return _lines(*({person: each, room: "hall", ts: TS} for each in "ab")), words


def _parquet(**columns):
    sink = pa.BufferOutputStream()
    people = {"person": ["a", "b"], "room": ["hall", "lab"], "ts": pa.array([_AT, _AT])}
    pq.write_table(pa.table({**people, **columns}), sink)
    return bytes(sink.getvalue())


_GOOD_JSONL = {
    "one row": (_each("person", "p"), 1),
    "milliseconds": (_each("ts", 1_741_000_000_000, 1_741_000_000_001), 2),
    "a nested field beside": (_each("meta", {"id": 1, "tags": [1, None]}), 1),
    "ids of all kinds": (
        _each("person", "Zoë Quimby", "o'Neil", 'a"b', "日本", "tab\tbed", "${HOME}", "#1", ""),
        8,
    ),
    "whole numbers as ids": (_each("person", 17, -3), 2),
    "rooms of all kinds": (
        _each("room", "Room 1", "o'room", 'a"b', "日本", "#1", "- x", "null", "a,b", "${HOME}"),
        9,
    ),
    "numbered rooms": (_each("room", 101, -3), 2),
    "other names": (*_named("die Person", "o'room", "ts${X}"), 2),
    "names of SQL": (*_named("select", "order", "group"), 2),
    "names of YAML": (*_named("no", "a: b", "#x"), 2),
    "names of templates": (*_named("${HOME}", "{x}", "é"), 2),
    "dotted names": (*_named("user.id", "1", "t.s"), 2),
    "a line of another": (_each("person", "p").encode() + b"\xff\xfe\nnull\n[]\n{\n", 1),
    "no JSON number": (_each("person", "p") + '{"person": "x", "n": NaN}\n', 1),
}
_GOOD_CSV = {
    "no offset": ("person,room,ts\np,hall,2025-03-03 09:12:00\n", 1),
    "rows too short and too long": (f"person,room,ts\na,hall\nb,lab,{TS}\nc,x,{TS},y", 1),
    "a column without a name": (f",person,room,ts\n1,a,hall,{TS}\n", 1),
    "a mark of byte order": (f"\ufeffperson,room,ts\r\na,hall,{TS}\r\n", 1),
}
_GOOD_PARQUET = {
    "parquet": (_parquet(), 2),
    "parquet of nanoseconds somewhere": (
        _parquet(ts=pa.array([_AT, _AT], pa.timestamp("ns", tz="Europe/Athens"))),
        2,
    ),
    "parquet with other types beside": (
        _parquet(
            room=pa.array(["hall", "lab"]).dictionary_encode(),
            fee=pa.array([1, 2], pa.decimal128(5, 2)),
            raw=pa.array([b"\xff", b""]),
            tags=pa.array([[1], None]),
        ),
        2,
    ),
    "parquet of small numbers": (_parquet(person=pa.array([1, 2], pa.int32())), 2),
}

_BAD_JSONL = {
    "seconds": (_each("ts", 1_741_000_000, 1_741_000_001), "'ts' holds integer"),
    "seconds and parts": (_each("ts", 1_741_000_000.5), "'ts' holds float"),
    "nanoseconds": (_each("ts", 1_741_000_000_000_000_001), "'ts' holds integer"),
    "nested ids": (_each("person", {"id": "p"}), "'person' holds no type that a field has"),
    "lists of rooms": (_each("room", ["hall"]), "'room' holds no type"),
    "several types": (_each("person", 1, "p2"), "'person' holds no type"),
    "half a character": ('{"person": "\\ud800", "room": "\\udfff"}\n', "no row of the sample"),
    "JSON over many lines": (json.dumps([{"a": 1}], indent=1), "a row is one JS"),
    "rooms with spaces": (_each("room", " hall", "lab"), "cannot be a value of room"),
    "a room on two lines": (_each("room", "a\nb", "lab"), "cannot be a value of room"),
    "a room on two pages": (_each("room", "a\x85b", "lab"), "cannot be a value of room"),
    "a room that is too long": (_each("room", "x" * 2_000, "lab"), "longer than 1,024 bytes"),
    "a name with quotes": (
        *_named('per"son', "room", "ts"),
        "use no quotes, backslashes",
    ),
    "a name with a backslash": (
        *_named("person", "ro\\om", "ts"),
        "use no quotes, backslashes",
    ),
}
_BAD_CSV = {
    "US dates": ("person,room,ts\np,hall,03/04/2025 9:15 AM\n", "'ts' holds string"),
    "days": ("person,room,ts\np,hall,2025-03-03\n", "'ts' holds no type"),
    "an open quote": ('person,room\n"p,hall', "no row of the sample"),
    "semicolons": (f"person;room;ts\np;hall;{TS}\n", "it has person;room;ts (string)"),
    "UTF-16": (f"person,room,ts\np,hall,{TS}\n".encode("utf-16"), "not a valid .csv file"),
    "nothing": ("", "not a valid .csv file"),
    "a header alone": ("person,room,ts\n", "no row of the sample"),
}
_BAD_PARQUET = {
    "parquet of days": (_parquet(ts=pa.array([_AT.date()] * 2)), "'ts' holds no type"),
    "no Parquet": ("PAR", "not a valid .parquet file"),
    "ids of bytes": (
        _parquet(person=pa.array([b"\xff", b"b"])),
        "'person' holds no type",
    ),
    "no rows": (_parquet(person=[], room=[], ts=[]), "no row of the sample"),
}


def _cases(jsonl, csv, parquet):
    """Return every case with its suffix."""
    kinds = {"jsonl": jsonl, "csv": csv, "parquet": parquet}
    return [
        pytest.param(suffix, case[0], (*case[1:-1], ())[0], case[-1], id=name)
        for suffix, cases in kinds.items()
        for name, case in cases.items()
    ]


def _drafted(folder, suffix, content, named=()):
    """Write a sample and let ``init`` read it."""
    sample = folder / f"sample.{suffix}"
    sample.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ("--template", "office", "--domain-from-sample", "--yes")
    return sample, tocsin("init", folder / "made", "--sample", sample, *words, *named)


@pytest.mark.parametrize(
    ("suffix", "content", "named", "usable"), _cases(_GOOD_JSONL, _GOOD_CSV, _GOOD_PARQUET)
)
def test_what_is_written_is_right_for_the_sample(suffix, content, named, usable, tmp_path):
    """It passes check and plan, and every row that a feed can have is usable."""
    sample, made = _drafted(tmp_path, suffix, content, named)
    assert made.exit_code == 0, made.stderr
    file = tmp_path / "made" / "alarms.yaml"
    assert tocsin("check", file, code=0).stdout == "ok\n"
    tocsin("plan", file, code=0)
    counted = tocsin("inspect", file, "--replay", sample, code=0)
    assert re.search(rf"\b{usable} usable", counted.stderr), counted.stderr


@pytest.mark.parametrize(
    ("suffix", "content", "named", "said"), _cases(_BAD_JSONL, _BAD_CSV, _BAD_PARQUET)
)
def test_what_is_missing_is_said(suffix, content, named, said, tmp_path):
    """One sentence and a remedy, no traceback, and nothing is written."""
    _, made = _drafted(tmp_path, suffix, content, named)
    assert made.exit_code == 2, made.output
    assert said in made.stderr
    assert "hint:" in made.stderr
    assert "Traceback" not in made.output
    assert not (tmp_path / "made").exists()


def test_of_many_rows_all_show_the_values(tmp_path):
    """However long the file is."""
    rows = "person,room,ts\n" + f"p,hall,{TS}\n" * 20_000 + f"p,attic,{TS}\n"
    _, made = _drafted(tmp_path, "csv", rows)
    assert "reads all rows" in made.stderr
    assert (tmp_path / "made" / "rooms.txt").read_text() == "attic\nhall\n"
