"""How likely alarms ring, asked for one count, or for the curve that a plan shows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from stream.planning.ringing import Ringing, RingLaw, curve_of, why_not

if TYPE_CHECKING:
    from stream.model.alarms import Budget
    from stream.model.queries import Query

__all__ = ["curve", "ring_probability"]


def ring_probability(
    query: Query, count: Fraction | float, *, threshold: Fraction | float | None = None
) -> float | None:
    """Return how likely a cell rings at a count, or a score; that of the median threshold."""
    if why_not(query) is not None:
        return None
    law = RingLaw.of(query)
    cell = law.median_cell
    if threshold is not None:
        found = np.flatnonzero(law.thresholds == int(Fraction(threshold) / law.unit)).tolist()
        if not found:
            raise ValueError(f"no predicate of {query.id!r} has the threshold {threshold}")
        cell = found[0]
    chances = law.at(cell, [Fraction(count)])
    return None if chances is None else chances[0]


def curve(query: Query, budget: Budget) -> Ringing | None:
    """Return what the plan shows; nothing where no exact law is known."""
    return None if why_not(query) is not None else curve_of(RingLaw.of(query), budget)
