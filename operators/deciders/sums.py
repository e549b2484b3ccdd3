"""Deciders of SUM that need not pay for the largest value anyone may have: ``r2t`` and ``svt``.

Both look at the sum with every value capped at 2, 4, 8, ... The proofs are in
``docs/research/proofs/deciders.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from accountant.arguments import expect
from accountant.errors import ConfigError
from operators.conditions.weights import Statistic, Weight
from operators.conditions.widths import half_widths
from operators.deciders.base import (
    PlannedBand,
    Sum,
    check_inputs,
    check_plan,
    check_rate,
    deviations,
)
from operators.deciders.bounds import LevelBound, PrivateBound, first_reached
from operators.noise.source import SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from operators.conditions.widths import HalfWidth
    from operators.deciders.base import Kind
    from operators.noise.source import NoiseSource

__all__ = [
    "LEAST_DELTA",
    "RaceBand",
    "SparseBand",
    "least_tail",
    "levels_of",
]

LEAST_DELTA: Final = Fraction(1, 10**12)
"""Least error probability that is planned for."""


@dataclass(frozen=True, slots=True)
class _CappedBand(PlannedBand[Sum]):
    """A decider that looks at the sum with every value capped at several levels."""

    decides: ClassVar = (Sum,)

    @classmethod
    def _non_negative(cls, kind: Kind, epsilon: Fraction, tau: HalfWidth) -> Sum:
        """Check what it is planned from, and that values are never negative.

        Raises:
            ConfigError: they may be; or as :meth:`PlannedBand.planned`.
        """
        check_plan(cls.name, kind, cls.decides, epsilon, tau)
        if not isinstance(kind, Sum) or kind.low < 0:
            raise ConfigError(
                f"decider {cls.name} needs values that are never negative",
                hint="write a clip from 0 on for the summed field, or decider: tight",
            )
        return kind


@dataclass(frozen=True, slots=True)
class RaceBand(_CappedBand):
    """``r2t``: race to the top. A noisy sum per cap, each lowered until it seldom overestimates.

    estimate = max(0, max_j (S_j + z_j - penalty_j)); within iff ``|estimate - reference| < tau``.

    - S_j: sum of the values capped at t_j = 2^j (the last cap is ``kind.high``), L caps.
    - z_j: discrete Laplace of rate epsilon / (L events t_j).
    - penalty_j: the least integer with P[z_j > penalty_j] <= delta / (2 L).

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit:
    L noisy values of epsilon / L each. Except with probability delta / 2 the estimate is not above
    the sum, and it is short of it by what the *largest value present* calls for, not ``kind.high``.

    Args:
        kind: SUM of non-negative values.
        epsilon: exact loss.
        tau: half-width of the band, in granules, at least 1, or a share of the reference.
        delta: error probability that the penalties are made for.
        levels: the caps t_j.
        penalties: per cap.

    Source: DP-PQD, section 5.2, equations (17) to (19), Observation 5.4.
    """

    name: ClassVar[str] = "r2t"

    delta: Fraction
    levels: tuple[int, ...]
    penalties: tuple[int, ...]

    @classmethod
    def planned(
        cls, kind: Kind, epsilon: Fraction, tau: HalfWidth, delta: Fraction = Fraction(1, 20)
    ) -> RaceBand:
        """Plan the decider.

        Args:
            kind: SUM of non-negative values.
            epsilon: exact loss.
            tau: half-width of the band.
            delta: error probability to aim at.

        Raises:
            ConfigError: another aggregate, negative values, no epsilon, tau or delta, or noise too
                wide to be drawn.
        """
        total = cls._non_negative(kind, epsilon, tau)
        if not LEAST_DELTA <= delta < 1:
            raise ConfigError("delta is not from 1e-12 to 1", hint='write delta: "0.05"')
        levels = levels_of(total)
        rates = [epsilon / (len(levels) * total.events * t) for t in levels]
        check_rate(min(rates))
        penalties = tuple(
            least_tail(float(rate), float(delta) / (2 * len(levels))) - 1 for rate in rates
        )
        return cls(total, epsilon, tau, delta, levels, penalties)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The sums with every value capped, one per cap."""
        return _capped_rows(self.kind, self.levels)

    def rate(self, level: int) -> Fraction:
        """Return the rate of the noise of one cap, per resolution."""
        return self.epsilon / (len(self.levels) * self.kind.events * self.levels[level])

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        check_inputs(statistics, references, len(self.levels))
        estimate = np.zeros(references.size, dtype=np.int64)
        for level, penalty in enumerate(self.penalties):
            drawn = noise.discrete_laplace(self.rate(level), references.size)
            bounded = deviations(statistics[level], np.int64(penalty))
            np.maximum(estimate, bounded + drawn, out=estimate)
        estimate -= references
        tau = half_widths(self.tau, references)
        within: NDArray[np.bool_] = (estimate < tau) & (estimate > -tau)
        return within

    def chances(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return P["outside"] of every cell; see :meth:`operators.base.Decider.chances`."""
        check_inputs(statistics, references, len(self.levels))
        cells = zip(statistics.T.tolist(), references.tolist(), strict=True)
        within = [self.law(tuple(sums), reference) for sums, reference in cells]
        return 1 - np.array(within, dtype=np.float64)

    def law(self, sums: tuple[int, ...], reference: int) -> float:
        """Return P["within"] of one cell (for tests and planning; never released).

        Args:
            sums: the capped sums.
            reference: the cell's reference.
        """

        def up_to(x: int) -> float:
            """Return P[estimate <= x]."""
            if x < 0:
                return 0.0
            chance = 1.0
            for level, (total, penalty) in enumerate(zip(sums, self.penalties, strict=True)):
                chance *= _at_most(float(self.rate(level)), x - total + penalty)
            return chance

        tau = int(half_widths(self.tau, np.array([reference]))[0])
        return up_to(reference + tau - 1) - up_to(reference - tau)


@dataclass(frozen=True, slots=True)
class SparseBand(_CappedBand):
    """``svt``: a sparse vector over the capped sums, twice with one noisy threshold.

    First pass: does any capped sum reach the band's upper end? Then outside. Second pass: does any
    pass its lower end? Then within, else outside. Only caps up to a private bound are asked.

    - step of a question: floor((S_j - threshold) / (events t_j)), which one unit moves by at most
      one, all questions in the same direction;
    - a question is answered yes iff its step + Geo(rate) >= DLap(rate) + r, the threshold noise
      being one draw for both passes, and rate half of what the bound leaves of epsilon;
    - r: the least integer for which a question one step short of its threshold is answered yes with
      probability at most 1 / (L + 1).

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit:
    what the bound costs, and half of the rest each for the noisy threshold and the only yes (a
    third of epsilon each, unless the bound says otherwise). The charge is for the answers
    to all questions; only the decision is released. No error probability is promised.

    Args:
        kind: SUM of non-negative values.
        epsilon: exact loss.
        tau: half-width of the band, in granules, at least 1, or a share of the reference.
        bound: chooses the largest cap that is asked about.

    Source: DP-PQD, Algorithms 2 and 4, Theorem 5.8, with one-sided noise as in SVT-Exp.
    """

    name: ClassVar[str] = "svt"

    bound: LevelBound

    @classmethod
    def planned(
        cls, kind: Kind, epsilon: Fraction, tau: HalfWidth, private: PrivateBound | None = None
    ) -> SparseBand:
        """Plan the decider.

        Args:
            kind: SUM of non-negative values.
            epsilon: exact loss.
            tau: half-width of the band.
            private: how many events the largest cap that is asked about leaves whole, and what
                finding it may cost; DP-PQD's by default.

        Raises:
            ConfigError: another aggregate, negative values, no epsilon or tau, a bound that leaves
                nothing for the answers, or noise too wide to be drawn.
        """
        total = cls._non_negative(kind, epsilon, tau)
        private = PrivateBound() if private is None else private
        spent = private.spent(epsilon)
        check_rate(min(spent / 3 / total.events, (epsilon - spent) / 2))
        bound = LevelBound(levels_of(total), total.events, spent, private.theta)
        return cls(total, epsilon, tau, bound)

    @property
    def definition(self) -> Mapping[str, str]:
        """Theta and cost of its bound, where these are not DP-PQD's."""
        usual = PrivateBound()
        found = {"theta": str(self.bound.share), "bound_epsilon": str(self.bound.epsilon)}
        same = {"theta": str(usual.theta), "bound_epsilon": str(usual.spent(self.epsilon))}
        return {} if found == same else found

    @property
    def levels(self) -> tuple[int, ...]:
        """The caps t_j."""
        return self.bound.levels

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The rows of the bound, then the sums with every value capped."""
        return (*self.bound.statistics, *_capped_rows(self.kind, self.levels))

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        check_inputs(statistics, references, len(self.statistics))
        split = 1 + len(self.levels)
        largest = self.bound.find(statistics[:split], noise)
        half = (self.epsilon - self.bound.epsilon) / 2
        threshold = noise.discrete_laplace(half, references.size)
        widths = self.kind.events * np.array(self.levels, dtype=np.int64)[:, np.newaxis]
        sums = statistics[split:]
        tau = half_widths(self.tau, references)
        over = deviations(sums, references + tau) // widths
        above = deviations(sums, references - tau + 1) // widths
        left_above = first_reached(over, threshold, half, noise) <= largest
        passed_below = first_reached(above, threshold, half, noise) <= largest
        within: NDArray[np.bool_] = ~left_above & passed_below
        return within


def levels_of(kind: Sum) -> tuple[int, ...]:
    """Return the caps 2, 4, 8, ...; the last one is the largest value itself."""
    return tuple(min(1 << j, kind.high) for j in range(1, max(2, (kind.high - 1).bit_length() + 1)))


def least_tail(rate: float, chance: float) -> int:
    """Return the least m >= 1 with P[z >= m] <= chance for a discrete Laplace z of this rate."""
    return max(1, math.ceil(-math.log(chance * (1 + math.exp(-rate))) / rate))


def _capped_rows(kind: Sum, levels: tuple[int, ...]) -> tuple[Statistic, ...]:
    """Return the capped sums; one unit moves the j-th by at most events t_j."""
    return tuple(Statistic(Weight.SUM, cap=t, sensitivity=kind.events * t) for t in levels)


def _at_most(rate: float, x: int) -> float:
    """Return P[z <= x] of the discrete Laplace."""
    q = math.exp(-rate)
    if x < 0:
        return math.exp(rate * x) / (1 + q)
    return 1 - math.exp(-rate * (x + 1)) / (1 + q)
