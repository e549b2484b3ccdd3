"""Arrow events: one message is one IPC stream of record batches.

Framing belongs to the feeder: a message that is not one sound IPC stream from its first byte to its
last (``stream.events.arrow_frames``), lacks a required column, or has a column of a type that
cannot become the declared one is refused whole. Nothing that a row holds can refuse a message
(``stream.events.arrow_columns``), and columns that are not declared are not read.

Messages come from outside, so nothing is believed before it is checked: the buffers of every batch
are validated before a value of any is read. A small message may spell out (through dictionaries or
views) to any amount of text; it is neither refused for that nor spelled out at once: rows are
decoded a slice at a time, and text that is too long for a row is dropped before it is copied, so
``MAX_STRING_BYTES`` times ``_SLICE_ROWS`` bounds a column of a slice. Compressed bodies are
unpacked a batch at a time, to no more than their frames say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa

from stream.events.arrow_columns import as_bytes, coerce, suits
from stream.events.arrow_frames import check_frames
from stream.events.codings import Coding, UnsuitableMessageError, many
from stream.events.columns import GOOD, Parsed, arrow_type
from stream.model.feeds import FieldType, required_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.model.feeds import Feed

    _Columns: TypeAlias = list[pa.Array | None]

__all__ = ["CODING", "ArrowParser", "UnsuitableColumnError"]

_SLICE_ROWS = 1 << 14
_MESSAGE_BYTES = 500_000  # brokers and clients take messages of a million at most
_READ = pa.ipc.IpcReadOptions(use_threads=False)  # partitions are decoded side by side already


class UnsuitableColumnError(UnsuitableMessageError):
    """A column is missing, or of a type that cannot become the declared one.

    Args:
        column: its declared name.
        found: the type that was found, or ``None`` where the column is missing.
    """

    def __init__(self, column: str, found: str | None) -> None:
        super().__init__(f"column {column!r} is {found or 'missing'}")
        self.column = column
        self.found = found


class ArrowParser:
    """Reads Arrow record batches into declared columns.

    ``string`` takes any string or binary type; ``integer`` any integer type, and floats whose value
    is whole (pandas writes integers with gaps so); ``float`` any number; ``boolean`` booleans;
    ``timestamp`` a timestamp of any unit and zone (none is UTC) or integer milliseconds, rounded
    down. Each may be dictionary-encoded. Columns that are not declared are ignored.

    Args:
        feed: its declared fields.
    """

    def __init__(self, feed: Feed) -> None:
        self._fields = tuple(feed.fields.values())
        self._names = frozenset(feed.fields)
        self._required = required_fields(feed)
        self._feed = feed

    def parse(self, message: bytes) -> Iterator[Parsed]:
        """Yield the rows of one message, a slice of bounded size at a time.

        Raises:
            UnsuitableMessageError: if the message is refused whole; nothing was yielded then.
        """
        try:
            check_frames(message)
            for rows, columns in self._checked(message):
                for start in range(0, rows, _SLICE_ROWS):
                    count = min(rows - start, _SLICE_ROWS)
                    yield self._rows(count, [_slice(array, start, count) for array in columns])
        except (UnsuitableMessageError, MemoryError):
            raise
        except Exception:  # noqa: BLE001 (total: whatever these bytes provoke is about them)
            # The cause is not passed on: its text may quote the bytes.
            raise UnsuitableMessageError("not a sound Arrow IPC stream") from None

    def parse_batch(self, batch: pa.RecordBatch) -> Parsed:
        """Return the rows of one record batch of a trusted file.

        Raises:
            UnsuitableColumnError: if a column is missing or of another type.
            UnsuitableMessageError: if a column's buffers contradict each other.
        """
        columns = self._columns(batch)
        self._check(columns)
        return self._rows(batch.num_rows, columns)

    def _checked(self, message: bytes) -> Iterable[tuple[int, _Columns]]:
        """Check all batches of a message; return the rows and declared columns of each."""
        alone = None
        for number, batch in enumerate(self._batches(message)):
            columns = self._columns(batch)
            self._check(columns)
            alone = None if number else (batch.num_rows, columns)
        if alone is not None:
            return [alone]
        # Several are read again, not kept: each may hold a larger copy of a growing dictionary.
        return ((batch.num_rows, self._columns(batch)) for batch in self._batches(message))

    def _batches(self, message: bytes) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a message, of their columns only those with declared names."""
        buffer = pa.py_buffer(message)
        with pa.ipc.open_stream(buffer, options=_READ) as reader:
            names = reader.schema.names
            declared = [at for at, name in enumerate(names) if name in self._names]
            if len(declared) == len(names):
                yield from reader
                return
        options = pa.ipc.IpcReadOptions(included_fields=declared, use_threads=False)
        with pa.ipc.open_stream(buffer, options=options) as reader:
            yield from reader

    def _columns(self, batch: pa.RecordBatch) -> _Columns:
        batch.validate()
        return [self._column(batch, field.name) for field in self._fields]

    def _check(self, columns: _Columns) -> None:
        """Refuse columns for their types or their buffers; no value is looked at.

        A sound batch has no more rows than its message has bytes: every type that a required
        column may have takes a byte a row at least.
        """
        for field, column in zip(self._fields, columns, strict=True):
            if column is None:
                continue
            if not suits(column.type, field.type):
                raise UnsuitableColumnError(field.name, str(column.type))
            values = column
            if pa.types.is_dictionary(column.type):
                column.indices.validate(full=True)
                values = column.dictionary
            if field.type is FieldType.STRING:
                # As bytes: one row's bad text is not a bad message.
                as_bytes(values).validate(full=True)
            elif not pa.types.is_decimal(values.type):  # a decimal's digits are a row's matter
                values.validate(full=True)

    def _rows(self, count: int, columns: _Columns) -> Parsed:
        """Return rows of a batch that was checked."""
        verdicts = np.full(count, GOOD, dtype=np.uint8)
        parsed = []
        for field, column in zip(self._fields, columns, strict=True):
            if column is None:
                parsed.append(pa.nulls(count, arrow_type(field.type)))
                continue
            values, found = coerce(column, field.type)
            if found is not None:
                np.minimum(verdicts, found, out=verdicts)
            parsed.append(values)
        return Parsed(tuple(parsed), verdicts)

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array | None:
        """Return a declared column, or ``None`` where an optional one holds nothing."""
        found = batch.schema.names.count(name)
        if found == 1 and not pa.types.is_null(batch.schema.field(name).type):
            return batch.column(name)
        if found > 1 or name in self._required:
            raise UnsuitableColumnError(name, ("null", "ambiguous")[found - 1] if found else None)
        return None


def _slice(column: pa.Array | None, start: int, count: int) -> pa.Array | None:
    if column is None or len(column) == count:
        return column
    return column.slice(start, count)


def _written(rows: pa.RecordBatch) -> Iterator[bytes]:
    most = max(rows.num_rows * _MESSAGE_BYTES // max(rows.nbytes, 1), 1)
    for at in range(0, rows.num_rows, most):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows.slice(at, most))
        yield bytes(sink.getvalue())


CODING: Final = Coding(lambda feed: many(ArrowParser(feed).parse, feed), _written, single=False)
