"""The least entropy over all vertices of the posterior's bounds, by looking at every one."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["bounds", "over_counts", "over_vertices", "term"]


def bounds(epsilons: Floats) -> tuple[Floats, Floats]:
    """Bounds on the posterior as in Lemma 7."""
    return (
        np.exp(-epsilons) / np.exp(epsilons).sum(),
        np.exp(epsilons) / np.exp(-epsilons).sum(),
    )


def term(p: Floats) -> Floats:
    """Return -p ln p, 0 at 0."""
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)


def over_vertices(low: Floats, high: Floats) -> float:
    """Least entropy over all vertices: every set at its upper bounds, every one as the fraction."""
    room, slack = high - low, 1 - low.sum()
    chosen = (np.arange(2 ** len(low))[:, None] >> np.arange(len(low)) & 1).astype(bool)
    rest = slack - chosen @ room
    value = np.where(chosen, term(high), term(low)).sum(axis=1)
    best = math.inf
    for one in range(len(low)):
        fits = ~chosen[:, one] & (rest > -1e-14) & (rest < room[one] + 1e-14)
        raised = term(low[one] + np.maximum(rest[fits], 0.0)) - term(low[one])
        best = min(best, float((value[fits] + raised).min(initial=math.inf)))
    return best


def over_counts(levels: Floats, counts: NDArray[np.int64]) -> float:
    """Least entropy over all vertices that differ in counts per level."""
    up, down = np.exp(levels), np.exp(-levels)
    low, high = down / (counts @ up), up / (counts @ down)
    grid = np.array(list(product(*(range(count + 1) for count in counts))))
    rest = 1 - counts @ low - grid @ (high - low)
    value = grid @ term(high) + (counts - grid) @ term(low)
    best = math.inf
    for level in range(len(levels)):
        fits = (grid[:, level] < counts[level]) & (rest > -1e-14)
        fits &= rest < high[level] - low[level] + 1e-14
        raised = term(low[level] + np.maximum(rest[fits], 0.0)) - term(low[level])
        best = min(best, float((value[fits] + raised).min(initial=math.inf)))
    return best
