"""A colouring of the overlap graph bounds every row's loss from above, and never falls short.

Two regions are neighbours if they share a row. Regions that hold one row are neighbours of one
another, so a set without neighbours (a colour) has at most one of them. Cover the weight of every
region by heights of colours it belongs to: then the regions of a row, which share no colour, weigh
together at most the sum of all heights. ANY colouring is therefore safe, however bad; a clique that
is merely large would not be (Parallel Composition, section 6: "safe" approximations).

Source: Parallel Composition, section 6.3, with weights spread over several colours, and regions
taken in the order of their neighbours, not of their colours (DSatur).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.maxoverlap.classes import Classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from accountant.regions.regions import Region

__all__ = ["coloured", "colouring_bound"]


def colouring_bound(regions: Sequence[Region], weights: Sequence[int]) -> int:
    """Return the total height of a colouring: no row's regions weigh more.

    Args:
        regions: not empty ones.
        weights: of the regions, >= 0.
    """
    heights = coloured(Classes(regions).neighbours, np.array(weights, dtype=np.float64))
    return int(heights[-1][1]) if heights else 0


def coloured(
    neighbours: NDArray[np.bool_], weights: NDArray[np.float64]
) -> list[tuple[int, float]]:
    """Colour the regions that weigh something, those with the most neighbours first.

    Args:
        neighbours: whether two regions share a row, shape (regions, regions).
        weights: of the regions, whole numbers.

    Returns:
        Regions, each with the height of the colours so far once all its weight is covered: no row
        of it, and of regions before it, weighs more.
    """
    order = np.argsort(-neighbours.sum(axis=1), kind="stable")
    apart = ~neighbours[np.ix_(order, order)]
    np.fill_diagonal(apart, val=False)
    left = weights[order]
    height = 0.0
    heights: list[tuple[int, float]] = []
    while (left > 0).any():
        free = left > 0
        colour: list[int] = []
        while free.any():
            colour.append(int(free.argmax()))
            free = free & apart[colour[-1]]
        taken = float(left[colour].min())
        height += taken
        left[colour] -= taken
        heights += [(int(order[at]), height) for at in colour if not left[at]]
    return heights
