"""The vertex of the posterior's bounds with the least entropy, by branch and bound.

A vertex has every predicate at a bound except at most one, the *fraction*. Predicates of equal
bounds are a level; a state says how many of each level are at the upper bound, at least and at
most, and perhaps which predicate is the fraction and how far it is from its lower bound. Its bound
is the linear program with every entropy term replaced by its chord, and what the remainder of that
program costs at least, since other predicates take it only in steps of their own. Best bound first.

Proof: ``docs/research/proofs/minentropy.md``. Source: MIDE, Lemma 7, Definition 6 and Theorem 11.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accountant.costs.posteriors import ROUNDING, raised

if TYPE_CHECKING:
    from accountant.costs.posteriors import Box, Floats

__all__ = ["VertexSearch"]


class _State(NamedTuple):
    """Some of the vertices.

    Args:
        least: predicates of each level at the upper bound, at least.
        most: the same, at most; the others are at the lower bound.
        one: level of the fraction, a predicate that neither counts; -1 where any may be it.
        start: what the fraction has beyond its lower bound, at least.
        end: the same, at most.
    """

    least: Floats
    most: Floats
    one: int = -1
    start: float = 0.0
    end: float = 0.0


class VertexSearch:
    """Branch and bound over how many predicates of each level are at the upper bound.

    ``best`` is the entropy of the best vertex, ``proven`` what none goes below, and ``nodes`` how
    many states were generated after the first.
    """

    def __init__(self, box: Box) -> None:
        self.box = box
        self.best, self.proven = math.inf, -math.inf
        self.nodes = 0
        self._open: list[tuple[float, int, int, float, _State]] = []
        self._relax(_State(0 * box.counts, np.where(box.room > 0, box.counts, 0.0)), -math.inf)

    def run(self, node_limit: int) -> None:
        """Branch until the bracket closes or so many states were generated."""
        while self._open and self.best - self._open[0][0] > self.box.margin:
            if self.nodes + 3 > node_limit:
                break
            bound, _, level, at, state = heapq.heappop(self._open)
            if level == state.one:
                children = [state._replace(end=at), state._replace(start=at)]
            else:
                fewer, more, exact = state.most.copy(), state.least.copy(), state.least.copy()
                fewer[level], more[level], exact[level] = at, at + 1, at
                children = [state._replace(most=fewer), state._replace(least=more)]
                if state.one < 0:
                    room = float(self.box.room[level])
                    children.append(_State(exact, fewer, level, end=room))
            for child in children:
                self.nodes += 1
                self._relax(child, bound)
        lowest = self._open[0][0] if self._open else math.inf
        self.proven = min(lowest, self.best)

    def _relax(self, state: _State, known: float) -> None:
        """Solve a state's linear program, keep the best point next to its solution, and the state.

        The bound holds for any multiplier: that of the program makes it the highest. A bound known
        of more vertices holds as well.
        """
        box, (least, most, one, start, end) = self.box, state
        counts = most - least
        slack, base = box.slack - float(least @ box.room), box.base + float(least @ box.gain)
        columns = np.array([counts, box.low, box.low_term, box.room, box.gain])
        if one >= 0:
            from_low, to_end = raised(box, one, np.array([start, end])).tolist()
            slack, base = slack - start, base + from_low
            columns[:3, one] += 1, start, from_low
            columns[3:, one] = end - start, to_end - from_low
        room, gain = columns[3:]
        order = np.argsort(gain / np.where(room > 0, room, 1.0), kind="stable")
        counts, low, low_term, room, gain = columns[:, order]
        box = replace(box, counts=counts, low=low, low_term=low_term, room=room, gain=gain)
        filled = np.cumsum(counts * room)
        if slack < -box.mass_error or slack > filled[-1] + box.mass_error:
            return
        split = int(np.searchsorted(filled, slack))
        full = np.where(np.arange(len(order)) < split, counts, 0.0)
        if slack <= 0 or split == len(order):
            self.best = min(self.best, base + float(full @ gain))
            return
        # How many of the level the slack fills: not all of them, so that all children differ.
        whole = math.floor((slack - float(full @ room)) / room[split])
        full[split] = min(max(whole, 0.0), counts[split] - 1)
        rest = min(max(slack - float(full @ room), 0.0), float(room[split]))
        takes = np.flatnonzero((full < counts) & (room >= rest))
        found = base + full @ gain + raised(box, takes, rest)
        self.best = min(self.best, float(found.min(initial=math.inf)))
        price = float(gain[split] / room[split])
        bound = base + price * slack + float(counts @ np.minimum(gain - price * room, 0.0))
        if bound < self.best and min(rest, room[split] - rest) > box.mass_error:
            bound += _remainder(box, split, rest)
        bound = max(bound, known)
        if bound < self.best:
            level = int(order[split])
            at = start + rest if level == one else float(least[level] + full[split])
            heapq.heappush(self._open, (bound, -self.nodes, level, at, state))


def _remainder(box: Box, split: int, rest: float) -> float:
    """Return what the remainder costs at least, whoever takes it in whatever steps.

    Whatever moves, its steps add up to the remainder modulo the split level's room. A triangle with
    its apex at the remainder is subadditive on that circle, so scaled to lie below the price of
    every step, its apex is below the price of all of them.

    Args:
        box: levels in the order in which the linear program fills them.
        split: the level that it fills in part.
        rest: what one predicate of that level takes of it, beside others that take all.
    """
    room, period = box.room, float(box.room[split])
    price = float(box.gain[split]) / period
    held = np.where(np.arange(len(room)) < split, room, 0.0)
    reduced = box.gain - price * room
    step = (room - 2 * held) % period
    share = np.minimum(step / rest, (period - step) / (period - rest))
    moves = box.counts * share > 0
    whole = (np.abs(reduced) + ROUNDING * room)[moves] / share[moves]
    least = float(whole.min(initial=math.inf))
    # A fraction's price is concave: next to its triangle, it is least at the end or at an apex.
    first = (held + rest) % period
    at = np.flatnonzero((box.counts > 0) & (first <= room))
    for amount in (first, first + (room - first) // period * period):
        cost = raised(box, at, amount[at]) - price * amount[at] - np.minimum(reduced[at], 0.0)
        least = min(least, float(cost.min(initial=math.inf)))
    return max(least, 0.0)
