"""The law of v - rho: a question's geometric noise less the noise of the threshold.

Closed forms: in floats to search with, and for the one-sided threshold in certified bounds to
promise by. Proof: ``docs/research/proofs/svt.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from operators.noise.certified import exp_neg_bounds

__all__ = ["Difference", "OneSided", "TwoSided"]

_BITS: Final = 256


@dataclass(frozen=True, slots=True)
class OneSided:
    """X = v - rho with v ~ Geo(query_rate) and rho ~ Geo(threshold_rate), independent.

    With q, p the exponentials of minus these rates: P[X >= m] = q^m (1 - p) / (1 - pq) and
    P[X <= -m] = p^m (1 - q) / (1 - pq) for m >= 0.

    Args:
        query_rate: exact, > 0.
        threshold_rate: exact, > 0.
    """

    query_rate: Fraction
    threshold_rate: Fraction

    def at_least(self, m: int) -> float:
        """Return P[X >= m]."""
        fast, slow = float(self.query_rate), float(self.threshold_rate)
        return _tail(m, fast, slow) if m >= 1 else 1 - _tail(1 - m, slow, fast)

    def below(self, m: int) -> float:
        """Return P[X < m]."""
        fast, slow = float(self.query_rate), float(self.threshold_rate)
        return 1 - _tail(m, fast, slow) if m >= 1 else _tail(1 - m, slow, fast)

    def bounds(self, m: int) -> tuple[Fraction, Fraction]:
        """Return certified bounds ``lo <= P[X >= m] <= hi``, less than 1e-60 apart."""
        if m >= 1:
            return _tail_bounds(m, self.query_rate, self.threshold_rate)
        lo, hi = _tail_bounds(1 - m, self.threshold_rate, self.query_rate)
        return 1 - hi, 1 - lo


@dataclass(frozen=True, slots=True)
class TwoSided:
    """X = v - rho with v ~ Geo(query_rate) and rho ~ DLap(threshold_rate), independent.

    With q, p the exponentials of minus these rates: P[X <= -j] = (1 - q) p^j / ((1 + p)(1 - pq))
    for j >= 0, and for m >= 1
    P[X >= m] = p^m / (1 + p) + (1 - p) / (1 + p) (q^m / (1 - pq) + sum_(0 < z < m) p^z q^(m - z)).

    Args:
        query_rate: exact, > 0.
        threshold_rate: exact, > 0.
    """

    query_rate: Fraction
    threshold_rate: Fraction

    def at_least(self, m: int) -> float:
        """Return P[X >= m]."""
        return self._high_tail(m) if m >= 1 else 1 - self._low_tail(1 - m)

    def below(self, m: int) -> float:
        """Return P[X < m]."""
        return 1 - self._high_tail(m) if m >= 1 else self._low_tail(1 - m)

    def _high_tail(self, m: int) -> float:
        """Return P[X >= m], m >= 1."""
        fast, slow = float(self.query_rate), float(self.threshold_rate)
        least, apart = min(fast, slow), abs(fast - slow)
        terms = math.expm1(-apart * (m - 1)) / math.expm1(-apart) if apart else float(m - 1)
        between = math.exp(-least * (m - 2) - fast - slow) * terms
        query = math.exp(-fast * m) / -math.expm1(-fast - slow)
        return math.exp(-slow * m) / (1 + math.exp(-slow)) + math.tanh(slow / 2) * (query + between)

    def _low_tail(self, j: int) -> float:
        """Return P[X <= -j], j >= 0."""
        fast, slow = float(self.query_rate), float(self.threshold_rate)
        both = (1 + math.exp(-slow)) * math.expm1(-fast - slow)
        return math.expm1(-fast) * math.exp(-slow * j) / both


Difference: TypeAlias = OneSided | TwoSided
"""Either law."""


def _tail(m: int, ours: float, other: float) -> float:
    """Return the probability that a geometric exceeds an independent one by at least m >= 1."""
    return math.exp(-ours * m) * math.expm1(-other) / math.expm1(-ours - other)


def _tail_bounds(m: int, ours: Fraction, other: Fraction) -> tuple[Fraction, Fraction]:
    """Bound the same, certified."""
    power, rest, both = _exp(m * ours), _exp(other), _exp(ours + other)
    return (
        power[0] * (1 - rest[1]) / (1 - both[0]),
        power[1] * (1 - rest[0]) / (1 - both[1]),
    )


def _exp(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Bound exp(-exponent)."""
    lo, hi = exp_neg_bounds(exponent, _BITS)
    return Fraction(lo, 1 << _BITS), Fraction(hi, 1 << _BITS)
