"""Deciders of MEDIAN and QUANTILE: ``hist`` and ``em``.

The proofs are in ``docs/research/proofs/deciders.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from accountant.arguments import expect
from accountant.errors import ConfigError
from operators.conditions.widths import half_widths
from operators.deciders.base import (
    MOST_POINTS,
    PlannedBand,
    Quantile,
    check_inputs,
    check_rate,
    counted_up_to,
    counts,
    margin,
)
from operators.deciders.draws import WORD_BITS, settle
from operators.deciders.tight import quantile_rows
from operators.noise.certified import exp_neg_bounds
from operators.noise.source import SOURCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.weights import Statistic
    from operators.noise.source import NoiseSource

__all__ = ["ExponentialQuantileBand", "HistogramBand"]

_NOISE_CLAMP: Final = 1 << 37
_TABLE_BITS: Final = 40  # weights of 65,536 points still add up in int64
_WORK_BITS: Final = 96
_LONGEST_TABLE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class HistogramBand(PlannedBand[Quantile]):
    """``hist``: a noisy number of events, and one noisy count beyond either end of the band.

    outside iff ``b (q1 + z1) >= a (n + z)`` or ``b (q2 + z2) > (b - a) (n + z)``.

    - n: the events; q1: those at or below reference - tau; q2: those at or above reference + tau.
    - a / b: the quantile's share; z, z1, z2: discrete Laplace of rate epsilon / (2 events).

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit:
    half for n, half for the two disjoint counts together. Without noise the answer is exact.

    Args:
        kind: a quantile.
        epsilon: exact loss.
        tau: half-width of the band, in the domain's units, at least 1, or a share of the reference.

    Source: DP-PQD, Algorithm 3 and Proposition 6.2; its second comparison is off by one for an even
    number of events (``docs/research/proofs/deciders.md``).
    """

    name: ClassVar[str] = "hist"
    decides: ClassVar = (Quantile,)

    def __post_init__(self) -> None:
        """Refuse noise too wide to be drawn."""
        check_rate(self._rate)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The events, and those beyond either end of the band."""
        return quantile_rows(self.kind, self.tau)

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        check_inputs(statistics, references, 3)
        drawn = noise.discrete_laplace(self._rate, 3 * references.size).reshape(3, -1)
        total, low, high = np.clip(counts(statistics) + drawn, -_NOISE_CLAMP, _NOISE_CLAMP)
        a, b = self.kind.share.numerator, self.kind.share.denominator
        within: NDArray[np.bool_] = (b * low < a * total) & (b * high <= (b - a) * total)
        return within

    @property
    def _rate(self) -> Fraction:
        return self.epsilon / 2 / self.kind.events


@dataclass(frozen=True, eq=False)
class ExponentialQuantileBand(PlannedBand[Quantile]):
    """``em``: the exponential mechanism over the public domain; within iff its point is.

    P[e] is proportional to ``exp(-epsilon m(e) / (2 D))`` with m(e) = max(0, 1 - a n + b L(e),
    a n - b U(e)), the distance of e from being the quantile.

    - L(e), U(e): events below e, and at or below it; n: all of them.
    - a / b: the quantile's share; D = events max(a, b - a), by which one unit moves m(e) at most.

    As only one bit per cell is released, it is drawn directly: a Bernoulli of the points' weight
    within the band over the weight of all, in certified integers.

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit.

    Args:
        kind: a quantile over at most 65,536 points.
        epsilon: exact loss.
        tau: half-width of the band, in the domain's units, at least 1, or a share of the reference.

    Source: DP-PQD, section 6.1 and Observation 6.1. The score there, -|L(e) - n/2| charged as if of
    sensitivity one, is half as steep and prefers the successor of a value that is often repeated.
    """

    name: ClassVar[str] = "em"
    decides: ClassVar = (Quantile,)

    def __post_init__(self) -> None:
        """Refuse a domain of too many points."""
        if len(self.kind.domain) > MOST_POINTS:
            raise ConfigError(
                f"the clip of this field has more than {MOST_POINTS:,} steps",
                hint="declare a coarser resolution for the field, or write decider: tight",
            )

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The events at or below each point of the domain; the last row is all of them."""
        return tuple(counted_up_to(e, self.kind.events) for e in self.kind.domain)

    @property
    def rate(self) -> Fraction:
        """How fast the weights fall, per unit of m."""
        return self.epsilon / (2 * self.kind.sensitivity)

    def distances(self, statistics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return m(e), shape (points, cells) (never released)."""
        below = np.zeros_like(statistics)
        below[1:] = statistics[:-1]
        total, share = statistics[-1], self.kind.share
        short: NDArray[np.int64] = np.maximum(
            1 - margin(total, below, share), margin(total, statistics, share)
        )
        return np.maximum(short, 0)

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        points = len(self.kind.domain)
        check_inputs(statistics, references, points)
        distances = self.distances(statistics)
        distances -= distances.min(axis=0)  # a common factor leaves the ratio as it is
        inside = self._inside(references)
        least, most = self._table
        index = np.minimum(distances, least.size - 1)
        low, high = least[index], most[index]
        in_low, in_high = (np.where(inside, w, 0).sum(axis=0) for w in (low, high))
        out_low, out_high = (np.where(inside, 0, w).sum(axis=0) for w in (low, high))
        words = noise.uint64(references.size)
        within = np.zeros(references.size, dtype=np.bool_)
        for cell, (word, lo, hi, rest_lo, rest_hi) in enumerate(
            zip(*(x.tolist() for x in (words, in_low, in_high, out_low, out_high)), strict=True)
        ):
            if (word + 1) * (lo + rest_hi) <= lo << WORD_BITS:
                within[cell] = True
            elif word * (hi + rest_lo) < hi << WORD_BITS:
                within[cell] = settle(
                    word, self._bounds(distances[:, cell], inside[:, cell]), noise
                )
        return within

    def law(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], bits: int
    ) -> list[tuple[int, int]]:
        """Return integers around 2^bits P["within"], per cell (never released).

        Args:
            statistics: shape (points, cells), int64.
            references: shape (cells,), int64.
            bits: at least 1.
        """
        distances = self.distances(statistics)
        distances -= distances.min(axis=0)
        inside = self._inside(references)
        return [
            self._bounds(distances[:, cell], inside[:, cell])(bits)
            for cell in range(references.size)
        ]

    def _inside(self, references: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which points lie in the band, shape (points, cells)."""
        domain = self.kind.domain
        points = np.arange(domain.start, domain.stop, domain.step, dtype=np.int64)[:, np.newaxis]
        tau = half_widths(self.tau, references)
        inside: NDArray[np.bool_] = (points > references - tau) & (points < references + tau)
        return inside

    def _bounds(
        self, distances: NDArray[np.int64], inside: NDArray[np.bool_]
    ) -> Callable[[int], tuple[int, int]]:
        """Return the certified bounds of one cell's P["within"], to any number of bits."""
        levels, at = np.unique(distances, return_inverse=True)
        within = np.bincount(at[inside], minlength=levels.size).tolist()
        outside = np.bincount(at[~inside], minlength=levels.size).tolist()

        def bounds(bits: int) -> tuple[int, int]:
            work = bits + len(self.kind.domain).bit_length() + 8
            weights = [exp_neg_bounds(self.rate * m, work) for m in levels.tolist()]
            in_lo = sum(n * lo for n, (lo, _) in zip(within, weights, strict=True))
            in_hi = sum(n * hi for n, (_, hi) in zip(within, weights, strict=True))
            out_lo = sum(n * lo for n, (lo, _) in zip(outside, weights, strict=True))
            out_hi = sum(n * hi for n, (_, hi) in zip(outside, weights, strict=True))
            # The nearest point weighs exactly 2^work, so neither denominator is zero.
            return (in_lo << bits) // (in_lo + out_hi), -((-in_hi << bits) // (in_hi + out_lo))

        return bounds

    @cached_property
    def _table(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Bounds of 2^40 exp(-rate m) for m = 0, 1, ...; the last entry holds for all beyond."""
        one = 1 << _WORK_BITS
        ratio_lo, ratio_hi = exp_neg_bounds(self.rate, _WORK_BITS)
        lo = hi = one
        spare = _WORK_BITS - _TABLE_BITS
        least: list[int] = []
        most: list[int] = []
        while len(least) < _LONGEST_TABLE and hi >> spare:
            least.append(lo >> spare)
            most.append(-(-hi >> spare))
            lo, hi = lo * ratio_lo >> _WORK_BITS, -(-hi * ratio_hi >> _WORK_BITS)
        least.append(0)
        most.append(-(-hi >> spare))
        return np.array(least, dtype=np.int64), np.array(most, dtype=np.int64)
