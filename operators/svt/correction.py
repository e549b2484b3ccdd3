"""The threshold correction of a sparse vector: where its answers are most often all right.

A noise that lies on one side rings too often; raising the threshold by r trades false alarms for
misses. With k negatives at most ``tolerance`` above the threshold before a positive at most that
far below it, r maximises Gamma(r + a)^k (1 - Gamma(r - a)), Gamma the law of v - rho. Corrections
only move a public threshold: privacy doesn't depend on them, and floats do.

Source: SVT-Exp, Equations 8 and 9, Appendix D and Algorithms 3 and 4.
Derived in ``docs/research/svt-runs.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from accountant.arguments import NUMBER, WHOLE, expect, instance_of, one_of
from accountant.errors import ArgumentError
from operators.search import passing_zero
from operators.svt.terms import SvtPlan

__all__ = [
    "Exponential",
    "Gaussian",
    "Gumbel",
    "Laplace",
    "Noise",
    "integer_correction",
    "svt_correction",
]

_POINTS: Final = 1 << 20
_TAIL: Final = 34.0  # exp(-34): less than what the transform's rounding leaves
_SEEN: Final = 1e-11  # a tail below is lost in that rounding

_Floats: TypeAlias = NDArray[np.float64]


class Noise(Protocol):
    """A continuous law, as far as a correction needs it."""

    @property
    def scale(self) -> float:
        """Its scale, > 0."""
        ...

    @property
    def reach(self) -> float:
        """How far from zero it falls but for about exp(-34) of the time."""
        ...

    def survival(self, x: _Floats) -> _Floats:
        """Return P[noise > x]."""
        ...


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A law whose tails fall as exp(-x / scale)."""

    scale: float

    @property
    def reach(self) -> float:
        """How far from zero it falls but for exp(-34) of the time."""
        return _TAIL * self.scale


@dataclass(frozen=True, slots=True)
class Exponential(_Scaled):
    """Density exp(-x / scale) / scale for x >= 0.

    Args:
        scale: > 0; 1 over the rate.
    """

    def survival(self, x: _Floats) -> _Floats:
        """Return P[noise > x]."""
        return np.exp(-np.maximum(x, 0.0) / self.scale)


@dataclass(frozen=True, slots=True)
class Laplace(_Scaled):
    """Density exp(-abs(x) / scale) / (2 scale).

    Args:
        scale: > 0; 1 over the rate.
    """

    def survival(self, x: _Floats) -> _Floats:
        """Return P[noise > x]."""
        tail = 0.5 * np.exp(-np.abs(x) / self.scale)
        return np.where(x > 0, tail, 1 - tail)


@dataclass(frozen=True, slots=True)
class Gumbel(_Scaled):
    """P[noise <= x] = exp(-exp(-x / scale)).

    Args:
        scale: > 0.
    """

    def survival(self, x: _Floats) -> _Floats:
        """Return P[noise > x]."""
        return np.asarray(-np.expm1(-np.exp(-np.maximum(x / self.scale, -_TAIL))))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """The normal law of mean 0.

    Args:
        scale: standard deviation, > 0.
    """

    scale: float

    @property
    def reach(self) -> float:
        """How far from zero it falls but for exp(-34) of the time."""
        return math.sqrt(2 * _TAIL) * self.scale

    def survival(self, x: _Floats) -> _Floats:
        """Return P[noise > x]."""
        return np.asarray(scipy.special.ndtr(-x / self.scale))


_NOISES: Final = instance_of(Exponential, Laplace, Gumbel, Gaussian)


def svt_correction(
    query_noise: Noise,
    threshold_noise: Noise,
    negatives: float,
    tolerance: float = 0,
    method: Literal["analytic", "fft"] = "analytic",
) -> float:
    """Return the r that maximises Gamma(r + a)^k (1 - Gamma(r - a)).

    All noises here have log-concave laws, so has v - rho, and the objective's logarithm is concave:
    r is where its slope k g(r+a) / Gamma(r+a) - g(r-a) / (1 - Gamma(r-a)) is 0, found by
    halving to the last bit. At a = 0 that is Gamma(r) = k / (k + 1).

    Args:
        query_noise: law of v; for "analytic" an ``Exponential``.
        threshold_noise: law of rho; for "analytic" a ``Laplace`` or an ``Exponential``.
        negatives: k > 0, negatives expected before a positive.
        tolerance: a >= 0, in units of the noises.
        method: "analytic", by the closed form, or "fft", by convolution on a million points (within
            1e-6 of the closed form where scales differ by no more than some tens).

    Returns:
        r, in units of the noises.

    Raises:
        ValueError: numbers out of range, a pair without a closed form, or (by "fft") an optimum so
            far out that the transform cannot see it.

    Source: SVT-Exp, Equations 8 and 9, Appendix D (closed form for Laplace), Algorithms 3 and 4
    (numerical).
    """
    expect(_NOISES, query_noise=query_noise, threshold_noise=threshold_noise)
    expect(NUMBER, negatives=negatives, tolerance=tolerance)
    expect(one_of("analytic", "fft"), method=method)
    numbers = (negatives, query_noise.scale, threshold_noise.scale)
    if not all(0 < each < math.inf for each in numbers) or not 0 <= tolerance < math.inf:
        raise ArgumentError(
            "scales and negatives are above 0, a tolerance is not below 0, all finite",
            hint="write negatives=20, the answers below the threshold that a run expects",
        )
    methods = {"analytic": _by_closed_form, "fft": _by_transform}
    if method not in methods:
        raise ArgumentError("a correction is found by method 'analytic' or 'fft'")
    return methods[method](query_noise, threshold_noise, float(negatives), float(tolerance))


def integer_correction(plan: SvtPlan, negatives: float, tolerance: int = 0) -> int:
    """Return the whole r at which a run on these terms is most often right.

    On integers a negative at most a steps off is one at s' = -1 - a and a positive one at s' = a:
    P[X <= r + a]^k P[X >= r - a], X = v - rho by its exact law (in floats), is concave in its
    logarithm over whole r. Its maximum is climbed to from the continuous one.

    Args:
        plan: its rates and noises; its own correction is not read.
        negatives: k > 0, expected before a positive.
        tolerance: a >= 0 in steps.

    Raises:
        ValueError: numbers out of range.
    """
    expect(instance_of(SvtPlan), plan=plan)
    expect(NUMBER, negatives=negatives)
    expect(WHOLE, tolerance=tolerance)
    law = plan.difference
    threshold = Exponential if plan.one_sided else Laplace
    noises = Exponential(1 / float(plan.query_rate)), threshold(1 / float(plan.threshold_rate))

    def objective(r: int) -> float:
        quiet, rings = law.below(r + tolerance + 1), law.at_least(r - tolerance)
        return negatives * _log(quiet) + _log(rings)

    r = round(svt_correction(*noises, negatives, tolerance))
    step = 1 if objective(r + 1) > objective(r) else -1
    while objective(r + step) > objective(r):
        r += step
    return r


def _below_one_sided(x: float, fast: float, slow: float) -> float:
    """Return g / Gamma at x of Exp(fast) - Exp(slow)."""
    if x <= 0:
        return slow
    survival = slow / (fast + slow) * math.exp(-fast * x)
    return fast * survival / (1 - survival)


def _hazard_one_sided(x: float, fast: float, slow: float) -> float:
    """Return g / (1 - Gamma) at x."""
    return fast if x >= 0 else _below_one_sided(-x, slow, fast)


def _below(x: float, fast: float, slow: float) -> float:
    """Return g / Gamma at x of Exp(fast) - Lap(slow)."""
    if x <= 0:
        return slow
    survival, density, least = _scaled(x, fast, slow)
    shrunk = math.exp(-least * x)
    return density * shrunk / (1 - survival * shrunk)


def _hazard(x: float, fast: float, slow: float) -> float:
    """Return g / (1 - Gamma) at x."""
    if x <= 0:
        gamma = fast / (2 * (fast + slow)) * math.exp(slow * x)
        return slow * gamma / (1 - gamma)
    survival, density, _ = _scaled(x, fast, slow)
    return density / survival


def _scaled(x: float, fast: float, slow: float) -> tuple[float, float, float]:
    """Return ``1 - Gamma`` and g at x > 0, both over exp(-least x), and the least rate."""
    least, apart = min(fast, slow), abs(fast - slow)
    between = -math.expm1(-apart * x) / apart if apart else x
    query, threshold = math.exp(-(fast - least) * x), math.exp(-(slow - least) * x)
    both = between + query / (fast + slow)
    return threshold / 2 + slow / 2 * both, fast * slow / 2 * both, least


def _by_closed_form(query: Noise, threshold: Noise, negatives: float, tolerance: float) -> float:
    if not isinstance(query, Exponential) or not isinstance(threshold, Exponential | Laplace):
        raise ArgumentError(
            "only Exponential with Laplace or itself has a closed form; use 'fft'",
            hint="write method='fft'",
        )  # a value of the public interface
    fast, slow = 1 / query.scale, 1 / threshold.scale
    one_sided = isinstance(threshold, Exponential)
    below = _below_one_sided if one_sided else _below
    hazard = _hazard_one_sided if one_sided else _hazard

    def slope(r: float) -> float:
        return negatives * below(r + tolerance, fast, slow) - hazard(r - tolerance, fast, slow)

    step = query.scale + threshold.scale
    low = high = 0.0
    while slope(low) <= 0:
        low -= step
        step *= 2
    while slope(high) >= 0:
        high += step
        step *= 2
    return passing_zero(lambda r: -slope(r), low, high)


def _by_transform(query: Noise, threshold: Noise, negatives: float, tolerance: float) -> float:
    half = _POINTS // 2
    step = (query.reach + threshold.reach) / half
    edges: _Floats = (np.arange(-half, half + 2, dtype=np.float64) - 0.5) * step
    # Masses of cells, each taken to lie in the middle: of v, and of -rho.
    # What wraps round at twice the length falls outside the middle half, which is kept.
    spectrum = np.fft.rfft(_masses(query, edges), 4 * half)
    spectrum *= np.fft.rfft(_masses(threshold, edges)[::-1], 4 * half)
    masses: _Floats = np.fft.irfft(spectrum, 4 * half)[half : 3 * half + 1]
    lattice: _Floats = np.arange(-half, half + 1, dtype=np.float64) * step
    density = masses / step
    above = np.cumsum(masses[::-1])[::-1] - masses / 2

    def slope(r: float) -> float:
        up, down = r + tolerance, r - tolerance
        below = np.interp(up, lattice, density) / (1 - np.interp(up, lattice, above))
        return float(negatives * below - _ratio(down, lattice, density, above))

    low = float(lattice[np.searchsorted(-above, -(1 - _SEEN))]) - tolerance
    high = float(lattice[np.searchsorted(-above, -_SEEN) - 1]) + tolerance
    if not low < high or slope(low) <= 0 or slope(high) >= 0:
        raise ArgumentError("the optimum lies in tails that the transform cannot see")
    return passing_zero(lambda r: -slope(r), low, high)


def _ratio(x: float, lattice: _Floats, upper: _Floats, lower: _Floats) -> float:
    return float(np.interp(x, lattice, upper) / np.interp(x, lattice, lower))


def _masses(noise: Noise, edges: _Floats) -> _Floats:
    return -np.diff(noise.survival(edges))


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
