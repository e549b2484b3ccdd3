"""What samples show: types, forms of times, and which field is likely which."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accountant.errors import DataError
from stream.model.feeds import FieldType
from stream.planning.templates.samples import looked_at, rows_of_file

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"person": "p1", "room": "hall", "ts": "2025-03-03T09:12:00Z", "paid": 2, "in": True},
    {"person": "p2", "room": "lab", "ts": "2025-03-03T09:13:00Z", "paid": 2.5, "in": None},
    {"person": "p3", "room": "hall", "ts": "2025-03-03T09:14:00Z", "paid": 3, "in": False},
]


def test_fields_types_and_roles() -> None:
    """Names and numbers of values say which field holds the time, the id, the place, the amount."""
    looked = looked_at([*ROWS, None])
    kinds = {name: seen.kind for name, seen in looked.fields.items()}
    assert kinds == {
        "person": FieldType.STRING,
        "room": FieldType.STRING,
        "ts": FieldType.TIMESTAMP,
        "paid": FieldType.FLOAT,
        "in": FieldType.BOOLEAN,
    }
    assert (looked.time, looked.unit, looked.group_by, looked.amount) == (
        "ts",
        "person",
        "room",
        "paid",
    )
    assert looked.fields["room"].values == ("hall", "lab")
    assert (looked.rows, looked.unreadable) == (4, 1)


@pytest.mark.parametrize(
    ("values", "kind", "form"),
    [
        (["2025-03-03T09:12:00", "2025-03-03T09:12:00"], "timestamp", "without an offset"),
        (["2025-03-03T09:12:00+01:00"], "timestamp", "ISO 8601"),
        ([1_741_600_000_000], "timestamp", "milliseconds since 1970"),
        ([datetime(2025, 3, 3, tzinfo=UTC)], "timestamp", ""),
        ([1_741_600_000], "integer", "seconds since 1970"),
        (["03/04/2025"], "string", ""),
        (["2025-03-03"], "string", ""),
        ([1, "1"], None, ""),
        ([None], None, ""),
        ([{"a": 1}], None, ""),
    ],
)
def test_forms_of_values(values: list[Any], kind: str | None, form: str) -> None:
    """What is no time that events are read with is none here, whatever it looks like."""
    seen = looked_at([{"x": value, "y": 1} for value in values]).fields["x"]
    assert seen.kind == kind
    assert form in seen.form


def test_the_same_in_all_formats(tmp_path: Path) -> None:
    """JSON lines, CSV and Parquet; cells of CSV are what all of their column can be."""
    rows = [{"id": n, "code": f"0{n}", "ok": n > 1, "x": n / 2} for n in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    lines = [",".join(map(str, row.values())) for row in rows]
    (tmp_path / "a.csv").write_text("\n".join(["id,code,ok,x", *lines, ",,,"]))
    csv, parquet = (looked_at(rows_of_file(tmp_path / f"a.{x}")) for x in ("csv", "parquet"))
    kinds = [[seen.kind for seen in looked.fields.values()] for looked in (csv, parquet)]
    assert kinds[0] == kinds[1] == ["integer", "string", "boolean", "float"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.parquet", b"PAR"), ("a.csv", b'a,b\n"1,2'), ("a.csv", b"\xff\xfe,"), ("a.jsonl", b"")],
)
def test_a_broken_file_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    """Broken from the first byte on, or empty."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError):
        looked_at(rows_of_file(tmp_path / name))
