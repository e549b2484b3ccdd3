"""What deciders of AVG count, how far a mean is from the ends of its band, and ``lm`` for it.

A mean's distance to an end is looked at as a sum over its events, so nothing is divided: it lies
below ``u`` iff ``sum(u - x) > 0``. The proofs are in ``docs/research/proofs/deciders.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from accountant.arguments import expect
from operators.conditions.weights import Statistic, Weight
from operators.conditions.widths import half_widths
from operators.deciders.base import (
    FARTHEST,
    Average,
    PlannedBand,
    check_inputs,
    check_rate,
    counts,
    deviations,
)
from operators.noise.source import SOURCE

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.noise.source import NoiseSource

__all__ = ["AverageLaplaceBand", "average_rows", "end_sensitivities", "steps_inside"]

_FAR_NOISE = 1 << 40


@dataclass(frozen=True, slots=True)
class AverageLaplaceBand(PlannedBand[Average]):
    """``lm`` of a mean: a noisy number of events and a noisy sum, and what their ratio says.

    within iff ``(n + z) (u - c) > s + w`` and ``s + w > (n + z) (l - c)``, l and u being the ends.

    - n: the events; s: the sum of their values less c, the middle of the clip.
    - z: discrete Laplace of rate epsilon / (2 events), w of epsilon / (2 events f), f being how
      far a value lies from c at most.

    Guarantee: epsilon-differential privacy per cell for neighbours that differ in one privacy unit:
    half for n, half for s.

    Args:
        kind: a mean.
        epsilon: exact loss.
        tau: half-width of the band, in units of the mean, at least 1, or a share of the reference.

    Source: DP-PQD, section 6.2; sums are centred, which at least halves their noise wherever values
    have one sign.
    """

    name: ClassVar[str] = "lm"
    decides: ClassVar = (Average,)

    def __post_init__(self) -> None:
        """Refuse noise too wide to be drawn."""
        check_rate(self._rate / self.kind.farthest)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The events, and the sum of their distances from the middle of the clip."""
        return average_rows(self.kind)

    def decide(
        self, statistics: NDArray[np.int64], references: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.bool_]:
        """Decide every cell of one window; see :meth:`Decider.decide`."""
        expect(SOURCE, noise=noise)
        check_inputs(statistics, references, 2)
        cells = references.size
        drawn = np.clip(noise.discrete_laplace(self._rate, cells), -_FAR_NOISE, _FAR_NOISE)
        moved = noise.discrete_laplace(self._rate / self.kind.farthest, cells)
        number = counts(statistics[0]) + drawn
        total = deviations(statistics[1], np.int64(0)) + np.clip(moved, -FARTHEST, FARTHEST)
        below, above = _distances(self.kind, number, total, references, self._widths(references))
        within: NDArray[np.bool_] = ((below > 0) & (above > 0)).astype(np.bool_)
        return within

    def _widths(self, references: NDArray[np.int64]) -> NDArray[np.int64]:
        return half_widths(self.tau, references)

    @property
    def _rate(self) -> Fraction:
        return self.epsilon / 2 / self.kind.events


def average_rows(kind: Average) -> tuple[Statistic, ...]:
    """Return n, and the sum of values less the middle of their clip: no row knows a reference."""
    return (
        Statistic(sensitivity=kind.events),
        Statistic(
            Weight.OFFSET,
            pivot=kind.centre,
            scale=kind.scale,
            sensitivity=kind.events * kind.farthest,
        ),
    )


def end_sensitivities(kind: Average, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far one privacy unit moves ``sum(x - end)``, also by one of its rows alone.

    So it moves where an id is repeated with another value, which counts in the sum only, and where
    a row is saturated: neither the end nor a value is further from the middle of the clip than the
    end is from the farther end of the clip.

    Args:
        kind: the mean.
        ends: shape (cells,), int64, of bands.
    """
    low, high = kind.scale * kind.low, kind.scale * kind.high
    found: NDArray[np.int64] = kind.events * np.maximum(np.abs(ends - low), np.abs(high - ends))
    return found


def steps_inside(
    kind: Average,
    statistics: NDArray[np.int64],
    references: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return how many steps a mean is inside its band, less one; below 0 where it is outside.

    Neighbours are at most one apart, at any size.

    Args:
        kind: the mean.
        statistics: shape (2, cells), int64, the rows of :func:`average_rows`.
        references: shape (cells,), int64.
        widths: shape (cells,), int64, half-widths.
    """
    number, total = statistics
    below, above = _distances(kind, number, total, references, widths)
    upper = (below - 1) // end_sensitivities(kind, references + widths)
    lower = (above - 1) // end_sensitivities(kind, references - widths)
    found: NDArray[np.int64] = np.clip(np.minimum(upper, lower), -FARTHEST, FARTHEST).astype(
        np.int64
    )
    return found


def _distances(
    kind: Average,
    number: NDArray[np.int64],
    total: NDArray[np.int64],
    references: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``sum(u - x)`` and ``sum(x - l)``, exactly: as Python's integers where need be."""
    upper, lower = references + widths - kind.centre, references - widths - kind.centre
    ends = max(_size(upper), _size(lower))
    if _size(number) * ends + _size(total) >= 2 * FARTHEST:
        number, total, upper, lower = (x.astype(object) for x in (number, total, upper, lower))
    return number * upper - total, total - number * lower


def _size(numbers: NDArray[np.int64]) -> int:
    return max(abs(int(numbers.min(initial=0))), abs(int(numbers.max(initial=0))))
