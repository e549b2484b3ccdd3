"""The threshold decision under a Gaussian budget: the extremal curve of mu-GDP.

A bit has no tails to argue about: two coins are mu-GDP exactly if their normal quantiles are at
most mu apart. So firing probabilities on an even grid of quantiles, rounded by less than is left
between two steps and mu, pay what theory asks for and not more. The proof is in
``docs/research/proofs/gaussian.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.normal import normal_bounds
from accountant.errors import ConfigError
from accountant.units import from_loss_units, to_loss_units
from operators.base import Plan
from operators.search import least
from operators.single.tslm import Tslm, room_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Promise
    from operators.conditions.atoms import IntegerTest

__all__ = [
    "MOST_GAUSSIAN_STEPS",
    "Grid",
    "gaussian_limit",
    "least_mu",
    "planned",
    "priced",
    "quantile_above",
    "upper_quantile",
]

MOST_GAUSSIAN_STEPS: Final = 5_000
"""Most steps between "must fire" and "must not fire": every entry takes two tails of the normal."""

_BITS: Final = 64
_SPARE_BITS: Final = 32
_FINEST: Final = Fraction(1, 1 << 40)
_SLACK: Final = Fraction(1, 1 << 16)
_LEAST_SLACK: Final = Fraction(1, 1 << 26)
_WIDER: Final = (1 << _SPARE_BITS) + (1 << _SPARE_BITS // 2)
_MOST_BEYOND: Final = 20_000
"""Entries on each side of s' = 0 at most: a table is constant beyond, which costs nothing."""

_FARTHEST: Final = 8
"""About where tables end, as a quantile: there the density is near 2^-46."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Quantiles of the firing probabilities, evenly apart.

    Args:
        top: of the probability at s' = 0.
        apart: between two steps, above 0.
    """

    top: Fraction
    apart: Fraction

    @property
    def slack(self) -> Fraction:
        """By how much a quantile may be rounded up; mu pays for it."""
        return self.apart * _SLACK + _LEAST_SLACK

    @property
    def units(self) -> int:
        """What a step costs: ``mu^2 / 2`` in loss units, rounded up."""
        return to_loss_units((self.apart + self.slack) ** 2 / 2)

    def entry(self, step: int) -> int:
        """Return the probability at a step, in units of 2^-64, rounded up."""
        return _least_above(self.top + step * self.apart)

    def has_room(self, step: int) -> bool:
        """Tell whether the slack at a step is certainly wider than the rounding of its entry.

        The normal law's density falls on both sides: what holds at two steps holds between them.
        """
        at = self.top + step * self.apart
        next_lo = normal_bounds(at + self.slack, _BITS + _SPARE_BITS)[0]
        return next_lo - normal_bounds(at, _BITS + _SPARE_BITS)[1] >= _WIDER

    def table(self) -> tuple[NDArray[np.uint64], int]:
        """Return every entry that is there, and the step of the first.

        Returns:
            Shape (entries,), uint64, in units of 2^-64, increasing; beyond both ends it is
            constant, which costs nothing.
        """
        guess = min(1 + math.ceil(_FARTHEST / self.apart), _MOST_BEYOND)

        def ends(far: int, way: int) -> bool:
            return far > _MOST_BEYOND or not self.has_room(way * far)

        below = least(lambda far: ends(far, -1), 0, guess) - 1
        above = least(lambda far: ends(far, 1), 0, guess) - 1
        steps = range(-below, above + 1)
        return np.array([self.entry(step) for step in steps], dtype=np.uint64), -below


def planned(test: IntegerTest, promise: Promise) -> Tslm:
    """Plan the operator that keeps a promise for the least mu, but for rounding.

    Guarantee: per cell, neighbouring statistics (at most ``sensitivity`` apart) give outcomes that
    are mu-GDP, ``mu^2 / 2`` being the plan's loss; misses and false alarms as :class:`Tslm` has
    them.

    Args:
        test: the integer test.
        promise: what the analyst asked for.

    Raises:
        ConfigError: a promise that cannot be kept, is met by guessing, or spans too many steps.
    """
    plan = priced(test, promise)
    table, lowest = _grid(test, promise).table()
    table.setflags(write=False)
    units = to_loss_units(plan.epsilon)
    return Tslm(test=test, plan=plan, units=units, probabilities=table, lowest=lowest)


def priced(test: IntegerTest, promise: Promise) -> Plan:
    """Return the plan of :func:`planned` without its table; losses are ``mu^2 / 2``."""
    limit = gaussian_limit(*room_of(test, promise))
    units = _grid(test, promise).units
    return Plan(mechanism="tslm", epsilon=from_loss_units(units), limit=limit)


def gaussian_limit(steps: int, alpha: Fraction, beta: Fraction) -> float:
    """Return the least ``mu^2 / 2`` of any mechanism for a promise over ``steps`` steps.

    Args:
        steps: k >= 1.
        alpha: bound on firing at s' = -k.
        beta: bound on missing at s' = 0; alpha + beta < 1.
    """
    return ((upper_quantile(beta) + upper_quantile(alpha)) / steps) ** 2 / 2


def least_mu(steps: int, alpha: Fraction, beta: Fraction) -> Fraction:
    """Return a mu at which normal noise certainly keeps both rates, close to the least.

    Args:
        steps: k >= 1.
        alpha: bound on firing at s' = -k.
        beta: bound on missing at s' = 0; alpha + beta < 1.
    """
    return max((quantile_above(beta) + quantile_above(alpha)) / steps, _FINEST)


@lru_cache(maxsize=4096)  # a search asks for the same rates time and again
def quantile_above(rate: Fraction) -> Fraction:
    """Return a quantile above which certainly no more than ``rate`` is left, close to the least.

    Args:
        rate: in (0, 1), at least 1e-30.
    """
    at = -(-Fraction(upper_quantile(rate)) // _FINEST * _FINEST)
    while Fraction(normal_bounds(at, 2 * _BITS)[0], 1 << 2 * _BITS) < 1 - rate:
        at += _FINEST
    return at


def upper_quantile(rate: Fraction) -> float:
    """Return the quantile above which ``rate`` is left, as a float says."""
    if rate > Fraction(1, 2):  # near one, floats are coarse; near nothing they are not
        return -upper_quantile(1 - rate)
    return -NormalDist().inv_cdf(float(rate))


def _grid(test: IntegerTest, promise: Promise) -> Grid:
    steps, alpha, beta = room_of(test, promise)
    if steps > MOST_GAUSSIAN_STEPS:
        raise ConfigError(
            f"a tolerance of {promise.tolerance} is {steps} steps of the sensitivity; the limit"
            f" with privacy: gdp is {MOST_GAUSSIAN_STEPS}",
            hint="declare a coarser resolution for the summed field, or a smaller tolerance",
        )
    top, bottom = quantile_above(beta), _below(alpha)
    return Grid(top, max((top - bottom) / steps, _FINEST))


@lru_cache(maxsize=256)
def _below(alpha: Fraction) -> Fraction:
    """Return a quantile whose entry is certainly no more than ``alpha``, close to it."""
    at = -Fraction(upper_quantile(alpha)) // _FINEST * _FINEST
    while Fraction(_least_above(at), 1 << _BITS) > alpha:
        at -= _FINEST
    return at


def _least_above(at: Fraction) -> int:
    """Return the least number of units of 2^-64 that is certainly no less than ``Phi(at)``."""
    return -(-normal_bounds(at, _BITS + _SPARE_BITS)[1] >> _SPARE_BITS)
