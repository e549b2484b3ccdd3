"""What a band alarm counts: a decider's statistics as those of the counting, and its truth.

Every statistic of a decider is a sum of one weight per event, and so is one of the kinds that are
counted anyway; nothing new is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from operators.conditions.condition import Condition, ThresholdAtom
from operators.conditions.formula import Formula
from operators.conditions.weights import Statistic, Weight
from operators.deciders import Count, Quantile, Sum
from stream.config.alarms.reduction import Function
from stream.model.queries import AggregateSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.deciders import Decider, Kind
    from stream.config.sql.comparisons import Measure
    from stream.model.feeds import Feed

__all__ = ["BandCounting", "kind_of", "reference_aggregate"]


def kind_of(measure: Measure, feed: Feed, cap: int, *, repeats: bool = False) -> Kind:
    """Return an aggregate as deciders know it, in granules.

    Args:
        measure: COUNT, COUNT(DISTINCT), SUM or QUANTILE.
        feed: declares its field.
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
    of = measure.on(feed)
    if of.function is Function.SUM:
        return Sum(of.lo, of.hi, cap)
    return Quantile(of.quantile, range(of.lo, of.hi + 1), 2 * cap if repeats else cap)


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
        feed: Feed,
        *,
        tau: int,
        references: NDArray[np.int64],
    ) -> BandCounting:
        """Return what is counted for a decider.

        Args:
            decider: planned for ``kind`` and ``tau``.
            kind: the aggregate.
            measure: the same as SQL has it.
            feed: declares its field.
            tau: half-width of the band, in units of the aggregate.
            references: shape (cells,), int64.
        """
        counted = [_spec(each, measure, feed, references) for each in decider.statistics]
        sensitivities = [each.sensitivity for each in decider.statistics]
        if isinstance(kind, Quantile):
            upper, lower = len(counted), len(counted) + 1
            a, b = kind.share.as_integer_ratio()
            rank = replace(_clipped(measure, feed), kind=Weight.RANK, above=a, not_above=a - b)
            counted += [
                replace(rank, pivots=pivots)
                for pivots in (references + (tau - 1), references - tau)
            ]
            sensitivities += [kind.sensitivity] * 2
            ones = np.ones_like(references)
            ends = (ThresholdAtom(upper, ones), ThresholdAtom(lower, ones))
        else:
            whole = _whole(decider, kind)
            ends = (
                ThresholdAtom(whole, references + tau),
                ThresholdAtom(whole, references - (tau - 1)),
            )
        atoms = dict(zip(("a1", "a2"), ends, strict=True))
        formula = Formula.parse("a1 OR NOT a2")
        return cls(tuple(counted), Condition(formula, atoms, tuple(sensitivities)))


def reference_aggregate(measure: Measure, feed: Feed) -> AggregateSpec:
    """Return COUNT, COUNT(DISTINCT) or SUM as counted on a public feed, which declares its field.

    Raises:
        ValueError: another aggregate.
    """
    if measure.function is Function.QUANTILE:
        raise ValueError("a quantile is no sum of one weight per event")
    statistic = Statistic(Weight.SUM if measure.function is Function.SUM else Weight.COUNT)
    return _spec(statistic, measure, feed, np.zeros(0, dtype=np.int64))


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
    statistic: Statistic, measure: Measure, feed: Feed, references: NDArray[np.int64]
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
            clipped = _clipped(measure, feed)
            high = clipped.hi if statistic.cap is None else min(clipped.hi, statistic.cap)
            return replace(clipped, lo=min(clipped.lo, high), hi=high)
        case Weight.RANK:
            around = references if statistic.relative else np.zeros_like(references)
            return replace(
                _clipped(measure, feed),
                kind=Weight.RANK,
                pivots=around + statistic.pivot,
                above=statistic.above,
                not_above=statistic.not_above,
            )
    raise ValueError("deciders ask for numbers, sums and ranks of values")


def _clipped(measure: Measure, feed: Feed) -> AggregateSpec:
    """Return the sum of a measure's field."""
    of, granule = measure.on(feed), feed.fields[measure.field or ""].granule
    return AggregateSpec(
        Weight.SUM, measure.field, lo=of.lo, hi=of.hi, granule=granule, where=measure.where
    )
