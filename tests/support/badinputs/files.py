"""Files that cannot be read at all: configurations, what stands beside them, and events."""

from __future__ import annotations

import gzip
import io
import os
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.badinputs.shapes import GOOD, holding

_HEAD = "person,room,floor,open,age,load,ts\n"
_ROW = "p,lab,1,true,3,1.5,2025-03-03T09:00:00Z\n"
_LINE = b'{"person":"p","room":"lab","floor":1,"open":true,"age":3,"load":1.5,"ts":0}\n'
_ROWS = {
    "person": ["p"] * 9,
    "room": ["lab"] * 9,
    "floor": [1] * 9,
    "open": [True] * 9,
    "age": [30] * 9,
    "load": [1.5] * 9,
    "ts": pa.array([0] * 9, pa.timestamp("ms", tz="UTC")),
}


def _zip():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("badges.jsonl", _LINE)
    return held.getvalue()


def _parquet(damage=None, **columns):
    def write(folder):
        path = folder / "x.parquet"
        pq.write_table(pa.table({**_ROWS, **columns}), path)
        if damage is not None:
            held = bytearray(path.read_bytes())
            held[damage] = b"\xff" * len(held[damage])
            path.write_bytes(bytes(held))

    return _REPLAY + "x.parquet", write


def _replaced(name, by, words="check alarms.yaml"):
    def replace(folder):
        (folder / name).unlink()
        by(folder / name)

    return words, replace


def _loop(path):
    path.symlink_to(path.name)


_REPLAY, _BADGES = "run alarms.yaml --replay ", "badges.jsonl"
_LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_HAVING = "COUNT(*) > 30"

_OWN = (
    GOOD.encode("utf-16"),
    b"# caf\xe9\n" + GOOD.encode(),
    b"\x89PNG\r\n\x1a\n\0\0",
    gzip.compress(GOOD.encode()),
    GOOD.replace("tolerance: 9", "tolerance: x").replace("\n", "\r\n"),
    '{"feeds": []}',
    "[feeds]\na = 1\n",
    *(
        "",
        "# nothing\n",
        "{}\n",
        "   \n",
        "hello\n",
        "- feeds\n- alarms\n",
        "null\n",
        "42\n",
        "---\n",
    ),
    _LAUGHS + GOOD,
    "timezone: " + "[" * 500,
    "timezone: " + "{a: " * 1000 + "}" * 1000,
    GOOD.replace("Europe/Berlin", "x" * 5_000),
    GOOD.replace(_HAVING, "(" * 2000 + _HAVING + ")" * 2000),
    GOOD.replace(_HAVING, "NOT " * 2000 + _HAVING),
    GOOD.replace(_HAVING, " AND ".join([_HAVING] * 90)),
)
"""The configuration itself."""
_EVENTS = (
    *((f"g.{kind}", gzip.compress(_LINE)) for kind in ("jsonl", "csv", "parquet", "jsonl.gz")),
    *((f"z.{kind}", _zip()) for kind in ("csv", "jsonl", "parquet", "zip")),
    ("u.jsonl", _LINE.decode().encode("utf-16")),
    ("u.csv", (_HEAD + _ROW).encode("utf-16")),
    ("n.jsonl", b"\0" * 4000),
    ("a.jsonl", b"[" + _LINE + b"]"),
    ("p.jsonl", b'{\n  "person": "p"\n}\n'),
    ("p.jsonl", b"PAR1"),
    ("s.jsonl", b"SQLite format 3\0"),
    *((name, _LINE) for name in ("b.json", "b.ndjson", "b.txt", "b", "b.avro")),
    ("e.csv", ""),
    ("e.jsonl", ""),
    ("n.jsonl", "{nonsense\n"),
    ("t.jsonl", '{"person": "a", "room": "lab"}\n'),
    ("h.csv", _ROW * 9),
    ("s.csv", (_HEAD + _ROW).replace(",", ";")),
    ("t.csv", (_HEAD + _ROW).replace(",", "\t")),
    ("q.csv", '"person,room\n' + _ROW),
    ("l.csv", b"pers\xf6n," + _HEAD.encode()),
    ("m.csv", (_HEAD + _ROW).replace("room", "raum")),
    ("m.csv", _HEAD.replace("floor", "room") + _ROW),
    ("m.csv", _HEAD.upper() + _ROW),
    ("m.csv", _HEAD.replace(",", ", ") + _ROW),
    ("m.csv", "\n" + _HEAD + _ROW),
    ("m.csv", (_HEAD + _ROW).replace("\n", "\r")),
    ("m.csv", "# export\n" + _HEAD + _ROW),
    ("m.csv", "<!DOCTYPE html><html></html>"),
    *(("j.parquet", data) for data in (b"", b"PAR1junkPAR1", _HEAD + _ROW)),
)

FILES = (
    *(("check alarms.yaml", holding("alarms.yaml", data)) for data in _OWN),
    ("plan alarms.yaml", holding("alarms.yaml", _OWN[0])),
    _replaced("alarms.yaml", os.mkfifo),
    _replaced("alarms.yaml", _loop),
    ("check /dev/zero", None),
    # beside it
    *(
        _replaced(name, by)
        for name in ("rooms.txt", "capacity.csv")
        for by in (os.mkfifo, os.mkdir)
    ),
    ("check alarms.yaml", holding("rooms.txt", "lab\n".encode("utf-16"))),
    ("check alarms.yaml", holding("capacity.csv", b"\x89PNG\xff\0")),
    ("check alarms.yaml", holding("capacity.csv", "a;b\nlab;4\n")),
    # events
    *(_replaced(_BADGES, by, _REPLAY + _BADGES) for by in (os.mkfifo, os.mkdir, _loop)),
    *((_REPLAY + name, None) for name in ("/dev/null", "/dev/zero", f"{'d' * 300}.jsonl")),
    *((_REPLAY + name, holding(name, data)) for name, data in _EVENTS),
    *(_parquet(slice(*place)) for place in ((-60, -8), (-8, None), (30, 200))),
    _parquet(person=[["p"]] * 9),
    _parquet(room=[{"a": "lab"}] * 9),
    _parquet(ts=["2025-03-03"] * 9),
    _parquet(ts=pa.array([20_000] * 9, pa.date32())),
    _parquet(ts=[1.5] * 9),
    _parquet(open=[1] * 9),
    _parquet(age=pa.array([30] * 9, pa.decimal128(5, 0))),
)
"""What was called, and on what."""
