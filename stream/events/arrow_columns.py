"""Arrow columns of any suitable type become columns of the declared one, row by row.

Nothing that a row holds can refuse the others: an integer that overflows, text that is not UTF-8,
text that is too long, a dictionary index that points nowhere or a NaN costs that row and no other:
it is null in the column, and has a verdict. Buffers are taken to be valid:
``stream.events.arrow_events`` has checked them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.events.columns import MAX_STRING_BYTES, Drop, arrow_type, reject
from stream.model.feeds import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Verdicts = NDArray[np.uint8]

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


def as_bytes(array: pa.Array) -> pa.Array:
    """Return a string column as bytes."""
    return array.view(_RAW_TYPES[array.type])


def coerce(array: pa.Array, kind: FieldType, verdicts: Verdicts) -> pa.Array:
    """Return the column in its declared type, null where some row cannot be held.

    Args:
        array: of a suitable type, or of the type null.
        kind: the declared type.
        verdicts: as in ``Parsed``; those of such rows are updated in place.
    """
    if pa.types.is_null(array.type):
        return array.cast(arrow_type(kind))
    at = None
    if pa.types.is_dictionary(array.type):
        entries = len(array.dictionary)
        at = array.indices.cast(pa.int64(), safe=False)  # beyond int64 is below zero
        there = pc.and_(pc.greater_equal(at, 0), pc.less(at, entries))
        array, at = array.dictionary, _only(at, there, verdicts, Drop.UNDECODABLE)
    if kind is FieldType.STRING:
        return _strings(array, at, verdicts)
    return _NUMBERS[kind](array if at is None else array.take(at), verdicts)


def _only(array: pa.Array, fit: pa.BooleanArray, verdicts: Verdicts, drop: Drop) -> pa.Array:
    """Return the array with null where ``fit`` is false, and reject those rows."""
    if fit.false_count:
        reject(verdicts, pc.invert(fit), drop)
        array = pc.if_else(fit, array, pa.scalar(None, array.type))
    return array


def _strings(entries: pa.Array, at: pa.Array | None, verdicts: Verdicts) -> pa.Array:
    """Return the texts of a column, or those of the entries ``at`` of a dictionary.

    Text that is too long becomes null before it is copied for every row that points to it.
    """
    raw = as_bytes(entries)
    if at is not None or raw.type == pa.binary_view():
        raw, short = _bounded(raw)
        some_long = short.false_count > 0
        if at is not None:
            raw = raw.take(at)
        if some_long:
            raw = _only(raw, short if at is None else short.take(at), verdicts, Drop.TOO_LONG)
    raw = raw.cast(pa.binary())
    if _is_ascii(raw):
        return raw.view(pa.string())
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        # Arrow only says that some row is not UTF-8; which rows are is the same question per row.
        raw = _only(raw, _short(raw), verdicts, Drop.TOO_LONG)
        sound = pa.array(map(_is_utf8, raw.to_pylist()), pa.bool_())
        return _only(raw, sound, verdicts, Drop.UNDECODABLE).cast(pa.string())


def _bounded(raw: pa.Array) -> tuple[pa.Array, pa.BooleanArray]:
    """Return texts, of no bytes where they are too long, and which are not; null where none is.

    Arrow sets room aside for rows that point to texts by the mean length, that of nulls included.
    And it neither measures views nor chooses among them, but copies what they point to.
    """
    if raw.type != pa.binary_view():
        short = _short(raw)
        whole = short.true_count == len(raw)
        return raw if whole else pc.if_else(short, raw, pa.scalar(b"", raw.type)), short
    _, heads, *texts = raw.buffers()
    views = np.frombuffer(heads or b"", np.int32, (raw.offset + len(raw)) * _VIEW_WORDS)
    views = views.reshape(-1, _VIEW_WORDS)[raw.offset :]
    known = raw.is_valid().to_numpy(zero_copy_only=False)
    short = pa.array(views[:, 0] <= MAX_STRING_BYTES, mask=~known)
    kept = pc.fill_null(short, False).to_numpy(zero_copy_only=False)
    shown = np.where(kept[:, np.newaxis], views, np.int32(0))
    buffers = [None, pa.py_buffer(shown), *texts]
    copied = pa.Array.from_buffers(raw.type, len(raw), buffers).cast(pa.binary())
    return pc.if_else(short, copied, pa.scalar(None, pa.binary())), short


def _short(raw: pa.Array) -> pa.BooleanArray:
    """Tell which texts are not too long; null where there is none."""
    return pc.less_equal(pc.binary_length(raw), MAX_STRING_BYTES)


def _is_ascii(raw: pa.Array) -> bool:
    """Tell whether all bytes are ASCII: then no text of them needs a closer look."""
    _, offsets, data = raw.buffers()
    if data is None or not len(raw):
        return True
    first, last = np.frombuffer(offsets, np.int32)[[raw.offset, raw.offset + len(raw)]].tolist()
    return int(np.frombuffer(data, np.int8)[first:last].min(initial=0)) >= 0


def _is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _booleans(array: pa.Array, _verdicts: Verdicts) -> pa.Array:
    return array


def _floats(array: pa.Array, _verdicts: Verdicts) -> pa.Array:
    return array.cast(pa.float64(), safe=False)


def _integers(array: pa.Array, verdicts: Verdicts) -> pa.Array:
    if pa.types.is_floating(array.type):
        array = array.cast(pa.float64())
        whole = pc.equal(pc.floor(array), array)
        held = pc.and_(pc.greater_equal(array, -(2.0**63)), pc.less(array, 2.0**63))
        array = _only(array, pc.and_(whole, held), verdicts, Drop.WRONG_TYPE)
    elif array.type == pa.uint64():
        held = pc.less_equal(array, pa.scalar(_INT64_MAX, pa.uint64()))
        array = _only(array, held, verdicts, Drop.WRONG_TYPE)
    return array.cast(pa.int64())


def _timestamps(array: pa.Array, verdicts: Verdicts) -> pa.Array:
    if not pa.types.is_timestamp(array.type):
        return _integers(array, verdicts)
    per_second, ticks = _PER_SECOND[array.type.unit], array.view(pa.int64())
    if per_second < 1_000:
        most = _INT64_MAX // 1_000
        held = pc.and_(pc.less_equal(ticks, most), pc.greater_equal(ticks, -most))
        return pc.multiply(_only(ticks, held, verdicts, Drop.WRONG_TYPE), 1_000)
    if per_second > 1_000:  # rounded down, where Arrow's division goes towards zero
        known = ticks.is_null().to_numpy(zero_copy_only=False)
        whole = pc.fill_null(ticks, 0).to_numpy() // (per_second // 1_000)
        return pa.array(whole, mask=known)
    return ticks


_NUMBERS = {
    FieldType.BOOLEAN: _booleans,
    FieldType.FLOAT: _floats,
    FieldType.INTEGER: _integers,
    FieldType.TIMESTAMP: _timestamps,
}
