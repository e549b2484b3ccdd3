"""Every comparison of every aggregate as integer tests ``s >= threshold``.

``s`` adds up one integer per event (``stream.model.alarm.AggregateSpec``): an empty cell has
``s = 0``, and one event moves ``s`` by a known amount. A comparison becomes a bound on such an
``s``. Values and thresholds are counted in granules of the field:
values are integers, thresholds any fractions.

An average, quantile, least or largest value of nothing is NULL, and no comparison with NULL holds:
a bound that would hold at ``s = 0`` is joined by a guard, the test that anything was counted. NOT
is pushed to the comparisons before they come here (``NOT AVG(x) > 5`` is ``AVG(x) <= 5``, which
NULL does not meet either).

Source of the quantiles' test: DP-PQD, whose median is the ceil(n/2)-th smallest value.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from operators.conditions.weights import Weight
from stream.model.alarm import AggregateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from operators.conditions.comparison import Comparison

__all__ = [
    "COUNTS",
    "FARTHEST",
    "LARGEST_SCALE",
    "LARGEST_STATISTIC",
    "ZERO_WHEN_EMPTY",
    "Aggregate",
    "Bound",
    "Function",
    "Tree",
    "reduce",
]

LARGEST_STATISTIC: Final = 1 << 62
"""Sums saturate here: thresholds and weights stay below."""
FARTHEST: Final = 1 << 60
"""Numbers beside a statistic stay below: sums and differences of a few of them fit into 64 bits."""
LARGEST_SCALE: Final = 10**6
"""Most parts that a resolution is cut into for the thresholds of an average."""

L = TypeVar("L")
M = TypeVar("M")


class Function(StrEnum):
    """What SQL computes of the events of a cell."""

    COUNT = "COUNT"
    DISTINCT = "COUNT(DISTINCT)"
    SUM = "SUM"
    AVG = "AVG"
    QUANTILE = "QUANTILE"
    MIN = "MIN"
    MAX = "MAX"
    LINEAR = "a sum of aggregates"


COUNTS: Final = frozenset({Function.COUNT, Function.DISTINCT})
"""What is in whole numbers, whatever the field's resolution."""
_ADDED_UP: Final = {
    Function.COUNT: Weight.COUNT,
    Function.DISTINCT: Weight.DISTINCT_UNITS,
    Function.SUM: Weight.SUM,
    Function.LINEAR: Weight.LINEAR,
}
ZERO_WHEN_EMPTY: Final = frozenset(_ADDED_UP)
"""What adds up event by event: of nothing it is 0, and not NULL."""
_EXTREMES: Final = {Function.MAX: (1, 0), Function.MIN: (0, 1)}
"""What values weigh above the threshold, and at it or below: one alone decides. No value lies below
a MIN, so that its test is negated."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a HAVING clause.

    Args:
        function: what is computed; the median is the quantile of 1/2.
        lo: lower clip of the values, in granules; of LINEAR, the least that an event adds.
        hi: upper clip of the values, in granules; of LINEAR, the most.
        quantile: a/b in (0, 1), b at most ``LARGEST_SCALE``: of n values the ceil(n a/b)-th
            smallest.
    """

    function: Function
    lo: int = 0
    hi: int = 0
    quantile: Fraction = Fraction(1, 2)

    @property
    def nullable(self) -> bool:
        """Whether it is NULL where nothing was counted."""
        return self.function not in ZERO_WHEN_EMPTY

    @property
    def span(self) -> tuple[int | None, int | None]:
        """Its least and its largest value, in granules; ``None`` where there is none."""
        match self.function:
            case Function.COUNT | Function.DISTINCT:
                return 0, None
            case Function.SUM | Function.LINEAR:
                return (0 if self.lo >= 0 else None), (0 if self.hi <= 0 else None)
            case _:
                return self.lo, self.hi

    @property
    def ends(self) -> tuple[int, int]:
        """Its span, beyond all statistics where it has no end."""
        least, most = self.span
        least = -LARGEST_STATISTIC if least is None else least
        return least, LARGEST_STATISTIC if most is None else most


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """``s >= threshold``, or its negation.

    Args:
        weights: what ``s`` adds up; its pivots are per threshold.
        thresholds: shape (thresholds,), int64.
        negated: whether it holds where ``s < threshold``.
        guard: whether it only says that anything was counted.
    """

    weights: AggregateSpec
    thresholds: NDArray[np.int64]
    negated: bool = False
    guard: bool = False

    def holds(self, statistic: int, at: int) -> bool:
        """Return its truth at one value of ``s``."""
        return bool(statistic >= self.thresholds[at]) is not self.negated


@dataclass(frozen=True, slots=True)
class Tree(Generic[L]):
    """Leaves under AND and OR; junctions of one kind never nest in each other.

    Args:
        leaf: the leaf; ``None`` for a junction.
        parts: at least two, of a junction.
        conjunction: AND rather than OR.
    """

    leaf: L | None = None
    parts: tuple[Tree[L], ...] = ()
    conjunction: bool = True

    @classmethod
    def joined(cls, parts: Iterable[Tree[L]], *, conjunction: bool) -> Tree[L]:
        """Return the parts under one connective, taking apart those that have the same."""
        flat: list[Tree[L]] = []
        for part in parts:
            same = part.leaf is None and part.conjunction is conjunction
            flat += part.parts if same else (part,)
        return flat[0] if len(flat) == 1 else cls(None, tuple(flat), conjunction)

    def leaves(self) -> Iterator[L]:
        """Yield the leaves, left to right."""
        if self.leaf is not None:
            yield self.leaf
        for part in self.parts:
            yield from part.leaves()

    def mapped(self, grow: Callable[[L], Tree[M]]) -> Tree[M]:
        """Return the tree with another one in the place of every leaf."""
        if self.leaf is not None:
            return grow(self.leaf)
        parts = [part.mapped(grow) for part in self.parts]
        return Tree.joined(parts, conjunction=self.conjunction)

    def holds(self, truth: Callable[[L], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return the truth of the tree from that of its leaves, arrays that go together."""
        if self.leaf is not None:
            return truth(self.leaf)
        fold = np.logical_and if self.conjunction else np.logical_or
        whole: NDArray[np.bool_] = functools.reduce(
            fold, [part.holds(truth) for part in self.parts]
        )
        return whole


def reduce(
    aggregate: Aggregate, comparison: Comparison, thresholds: Sequence[Fraction]
) -> Tree[Bound]:
    """Return a comparison as bounds on integer statistics, exactly.

    Guarantee: for every multiset of values within [lo, hi], the empty one included, the tree is
    true iff SQL's comparison is, null values having been left out.

    Args:
        aggregate: the left-hand side.
        comparison: how it is compared: one of >, >=, <, <=.
        thresholds: right-hand sides in granules, at least one; one per cell, or per group of cells
            that share theirs.

    Returns:
        The tree; arrays in it follow the order of ``thresholds``.

    Raises:
        ValueError: a threshold beyond 62 bits, or an average whose thresholds need a scale beyond
            ``LARGEST_SCALE``.
    """
    bound = _above(aggregate, thresholds, strict=comparison.after)
    if not comparison.upward:
        bound = replace(bound, negated=not bound.negated)
    if aggregate.nullable and bound.holds(0, 0):
        ones = np.ones(len(thresholds), dtype=np.int64)
        guard = Bound(AggregateSpec(Weight.COUNT), ones, guard=True)
        return Tree.joined([Tree(bound), Tree(guard)], conjunction=True)
    return Tree(bound)


def _above(aggregate: Aggregate, thresholds: Sequence[Fraction], *, strict: bool) -> Bound:
    """Return ``aggregate > threshold`` (``>=`` unless strict) where anything was counted."""
    function, ones = aggregate.function, np.ones(len(thresholds), dtype=np.int64)
    clipped = AggregateSpec(Weight.SUM, lo=aggregate.lo, hi=aggregate.hi)
    if function is Function.AVG:
        return Bound(_offsets(clipped, thresholds), ones * strict)
    firsts = _first_integers(thresholds, strict=strict)
    if function in _ADDED_UP:
        return Bound(replace(clipped, kind=_ADDED_UP[function]), firsts)
    # The ceil(n a/b)-th smallest is above c iff fewer than n a/b values are not: with g values
    # above and m not, b m < a (g + m).
    a, b = aggregate.quantile.as_integer_ratio()
    above, not_above = _EXTREMES.get(function, (a, a - b))
    ranks = replace(clipped, kind=Weight.RANK, pivots=firsts - 1, above=above, not_above=not_above)
    return Bound(ranks, ones, negated=function is Function.MIN)


def _offsets(clipped: AggregateSpec, thresholds: Sequence[Fraction]) -> AggregateSpec:
    """Return weights whose sum has the sign of the average's distance to the threshold."""
    scale = 1
    for threshold in thresholds:  # the least common multiple of many may be a number without end
        scale = lcm(scale, threshold.denominator)
        if scale > LARGEST_SCALE:
            message = "the threshold of AVG has too many decimals for the field's resolution"
            raise ValueError(message)
    pivots = _integers(scale * threshold for threshold in thresholds)
    return replace(clipped, kind=Weight.OFFSET, pivots=pivots, scale=scale)


def _first_integers(thresholds: Sequence[Fraction], *, strict: bool) -> NDArray[np.int64]:
    """Return the least integer above (at or above, unless strict) each threshold."""
    if strict:
        return _integers(floor(threshold) + 1 for threshold in thresholds)
    return _integers(ceil(threshold) for threshold in thresholds)


def _integers(values: Iterable[int | Fraction]) -> NDArray[np.int64]:
    whole = [int(value) for value in values]
    if not whole or max(map(abs, whole)) >= LARGEST_STATISTIC:
        raise ValueError("the threshold needs more than 62 bits")
    return np.array(whole, dtype=np.int64)
