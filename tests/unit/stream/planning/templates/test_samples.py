"""What samples show: the types and the values of their fields."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from stream.model.feeds import FieldType
from stream.planning.templates.samples import fields_in
from tests.support.files import write_rows

ROWS = [
    {
        "person": "p1",
        "room": "hall",
        "ts": "2025-03-03T09:12:00Z",
        "paid": 2,
        "in": True,
        "none": None,
    },
    {"person": "p2", "room": "lab", "ts": "2025-03-03T09:13:00Z", "paid": 2.5, "in": None},
    {"person": "p3", "room": "hall", "ts": "2025-03-03T09:14:00Z", "paid": 3, "in": False},
]


def test_types_and_values(tmp_path):
    """Of every field; a row that is no object shows nothing."""
    found = fields_in(write_rows(tmp_path / "a.jsonl", [*ROWS, None]))
    assert {name: seen.kind for name, seen in found.items()} == {
        "person": FieldType.STRING,
        "room": FieldType.STRING,
        "ts": FieldType.TIMESTAMP,
        "paid": FieldType.FLOAT,
        "in": FieldType.BOOLEAN,
        "none": None,
    }
    assert found["room"].values == ("hall", "lab")
    assert found["paid"].values == ()


def test_the_same_in_all_formats(tmp_path):
    """CSV and Parquet; cells of CSV are what all of their column can be."""
    rows = [{"id": n, "code": f"c{n}", "ok": n > 1, "x": n / 2} for n in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    lines = [",".join(map(str, row.values())) for row in rows]
    (tmp_path / "a.csv").write_text("\n".join(["id,code,ok,x", *lines, ",,,"]))
    csv, parquet = (fields_in(tmp_path / f"a.{x}") for x in ("csv", "parquet"))
    kinds = [[seen.kind for seen in found.values()] for found in (csv, parquet)]
    assert kinds[0] == kinds[1] == ["integer", "string", "boolean", "float"]
