"""Arrow events: one message is one IPC stream of record batches.

Framing belongs to the feeder: a message that is not one sound IPC stream from its first byte to its
last (``stream.events.arrow_frames``), lacks a required column, or has a column of a type that
cannot become the declared one is refused whole. Nothing that a row holds can refuse a message
(``stream.events.arrow_columns``), and columns that are not declared are not read.

Messages come from outside, so nothing is believed before it is checked: the buffers of every batch
are validated before a value of any is read. A small message may spell out (through dictionaries or
views) to any amount of text; it is neither refused for that nor spelled out at once: rows are
decoded a slice at a time, and text that is too long for a row is dropped before it is copied, so
``MAX_STRING_BYTES`` times ``_SLICE_ROWS`` bounds a column of a slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa

from stream.events.arrow_columns import as_bytes, coerce, suits
from stream.events.arrow_frames import check_frames
from stream.events.codings import Coding
from stream.events.columns import GOOD, Drop, Parsed
from stream.model.feeds import FieldType, required_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream.model.feeds import Feed

    _Columns: TypeAlias = list[pa.Array]

__all__ = ["CODING", "ArrowParser", "UnsuitableColumnError"]

_SLICE_ROWS = 1 << 14
_MESSAGE_BYTES = 500_000  # brokers and clients take messages of a million at most


class UnsuitableColumnError(Exception):
    """A column is missing, or of a type that cannot become the declared one.

    Args:
        column: its declared name.
        found: its type, or what else is the matter.
    """

    def __init__(self, column: str, found: str) -> None:
        super().__init__(f"column {column!r} is {found}")
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

    def parse(self, messages: Sequence[bytes]) -> Iterator[Parsed]:
        """Yield the rows of the messages, a slice of bounded size at a time.

        A message that is refused whole is one row.
        """
        for at, message in enumerate(messages):
            try:
                check_frames(message)
                for columns in self._checked(message):
                    for start in range(0, len(columns[0]), _SLICE_ROWS):
                        cut = [column.slice(start, _SLICE_ROWS) for column in columns]
                        yield self._rows(cut, np.broadcast_to(np.int64(at), len(cut[0])))
            except MemoryError:
                raise
            except Exception:  # noqa: BLE001 (total: whatever these bytes provoke is about them)
                yield Parsed.refused(self._feed, Drop.UNDECODABLE, at)

    def parse_batch(self, batch: pa.RecordBatch) -> Parsed:
        """Return the rows of one record batch of a trusted file, each as a message of its own.

        Raises:
            UnsuitableColumnError: if a column is missing or of another type.
            pyarrow.ArrowInvalid: if a column's buffers contradict each other.
        """
        columns = self._columns(batch)
        self._check(columns)
        return self._rows(columns, np.arange(batch.num_rows))

    def _checked(self, message: bytes) -> Iterable[_Columns]:
        """Check all batches of a message; return the declared columns of each."""
        alone = None
        for number, batch in enumerate(self._batches(message)):
            columns = self._columns(batch)
            self._check(columns)
            alone = None if number else columns
        if alone is not None:
            return [alone]
        # Several are read again, not kept: each may hold a larger copy of a growing dictionary.
        return map(self._columns, self._batches(message))

    def _batches(self, message: bytes) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a message, of their columns only those with declared names."""
        buffer = pa.py_buffer(message)
        # No threads: partitions are decoded side by side already.
        options = pa.ipc.IpcReadOptions(use_threads=False)
        with pa.ipc.open_stream(buffer, options=options) as reader:
            names = reader.schema.names
            options.included_fields = [at for at, name in enumerate(names) if name in self._names]
            if len(options.included_fields) == len(names):
                yield from reader
                return
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
            if pa.types.is_null(column.type) and field.name not in self._required:
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

    def _rows(self, columns: _Columns, message: NDArray[np.int64]) -> Parsed:
        """Return rows of a batch that was checked."""
        verdicts = np.full(len(message), GOOD, np.uint8)
        held = (
            coerce(column, field.type, verdicts)
            for field, column in zip(self._fields, columns, strict=True)
        )
        return Parsed(tuple(held), verdicts, message)

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """Return a declared column; where an optional one is absent, one of the type null."""
        found = batch.schema.names.count(name)
        if found > 1 or (not found and name in self._required):
            raise UnsuitableColumnError(name, "ambiguous" if found else "missing")
        return batch.column(name) if found else pa.nulls(batch.num_rows)


def _written(rows: pa.RecordBatch) -> Iterator[bytes]:
    most = max(rows.num_rows * _MESSAGE_BYTES // max(rows.nbytes, 1), 1)
    for at in range(0, rows.num_rows, most):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows.slice(at, most))
        yield bytes(sink.getvalue())


CODING: Final = Coding(lambda feed: ArrowParser(feed).parse, _written, single=False)
