"""Bounds on the heaviest row: the weight of every region, shared out over its attributes.

Share the weight of every region out over the attributes it constrains. A row that is in the region
has, at each of those attributes, a class that is; so what the row weighs is at most the sum, over
attributes, of the shares in its class there, and that at most the sum of the best class of each.
EVERY way to share out gives a safe bound, the dual of the linear relaxation; a subgradient method
looks for a good one.

Shares are whole multiples of ``weight / SHARE`` and all sums are whole numbers below ``2**53``, so
floating point adds them exactly, in any order: the bounds are rigorous, and the steps taken are the
same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indexes = NDArray[np.int64]

__all__ = ["LARGEST_TOTAL", "SHARE", "Part", "best_classes", "branches", "even", "stepped"]

SHARE = 1 << 20
"""Shares are multiples of one such part of a weight."""

LARGEST_TOTAL = 1 << 32
"""Rough weights sum to no more, so that times ``SHARE`` they stay below ``2**53``."""

_LEAST = 1e-4  # of a weight: a share of nothing would never grow again
_LEAST_FACTOR = 0.2  # of a share, in one step


@dataclass(slots=True)
class Part:
    """Undecided regions and the attributes they hang on, as matrices.

    Args:
        regions: which regions, ascending.
        attributes: which attributes, ascending; every region constrains one of them.
        asks: attributes by regions: 1.0 where the region constrains the attribute.
        holds: per attribute, classes by regions: 1.0 where the class is in the region's set.
        classes: per attribute, the number of each row of ``holds``.
        rough: weights of the regions, whole numbers.
        shares: attributes by regions, whole numbers; a region's add up to ``SHARE``.
    """

    regions: Indexes
    attributes: list[int]
    asks: Floats
    holds: list[Floats]
    classes: list[Indexes]
    rough: Floats
    shares: Floats

    @property
    def size(self) -> int:
        """Steps of one look at every class for every region."""
        return sum(holds.size for holds in self.holds)


def even(asks: Floats) -> Floats:
    """Share every weight out evenly over the attributes its region constrains."""
    return _whole(asks / np.maximum(asks.sum(axis=0), 1), asks)


def best_classes(part: Part, shares: Floats) -> tuple[list[int], int]:
    """Return the heaviest class of each attribute, and their sum: ``SHARE`` times the bound."""
    rows: list[int] = []
    total = 0
    for holds, weighed in zip(part.holds, shares * part.rough, strict=True):
        totals = holds @ weighed
        rows.append(int(totals.argmax()))
        total += int(totals[rows[-1]])
    return rows, total


def stepped(part: Part, shares: Floats, rows: list[int], excess: float) -> Floats:
    """Move shares away from the attributes whose best class holds a region.

    Args:
        part: the problem.
        shares: as they are.
        rows: the best class of each attribute under these shares.
        excess: how far the bound should fall, in rough weight.

    Returns:
        Other shares: a Polyak step, multiplicative, so that shares stay positive.
    """
    chosen = np.array([holds[row] for holds, row in zip(part.holds, rows, strict=True)])
    fractions = shares / SHARE
    slope = (chosen - (fractions * chosen).sum(axis=0)) * part.asks
    steepness = math.fsum(((fractions * slope * slope).sum(axis=0) * part.rough).tolist())
    if steepness <= 0:
        return shares
    moved = fractions * np.maximum(_LEAST_FACTOR, 1 - excess / steepness * slope)
    moved = np.maximum(moved, _LEAST) * part.asks
    return _whole(moved / moved.sum(axis=0), part.asks)


def branches(part: Part, at: int) -> tuple[list[int], Floats]:
    """Bound the rows of each class of one attribute.

    Args:
        part: the problem.
        at: position of the attribute among the part's.

    Returns:
        Per row of ``part.holds[at]``, ``SHARE`` times a bound on the rows of that class; and the
        shares once the attribute is decided.
    """
    others = part.asks.copy()
    others[at] = 0
    left = SHARE - part.shares[at]
    shares = np.floor(part.shares * others * SHARE / np.maximum(left, 1))
    shares = _completed(shares, others)
    inside = part.holds[at].T
    decided = part.rough * (others.sum(axis=0) == 0)
    bounds = (SHARE * decided) @ inside
    for other, holds in enumerate(part.holds):
        if other != at:
            bounds = bounds + (holds @ ((shares[other] * part.rough)[:, None] * inside)).max(axis=0)
    return [int(each) for each in bounds.tolist()], shares


def _whole(fractions: Floats, asks: Floats) -> Floats:
    """Return shares that add up to ``SHARE``, from fractions that nearly add up to one."""
    return _completed(np.floor(fractions * (SHARE - len(asks))), asks)


def _completed(shares: Floats, asks: Floats) -> Floats:
    """Give what is missing to the first attribute that a region constrains, if there is one."""
    if not asks.size:
        return shares
    first = asks.argmax(axis=0)
    everyone = np.arange(asks.shape[1])
    constrained = asks[first, everyone] > 0
    shares[first, everyone] += (SHARE - shares.sum(axis=0)) * constrained
    return shares
