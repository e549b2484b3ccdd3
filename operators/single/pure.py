"""What a pure loss costs a Gaussian budget, certified.

The worst of all epsilon-private mechanisms is randomised response. Two coins are mu-GDP exactly if
their normal quantiles are at most mu apart, and from there the price follows. Proof:
``docs/research/proofs/gaussian.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

from accountant.arguments import EXACT, expect
from accountant.costs.exponential import exp_neg_bounds
from accountant.costs.normal import normal_bounds
from accountant.errors import ArgumentError
from accountant.units import UNITS_PER_EPSILON, to_loss_units

__all__ = ["gaussian_units"]

_LARGEST: Final = 100
"""Above, the bound of all tails is near enough, and exact ones take ever longer."""

_ROOT_BITS: Final = 96
_BITS: Final = 128


def gaussian_units(epsilon: Fraction) -> int:
    """Return the least ``mu^2 / 2`` at which whatever is epsilon-private is certainly mu-GDP.

    No test tells the outcomes of an epsilon-private mechanism apart better than those of randomised
    response, whose trade-off function has one vertex: ``mu = 2 Phi^-1(e^epsilon / (1 +
    e^epsilon))``. Of a mechanism that answers many questions, whatever else is asked between them,
    the price is that of all its answers, and due before the first.

    Args:
        epsilon: the loss at worst, >= 0.

    Returns:
        Loss units, rounded up; above an epsilon of 100, ``4 epsilon``, at most 1 in 20 too much.

    Raises:
        ValueError: a negative epsilon.

    Source: Dong, Roth and Su, *Gaussian differential privacy* (trade-off functions); Kairouz, Oh
    and Viswanath, *The composition theorem for differential privacy* (randomised response is the
    worst); Lyu, *Composition theorems for interactive differential privacy*, and Vadhan and Zhang,
    *Concurrent composition theorems for differential privacy* (what is asked many times).
    """
    expect(EXACT, epsilon=epsilon)
    if epsilon < 0:
        raise ArgumentError("no loss is negative", hint="write gaussian_units(Fraction(1, 2))")
    return _units(Fraction(epsilon))


@lru_cache(maxsize=1024)
def _units(epsilon: Fraction) -> int:
    enough = to_loss_units(4 * epsilon)  # Phi(-x) <= e^(-x^2/2) / 2 <= 1 / (1 + e^epsilon)
    if not 0 < epsilon <= _LARGEST:
        return enough
    bits = _BITS + 2 * math.ceil(epsilon)  # the tail is about e^-epsilon < 2^(2 epsilon)
    falling = exp_neg_bounds(epsilon, bits)[0]
    tail = (falling << bits) // ((1 << bits) + falling)  # at most 1 / (1 + e^epsilon)
    short = 0
    while enough - short > 1:
        middle = (short + enough) // 2
        if normal_bounds(-_half_mu(middle), bits)[1] <= tail:
            enough = middle
        else:
            short = middle
    return enough


def _half_mu(units: int) -> Fraction:
    """Return half the mu whose ``mu^2 / 2`` is so many loss units, rounded down to 2^-96."""
    squared = (units << 2 * _ROOT_BITS) // (2 * UNITS_PER_EPSILON)
    return Fraction(math.isqrt(squared), 1 << _ROOT_BITS)
