"""Gaussian privacy, as walls and losses that add up.

What is mu-GDP changes no test's power by more than the normal law moves by mu. Losses of adaptively
chosen steps add up in mu^2, so they are kept as ``rho = mu^2 / 2`` in loss units: the same whole
numbers that a pure budget adds up in epsilon. Proofs: ``docs/research/proofs/gaussian.md``.

Source: Dong, Roth and Su, *Gaussian differential privacy*, Corollary 1 (conversion); Smith and
Thakurta, *Fully adaptive composition for Gaussian differential privacy* (the filter).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from accountant.arguments import EXACT, TEXT, WHOLE, expect
from accountant.costs.exponential import exp_neg_bounds
from accountant.costs.normal import normal_bounds
from accountant.errors import ArgumentError
from accountant.units import UNITS_PER_EPSILON, to_loss_units

__all__ = ["LARGEST_EPSILON", "Gaussian", "delta_bounds", "mu_of"]

LARGEST_EPSILON: Final = 100
"""Of a Gaussian promise: e^100 is no promise, and ever longer to compute exactly."""

_LEAST_DELTA: Final = Fraction(1, 10**18)
_LARGEST_DELTA: Final = Fraction(1, 1_000)
_ROOT_BITS: Final = 96
_STEPS: Final = 10_000
_TEXT: Final = re.compile(r"gdp epsilon=([0-9]+)/([0-9]+) delta=([0-9]+)/([0-9]+)")


@dataclass(frozen=True, slots=True)
class Gaussian:
    """What a Gaussian budget promises: (epsilon, delta), kept by a wall on the sum of mu^2 / 2.

    Guarantee: whatever is mu-GDP with ``mu^2 / 2`` of at most ``wall_units`` is (epsilon, delta)-
    differentially private; more loss units could not promise it.

    Args:
        epsilon: above 0, at most ``LARGEST_EPSILON``.
        delta: from 1e-18 to 1e-3.

    Raises:
        ValueError: numbers outside these.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        """Refuse promises that mean nothing."""
        expect(EXACT, epsilon=self.epsilon, delta=self.delta)
        if not (
            0 < self.epsilon <= LARGEST_EPSILON and _LEAST_DELTA <= self.delta <= _LARGEST_DELTA
        ):
            raise ArgumentError(
                f"Gaussian takes an epsilon above 0 and up to {LARGEST_EPSILON}, and a delta from"
                " 1e-18 to 0.001",
                hint="write Gaussian(Fraction(4), Fraction(1, 10**6))",
            )

    @classmethod
    def read(cls, text: str | None) -> Gaussian | None:
        """Return what :attr:`text` was written of; ``None`` of none, which is a pure promise.

        Raises:
            ValueError: it is no such text.
        """
        if text is None:
            return None
        expect(TEXT, text=text)
        match = _TEXT.fullmatch(text)
        parts = [int(each) for each in match.groups()] if match else [0] * 4
        if not (parts[1] and parts[3]):
            raise ArgumentError(
                "not the text of a Gaussian budget", hint="write gdp epsilon=4/1 delta=1/1000000"
            )
        return cls(Fraction(*parts[:2]), Fraction(*parts[2:]))

    @property
    def text(self) -> str:
        """As ledgers keep it."""
        epsilon, delta = self.epsilon, self.delta
        return (
            f"gdp epsilon={epsilon.numerator}/{epsilon.denominator}"
            f" delta={delta.numerator}/{delta.denominator}"
        )

    @property
    def wall_units(self) -> int:
        """The largest sum of ``mu^2 / 2`` that keeps the promise, in loss units, rounded down."""
        return _wall_units(self.epsilon, self.delta)

    def keeps(self, units: int) -> bool:
        """Tell whether a sum of ``mu^2 / 2``, in loss units, keeps the promise for certain."""
        return not units or delta_bounds(self.epsilon, units)[1] <= self.delta

    def epsilon_of(self, units: int) -> float:
        """Return the least epsilon that a sum of ``mu^2 / 2`` keeps at this delta, to be shown.

        Args:
            units: the sum, in loss units.
        """
        expect(WHOLE, units=units)
        mu, delta = math.sqrt(2 * max(units, 0) / UNITS_PER_EPSILON), float(self.delta)
        if not mu or math.erf(mu / math.sqrt(8)) <= delta:
            return 0.0
        low, high = 0.0, mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if _delta(middle, mu) > delta else (low, middle)
        return high

    def needed(self, units: int) -> Fraction:
        """Return the least epsilon of four decimals that keeps a sum of ``mu^2 / 2`` at this delta.

        Args:
            units: the sum, in loss units.
        """
        steps = max(math.floor(self.epsilon_of(units) * _STEPS), 1)
        while True:
            epsilon = Fraction(steps, _STEPS)
            if epsilon > LARGEST_EPSILON or Gaussian(epsilon, self.delta).keeps(units):
                return epsilon
            steps += 1

    def units_of(self, epsilon: Fraction) -> int:
        """Return the wall of another epsilon at this delta, in loss units."""
        return _wall_units(epsilon, self.delta)


def mu_of(units: int) -> Fraction:
    """Return the mu whose ``mu^2 / 2`` is so many loss units, rounded up to 2^-96.

    Args:
        units: not negative.
    """
    expect(WHOLE, units=units)
    scaled = -(-(2 * units << 2 * _ROOT_BITS) // UNITS_PER_EPSILON)
    return Fraction(math.isqrt(scaled - 1) + 1 if scaled else 0, 1 << _ROOT_BITS)


def delta_bounds(epsilon: Fraction, units: int) -> tuple[Fraction, Fraction]:
    """Return certified bounds of the least delta that mu-GDP keeps at an epsilon.

    That is ``Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)``, and grows with mu.

    Args:
        epsilon: >= 0, at most ``LARGEST_EPSILON``.
        units: ``mu^2 / 2`` in loss units, above 0.

    Raises:
        ValueError: numbers outside these.
    """
    expect(EXACT, epsilon=epsilon)
    expect(WHOLE, units=units)
    if not (0 <= epsilon <= LARGEST_EPSILON and units > 0):
        raise ArgumentError(
            f"delta_bounds takes an epsilon from 0 to {LARGEST_EPSILON}, and some loss",
            hint="write delta_bounds(Fraction(4), 10**11)",
        )
    mu = mu_of(units)
    bits = 128 + 3 * math.ceil(epsilon)  # 2^3 > e^2: enough for e^epsilon and for 1 / e^epsilon
    near_lo, near_hi = normal_bounds(mu / 2 - epsilon / mu, bits)
    far_lo, far_hi = normal_bounds(-mu / 2 - epsilon / mu, bits)
    exp_lo, exp_hi = exp_neg_bounds(epsilon, bits)
    lo = Fraction(near_lo, 1 << bits) - Fraction(far_hi, exp_lo)
    return max(lo, Fraction(0)), Fraction(near_hi, 1 << bits) - Fraction(far_lo, exp_hi)


@lru_cache(maxsize=256)
def _wall_units(epsilon: Fraction, delta: Fraction) -> int:
    promise = Gaussian(epsilon, delta)
    kept, passed = 0, to_loss_units(Fraction(1, 10**6))
    while promise.keeps(passed):
        kept, passed = passed, 2 * passed
    while passed - kept > 1:
        middle = (kept + passed) // 2
        kept, passed = (middle, passed) if promise.keeps(middle) else (kept, middle)
    return kept


def _delta(epsilon: float, mu: float) -> float:
    far = math.erfc((mu / 2 + epsilon / mu) / math.sqrt(2)) / 2
    grown = math.exp(epsilon + math.log(far)) if far else 0.0
    return math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2 - grown
