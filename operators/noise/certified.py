"""Probabilities known to any number of bits, through certified integer bounds.

``exp(-t)`` of a rational t is bounded by integers on both sides, as tightly as is asked for; every
probability that is drawn, and every error that is promised, is computed from such bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.costs.exponential import exp_neg_bounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

__all__ = ["CertifiedProbability", "exp_neg_bounds"]


class CertifiedProbability:
    """A probability known to any number of bits.

    Args:
        bounds: ``bounds(bits)`` returns integers with ``lo <= 2^bits p <= hi``, ever closer in
            proportion as ``bits`` grows. For a dyadic ``p`` they must be exact (``lo == hi`` once
            ``2^bits p`` is whole), else ``floor`` could not end.
    """

    __slots__ = ("_bounds", "_floors")

    def __init__(self, bounds: Callable[[int], tuple[int, int]]) -> None:
        """Keep the bounds; nothing is computed before it is asked for."""
        self._bounds = bounds
        self._floors: dict[int, int] = {}

    @classmethod
    def exp_neg(cls, t: Fraction) -> CertifiedProbability:
        """Return ``exp(-t)``, t > 0."""
        return cls(lambda bits: exp_neg_bounds(t, bits))

    @classmethod
    def digit(cls, t: Fraction) -> CertifiedProbability:
        """Return ``1 / (1 + exp(t))``: the last binary digit of a geometric of rate t > 0."""

        def bounds(bits: int) -> tuple[int, int]:
            lo, hi = exp_neg_bounds(t, bits)  # q / (1 + q) grows with q
            one = 1 << bits
            return (lo << bits) // (one + lo), -((-hi << bits) // (one + hi))

        return cls(bounds)

    @classmethod
    def nonzero(cls, t: Fraction) -> CertifiedProbability:
        """Return ``2q / (1 + q)``, q = exp(-t): a discrete Laplace of rate t > 0 is not zero."""

        def bounds(bits: int) -> tuple[int, int]:
            lo, hi = exp_neg_bounds(t, bits)
            one = 1 << bits
            return (lo << bits + 1) // (one + lo), -((-hi << bits + 1) // (one + hi))

        return cls(bounds)

    def floor(self, bits: int) -> int:
        """Return ``floor(2^bits p)``, exactly.

        Args:
            bits: at least 1.
        """
        known = self._floors.get(bits)
        if known is None:
            guard = 16
            while True:
                lo, hi = self._bounds(bits + guard)
                known = lo >> guard
                # An exact value certifies itself; else both bounds must share their leading bits.
                if lo == hi or hi >> guard == known:
                    break
                guard *= 2
            self._floors[bits] = known
        return known
