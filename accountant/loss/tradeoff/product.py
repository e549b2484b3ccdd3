"""Tensor products: what several mechanisms give away together, between two polygons.

The product of two polygons is a polygon, with a piece for every pair of pieces. While these are few
it is exact; else lines that support it, at some of its slopes, are below it, and chords through
the points where they touch are above it. Both touch the true product at every slope that is kept.

Source: Parallel Composition, Definition 6 and Theorem 3. Proofs:
``docs/research/proofs/tradeoff.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from accountant.arguments import WHOLE, expect, instance_of, several
from accountant.errors import ArgumentError
from accountant.loss.tradeoff.curve import TradeOff, hull, supported
from accountant.loss.tradeoff.families import identity, slopes_between

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Between", "tensor", "tensor_power"]

PIECES: Final = 256
"""Slopes of a product, unless told otherwise."""

_MOST_PIECES: Final = 4_096
_TAIL: Final = 1e-30  # slopes beyond which so little lies are not worth a piece
_SAME: Final = 1e-12  # logarithms of slopes that are one


@dataclass(frozen=True, slots=True)
class Between:
    """A trade-off function that lies between two others.

    Args:
        low: at or below it: the guarantee.
        high: at or above it: no guarantee better than this is true.
    """

    low: TradeOff
    high: TradeOff


def tensor(curves: Sequence[TradeOff], pieces: int = PIECES) -> Between:
    """Return bounds of the tensor product: the composition of mechanisms that one row is in.

    Each may be chosen by the answers of those before it.

    Args:
        curves: any number; the product of none is the identity.
        pieces: slopes that are kept of a product, 2 to 4,096; more make the bounds closer, and
            take time by their square.

    Raises:
        ValueError: other numbers of pieces.

    Source: Parallel Composition, Definition 6 and Theorem 3.
    """
    expect(several(instance_of(TradeOff)), curves=curves)
    _expect_pieces(pieces)
    times: dict[TradeOff, int] = {}
    for curve in curves:
        times[curve] = times.get(curve, 0) + 1
    result = _itself(identity())
    for curve, many in times.items():
        result = _joined(result, tensor_power(curve, many, pieces), pieces)
    return result


def tensor_power(curve: TradeOff, times: int, pieces: int = PIECES) -> Between:
    """Return bounds of a trade-off function's product with itself, by squaring.

    Args:
        curve: of every mechanism.
        times: how many, at least 0.
        pieces: as in :func:`tensor`.

    Raises:
        ValueError: numbers out of range.
    """
    expect(instance_of(TradeOff), curve=curve)
    expect(WHOLE, times=times)
    _expect_pieces(pieces)
    if times < 0:
        raise ArgumentError("a mechanism is composed 0 times or more", hint="write times=16")
    result, square = _itself(identity()), _itself(curve)
    while times:
        if times & 1:
            result = _joined(result, square, pieces)
        times >>= 1
        if times:
            square = _joined(square, square, pieces)
    return result


def _itself(curve: TradeOff) -> Between:
    """Return bounds of a curve whose corners are short enough to be multiplied."""
    return Between(curve.rounded(), curve.rounded(upwards=True))


class _Scaled(NamedTuple):
    """A polygon in whole numbers: piece i leads from corner i to corner i + 1.

    Args:
        unit: what all are parts of.
        corners: alpha and 1 - beta, rising.
        pieces: what each adds to alpha, 0 for one from (0, 1) to (0, f(0)), and to 1 - beta.
    """

    unit: int
    corners: list[tuple[int, int]]
    pieces: list[tuple[int, int]]


def _joined(one: Between, other: Between, pieces: int) -> Between:
    """Return bounds of a product from bounds of its factors."""
    nothing = _itself(identity())
    if nothing in (one, other):
        return other if one == nothing else one
    ones, others = _scaled(one.low), _scaled(other.low)
    slopes = _slopes(ones, others, pieces)
    low = supported((slope, _touch(ones, others, slope)[2]) for slope in slopes)
    above = _scaled(one.high), _scaled(other.high)
    corners = [_touch(*above, slope)[:2] for slope in _between(slopes)]
    # Without the first point a chord would lead from the steepest piece up to (0, 1).
    high = hull([(Fraction(0), one.high(0) * other.high(0)), *corners])
    return Between(low.rounded(), high.rounded(upwards=True))


def _between(slopes: Sequence[Fraction]) -> list[Fraction]:
    """Return slopes between neighbours and beyond the ends: lines of these touch corners."""
    order = sorted(slopes)
    halfway = [(flat + steep) / 2 for flat, steep in pairwise(order)]
    return [order[0] / 2, *halfway, 2 * order[-1]]


def _touch(one: _Scaled, other: _Scaled, slope: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return a corner of the product with a supporting line of some slope, and its divergence.

    A pair of pieces is rejected where the product of the ratios of its gain to its size is above
    the slope. For a piece of the one these are the first pieces of the other, the fewer the less
    steep the piece is.
    """
    rise, run = slope.numerator, slope.denominator
    size = power = 0
    last = len(other.pieces)
    for p, q in one.pieces:
        while last and rise * p * other.pieces[last - 1][0] >= run * q * other.pieces[last - 1][1]:
            last -= 1
        if not last:
            break
        size += p * other.corners[last][0]
        power += q * other.corners[last][1]
    unit = one.unit * other.unit
    alpha, gained = Fraction(size, unit), Fraction(power, unit)
    return alpha, 1 - gained, gained - slope * alpha


def _slopes(one: _Scaled, other: _Scaled, pieces: int) -> list[Fraction]:
    """Return the slopes of all pieces of the product; its ends and some of them if too many."""
    ones, others = ([Fraction(q, p) for p, q in each.pieces if p] for each in (one, other))
    if len(one.pieces) * len(other.pieces) <= 4 * pieces:
        slopes = {Fraction(1)} | {steep * flat for steep in ones for flat in others}
        if len(slopes) <= pieces:
            return list(slopes)
    return [ones[0] * others[0], ones[-1] * others[-1], *_some_slopes(one, other, pieces)]


def _some_slopes(one: _Scaled, other: _Scaled, pieces: int) -> list[Fraction]:
    """Return slopes at which a product is looked at; which ones is a matter of floats alone."""
    steepness, weights = [], []
    for curve in (one, other):
        inner = [(p, q) for p, q in curve.pieces if p and q]
        steepness.append(np.array([math.log(q) - math.log(p) for p, q in inner]))
        weights.append(np.array([[p / curve.unit, q / curve.unit] for p, q in inner]))
    if not all(each.size for each in steepness):
        return []
    logs = np.add.outer(*steepness).ravel()
    order = np.argsort(logs)
    logs = logs[order]
    sizes, gains = (np.outer(weights[0][:, i], weights[1][:, i]).ravel()[order] for i in (0, 1))
    low = int(np.searchsorted(np.cumsum(sizes), _TAIL))
    high = logs.size - int(np.searchsorted(np.cumsum(gains[::-1]), _TAIL))
    logs = logs[min(low, logs.size - 1) : max(high, low + 1)]
    distinct = logs[np.concatenate([[True], np.diff(logs) > _SAME])]
    if distinct.size > pieces:
        return slopes_between(float(logs[0]), float(logs[-1]), pieces)
    return [Fraction(math.exp(each)) for each in distinct.tolist()]


def _scaled(curve: TradeOff) -> _Scaled:
    unit = math.lcm(*(part.denominator for corner in curve.corners for part in corner))
    corners = [(int(alpha * unit), int((1 - beta) * unit)) for alpha, beta in curve.corners]
    if corners[0][1]:
        corners.insert(0, (0, 0))
    pieces = [(p - alpha, q - power) for (alpha, power), (p, q) in pairwise(corners)]
    return _Scaled(unit, corners, pieces)


def _expect_pieces(pieces: int) -> None:
    expect(WHOLE, pieces=pieces)
    if not 2 <= pieces <= _MOST_PIECES:
        raise ArgumentError("a product keeps 2 to 4,096 slopes", hint="write pieces=256")
