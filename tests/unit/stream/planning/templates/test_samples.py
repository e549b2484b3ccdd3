"""What samples show: types, forms of times, and which field is likely which."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from stream.model.feeds import FieldType
from stream.planning.templates.samples import looked_at, rows_of_file

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


def test_fields_types_and_roles():
    """Names and numbers of values say which field holds the time, the id, the place, the amount."""
    looked = looked_at([*ROWS, None])
    kinds = {name: seen.kind for name, seen in looked.fields.items()}
    assert kinds == {
        "person": FieldType.STRING,
        "room": FieldType.STRING,
        "ts": FieldType.TIMESTAMP,
        "paid": FieldType.FLOAT,
        "in": FieldType.BOOLEAN,
        "none": None,
    }
    roles = [looked.time, looked.unit, looked.group_by, looked.amount]
    assert roles == ["ts", "person", "room", "paid"]
    assert looked.fields["room"].values == ("hall", "lab")
    assert (looked.rows, looked.unreadable) == (4, 1)


def test_the_same_in_all_formats(tmp_path):
    """JSON lines, CSV and Parquet; cells of CSV are what all of their column can be."""
    rows = [{"id": n, "code": f"0{n}", "ok": n > 1, "x": n / 2} for n in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    lines = [",".join(map(str, row.values())) for row in rows]
    (tmp_path / "a.csv").write_text("\n".join(["id,code,ok,x", *lines, ",,,"]))
    csv, parquet = (looked_at(rows_of_file(tmp_path / f"a.{x}")) for x in ("csv", "parquet"))
    kinds = [[seen.kind for seen in looked.fields.values()] for looked in (csv, parquet)]
    assert kinds[0] == kinds[1] == ["integer", "string", "boolean", "float"]
