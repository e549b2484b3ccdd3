"""The least entropy of a posterior whose predicates have priors of their own.

With unequal priors the bounds on two predicates need not be nested, so that the search of
``vertices`` does not apply. Here predicates are settled at one of their bounds, one at a time, best
bound first. Each state's bound is the linear program with every entropy term replaced by its chord.
That program leaves one predicate between its bounds, the fraction. All vertices at which that
predicate is the fraction are covered at once: over what the program gives the others, the least is
taken at a vertex, or with the predicate at an end, which is a state of its own.

Proof: ``docs/proofs/minentropy.md``. Source: MIDE, Lemma 7 and Definition 6.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.posteriors import Box, Floats, Ints, entropy_term, total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Settled = NDArray[np.int8]

__all__ = ["PriorSearch"]

_FREE, _LOW, _HIGH = 0, 1, 2


@dataclass(frozen=True, slots=True)
class _Relaxed:
    """What the linear program says of a state.

    Args:
        bound: what no vertex of the state goes below.
        fraction: the predicate between its bounds, None where the program ends at a vertex.
    """

    bound: float
    fraction: int | None = None


class PriorSearch:
    """Branch and bound over which predicates are at which bound.

    ``best`` is the entropy of the best vertex, ``proven`` what no vertex goes below, ``nodes`` how
    many states were generated after the first. A predicate is a position in the order of slopes.
    """

    def __init__(self, box: Box) -> None:
        slope = box.gain / np.where(box.room > 0, box.room, 1.0)
        order = np.lexsort((box.low, box.room, slope))
        self.slope, self.low, self.room = slope[order], box.low[order], box.room[order]
        self.low_term, self.gain = box.low_term[order], box.gain[order]
        self.slack, self.base = box.slack, box.base
        self.mass_error, self.margin = box.mass_error, box.margin
        self.first, self.behind = _alike(self.low, self.room)
        self.best = math.inf
        self.nodes = 0
        settled = np.where(self.room > 0, _FREE, _LOW).astype(np.int8)
        relaxed = self._relaxed(settled)
        self.proven = relaxed.bound
        self._open = [(relaxed.bound, 0, relaxed.fraction, settled)]

    def run(self, node_limit: int) -> None:
        """Settle predicates until the bracket closes or so many states were generated."""
        while self._open and self.best - self._open[0][0] > self.margin:
            if self.nodes + 2 > node_limit:
                break
            _, _, fraction, settled = heapq.heappop(self._open)
            if fraction is None:
                continue
            self._with_fraction(settled, fraction)
            for child in self._children(settled, fraction):
                self.nodes += 1
                relaxed = self._relaxed(child)
                if relaxed.bound < self.best:
                    entry = (relaxed.bound, self.nodes, relaxed.fraction, child)
                    heapq.heappush(self._open, entry)
        lowest = self._open[0][0] if self._open else math.inf
        self.proven = min(max(self.proven, lowest), self.best)

    def _children(self, settled: Settled, fraction: int) -> tuple[Settled, Settled]:
        """Return the states with the fraction at either bound.

        Predicates that are alike may be told to stand in falling order of probability.
        """
        at_low, at_high = settled.copy(), settled.copy()
        later = slice(fraction, int(self.behind[fraction]))
        earlier = slice(int(self.first[fraction]), fraction + 1)
        at_low[later][at_low[later] == _FREE] = _LOW
        at_high[earlier][at_high[earlier] == _FREE] = _HIGH
        return at_low, at_high

    def _relaxed(self, settled: Settled) -> _Relaxed:
        """Solve a state's linear program, and keep the vertices next to its solution."""
        free, slack, spent = self._left(settled)
        filled = np.cumsum(np.where(free, self.room, 0.0))
        gained = np.cumsum(np.where(free, self.gain, 0.0))
        if slack < -self.mass_error or slack > filled[-1] + self.mass_error:
            return _Relaxed(math.inf)
        at = int(np.searchsorted(filled, slack))
        if slack <= 0 or at == len(filled):
            value = spent + (float(gained[-1]) if slack > 0 else 0.0)
            self.best = min(self.best, value)
            return _Relaxed(value)
        before = at - 1
        rest = min(slack - (float(filled[before]) if at else 0.0), float(self.room[at]))
        value = spent + (float(gained[before]) if at else 0.0)
        takes = np.flatnonzero(free[at:] & (self.room[at:] >= rest)) + at
        self.best = min(self.best, value + float(self._raised(takes, rest).min()))
        return _Relaxed(value + float(self.slope[at]) * rest, at)

    def _with_fraction(self, settled: Settled, fraction: int) -> None:
        """Keep the best of the vertices which the program gives with this fraction."""
        others = settled.copy()
        same = slice(int(self.first[fraction]), int(self.behind[fraction]))
        open_here = others[same] == _FREE
        earlier = np.arange(same.start, same.stop) < fraction
        others[same][open_here] = np.where(earlier, _HIGH, _LOW)[open_here]
        free, slack, spent = self._left(others)
        rest = slack - np.concatenate([[0.0], np.cumsum(self.room[free])])
        value = spent + np.concatenate([[0.0], np.cumsum(self.gain[free])])
        fits = (rest >= 0) & (rest <= self.room[fraction])
        found = value[fits] + self._raised(np.array([fraction]), rest[fits])
        self.best = min(self.best, float(found.min(initial=math.inf)))

    def _left(self, settled: Settled) -> tuple[NDArray[np.bool_], float, float]:
        """Return who is free, what is left of the slack, and the entropy with those at the low."""
        high = settled == _HIGH
        slack = self.slack - total(self.room[high])
        return settled == _FREE, slack, self.base + total(self.gain[high])

    def _raised(self, at: Ints, amount: Floats | float) -> Floats:
        """Return what so much more than the lower bound adds to the entropy."""
        return np.asarray(entropy_term(self.low[at] + amount) - self.low_term[at])


def _alike(low: Floats, room: Floats) -> tuple[Ints, Ints]:
    """Return for each predicate where those of the same bounds begin, and where they are over."""
    differs = (np.diff(low) != 0) | (np.diff(room) != 0)
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1])
    sizes = np.diff(np.append(starts, len(low)))
    return np.repeat(starts, sizes), np.repeat(starts + sizes, sizes)
