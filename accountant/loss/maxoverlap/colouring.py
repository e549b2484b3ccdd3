"""A colouring of the overlap graph bounds every row's loss from above, and never falls short.

Two regions are neighbours if they share a row. Regions that hold one row are neighbours of one
another, so a set without neighbours (a colour) has at most one of them. Cover the weight of every
region by heights of colours it belongs to: then the regions of a row, which share no colour, weigh
together at most the sum of all heights. ANY colouring is therefore safe, however bad; a clique that
is merely large would not be (Parallel Composition, section 6: "safe" approximations).

Source: Parallel Composition, section 6.3 (DSatur, Brelaz 1979), with weights spread over several
colours. Where all weights are one this is DSatur itself, and the bound the number of colours.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.maxoverlap.work import Work
from accountant.regions.patterns import members_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.loss.maxoverlap.classes import Attribute
__all__ = ["coloured_within", "colouring_bound", "graph_within", "neighbours"]


def neighbours(attributes: Sequence[Attribute], count: int) -> list[int]:
    """Return, per region, which other ones share a row with it (Parallel Composition, Prop. 3).

    Args:
        attributes: classes of values; regions share a row if they share a class of each attribute.
        count: number of regions.
    """
    return [_neighbours(attributes, count, at) for at in range(count)]


def colouring_bound(
    attributes: Sequence[Attribute],
    weights: Sequence[int],
    work: Work | None = None,
) -> int:
    """Return the total height of a DSatur colouring: no row's regions weigh more.

    Args:
        attributes: classes of values.
        weights: per region, >= 0.
        work: counts the steps; once its limit is reached, the regions left get colours of their
            own, which costs tightness, not safety.

    Returns:
        The bound, between the largest weight of a row and the sum of all weights.
    """
    work = Work() if work is None else work
    graph = graph_within(attributes, len(weights), work)
    return sum(weights) if graph is None else coloured_within(graph, weights, work)


def graph_within(attributes: Sequence[Attribute], count: int, work: Work) -> list[int] | None:
    """Return what ``neighbours`` does; nothing where the work ended first."""
    classes = sum(len(attribute.holds) for attribute in attributes)
    graph: list[int] = []
    for at in range(count):
        if work.spend(classes):
            return None
        graph.append(_neighbours(attributes, count, at))
    return graph


def coloured_within(graph: Sequence[int], weights: Sequence[int], work: Work) -> int:
    """Return what ``colouring_bound`` does, of a graph that was made before."""
    count = len(weights)
    # The next region is the one with most of its neighbours' heights against it, then with the most
    # neighbours. Floats only order the regions here; heights are exact.
    against = np.zeros(count)
    degree = np.array([each.bit_count() for each in graph], dtype=np.float64)
    waiting = np.array([weight > 0 for weight in weights])
    heaviest = max(weights, default=0)
    heights: list[int] = []
    blocked: list[int] = []  # per colour, the neighbours of the regions in it
    while waiting.any():
        if work.spend(count + len(heights)):
            return sum(heights) + sum(weights[at] for at in np.flatnonzero(waiting).tolist())
        worst = np.flatnonzero(waiting & (against == against[waiting].max()))
        at = int(worst[np.argmax(degree[worst])])
        waiting[at] = False
        left = weights[at]
        for colour in range(len(heights) + 1):
            if not left:
                break
            if colour == len(heights):
                heights.append(left)
                blocked.append(0)
            elif blocked[colour] >> at & 1:
                continue
            taken = min(left, heights[colour])
            if taken < heights[colour]:
                heights.append(heights[colour] - taken)
                blocked.append(blocked[colour])
                heights[colour] = taken
            left -= taken
            fresh = graph[at] & ~blocked[colour]
            blocked[colour] |= fresh
            against[members_of(fresh, count)] += taken / heaviest
    return sum(heights)


def _neighbours(attributes: Sequence[Attribute], count: int, at: int) -> int:
    shared, alone = (1 << count) - 1, 1 << at
    for attribute in attributes:
        if attribute.constrained >> at & 1:
            classes = np.flatnonzero(attribute.holds[:, at]).tolist()
            meeting = reduce(or_, (attribute.members[each] for each in classes), 0)
            shared &= meeting | ~attribute.constrained
            if shared == alone:
                break
    return shared & ~alone
