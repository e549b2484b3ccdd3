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
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from accountant.errors import DataError
from stream.events.arrow_events import ArrowParser, UnsuitableColumnError, UnsuitableMessageError
from stream.events.columns import GOOD, Drop, Parsed, arrow_type, declared_schema, examine, verdict
from stream.events.decoder import Batcher
from stream.events.formats import SUFFIXES
from stream.events.json_events import JsonParser, epoch_ms
from stream.model.feeds import FieldType, required_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from stream.events.decoder import Batch
    from stream.model.feeds import Feed

__all__ = ["BATCH_ROWS", "EventFiles"]

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
    FieldType.TIMESTAMP: "timestamps, or integers that count milliseconds",
}


class EventFiles:
    """The events of some files, in event-time order (of equal times, in the order of the files).

    Args:
        feed: what the events are declared to be; its codec plays no part.
        paths: files, told apart by their suffix (``SUFFIXES``).

    Raises:
        DataError: if a file cannot be read, or its columns are not what the feed declares.
    """

    def __init__(self, feed: Feed, paths: Sequence[Path]) -> None:
        required_fields(feed)
        self._feed = feed
        self._schema = declared_schema(feed)
        drops: dict[str, int] = {}
        tables = [pa.Table.from_batches([], self._schema)]
        for path in paths:
            for parsed in _read(path, feed):
                examine(parsed, feed)
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

    def batches(
        self, *, hash_key: bytes, partitions: int = 1, batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, Batch]]:
        """Iterate over ``(partition, batch)`` in event-time order, as if read from a log.

        A row's offset is its number in event-time order, over all partitions; its append time is
        its event time. Within a stretch of ``batch_rows`` rows, partitions come one after another,
        and empty ones are left out.

        Args:
            hash_key: 16 to 64 secret bytes, as for ``stream.events.decoder.Decoder``.
            partitions: how many partitions to spread units over.
            batch_rows: rows per stretch.
        """
        batcher = Batcher(self._feed, partitions=partitions, hash_key=hash_key)
        offset = 0
        for rows in self.record_batches(batch_rows=batch_rows):
            numbers = np.arange(offset, offset + rows.num_rows, dtype=np.int64)
            offset += rows.num_rows
            homes = batcher.route(rows.columns) if partitions > 1 else np.zeros_like(numbers)
            for partition in np.unique(homes).tolist():
                mine = homes == partition
                part = rows if mine.all() else rows.filter(pa.array(mine))
                times = part.column(self._feed.time).to_numpy()
                batch, _ = batcher.admit(part.columns, offset=numbers[mine], append_ms=times)
                yield partition, batch


def _read(path: Path, feed: Feed) -> Iterator[Parsed]:
    each: tuple[Callable[[Path, Feed], Iterator[Parsed]], ...] = (
        _read_parquet,
        _read_csv,
        _read_json_lines,
    )
    readers = dict(zip(SUFFIXES, each, strict=True))
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"{path}: the suffix names no format that can be replayed",
            hint=f"write one of {', '.join(SUFFIXES)}",
        )
    try:
        yield from reader(path, feed)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or 'not a file of its format'})",
            hint="check the path and its permissions",
        ) from error


def _read_parquet(path: Path, feed: Feed) -> Iterator[Parsed]:
    parser = ArrowParser(feed)
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_columns(path, names, feed)
            columns = [name for name in names if name in feed.fields]
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns):
                yield parser.parse_batch(batch)
    except UnsuitableColumnError as error:  # its cause may quote the file: not passed on
        wanted = _SUITABLE[feed.fields[error.column].type]
        raise DataError(
            f"{path}: column {error.column!r} has type {error.found}",
            hint=f"feed {feed.name!r} declares it as {wanted}",
        ) from None
    except (pa.ArrowException, UnsuitableMessageError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's, not Parquet's
        raise DataError(
            f"{path}: not a sound Parquet file", hint="write it again, or name another file"
        ) from None


def _read_json_lines(path: Path, feed: Feed) -> Iterator[Parsed]:
    parser = JsonParser(feed)
    with path.open("rb") as file:
        for lines in _stretches(line.rstrip(b"\r\n") for line in file):
            parsed, bad = parser.parse(lines)
            yield parsed
            yield _bad_rows(bad.values(), feed)


def _read_csv(path: Path, feed: Feed) -> Iterator[Parsed]:
    with path.open("rb") as file:
        header = _cells(file.readline().removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n"))
        if not header:
            raise DataError(f"{path}, row 1: no header", hint="the first line names the columns")
        _check_columns(path, header, feed)
        places = [header.index(name) for name in feed.fields]
        readers = [_READERS[field.type] for field in feed.fields.values()]
        for lines in _stretches(line.rstrip(b"\r\n") for line in file):
            bad: list[Drop] = []
            rows: list[list[Any]] = []
            for line in lines:
                cells = _cells(line)
                if cells is None or len(cells) != len(header):
                    bad.append(Drop.UNDECODABLE)
                    continue
                try:
                    rows.append(
                        [
                            read(cells[at]) if cells[at] else None
                            for at, read in zip(places, readers, strict=True)
                        ]
                    )
                except ValueError:
                    bad.append(Drop.WRONG_TYPE)
            columns = zip(*rows, strict=True) if rows else ((),) * len(places)
            yield Parsed(
                tuple(
                    pa.array(column, arrow_type(field.type))
                    for column, field in zip(columns, feed.fields.values(), strict=True)
                ),
                np.full(len(rows), GOOD, dtype=np.uint8),
            )
            yield _bad_rows(bad, feed)


def _check_columns(path: Path, names: Sequence[str], feed: Feed) -> None:
    for name in feed.fields:
        found = names.count(name)
        if found != 1:
            raise DataError(
                f"{path}, row 1: column {name!r} {'stands twice' if found else 'is missing'}",
                hint=f"feed {feed.name!r} declares {', '.join(feed.fields)}",
            )


def _stretches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut an iteration of lines into lists; empty lines are no rows."""
    stretch: list[bytes] = []
    for line in lines:
        if line:
            stretch.append(line)
        if len(stretch) == BATCH_ROWS:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


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
