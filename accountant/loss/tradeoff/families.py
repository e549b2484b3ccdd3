"""Trade-off functions of known privacy and of known noise, each at or below the true curve.

What is smooth becomes a polygon of lines that support it, at slopes one may choose: between two of
them the polygon is below the curve. Proofs: ``docs/research/proofs/tradeoff.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import WHOLE, expect
from accountant.errors import ArgumentError
from accountant.loss.rounding import exp_bounds, log_bounds, normal_bounds
from accountant.loss.tradeoff.curve import TradeOff, exact, hull, supported

if TYPE_CHECKING:
    from accountant.loss.tradeoff.curve import Number

__all__ = [
    "approximate",
    "discrete_laplace",
    "gaussian",
    "identity",
    "laplace",
    "pure",
    "slopes_between",
]

PIECES: Final = 256
"""Lines under a smooth curve, unless told otherwise."""

_MOST_PIECES: Final = 4_096
_FARTHEST: Final = 12  # standard deviations; beyond is a probability of 2e-33
_CLOSER: Final = 2.0  # slopes are nearly twice as close in the middle as they were evenly spaced
_LARGEST: Final = 500  # a loss of more is none that protects anybody


def identity() -> TradeOff:
    """Return Id, of two laws that are the same: nothing is lost."""
    return hull([(Fraction(0), Fraction(1))])


def pure(epsilon: Number) -> TradeOff:
    """Return the trade-off function of pure differential privacy, f_(epsilon, 0).

    Args:
        epsilon: 0 to 500.

    Raises:
        ValueError: an epsilon out of range.
    """
    return approximate(epsilon, 0)


def approximate(epsilon: Number, delta: Number) -> TradeOff:
    """Return f_(epsilon, delta): a mechanism is as private as that iff it is (epsilon, delta).

    Args:
        epsilon: 0 to 500.
        delta: 0 to 1.

    Raises:
        ValueError: numbers out of range.

    Source: Parallel Composition, section 2.3.
    """
    loss, fails = _loss(epsilon, "epsilon"), exact(delta, "delta")
    if not 0 <= fails <= 1:
        raise ArgumentError("delta lies between 0 and 1", hint="write delta=0, or 1e-6")
    steep = exp_bounds(loss)[1] if loss else Fraction(1)
    return supported([(steep, fails), (1 / steep, 1 - (1 - fails) / steep)]).rounded()


def gaussian(mu: Number, pieces: int = PIECES) -> TradeOff:
    """Return a polygon below G_mu, the trade-off function of normals a distance of mu apart.

    Args:
        mu: sensitivity over standard deviation, 0 to 20.
        pieces: how many lines support it, 2 to 4,096.

    Raises:
        ValueError: numbers out of range.

    Source: Parallel Composition, Definition 5.
    """
    shift = exact(mu, "mu")
    if not 0 <= shift <= 20:
        raise ArgumentError("mu lies between 0 and 20", hint="write gaussian(0.5)")
    if not shift:
        return identity()
    lines = (
        (slope, _gaussian_delta(shift, slope))
        for slope in _around_one(float(shift) * (_FARTHEST + float(shift) / 2), pieces)
    )
    return supported(lines).rounded()


def laplace(epsilon: Number, pieces: int = PIECES) -> TradeOff:
    """Return a polygon below the trade-off function of the Laplace mechanism.

    Args:
        epsilon: sensitivity over scale, 0 to 500.
        pieces: how many lines support it, 2 to 4,096.

    Raises:
        ValueError: numbers out of range.
    """
    loss = _loss(epsilon, "epsilon")
    if not loss:
        return identity()
    steep = exp_bounds(loss)[1]
    lines = [(steep, Fraction(0)), (1 / steep, 1 - 1 / steep)]
    for slope in _around_one(float(loss), pieces):
        # The divergence is 1 - sqrt(slope exp(-epsilon)) within the two ends, and 0 beyond.
        likely = exp_bounds((log_bounds(slope)[0] - loss) / 2)[0]
        lines.append((slope, max(Fraction(0), 1 - slope, 1 - likely)))
    return supported(lines).rounded()


def discrete_laplace(rate: Number, steps: int = 1) -> TradeOff:
    """Return the trade-off function of discrete Laplace noise on a statistic that moves by steps.

    A test rejects from j steps on: its size is p^j / (1 + p), and it misses with probability
    p^(steps - j + 1) / (1 + p), p = exp(-rate). Rounded down by less than 1e-57.

    Args:
        rate: of the noise per step, above 0; rate times steps is at most 500.
        steps: how far neighbours are apart, 1 to 4,096.

    Raises:
        ValueError: numbers out of range.
    """
    slow = _loss(rate, "rate")
    expect(WHOLE, steps=steps)
    if not slow or not 1 <= steps <= _MOST_PIECES or slow * steps > _LARGEST:
        raise ArgumentError(
            "noise has a rate above 0, and neighbours are at least a step apart",
            hint="write discrete_laplace(Fraction(1, 2), steps=1)",
        )
    low, high = exp_bounds(-slow)
    powers = [low**j / (1 + high) for j in range(steps + 1)]
    ends = [(Fraction(0), Fraction(1))]
    corners = [(powers[j], powers[steps - j + 1]) for j in range(1, steps + 1)]
    return hull(ends + corners).rounded()


def _gaussian_delta(mu: Fraction, slope: Fraction) -> Fraction:
    """Return at least the divergence of two normals: at no slope is it below 1 - slope."""
    low, high = log_bounds(slope)
    rejected = normal_bounds(mu / 2 - low / mu)[1]
    wrongly = normal_bounds(-mu / 2 - high / mu)[0]
    return max(Fraction(0), 1 - slope, rejected - slope * wrongly)


def _around_one(farthest: float, pieces: int) -> list[Fraction]:
    expect(WHOLE, pieces=pieces)
    if not 2 <= pieces <= _MOST_PIECES:
        raise ArgumentError("a polygon has 2 to 4,096 pieces", hint="write pieces=256")
    return slopes_between(-farthest, farthest, pieces)


def slopes_between(low: float, high: float, pieces: int) -> list[Fraction]:
    """Return slopes from exp(low) to exp(high), closer to one another halfway.

    Args:
        low: least logarithm.
        high: largest logarithm.
        pieces: how many.
    """
    places = np.sinh(np.linspace(-_CLOSER, _CLOSER, pieces)) / math.sinh(_CLOSER)
    logs = (low + high) / 2 + places * (high - low) / 2
    return [Fraction(math.exp(each)) for each in logs.tolist()]


def _loss(number: Number, name: str) -> Fraction:
    loss = exact(number, name)
    if not 0 <= loss <= _LARGEST:
        raise ArgumentError(f"`{name}` lies between 0 and {_LARGEST}", hint="write pure(0.5)")
    return loss
