"""A private bound of the values in a cell, and the sparse vector that it and ``svt`` are made of.

The proofs are in ``docs/research/proofs/deciders.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import EXACT, expect, or_none
from accountant.errors import ConfigError
from operators.conditions.weights import Statistic
from operators.deciders.base import counted_up_to, counts
from operators.search import least

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["LevelBound", "PrivateBound", "correction", "first_reached"]

_MOST_SHARE: Final = 10_000
_NOISE_CLAMP: Final = 1 << 37
_USUAL_PART: Final = Fraction(1, 3)


@dataclass(frozen=True, slots=True)
class PrivateBound:
    """What is asked of a private bound.

    Args:
        theta: of the events, how many the cap that it chooses leaves whole, in (0, 1), with a
            denominator of at most 10,000.
        epsilon: what it may cost of the decider's epsilon; a third of that by default.

    Source: DP-PQD, Algorithm 4 and Observation B.2, whose values are the defaults.
    """

    theta: Fraction = Fraction(19, 20)
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        """Check the share."""
        expect(EXACT, theta=self.theta)
        expect(or_none(EXACT), epsilon=self.epsilon)
        if not 0 < self.theta < 1 or self.theta.denominator > _MOST_SHARE:
            raise ConfigError(
                "theta is not between 0 and 1 with at most four decimals",
                hint="write theta: 0.95",
            )

    def spent(self, epsilon: Fraction) -> Fraction:
        """Return what the bound costs.

        Args:
            epsilon: of the decider.

        Raises:
            ConfigError: nothing, or all of it.
        """
        found = _USUAL_PART * epsilon if self.epsilon is None else self.epsilon
        if not 0 < found < epsilon:
            raise ConfigError(
                "the bound's epsilon is not between 0 and the alarm's epsilon",
                hint="remove it: the default is a third of the alarm's epsilon",
            )
        return found


@dataclass(frozen=True, slots=True)
class LevelBound:
    """A private index of the cap that few values pass: the downward sensitivity, bounded.

    A sparse vector over the counts of events at or below each cap against ``share`` of a noisy
    number of events; it stops at the first cap that reaches it.

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit:
    a third for the noisy number, a third for the noisy threshold, a third for the first answer.

    Args:
        levels: the caps.
        events: most events of one privacy unit in a cell.
        epsilon: exact loss.
        share: of the events that a cap has to reach, in (0, 1), denominator at most 10,000.

    Source: DP-PQD, Algorithm 4, Observation B.2, with one-sided noise as in SVT-Exp.
    """

    levels: tuple[int, ...]
    events: int
    epsilon: Fraction
    share: Fraction

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The number of events, then those at or below each cap."""
        rows = [counted_up_to(t, self.events) for t in self.levels]
        return (Statistic(sensitivity=self.events), *rows)

    def find(self, statistics: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.int64]:
        """Return the index of the cap to use, per cell.

        Args:
            statistics: shape (1 + levels, cells), int64, the rows of :attr:`statistics`.
            noise: the cryptographic source.

        Returns:
            Shape (cells,), int64, in 0 .. levels - 1.
        """
        rows = counts(statistics)
        a, b = self.share.numerator, self.share.denominator
        third = self.epsilon / 3
        drawn = noise.discrete_laplace(third / self.events, rows.shape[1])
        total = np.clip(rows[0] + drawn, -_NOISE_CLAMP, _NOISE_CLAMP)
        steps = (b * rows[1:] - a * total) // (b * self.events)
        threshold = noise.discrete_laplace(third, rows.shape[1])
        first = first_reached(steps, threshold, third, noise)
        return np.minimum(first, len(self.levels) - 1)


def correction(rate: Fraction, questions: int) -> int:
    """Return the least r >= 0 with P[v - rho >= r + 1] <= 1 / (questions + 1).

    A question one step short of its threshold is then answered yes that seldom: the condition
    Gamma(r) = k / (k + 1) of SVT-Exp's optimal correction at tolerance zero, on integers.

    Args:
        rate: of v, a geometric, and of rho, a discrete Laplace.
        questions: answered no before a yes, at most.
    """
    t = float(rate)
    q = math.exp(-t)

    def tail(r: int) -> float:
        return math.exp(-t * r) * (1 / (1 + q) + r * -math.expm1(-t) + q) / (1 + q)

    # tail(0) is at least 3/4
    return least(lambda r: tail(r) <= 1 / (questions + 1), 0, 1) - 1


def first_reached(
    steps: NDArray[np.int64],
    threshold: NDArray[np.int64],
    rate: Fraction,
    noise: NoiseSource,
) -> NDArray[np.int64]:
    """Return the index of the first question answered yes per cell; their number where none is.

    Args:
        steps: shape (questions, cells): distance to the threshold in steps of one unit.
        threshold: shape (cells,): noise of the threshold.
        rate: of the geometric noise of every question.
        noise: the cryptographic source.
    """
    drawn = noise.geometric(rate, steps.size).reshape(steps.shape)
    yes = steps + drawn >= threshold + correction(rate, steps.shape[0])
    first: NDArray[np.int64] = np.where(yes.any(axis=0), yes.argmax(axis=0), steps.shape[0])
    return first
