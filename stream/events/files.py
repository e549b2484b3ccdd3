"""Recorded events in files, for the embedded shell: Parquet, CSV and JSON lines.

A file whose columns are not what the feed declares is refused, naming file, column and row. A
*row* that is not is dropped alone and counted, by the rules of the codecs: Parquet as Arrow
messages, JSON lines as JSON messages, and a line of CSV, too, is judged without a look at its
neighbours (so a quoted value cannot span lines). All rows are held in memory, as columns, to order
them by event time.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from accountant.errors import DataError
from stream.events.arrow_events import ArrowParser, UnsuitableColumnError
from stream.events.codings import one_each
from stream.events.columns import declared_schema, examine
from stream.events.decoder import Batcher
from stream.events.formats import SUFFIXES
from stream.events.json_events import JsonParser
from stream.events.values import convert
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stream.events.columns import Parsed
    from stream.events.decoder import Batch
    from stream.model.feeds import Feed

__all__ = ["BATCH_ROWS", "EventFiles", "Stretch", "misfit", "read_stretches"]

BATCH_ROWS = 65_536
"""Rows of a batch."""

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
        self.drops: dict[str, int] = {}
        """How many rows were dropped, by reason; for the custodian."""
        tables = [pa.Table.from_batches([], self._schema)]
        for path in paths:
            for stretch in read_stretches(path, feed):
                stretch.parsed.count_drops(self.drops)
                columns = list(stretch.parsed.good().columns)
                tables.append(pa.table(columns, schema=self._schema))
        table = pa.concat_tables(tables)
        times = table.column(feed.time).to_numpy()
        if (np.diff(times) < 0).any():
            order = np.argsort(times, kind="stable")
            table, times = table.take(order), times[order]
        self._table, self._times = table, times

    def __len__(self) -> int:
        """Number of good rows."""
        return int(self._table.num_rows)

    def between(self, start_ms: int, end_ms: int) -> pa.RecordBatch:
        """Return the declared fields of the rows in ``[start_ms, end_ms)``, by event time.

        Timestamps are int64 ms.
        """
        first, last = self._times.searchsorted((start_ms, end_ms)).tolist()
        return self._rows(first, max(last - first, 0))

    def batches(self, *, hash_key: bytes) -> Iterator[Batch]:
        """Iterate over the rows in event-time order, as if read from a log of one partition.

        A row's offset is its number in event-time order; its append time is its event time.

        Args:
            hash_key: 16 to 64 secret bytes, as for ``stream.events.decoder.Decoder``.
        """
        batcher = Batcher(self._feed, partitions=1, hash_key=hash_key)
        for first in range(0, len(self), BATCH_ROWS):
            times = self._times[first : first + BATCH_ROWS]
            numbers = np.arange(first, first + len(times), dtype=np.int64)
            rows = self._rows(first, BATCH_ROWS)
            batch, _ = batcher.admit(rows.columns, offset=numbers, append_ms=times)
            yield batch

    def _rows(self, first: int, most: int) -> pa.RecordBatch:
        columns = self._table.slice(first, most).columns
        arrays = [column.combine_chunks() for column in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def read_stretches(path: Path, feed: Feed) -> Iterator[Stretch]:
    """Read a file of events, at most ``BATCH_ROWS`` rows at a time, in the order of the file.

    Raises:
        DataError: it cannot be read, or its columns are not what the feed declares.
    """
    reader = _READERS.get(path.suffix.lower())
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


def misfit(value: object, kind: FieldType, *, text: bool) -> bool:
    """Tell whether a value of a row is not of a declared type.

    Args:
        value: as ``Stretch.values`` has it.
        kind: the type.
        text: it is a cell of CSV, which is read as the type, and no value of JSON.
    """
    try:
        convert(value, kind, text=text)
    except msgspec.ValidationError:
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
    except (pa.ArrowException, OSError) as error:
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
    with path.open("rb") as file:
        yield from _stretches(file, 1, JsonParser(feed).parse, _object)


def _object(line: bytes) -> Mapping[str, object] | str:
    """Return what a JSON object holds, the text itself where it is none."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        found = None
    return found if isinstance(found, dict) else line.decode(errors="backslashreplace")


def _read_csv(path: Path, feed: Feed) -> Iterator[Stretch]:
    with path.open("rb") as file:
        header = _cells(file.readline().removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n"))
        if not header:
            raise DataError(f"{path}, row 1: no header", hint="the first line names the columns")
        _check_columns(path, header, feed)
        kinds = [(name, field.type) for name, field in feed.fields.items()]

        def decode(line: bytes) -> list[Any]:
            row = values(line)
            if isinstance(row, str):
                raise csv.Error
            return [convert(row[name], kind, text=True) for name, kind in kinds]

        def values(line: bytes) -> Mapping[str, object] | str:
            """Return the cells of a line, the line itself where they do not fit the header."""
            cells = _cells(line)
            if len(cells) != len(header):
                return line.decode(errors="backslashreplace")
            return {name: cell or None for name, cell in zip(header, cells, strict=True)}

        columns = [(itemgetter(at), kind) for at, (_, kind) in enumerate(kinds)]
        parse = partial(one_each, decode=decode, columns=columns, nothing=[None] * len(columns))
        yield from _stretches(file, 2, parse, values)


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


def _stretches(
    file: Iterable[bytes],
    first: int,
    parse: Callable[[Sequence[bytes]], Iterator[Parsed]],
    values: Callable[[bytes], Mapping[str, object] | str],
) -> Iterator[Stretch]:
    """Yield the rows of a file of lines; empty lines are no rows.

    Args:
        file: its lines.
        first: number of the first of them.
        parse: yields the rows of some lines.
        values: returns what a line says.
    """
    numbered = ((number, line.rstrip(b"\r\n")) for number, line in enumerate(file, first))
    rows = ((number, line) for number, line in numbered if line)
    while some := list(islice(rows, BATCH_ROWS)):
        for parsed in parse([line for _, line in some]):
            yield _stretch(parsed, [some[at] for at in parsed.message.tolist()], values)


def _stretch(
    parsed: Parsed,
    rows: Sequence[tuple[int, bytes]],
    values: Callable[[bytes], Mapping[str, object] | str],
) -> Stretch:
    """Return rows with the numbers of their lines, and what these say."""
    numbers = np.array([number for number, _ in rows], np.int64)
    return Stretch(parsed, numbers, lambda at: values(rows[at][1]))


def _cells(line: bytes) -> list[str]:
    """Return the cells of a line of CSV, none where it is not one by itself."""
    try:
        text = line.decode()
        if '"' not in text:
            return text.split(",") if text else []
        return next(csv.reader((text,), strict=True))
    except (UnicodeDecodeError, csv.Error):
        return []


_READERS: Final = dict(zip(SUFFIXES, (_read_parquet, _read_csv, _read_json_lines), strict=True))
