"""From decoded events to cells and integer weights: a total function of each row alone.

A row that the query cannot use (filtered out, a group value outside the public domain, no statistic
whose field it has) is dropped alone and counted for the custodian.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from operators.conditions.weights import Weight
from stream.counting.filtering import passing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.events.decoder import Batch
    from stream.model.filters import Where
    from stream.model.queries import AggregateSpec, Query

    _Mask = NDArray[np.bool_]

__all__ = ["ONE_EACH", "WEIGHT_LIMIT", "Rows", "check_weights", "project"]

WEIGHT_LIMIT: Final = 2**62
"""No weight and no sum passes this: beyond it they saturate."""

ONE_EACH: Final = (Weight.COUNT, Weight.DISTINCT_UNITS)
"""Statistics to which every event that counts adds 1."""

_WITH_PIVOTS: Final = (Weight.OFFSET, Weight.RANK)


@dataclass(frozen=True, slots=True)
class Rows:
    """Events of one partition that a query may count, in log order.

    Args:
        time_ms: shape (n,), int64: event times.
        append_ms: shape (n,), int64: append times, each given by the broker.
        offset: shape (n,), int64: offsets, not decreasing; equal ones (Arrow) in message order.
        cell: shape (n,), int64: predicate, in ``[0, len(query.domain))``.
        weight: shape (statistics, n), int64: what the event adds to each statistic of its cell.
        counts: shape (statistics, n), bool: which statistics it counts in, at least one.
        unit: shape (n, 2), uint64: keyed hash of the privacy unit's id.
        event_id: shape (n, 2), uint64: keyed hash of the event's id; ``None`` for feeds without.
    """

    time_ms: NDArray[np.int64]
    append_ms: NDArray[np.int64]
    offset: NDArray[np.int64]
    cell: NDArray[np.int64]
    weight: NDArray[np.int64]
    counts: NDArray[np.bool_]
    unit: NDArray[np.uint64]
    event_id: NDArray[np.uint64] | None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.cell)

    def take(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Rows:
        """Return the rows of a slice, at some positions, or where a mask is true."""
        if isinstance(rows, slice):
            weight, counts = self.weight[:, rows], self.counts[:, rows]
        else:
            rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
            weight, counts = self.weight.take(rows, axis=1), self.counts.take(rows, axis=1)
        return Rows(
            self.time_ms[rows],
            self.append_ms[rows],
            self.offset[rows],
            self.cell[rows],
            weight,
            counts,
            self.unit[rows],
            None if self.event_id is None else self.event_id[rows],
        )


def project(query: Query, batch: Batch) -> tuple[Rows, Mapping[str, int]]:
    """Filter a batch and give each row left its cell and its weights.

    A row counts in a statistic iff the statistic's own filter is true of it and it has a (finite)
    value of the statistic's field, where there are such.

    Args:
        query: whose WHERE, domain and aggregates to apply; they passed ``check_weights``.
        batch: valid rows of one partition in log order.

    Returns:
        The rows left, in log order, and how many were dropped by reason: ``filtered`` (WHERE is
        not true, or no statistic's filter is), ``out_of_domain`` (a group value is null or not
        declared), ``bad_value`` (null, NaN or infinite in the field of every statistic whose filter
        it passes). Reasons that dropped nothing are left out.

    Raises:
        ValueError: a statistic that adds up values names no field.
    """
    count = len(batch.time_ms)
    drops: Counter[str] = Counter()
    columns = _Columns(batch.rows)
    keep = np.ones(count, np.bool_)
    if query.where is not None:
        keep &= columns.passing(query.where)
    counts = np.ones((len(query.aggregates), count), np.bool_)
    for statistic, spec in enumerate(query.aggregates):
        if spec.where is not None:
            counts[statistic] &= columns.passing(spec.where)
    _narrow(keep, counts)
    drops["filtered"] = count - _true(keep)

    cell = np.zeros(count, np.int64)
    for name, values in zip(query.domain.fields, query.domain.values, strict=True):
        at = _positions(batch.rows.column(name), values)
        drops["out_of_domain"] += _true(keep & (at < 0))
        keep &= at >= 0
        cell *= len(values)
        cell += at

    weight = np.ones((len(query.aggregates), count), np.int64)
    left = _true(keep)
    for statistic, spec in enumerate(query.aggregates):
        if spec.field is not None:
            counts[statistic] &= columns.present(spec.field)
        if spec.kind not in ONE_EACH:
            weight[statistic] = _weights(spec, columns.granules(spec), cell)
    _narrow(keep, counts)
    drops["bad_value"] = left - _true(keep)

    rows = Rows(
        batch.time_ms,
        batch.append_ms,
        batch.offset,
        cell,
        weight,
        counts,
        batch.unit,
        batch.event_id,
    )
    return (rows if keep.all() else rows.take(keep)), +drops


def check_weights(spec: AggregateSpec, cells: int) -> None:
    """Check that every weight of a statistic is exact and within ``WEIGHT_LIMIT``.

    Args:
        spec: the statistic.
        cells: number of predicates.

    Raises:
        ValueError: values without a field, pivots missing or not one int64 per cell, a scale that
            is no positive whole number, clips out of order, or scale, clips, pivots or weights
            beyond 2**62.
    """
    if spec.kind in ONE_EACH:
        return
    if spec.field is None:
        raise ValueError("a statistic of values names its field")
    if not -WEIGHT_LIMIT <= spec.lo <= spec.hi <= WEIGHT_LIMIT:
        raise ValueError("a statistic's clips are in order and lie within 2**62 granules")
    if spec.kind in _WITH_PIVOTS:
        pivots = spec.pivots
        if pivots is None or pivots.shape != (cells,) or pivots.dtype != np.int64:
            raise ValueError("a statistic with pivots has one int64 for every predicate")
        if max(abs(int(pivots.min())), abs(int(pivots.max()))) > WEIGHT_LIMIT:
            raise ValueError("a statistic's pivots lie within 2**62")
    if spec.kind is Weight.OFFSET and not 1 <= spec.scale <= WEIGHT_LIMIT:
        raise ValueError("the scale of an offset lies between 1 and 2**62")
    # The product is checked apart: the difference from a pivot may be small where it is not.
    scale = spec.scale if spec.kind is Weight.OFFSET else 1
    if max(scale * abs(spec.lo), scale * abs(spec.hi), spec.largest) > WEIGHT_LIMIT:
        raise ValueError("a statistic's weights lie within 2**62")


class _Columns:
    """What statistics read of a batch, each made once however many of them read it."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self._rows = rows
        self._passing: dict[Where, _Mask] = {}
        self._present: dict[str, _Mask] = {}
        self._granules: dict[tuple[str, Fraction, int, int], NDArray[np.int64]] = {}

    def passing(self, where: Where) -> _Mask:
        """Return for which rows a filter is true."""
        if where not in self._passing:
            self._passing[where] = passing(where, self._rows)
        return self._passing[where]

    def present(self, field: str) -> _Mask:
        """Return which rows have a field, finite where it is a float."""
        if field not in self._present:
            column = self._rows.column(field)
            present: _Mask = column.is_valid().to_numpy(zero_copy_only=False)
            if pa.types.is_floating(column.type):
                values = column.fill_null(0).to_numpy(zero_copy_only=False)
                present = present & np.isfinite(values)
            self._present[field] = present
        return self._present[field]

    def granules(self, spec: AggregateSpec) -> NDArray[np.int64]:
        """Return clipped whole granules of a statistic's field; anything where there is none."""
        if spec.field is None:
            raise ValueError("a statistic of values names its field")
        granule = Fraction(1) if spec.granule is None else spec.granule
        key = (spec.field, granule, spec.lo, spec.hi)
        if key not in self._granules:
            values = self._rows.column(spec.field).fill_null(0).to_numpy(zero_copy_only=False)
            if np.issubdtype(values.dtype, np.floating):
                finite = np.where(self.present(spec.field), values, 0.0)
                granules = _float_granules(finite, granule)
            else:
                granules = _integer_granules(values.astype(np.int64), granule, spec.lo, spec.hi)
            self._granules[key] = np.clip(granules, spec.lo, spec.hi)
        return self._granules[key]


def _weights(
    spec: AggregateSpec, granules: NDArray[np.int64], cell: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what each row's value weighs in its cell; rows of no cell may get any weight."""
    if spec.kind is Weight.SUM:
        return granules
    if spec.pivots is None:
        raise ValueError("a statistic with pivots has one int64 for every predicate")
    pivots = spec.pivots.take(cell, mode="clip")
    if spec.kind is Weight.RANK:
        return np.where(granules > pivots, np.int64(spec.above), np.int64(spec.not_above))
    return granules * spec.scale - pivots


def _narrow(keep: _Mask, counts: _Mask) -> None:
    """Keep only rows that count in some statistic."""
    keep &= np.logical_or.reduce(counts)


def _true(mask: NDArray[np.bool_]) -> int:
    """Return how many values of a mask are true."""
    return int(np.count_nonzero(mask))


def _positions(column: Any, values: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the position of each row's group value in its public domain, -1 where it is not there.

    Strings are compared byte by byte, so that a value that is not UTF-8 is just another unknown
    value. Integers are known by their decimal notation, booleans by ``true`` and ``false``.
    """
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
    encoded = column.dictionary_encode()
    known = _domain_index(values)
    found = [known.get(_notation(value), -1) for value in encoded.dictionary.to_pylist()]
    # One more place for null, which dictionary_encode leaves out of the dictionary.
    table = np.array([*found, -1], np.int64)
    positions: NDArray[np.int64] = table[encoded.indices.fill_null(len(found)).to_numpy()]
    return positions


@lru_cache(maxsize=256)
def _domain_index(values: tuple[str, ...]) -> dict[bytes, int]:
    """Return the position of each domain value."""
    return {value.encode(): at for at, value in enumerate(values)}


def _notation(value: object) -> bytes:
    """Return how a domain writes a value."""
    if isinstance(value, bytes):
        return value
    return (str(value).lower() if isinstance(value, bool) else str(value)).encode()


def _float_granules(values: NDArray[np.float64], granule: Fraction) -> NDArray[np.int64]:
    """Return finite values in granules, to the nearest, halves to even."""
    with np.errstate(over="ignore"):
        granules = np.rint(values / float(granule))
    limit = float(WEIGHT_LIMIT)
    return np.clip(granules, -limit, limit).astype(np.int64)


def _integer_granules(
    values: NDArray[np.int64], granule: Fraction, lo: int, hi: int
) -> NDArray[np.int64]:
    """Return integers in granules, exactly, to the nearest, halves to even."""
    if granule == 1:
        return values
    over, under = granule.numerator, granule.denominator
    # Values beyond the clips by a granule or more end there anyway; without them nothing overflows.
    least, most = (lo - 1) * over // under, -(-(hi + 1) * over // under)
    if max(abs(least), abs(most)) * under + 2 * over < WEIGHT_LIMIT:
        scaled = np.clip(values, least, most) * under
        whole, rest = np.divmod(scaled, over)
        whole += (2 * rest > over) | ((2 * rest == over) & (whole % 2 == 1))
        return whole
    exact = (round(Fraction(value * under, over)) for value in values.tolist())
    return np.array([min(max(granules, lo), hi) for granules in exact], np.int64)
