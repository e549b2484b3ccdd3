"""The law of sums of discrete Laplaces: tails in closed form, between certified bounds.

``P[S_m >= j]`` of m independent discrete Laplaces is a sum of m terms, all of them positive, and so
is the chance that any of ``S_1, ..., S_m`` is so large: no normal law, no convolution and nothing
cut off. The derivations are in ``docs/research/proofs/panes.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import EXACT, INTEGERS, WHOLE, expect
from accountant.errors import ArgumentError
from operators.noise.certified import exp_neg_bounds
from operators.noise.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LaplaceSum", "LaplaceWalk"]

_BITS: Final = 192  # of the result, beyond what its largest part takes
_FAR: Final = 1 << 52  # floats hold every whole number up to here; no tail is felt beyond


@dataclass(frozen=True, slots=True)
class _Noises:
    """So many discrete Laplaces of one rate."""

    rate: Fraction
    terms: int

    def __post_init__(self) -> None:
        """Check the parts."""
        expect(EXACT, rate=self.rate)
        expect(WHOLE, terms=self.terms)
        if self.rate <= 0 or self.terms < 1:
            raise ArgumentError(
                "a sum of noises has a rate above 0 and at least one term",
                hint="write LaplaceSum(rate=Fraction(1, 10), terms=12)",
            )


@dataclass(frozen=True, slots=True)
class LaplaceSum(_Noises):
    """``S = Z_1 + ... + Z_m``, the Z independent with ``P[z] = (1 - q) / (1 + q) q^abs(z)``.

    Args:
        rate: t > 0 with q = exp(-t); exact.
        terms: m >= 1.

    Raises:
        ValueError: a rate of 0 or less, or no term.

    Source: negative binomials (Pfaff's transformation of their series); see the proof page.
    """

    @property
    def deviation(self) -> float:
        """Its standard deviation, ``sqrt(2 m q) / (1 - q)``, as a float."""
        t = float(self.rate)
        return math.sqrt(2 * self.terms) * math.exp(-t / 2) / -math.expm1(-t)

    def tail(self, at: int) -> tuple[Fraction, Fraction]:
        """Return certified bounds of ``P[S >= at]``, from below and from above.

        Args:
            at: any whole number.
        """
        expect(WHOLE, at=at)
        if at <= 0:  # the law is symmetric
            low, high = self.tail(1 - at)
            return 1 - high, 1 - low
        return self._apart.tail(int(at))

    def tails(self, at: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return ``P[S >= at]``, right but for the rounding of floats.

        Args:
            at: shape (n,), int64.

        Returns:
            Shape (n,).
        """
        expect(INTEGERS, at=at)
        near = np.clip(at, -_FAR, _FAR)
        j, back = np.unique(np.where(near > 0, near, 1 - near), return_inverse=True)
        found = self._apart.floats(j.astype(np.float64))[back]
        return np.where(near > 0, found, 1 - found)

    @property
    def _apart(self) -> _Apart:
        return _Apart(self.rate, self.terms, self.terms)


@dataclass(frozen=True, slots=True)
class LaplaceWalk(_Noises):
    """``M = max(S_1, ..., S_m)`` of the sums of the first 1, ..., m of m discrete Laplaces.

    Args:
        rate: t > 0 with q = exp(-t); exact.
        terms: m >= 1.

    Raises:
        ValueError: a rate of 0 or less, or no term.

    Source: a geometric overshoot is forgotten, so walks are reflected exactly; see the proof page.
    """

    def tail(self, at: int) -> tuple[Fraction, Fraction]:
        """Return certified bounds of ``P[M >= at]``, from below and from above.

        Args:
            at: any whole number.
        """
        expect(WHOLE, at=at)
        if at > 0:
            return _both(_Apart(self.rate, self.terms, self.terms + 1), int(at))
        # The first sum lies below by a geometric distance, and the others climb that.
        low, high = LaplaceSum(self.rate, 1).tail(1 - at)
        climbs = (Fraction(0), Fraction(0))
        if self.terms > 1:
            climbs = _both(_Apart(self.rate, self.terms - 1, self.terms + 1), 1)
        return 1 - high * (1 - climbs[0]), 1 - low * (1 - climbs[1])

    def tails(self, at: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return ``P[M >= at]``, right but for the rounding of floats.

        Args:
            at: shape (n,), int64.

        Returns:
            Shape (n,).
        """
        expect(INTEGERS, at=at)
        near, back = np.unique(np.clip(at, -_FAR, _FAR), return_inverse=True)
        above = np.maximum(near, 1).astype(np.float64)
        law = _Apart(self.rate, self.terms, self.terms + 1)
        found = law.floats(above) + law.floats(above + 1)
        climbs = 0.0
        if self.terms > 1:
            law = _Apart(self.rate, self.terms - 1, self.terms + 1)
            climbs = float(law.floats(np.array([1.0, 2.0])).sum())
        below = 1 - LaplaceSum(self.rate, 1).tails(1 - np.minimum(near, 0)) * (1 - climbs)
        return np.where(near > 0, found, below)[back]


def _both(law: _Apart, at: int) -> tuple[Fraction, Fraction]:
    """Return bounds of ``P[A - B >= at] + P[A - B >= at + 1]``."""
    (low, high), (lower, higher) = law.tail(at), law.tail(at + 1)
    return low + lower, min(high + higher, Fraction(1))


@dataclass(frozen=True, slots=True)
class _Apart:
    """``A - B``, A a sum of ``rises`` geometrics and B one of ``falls``, all of rate ``rate``."""

    rate: Fraction
    rises: int
    falls: int

    def tail(self, at: int) -> tuple[Fraction, Fraction]:
        """Return certified bounds of ``P[A - B >= at]``, ``at > 0``."""
        bits = self._bits(at)
        one = 1 << bits
        tail = self._tail(at, bits)
        return Fraction(tail.lo, one), min(Fraction(tail.hi, one), Fraction(1))

    def _bits(self, at: int) -> int:
        """Return how fine to reckon: the parts may exceed what they add up to by this many bits."""
        most = max(self.rises, self.falls)
        highest = most - 1 + at
        risen = math.ceil(highest * min(self.rate, Fraction(1)))
        widest = min(risen, most * highest.bit_length())
        return _BITS + 2 * most + 2 * widest

    def _tail(self, at: int, bits: int) -> Interval:
        """Bound ``2^bits P[A - B >= at]``, at > 0; the names are those of the proof page."""
        one, m = 1 << bits, self.rises
        q = Interval(*exp_neg_bounds(self.rate, bits))
        p = Interval(one - q.hi, one - q.lo)
        norm = Interval(one + q.lo, one + q.hi)
        ratio = q.times(q, one).over(norm, one)
        chosen = found = whole = Interval(one, one)
        b = [found]
        for d in range(1, m):
            chosen = chosen.scaled(m + at - d, d).times(p, one)
            found = found.times(q, one).plus(chosen)
            b.append(found)
        total, weight = b[m - 1], whole
        for k in range(1, m):
            weight = weight.scaled(self.falls - 1 + k, k).times(ratio, one)
            total = total.plus(weight.times(b[m - 1 - k], one))
        for _ in range(self.falls):
            whole = whole.times(norm, one)
        fall = Interval(*exp_neg_bounds(self.rate * at, bits))
        return total.times(fall, one).over(whole, one)

    def floats(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``P[A - B >= at]`` by logarithms, for ``at > 0``, shape (n,)."""
        m, t = self.rises, float(self.rate)
        log_p, log_norm = math.log(-math.expm1(-t)), math.log1p(math.exp(-t))
        d = np.arange(1, m, dtype=np.float64)
        parts = np.zeros((at.size, m))
        np.cumsum(np.log((m + at[:, None] - d) / d) + log_p, axis=1, out=parts[:, 1:])
        fading = t * np.arange(m)
        b = np.logaddexp.accumulate(parts + fading, axis=1) - fading
        weights = np.zeros(m)
        np.cumsum(np.log((self.falls - 1 + d) / d) - 2 * t - log_norm, out=weights[1:])
        total = np.logaddexp.reduce(weights + b[:, ::-1], axis=1)
        tail: NDArray[np.float64] = np.exp(total - t * at - self.falls * log_norm)
        return tail
