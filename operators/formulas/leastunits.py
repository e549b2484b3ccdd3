"""What one literal costs at least: the loss at which noise keeps its two error rates."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log, log1p
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import UNITS_PER_EPSILON, from_loss_units
from operators.noise.certified import exp_neg_bounds
from operators.search import least
from operators.single.tslm import theoretical_limit

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["least_loss"]

_CERTIFIED_BITS: Final = 256
_WINDOW: Final = 2


@lru_cache(maxsize=4096)
def least_loss(steps: int, alpha: Fraction, beta: Fraction) -> int:
    """Return the least whole loss units that keep both rates over ``steps`` steps.

    Certified in integers: at a loss of e, with q = exp(-e), the rates are kept by some e-private
    rule iff q^j - beta q^(2j-k) <= alpha for every j in 0..k.

    Args:
        steps: k >= 1.
        alpha: bound on firing at s' = -k.
        beta: bound on missing at s' = 0; alpha + beta < 1.

    Returns:
        Loss units, at least 1.
    """
    guess = round(theoretical_limit(steps, alpha, beta) * UNITS_PER_EPSILON)
    return least(lambda units: _suffices(units, steps, alpha, beta), 0, max(1, guess))


def _turning(steps: int, loss: float, log_beta: float) -> int:
    """Return the j at which q^j - beta q^(2j-k) is largest."""
    at = ceil((log_beta + steps * loss + log1p(np.exp(-loss))) / loss)
    return min(max(at, 0), steps)


def _suffices(units: int, steps: int, alpha: Fraction, beta: Fraction) -> bool:
    """Check the rates at a loss, by certified bounds; looking at the j about the turning point.

    The sequence over j is unimodal (a concave parabola in q^j): a window about its top decides.
    """
    loss = from_loss_units(units)
    scale = 1 << _CERTIFIED_BITS
    turning = _turning(steps, float(loss), log(beta))
    for j in range(max(0, turning - _WINDOW), min(steps, turning + _WINDOW) + 1):
        # Multiplied by q^(k-2j) where that power is positive, so that no power is negative.
        rising = exp_neg_bounds(loss * max(j, steps - j), _CERTIFIED_BITS)[1]
        factor = exp_neg_bounds(loss * abs(2 * j - steps), _CERTIFIED_BITS)[0]
        plain, scaled = (alpha, beta) if 2 * j >= steps else (beta, alpha)
        if rising > plain * scale + scaled * factor:
            return False
    return True
