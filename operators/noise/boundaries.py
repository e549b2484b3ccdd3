"""Boundaries on a grid of noise levels: how far the noise strays, whatever walk reads it.

The noise of gradual release is a Markov chain over its levels. The probability that it falls below
a boundary at *any* level is computed here by an exact forward recursion, certified from above. A
walk that skips levels, and chooses them from what it has read, can then only cross fewer
boundaries. The proof is in ``docs/research/proofs/progressive.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from accountant.errors import ArgumentError
from operators.noise.certified import exp_neg_bounds
from operators.noise.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Boundaries", "Cut", "boundaries", "finest_cut"]

_ONE: Final = 1 << 64
_CUT_BITS: Final = 192


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the finest level cuts: below ``-shift`` always, at ``-shift`` with a coin.

    Args:
        shift: whole steps, >= 0.
        drop: probability in [0, 1] of falling under the cut at exactly ``-shift``.
    """

    shift: int
    drop: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Shifts of one side of a walk, with a certified bound on ever passing them.

    Guarantee: ``P(exists f: eta_f <= -shifts[f] - 1, or eta_m = -shifts[m] and the coin falls)`` is
    at most the sum of ``spent``, for the chain of ``GradualNoise(levels)`` and an independent coin;
    hence no walk over the levels passes one with a higher probability. The noise is symmetric: the
    same holds above for ``eta_f >= shifts[f] + 1``.

    Args:
        levels: the rates, coarsest first.
        shifts: whole steps, >= 0, falling (not strictly) from the coarsest to the finest level.
        drop: probability of falling under the cut at exactly ``-shifts[-1]`` of the finest level.
        spent: per level, an upper bound on the probability of passing it and no finer one.
    """

    levels: tuple[Fraction, ...]
    shifts: tuple[int, ...]
    drop: Fraction
    spent: tuple[Fraction, ...]


def boundaries(
    levels: Sequence[Fraction],
    beta: Fraction,
    *,
    shape: Sequence[Fraction],
    finest: Cut | None = None,
) -> Boundaries:
    """Choose the least shifts that keep the probability of ever passing one within ``beta``.

    From the finest level to the coarsest, each takes the least shift (no less than its finer
    neighbour's) whose addition keeps what has been spent within the shares of these levels; what
    whole steps leave over goes to the next.

    Args:
        levels: the rates, strictly rising, coarsest first; exact, > 0.
        beta: the bound, in (0, 1).
        shape: one weight > 0 per level, coarsest first: how ``beta`` is shared out.
        finest: the cut of the finest level, where it has been chosen before.

    Raises:
        ValueError: levels, beta or weights out of range, or a cut that exceeds the finest share.

    Source: ours; it replaces the share of beta per step of MIDE, Algorithm 2 (Theorem 9), and the
    shares handed on in its Algorithms 3 and 4 (Theorem 10).
    """
    _check(levels, shape)
    if not 0 < beta < 1:
        raise ArgumentError("a bound on a probability lies between 0 and 1")
    survivors = _Survivors(levels)
    shifts: list[int] = []
    spent: list[Fraction] = []
    total, allowed = sum(shape, start=Fraction(0)), Fraction(0)
    drop = Fraction(0)
    for level in reversed(range(len(levels))):
        allowed += beta * shape[level] / total
        left = allowed - sum(spent, start=Fraction(0))
        survivors.blur(level)
        if not shifts and finest is not None:
            shift, drop = finest.shift, finest.drop
            if survivors.passing(shift, drop) > left:
                raise ArgumentError("the cut of the finest level exceeds its share")
        else:
            shift = survivors.least_shift(shifts[-1] if shifts else 0, left)
        at_tie = Fraction(0) if shifts else drop
        spent.append(survivors.passing(shift, at_tie))
        survivors.kill(shift, at_tie)
        shifts.append(shift)
    return Boundaries(tuple(levels), tuple(reversed(shifts)), drop, tuple(reversed(spent)))


def finest_cut(t: Fraction, steps: int, alpha: Fraction, beta: Fraction) -> Cut | None:
    """Return the cut at rate ``t`` that misses with at most ``beta`` and rings least.

    Args:
        t: rate of the discrete Laplace; exact, > 0.
        steps: k >= 1, from "must fire" (s' = 0) down to "must not fire" (s' = -k).
        alpha: bound on firing at s' = -k.
        beta: bound on missing at s' = 0.

    Returns:
        The cut, its coin in units of 2^-64, or nothing if it would ring more than ``alpha``.

    Source: MIDE, Algorithm 1 (threshold shift); the coin makes it meet the limit of
    ``theoretical_limit`` also where k is even.
    """
    one = 1 << _CUT_BITS
    q_lo = exp_neg_bounds(t, _CUT_BITS)[0]

    def below(shift: int) -> Fraction:  # P[DLap <= -shift - 1], from above
        return Fraction(exp_neg_bounds(t * (shift + 1), _CUT_BITS)[1], one + q_lo)

    def mass(shift: int) -> Fraction:  # P[DLap = -shift], from above
        return Fraction(exp_neg_bounds(t * shift, _CUT_BITS)[1] * (one - q_lo), one * (one + q_lo))

    guess = -math.log(float(beta)) - math.log1p(math.exp(-float(t)))
    shift = max(0, math.ceil(guess / float(t)) - 1)
    while shift > 0 and below(shift - 1) <= beta:
        shift -= 1
    while below(shift) > beta:
        shift += 1
    if shift > steps:
        return None
    coin = min(_ONE - 1, math.floor((beta - below(shift)) / mass(shift) * _ONE))
    drop = Fraction(coin, _ONE)
    ringing = below(steps - shift) + (1 - drop) * mass(steps - shift)
    return Cut(shift, drop) if ringing <= alpha else None


class _Survivors:
    """The law of the noise on the event that it has passed no boundary so far.

    At every level it is a sum of discrete Laplaces of that level's rate about a few centres, with
    signed weights: blurring to the next level keeps centres and weights, and a boundary changes
    them in three places. All weights are intervals of integers in units of ``2^-bits``.
    """

    def __init__(self, levels: Sequence[Fraction]) -> None:
        coarsest = levels[0]
        # A boundary divides by (1 - q)^2, a density multiplies by (1 - q).
        per_level = (coarsest.denominator // coarsest.numerator).bit_length() + 4
        self._levels = levels
        self._bits = 256 + per_level * len(levels) + 2 * math.ceil(levels[-1])
        self._one = 1 << self._bits
        self._weights: dict[int, Interval] = {0: Interval(self._one, self._one)}
        self.blur(len(levels) - 1)

    def blur(self, level: int) -> None:
        """Go on to this level."""
        self._rate = self._levels[level]
        self._powers: dict[int, Interval] = {}
        self._q = self._power(1)

    def passing(self, shift: int, drop: Fraction) -> Fraction:
        """Return an upper bound of the mass below ``-shift`` and the part ``drop`` of that at it.

        No centre may lie below ``-shift - 1``.
        """
        tail = self._sum({at: at + shift + 1 for at in self._weights})
        upper = Fraction(tail.hi, self._one + self._q.lo)
        if drop:
            upper += drop * Fraction(self._density(-shift).hi, self._one)
        return max(upper, Fraction(0))

    def least_shift(self, least: int, allowed: Fraction) -> int:
        """Return the least shift, at least ``least``, that takes no more than ``allowed``."""
        excess = self.passing(least, Fraction(0)) / allowed
        if excess <= 1:
            return least
        logarithm = math.log(excess.numerator) - math.log(excess.denominator)
        shift = least + max(1, math.ceil(logarithm / float(self._rate)))
        while shift > least + 1 and self.passing(shift - 1, Fraction(0)) <= allowed:
            shift -= 1
        while self.passing(shift, Fraction(0)) > allowed:
            shift += 1
        return shift

    def kill(self, shift: int, drop: Fraction) -> None:
        """Remove what ``passing`` counts."""
        edge = -shift
        q, one = self._q, self._one
        spread = Interval(one - q.hi, one - q.lo)
        scale = q.over(spread, one).over(spread, one)  # q / (1 - q)^2
        kept, dropped = _dyadic(1 - drop, one), _dyadic(drop, one)
        below, at, above = (scale.times(self._density(edge + side), one) for side in (-1, 0, 1))
        weight = self._weights.get
        none = Interval(0, 0)
        changed = {
            edge - 1: none.minus(kept.times(at, one)),
            edge: kept.times(weight(edge, none).plus(below), one).minus(dropped.times(above, one)),
            edge + 1: weight(edge + 1, none).plus(dropped.times(at, one)),
        }
        self._weights.update(changed)

    def _density(self, at: int) -> Interval:
        total = self._sum({centre: abs(at - centre) for centre in self._weights})
        spread = Interval(self._one - self._q.hi, self._one - self._q.lo)
        norm = Interval(self._one + self._q.lo, self._one + self._q.hi)
        return total.times(spread.over(norm, self._one), self._one)

    def _sum(self, distances: dict[int, int]) -> Interval:
        total = Interval(0, 0)
        for centre, distance in distances.items():
            power = self._power(distance)
            total = total.plus(self._weights[centre].times(power, self._one))
        return total

    def _power(self, exponent: int) -> Interval:
        known = self._powers.get(exponent)
        if known is None:
            known = Interval(*exp_neg_bounds(self._rate * exponent, self._bits))
            self._powers[exponent] = known
        return known


def _dyadic(p: Fraction, one: int) -> Interval:
    scaled = p * one
    return Interval(math.floor(scaled), math.ceil(scaled))


def _check(levels: Sequence[Fraction], shape: Sequence[Fraction]) -> None:
    if not levels or levels[0] <= 0 or any(a >= b for a, b in pairwise(levels)):
        raise ArgumentError("levels rise strictly from above 0, at least one")
    if len(shape) != len(levels) or min(shape) <= 0:
        raise ArgumentError("there is one entry per level, and every weight is above 0")
