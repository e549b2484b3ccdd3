"""Arrow events: one message is one IPC stream of record batches.

Framing belongs to the feeder: a message that is not a sound IPC stream, lacks a required column,
or has a column of a type that cannot become the declared one is refused whole. Nothing that a row
holds can refuse a message: an integer that overflows, text that is not UTF-8, text that is too
long, a dictionary index that points nowhere or a NaN costs that row and no other.

Messages come from outside, so nothing is believed before it is checked: the buffers of every batch
are validated before a value of any is read. A small message may spell out (through dictionaries or
views) to any amount of text; it is neither refused for that nor spelled out at once: rows are
decoded a slice at a time, and text that is too long for a row is dropped before it is copied, so
``MAX_STRING_BYTES`` times ``_SLICE_ROWS`` bounds a column of a slice. Compressed bodies are refused
(Kafka's own compression is the place for it): they would have to be unpacked before any row is
known.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.events.columns import GOOD, MAX_STRING_BYTES, Drop, Parsed, arrow_type, verdict
from stream.model.feeds import FieldType, required_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from stream.model.feeds import Feed

    _Bools: TypeAlias = NDArray[np.bool_]
    _Numbers: TypeAlias = tuple[pa.Array, _Bools | None]
    _Columns: TypeAlias = list[pa.Array | None]
    _Coerced: TypeAlias = tuple[pa.Array, NDArray[np.uint8] | None]

__all__ = ["ArrowParser", "UnsuitableColumnError", "UnsuitableMessageError"]

_SLICE_ROWS = 1 << 14
_INT64_MAX = 2**63 - 1
_VIEW_WORDS = 4  # of 32 bits; the first is the length
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

# Tables of Arrow's Message.fbs: the number of a field, and of a kind of header.
_HEADER_TYPE, _HEADER = 1, 2
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_DICTIONARY_DATA = 1
_BATCH_COMPRESSION = 3

# How the bytes of a string column are laid out, whatever they claim to be.
_RAW_TYPES = {
    pa.string(): pa.binary(),
    pa.binary(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.large_binary(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
    pa.binary_view(): pa.binary_view(),
}

_SUITABLE: dict[FieldType, tuple[Callable[[pa.DataType], bool], ...]] = {
    FieldType.BOOLEAN: (pa.types.is_boolean,),
    FieldType.FLOAT: (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal),
    FieldType.INTEGER: (pa.types.is_integer, pa.types.is_floating),
    FieldType.STRING: (lambda found: found in _RAW_TYPES,),
    FieldType.TIMESTAMP: (pa.types.is_timestamp, pa.types.is_integer),
}


class UnsuitableMessageError(Exception):
    """The message as a whole is not what the feed declares; the text names no value."""


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
        self._required = required_fields(feed)
        self._feed = feed

    def parse(self, message: bytes) -> Iterator[Parsed]:
        """Yield the rows of one message, a slice of bounded size at a time.

        Raises:
            UnsuitableMessageError: if the message is refused whole; nothing was yielded then.
        """
        try:
            _refuse_compression(message)
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
        for number, batch in enumerate(_batches(message)):
            columns = self._columns(batch)
            self._check(columns)
            alone = None if number else (batch.num_rows, columns)
        if alone is not None:
            return [alone]
        # Several are read again, not kept: each may hold a larger copy of a growing dictionary.
        return ((batch.num_rows, self._columns(batch)) for batch in _batches(message))

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
            if not _suits(column.type, field.type):
                raise UnsuitableColumnError(field.name, str(column.type))
            values = column
            if pa.types.is_dictionary(column.type):
                column.indices.validate(full=True)
                values = column.dictionary
            if field.type is FieldType.STRING:
                # As bytes: one row's bad text is not a bad message.
                _raw(values).validate(full=True)
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
            values, found = _coerce(column, field.type)
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


def _batches(message: bytes) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(pa.py_buffer(message)) as reader:
        yield from reader


def _slice(column: pa.Array | None, start: int, count: int) -> pa.Array | None:
    if column is None or len(column) == count:
        return column
    return column.slice(start, count)


def _suits(found: pa.DataType, kind: FieldType) -> bool:
    """Tell whether a column of a type can become one of the declared type."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    return any(suits(found) for suits in _SUITABLE[kind])


def _coerce(array: pa.Array, kind: FieldType) -> _Coerced:
    """Return the column in its declared type, and verdicts where some row cannot be held.

    Those rows are null in the column.
    """
    at = bad = None
    if pa.types.is_dictionary(array.type):
        array, at, bad = _looked_up(array)
    if kind is FieldType.STRING:
        values, verdicts = _strings(array, at)
    else:
        values, wrong = _NUMBERS[kind](array if at is None else array.take(at))
        verdicts = _marked(None, wrong, Drop.WRONG_TYPE)
    return values, _marked(verdicts, bad, Drop.UNDECODABLE)


def _looked_up(array: pa.Array) -> tuple[pa.Array, pa.Array, _Bools | None]:
    """Return a dictionary, the entry of each row, and the rows whose entry it does not have."""
    entries = len(array.dictionary)
    at = array.indices.cast(pa.int64(), safe=False)  # beyond int64 is below zero
    least, most = (bound.as_py() for bound in pc.min_max(at).values())
    if least is None or 0 <= least <= most < entries:
        return array.dictionary, at, None
    outside = pc.or_(pc.less(at, 0), pc.greater_equal(at, entries))
    bad = pc.fill_null(outside, False).to_numpy(zero_copy_only=False)
    return array.dictionary, _without(at, bad), bad


def _strings(array: pa.Array, at: pa.Array | None) -> _Coerced:
    """Return the text of a column, or that of the entries ``at`` of a dictionary.

    Text that is too long is not copied for every row that points to it: it becomes null here.
    """
    raw = _raw(array)
    long = None
    if at is not None and raw.type != pa.binary_view():
        # Arrow sets room aside for every row by the mean length, that of nulls included.
        short = raw.nbytes <= MAX_STRING_BYTES * len(raw) and not _too_long(raw).any()
        raw = raw.take(at) if short else raw.cast(pa.binary_view())
    if raw.type == pa.binary_view():
        raw, long = _copied(raw, at)
    raw = raw.cast(pa.binary())
    try:
        return raw.cast(pa.string()), _marked(None, long, Drop.TOO_LONG)
    except pa.ArrowInvalid:
        # Arrow only says that some row is not UTF-8; which rows are is the same question per row.
        # Text that is too long is not asked, as above.
        long = _too_long(raw) if long is None else long | _too_long(raw)
        raw = _without(raw, long)
        bad = np.fromiter(map(_not_utf8, raw.to_pylist()), dtype=np.bool_, count=len(raw))
        verdicts = _marked(None, long, Drop.TOO_LONG)
        return _without(raw, bad).cast(pa.string()), _marked(verdicts, bad, Drop.UNDECODABLE)


def _raw(array: pa.Array) -> pa.Array:
    """Return a string column as bytes."""
    return array.view(_RAW_TYPES[array.type])


def _copied(views: pa.Array, at: pa.Array | None) -> tuple[pa.Array, _Bools]:
    """Return what the views (at some places) point to, and the rows where that is too long.

    Those are null.
    """
    valid = views.is_valid()
    _, heads, *texts = views.buffers()
    size = views.offset + len(views)
    rows = np.zeros((0, _VIEW_WORDS), np.int32)
    if size:
        rows = np.frombuffer(heads, np.int32, size * _VIEW_WORDS).reshape(size, _VIEW_WORDS)
        rows = rows[views.offset :]
    if at is not None:
        known = at.is_valid()
        valid = pc.fill_null(valid.take(at), False)
        # Any entry will do for a row that has none, but a dictionary may be empty.
        rows = np.concatenate([rows, np.zeros((1, _VIEW_WORDS), np.int32)])
        at = pc.if_else(known, at, len(views))
        rows = rows[at.to_numpy(zero_copy_only=False)]
    present = valid.to_numpy(zero_copy_only=False)
    long = present & (rows[:, 0] > MAX_STRING_BYTES)
    if at is None and not long.any():
        return views.cast(pa.binary()), long
    present = present & ~long
    rows = np.where(present[:, np.newaxis], rows, np.int32(0))
    buffers = [None, pa.py_buffer(np.ascontiguousarray(rows)), *texts]
    text = pa.Array.from_buffers(views.type, len(rows), buffers).cast(pa.binary())
    return _without(text, ~present), long


def _too_long(raw: pa.Array) -> _Bools:
    long = pc.greater(pc.binary_length(raw), MAX_STRING_BYTES)
    mask: _Bools = pc.fill_null(long, False).to_numpy(zero_copy_only=False)
    return mask


def _marked(
    verdicts: NDArray[np.uint8] | None, bad: _Bools | None, drop: Drop
) -> NDArray[np.uint8] | None:
    """Give the rows where ``bad`` is true a verdict, unless they have an earlier one."""
    if bad is None:
        return verdicts
    if verdicts is None:
        verdicts = np.full(len(bad), GOOD, dtype=np.uint8)
    np.minimum(verdicts, np.uint8(verdict(drop)), out=verdicts, where=bad)
    return verdicts


def _booleans(array: pa.Array) -> _Numbers:
    return array, None


def _integers(array: pa.Array) -> _Numbers:
    if pa.types.is_floating(array.type):
        return _whole_floats(array)
    return _whole_numbers(array)


def _whole_numbers(array: pa.Array) -> _Numbers:
    if array.type != pa.uint64():
        return array.cast(pa.int64()), None
    too_large = pc.fill_null(pc.greater(array, pa.scalar(_INT64_MAX, pa.uint64())), False)
    bad = too_large.to_numpy(zero_copy_only=False)
    return _without(array, bad).cast(pa.int64()), bad


def _whole_floats(array: pa.Array) -> _Numbers:
    floats = array.cast(pa.float64())
    known = floats.is_valid().to_numpy(zero_copy_only=False)
    values = pc.fill_null(floats, 0.0).to_numpy(zero_copy_only=False)
    whole = np.isfinite(values) & (np.floor(values) == values)
    whole &= (values >= -(2.0**63)) & (values < 2.0**63)
    integers = np.where(whole, values, 0.0).astype(np.int64)
    return pa.array(integers, mask=~(known & whole)), known & ~whole


def _floats(array: pa.Array) -> _Numbers:
    return array.cast(pa.float64(), safe=False), None


def _timestamps(array: pa.Array) -> _Numbers:
    if not pa.types.is_timestamp(array.type):
        return _whole_numbers(array)
    per_second = _PER_SECOND[array.type.unit]
    if per_second == 1_000:
        return array.view(pa.int64()), None
    known = array.is_valid().to_numpy(zero_copy_only=False)
    ticks = pc.fill_null(array.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
    if per_second > 1_000:
        return pa.array(ticks // (per_second // 1_000), mask=~known), None
    bad = (ticks > _INT64_MAX // 1_000) | (ticks < -(_INT64_MAX // 1_000))
    return pa.array(np.where(bad, 0, ticks) * 1_000, mask=~known | bad), bad


_NUMBERS = {
    FieldType.BOOLEAN: _booleans,
    FieldType.FLOAT: _floats,
    FieldType.INTEGER: _integers,
    FieldType.TIMESTAMP: _timestamps,
}


def _without(array: pa.Array, bad: _Bools) -> pa.Array:
    """Return the array with null where ``bad``."""
    return pc.if_else(pa.array(bad), pa.scalar(None, array.type), array)


def _not_utf8(value: bytes | None) -> bool:
    try:
        if value is not None:
            value.decode()
    except UnicodeDecodeError:
        return True
    return False


def _refuse_compression(message: bytes) -> None:
    """Raise if any batch of the stream says that its body is compressed."""
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(message))
    while True:
        try:
            metadata = reader.read_next_message().metadata.to_pybytes()
        except StopIteration:
            return
        root = _table_at(metadata, 0)
        kind_at, batch = _slot(metadata, root, _HEADER_TYPE), _follow(metadata, root, _HEADER)
        kind = metadata[kind_at] if kind_at else 0
        if kind == _DICTIONARY_BATCH and batch:
            batch = _follow(metadata, batch, _DICTIONARY_DATA)
        if (
            kind in {_DICTIONARY_BATCH, _RECORD_BATCH}
            and batch
            and _slot(metadata, batch, _BATCH_COMPRESSION)
        ):
            raise UnsuitableMessageError("a compressed body; compress the topic instead")


def _table_at(data: bytes, at: int) -> int:
    """Return where the flatbuffer table starts that the offset at ``at`` points to."""
    return at + int(struct.unpack_from("<I", data, at)[0])


def _slot(data: bytes, table: int, field: int) -> int:
    """Return where a field of a flatbuffer table stands, 0 where it is absent."""
    entries = table - int(struct.unpack_from("<i", data, table)[0])
    at = 4 + 2 * field
    if at >= struct.unpack_from("<H", data, entries)[0]:
        return 0
    offset = int(struct.unpack_from("<H", data, entries + at)[0])
    return table + offset if offset else 0


def _follow(data: bytes, table: int, field: int) -> int:
    """Return where the table starts that a field of ``table`` points to, 0 where it is absent."""
    at = _slot(data, table, field)
    return _table_at(data, at) if at else 0
