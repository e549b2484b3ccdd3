"""``tocsin init`` on samples of other people: what it writes is right for them, or it says why not.

What is written passes ``check`` and ``plan``, and ``inspect`` can use the sample with it.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import tocsin

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

TS: Final = "2025-03-03T09:12:00Z"
_AT: Final = datetime(2025, 3, 3, 9, 12, tzinfo=UTC)
_INIT: Final = ("--template", "office", "--domain-from-sample", "--yes")


def _lines(*rows: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def _each(field: str, *values: Any) -> bytes:
    """Return people who differ in one field."""
    rows = ({"person": f"p{n}", "room": "hall", "ts": TS} for n in range(len(values)))
    return _lines(*(row | {field: value} for row, value in zip(rows, values, strict=True)))


def _parquet(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    people = {"person": ["a", "b"], "room": ["hall", "lab"], "ts": pa.array([_AT, _AT])}
    pq.write_table(pa.table({**people, **columns}), sink)
    return bytes(sink.getvalue())


_GOOD: Final[dict[str, tuple[str, bytes, int]]] = {
    "one row": ("jsonl", _each("person", "p"), 1),
    "milliseconds": ("jsonl", _each("ts", 1_741_000_000_000, 1_741_000_000_001), 2),
    "no offset": ("csv", b"person,room,ts\np,hall,2025-03-03 09:12:00\n", 1),
    "a nested field beside": ("jsonl", _each("meta", {"id": 1, "tags": [1, None]}), 1),
    "ids of all kinds": (
        "jsonl",
        _each("person", "Zoë Quimby", "o'Neil", 'a"b', "日本", "tab\tbed", "${HOME}", "#1", ""),
        8,
    ),
    "whole numbers as ids": ("jsonl", _each("person", 17, -3), 2),
    "rooms of all kinds": (
        "jsonl",
        _each("room", "Room 1", "o'room", 'a"b', "日本", "#1", "- x", "null", "a,b", "${HOME}"),
        9,
    ),
    "numbered rooms": ("jsonl", _each("room", 101, -3), 2),
    "other names": (
        "jsonl",
        _lines(*({"die Person": p, "o'room": "hall", "ts${X}": TS} for p in "abc")),
        3,
    ),
    "names of SQL": ("jsonl", _lines(*({"select": p, "from": "x", "group": TS} for p in "ab")), 2),
    "dotted names": (
        "jsonl",
        _lines(*({"user.id": p, "room.no": "x", "t.s": TS} for p in "ab")),
        2,
    ),
    "a line of another": ("jsonl", _each("person", "p") + b"\xff\xfe\nnull\n[]\n{\n", 1),
    "no JSON number": ("jsonl", _each("person", "p") + b'{"person": "x", "n": NaN}\n', 1),
    "rows too short and too long": (
        "csv",
        f"person,room,ts\na,hall\nb,lab,{TS}\nc,x,{TS},y".encode(),
        1,
    ),
    "a column without a name": ("csv", f",person,room,ts\n1,a,hall,{TS}\n".encode(), 1),
    "a mark of byte order": ("csv", f"\ufeffperson,room,ts\r\na,hall,{TS}\r\n".encode(), 1),
    "parquet": ("parquet", _parquet(), 2),
    "parquet of nanoseconds somewhere": (
        "parquet",
        _parquet(ts=pa.array([_AT, _AT], pa.timestamp("ns", tz="Europe/Athens"))),
        2,
    ),
    "parquet with other types beside": (
        "parquet",
        _parquet(
            room=pa.array(["hall", "lab"]).dictionary_encode(),
            fee=pa.array([1, 2], pa.decimal128(5, 2)),
            raw=pa.array([b"\xff", b""]),
            tags=pa.array([[1], None]),
        ),
        2,
    ),
    "parquet of small numbers": ("parquet", _parquet(person=pa.array([1, 2], pa.int32())), 2),
}

_BAD: Final[dict[str, tuple[str, bytes, str]]] = {
    "US dates": ("csv", b"person,room,ts\np,hall,03/04/2025 9:15 AM\n", "ts (dates with slashes"),
    "days": ("csv", b"person,room,ts\np,hall,2025-03-03\n", "ts (days without a time)"),
    "seconds": ("jsonl", _each("ts", 1_741_000_000, 1_741_000_001), "ts (seconds since 1970)"),
    "seconds and parts": ("jsonl", _each("ts", 1_741_000_000.5), "ts (seconds since 1970, with"),
    "microseconds": ("jsonl", _each("ts", 1_741_000_000_000_001), "ts (microseconds since 1970)"),
    "nanoseconds": ("jsonl", _each("ts", 1_741_000_000_000_000_001), "ts (nanoseconds since 1970)"),
    "parquet of days": (
        "parquet",
        _parquet(ts=pa.array([_AT.date()] * 2)),
        "ts (days without a time)",
    ),
    "nested ids": (
        "jsonl",
        _each("person", {"id": "p"}),
        "person (objects with fields of their own)",
    ),
    "lists of rooms": ("jsonl", _each("room", ["hall"]), "room (lists)"),
    "no Parquet": ("parquet", b"PAR", "not a valid .parquet file"),
    "an open quote": ("csv", b'person,room\n"p,hall', "not a valid .csv file"),
    "several types": ("jsonl", _each("person", 1, "p2"), "person (values of several types)"),
    "numbers of no type": (
        "jsonl",
        _each("person", 10**30),
        "person (whole numbers beyond 64 bits)",
    ),
    "ids of bytes": (
        "parquet",
        _parquet(person=pa.array([b"\xff", b"b"])),
        "person (bytes that are no text)",
    ),
    "semicolons": ("csv", f"person;room;ts\np;hall;{TS}\n".encode(), "the header has one column"),
    "tabs": ("csv", f"person\troom\tts\np\thall\t{TS}\n".encode(), "the columns by commas"),
    "a column twice": ("csv", f"person,room,ts,room\np,hall,{TS},x\n".encode(), "occurs twice"),
    "nul": ("csv", f"person,room,ts\np\0,hall,{TS}\n".encode(), "not text"),
    "UTF-16": ("csv", f"person,room,ts\np,hall,{TS}\n".encode("utf-16"), "not a valid .csv file"),
    "half a character": ("jsonl", b'{"person": "\\ud800", "room": "\\udfff"}\n', "none of the 1"),
    "a header alone": ("csv", b"person,room,ts\n", "none of the 0 rows"),
    "no rows": ("parquet", _parquet(person=[], room=[], ts=[]), "none of the 0 rows"),
    "JSON over many lines": ("jsonl", json.dumps([{"a": 1}], indent=1).encode(), "a row is one JS"),
    "rooms with spaces": ("jsonl", _each("room", " hall", "lab"), "cannot be a value of room"),
    "a room on two lines": ("jsonl", _each("room", "a\nb", "lab"), "cannot be a value of room"),
    "a room that is too long": (
        "jsonl",
        _each("room", "x" * 2_000, "lab"),
        "longer than 1,024 bytes",
    ),
    "a name with quotes": (
        "jsonl",
        _lines(*({'per"son': p, "room": "x", "ts": TS} for p in "ab")),
        "the name of a JSON field cannot have quotes",
    ),
}


def _drafted(folder: Path, suffix: str, content: bytes) -> tuple[Path, Result]:
    """Write a sample and let ``init`` look at it."""
    sample = folder / f"sample.{suffix}"
    sample.write_bytes(content)
    return sample, tocsin("init", folder / "made", "--sample", sample, *_INIT)


@pytest.mark.parametrize(("suffix", "content", "usable"), _GOOD.values(), ids=_GOOD)
def test_what_is_written_is_right_for_the_sample(
    suffix: str, content: bytes, usable: int, tmp_path: Path
) -> None:
    """It passes check and plan, and every row that a feed can have is usable."""
    sample, made = _drafted(tmp_path, suffix, content)
    assert made.exit_code == 0, made.stderr
    file = tmp_path / "made" / "alarms.yaml"
    assert tocsin("check", file, code=0).stdout == "ok\n"
    tocsin("plan", file, code=0)
    counted = tocsin("inspect", file, "--replay", sample, code=0)
    assert re.search(rf"\b{usable} usable", counted.stderr), counted.stderr


@pytest.mark.parametrize(("suffix", "content", "said"), _BAD.values(), ids=_BAD)
def test_what_is_missing_is_said(suffix: str, content: bytes, said: str, tmp_path: Path) -> None:
    """One sentence and a remedy, no traceback, and nothing is written."""
    _, made = _drafted(tmp_path, suffix, content)
    assert made.exit_code == 2, made.output
    assert said in made.stderr
    assert "hint:" in made.stderr
    assert "Traceback" not in made.output
    assert not (tmp_path / "made").exists()


def test_of_a_million_rows_the_first_are_looked_at(tmp_path: Path) -> None:
    """However long the file is, no more is held than is looked at."""
    content = b"person,room,ts\n" + f"p,hall,{TS}\n".encode() * 1_000_000
    _, made = _drafted(tmp_path, "csv", content)
    assert made.exit_code == 0, made.stderr
    assert "reads up to 10,000 rows" in made.stderr
