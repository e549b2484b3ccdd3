"""``tight``: the extremal curve over the signed distance to the end of the band.

The proofs, that no decider does better, are in ``docs/proofs/deciders.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from operators.atoms import Comparison, IntegerTest
from operators.deciders.base import (
    Count,
    Kind,
    Quantile,
    Statistic,
    Sum,
    check_inputs,
    check_plan,
    counts,
    deviations,
)
from operators.deciders.single import aggregate_row
from operators.noise import CertifiedProbability
from operators.tslm import Tslm, extremal_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Promise
    from operators.noise import NoiseSource

__all__ = ["TightBand", "quantile_rows"]

_ONE: Final = 1 << 64
_BITS: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class TightBand:
    """The extremal curve over the signed distance to the end of the band.

    ``P[outside | x] = probabilities[x - lowest] / 2^64``, constant beyond the table. Here x >= 0
    where the aggregate is outside the band, x < 0 where it is within, and neighbours' x are at most
    one apart: x = floor((|s - reference| - tau) / D) for COUNT and SUM; for the median, the number
    of events that have to be added to change the answer.

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit,
    exactly, in integers. Outside, "within" is answered with probability at most ``boundary``, and
    no epsilon-DP decider with that property is right more often inside (COUNT and SUM, wherever the
    aggregate lies; the median, one event per unit). With D = 1 it also errs least outside among the
    deciders with the same error just beyond both ends, ``lm`` and ``em`` included.

    Args:
        kind: COUNT, SUM or a quantile.
        epsilon: exact loss.
        tau: half-width of the band, in units of the aggregate, at least 1.
        units: ``epsilon`` in loss units, rounded up.
        boundary: probability of "within" where the aggregate lies just outside.
        probabilities: shape (entries,), uint64, in units of 2^-64, increasing.
        lowest: x of the first entry.

    Source: the extremal curve of ``docs/proofs/tslm.md`` (after MIDE, Algorithm 1), for the problem
    of DP-PQD, Definition 3.1.
    """

    kind: Kind
    epsilon: Fraction
    tau: int
    units: int
    boundary: Fraction
    probabilities: NDArray[np.uint64] = field(repr=False)
    lowest: int
    name: str = field(default="tight", init=False)

    @classmethod
    def planned(
        cls, kind: Kind, epsilon: Fraction, tau: int, boundary: Fraction | None = None
    ) -> TightBand:
        """Plan the decider.

        Args:
            kind: COUNT, SUM or a quantile.
            epsilon: exact loss.
            tau: half-width of the band.
            boundary: most probable "within" outside the band (the ``max_fnr`` of an alarm that
                rings when the band is left); absent, ``1 / (1 + exp(epsilon))``, for which the
                largest of all error probabilities is least.

        Raises:
            ConfigError: no epsilon or tau, or a boundary outside (0, 1).
        """
        units = check_plan("tight", kind, (Count, Sum, Quantile), epsilon, tau)
        if boundary is None:
            most = CertifiedProbability.digit(epsilon).floor(_BITS)
            boundary = Fraction(max(1, most), _ONE)
        if not 0 < boundary < 1 or boundary * _ONE < 1:
            raise ConfigError(
                "the probability of overlooking a cell just outside lies between 2^-64 and 1",
                hint="write max_fnr: 0.05",
            )
        table, lowest = extremal_table(1 - boundary, epsilon, reach=1)
        table.setflags(write=False)
        return cls(kind, epsilon, tau, units, boundary, table, lowest)

    @classmethod
    def promised(cls, kind: Kind, tau: int, promise: Promise) -> TightBand:
        """Find the least epsilon that keeps a promise about the alarm "the band was left".

        An aggregate outside is called "within" with probability at most ``max_fnr``; one more than
        twice the tolerance inside the band is called "outside" with probability at most
        ``max_fpr``. No mechanism keeps that for less (``docs/proofs/tslm.md``).

        Args:
            kind: COUNT, SUM or a quantile.
            tau: half-width of the band.
            promise: rates, and the tolerance in units of the aggregate; for a quantile in units of
                ``a #(x > c) - (b - a) #(x <= c)``, share = a / b.

        Raises:
            ConfigError: a promise that cannot be kept, is met by guessing, or spans too many steps.
        """
        check_plan("tight", kind, (Count, Sum, Quantile), Fraction(1), tau)
        distance = IntegerTest(Comparison.GE, np.array([tau], dtype=np.int64), kind.sensitivity)
        plan = Tslm.priced(distance, promise)
        return cls.planned(kind, plan.epsilon, tau, promise.max_fnr)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The aggregate, or for a quantile the three counts of :func:`quantile_rows`."""
        if isinstance(self.kind, Quantile):
            return quantile_rows(self.kind, self.tau)
        return (aggregate_row(self.kind),)

    def steps(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return x, the signed distance to the end of the band, of every cell (never released)."""
        check_inputs(statistics, references, len(self.statistics))
        sensitivity = np.int64(self.kind.sensitivity)
        if not isinstance(self.kind, Quantile):
            distance = np.abs(deviations(statistics[0], references))
            return (distance - self.tau) // sensitivity
        a, b = self.kind.share.numerator, self.kind.share.denominator
        total, low, high = counts(statistics)
        below = (a * total - b * low - 1) // sensitivity  # >= 0: the quantile is above the low end
        above = ((b - a) * total - b * high) // sensitivity  # >= 0: it is below the high end
        nearer: NDArray[np.int64] = np.minimum(below, above)
        return -1 - nearer

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        return ~noise.bernoulli(self.law(statistics, references))

    def law(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return P["outside"] of every cell in units of 2^-64 (never released)."""
        index = np.clip(
            self.steps(statistics, references),
            self.lowest,
            self.lowest + self.probabilities.size - 1,
        )
        return self.probabilities[index - self.lowest]

    def error(self, distance: int) -> float:
        """Return the probability of the wrong answer at ``|aggregate - reference| = distance``.

        Raises:
            TypeError: a quantile, whose error depends on how many units have to change.
        """
        if isinstance(self.kind, Quantile):
            raise TypeError("the error of a quantile is known per changed unit: error_at")
        return self.error_at((distance - self.tau) // self.kind.sensitivity)

    def error_at(self, x: int) -> float:
        """Return the probability of the wrong answer at the signed distance ``x``."""
        index = min(max(x - self.lowest, 0), self.probabilities.size - 1)
        outside = int(self.probabilities[index])
        return (outside if x < 0 else _ONE - outside) / _ONE


def quantile_rows(kind: Quantile, tau: int) -> tuple[Statistic, ...]:
    """Return n, ``#(x <= reference - tau)`` and ``#(x >= reference + tau)``."""
    one = Statistic(sensitivity=kind.events)
    return (
        one,
        Statistic(side="at most", bound=-tau, relative=True, sensitivity=kind.events),
        Statistic(side="at least", bound=tau, relative=True, sensitivity=kind.events),
    )
