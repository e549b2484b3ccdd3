"""Checkers shared by the exact and the statistical tests of mechanisms.

Everything here is independent of the code under test: exponentials come from ``decimal`` (correctly
rounded), probabilities are exact integers or rationals, and losses are compared without rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from operators.noise.source import NoiseSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

DIGITS = 120
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Words64 = NDArray[np.uint64]

ONE = 1 << 64  # probability one in the units of the tables under test


def ints(values: ArrayLike) -> Ints:
    """Return whole numbers as mechanisms take them."""
    return np.array(values, np.int64)


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals ``lo < exp(x) < hi``, within 1e-100 of each other in proportion."""
    with localcontext() as context:
        context.prec = DIGITS
        value = Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())
    # The quotient is off by at most 1e-119 |x|, the exponential by half a unit in its last place.
    margin = Fraction(1, 10**100)
    assert abs(x) < 10**9
    return value * (1 - margin), value * (1 + margin)


def odds(one: ArrayLike, other: ArrayLike) -> Floats:
    """Return the loss of two coins, infinite where only one of them is sure."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yes, no = np.divide(one, other), np.divide(np.subtract(1, one), np.subtract(1, other))
        return np.asarray(np.fmax(np.abs(np.log(yes)), np.abs(np.log(no))))  # both sure: nan


def loss_violations(
    law: Callable[[Ints], Words64],
    statistics: Ints,
    sensitivity: int,
    epsilon: Fraction,
) -> int:
    """Count pairs of neighbouring statistics whose loss exceeds ``epsilon``, exactly.

    Args:
        law: probability of firing per statistic, in units of 2^-64.
        statistics: consecutive integers; every pair 1 to ``sensitivity`` apart is compared.
        sensitivity: D.
        epsilon: the charge.

    Returns:
        How many distinct pairs of probabilities break one of the four inequalities (two outcomes,
        two directions).
    """
    levels, at = np.unique(law(statistics), return_inverse=True)
    pairs = set()
    for apart in range(1, sensitivity + 1):
        codes = at[:-apart].astype(np.int64) * levels.size + at[apart:]
        pairs.update(np.unique(codes).tolist())
    bound = exp_bounds(epsilon)[0]
    values = [int(level) for level in levels]

    def within(p, other):
        return p * bound.denominator <= other * bound.numerator

    broken = 0
    for code in pairs:
        a, b = values[code // levels.size], values[code % levels.size]
        sound = within(a, b) and within(b, a) and within(ONE - a, ONE - b)
        broken += not (sound and within(ONE - b, ONE - a))
    return broken


def least_epsilon(steps: int, alpha: Fraction, beta: Fraction) -> Decimal:
    """Return the theoretical minimum by bisection on the iterated map, to 1e-20.

    The map p -> min(e^eps p, 1 - e^-eps (1 - p)), iterated ``steps`` times from ``alpha``, reaches
    ``1 - beta`` at the minimum.
    """
    with localcontext() as context:
        context.prec = 50
        start = Decimal(alpha.numerator) / Decimal(alpha.denominator)
        goal = 1 - Decimal(beta.numerator) / Decimal(beta.denominator)
        low, high = Decimal(0), Decimal(64)
        while high - low > Decimal("1e-20"):
            middle = (low + high) / 2
            grown, shrunk, p = middle.exp(), (-middle).exp(), start
            for _ in range(steps):
                p = min(grown * p, 1 - shrunk * (1 - p))
            low, high = (low, middle) if p >= goal else (middle, high)
        return high


def laplace_masses(t: Fraction, reach: int) -> Floats:
    """Return P[z] of the discrete Laplace for z = -reach..reach, tails folded into the ends."""
    q = math.exp(-float(t))
    sizes = np.abs(np.arange(-reach, reach + 1))
    masses = -math.expm1(-float(t)) / (1 + q) * np.exp(-float(t) * sizes)
    masses[0] = masses[-1] = math.exp(-float(t) * reach) / (1 + q)
    return masses


def geometric_masses(t: Fraction, reach: int) -> Floats:
    """Return P[k] of the geometric for k = 0..reach, the tail folded into the end."""
    sizes = np.arange(reach + 1)
    masses = -math.expm1(-float(t)) * np.exp(-float(t) * sizes)
    masses[-1] = math.exp(-float(t) * reach)
    return masses


def chi_square(counts: Ints, masses: Floats) -> float:
    """Return the p-value of counts against their law.

    Neighbouring values are joined to bins of at least 100 expected, about 400 bins at most: more
    would cost power against smooth errors.
    """
    expected = masses * counts.sum()
    each = max(100.0, float(counts.sum()) / 400)
    bins = np.minimum(np.cumsum(expected) // each, expected.sum() // each - 1).astype(np.int64)
    expected = np.bincount(bins, weights=expected)
    observed = np.bincount(bins, weights=counts)
    kept = expected > 0
    assert not observed[~kept].any()
    statistic = float(((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum())
    return float(chdtrc(int(kept.sum()) - 1, statistic))


def p_value(drawn: Ints, masses: Floats) -> float:
    """Return the p-value of whole numbers against masses on -reach..reach, tails in the ends."""
    reach = masses.size // 2
    counts = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=masses.size)
    return chi_square(counts, masses)


def bernoulli_chi_square(counts: Ints, draws: int, probabilities: Floats) -> float:
    """Return the p-value of success counts, each of ``draws``, against their probabilities."""
    variances = draws * probabilities * (1 - probabilities)
    kept = variances >= 25
    statistic = float((((counts - draws * probabilities) ** 2)[kept] / variances[kept]).sum())
    return float(chdtrc(int(kept.sum()), statistic))


class GivenNoise(NoiseSource):
    """Hands out chosen discrete Laplaces and geometrics, and notes at what rate each was drawn."""

    def __init__(self, *drawn):
        """Keep the values, in the order of draws."""
        super().__init__()
        self.values = np.concatenate(drawn)
        self.rates = []

    def discrete_laplace(self, t: Fraction, n: int) -> Ints:
        """Return the next ``n`` values."""
        self.rates.append(t)
        drawn, self.values = self.values[:n], self.values[n:]
        assert drawn.size == n
        return drawn.copy()

    geometric = discrete_laplace


class Words(NoiseSource):
    """Hands out chosen words of 64 bits, from the first one again where there are too few."""

    def __init__(self, words):
        """Keep the words."""
        super().__init__()
        self.words = np.array(words, np.uint64)

    def uint64(self, n: int) -> Words64:
        """Return them."""
        return np.resize(self.words, n)


def over(operator: Any, cells: int) -> Any:
    """Return the same operator over more cells of the same threshold."""
    thresholds = np.repeat(operator.test.thresholds, cells)
    return replace(operator, test=replace(operator.test, thresholds=thresholds))
