"""From decoded events to cells and integer weights: a total function of each row alone.

A row that the query cannot use (filtered out, a group value outside the public domain, a sum over
something that is not a number) is dropped alone and counted for the custodian.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stream.model import AggregateKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.codecs import Batch
    from stream.model import AggregateSpec, Query

__all__ = ["WEIGHT_LIMIT", "Rows", "project"]

WEIGHT_LIMIT: Final = 2**62
"""No weight and no sum passes this: beyond it they saturate."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Events of one partition that a query may count, in log order.

    Args:
        time_ms: shape (n,), int64: event times.
        append_ms: shape (n,), int64: append times, each given by the broker.
        offset: shape (n,), int64: offsets, not decreasing; equal ones (Arrow) in message order.
        cell: shape (n,), int64: predicate, in ``[0, len(query.domain))``.
        weight: shape (n,), int64: what the event adds to its cell.
        unit: shape (n, 2), uint64: keyed hash of the privacy unit's id.
        event_id: shape (n, 2), uint64: keyed hash of the event's id; ``None`` for feeds without.
    """

    time_ms: NDArray[np.int64]
    append_ms: NDArray[np.int64]
    offset: NDArray[np.int64]
    cell: NDArray[np.int64]
    weight: NDArray[np.int64]
    unit: NDArray[np.uint64]
    event_id: NDArray[np.uint64] | None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.cell)

    def take(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Rows:
        """Return the rows of a slice, at some positions, or where a mask is true."""
        return Rows(
            self.time_ms[rows],
            self.append_ms[rows],
            self.offset[rows],
            self.cell[rows],
            self.weight[rows],
            self.unit[rows],
            None if self.event_id is None else self.event_id[rows],
        )


def project(query: Query, batch: Batch) -> tuple[Rows, Mapping[str, int]]:
    """Filter a batch and give each row left its cell and weight.

    Args:
        query: whose WHERE, domain and aggregate to apply.
        batch: valid rows of one partition in log order.

    Returns:
        The rows left, in log order, and how many were dropped by reason: ``filtered`` (WHERE is
        not true), ``out_of_domain`` (a group value is null or not declared), ``bad_value`` (the
        summed field is null, NaN or infinite). Reasons that dropped nothing are left out.

    Raises:
        ValueError: the query sums without naming a field.
    """
    count = len(batch.time_ms)
    drops: Counter[str] = Counter()
    keep = np.ones(count, np.bool_)
    if query.where is not None:
        keep &= query.where.mask(batch.rows)
        drops["filtered"] = count - _true(keep)

    cell = np.zeros(count, np.int64)
    for name, values in zip(query.domain.fields, query.domain.values, strict=True):
        at = _positions(batch.rows.column(name), values)
        drops["out_of_domain"] += _true(keep & (at < 0))
        keep &= at >= 0
        cell *= len(values)
        cell += at

    weight = np.ones(count, np.int64)
    if query.aggregate.kind is AggregateKind.SUM:
        weight, usable = _sum_weights(query.aggregate, batch.rows)
        drops["bad_value"] = _true(keep & ~usable)
        keep &= usable

    rows = Rows(
        batch.time_ms, batch.append_ms, batch.offset, cell, weight, batch.unit, batch.event_id
    )
    return (rows if keep.all() else rows.take(keep)), +drops


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


def _sum_weights(
    spec: AggregateSpec, rows: pa.RecordBatch
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return clipped whole granules of the summed field, and which rows have any."""
    if spec.field is None:
        raise ValueError("a sum names its field")
    column = rows.column(spec.field)
    usable: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    granule = Fraction(1) if spec.granule is None else spec.granule
    if np.issubdtype(values.dtype, np.floating):
        usable = usable & np.isfinite(values)
        granules = _float_granules(np.where(usable, values, 0.0), granule)
    else:
        granules = _integer_granules(values.astype(np.int64), granule, spec.lo, spec.hi)
    return np.clip(granules, spec.lo, spec.hi), usable


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
