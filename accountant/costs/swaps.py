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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.posteriors import Floats, Ints, entropy_term, total

if TYPE_CHECKING:
    from accountant.costs.posteriors import Box

__all__ = ["Descent"]

_ROUNDS = 40
_LEVELS = 96  # levels that take part, those with the least penalties
_PARTNERS = 12  # pairs tried with every other pair
_TRIED = 24  # promising neighbours worked out exactly


@dataclass(frozen=True, slots=True)
class _Steps:
    """Changes of a vertex, one per element.

    Args:
        rest: what each adds to the slack that is left, ascending.
        price: what each adds to the surplus, without the fraction.
        levels: the levels whose counts change, shape (steps, changes); -1 for none.
        signs: by how much, in the same shape.
    """

    rest: Floats
    price: Floats
    levels: Ints
    signs: Ints


class Descent:
    """Goes from vertex to better vertex.

    Args:
        box: the bounds.
        price: multiplier of the chords' linear program; surpluses are over its value.
        free: surplus of the vertex without any predicate at its upper bound, less its fraction.
    """

    def __init__(self, box: Box, price: float, free: float) -> None:
        self._box = box
        self._price = price
        self._free = free
        self._reduced = box.gain - price * box.room
        self._widest = float(box.room.max())

    def run(self, high: Ints) -> float:
        """Return the least surplus met on the way from a vertex.

        Args:
            high: predicates at their upper bound, per level.
        """
        best = self._surplus(high)
        for _ in range(_ROUNDS):
            found = self._neighbour(high, best)
            if found is None:
                break
            high, best = found
        return best

    def _surplus(self, high: Ints) -> float:
        """Return the surplus of a vertex, its fraction where it costs least; inf if it is none."""
        box = self._box
        if ((high < 0) | (high > box.counts)).any():
            return math.inf
        rest = math.fsum([box.slack, *(-high * box.room).tolist()])
        if rest < -box.mass_error:
            return math.inf
        rest = max(rest, 0.0)
        fits = np.flatnonzero((high < box.counts) & (box.room >= rest))
        if not len(fits):
            return math.inf
        fraction = float(self._fraction(fits[:1], np.array([rest]))[0])
        return self._free + total(high * self._reduced) + fraction

    def _fraction(self, levels: Ints, rest: Floats) -> Floats:
        box = self._box
        raised = entropy_term(box.low[levels] + rest) - box.low_term[levels]
        return np.asarray(raised - self._price * rest)

    def _neighbour(self, high: Ints, best: float) -> tuple[Ints, float] | None:
        """Return a better vertex within two swaps, the best of the promising ones."""
        rest = math.fsum([self._box.slack, *(-high * self._box.room).tolist()])
        paid = self._free + total(high * self._reduced)
        singles = self._singles(high)
        pairs = _paired(singles)
        left = rest + pairs.rest
        alone = self._promising(pairs.price + paid, left)
        # For every pair those that take away what it leaves, or nearly so.
        first = np.searchsorted(pairs.rest, -left)
        partner = np.minimum(first[:, None] + np.arange(_PARTNERS), len(left) - 1)
        one = np.repeat(np.arange(len(left)), _PARTNERS)
        two = partner.ravel()
        both = _Steps(
            pairs.rest[one] + pairs.rest[two],
            pairs.price[one] + pairs.price[two],
            np.concatenate([pairs.levels[one], pairs.levels[two]], axis=1),
            np.concatenate([pairs.signs[one], pairs.signs[two]], axis=1),
        )
        double = self._promising(both.price + paid, rest + both.rest)
        found: tuple[Ints, float] | None = None
        for steps, chosen in ((pairs, alone), (both, double)):
            for at in chosen.tolist():
                after = high.copy()
                used = steps.levels[at] >= 0
                np.add.at(after, steps.levels[at][used], steps.signs[at][used])
                value = self._surplus(after)
                if value < best:
                    found, best = (after, value), value
        return found

    def _singles(self, high: Ints) -> _Steps:
        """Return the steps of one predicate, and the step that moves none."""
        box = self._box
        nearest = np.argsort(np.abs(self._reduced), kind="stable")[:_LEVELS]
        up, down = nearest[high[nearest] < box.counts[nearest]], nearest[high[nearest] > 0]
        levels = np.concatenate([up, down, [-1]])
        signs = np.concatenate([np.ones(len(up)), -np.ones(len(down)), [0]]).astype(np.int64)
        room = np.append(box.room, 0.0)[levels]
        reduced = np.append(self._reduced, 0.0)[levels]
        return _Steps(-signs * room, signs * reduced, levels[:, None], signs[:, None])

    def _promising(self, paid: Floats, rest: Floats) -> Ints:
        """Return the places of the steps that would leave the least surplus."""
        at = np.flatnonzero((rest >= 0) & (rest <= self._widest))
        # The cheapest level with room for it, whether or not the steps filled that.
        widest = np.maximum.accumulate(self._box.room)
        levels = np.searchsorted(widest, rest[at])
        value = paid[at] + self._fraction(levels, rest[at])
        best = np.argsort(value, kind="stable")[:_TRIED]
        return at[best]


def _paired(singles: _Steps) -> _Steps:
    """Return every two steps together, in the order of what they add to the rest."""
    left, right = np.triu_indices(len(singles.rest))
    rest = singles.rest[left] + singles.rest[right]
    order = np.argsort(rest, kind="stable")
    left, right = left[order], right[order]
    return _Steps(
        rest[order],
        singles.price[left] + singles.price[right],
        np.concatenate([singles.levels[left], singles.levels[right]], axis=1),
        np.concatenate([singles.signs[left], singles.signs[right]], axis=1),
    )
