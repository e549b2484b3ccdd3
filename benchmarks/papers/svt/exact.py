"""One comparison and one run of the SVT-Exp paper by their laws: for its Figures 3 to 5.

A question rings where v - rho reaches its distance to the threshold and the correction r. The
paper's Equation 8 multiplies the chances of k + 1 questions as if each had a rho of its own; a run
has one for all. Both are integrals over rho, by Gauss and Legendre between the kinks of the laws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.papers.svt.methods import gaussian_scale, shares
from operators.svt import Exponential, Gaussian, Gumbel, Laplace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from benchmarks.papers.svt.methods import Law
    from operators.svt.correction import Noise

LAWS: Final[Mapping[str, Law]] = {
    "SVT-Exp": "exp",
    "SVT-Lap": "lap",
    "SVT-Gum": "gum",
    "SVT-Gau": "gau",
}
"""The four noises of a question, by the technique's name."""

DELTA: Final = 1e-4
"""Of Gaussian noise: one by the items of the paper's Binary and Zipf."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, slots=True)
class Pair:
    """The continuous noises of a technique.

    Args:
        query: law of v, drawn for every question.
        threshold: law of rho, drawn once: Laplace, Gaussian, or exponential.
    """

    query: Noise
    threshold: Noise

    @property
    def variance(self) -> float:
        """Variance of v - rho, the paper's Equation 6."""
        return _variance(self.query) + _variance(self.threshold)

    @property
    def mean(self) -> float:
        """Mean of v, which is the mean correction."""
        return _mean(self.query)

    def below(self, x: float) -> float:
        """Return Gamma(x) = P[v - rho < x]."""
        return 1 - self._mean(lambda rho: self.query.survival(x + rho), [-x])

    def apart(self, r: float, negatives: int, tolerance: float = 0) -> float:
        """Return the paper's success probability: Gamma(r + a)^k (1 - Gamma(r - a)).

        Args:
            r: correction.
            negatives: k, all at a tolerance above the threshold.
            tolerance: a >= 0; the positive is as far below the threshold.

        Source: SVT-Exp, Equation 8.
        """
        return self.below(r + tolerance) ** negatives * (1 - self.below(r - tolerance))

    def together(self, r: float, negatives: int, tolerance: float = 0) -> float:
        """Return the same probability where all questions share rho, as those of a run do.

        Args:
            r: as in :meth:`apart`, like all others.
            negatives: as there.
            tolerance: as there.
        """

        def right(rho: NDArray[np.float64]) -> NDArray[np.float64]:
            quiet = 1 - self.query.survival(r + tolerance + rho)
            return quiet**negatives * self.query.survival(r - tolerance + rho)

        return self._mean(right, [-r - tolerance, tolerance - r])

    def best(self, success: Callable[[float], float]) -> float:
        """Return the correction with the highest success.

        Both probabilities are log-concave in r, as all laws here are: there is one maximum.

        Args:
            success: by correction.
        """
        reach = self.query.reach + self.threshold.reach
        found = minimize_scalar(
            lambda r: -math.log(max(success(r), 1e-300)),
            bounds=(-reach, reach),
            method="bounded",
            options={"xatol": 1e-7 * reach},
        )
        return float(found.x)

    def _mean(
        self, of: Callable[[NDArray[np.float64]], NDArray[np.float64]], kinks: list[float]
    ) -> float:
        """Return the mean over rho of a function that is smooth but for some points."""
        reach, width = self.threshold.reach, min(self.threshold.scale, self.query.scale)
        low = 0.0 if isinstance(self.threshold, Exponential) else -reach
        inner = [each for each in (0.0, *kinks) if low < each < reach]
        panels = math.ceil((reach - low) / width)
        edges = np.unique(np.concatenate([np.linspace(low, reach, panels + 1), inner]))
        halves = np.diff(edges)[:, None] / 2
        points = edges[:-1, None] + halves * (1 + _NODES)
        weights = halves * _WEIGHTS * _density(self.threshold, points)
        return float((weights * of(points)).sum() / weights.sum())


def pairs(alarms: int, epsilon: float, *, halved: bool = False) -> Mapping[str, Pair]:
    """Return the noises of the paper's Algorithm 2 by technique, with the scale 2c / epsilon_2.

    Args:
        alarms: c.
        epsilon: of the run.
        halved: epsilon_1 = epsilon_2, as in Theorem 4, in place of the split of Table 4.
    """
    found = {}
    for name, law in LAWS.items():
        first, second = shares(law, alarms, epsilon, monotone=False)
        if halved:
            first = second = epsilon / 2
        if law == "gau":
            sigma = 2 * alarms * gaussian_scale(second, DELTA)
            found[name] = Pair(Gaussian(sigma), Gaussian(gaussian_scale(first, DELTA)))
            continue
        scale = 2 * alarms / second
        noises: Mapping[Law, Noise] = {
            "exp": Exponential(scale),
            "lap": Laplace(scale),
            "gum": Gumbel(scale),
        }
        found[name] = Pair(noises[law], Laplace(1 / first))
    return found


def _density(noise: Noise, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the density of the threshold's noise is proportional to."""
    if isinstance(noise, Gaussian):
        return np.exp(-0.5 * (x / noise.scale) ** 2)
    return np.exp(-np.abs(x) / noise.scale)


def _variance(noise: Noise) -> float:
    if isinstance(noise, Laplace):
        return 2 * noise.scale**2
    if isinstance(noise, Gumbel):
        return math.pi**2 / 6 * noise.scale**2
    return noise.scale**2


def _mean(noise: Noise) -> float:
    if isinstance(noise, Exponential):
        return noise.scale
    return float(np.euler_gamma) * noise.scale if isinstance(noise, Gumbel) else 0.0
