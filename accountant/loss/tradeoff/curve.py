"""Trade-off functions as exact convex polygons: how often a test of given size must miss.

Corners are rational, so that nothing here is rounded but the numbers that leave as epsilon, delta
or floats. Lower is less private: where a curve cannot be had exactly, one below it stands in.

Source: Parallel Composition, Definitions 3, 4 and 7, Proposition 1, Lemma 1 and Corollary 1; that
lines below a curve and hockey-stick divergences say the same is Dong, Roth and Su (2022),
Proposition 6. Proofs: ``docs/research/proofs/tradeoff.md``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from accountant.arguments import EXACT, NUMBER, expect, instance_of, several, tuple_of
from accountant.errors import ArgumentError
from accountant.loss.rounding import exp_bounds, float_up, log_bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Corner", "Number", "TradeOff", "exact", "hull", "lower_envelope", "supported"]

Corner: TypeAlias = tuple[Fraction, Fraction]
"""The size of a test and its least miss rate."""
Number: TypeAlias = int | float | Fraction
"""A float counts as the rational it is."""

_SCALE: Final = 1 << 160
_FAR: Final = Fraction(1_000)  # delta falls: at any larger epsilon it is no more than here
_ZERO: Final = Fraction(0)
_ONE: Final = Fraction(1)
_END: Final = (_ONE, _ZERO)


@dataclass(frozen=True, slots=True)
class TradeOff:
    """A trade-off function f: a test of size alpha misses with probability f(alpha) at least.

    A mechanism is f-differentially private if that holds for every test that tells two neighbours
    apart, whichever of them is the null hypothesis.

    Args:
        corners: (alpha, f(alpha)) from alpha = 0 to (1, 0), alpha rising; f is linear in between.

    Raises:
        ValueError: what no two laws have for a trade-off function, by Proposition 1: it rises, it
            bends the wrong way, or it lies above 1 - alpha.

    Source: Parallel Composition, Definitions 3 and 4.
    """

    corners: tuple[Corner, ...]

    def __post_init__(self) -> None:
        """Refuse what is no trade-off function."""
        expect(tuple_of(tuple_of(EXACT)), corners=self.corners)
        if (
            any(len(corner) != 2 for corner in self.corners)
            or len(self.corners) < 2
            or self.corners[0][0] != 0
            or not 0 <= self.corners[0][1] <= 1
            or self.corners[-1] != _END
            or any(after[0] <= before[0] for before, after in pairwise(self.corners))
            or any(steep > flat for steep, flat in pairwise([*_slopes(self.corners), _ZERO]))
        ):
            raise ArgumentError(
                "a trade-off function falls ever less steeply from (0, 1) or below it to (1, 0)",
                hint="write TradeOff(((Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))))",
            )

    @classmethod
    def of_laws(cls, null: Sequence[Fraction], other: Sequence[Fraction]) -> TradeOff:
        """Return T(P, P') of two finite laws, exactly.

        Neyman and Pearson: the best tests reject outcomes in the order of P'/P.

        Args:
            null: P by outcome, exact, adding up to 1.
            other: P' of the same outcomes, in the same order.

        Raises:
            ValueError: no laws, or of different lengths.
        """
        expect(several(EXACT), null=null, other=other)
        if len(null) != len(other) or any(sum(law) != 1 or min(law) < 0 for law in (null, other)):
            raise ArgumentError(
                "laws list masses of the same outcomes, at least 0, that add up to 1",
                hint="write [Fraction(3, 4), Fraction(1, 4)] and [Fraction(1, 4), Fraction(3, 4)]",
            )
        pairs = [(Fraction(p), Fraction(q)) for p, q in zip(null, other, strict=True) if p or q]
        pairs.sort(key=lambda pair: pair[1] / (pair[0] + pair[1]), reverse=True)
        corners = [(_ZERO, _ONE)]
        for p, q in pairs:
            corners.append((corners[-1][0] + p, corners[-1][1] - q))
        return hull(corners)

    def __call__(self, alpha: Number) -> Fraction:
        """Return f(alpha), exactly.

        Raises:
            ValueError: alpha outside 0 to 1.
        """
        size = exact(alpha, "alpha")
        if not 0 <= size <= 1:
            raise ArgumentError("the size of a test lies between 0 and 1", hint="write 0.05")
        at = bisect_left(self.corners, (size,))
        if self.corners[at][0] == size:
            return self.corners[at][1]
        (left, high), (right, low) = self.corners[at - 1 : at + 1]
        return high + (low - high) * (size - left) / (right - left)

    def at_least(self, other: TradeOff) -> bool:
        """Return whether f >= g everywhere: then whoever is f-private is g-private."""
        expect(instance_of(TradeOff), other=other)
        sizes = {corner[0] for curve in (self, other) for corner in curve.corners}
        return all(self(size) >= other(size) for size in sizes)

    @property
    def inverse(self) -> TradeOff:
        """The curve with the two hypotheses exchanged: T(P', P) of T(P, P')."""
        return hull([(beta, alpha) for alpha, beta in self.corners])

    def rounded(self, *, upwards: bool = False) -> TradeOff:
        """Return a curve on whole parts of 2^-160, below this one or above; itself if it is short.

        Args:
            upwards: whether to look for one above.
        """
        if all(part.denominator <= _SCALE for corner in self.corners for part in corner):
            return self
        turn = math.ceil if upwards else math.floor
        parts = ((turn(alpha * _SCALE), turn(beta * _SCALE)) for alpha, beta in self.corners)
        return hull((Fraction(alpha, _SCALE), Fraction(beta, _SCALE)) for alpha, beta in parts)

    def divergence(self, slope: Fraction) -> Fraction:
        """Return the most of P'(S) - slope P(S) over events S, exactly.

        Args:
            slope: exact, at least 0.
        """
        expect(EXACT, slope=slope)
        return max(1 - beta - slope * alpha for alpha, beta in self.corners)

    def delta(self, epsilon: Number) -> float:
        """Return the least delta with P'(S) <= e^epsilon P(S) + delta for all S, rounded up.

        As f holds for neighbours in either order, the mechanism is (epsilon, delta)-private.

        Args:
            epsilon: at least 0.

        Raises:
            ValueError: a negative epsilon.
        """
        loss = exact(epsilon, "epsilon")
        if loss < 0:
            raise ArgumentError("epsilon is at least 0", hint="write 0.5")
        return float_up(max(_ZERO, self.divergence(exp_bounds(min(loss, _FAR))[0])))

    def epsilon(self, delta: Number) -> float:
        """Return the least epsilon whose :meth:`delta` is no larger than this, rounded up.

        Args:
            delta: from 0 to 1.

        Returns:
            Infinity where no epsilon does.

        Raises:
            ValueError: a delta out of range.
        """
        spare = exact(delta, "delta")
        if not 0 <= spare <= 1:
            raise ArgumentError("delta lies between 0 and 1", hint="write 1e-6")
        if self.corners[0][1] < 1 - spare:
            return math.inf
        ratios = [(1 - beta - spare) / alpha for alpha, beta in self.corners[1:]]
        steepest = max(ratios)
        return 0.0 if steepest <= 1 else float_up(log_bounds(steepest)[1])


def lower_envelope(curves: Sequence[TradeOff]) -> TradeOff:
    """Return the lower convex envelope: the largest trade-off function below all of them, exactly.

    Mechanisms that look at disjoint sets of rows are private by it together (Theorem 5).

    Args:
        curves: at least one.

    Raises:
        ValueError: no curves.

    Source: Parallel Composition, Definition 7, Lemma 1 and Theorem 5.
    """
    expect(several(instance_of(TradeOff)), curves=curves)
    if not curves:
        raise ArgumentError(
            "an envelope is of one trade-off function at least",
            hint="write lower_envelope([pure(0.5), gaussian(0.3)])",
        )
    return hull([corner for curve in curves for corner in curve.corners])


def hull(points: Iterable[Corner]) -> TradeOff:
    """Return the lower convex hull of points that lie in the unit square, (1, 0) with them.

    The curve falls: no size is worth less than a smaller one. Of points on or below a trade-off
    function the hull is below it, and of points on or above one it is above.
    """
    corners = _lowest({*points, _END})
    return TradeOff((*corners, _END) if corners[-1][0] < 1 else corners)


def supported(lines: Iterable[Corner]) -> TradeOff:
    """Return the largest trade-off function that lines are known to support.

    Args:
        lines: pairs of a slope s >= 0 and a delta: f(alpha) >= 1 - delta - s alpha. Larger deltas
            make a lower curve.
    """
    # The dual of a hull: at alpha the highest line is that with the least delta + s alpha.
    kept = _lowest({*lines, (_ZERO, _ONE)})[::-1]
    corners = [(_ZERO, 1 - kept[0][1])]
    for (steep, less), (flat, more) in pairwise(kept):
        alpha = (more - less) / (steep - flat)
        corners.append((alpha, 1 - more - flat * alpha))
    return hull(corners)


def _lowest(points: Iterable[Corner]) -> tuple[Corner, ...]:
    """Return the corners of the lower convex hull that fall, from the left."""
    corners: list[Corner] = []
    for right, low in sorted(points):
        if corners and low >= corners[-1][1]:
            continue
        while len(corners) > 1:
            (left, high), (middle, between) = corners[-2:]
            if (between - high) * (right - left) < (low - high) * (middle - left):
                break
            corners.pop()
        corners.append((right, low))
    return tuple(corners)


def exact(number: Number, name: str) -> Fraction:
    """Return a number as the rational it is.

    Raises:
        ValueError: none, or one that is not finite.
    """
    expect(NUMBER, **{name: number})
    if not math.isfinite(number):
        raise ArgumentError(f"`{name}` is NaN or infinite", hint="write 0.5 or Fraction(1, 2)")
    return Fraction(number)


def _slopes(corners: Sequence[Corner]) -> list[Fraction]:
    return [(low - high) / (right - left) for (left, high), (right, low) in pairwise(corners)]
