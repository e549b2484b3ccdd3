"""``tight``: the extremal curve over the signed distance to the end of the band.

The proofs, and among which deciders none does better, are in ``docs/research/proofs/deciders.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from accountant.arguments import expect
from accountant.errors import ConfigError
from operators.conditions.atoms import IntegerTest
from operators.conditions.comparison import Comparison
from operators.conditions.weights import Statistic, Weight
from operators.conditions.widths import Relative, fixed_width, half_widths
from operators.deciders.averages import average_rows, steps_inside
from operators.deciders.base import (
    Average,
    Count,
    Kind,
    PlannedBand,
    Quantile,
    Sum,
    check_inputs,
    check_plan,
    counted_up_to,
    deviations,
    margin,
)
from operators.deciders.single import aggregate_row
from operators.noise.certified import CertifiedProbability
from operators.noise.source import SOURCE
from operators.single.tslm import Tslm, extremal_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Promise
    from operators.conditions.widths import HalfWidth
    from operators.noise.source import NoiseSource

__all__ = ["MOST_REACH", "TightBand", "quantile_rows"]

MOST_REACH: Final = 200_000
"""Most steps to either side of the end of the band that a curve is surely followed for."""
_ONE: Final = 1 << 64
_BITS: Final = 64
_FAR: Final = math.log(1e12) + 1  # errors are followed down to 1e-12, and a little further


@dataclass(frozen=True, slots=True, eq=False)
class TightBand(PlannedBand[Kind]):
    """The extremal curve over the signed distance to the end of the band.

    ``P[outside | x] = probabilities[x - lowest] / 2^64``, constant beyond the table. Here x >= 0
    where the aggregate is outside the band, x < 0 where it is within, and neighbours' x are at most
    one apart: x = floor((|s - reference| - tau) / D) for COUNT and SUM; for the median, the number
    of events that have to be added to change the answer; for a mean, whole events at the end of
    the clip that lies farthest from the nearer end of the band.

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit,
    exactly, in integers. Outside, "within" is answered with probability at most ``boundary``.

    Up to the rounding to 2^-64, and for ``MOST_REACH`` steps or down to errors of 1e-12:

    - for COUNT and the median, one event per unit, no epsilon-DP decider with that property is
      right more often inside (COUNT: where the nearer end of the band is a number that events can
      have). Not so for SUM, other quantiles or several events per unit: data may be further from
      the end than steps of D say, and a decider that looks beyond these statistics may use that;
    - for COUNT and SUM with D = 1, none with the same error just beyond both ends errs less
      outside, ``lm`` and ``em`` included.

    Args:
        kind: COUNT, SUM, a mean or a quantile.
        epsilon: exact loss.
        tau: half-width of the band, in units of the aggregate, at least 1, or a share of the
            reference.
        boundary: probability of "within" where the aggregate lies just outside.
        probabilities: shape (entries,), uint64, in units of 2^-64, increasing.
        lowest: x of the first entry.

    Source: the extremal curve of ``docs/research/proofs/tslm.md`` (after MIDE, Algorithm 1), for
    the problem of DP-PQD, Definition 3.1.
    """

    name: ClassVar[str] = "tight"
    decides: ClassVar = (Count, Sum, Quantile, Average)

    boundary: Fraction
    probabilities: NDArray[np.uint64] = field(repr=False)
    lowest: int

    @classmethod
    def planned(
        cls, kind: Kind, epsilon: Fraction, tau: HalfWidth, boundary: Fraction | None = None
    ) -> TightBand:
        """Plan the decider.

        Args:
            kind: COUNT, SUM, a mean or a quantile.
            epsilon: exact loss.
            tau: half-width of the band, or its share of the reference.
            boundary: most probable "within" outside the band (the ``max_fnr`` of an alarm that
                rings when the band is left); absent, ``1 / (1 + exp(epsilon))``, for which the
                largest of all error probabilities is least.

        Raises:
            ConfigError: no epsilon or tau, or a boundary outside (0, 1).
        """
        check_plan(cls.name, kind, cls.decides, epsilon, tau)
        if boundary is None:
            # Rounded up: what is missing here would be missing e^epsilon times one step inside.
            boundary = Fraction(CertifiedProbability.digit(epsilon).floor(_BITS) + 1, _ONE)
        if not 0 < boundary < 1 or boundary * _ONE < 1:
            raise ConfigError(
                "max_fnr is not from 2^-64 to 1",
                hint="write max_fnr: 0.05",
            )
        table, lowest = _curve(epsilon, boundary)
        return cls(kind, epsilon, tau, boundary, table, lowest)

    @classmethod
    def promised(cls, kind: Kind, tau: int, promise: Promise) -> TightBand:
        """Find the least epsilon that keeps a promise about the alarm "the band was left".

        An aggregate outside is called "within" with probability at most ``max_fnr``; one more than
        twice the tolerance inside the band is called "outside" with probability at most
        ``max_fpr``. Where there are such aggregates, no mechanism keeps that for less
        (``docs/research/proofs/tslm.md``).

        Args:
            kind: COUNT, SUM or a quantile.
            tau: half-width of the band.
            promise: rates, and the tolerance in units of the aggregate; for a quantile in units of
                ``a #(x > c) - (b - a) #(x <= c)``, share = a / b.

        Raises:
            ConfigError: a promise that cannot be kept, is met by guessing, or spans too many steps;
                a band of COUNT or SUM so narrow that it says nothing about any cell within; a mean,
                whose tolerance would have to be one in events times values.
        """
        if isinstance(kind, Average):
            raise ConfigError("the tolerance of AVG needs an epsilon", hint="write an epsilon")
        check_plan(cls.name, kind, cls.decides, Fraction(1), tau)
        if not isinstance(kind, Quantile) and tau <= 2 * promise.tolerance:
            raise ConfigError(
                "the tolerance is half of tau or more, so an alarm that always fires would pass",
                hint="write a tolerance below half of tau, or a larger tau",
            )
        distance = IntegerTest(Comparison.GE, np.array([tau], dtype=np.int64), kind.sensitivity)
        plan = Tslm.priced(distance, promise)
        return cls.planned(kind, plan.epsilon, tau, promise.max_fnr)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The aggregate; of a quantile the three counts of :func:`quantile_rows`; of a mean two."""
        if isinstance(self.kind, Average):
            return average_rows(self.kind)
        if isinstance(self.kind, Quantile):
            return quantile_rows(self.kind, self.tau)
        return (aggregate_row(self.kind),)

    def steps(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return x, the signed distance to the end of the band, of every cell (never released)."""
        check_inputs(statistics, references, len(self.statistics))
        widths = half_widths(self.tau, references)
        if isinstance(self.kind, Average):
            return -1 - steps_inside(self.kind, statistics, references, widths)
        sensitivity = self.kind.sensitivity
        if not isinstance(self.kind, Quantile):
            distance = np.abs(deviations(statistics[0], references))
            return (distance - widths) // sensitivity
        total, low, high = statistics
        share = self.kind.share
        below = (margin(total, low, share) - 1) // sensitivity  # >= 0: it is above the low end
        above = margin(total, high, 1 - share) // sensitivity  # >= 0: it is below the high end
        nearer: NDArray[np.int64] = np.minimum(below, above)
        return -1 - nearer

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        return ~noise.bernoulli(self.law(statistics, references))

    def chances(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return P["outside"] of every cell; see :meth:`operators.base.Decider.chances`."""
        return self.law(statistics, references) / float(_ONE)

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

    def error(self, distance: int, tau: int | None = None) -> float:
        """Return the probability of the wrong answer at ``|aggregate - reference| = distance``.

        Args:
            distance: in units of the aggregate.
            tau: half-width of the cell's band, where it is a share of the reference.

        Raises:
            TypeError: a quantile or a mean, whose error depends on how many units have to change.
        """
        if isinstance(self.kind, Quantile | Average):
            raise TypeError("the error of a quantile is known per changed unit: error_at")
        return self.error_at((distance - fixed_width(self.tau, tau)) // self.kind.sensitivity)

    def error_at(self, x: int) -> float:
        """Return the probability of the wrong answer at the signed distance ``x``."""
        index = min(max(x - self.lowest, 0), self.probabilities.size - 1)
        outside = int(self.probabilities[index])
        return (outside if x < 0 else _ONE - outside) / _ONE

    def threshold(self, delta: Fraction) -> int | None:
        """Return what this curve, with its boundary, takes to err with probability <= delta.

        Args:
            delta: error probability, in (0, 1/2).

        Returns:
            For COUNT and SUM the effectiveness threshold: the least tau for which an aggregate that
            meets its reference, and one at least 2 tau away, are decided wrongly with probability
            at most delta. For a quantile the privacy units that must separate a cell from the other
            answer; for a mean, the steps. ``None`` where the table ends before, as it does where
            epsilon is tiny.
        """
        most = int(delta * _ONE)
        if not most:
            return None
        rarely = int(np.searchsorted(self.probabilities, np.uint64(most), side="right"))
        surely = int(np.searchsorted(self.probabilities, np.uint64(_ONE - most)))
        if not rarely or surely == self.probabilities.size:
            return None
        inside = max(1, 1 - rarely - self.lowest)  # steps short of the end
        outside = max(0, self.lowest + surely)  # steps past it
        if isinstance(self.kind, Average):
            return max(inside, outside + 1)
        if not isinstance(self.kind, Quantile):
            return max((inside - 1) * self.kind.sensitivity + 1, outside * self.kind.sensitivity)
        # One event can move the margin by min(a, b - a), while a step is as wide as max(a, b - a).
        a, b = self.kind.share.numerator, self.kind.share.denominator
        return -(-max(inside - 1, outside) * max(a, b - a) // min(a, b - a)) + 1


def quantile_rows(kind: Quantile, tau: HalfWidth) -> tuple[Statistic, ...]:
    """Return n, ``#(x <= reference - tau)`` and ``#(x >= reference + tau)``."""
    fixed, widths = (0, 1) if isinstance(tau, Relative) else (tau, 0)
    return (
        Statistic(sensitivity=kind.events),
        replace(counted_up_to(-fixed, kind.events, relative=True), widths=-widths),
        Statistic(
            Weight.RANK, pivot=fixed - 1, relative=True, widths=widths, sensitivity=kind.events
        ),
    )


def _reach(epsilon: Fraction, boundary: Fraction) -> int:
    """Return how many steps to either side lead to errors below 1e-12, or the most there are."""
    rarer = max(float(min(boundary, 1 - boundary)), 1 / _ONE)
    return min(math.ceil((_FAR - math.log(rarer)) / float(epsilon)), MOST_REACH)


@lru_cache(maxsize=4)
def _curve(epsilon: Fraction, boundary: Fraction) -> tuple[NDArray[np.uint64], int]:
    """Return the extremal curve, ``_reach`` or more steps to both sides, and x of its first entry.

    Steps up mirror steps down: ``up(p) = 2^64 - down(2^64 - p)``. Where the table ends too early
    outside, that side is made as the inner side of the mirrored curve.
    """
    reach = _reach(epsilon, boundary)
    table, lowest = extremal_table(1 - boundary, epsilon, reach=reach)
    if table.size + lowest <= reach:
        start = int(table[-lowest])
        mirrored, first = extremal_table(Fraction(_ONE - start, _ONE), epsilon, reach=reach)
        outer = np.uint64(_ONE - 1) - mirrored[:-first][::-1] + np.uint64(1)
        table = np.concatenate([table[: 1 - lowest], outer])
    table.setflags(write=False)
    return table, lowest
