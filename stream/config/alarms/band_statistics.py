"""What a band alarm counts: a decider's statistics as those of the counting, and its truth.

Every statistic of a decider is a sum of one weight per event, and so is one of the kinds that are
counted anyway; nothing new is counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.conditions.weights import Statistic, Weight
from operators.conditions.widths import half_widths
from operators.deciders import Average, Count, Quantile, Sum
from operators.deciders.averages import average_rows, end_sensitivities
from operators.deciders.base import counted_up_to
from stream.config.alarms.reduction import Function
from stream.model.alarm import AggregateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from operators.deciders import Decider, Kind
    from stream.config.sql.comparisons import Measure

__all__ = [
    "MOST_STATISTICS",
    "counting_of",
    "in_units",
    "kind_of",
    "reference_aggregates",
]

MOST_STATISTICS: Final = 256
"""Most statistics of a decider that are counted."""

AVERAGE_PARTS: Final = 1_000
"""References and half-widths of an average are given in so many parts of a resolution."""


def kind_of(measure: Measure, cap: int, *, repeats: bool = False) -> Kind:
    """Return an aggregate as deciders know it, in granules.

    Args:
        measure: COUNT, COUNT(DISTINCT), SUM, AVG or QUANTILE.
        cap: how many events of one neighbour may count in a cell.
        repeats: whether an event may count in one statistic and not in another, as a repetition.
            For a share a/b, its number and its rank then move a quantile's margin by b, not by
            max(a, b - a): as two events might.

    Raises:
        ValueError: numbers beyond what deciders take.
    """
    if measure.function is Function.COUNT:
        return Count(cap)
    if measure.function is Function.DISTINCT:
        return Count(1)
    if measure.function is Function.SUM:
        return Sum(measure.lo, measure.hi, cap)
    if measure.function is Function.AVG:
        return Average(measure.lo, measure.hi, cap, AVERAGE_PARTS)
    values = range(measure.lo, measure.hi + 1)
    return Quantile(measure.quantile, values, 2 * cap if repeats else cap)


def in_units(measure: Measure) -> Measure:
    """Return an aggregate with clip and unit as deciders know it."""
    if measure.function is not Function.AVG:
        return measure
    lo, hi = AVERAGE_PARTS * measure.lo, AVERAGE_PARTS * measure.hi
    return replace(measure, lo=lo, hi=hi, unit=measure.unit / AVERAGE_PARTS)


def counting_of(
    decider: Decider, kind: Kind, measure: Measure, references: NDArray[np.int64]
) -> tuple[tuple[AggregateSpec, ...], Condition]:
    """Return what is counted for a decider.

    Args:
        decider: planned for ``kind``.
        kind: the aggregate.
        measure: the same as SQL has it.
        references: shape (cells,), int64.

    Returns:
        The statistics of the decider, in order, then what only the condition reads; and the
        condition, true where the aggregate lies tau or more from its reference; a quantile of no
        events does. Atoms are the upper and the lower end of the band.
    """
    tau = half_widths(decider.tau, references)
    statistics = list(decider.statistics)
    if isinstance(kind, Count | Sum):
        whole = _whole(statistics, kind)
        ends = [(whole, references + tau), (whole, references - (tau - 1))]
    else:
        levels = (0, 1) if isinstance(kind, Average) else (1, 1)
        ends = [
            (at, np.full_like(references, level))
            for at, level in enumerate(levels, len(statistics))
        ]
        statistics += _at_ends(kind, references, tau)
    atoms = {f"a{at}": ThresholdAtom(*end) for at, end in enumerate(ends, 1)}
    sensitivities = tuple(each.sensitivity for each in statistics)
    aggregates = tuple(_spec(each, measure, references, tau) for each in statistics)
    return aggregates, Condition(Formula.parse("a1 OR NOT a2"), atoms, sensitivities)


def _at_ends(
    kind: Average | Quantile, references: NDArray[np.int64], tau: NDArray[np.int64]
) -> list[Statistic]:
    """Return statistics that tell on which side of its band's upper and lower end a cell lies."""
    if isinstance(kind, Average):
        offset = Statistic(Weight.OFFSET, relative=True, scale=kind.scale)
        return [
            replace(
                offset,
                widths=way,
                sensitivity=int(end_sensitivities(kind, references + way * tau).max(initial=1)),
            )
            for way in (1, -1)
        ]
    a, b = kind.share.as_integer_ratio()
    rank = Statistic(
        Weight.RANK, relative=True, above=a, not_above=a - b, sensitivity=kind.sensitivity
    )
    return [replace(rank, widths=1, pivot=-1), replace(rank, widths=-1)]


def reference_aggregates(
    measure: Measure, cells: int
) -> tuple[tuple[AggregateSpec, ...], Average | Quantile | None]:
    """Return what is counted on a public feed, and how it is read.

    Args:
        measure: COUNT, COUNT(DISTINCT), SUM, AVG or QUANTILE, of that feed.
        cells: groups.

    Raises:
        ValueError: numbers beyond what deciders take.
    """
    kind = kind_of(measure, 1)
    rows: tuple[Statistic, ...] = (Statistic(),)
    match kind:
        case Sum():
            rows = (Statistic(Weight.SUM),)
        case Average():
            rows = average_rows(kind)
        case Quantile():
            rows = tuple(counted_up_to(end, 1) for end in kind.domain)
    nothing = np.zeros(cells, dtype=np.int64)
    read = kind if isinstance(kind, Average | Quantile) else None
    return tuple(_spec(each, measure, nothing, nothing) for each in rows), read


def _whole(statistics: Sequence[Statistic], kind: Count | Sum) -> int:
    """Return which of a decider's statistics is the aggregate itself."""
    weight, high = (Weight.SUM, kind.high) if isinstance(kind, Sum) else (Weight.COUNT, 0)
    return next(
        at
        for at, each in enumerate(statistics)
        if each.weight is weight and (each.cap is None or each.cap >= high)
    )


def _spec(
    statistic: Statistic,
    measure: Measure,
    references: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> AggregateSpec:
    """Return a decider's statistic as one of the counting."""
    clipped = AggregateSpec(
        Weight.SUM, measure.field, measure.lo, measure.hi, measure.unit, measure.where
    )
    match statistic.weight:
        case Weight.COUNT if measure.function is Function.DISTINCT:
            return AggregateSpec(Weight.DISTINCT_UNITS, where=measure.where)
        case Weight.COUNT:
            return AggregateSpec(Weight.COUNT, measure.present, where=measure.where)
        case Weight.SUM:
            high = clipped.hi if statistic.cap is None else min(clipped.hi, statistic.cap)
            return replace(clipped, lo=min(clipped.lo, high), hi=high)
        case _:  # distances and ranks of values
            return replace(
                clipped,
                kind=statistic.weight,
                pivots=statistic.relative * references
                + statistic.widths * widths
                + statistic.pivot,
                scale=statistic.scale,
                above=statistic.above,
                not_above=statistic.not_above,
            )
