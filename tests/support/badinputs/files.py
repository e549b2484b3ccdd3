"""Files that cannot be read at all: configurations, what stands beside them, and events."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.badinputs.shapes import GOOD, Call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["FILES"]

_HEAD = "person,room,floor,open,age,load,ts\n"
_ROW = "p,lab,1,true,3,1.5,2025-03-03T09:00:00Z\n"
_LINE = b'{"person":"p","room":"lab","floor":1,"open":true,"age":3,"load":1.5,"ts":0}\n'
_ROWS: dict[str, Any] = {
    "person": ["p"] * 9,
    "room": ["lab"] * 9,
    "floor": [1] * 9,
    "open": [True] * 9,
    "age": [30] * 9,
    "load": [1.5] * 9,
    "ts": pa.array([0] * 9, pa.timestamp("ms", tz="UTC")),
}


def _zip() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("badges.jsonl", _LINE)
    return held.getvalue()


def _holding(name: str, data: bytes | str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(
        data if isinstance(data, bytes) else data.encode()
    )


def _parquet(damage: slice | None = None, **columns: Any) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        path = folder / "x.parquet"
        pq.write_table(pa.table({**_ROWS, **columns}), path)
        if damage is not None:
            held = bytearray(path.read_bytes())
            held[damage] = b"\xff" * len(held[damage])
            path.write_bytes(bytes(held))

    return write


def _replaced(name: str, by: Callable[[Path], object]) -> Callable[[Path], object]:
    def replace(folder: Path) -> None:
        (folder / name).unlink()
        by(folder / name)

    return replace


def _own(words: str, phrase: str, data: bytes | str) -> Call:
    return Call(words, phrase, prepare=_holding("alarms.yaml", data))


def _events(name: str, phrase: str, data: bytes | str) -> Call:
    return Call(f"run alarms.yaml --replay {name}", phrase, prepare=_holding(name, data))


def _columns(phrase: str, damage: slice | None = None, **columns: Any) -> Call:
    words = "run alarms.yaml --replay x.parquet"
    return Call(words, phrase, prepare=_parquet(damage, **columns))


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


_KNOWN = "feed 'badges' declares person, room, floor, open, age, load, ts"
_SUFFIXES = "use a file with one of .parquet, .csv, .jsonl"
_NOT_UTF8 = "save it as UTF-8"
_MISSING = "`feeds` is missing"
_MAPPING = "this has to be a mapping"
_A_KIND = "not a regular file"
_EVERY = "check", "plan"
_LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

FILES: tuple[Call, ...] = (
    # the configuration itself
    _own("check alarms.yaml", "alarms.yaml:1:1: the file is not UTF-8 text", GOOD.encode("utf-16")),
    _own("plan alarms.yaml", _NOT_UTF8, GOOD.encode("utf-16")),
    _own("check alarms.yaml", "alarms.yaml:1:6: the file", b"# caf\xe9\n" + GOOD.encode()),
    _own("check alarms.yaml", _NOT_UTF8, b"\x89PNG\r\n\x1a\n\0\0"),
    _own("check alarms.yaml", _NOT_UTF8, gzip.compress(GOOD.encode())),
    _own(
        "check alarms.yaml",
        "alarms.yaml:32:16: `x` is not a number",
        GOOD.replace("tolerance: 9", "tolerance: x").replace("\n", "\r\n"),
    ),
    _own("check alarms.yaml", "alarms.yaml:1:11: this has to be", '{"feeds": []}'),
    _own("check alarms.yaml", "alarms.yaml:2:1: not valid YAML", "[feeds]\na = 1\n"),
    *(
        _own(f"{command} alarms.yaml", phrase, text)
        for command in _EVERY
        for phrase, text in (
            (_MISSING, ""),
            (_MISSING, "# nothing\n"),
            (_MISSING, "{}\n"),
            (_MISSING, "   \n"),
            (_MAPPING, "hello\n"),
            (_MAPPING, "- feeds\n- alarms\n"),
            (_MAPPING, "null\n"),
            (_MAPPING, "42\n"),
            (_MAPPING, "---\n"),
            ("values instead of aliases", _LAUGHS + GOOD),
            ("nested too deeply", "timezone: " + "[" * 500),
            ("nested too deeply", "timezone: " + "{a: " * 1000 + "}" * 1000),
            ("write an IANA name", GOOD.replace("Europe/Berlin", "x" * 5_000)),
        )
    ),
    *(
        _own("check alarms.yaml", "use fewer parentheses", GOOD.replace("COUNT(*) > 30", text))
        for text in ("(" * 2000 + "COUNT(*) > 30" + ")" * 2000, "NOT " * 2000 + "COUNT(*) > 30")
    ),
    _own(
        "check alarms.yaml",
        "split it into several alarms",
        GOOD.replace("COUNT(*) > 30", " AND ".join(["COUNT(*) > 30"] * 90)),
    ),
    Call("check alarms.yaml", "a pipe, not a file", prepare=_replaced("alarms.yaml", os.mkfifo)),
    Call("check alarms.yaml", "check its path", prepare=_replaced("alarms.yaml", _loop)),
    Call("check /dev/zero", "a device, not a file"),
    # beside it
    Call("check alarms.yaml", "a pipe, not a file", prepare=_replaced("rooms.txt", os.mkfifo)),
    Call("check alarms.yaml", "a pipe, not a file", prepare=_replaced("capacity.csv", os.mkfifo)),
    Call("check alarms.yaml", "Is a directory", prepare=_replaced("rooms.txt", os.mkdir)),
    Call("check alarms.yaml", "Is a directory", prepare=_replaced("capacity.csv", os.mkdir)),
    Call("check alarms.yaml", _NOT_UTF8, prepare=_holding("rooms.txt", "lab\n".encode("utf-16"))),
    Call("check alarms.yaml", _NOT_UTF8, prepare=_holding("capacity.csv", b"\x89PNG\xff\0")),
    Call("check alarms.yaml", "room,capacity", prepare=_holding("capacity.csv", "a;b\nlab;4\n")),
    # events
    *(
        Call(f"run alarms.yaml --replay {name}", _A_KIND, prepare=_replaced("badges.jsonl", by))
        for name, by in (("badges.jsonl", os.mkfifo), ("/dev/null", os.mkfifo))
    ),
    Call("run alarms.yaml --replay /dev/zero", _A_KIND),
    Call(
        "run alarms.yaml --replay badges.jsonl",
        "write its files",
        prepare=_replaced("badges.jsonl", os.mkdir),
    ),
    Call(
        "run alarms.yaml --replay badges.jsonl",
        "symbolic links",
        prepare=_replaced("badges.jsonl", _loop),
    ),
    _events("g.jsonl", "unpack it", gzip.compress(_LINE)),
    _events("g.csv", "unpack it", gzip.compress(_LINE)),
    _events("g.parquet", "not a valid Parquet file", gzip.compress(_LINE)),
    _events("g.jsonl.gz", _SUFFIXES, gzip.compress(_LINE)),
    _events("z.csv", "unpack it", _zip()),
    _events("z.jsonl", "unpack it", _zip()),
    _events("z.zip", _SUFFIXES, _zip()),
    _events("u.jsonl", "save it as UTF-8", _LINE.decode().encode("utf-16")),
    _events("u.csv", "save it as UTF-8", (_HEAD + _ROW).encode("utf-16")),
    _events("n.jsonl", "not text", b"\0" * 4000),
    _events("a.jsonl", "jq -c", b"[" + _LINE + b"]"),
    _events("p.jsonl", "jq -c", b'{\n  "person": "p"\n}\n'),
    _events("p.jsonl", "1 undecodable", b"PAR1"),
    *(_events(name, _SUFFIXES, _LINE) for name in ("b.json", "b.ndjson", "b.txt", "b", "b.avro")),
    _events("e.csv", "the first line names the columns", ""),
    _events("h.csv", _KNOWN, _ROW * 9),
    _events("s.csv", _KNOWN, (_HEAD + _ROW).replace(",", ";")),
    _events("t.csv", _KNOWN, (_HEAD + _ROW).replace(",", "\t")),
    _events("q.csv", "the first line names the columns", '"person,room\n' + _ROW),
    _events("l.csv", "the first line names the columns", b"pers\xf6n," + _HEAD.encode()),
    _events("m.csv", "column 'room' is missing", (_HEAD + _ROW).replace("room", "raum")),
    _events("m.csv", "column 'room' occurs twice", _HEAD.replace("floor", "room") + _ROW),
    _events("m.csv", _KNOWN, _HEAD.upper() + _ROW),
    _events("m.csv", _KNOWN, _HEAD.replace(",", ", ") + _ROW),
    _events("m.csv", "the first line names the columns", "\n" + _HEAD + _ROW),
    _events("m.csv", _KNOWN, (_HEAD + _ROW).replace("\n", "\r")),
    _events("m.csv", _KNOWN, "# export\n" + _HEAD + _ROW),
    _events("m.csv", _KNOWN, "<!DOCTYPE html><html></html>"),
    *(
        _events("j.parquet", "not a valid Parquet file", data)
        for data in (b"", b"PAR1junkPAR1", _HEAD + _ROW)
    ),
    _columns("not a valid Parquet file", slice(-60, -8)),
    _columns("not a valid Parquet file", slice(-8, None)),
    _columns("not a valid Parquet file", slice(30, 200)),
    _columns("has type list", person=[["p"]] * 9),
    _columns("has type struct", room=[{"a": "lab"}] * 9),
    _columns("whole milliseconds since 1970", ts=["2025-03-03"] * 9),
    _columns("whole milliseconds since 1970", ts=pa.array([20_000] * 9, pa.date32())),
    _columns("whole milliseconds since 1970", ts=[1.5] * 9),
    _columns("needs booleans", open=[1] * 9),
    _columns("needs whole numbers", age=pa.array([30] * 9, pa.decimal128(5, 0))),
)
"""What was called, on what, and what it is answered."""
