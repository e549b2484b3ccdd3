"""The sparse vector techniques that the SVT-Exp paper compares, as rates, scales and corrections.

The paper's Table 3 names them, its Table 4 (Table 6 where queries are monotone) splits epsilon.
SVT-Exp and SVT-Lap have this library's laws, exact on integers: geometric and discrete Laplace
noise. Gumbel and Gaussian noise are continuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from accountant.units import UNITS_PER_EPSILON
from operators import SvtPlan, svt_correction
from operators.svt import Exponential, Laplace, integer_correction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from benchmarks.papers.svt.data import Scores

Law: TypeAlias = Literal["exp", "lap", "gum", "gau"]

BEST: Final = "SVT-Exp, optimal"
NAMES: Final = (
    BEST,
    "SVT-Exp, mean",
    "SVT-Exp, none",
    "SVT-Lap",
    "SVT-Gum",
    "SVT-Gau",
    f"{BEST}, RDP",
    "SVT-Gau, RDP",
)
"""The methods, the one that is recommended first; the last two are counted as in appendix I."""

_ORDERS = 1 + np.geomspace(1e-2, 1e7, 400)  # of Renyi divergences; small epsilons need large ones


@dataclass(frozen=True, slots=True)
class Method:
    """One technique with its noise settled: an item rings where s + v >= T + rho + r.

    Args:
        query: law of v.
        query_scale: of v, in records.
        threshold: law of rho.
        threshold_scale: of rho, in records.
        correction: r, in records.
    """

    query: Law
    query_scale: float
    threshold: Literal["lap", "gau"]
    threshold_scale: float
    correction: int = 0


def shares(law: Law, alarms: int, epsilon: float, *, monotone: bool) -> tuple[float, float]:
    """Split epsilon between threshold and queries so that the comparison varies least.

    Args:
        law: of the query noise.
        alarms: c.
        epsilon: of the whole run.
        monotone: Table 6 of the paper in place of Table 4.

    Returns:
        epsilon_1 of the threshold and epsilon_2 = w epsilon_1 of the queries.
    """
    factor = {"exp": math.sqrt(2), "lap": 2.0, "gum": math.pi / math.sqrt(3), "gau": 2.0}[law]
    w = (factor * alarms / (2 if monotone else 1)) ** (2 / 3)
    first = epsilon / (1 + w)
    return first, epsilon - first


def methods(data: Scores, epsilon: float) -> Mapping[str, Method]:
    """Return every technique at one epsilon, by name in the order of ``NAMES``.

    Noise is that of monotone queries. The last two are accounted for as in the paper's appendix I:
    epsilon_2 is what c positives come to by Renyi accounting, each of a pure loss or, for SVT-Gau,
    of Gaussian noise. No proof of that is known; see the report.
    """
    uses = data.alarms
    exp, lap, gum = (
        Method(law, uses / second, "lap", 1 / first)
        for law in ("exp", "lap", "gum")
        for first, second in [shares(law, uses, epsilon, monotone=True)]
    )
    mean = 1 / math.expm1(1 / exp.query_scale)  # of the geometric
    plan = plan_of(data, epsilon)
    rates = 1 / float(plan.query_rate), 1 / float(plan.threshold_rate)
    first, second = shares("gau", uses, epsilon, monotone=True)
    by_use = uses * gaussian_scale(second, data.delta), gaussian_scale(first, data.delta)
    half = data.delta / 2
    by_renyi = rdp_scale(second, half, uses), rdp_scale(first, half)
    scale = 1 / rdp_share(epsilon - 1 / exp.threshold_scale, data.delta, uses)
    right = svt_correction(Exponential(scale), Laplace(exp.threshold_scale), data.negatives)
    every = (
        Method("exp", rates[0], "lap", rates[1], plan.correction),
        replace(exp, correction=round(mean)),
        exp,
        lap,
        replace(gum, correction=round(np.euler_gamma * gum.query_scale)),
        Method("gau", by_use[0], "gau", by_use[1]),
        replace(exp, query_scale=scale, correction=round(right)),
        Method("gau", by_renyi[0], "gau", by_renyi[1]),
    )
    return dict(zip(NAMES, every, strict=True))


def plan_of(data: Scores, epsilon: float, *, questions: int = 1) -> SvtPlan:
    """Return this library's terms for one run, with the correction that is most often right.

    Args:
        data: what to select from.
        epsilon: of the run.
        questions: asks per item in all.
    """
    units = int(epsilon * UNITS_PER_EPSILON)
    plan = SvtPlan.of_budget(units, data.alarms, monotone=True, questions=questions)
    return replace(plan, correction=integer_correction(plan, data.negatives))


def gaussian_scale(epsilon: float, delta: float) -> float:
    """Return the textbook standard deviation of one use: sqrt(2 ln(1.25 / delta)) / epsilon."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@lru_cache(maxsize=256)
def rdp_scale(epsilon: float, delta: float, uses: int = 1) -> float:
    """Return the least standard deviation at which so many uses are (epsilon, delta)-DP by RDP."""
    from dp_accounting import GaussianDpEvent, rdp  # noqa: PLC0415  # slow to import

    def excess(log_scale: float) -> float:
        accountant = rdp.RdpAccountant(_ORDERS)
        accountant.compose(GaussianDpEvent(math.exp(log_scale)), uses)
        return float(accountant.get_epsilon(delta)) - epsilon

    middle = math.log(gaussian_scale(epsilon, delta) * math.sqrt(uses))
    return math.exp(float(brentq(excess, middle - 6, middle + 6, xtol=1e-6)))


@lru_cache(maxsize=256)
def rdp_share(epsilon: float, delta: float, uses: int) -> float:
    """Return the largest pure loss of one use at which so many are (epsilon, delta)-DP by RDP.

    The Renyi divergence of order a of an e-DP mechanism is at most min(e, a e^2 / 2).
    """
    from dp_accounting import rdp  # noqa: PLC0415  # as above

    def excess(share: float) -> float:
        spent = uses * np.minimum(share, _ORDERS * share**2 / 2)
        found, _ = rdp.compute_epsilon(_ORDERS, spent, delta)
        return float(found) - epsilon

    high = epsilon
    while excess(high) <= 0:
        high *= 2
    return float(brentq(excess, epsilon / uses / 2, high, xtol=1e-12, rtol=1e-9))


def tail(law: Law, scale: float, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that query noise reaches a value.

    Args:
        law: of the noise; *exp* and *lap* are the geometric and the discrete Laplace.
        scale: of the noise, in records.
        at: values, integers for *exp* and *lap*; any shape.

    Returns:
        P[v >= at], of the same shape.
    """
    if law == "exp":
        return np.exp(-np.maximum(at, 0) / scale)
    if law == "lap":
        q = math.exp(-1 / scale)
        above = np.exp(-np.maximum(at, 1) / scale) / (1 + q)
        return np.where(at >= 1, above, 1 - np.exp((np.minimum(at, 0) - 1) / scale) / (1 + q))
    if law == "gum":
        return -np.expm1(-np.exp(-np.maximum(at, -700 * scale) / scale))
    return np.asarray(ndtr(-at / scale))
