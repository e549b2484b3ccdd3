"""Recorded events in files, for the embedded shell: Parquet, CSV and JSON lines.

A file whose columns are not what the feed declares is refused, naming file, column and row. A
*row* that is not is dropped alone and counted, by the rules of the codecs: Parquet as Arrow
messages, JSON lines as JSON messages, and a line of CSV, too, is judged without a look at its
neighbours (so a quoted value cannot span lines). All rows are held in memory, as columns, to order
them by event time.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from accountant.errors import DataError
from stream.events.arrow_events import ArrowParser, UnsuitableColumnError
from stream.events.codings import UnsuitableMessageError
from stream.events.columns import GOOD, Drop, Parsed, arrow_type, declared_schema, examine, verdict
from stream.events.decoder import Batcher
from stream.events.formats import SUFFIXES
from stream.events.json_events import JsonParser, epoch_ms, fits
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stream.events.decoder import Batch
    from stream.model.feeds import Feed

__all__ = ["BATCH_ROWS", "EventFiles", "Stretch", "json_object", "misfit", "read_stretches"]

BATCH_ROWS = 65_536
"""Rows of a batch, unless the caller says otherwise."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_INT64 = range(-(2**63), 2**63)
_SUITABLE = {
    FieldType.STRING: "text",
    FieldType.INTEGER: "whole numbers",
    FieldType.FLOAT: "numbers",
    FieldType.BOOLEAN: "booleans",
    FieldType.TIMESTAMP: "timestamps, or whole milliseconds since 1970",
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some rows of a file, judged by what all formats share.

    Args:
        parsed: the rows.
        row: shape (rows,), int64: their numbers in the file, from 1; a header is row 1.
        values: gives what the file says in the row at a place here, by field as it stands there, or
            its text where it cannot be read as a row; private.
    """

    parsed: Parsed
    row: NDArray[np.int64]
    values: Callable[[int], Mapping[str, object] | str]


class EventFiles:
    """The events of some files, in event-time order (of equal times, in the order of the files).

    Args:
        feed: what the events are declared to be; its codec plays no part.
        paths: files, told apart by their suffix (``SUFFIXES``).

    Raises:
        DataError: if a file cannot be read, or its columns are not what the feed declares.
    """

    def __init__(self, feed: Feed, paths: Sequence[Path]) -> None:
        self._feed = feed
        self._schema = declared_schema(feed)
        drops: dict[str, int] = {}
        tables = [pa.Table.from_batches([], self._schema)]
        for path in paths:
            for stretch in read_stretches(path, feed):
                parsed = stretch.parsed
                parsed.count_drops(drops)
                rows = pa.RecordBatch.from_arrays(list(parsed.columns), schema=self._schema)
                tables.append(
                    pa.Table.from_batches([rows.filter(pa.array(parsed.verdicts == GOOD))])
                )
        table = pa.concat_tables(tables)
        times = table.column(feed.time).to_numpy()
        if (np.diff(times) < 0).any():
            table = table.take(np.argsort(times, kind="stable"))
        self._table = table
        self._drops = drops

    def __len__(self) -> int:
        """Number of good rows."""
        return int(self._table.num_rows)

    @property
    def drops(self) -> Mapping[str, int]:
        """How many rows were dropped, by reason; for the custodian."""
        return dict(self._drops)

    def record_batches(self, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Iterate over the declared fields (timestamps are int64 ms), in event-time order."""
        for first in range(0, len(self), batch_rows):
            part = self._table.slice(first, batch_rows).combine_chunks()
            yield part.to_batches()[0]

    def batches(self, *, hash_key: bytes, batch_rows: int = BATCH_ROWS) -> Iterator[Batch]:
        """Iterate over the rows in event-time order, as if read from a log of one partition.

        A row's offset is its number in event-time order; its append time is its event time.

        Args:
            hash_key: 16 to 64 secret bytes, as for ``stream.events.decoder.Decoder``.
            batch_rows: rows per batch.
        """
        batcher = Batcher(self._feed, partitions=1, hash_key=hash_key)
        offset = 0
        for rows in self.record_batches(batch_rows=batch_rows):
            numbers = np.arange(offset, offset + rows.num_rows, dtype=np.int64)
            offset += rows.num_rows
            times = rows.column(self._feed.time).to_numpy()
            batch, _ = batcher.admit(rows.columns, offset=numbers, append_ms=times)
            yield batch


def read_stretches(path: Path, feed: Feed) -> Iterator[Stretch]:
    """Read a file of events, at most ``BATCH_ROWS`` rows at a time, in the order of the file.

    Of a stretch of text, the rows that cannot be read come behind those that can.

    Raises:
        DataError: it cannot be read, or its columns are not what the feed declares.
    """
    each: tuple[Callable[[Path, Feed], Iterator[Stretch]], ...] = (
        _read_parquet,
        _read_csv,
        _read_json_lines,
    )
    readers = dict(zip(SUFFIXES, each, strict=True))
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"{path}: unknown suffix",
            hint=f"use a file with one of {', '.join(SUFFIXES)}",
        )
    try:
        for stretch in reader(path, feed):
            examine(stretch.parsed, feed)
            yield stretch
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or 'not a file of its format'})",
            hint="check the path and its permissions",
        ) from error


def json_object(line: bytes) -> Mapping[str, object] | str:
    """Return what a JSON object holds, the text itself where it is none."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        found = None
    return found if isinstance(found, dict) else line.decode(errors="backslashreplace")


def misfit(value: object, kind: FieldType, *, text: bool) -> bool:
    """Tell whether a value of a row is not of a declared type.

    Args:
        value: as ``Stretch.values`` has it; ``None`` is of every type.
        kind: the type.
        text: it is a cell of CSV, which is read as the type, and no value of JSON.
    """
    try:
        if text and isinstance(value, str):
            _READERS[kind](value)
        else:
            fits(value, kind)
    except ValueError:
        return True
    return False


def _read_parquet(path: Path, feed: Feed) -> Iterator[Stretch]:
    parser = ArrowParser(feed)
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_columns(path, names, feed)
            columns = [name for name in names if name in feed.fields]
            read = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns):
                numbers = np.arange(read + 1, read + 1 + batch.num_rows, dtype=np.int64)
                read += batch.num_rows
                yield Stretch(parser.parse_batch(batch), numbers, partial(_row_of, batch))
    except UnsuitableColumnError as error:  # its cause may quote the file: not passed on
        wanted = _SUITABLE[feed.fields[error.column].type]
        raise DataError(
            f"{path}: column {error.column!r} has type {error.found}",
            hint=f"feed {feed.name!r} needs {wanted}: convert the column, or declare its type",
        ) from None
    except (pa.ArrowException, UnsuitableMessageError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's, not Parquet's
        raise DataError(
            f"{path}: not a valid Parquet file", hint="write it again, or use another file"
        ) from None


def _row_of(batch: pa.RecordBatch, at: int) -> Mapping[str, object]:
    """Return one row of a batch, as it is."""
    row: Mapping[str, object] = batch.slice(at, 1).to_pylist()[0]
    return row


def _read_json_lines(path: Path, feed: Feed) -> Iterator[Stretch]:
    parser = JsonParser(feed)
    with path.open("rb") as file:
        for numbers, lines in _stretches(file, first=1):
            parsed, bad = parser.parse(lines)
            yield from _judged(parsed, bad, numbers, feed, partial(_object_at, lines))


def _object_at(lines: Sequence[bytes], at: int) -> Mapping[str, object] | str:
    return json_object(lines[at])


def _read_csv(path: Path, feed: Feed) -> Iterator[Stretch]:
    with path.open("rb") as file:
        header = _cells(file.readline().removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n"))
        if not header:
            raise DataError(f"{path}, row 1: no header", hint="the first line names the columns")
        _check_columns(path, header, feed)
        places = [header.index(name) for name in feed.fields]
        readers = [_READERS[field.type] for field in feed.fields.values()]
        for numbers, lines in _stretches(file, first=2):
            bad: dict[int, Drop] = {}
            rows: list[list[Any]] = []
            for number, line in enumerate(lines):
                cells = _cells(line)
                if cells is None or len(cells) != len(header):
                    bad[number] = Drop.UNDECODABLE
                    continue
                try:
                    rows.append(
                        [
                            read(cells[at]) if cells[at] else None
                            for at, read in zip(places, readers, strict=True)
                        ]
                    )
                except ValueError:
                    bad[number] = Drop.WRONG_TYPE
            columns = zip(*rows, strict=True) if rows else ((),) * len(places)
            parsed = Parsed(
                tuple(
                    pa.array(column, arrow_type(field.type))
                    for column, field in zip(columns, feed.fields.values(), strict=True)
                ),
                np.full(len(rows), GOOD, dtype=np.uint8),
            )
            yield from _judged(parsed, bad, numbers, feed, partial(_cells_at, header, lines))


def _cells_at(header: Sequence[str], lines: Sequence[bytes], at: int) -> Mapping[str, object] | str:
    """Return the cells of a line by column, the line itself where they do not fit the header."""
    cells = _cells(lines[at])
    if cells is None or len(cells) != len(header):
        return lines[at].decode(errors="backslashreplace")
    return {name: cell or None for name, cell in zip(header, cells, strict=True)}


def _check_columns(path: Path, names: Sequence[str], feed: Feed) -> None:
    for name in feed.fields:
        found = names.count(name)
        if found != 1:
            hint = f"feed {feed.name!r} declares {', '.join(feed.fields)}"
            others = [other for other in names if other not in feed.fields]
            if not found and len(others) == len(names):
                hint += "; the first line names the columns"
            elif not found and others:
                hint += f"; the file has {', '.join(map(repr, others))} instead"
            raise DataError(
                f"{path}, row 1: column {name!r} {'occurs twice' if found else 'is missing'}",
                hint=hint,
            )


def _stretches(file: Iterable[bytes], *, first: int) -> Iterator[tuple[list[int], list[bytes]]]:
    """Cut a file into lists of lines and of their numbers; empty lines are no rows."""
    numbers: list[int] = []
    lines: list[bytes] = []
    for number, line in enumerate(file, first):
        if row := line.rstrip(b"\r\n"):
            numbers.append(number)
            lines.append(row)
        if len(lines) == BATCH_ROWS:
            yield numbers, lines
            numbers, lines = [], []
    if lines:
        yield numbers, lines


def _judged(
    parsed: Parsed,
    bad: Mapping[int, Drop],
    numbers: Sequence[int],
    feed: Feed,
    values: Callable[[int], Mapping[str, object] | str],
) -> Iterator[Stretch]:
    """Yield the rows of some lines that could be read, then those that could not."""
    row = np.array(numbers, np.int64)
    if not bad:
        yield Stretch(parsed, row, values)
        return
    unread = np.array(list(bad), np.intp)
    read = np.delete(np.arange(len(row)), unread)
    yield Stretch(parsed, row[read], lambda at: values(int(read[at])))
    yield Stretch(_bad_rows(bad.values(), feed), row[unread], lambda at: values(int(unread[at])))


def _bad_rows(reasons: Iterable[Drop], feed: Feed) -> Parsed:
    """Return rows of nothing but a reason."""
    verdicts = np.array([verdict(reason) for reason in reasons], dtype=np.uint8)
    columns = (pa.nulls(len(verdicts), arrow_type(field.type)) for field in feed.fields.values())
    return Parsed(tuple(columns), verdicts)


def _cells(line: bytes) -> list[str] | None:
    """Return the cells of a line of CSV, ``None`` where it is not one by itself."""
    try:
        text = line.decode()
        if '"' not in text:
            return text.split(",") if text else []
        return next(csv.reader((text,), strict=True))
    except (UnicodeDecodeError, csv.Error):
        return None


def _whole(text: str) -> int:
    value = int(text) if _WHOLE.fullmatch(text) else None
    if value is None or value not in _INT64:
        raise ValueError("not a whole number of 64 bits")
    return value


def _real(text: str) -> float:
    if _REAL.fullmatch(text):
        return float(text)
    if _NOT_FINITE.fullmatch(text):
        return math.nan  # dropped as not finite, like a NaN in any other format
    raise ValueError("not a number")


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError("not a boolean")
    return value


def _timestamp(text: str) -> int | None:
    if _WHOLE.fullmatch(text):
        return _whole(text)
    return epoch_ms(msgspec.convert(text, datetime))  # a ValidationError is a ValueError


_READERS: dict[FieldType, Any] = {
    FieldType.STRING: str,
    FieldType.INTEGER: _whole,
    FieldType.FLOAT: _real,
    FieldType.BOOLEAN: _boolean,
    FieldType.TIMESTAMP: _timestamp,
}
