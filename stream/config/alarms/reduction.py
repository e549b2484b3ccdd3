"""Every comparison of every aggregate as integer tests ``s >= threshold``.

``s`` adds up one integer per event (:class:`Weights`): an empty cell has ``s = 0``, and one event
moves ``s`` by a known amount. A comparison becomes a literal on such an ``s``, two of them for
``=`` and ``<>``. Values and thresholds are counted in granules of the field: values are integers,
thresholds any fractions.

An average, quantile, least or largest value of nothing is NULL, and no comparison with NULL holds:
a literal that would hold at ``s = 0`` is joined by a guard, the test that anything was counted. NOT
is pushed to the comparisons before they come here (``NOT AVG(x) > 5`` is ``AVG(x) <= 5``, which
NULL does not meet either).

Source of the quantiles' test: DP-PQD, whose median is the ceil(n/2)-th smallest value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor, lcm
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = [
    "LARGEST_SCALE",
    "LARGEST_STATISTIC",
    "Aggregate",
    "Function",
    "Literal",
    "Relation",
    "Tree",
    "WeightKind",
    "Weights",
    "reduce",
]

LARGEST_STATISTIC: Final = 1 << 62
"""Sums saturate here: thresholds and weights stay below."""
LARGEST_SCALE: Final = 10**6
"""Most parts that a granule is cut into for the thresholds of an average."""

L = TypeVar("L")
M = TypeVar("M")


class Relation(StrEnum):
    """How an aggregate, on the left, is compared."""

    GT = ">"
    GE = ">="
    LT = "<"
    LE = "<="
    EQ = "="
    NE = "<>"

    @property
    def negated(self) -> Relation:
        """What holds of a number exactly where this does not."""
        return _NEGATED[self]

    @property
    def flipped(self) -> Relation:
        """The same with the sides exchanged."""
        return _FLIPPED.get(self, self)


class Function(StrEnum):
    """What SQL computes of the events of a cell."""

    COUNT = "COUNT"
    DISTINCT = "COUNT(DISTINCT)"
    SUM = "SUM"
    AVG = "AVG"
    QUANTILE = "QUANTILE"
    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a HAVING clause.

    Args:
        function: what is computed; the median is the quantile of 1/2.
        lo: lower clip of the values, in granules.
        hi: upper clip of the values, in granules.
        quantile: a/b in (0, 1): of n values the ceil(n a/b)-th smallest.
    """

    function: Function
    lo: int = 0
    hi: int = 0
    quantile: Fraction = Fraction(1, 2)

    @property
    def nullable(self) -> bool:
        """Whether it is NULL where nothing was counted."""
        return self.function not in _ZERO_WHEN_EMPTY


class WeightKind(StrEnum):
    """How an event's weight follows from its value."""

    ONE = "one"
    """1 per event (or per privacy unit)."""
    VALUE = "value"
    """The clipped value x."""
    OFFSET = "offset"
    """``scale * x - pivot``."""
    RANK = "rank"
    """``above`` where x exceeds the pivot, else ``not_above``."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What a statistic adds up.

    Args:
        kind: the rule.
        pivots: shape (thresholds,), int64; of OFFSET in granules over ``scale``, of RANK in
            granules; ``None`` otherwise.
        scale: of OFFSET, 1 to ``LARGEST_SCALE``.
        above: of RANK.
        not_above: of RANK.
    """

    kind: WeightKind
    pivots: NDArray[np.int64] | None = None
    scale: int = 1
    above: int = 1
    not_above: int = 0

    def weight(self, value: int, at: int) -> int:
        """Return what an event weighs (the definition; pipelines do the same on arrays).

        Args:
            value: x, clipped, in granules.
            at: index of the threshold whose pivot applies.
        """
        if self.kind is WeightKind.ONE:
            return 1
        if self.kind is WeightKind.VALUE or self.pivots is None:
            return value
        if self.kind is WeightKind.OFFSET:
            return self.scale * value - int(self.pivots[at])
        return self.above if value > self.pivots[at] else self.not_above


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """``s >= threshold``, or its negation.

    Args:
        weights: what ``s`` adds up.
        thresholds: shape (thresholds,), int64.
        negated: whether it holds where ``s < threshold``.
        guard: whether it only says that anything was counted.
    """

    weights: Weights
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
        """Return the truth of the tree from that of its leaves, arrays of one shape."""
        if self.leaf is not None:
            return truth(self.leaf)
        parts = [part.holds(truth) for part in self.parts]
        fold = np.logical_and if self.conjunction else np.logical_or
        whole: NDArray[np.bool_] = fold.reduce(parts)
        return whole


def reduce(
    aggregate: Aggregate, relation: Relation, thresholds: Sequence[Fraction]
) -> Tree[Literal]:
    """Return a comparison as literals on integer statistics, exactly.

    Guarantee: for every multiset of values within [lo, hi], the empty one included, the tree is
    true iff SQL's comparison is, null values having been left out.

    Args:
        aggregate: the left-hand side.
        relation: how it is compared.
        thresholds: right-hand sides in granules, at least one; one per cell, or per group of cells
            that share theirs.

    Returns:
        The tree; arrays in it follow the order of ``thresholds``.

    Raises:
        ValueError: a threshold beyond 62 bits, a quantile outside (0, 1), an average whose
            thresholds need a scale beyond ``LARGEST_SCALE``, or weights beyond 62 bits.
    """
    match relation:
        case Relation.EQ | Relation.NE:
            equal = relation is Relation.EQ
            ends = (Relation.GE, Relation.LE) if equal else (Relation.GT, Relation.LT)
            parts = [reduce(aggregate, end, thresholds) for end in ends]
            return Tree.joined(parts, conjunction=equal)
        case Relation.LT | Relation.LE:
            upper = _above(aggregate, thresholds, strict=relation is Relation.LE)
            literal = replace(upper, negated=not upper.negated)
        case _:
            literal = _above(aggregate, thresholds, strict=relation is Relation.GT)
    if aggregate.nullable and literal.holds(0, 0):
        ones = np.ones(len(thresholds), dtype=np.int64)
        guard = Literal(Weights(WeightKind.ONE), ones, guard=True)
        return Tree.joined([Tree(literal), Tree(guard)], conjunction=True)
    return Tree(literal)


_NEGATED: Final = {
    Relation.GT: Relation.LE,
    Relation.GE: Relation.LT,
    Relation.LT: Relation.GE,
    Relation.LE: Relation.GT,
    Relation.EQ: Relation.NE,
    Relation.NE: Relation.EQ,
}
_FLIPPED: Final = {
    Relation.GT: Relation.LT,
    Relation.GE: Relation.LE,
    Relation.LT: Relation.GT,
    Relation.LE: Relation.GE,
}
_ZERO_WHEN_EMPTY: Final = frozenset({Function.COUNT, Function.DISTINCT, Function.SUM})


def _above(aggregate: Aggregate, thresholds: Sequence[Fraction], *, strict: bool) -> Literal:
    """Return ``aggregate > threshold`` (``>=`` unless strict) where anything was counted."""
    match aggregate.function:
        case Function.COUNT | Function.DISTINCT:
            return Literal(Weights(WeightKind.ONE), _first_integers(thresholds, strict=strict))
        case Function.SUM:
            return Literal(Weights(WeightKind.VALUE), _first_integers(thresholds, strict=strict))
        case Function.AVG:
            weights = _offsets(aggregate, thresholds)
            return Literal(weights, np.full(len(thresholds), int(strict), dtype=np.int64))
        case Function.MIN:  # no value lies below
            weights = _ranks(thresholds, strict=strict, above=0, not_above=1)
            return Literal(weights, np.ones(len(thresholds), dtype=np.int64), negated=True)
        case Function.MAX:
            weights = _ranks(thresholds, strict=strict, above=1, not_above=0)
        case Function.QUANTILE:
            # The ceil(n a/b)-th smallest is above c iff fewer than n a/b values are not: with g
            # values above and m not, b m < a (g + m).
            a, b = aggregate.quantile.as_integer_ratio()
            if not 0 < a < b <= LARGEST_SCALE:
                raise ValueError(f"a quantile is a/b in (0, 1), b at most {LARGEST_SCALE}")
            weights = _ranks(thresholds, strict=strict, above=a, not_above=a - b)
    return Literal(weights, np.ones(len(thresholds), dtype=np.int64))


def _offsets(aggregate: Aggregate, thresholds: Sequence[Fraction]) -> Weights:
    """Return weights whose sum has the sign of the average's distance to the threshold."""
    scale = 1
    for threshold in thresholds:
        scale = lcm(scale, threshold.denominator)
        if scale > LARGEST_SCALE:
            raise ValueError(
                f"the thresholds of an average split a granule into at most {LARGEST_SCALE} parts"
            )
    pivots = _integers(scale * threshold for threshold in thresholds)
    least, most = int(pivots.min()), int(pivots.max())
    if (
        max(abs(scale * aggregate.hi - least), abs(most - scale * aggregate.lo))
        >= LARGEST_STATISTIC
    ):
        raise ValueError("an average's weights lie within 62 bits")
    return Weights(WeightKind.OFFSET, pivots, scale)


def _ranks(thresholds: Sequence[Fraction], *, strict: bool, above: int, not_above: int) -> Weights:
    """Return weights that tell values above (at or above, unless strict) from the others."""
    pivots = _first_integers(thresholds, strict=strict) - 1
    return Weights(WeightKind.RANK, pivots, above=above, not_above=not_above)


def _first_integers(thresholds: Sequence[Fraction], *, strict: bool) -> NDArray[np.int64]:
    """Return the least integer above (at or above, unless strict) each threshold."""
    if strict:
        return _integers(floor(threshold) + 1 for threshold in thresholds)
    return _integers(ceil(threshold) for threshold in thresholds)


def _integers(values: Iterable[int | Fraction]) -> NDArray[np.int64]:
    whole = [int(value) for value in values]
    if not whole or max(map(abs, whole)) >= LARGEST_STATISTIC:
        raise ValueError("there is a threshold, and thresholds lie within 62 bits")
    return np.array(whole, dtype=np.int64)
