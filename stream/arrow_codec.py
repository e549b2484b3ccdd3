"""Arrow events: one message is one IPC stream of record batches.

Framing belongs to the feeder: a message that is not a sound IPC stream, lacks a required column,
or has a column of a type that cannot become the declared one is refused whole. Inside a sound
message every row is judged by itself: an integer that overflows, text that is not UTF-8 or a NaN
costs that row and no other.

Messages come from outside, so nothing is believed before it is checked: buffers are validated
before a value is read; a message may not spell out (through dictionaries or views) to more than
``_EXPANSION`` times its size; and compressed bodies are refused, because a small message could then
ask for any amount of memory (Kafka's own compression is the place for it).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.columns import (
    GOOD,
    MAX_STRING_BYTES,
    Drop,
    Parsed,
    arrow_type,
    required_fields,
    verdict,
)
from stream.model import FieldType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.model import Feed

    _Coerced: TypeAlias = tuple[pa.Array, NDArray[np.bool_] | None]

__all__ = ["ArrowParser", "UnsuitableColumnError", "UnsuitableMessageError", "unfolded_bytes"]

_EXPANSION = 64
_EXPANSION_FLOOR = 1 << 20
_INT64_MAX = 2**63 - 1
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

# Tables of Arrow's Message.fbs: the number of a field, and of a kind of header.
_HEADER_TYPE, _HEADER = 1, 2
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_DICTIONARY_DATA = 1
_BATCH_COMPRESSION = 3


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


def unfolded_bytes(size: int) -> int:
    """Return how much text a message of ``size`` bytes may spell out."""
    return _EXPANSION * size + _EXPANSION_FLOOR


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

    def parse(self, message: bytes) -> Parsed:
        """Return the rows of one message.

        Raises:
            UnsuitableMessageError: if the message is refused whole.
        """
        try:
            _refuse_compression(message)
            allowance = _Allowance(len(message))
            with pa.ipc.open_stream(pa.py_buffer(message)) as reader:
                parts = [self._rows(batch, allowance) for batch in reader]
            return Parsed.concatenated(parts, self._feed)
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
        return self._rows(batch, None)

    def _rows(self, batch: pa.RecordBatch, allowance: _Allowance | None) -> Parsed:
        batch.validate()
        if allowance is not None:
            allowance.check_rows(batch.num_rows)
        verdicts = np.full(batch.num_rows, GOOD, dtype=np.uint8)
        columns = []
        for field in self._fields:
            array = self._column(batch, field.name)
            if array is None:
                columns.append(pa.nulls(batch.num_rows, arrow_type(field.type)))
                continue
            try:
                values, bad = _coerce(array, field.type, allowance)
            except _UnsuitableTypeError:
                raise UnsuitableColumnError(field.name, str(array.type)) from None
            if bad is not None:
                drop = Drop.UNDECODABLE if field.type is FieldType.STRING else Drop.WRONG_TYPE
                np.minimum(verdicts, np.uint8(verdict(drop)), out=verdicts, where=bad)
            columns.append(values)
        return Parsed(tuple(columns), verdicts)

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array | None:
        """Return a declared column, or ``None`` where an optional one holds nothing."""
        found = batch.schema.names.count(name)
        if found == 1 and not pa.types.is_null(batch.schema.field(name).type):
            return batch.column(name)
        if found > 1 or name in self._required:
            raise UnsuitableColumnError(name, ("null", "ambiguous")[found - 1] if found else None)
        return None


class _UnsuitableTypeError(Exception):
    """A column's type cannot become the declared one."""


class _Allowance:
    """How much one message may still unfold to.

    Args:
        size: bytes of the message.
    """

    def __init__(self, size: int) -> None:
        self._rows = size  # a required column takes a byte a row at least
        self._bytes = unfolded_bytes(size)

    def check_rows(self, rows: int) -> None:
        """Refuse more rows than the message has bytes."""
        if rows > self._rows:
            raise UnsuitableMessageError("more rows than bytes")

    def spend(self, size: int) -> None:
        """Refuse more text than a message of this size spells out."""
        self._bytes -= size
        if self._bytes < 0:
            raise UnsuitableMessageError(f"spells out to over {_EXPANSION} times its size")


def _coerce(array: pa.Array, kind: FieldType, allowance: _Allowance | None) -> _Coerced:
    """Return the column in its declared type, and the rows it cannot hold (null in the column)."""
    if pa.types.is_dictionary(array.type):
        return _from_dictionary(array, kind, allowance)
    if kind is FieldType.STRING:
        return _strings(array, allowance)
    array.validate(full=True)
    return _NUMBERS[kind](array)


def _from_dictionary(array: pa.Array, kind: FieldType, allowance: _Allowance | None) -> _Coerced:
    dictionary = array.dictionary
    if pa.types.is_dictionary(dictionary.type):
        raise _UnsuitableTypeError
    array.indices.validate(full=True)
    indices = array.indices.cast(pa.int64())
    positions = pc.drop_null(indices).to_numpy(zero_copy_only=False)
    if len(positions) and not 0 <= positions.min() <= positions.max() < len(dictionary):
        raise UnsuitableMessageError("a dictionary index points nowhere")
    values, bad = _coerce(dictionary, kind, allowance)
    if kind is FieldType.STRING:
        # One character too long is as bad as a million, and does not unfold to a million a row.
        values = pc.if_else(
            pc.greater(pc.binary_length(values), MAX_STRING_BYTES),
            pa.scalar("x" * (MAX_STRING_BYTES + 1)),
            values,
        )
        if allowance is not None:
            lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
            allowance.spend(int(lengths[positions].sum(dtype=np.int64)))
    if bad is not None:
        known = indices.is_valid().to_numpy(zero_copy_only=False)
        bad_rows = np.zeros(len(indices), dtype=np.bool_)
        bad_rows[known] = bad[positions]
        bad = bad_rows
    return values.take(indices), bad


def _strings(array: pa.Array, allowance: _Allowance | None) -> _Coerced:
    kind = array.type
    if kind in {pa.string(), pa.binary()}:
        raw = array.view(pa.binary())
    elif kind in {pa.large_string(), pa.large_binary()}:
        raw = array.view(pa.large_binary())
    elif kind in {pa.string_view(), pa.binary_view()}:
        raw = array.view(pa.binary_view())
    else:
        raise _UnsuitableTypeError
    raw.validate(full=True)  # as bytes: one row's bad text is not a bad message
    if allowance is not None and raw.type == pa.binary_view() and len(raw):
        heads = np.frombuffer(raw.buffers()[1], dtype=np.int32).reshape(-1, 4)
        lengths = heads[raw.offset : raw.offset + len(raw), 0]
        valid = raw.is_valid().to_numpy(zero_copy_only=False)
        allowance.spend(int(lengths[valid].sum(dtype=np.int64)))
    raw = raw.cast(pa.binary())
    try:
        return raw.cast(pa.string()), None
    except pa.ArrowInvalid:
        # Arrow only says that some row is not UTF-8; which rows are is the same question per row.
        bad = np.fromiter(map(_not_utf8, raw.to_pylist()), dtype=np.bool_, count=len(raw))
        return _without(raw, bad).cast(pa.string()), bad


def _booleans(array: pa.Array) -> _Coerced:
    if not pa.types.is_boolean(array.type):
        raise _UnsuitableTypeError
    return array, None


def _integers(array: pa.Array) -> _Coerced:
    if pa.types.is_floating(array.type):
        return _whole_floats(array)
    return _whole_numbers(array)


def _whole_numbers(array: pa.Array) -> _Coerced:
    if not pa.types.is_integer(array.type):
        raise _UnsuitableTypeError
    if array.type != pa.uint64():
        return array.cast(pa.int64()), None
    too_large = pc.fill_null(pc.greater(array, pa.scalar(_INT64_MAX, pa.uint64())), False)
    bad = too_large.to_numpy(zero_copy_only=False)
    return _without(array, bad).cast(pa.int64()), bad


def _whole_floats(array: pa.Array) -> _Coerced:
    floats = array.cast(pa.float64())
    known = floats.is_valid().to_numpy(zero_copy_only=False)
    values = pc.fill_null(floats, 0.0).to_numpy(zero_copy_only=False)
    whole = np.isfinite(values) & (np.floor(values) == values)
    whole &= (values >= -(2.0**63)) & (values < 2.0**63)
    integers = np.where(whole, values, 0.0).astype(np.int64)
    return pa.array(integers, mask=~(known & whole)), known & ~whole


def _floats(array: pa.Array) -> _Coerced:
    kind = array.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise _UnsuitableTypeError
    return array.cast(pa.float64(), safe=False), None


def _timestamps(array: pa.Array) -> _Coerced:
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


def _without(array: pa.Array, bad: NDArray[np.bool_]) -> pa.Array:
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
