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
from stream.events.grouping import differs, grouped, numbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        wheres: filters, numbered in this order.
        rows: as ``passing`` has them.
    """
    words = -(-len(wheres) // _WORD)
    names = sorted(frozenset().union(*(where.fields for where in wheres if where is not None)))
    if not rows.num_rows or not names:
        return np.full((rows.num_rows, words), ~np.uint64(0), np.uint64) & _mask(len(wheres))
    codes = []
    for name in names:
        encoded = rows.column(rows.schema.get_field_index(name)).dictionary_encode()
        code = encoded.indices.fill_null(len(encoded.dictionary))
        codes.append(code.to_numpy(zero_copy_only=False).astype(np.int64))
    number, first = numbered(*codes)
    distinct = rows.take(pa.array(first))
    bits = np.zeros((distinct.num_rows, words * _WORD), np.bool_)
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
        asked: of n rows.
        filters: how many there are.
        offset: shape (n,), not decreasing.

    Returns:
        ``NO_OFFSET`` and -1 of a filter that is true of no row.
    """
    first, last = np.full(filters, NO_OFFSET, np.int64), np.full(filters, -1, np.int64)
    order, fresh = grouped(*asked.T)
    starts = np.flatnonzero(fresh)
    opening, closing = offset[order[starts]], offset[order[np.append(starts[1:], len(order)) - 1]]
    for piece, bits in _pieces(asked[order[starts]], filters):
        least = np.where(bits, opening[piece, np.newaxis], NO_OFFSET).min(axis=0)
        most = np.where(bits, closing[piece, np.newaxis], -1).max(axis=0)
        np.minimum(first, least, out=first)
        np.maximum(last, most, out=last)
    return first, last


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
        sums: number ``filter * size + place``; of any weights.
        asked: of n rows.
        filters: how many there are.
        place: shape (n,), in ``[0, size)``.
        weight: shape (n,), no more in all than an int64 holds; ``None`` for 1 each.
        size: how many sums a filter has.
    """
    if not len(place):
        return
    order, fresh = grouped(place, *asked.T)
    starts = np.flatnonzero(fresh)
    if weight is None:
        total = np.diff(starts, append=len(order))
    else:
        total = np.add.reduceat(weight[order], starts)
    alike = order[starts]
    by_place = np.argsort(place[alike], kind="stable")
    alike, total = alike[by_place], total[by_place]
    for piece, bits in _pieces(asked[alike], filters):
        here = place[alike[piece]]
        edges = np.flatnonzero(differs(here.view(np.uint64)))
        each = np.add.reduceat(bits * total[piece, np.newaxis], edges, axis=0)
        at, own = np.nonzero(each)
        sums.add(own * size + here[edges[at]], each[at, own])


def _pieces(asked: Words, filters: int) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Yield stretches of rows, and which filters are true there, shape (rows, filters)."""
    step = max(1, _TABLE // filters)
    for start in range(0, len(asked), step):
        piece = slice(start, start + step)
        octets = np.ascontiguousarray(asked[piece], "<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=1, count=filters, bitorder="little")
        yield piece, bits.view(np.bool_)


def _mask(filters: int) -> Words:
    """Return the bits of all filters, shape (words,)."""
    bits = np.arange(-(-filters // _WORD) * _WORD) < filters
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)
