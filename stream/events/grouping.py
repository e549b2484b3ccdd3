"""Equal keys brought together, many at a time. Exact for any input.

A *key* is a tuple of integer columns, shape (n,) each. Where the ranges of the columns leave room,
a key is packed into one number beside its position, and one sort of 64-bit numbers does it all.
Where they do not (hashes), a mix of the key takes its place, and the few keys whose mixes collide
are repaired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Column: TypeAlias = NDArray[np.int64] | NDArray[np.uint64]

__all__ = ["alike", "differs", "firsts", "grouped", "numbered", "occurrence"]

_MIX: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_WORD: Final = 1 << 64
_SMALL_CODES: Final = 65_536
_TABLE_PLACES: Final = 16  # of a table of all keys, for each row


def grouped(*key: Column) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Bring equal keys together.

    Args:
        key: columns of shape (n,), 64-bit integers; n below 2**32.

    Returns:
        ``order``: shape (n,): positions, equal keys side by side, ascending within a key.
        ``fresh``: shape (n,): true at the first of each key in ``order``.
    """
    rows = len(key[0])
    bits = max(rows - 1, 1).bit_length()
    columns, size = _packed(key)
    exact = size <= _WORD >> bits
    if exact:
        mixed = columns[0] << np.uint64(bits)
    else:
        mixed = np.zeros(rows, np.uint64)
        for column in columns:
            mixed = _mix(mixed ^ column)
        mixed >>= np.uint64(bits)
        mixed <<= np.uint64(bits)
    mixed |= np.arange(rows, dtype=np.uint64)
    mixed.sort()
    order = (mixed & np.uint64((1 << bits) - 1)).view(np.intp)
    mixed >>= np.uint64(bits)
    run = differs(mixed)
    if exact:
        return order, run
    fresh = _fresh(columns, order)
    if not bool((fresh == run).all()):
        runs = np.cumsum(run)
        collided = np.isin(runs, runs[fresh & ~run])
        where = order[collided]
        resolved = np.lexsort((where, *(column[where] for column in columns), runs[collided]))
        order[collided] = where[resolved]
        fresh = _fresh(columns, order)
    return order, fresh


def numbered(*key: Column) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Number the different keys, in no particular order.

    Args:
        key: as for ``grouped``.

    Returns:
        The number of each row's key, shape (n,), and the first row of each key, by its number.
    """
    order, fresh = grouped(*key)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh) - 1
    return number, order[fresh]


def firsts(*key: Column) -> NDArray[np.bool_]:
    """Tell which rows are the first of their key, as shape (n,)."""
    rows = len(key[0])
    first = np.zeros(rows, np.bool_)
    columns, size = _packed(key)
    if size > _TABLE_PLACES * rows:
        order, fresh = grouped(*columns)
        first[order[fresh]] = True
        return first
    # Whoever writes last into the place of a key is its first row; places of no key are not read.
    places, at = np.arange(rows, dtype=np.uint32), columns[0].view(np.int64)
    table = np.empty(size, np.uint32)
    table[at[::-1]] = places[::-1]
    return np.equal(table[at], places, out=first)


def occurrence(*key: Column) -> NDArray[np.int64]:
    """Return how often each row's key occurred before it, as shape (n,)."""
    order, fresh = grouped(*key)
    starts = np.flatnonzero(fresh)
    before = np.arange(len(order), dtype=np.int64)
    before -= starts[np.cumsum(fresh) - 1]
    found = np.empty(len(order), np.int64)
    found[order] = before
    return found


def differs(values: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell where a value differs from the one before it; true at the first."""
    differs = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    return differs


def alike(one: NDArray[np.int64], other: NDArray[np.int64]) -> Iterator[slice | NDArray[np.intp]]:
    """Yield the positions, ascending, of each pair of two columns that are not empty."""
    low, high = int(one.min()), int(other.min())
    width = int(other.max()) - high + 1
    codes = (int(one.max()) - low + 1) * width
    if codes == 1:
        yield slice(None)
    elif codes <= _SMALL_CODES:  # 16-bit codes sort several times faster than hashes
        code = ((one - low) * width + (other - high)).astype(np.uint16)
        order = np.argsort(code, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
    else:
        order, fresh = grouped(one, other)
        yield from np.split(order, np.flatnonzero(fresh)[1:])


def _packed(key: Sequence[Column]) -> tuple[list[NDArray[np.uint64]], int]:
    """Return a key that is equal where ``key`` is, in fewer columns, and how many it can take.

    Columns that are narrow enough are packed into the first one.
    """
    packed = np.zeros(len(key[0]), np.uint64)
    if not len(packed):
        return [packed], 1
    size, wide = 1, []
    for column in key:
        least, most = int(column.min()), int(column.max())
        span = most - least + 1
        if span == 1:
            continue
        if size * span > _WORD:
            wide.append(column.view(np.uint64))
            continue
        if size > 1:
            packed *= np.uint64(span)  # below 2**64 even where the span itself is not
        packed += (column - np.array(least, column.dtype)).view(np.uint64)
        size *= span
    if not wide:
        return [packed], size
    return ([packed, *wide] if size > 1 else wide), _WORD * _WORD


def _fresh(columns: Sequence[NDArray[np.uint64]], order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell where a key differs from the one before it in ``order``."""
    fresh = differs(columns[0][order])
    for column in columns[1:]:
        fresh |= differs(column[order])
    return fresh


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over the word (wrapping multiplications and shifts, one to one)."""
    words = words * np.uint64(_MIX[0])
    words ^= words >> np.uint64(32)
    words *= np.uint64(_MIX[1])
    words ^= words >> np.uint64(29)
    words *= np.uint64(_MIX[2])
    words ^= words >> np.uint64(32)
    return words
