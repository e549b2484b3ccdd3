"""How likely alarms ring, asked for one count, or for a curve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.planning.detection import DetectionCurve, whole, why_not

if TYPE_CHECKING:
    from stream.model.alarm import Alarm

__all__ = ["PERCENTS", "Curve", "curves", "ring_probability"]

PERCENTS: Final = (0, 25, 50, 75, 90, 100, 110)
"""Where a curve is looked at, in per cent of the threshold (of a band: of its half-width)."""

SCORES: Final = tuple(Fraction(part, 4) for part in (-8, -4, -2, -1, 0, 1, 2))
"""Where the curve of a score is looked at, in its steps: 0 just holds."""


def ring_probability(
    query: Alarm, count: Fraction | float, *, threshold: Fraction | float | None = None
) -> float | None:
    """Return how likely a cell rings at a count, or a score; that of the median threshold."""
    if why_not(query) is not None:
        return None
    law = DetectionCurve.of(query)
    cell = law.median_cell
    if threshold is not None:
        found = np.flatnonzero(law.thresholds == int(Fraction(threshold) / law.unit)).tolist()
        if not found:
            raise ValueError(f"no group of {query.id!r} has the threshold {threshold}")
        cell = found[0]
    chances = law.at(cell, [Fraction(count)])
    return None if chances is None else chances[0]


@dataclass(frozen=True, slots=True)
class Curve:
    """How likely the cells of one threshold ring.

    Args:
        threshold: as written; of a band, its half-width.
        counts: aggregates at ``PERCENTS`` of it, or scores at ``SCORES`` of the steps.
        chances: probability to ring at each.
    """

    threshold: Fraction
    counts: tuple[Fraction, ...]
    chances: tuple[float, ...]


def curves(query: Alarm) -> tuple[Curve, ...] | None:
    """Return a curve for the smallest, the median and the largest threshold, each once."""
    if why_not(query) is not None:
        return None
    law, found = DetectionCurve.of(query), []
    for cell in law.cells():
        threshold, start = (int(each[cell]) * law.unit for each in (law.thresholds, law.references))
        counts = [
            start + whole(threshold * percent / 100 / law.unit) * law.unit for percent in PERCENTS
        ]
        if law.steps is not None:
            counts = [Fraction(whole(law.steps * part)) for part in SCORES]
        chances = law.at(cell, counts)
        if chances is None:
            return None
        found.append(Curve(threshold, tuple(counts), chances))
    return tuple(found)
