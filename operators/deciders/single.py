"""Deciders of COUNT and SUM that look at the aggregate itself: ``lm`` and ``em``.

The proofs are in ``docs/research/proofs/deciders.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from accountant.arguments import expect
from operators.conditions.weights import Statistic, Weight
from operators.conditions.widths import fixed_width, half_widths
from operators.deciders.base import (
    Count,
    PlannedBand,
    Sum,
    check_inputs,
    check_rate,
    deviations,
)
from operators.deciders.draws import WORD_BITS, settle
from operators.noise.certified import exp_neg_bounds
from operators.noise.source import SOURCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["ExponentialBand", "LaplaceBand", "aggregate_row"]


@dataclass(frozen=True, slots=True)
class LaplaceBand(PlannedBand[Count | Sum]):
    """``lm``: one noisy value, two comparisons.

    within iff ``|s + z - reference| < tau``, z discrete Laplace of rate epsilon / D.

    - s: the aggregate, an integer of sensitivity D.

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit:
    the noisy value is, and the answer is read off it.

    Args:
        kind: COUNT or SUM.
        epsilon: exact loss.
        tau: half-width of the band, in units of the aggregate, at least 1, or a share of it.

    Source: DP-PQD, Algorithm 1 with the Laplace mechanism; Observations 4.1 and 5.1.
    """

    name: ClassVar[str] = "lm"
    decides: ClassVar = (Count, Sum)

    def __post_init__(self) -> None:
        """Refuse noise too wide to be drawn."""
        check_rate(self.epsilon / self.kind.sensitivity)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The aggregate."""
        return (aggregate_row(self.kind),)

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        check_inputs(statistics, references, 1)
        drawn = noise.discrete_laplace(self.epsilon / self.kind.sensitivity, references.size)
        noisy = deviations(statistics[0], references) + drawn
        tau = half_widths(self.tau, references)
        within: NDArray[np.bool_] = (noisy < tau) & (noisy > -tau)
        return within

    def chances(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return P["outside"] of every cell; see :meth:`operators.base.Decider.chances`."""
        return outside_chances(self, statistics, references)

    def error(self, distance: int, tau: int | None = None) -> float:
        """Return the probability of the wrong answer at ``|aggregate - reference| = distance``.

        Args:
            distance: in units of the aggregate.
            tau: half-width of the cell's band, where it is a share of the reference.
        """
        rate, tau = float(self.epsilon / self.kind.sensitivity), fixed_width(self.tau, tau)
        near = distance - tau  # the noise crosses this end of the band, or the other one
        far = distance + tau
        if near < 0:
            return _tail(rate, -near) + _tail(rate, far)
        return _tail(rate, near + 1) - _tail(rate, far)


@dataclass(frozen=True, slots=True)
class ExponentialBand(PlannedBand[Count | Sum]):
    """``em``: the exponential mechanism over the two answers.

    wrong with probability ``1 / (1 + exp(epsilon |tau - d| / D))``, d = min(|s - reference|,
    2 tau): the score of the right answer falls linearly from the reference, and from 2 tau, to the
    end of the band, where both answers score one half; its sensitivity is D / (2 tau).

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit.
    Every probability is drawn exactly from certified integer bounds: no exponential overflows,
    whatever ``tau * epsilon``.

    Args:
        kind: COUNT or SUM.
        epsilon: exact loss.
        tau: half-width of the band, in units of the aggregate, at least 1, or a share of it.

    Source: DP-PQD, section 4.2.2, Proposition 4.5 and Observation 4.6.
    """

    name: ClassVar[str] = "em"
    decides: ClassVar = (Count, Sum)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The aggregate."""
        return (aggregate_row(self.kind),)

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        check_inputs(statistics, references, 1)
        distance = np.abs(deviations(statistics[0], references))
        tau = half_widths(self.tau, references)
        margins, at = np.unique(np.abs(np.minimum(distance, 2 * tau) - tau), return_inverse=True)
        bounds_of = [self.wrong(int(margin), WORD_BITS) for margin in margins]
        heads = np.array(bounds_of, dtype=np.uint64).reshape(-1, 2)[at]
        words = noise.uint64(references.size)
        wrong = words < heads[:, 0]
        for cell in np.flatnonzero(~wrong & (words < heads[:, 1])).tolist():
            margin = int(margins[at[cell]])

            def bounds(bits: int, margin: int = margin) -> tuple[int, int]:
                return self.wrong(margin, bits)

            wrong[cell] = settle(int(words[cell]), bounds, noise)
        within: NDArray[np.bool_] = (distance < tau) ^ wrong
        return within

    def wrong(self, margin: int, bits: int) -> tuple[int, int]:
        """Return integers ``lo <= 2^bits p <= hi`` around the probability of the wrong answer.

        Args:
            margin: ``|tau - d|``, from 0 to tau.
            bits: at least 1.
        """
        one = 1 << bits
        lo, hi = exp_neg_bounds(self.epsilon * margin / self.kind.sensitivity, bits)
        return (lo << bits) // (one + lo), -((-hi << bits) // (one + hi))  # grows with exp(-x)

    def chances(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return P["outside"] of every cell; see :meth:`operators.base.Decider.chances`."""
        return outside_chances(self, statistics, references)

    def error(self, distance: int, tau: int | None = None) -> float:
        """Return the probability of the wrong answer at ``|aggregate - reference| = distance``.

        Args:
            distance: in units of the aggregate.
            tau: half-width of the cell's band, where it is a share of the reference.
        """
        tau = fixed_width(self.tau, tau)
        margin = abs(min(distance, 2 * tau) - tau)
        x = float(self.epsilon * margin / self.kind.sensitivity)
        return math.exp(-x) / (1 + math.exp(-x))


def outside_chances(
    decider: LaplaceBand | ExponentialBand,
    statistics: NDArray[np.int64],
    references: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return P["outside"] of every cell by a decider whose errors are known per distance.

    Args:
        decider: of COUNT or SUM.
        statistics: shape (1, cells), int64.
        references: shape (cells,), int64.
    """
    check_inputs(statistics, references, 1)
    distances = np.abs(deviations(statistics[0], references)).tolist()
    widths = half_widths(decider.tau, references).tolist()
    found = [
        error if distance < tau else 1 - error
        for distance, tau in zip(distances, widths, strict=True)
        for error in [decider.error(distance, tau)]
    ]
    return np.array(found, dtype=np.float64)


def aggregate_row(kind: Count | Sum) -> Statistic:
    """Return the aggregate itself as a statistic."""
    weight = Weight.SUM if isinstance(kind, Sum) else Weight.COUNT
    return Statistic(weight, sensitivity=kind.sensitivity)


def _tail(rate: float, least: int) -> float:
    """Return P[z >= least], least >= 1, of the discrete Laplace."""
    return math.exp(-rate * least) / (1 + math.exp(-rate))
