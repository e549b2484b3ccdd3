"""The least entropy of a posterior whose predicates have priors of their own.

With unequal priors the bounds on two predicates need not be nested, so that the search of
``vertices`` does not apply. Here predicates of equal bounds are a level, and a state says how many
of each level are at the upper bound, at least and at most; best bound first. Its bound is the
linear program with every entropy term replaced by its chord. That program leaves one predicate
between its bounds, the fraction. All vertices at which that predicate is the fraction are covered
at once: over what the program gives the others, the least is taken at a vertex, or with the
predicate at an end, which is a state of its own.

Proof: ``docs/proofs/minentropy.md``. Source: MIDE, Lemma 7 and Definition 6.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.posteriors import raised, total

if TYPE_CHECKING:
    from accountant.costs.posteriors import Box, Floats

__all__ = ["PriorSearch"]


class PriorSearch:
    """Branch and bound over how many predicates of each level are at the upper bound.

    Every number here is a surplus over ``root``, the entropy of all lower bounds: ``best`` of the
    best vertex, ``proven`` of what no vertex goes below. ``nodes`` is how many states were
    generated after the first. A level is a position in the order of slopes.
    """

    def __init__(self, box: Box) -> None:
        slope = box.gain / np.where(box.room > 0, box.room, 1.0)
        order = np.argsort(slope, kind="stable")
        per_level = ("counts", "low", "room", "low_term", "gain")
        self.box = replace(box, **{name: getattr(box, name)[order] for name in per_level})
        self.slope, self.root = slope[order], box.base
        self.best = math.inf
        self.proven = -math.inf
        self.nodes = 0
        self._open: list[tuple[float, int, int, float, Floats, Floats]] = []
        box = self.box
        self._relax(np.zeros_like(box.counts), np.where(box.room > 0, box.counts, 0.0))

    def run(self, node_limit: int) -> None:
        """Settle predicates until the bracket closes or so many states were generated."""
        while self._open and self.best - self._open[0][0] > self.box.margin:
            if self.nodes + 2 > node_limit:
                break
            _, _, level, whole, least, most = heapq.heappop(self._open)
            fewer, more = most.copy(), least.copy()
            fewer[level], more[level] = whole, whole + 1
            self._with_fraction(level, least, most, whole)
            for child in ((least, fewer), (more, most)):
                self.nodes += 1
                self._relax(*child)
        lowest = self._open[0][0] if self._open else math.inf
        self.proven = min(lowest, self.best)

    def _relax(self, least: Floats, most: Floats) -> None:
        """Solve a state's linear program, keep the vertices next to its solution, and the state.

        The bound holds for any multiplier: that of the program makes it the highest.
        """
        box, slack = self.box, self._left(least)
        filled = np.cumsum((most - least) * box.room)
        if slack < -box.mass_error or slack > filled[-1] + box.mass_error:
            return
        level = int(np.searchsorted(filled, slack))
        high = np.where(np.arange(len(most)) < level, most, least)
        if slack <= 0 or level == len(filled):
            self.best = min(self.best, total(high * box.gain))
            return
        # How many of the level the slack fills: not all of them, so that both children differ.
        full = np.floor(self._left(high) / box.room[level])
        high[level] += np.clip(full, 0.0, most[level] - least[level] - 1)
        rest = np.clip(self._left(high), 0.0, box.room[level])
        takes = np.flatnonzero((high < box.counts) & (box.room >= rest))
        self.best = min(self.best, total(high * box.gain) + float(raised(box, takes, rest).min()))
        reduced = box.gain - self.slope[level] * box.room
        bound = float(self.slope[level]) * box.slack
        bound += total(np.minimum(reduced * least, reduced * most))
        if bound < self.best:
            entry = (bound, self.nodes, level, float(high[level]), least, most)
            heapq.heappush(self._open, entry)

    def _with_fraction(self, level: int, least: Floats, most: Floats, whole: float) -> None:
        """Keep the best of the vertices which the program gives with a fraction of this level."""
        box, high, free = self.box, least.copy(), most - least
        high[level], free[level] = whole, 0.0
        rest = self._left(high) - np.concatenate([[0.0], np.cumsum(free * box.room)])
        value = total(high * box.gain) + np.concatenate([[0.0], np.cumsum(free * box.gain)])
        fits = (rest >= 0) & (rest <= box.room[level])
        found = value[fits] + raised(box, level, rest[fits])
        self.best = min(self.best, float(found.min(initial=math.inf)))

    def _left(self, high: Floats) -> float:
        """Return what is left of the slack with so many predicates at their upper bounds."""
        return math.fsum([self.box.slack, *(-high * self.box.room).tolist()])
