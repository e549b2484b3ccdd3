"""Other noises for the questions of a run. FOR EXPERIMENTS ONLY: no configuration leads here.

Both are exact on integers and go in through ``ask(..., draw=...)``. Laplace noise is as private as
geometric noise of the same rate, at twice the variance. Gaussian noise is not private at any rate:
its loss is (epsilon, delta), stated by ``gaussian_epsilon`` and accounted by nobody. Gumbel noise
has no exact sampler here; benchmarks use a float one. Proof: ``docs/proofs/svt.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ArgumentError
from operators.noise.certified import CertifiedProbability

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource
    from operators.svt.terms import SvtPlan

__all__ = ["discrete_gaussian", "gaussian_epsilon", "laplace_questions"]

_ORDERS: Final = 1 + np.geomspace(1e-3, 1e5, 2_000)


def laplace_questions(plan: SvtPlan, noise: NoiseSource) -> Callable[[int], NDArray[np.int64]]:
    """Return ``draw`` for SVT-Lap: discrete Laplace noise of the plan's query rate.

    Guarantee: that of the plan.

    Args:
        plan: the terms.
        noise: the cryptographic source.
    """
    return partial(noise.discrete_laplace, plan.query_rate)


def discrete_gaussian(noise: NoiseSource, variance: Fraction, n: int) -> NDArray[np.int64]:
    """Draw ``n`` discrete Gaussians, exactly: P[z] is proportional to exp(-z^2 / (2 variance)).

    Args:
        noise: the cryptographic source.
        variance: sigma^2 > 0, exact (the law's own variance is a little less).
        n: how many, >= 0.

    Returns:
        Shape (n,), int64.

    Raises:
        ValueError: a variance that is not above 0.

    Source: Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy",
    Algorithm 3: rejection from a discrete Laplace.
    """
    if variance <= 0:
        raise ArgumentError("a variance is above 0")
    scale = math.isqrt(variance.numerator // variance.denominator) + 1
    peak = variance / scale
    kept: list[NDArray[np.int64]] = []
    missing = n
    while missing:
        drawn = noise.discrete_laplace(Fraction(1, scale), missing)
        accepted = np.ones(missing, dtype=np.bool_)
        sizes, at = np.unique(np.abs(drawn), return_inverse=True)
        for index, size in enumerate(sizes.tolist()):
            exponent = (size - peak) ** 2 / (2 * variance)
            if exponent:
                places = np.flatnonzero(at == index)
                coin = CertifiedProbability.exp_neg(exponent)
                accepted[places] = noise.certified(coin, places.size)
        kept.append(drawn[accepted])
        missing -= int(np.count_nonzero(accepted))
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)


def gaussian_epsilon(plan: SvtPlan, variance: float, questions: int, delta: float) -> float:
    """Return an epsilon such that a run with Gaussian questions is (epsilon, delta)-private.

    With m = 2 (1 where monotone), of order a > 1 the run's Renyi loss is at most
    ``eps_1 + c a m^2 / (2 variance) + ln(sum_(i <= c) binomial(questions, i)) / (a - 1)``; epsilon
    is the least of that plus ``ln(1 / delta) / (a - 1)`` over a grid of orders. In floats.

    Args:
        plan: its threshold, alarms and direction; what its alarms cost is not read.
        variance: sigma^2 of the questions' noise.
        questions: most questions of the run, all cells and windows together.
        delta: in (0, 1).

    Raises:
        ValueError: numbers out of range.

    Source: after Zhu and Wang, "Improving sparse vector technique with Renyi differential privacy";
    ``docs/proofs/svt.md`` proves this bound.
    """
    if variance <= 0 or questions < 1 or not 0 < delta < 1:
        raise ArgumentError("a variance above 0, at least one question, delta in (0, 1)")
    moved = 1 if plan.monotone else 2
    ways = sum(math.comb(questions, rung) for rung in range(min(plan.alarms, questions) + 1))
    each = _ORDERS * moved**2 / (2 * variance)
    losses = plan.alarms * each + (math.log(ways) - math.log(delta)) / (_ORDERS - 1)
    return float(plan.threshold_rate) + float(losses.min())
