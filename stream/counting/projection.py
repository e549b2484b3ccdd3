"""From decoded events to cells and integer weights: a total function of each row alone.

A row that the alarm cannot use (filtered out, a group value outside the public domain, no statistic
whose field it has) is left out alone; its fate says where.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self, cast

import numpy as np
import pyarrow as pa

from operators.conditions.weights import Weight
from stream.counting.fates import Fate
from stream.counting.filtering import passing
from stream.counting.filters import asked
from stream.counting.sums import SUM_LIMIT
from stream.events.texts import Lexicon, Texts
from stream.events.units import Units

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from stream.events.decoder import Batch
    from stream.model.alarm import AggregateSpec, Alarm, Term
    from stream.model.feeds import Domain
    from stream.model.filters import Where

    _Mask = NDArray[np.bool_]

__all__ = [
    "ONE_EACH",
    "Columns",
    "Rows",
    "Table",
    "project",
]

ONE_EACH: Final = (Weight.COUNT, Weight.DISTINCT_UNITS)
"""Statistics to which every event that counts adds 1."""


class Table:
    """Columns of n rows, each of shape (n, ...) or ``None``: a dataclass with ``unit``."""

    __slots__ = ()
    unit: Units

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.unit)

    def take(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Self:
        """Return the rows of a slice, at some positions, or where a mask is true."""
        if not isinstance(rows, slice) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        made: Any = type(self)
        return cast("Self", made(*(_taken(getattr(self, name), rows) for name in made.__slots__)))


def _taken(column: Any, rows: slice | NDArray[Any]) -> Any:
    if column is None:
        return None
    if isinstance(rows, slice) or isinstance(column, Units):
        return column[rows]
    return column.take(rows, axis=0)  # several times faster where a row has several numbers


@dataclass(frozen=True, slots=True)
class Rows(Table):
    """Events of one partition that an alarm may count, in log order.

    Args:
        time_ms: shape (n,), int64: event times.
        append_ms: shape (n,), int64: append times, each given by the broker.
        offset: shape (n,), int64: offsets, not decreasing; equal ones (Arrow) in message order.
        cell: shape (n,), int64: in ``[0, len(query.counted))``.
        weight: shape (n, statistics), int64: what the event adds to each statistic of its cell.
        counts: shape (n, statistics), bool: which statistics it counts in, at least one.
        unit: of n rows.
        event_id: shape (n, 2), uint64: keyed hash of the event's id; ``None`` for feeds without.
        asked: shape (n, words), uint64: which of many filters are true of each row, as
            :mod:`stream.counting.filters` packs them; ``None`` where there is one filter.
    """

    time_ms: NDArray[np.int64]
    append_ms: NDArray[np.int64]
    offset: NDArray[np.int64]
    cell: NDArray[np.int64]
    weight: NDArray[np.int64]
    counts: NDArray[np.bool_]
    unit: Units
    event_id: NDArray[np.uint64] | None
    asked: NDArray[np.uint64] | None = None


def project(
    alarm: Alarm,
    batch: Batch,
    wheres: Sequence[Where | None] = (),
    columns: Columns | None = None,
) -> tuple[Rows, NDArray[np.uint8]]:
    """Filter a batch and give each row left its cell and its weights.

    A row counts in a statistic iff the statistic's own filter is true of it and it has a (finite)
    value of the statistic's field, where there are such; in a linear one, iff it counts in one of
    its terms, and it weighs what it weighs in all those that it counts in.

    Args:
        alarm: whose WHERE, domain and aggregates to apply; no weight passes ``SUM_LIMIT``.
        batch: valid rows of one partition in log order.
        wheres: if more than one, they take the place of the alarm's WHERE; a row is asked for if
            one of them is true of it.
        columns: of the batch, where other alarms read it, too.

    Returns:
        The rows left, in log order, and the fate of every row of the batch, shape (n,): ``USED``
        of those left, ``UNASKED``, ``OUT_OF_DOMAIN`` or ``BAD_VALUE`` of the others.

    Raises:
        ValueError: a statistic that adds up values names no field.
    """
    columns = columns or Columns(batch.rows)
    count = len(batch)
    asked = np.ones(count, np.bool_)
    filters = columns.asked(tuple(wheres)) if len(wheres) > 1 else None
    if filters is not None:
        asked &= filters.any(axis=1)
    elif alarm.where is not None:
        asked &= columns.passing(alarm.where)
    counts = np.empty((count, len(alarm.aggregates)), np.bool_)
    for statistic, spec in enumerate(alarm.aggregates):
        parts = [columns.filtered(part) for part in _parts(spec)]
        counts[:, statistic] = np.logical_or.reduce(parts)
    asked &= counts.any(axis=1)

    cell, known = columns.cells(alarm.counted)
    inside = asked & known
    weight = np.ones(counts.shape, np.int64)
    for statistic, spec in enumerate(alarm.aggregates):
        if spec.kind is Weight.LINEAR:
            counts[:, statistic], weight[:, statistic] = columns.linear(spec.terms)
            continue
        if spec.field is not None:
            counts[:, statistic] &= columns.present(spec.field)
        if spec.kind not in ONE_EACH:
            weight[:, statistic] = _weights(spec, columns.granules(spec), cell)
    keep = inside & counts.any(axis=1)

    rows = Rows(
        batch.time_ms,
        batch.append_ms,
        batch.offset,
        cell,
        weight,
        counts,
        batch.unit,
        batch.event_id,
        filters,
    )
    fates = np.full(count, Fate.USED, np.uint8)
    if keep.all():
        return rows, fates
    fates[~keep] = Fate.BAD_VALUE
    fates[~inside] = Fate.OUT_OF_DOMAIN
    fates[~asked] = Fate.UNASKED
    return rows.take(keep), fates


class Columns:
    """What alarms and their statistics read of a batch, made once however many of them read it.

    Args:
        rows: declared fields as columns of their declared types.
    """

    def __init__(self, rows: pa.RecordBatch) -> None:
        """Begin with nothing made."""
        self._rows = rows
        self._cells: list[tuple[Domain, tuple[NDArray[np.int64], _Mask]]] = []
        self._made: dict[Hashable, Any] = {}

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what is made for a key, made when it is first asked for."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def cells(self, domain: Domain) -> tuple[NDArray[np.int64], _Mask]:
        """Return the group of each row (anything where it has none), and which rows have one.

        Neither may be written to.
        """
        # Hashing a long domain costs more than comparing it with the few others there are.
        for other, made in self._cells:
            if other == domain:
                return made
        places = [
            _positions(self._rows.column(name), values)
            for name, values in zip(domain.fields, domain.values, strict=True)
        ]
        cell = places[0] if places else np.zeros(self._rows.num_rows, np.int64)
        known = cell >= 0
        for at, values in zip(places[1:], domain.values[1:], strict=True):
            known &= at >= 0
            cell *= len(values)
            cell += at
        self._cells.append((domain, (cell, known)))
        return cell, known

    def passing(self, where: Where) -> _Mask:
        """Return for which rows a filter is true."""
        return cast("_Mask", self._once(where, lambda: passing(where, self._rows)))

    def asked(self, wheres: tuple[Where | None, ...]) -> NDArray[np.uint64]:
        """Return which of some filters are true of each row, packed, shape (n, words)."""
        made = self._once(wheres, lambda: asked(wheres, self._rows))
        return cast("NDArray[np.uint64]", made)

    def filtered(self, spec: AggregateSpec) -> _Mask:
        """Return for which rows a statistic's own filter is true: all, without one."""
        if spec.where is None:
            return np.ones(self._rows.num_rows, np.bool_)
        return self.passing(spec.where)

    def linear(self, terms: Sequence[Term]) -> tuple[_Mask, NDArray[np.int64]]:
        """Return which rows count in a linear statistic, and what they weigh; shape (n,) each."""
        counts: list[_Mask] = []
        weight = np.zeros(self._rows.num_rows, np.int64)
        for term in terms:
            part = term.alone
            here = self.filtered(part)
            if part.field is not None:
                here = here & self.present(part.field)
            each = self.granules(part) if part.kind is Weight.SUM else 1
            weight += np.where(here, term.factor * each, 0)
            counts.append(here)
        return np.logical_or.reduce(counts), weight

    def present(self, field: str) -> _Mask:
        """Return which rows have a field, finite where it is a float."""
        return cast("_Mask", self._once(field, lambda: _present(self._rows.column(field))))

    def granules(self, spec: AggregateSpec) -> NDArray[np.int64]:
        """Return clipped whole granules of a statistic's field; anything where there is none."""
        key = (spec.field, spec.resolution, spec.lo, spec.hi)
        return cast("NDArray[np.int64]", self._once(key, lambda: self._granules(spec)))

    def _granules(self, spec: AggregateSpec) -> NDArray[np.int64]:
        if spec.field is None:
            raise ValueError("a statistic of values names its field")
        resolution = Fraction(1) if spec.resolution is None else spec.resolution
        values = self._rows.column(spec.field).fill_null(0).to_numpy(zero_copy_only=False)
        if np.issubdtype(values.dtype, np.floating):
            granules = _float_granules(np.where(self.present(spec.field), values, 0.0), resolution)
        else:
            granules = _integer_granules(values.astype(np.int64), resolution, spec.lo, spec.hi)
        return np.clip(granules, spec.lo, spec.hi)


def _present(column: pa.Array) -> _Mask:
    present: _Mask = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(column.type):
        present = present & np.isfinite(column.fill_null(0).to_numpy(zero_copy_only=False))
    return present


def _weights(
    spec: AggregateSpec, granules: NDArray[np.int64], cell: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what each row's value weighs in its cell; rows of no cell may get any weight."""
    if spec.kind is Weight.SUM:
        return granules
    if spec.pivots is None:
        raise ValueError("a statistic with pivots has one int64 for every group")
    pivots = spec.pivots.take(cell, mode="clip")
    if spec.kind is Weight.RANK:
        return np.where(granules > pivots, np.int64(spec.above), np.int64(spec.not_above))
    return granules * spec.scale - pivots


def _parts(spec: AggregateSpec) -> tuple[AggregateSpec, ...]:
    """Return the statistics that one is made of: the terms of a linear one, or itself."""
    return tuple(term.alone for term in spec.terms) or (spec,)


def _positions(column: pa.Array, values: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the position of each row's group value in its public domain, -1 where it is not there.

    Values are compared byte by byte: integers are known by their decimal notation, booleans by
    ``true`` and ``false``.
    """
    positions = _domain_index(values).find(Texts.of(column.cast(pa.string())))
    if column.null_count:
        positions[column.is_null().to_numpy(zero_copy_only=False)] = -1
    return positions


@lru_cache(maxsize=256)
def _domain_index(values: tuple[str, ...]) -> Lexicon:
    """Return the values of a domain, each numbered by its position."""
    texts = Texts.of(pa.array(values, pa.string()))
    lexicon = Lexicon(b"", texts.most)
    lexicon.add(texts)
    return lexicon


def _float_granules(values: NDArray[np.float64], resolution: Fraction) -> NDArray[np.int64]:
    """Return finite values in granules, to the nearest, halves to even."""
    with np.errstate(over="ignore"):
        granules = np.rint(values / float(resolution))
    limit = float(SUM_LIMIT)
    return np.clip(granules, -limit, limit).astype(np.int64)


def _integer_granules(
    values: NDArray[np.int64], resolution: Fraction, lo: int, hi: int
) -> NDArray[np.int64]:
    """Return integers in granules, exactly, to the nearest, halves to even."""
    if resolution == 1:
        return values
    over, under = resolution.numerator, resolution.denominator
    # Values beyond the clips by a step or more end there anyway; without them nothing overflows.
    least, most = (lo - 1) * over // under, -(-(hi + 1) * over // under)
    if max(abs(least), abs(most)) * under + 2 * over < SUM_LIMIT:
        scaled = np.clip(values, least, most) * under
        whole, rest = np.divmod(scaled, over)
        whole += (2 * rest > over) | ((2 * rest == over) & (whole % 2 == 1))
        return whole
    exact = (round(Fraction(value * under, over)) for value in values.tolist())
    return np.array([min(max(granules, lo), hi) for granules in exact], np.int64)
