"""A ledger's rows as Parquet: one file per kind of record, each with a fixed schema.

The columns are declared with the tables (:mod:`accountant.store.tables`). They are those of the
JSON lines, which stay the reference: losses are whole loss units (int64, a trillionth of an epsilon
or, under a Gaussian promise, of a rho), times milliseconds since the Unix epoch (int64), costs and
hashes bytes (base64 in JSON), periods a list of period starts (a JSON array in JSON lines). Raw
counts and the hash key are in neither.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from accountant.errors import ConfigError, LedgerCorruptError
from accountant.store.declaration import Kind
from accountant.store.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Self

__all__ = ["SCHEMAS", "write_parquet"]

_BATCH_ROWS = 32_768
_MARK: Final = {b"tocsin": b"ledger export"}
_LAST = "ledger"
"""This file is put in place last: where it is missing, an export is not complete."""


_TYPES: Final[Mapping[Kind, pa.DataType]] = {
    Kind.TEXT: pa.string(),
    Kind.WHOLE: pa.int64(),
    Kind.SMALL: pa.int32(),
    Kind.TRUTH: pa.bool_(),
    Kind.BYTES: pa.binary(),
    Kind.ENCODED: pa.string(),
    Kind.WHOLES: pa.list_(pa.field("item", pa.int64(), nullable=False)),
}

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    table.name: pa.schema(
        [pa.field(one.name, _TYPES[one.kind], nullable=one.nullable) for one in table.shown],
        metadata=_MARK,
    )
    for table in TABLES
    if table.shown
}
"""Columns of every kind of record, in order."""


def write_parquet(rows: Iterable[Mapping[str, Any]], folder: Path) -> int:
    """Write a ledger's rows to ``KIND.parquet`` files and return how many rows there were.

    Every kind has its file, if empty. Files are written under other names and renamed when all are
    complete, ``ledger.parquet`` last; only their owner may read them.

    Args:
        rows: of :meth:`accountant.ledger.reports.Reports.export`.
        folder: made if it is not there; empty, or one that holds nothing but a former export.

    Raises:
        ConfigError: the folder holds something else, or cannot be written to.
        LedgerCorruptError: a row is not what its table can hold.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in folder.iterdir():
            _refuse_strange(path)
        with _Files(folder) as files:
            count = sum(files.add(row) for row in rows)
            files.finish()
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be written to: {error.strerror or 'the disk may be full'}",
            hint="give a folder that can be written to, with space for the export",
        ) from error
    return count


class _Files:
    """The files of one export while they are written; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._final = {kind: folder / f"{kind}.parquet" for kind in SCHEMAS}
        self._part = {kind: folder / f".{kind}.parquet.part" for kind in SCHEMAS}
        self._waiting: dict[str, list[dict[str, Any]]] = {kind: [] for kind in SCHEMAS}
        self._stack = ExitStack()
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> Self:
        """Open every file under its other name."""
        for path in self._part.values():
            self._stack.callback(path.unlink, missing_ok=True)
        for kind, path in self._part.items():
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            sink = self._stack.enter_context(os.fdopen(descriptor, "wb"))
            self._writers[kind] = pq.ParquetWriter(sink, SCHEMAS[kind])
        return self

    def __exit__(self, *_: object) -> None:
        """Close every file; remove what was not finished."""
        for writer in self._writers.values():
            with contextlib.suppress(OSError):
                writer.close()  # has been, where it matters
        self._stack.close()

    def add(self, row: Mapping[str, Any]) -> int:
        """Take one row, and return 1."""
        kind = row["record"]
        waiting = self._waiting[kind]
        waiting.append(_typed(row, SCHEMAS[kind]))
        if len(waiting) >= _BATCH_ROWS:
            self._write(kind)
        return 1

    def finish(self) -> None:
        """Write what waits, and put every file in its place."""
        for kind, writer in self._writers.items():
            self._write(kind)
            writer.close()
        self._final[_LAST].unlink(missing_ok=True)
        for kind in sorted(SCHEMAS, key=lambda kind: kind == _LAST):
            self._part[kind].replace(self._final[kind])

    def _write(self, kind: str) -> None:
        rows = self._waiting[kind]
        if not rows:
            return
        try:
            batch = pa.Table.from_pylist(rows, schema=SCHEMAS[kind])
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            raise _corrupt(kind) from None
        self._writers[kind].write_table(batch)
        rows.clear()


def _typed(row: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Return a row of JSON lines with the types of its schema.

    Raises:
        ValueError: it has other columns.
        LedgerCorruptError: a value cannot be read.
    """
    values = {name: value for name, value in row.items() if name != "record"}
    if values.keys() != set(schema.names):
        raise ValueError(f"the columns of {row['record']} are not those of its schema")
    try:
        for field in schema:
            values[field.name] = _value(values[field.name], field)
    except (ValueError, TypeError):
        raise _corrupt(row["record"]) from None
    return values


def _value(value: Any, field: pa.Field) -> Any:
    if value is None:
        if not field.nullable:
            raise ValueError("a value is missing")
        return None
    if pa.types.is_binary(field.type):
        return base64.b64decode(value, validate=True)
    return json.loads(value) if pa.types.is_list(field.type) else value


def _corrupt(kind: str) -> LedgerCorruptError:
    return LedgerCorruptError(
        f"a row of {kind} is not what its table can hold", hint="run `tocsin ledger FILE verify`"
    )


def _refuse_strange(path: Path) -> None:
    """Refuse anything but a file of a former export, or what an export that was killed left."""
    parts = {f".{kind}.parquet.part" for kind in SCHEMAS}
    if path.name in parts or (path.suffix == ".parquet" and path.stem in SCHEMAS and _ours(path)):
        return
    raise ConfigError(
        f"{path.parent} holds {path.name!r}, which is not of a former export",
        hint="give an empty folder; nothing was written",
    )


def _ours(path: Path) -> bool:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except pa.ArrowException:
        return False
    return _MARK.items() <= metadata.items()
