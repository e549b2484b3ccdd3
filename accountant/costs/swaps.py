"""A better vertex near a given one, by swapping one or two predicates for one or two others.

A vertex is how many predicates of each level stand at their upper bound; what is left of the slack
goes to one more, the fraction. A *step* moves one predicate to its other bound; a swap is a step
up and one down. Searched are all neighbours within two steps, and of those within four (two swaps)
the ones that leave the fraction least to take: a fraction costs little only when it is nearly
nothing, so steps are paired with those that nearly cancel what is left.

Every vertex only lowers the upper end of the bracket (``docs/proofs/minentropy.md``). Nothing is
random, and the number of rounds is limited: equal input, equal vertices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.posteriors import raised, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.posteriors import Box, Ints

__all__ = ["least_nearby"]

_ROUNDS = 40
_LEVELS = 96  # levels that take part, those with the least penalties
_PARTNERS = 12  # pairs tried with every other pair
_TRIED = 48  # promising neighbours worked out exactly, one of them in several ways


def least_nearby(box: Box, price: float, high: Ints) -> float:
    """Return the least entropy met on the way from vertex to better vertex.

    Args:
        box: the bounds.
        price: multiplier of the chords' linear program.
        high: predicates at their upper bound, per level; no vertex where the entropy is infinite.
    """
    least = _entropy(box, high)
    for _ in range(_ROUNDS):
        nearby = [(_entropy(box, each), each) for each in _promising(box, price, high)]
        found, after = min(nearby, key=lambda pair: pair[0], default=(math.inf, high))
        if found >= least:
            break
        least, high = found, after
    return least


def _entropy(box: Box, high: Ints) -> float:
    """Return the entropy of a vertex, its fraction where it costs least; inf if it is none."""
    rest = _left(box, high)
    fits = np.flatnonzero((high < box.counts) & (box.room >= rest))
    if ((high < 0) | (high > box.counts)).any() or rest < -box.mass_error or not len(fits):
        return math.inf
    fraction = raised(box, fits[:1], np.array([max(rest, 0.0)]))
    return box.base + total(high * box.gain) + float(fraction[0])


def _left(box: Box, high: Ints) -> float:
    return math.fsum([box.slack, *(-high * box.room).tolist()])


def _promising(box: Box, price: float, high: Ints) -> Iterator[Ints]:
    """Yield the neighbours that leave the least entropy, as if the steps used up no level."""
    levels = len(high)
    nearest = np.argsort(np.abs(box.gain - price * box.room), kind="stable")[:_LEVELS]
    up, down = nearest[high[nearest] < box.counts[nearest]], nearest[high[nearest] > 0]
    # The last step moves none: it stands behind the last level.
    moved = np.concatenate([up, down, [levels]])
    sign = np.concatenate([np.ones(len(up)), -np.ones(len(down)), [0]]).astype(np.int64)
    freed = -sign * np.append(box.room, 0.0)[moved]
    gained = sign * np.append(box.gain, 0.0)[moved]
    pairs = np.stack(np.triu_indices(len(moved)), axis=1)
    pairs = pairs[np.argsort(freed[pairs].sum(axis=1), kind="stable")]
    freed_by, gained_by = freed[pairs].sum(axis=1), gained[pairs].sum(axis=1)
    # For every pair those that take away what it leaves, or nearly so, and the one that moves none.
    rest = _left(box, high) + freed_by
    partner = np.searchsorted(freed_by, -rest)[:, None] + np.arange(_PARTNERS)
    none = np.full((len(pairs), 1), np.flatnonzero((pairs == len(moved) - 1).all(axis=1))[0])
    partner = np.hstack([np.minimum(partner, len(pairs) - 1), none])
    one, two = np.repeat(np.arange(len(pairs)), partner.shape[1]), partner.ravel()
    left = rest[one] + freed_by[two]
    takes = np.flatnonzero(high < box.counts)
    widest = np.maximum.accumulate(box.room[takes])
    fits = np.flatnonzero((left >= 0) & (left <= widest.max(initial=-1.0)))
    one, two, left = one[fits], two[fits], left[fits]
    entropy = (
        gained_by[one] + gained_by[two] + raised(box, takes[np.searchsorted(widest, left)], left)
    )
    for at in np.argsort(entropy, kind="stable")[:_TRIED].tolist():
        steps = np.append(pairs[one[at]], pairs[two[at]])
        change = np.zeros(levels + 1, dtype=np.int64)
        np.add.at(change, moved[steps], sign[steps])
        yield high + change[:-1]
