"""Other noises for the questions of a run. FOR EXPERIMENTS ONLY: no configuration leads here.

Both are exact on integers and go in through ``ask(..., draw=...)``. Laplace noise is as private as
geometric noise of the same rate, at twice the variance. Gaussian noise is not private at any rate:
its loss is (epsilon, delta), stated by ``gaussian_epsilon`` and accounted by nobody. ``renyi_loss``
states the Renyi loss of either. Gumbel noise
has no exact sampler here; benchmarks use a float one. Proof: ``docs/research/proofs/svt.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ArgumentError
from accountant.units import UNITS_PER_EPSILON
from operators.noise.certified import CertifiedProbability

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource
    from operators.svt.terms import SvtPlan

__all__ = ["discrete_gaussian", "gaussian_epsilon", "laplace_questions", "renyi_loss"]

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
    ``docs/research/proofs/svt.md`` proves this bound.
    """
    if variance <= 0 or questions < 1 or not 0 < delta < 1:
        raise ArgumentError("a variance above 0, at least one question, delta in (0, 1)")
    losses = _gaussian_losses(plan, _ORDERS, variance, questions)
    return float((losses - math.log(delta) / (_ORDERS - 1)).min())


def renyi_loss(
    plan: SvtPlan, order: float, *, variance: float | None = None, questions: int | None = None
) -> float:
    """Return a bound on the Renyi divergence between the transcripts of two neighbours.

    With exponential or Laplace questions, and either noise of the threshold, a run of pure loss e
    in all has at most ``ln((exp(a e) + exp((1 - a) e)) / (1 + exp(e))) / (a - 1)``, for any number
    of questions. Adding up one such term per alarm, as for mechanisms that are composed, is not a
    bound. With Gaussian questions it is that of ``gaussian_epsilon``. In floats.

    Args:
        plan: the terms; with Gaussian questions what its alarms cost is not read.
        order: a > 1.
        variance: sigma^2 of Gaussian questions; exponential or Laplace ones if left out.
        questions: most questions of the run, for Gaussian ones only.

    Raises:
        ValueError: numbers out of range, or one of variance and questions without the
            other.

    Source: Bun and Steinke, "Concentrated differential privacy", on pure mechanisms; the appendix
    I of SVT-Exp accounts so alarm by alarm. ``docs/research/proofs/svt.md`` proves the bounds.
    """
    if not 1 < order < math.inf or (variance is None) != (questions is None):
        raise ArgumentError("an order above 1, and a variance with its number of questions")
    if variance is not None and questions is not None:
        if variance <= 0 or questions < 1:
            raise ArgumentError("a variance above 0, at least one question")
        return float(_gaussian_losses(plan, np.array([order]), variance, questions)[0])
    loss = plan.epsilon_units / UNITS_PER_EPSILON
    grown = np.logaddexp(order * loss, (1 - order) * loss) - np.logaddexp(0.0, loss)
    return float(grown / (order - 1))


def _gaussian_losses(
    plan: SvtPlan, orders: NDArray[np.float64], variance: float, questions: int
) -> NDArray[np.float64]:
    moved = 1 if plan.monotone else 2
    ways = sum(math.comb(questions, rung) for rung in range(min(plan.alarms, questions) + 1))
    each = orders * moved**2 / (2 * variance)
    return np.asarray(
        float(plan.threshold_rate) + plan.alarms * each + math.log(ways) / (orders - 1)
    )
