"""Many filters over the same rows: which are true of each row, and every filter's own sums.

Alarms that differ in WHERE alone are counted together. Filters are evaluated on the distinct
values of the fields that they read, rows carry which of them are true as bits, and rows of one cell
with the same bits are added up once for all filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.counting.filtering import passing
from stream.counting.sums import SUM_LIMIT
from stream.events.grouping import grouped, numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.counting.sums import Sums
    from stream.model.filters import Where

    Words = NDArray[np.uint64]
    """Shape (rows, words): filter ``at`` is bit ``at % 64`` of word ``at // 64``."""

__all__ = ["NO_OFFSET", "asked", "ends", "of_filter", "spread"]

NO_OFFSET: Final = np.iinfo(np.int64).max
_WORD: Final = 64
_TABLE: Final = 2**19
"""Rows times filters that are looked at in one piece."""


def asked(wheres: Sequence[Where | None], rows: pa.RecordBatch) -> Words:
    """Return which filters are true of each row; ``None`` is true of all.

    Args:
        wheres: two filters or more, numbered in this order.
        rows: as ``passing`` has them.
    """
    names = sorted(frozenset().union(*(where.fields for where in wheres if where is not None)))
    codes = []
    for name in names:
        encoded = rows.column(rows.schema.get_field_index(name)).dictionary_encode()
        code = encoded.indices.fill_null(len(encoded.dictionary))
        codes.append(code.to_numpy(zero_copy_only=False).astype(np.int64))
    number, first = numbered(*codes)
    distinct = rows.take(pa.array(first))
    bits = np.zeros((distinct.num_rows, -(-len(wheres) // _WORD) * _WORD), np.bool_)
    for at, where in enumerate(wheres):
        bits[:, at] = True if where is None else passing(where, distinct)
    packed = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    return packed[number]


def of_filter(asked: Words, at: int) -> NDArray[np.bool_]:
    """Return of which rows one filter is true, shape (rows,)."""
    return (asked[:, at // _WORD] >> np.uint64(at % _WORD) & np.uint64(1)).astype(np.bool_)


def ends(
    asked: Words, filters: int, offset: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each filter's least and greatest offset, shape (filters,) each.

    Args:
        asked: of n rows, at least one.
        filters: how many there are.
        offset: shape (n,), not decreasing.

    Returns:
        ``NO_OFFSET`` and -1 of a filter that is true of no row.
    """
    order, fresh = grouped(*asked.T)
    opening, closing = np.sort(order[fresh]), np.sort(order[np.roll(fresh, -1)])[::-1]
    return (
        _offset_of_first(asked[opening], filters, offset[opening], NO_OFFSET),
        _offset_of_first(asked[closing], filters, offset[closing], -1),
    )


def spread(
    sums: Sums,
    asked: Words,
    *,
    filters: int,
    place: NDArray[np.int64],
    weight: NDArray[np.int64] | None,
    size: int,
) -> None:
    """Add rows to the sums of every filter that is true of them.

    Args:
        sums: number ``filter * size + place``.
        asked: of n rows.
        filters: how many there are.
        place: shape (n,), in ``[0, size)``.
        weight: shape (n,), within +-``SUM_LIMIT``; ``None`` for 1 each.
        size: how many sums a filter has.
    """
    if not len(place):
        return
    if weight is not None and int(np.abs(weight).max()) > SUM_LIMIT // len(weight):
        alike, total = np.arange(len(place)), weight  # added up they may be too much for a number
    else:
        order, fresh = grouped(place, *asked.T)
        starts = np.flatnonzero(fresh)
        alike = order[starts]
        total = (
            np.diff(starts, append=len(order))
            if weight is None
            else np.add.reduceat(weight[order], starts)
        )
    step = max(1, _TABLE // filters)
    for start in range(0, len(alike), step):
        piece = slice(start, start + step)
        at, own = np.nonzero(_bits(asked[alike[piece]], filters))
        sums.add(own * size + place[alike[piece]][at], total[piece][at])


def _offset_of_first(
    asked: Words, filters: int, offset: NDArray[np.int64], none: int
) -> NDArray[np.int64]:
    """Return the offset of the first row of which each filter is true, shape (filters,)."""
    bits = _bits(asked, filters)
    return np.where(bits.any(axis=0), offset[bits.argmax(axis=0)], none)


def _bits(asked: Words, filters: int) -> NDArray[np.bool_]:
    """Return which filters are true of each row, shape (rows, filters)."""
    octets = np.ascontiguousarray(asked, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=filters, bitorder="little").view(np.bool_)
