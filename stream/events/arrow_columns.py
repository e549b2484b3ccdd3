"""Arrow columns of any suitable type become columns of the declared one, row by row.

Nothing that a row holds can refuse the others: an integer that overflows, text that is not UTF-8,
text that is too long, a dictionary index that points nowhere or a NaN costs that row and no other.
Buffers are taken to be valid: ``stream.events.arrow_events`` has checked them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.events.columns import GOOD, MAX_STRING_BYTES, Drop, verdict
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    _Bools: TypeAlias = NDArray[np.bool_]
    _Numbers: TypeAlias = tuple[pa.Array, _Bools | None]
    _Coerced: TypeAlias = tuple[pa.Array, NDArray[np.uint8] | None]

__all__ = ["as_bytes", "coerce", "suits"]

_INT64_MAX = 2**63 - 1
_VIEW_WORDS = 4  # of 32 bits; the first is the length
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

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


def suits(found: pa.DataType, kind: FieldType) -> bool:
    """Tell whether a column of a type can become one of the declared type."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    return any(one(found) for one in _SUITABLE[kind])


def coerce(array: pa.Array, kind: FieldType) -> _Coerced:
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
    raw = as_bytes(array)
    long = None
    if at is not None and raw.type != pa.binary_view():
        # Arrow sets room aside for every row by the mean length, that of nulls included.
        short = raw.nbytes <= MAX_STRING_BYTES * len(raw) and not _too_long(raw).any()
        raw = raw.take(at) if short else raw.cast(pa.binary_view())
    if raw.type == pa.binary_view():
        raw, long = _copied(raw, at)
    if raw.type != pa.binary():
        raw = raw.cast(pa.binary())
    if _ascii(raw):
        return raw.view(pa.string()), _marked(None, long, Drop.TOO_LONG)
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


def _ascii(raw: pa.Array) -> bool:
    """Tell whether all bytes are ASCII: then no text of them needs a closer look."""
    _, offsets, data = raw.buffers()
    if data is None or not len(raw):
        return True
    first, last = np.frombuffer(offsets, np.int32)[[raw.offset, raw.offset + len(raw)]].tolist()
    return first == last or int(np.frombuffer(data, np.int8)[first:last].min()) >= 0


def as_bytes(array: pa.Array) -> pa.Array:
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
    if array.type == pa.int64():
        return array, None
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
