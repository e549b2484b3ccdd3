"""What a band alarm counts: a decider's statistics as those of the counting, and its truth.

Every statistic of a decider is a sum of one weight per event, and so is one of the kinds that are
counted anyway; nothing new is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.deciders import Decider, Kind
    from stream.config.sql.comparisons import Measure

__all__ = [
    "MOST_STATISTICS",
    "BandCounting",
    "kind_of",
    "reference_aggregates",
    "span_of",
    "unit_of",
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


def unit_of(measure: Measure) -> Fraction:
    """Return what one unit of an aggregate, as deciders know it, is in its field's own unit."""
    return measure.unit / _parts(measure)


def span_of(measure: Measure) -> tuple[int | None, int | None]:
    """Return an aggregate's least and largest value, as deciders know it; ``None`` for no end."""
    least, most = (None if end is None else end * _parts(measure) for end in measure.span)
    return least, most


def _parts(measure: Measure) -> int:
    return AVERAGE_PARTS if measure.function is Function.AVG else 1


@dataclass(frozen=True, slots=True, eq=False)
class BandCounting:
    """The statistics of a band alarm.

    Args:
        aggregates: those of the decider, in order, then what only the condition reads.
        condition: true where the aggregate lies tau or more from its reference; a quantile of no
            events does. Atoms are the upper and the lower end of the band.
    """

    aggregates: tuple[AggregateSpec, ...]
    condition: Condition

    @classmethod
    def of(
        cls,
        decider: Decider,
        kind: Kind,
        measure: Measure,
        *,
        references: NDArray[np.int64],
    ) -> BandCounting:
        """Return what is counted for a decider.

        Args:
            decider: planned for ``kind``.
            kind: the aggregate.
            measure: the same as SQL has it.
            references: shape (cells,), int64.
        """
        tau = half_widths(decider.tau, references)
        counted = [_spec(each, measure, references, tau) for each in decider.statistics]
        sensitivities = [each.sensitivity for each in decider.statistics]
        if isinstance(kind, Count | Sum):
            whole = _whole(decider, kind)
            ends = [(whole, references + tau), (whole, references - (tau - 1))]
        else:
            clipped, sides = _clipped(measure), (references + tau, references - tau)
            levels = (0, 1)
            if isinstance(kind, Average):
                own = replace(clipped, kind=Weight.OFFSET, scale=kind.scale)
                moves = [int(end_sensitivities(kind, side).max(initial=1)) for side in sides]
            else:
                a, b = kind.share.as_integer_ratio()
                own = replace(clipped, kind=Weight.RANK, above=a, not_above=a - b)
                sides, levels = (sides[0] - 1, sides[1]), (1, 1)
                moves = [kind.sensitivity] * 2
            counted += [replace(own, pivots=side) for side in sides]
            sensitivities += moves
            ends = [
                (len(counted) - 2 + at, np.full_like(references, level))
                for at, level in enumerate(levels)
            ]
        atoms = {f"a{at}": ThresholdAtom(*end) for at, end in enumerate(ends, 1)}
        formula = Formula.parse("a1 OR NOT a2")
        return cls(tuple(counted), Condition(formula, atoms, tuple(sensitivities)))


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
    kind: Average | Quantile | None = None
    rows: tuple[Statistic, ...] = (Statistic(),)
    match measure.function:
        case Function.SUM:
            rows = (Statistic(Weight.SUM),)
        case Function.AVG | Function.QUANTILE:
            found = kind_of(measure, 1)
            if isinstance(found, Average):
                kind, rows = found, average_rows(found)
            elif isinstance(found, Quantile):
                kind, rows = found, tuple(counted_up_to(e, 1) for e in found.domain)
    nothing = np.zeros(cells, dtype=np.int64)
    return tuple(_spec(each, measure, nothing, nothing) for each in rows), kind


def _whole(decider: Decider, kind: Count | Sum) -> int:
    """Return which of a decider's statistics is the aggregate itself.

    Raises:
        ValueError: none is.
    """
    for at, each in enumerate(decider.statistics):
        match each.weight, kind:
            case Weight.COUNT, Count():
                return at
            case Weight.SUM, Sum(high=high) if each.cap is None or each.cap >= high:
                return at
    raise ValueError("no statistic of the decider is the aggregate")


def _spec(
    statistic: Statistic,
    measure: Measure,
    references: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> AggregateSpec:
    """Return a decider's statistic as one of the counting.

    Raises:
        ValueError: one of another kind.
    """
    match statistic.weight:
        case Weight.COUNT if measure.function is Function.DISTINCT:
            return AggregateSpec(Weight.DISTINCT_UNITS, where=measure.where)
        case Weight.COUNT:
            return AggregateSpec(Weight.COUNT, measure.present, where=measure.where)
        case Weight.SUM:
            clipped = _clipped(measure)
            high = clipped.hi if statistic.cap is None else min(clipped.hi, statistic.cap)
            return replace(clipped, lo=min(clipped.lo, high), hi=high)
        case Weight.RANK | Weight.OFFSET:
            around = references if statistic.relative else np.zeros_like(references)
            return replace(
                _clipped(measure),
                kind=statistic.weight,
                pivots=around + statistic.widths * widths + statistic.pivot,
                scale=statistic.scale,
                above=statistic.above,
                not_above=statistic.not_above,
            )
    raise ValueError("deciders ask for numbers, sums, distances and ranks of values")


def _clipped(of: Measure) -> AggregateSpec:
    """Return the sum of a measure's field."""
    return AggregateSpec(Weight.SUM, of.field, of.lo, of.hi, of.unit, of.where)
