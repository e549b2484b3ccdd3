"""The vertex of the posterior's bounds with the least entropy, by branch and bound.

Proof: ``docs/proofs/minentropy.md``. Source: MIDE, Theorem 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.posteriors import ROUNDING, Floats, Ints, entropy_term, raised, total
from accountant.costs.swaps import least_nearby

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.costs.posteriors import Box

__all__ = ["VertexSearch"]

_FIRST_WIDTH = 64
_WIDENING = 8
_CHILDREN = 4  # per state and level, on average
_WINDOW = 62  # levels that may deviate: one bit each in an int64
_TRIFLING = 1024  # times its rounding error a price means something


class VertexSearch:
    """Branch and bound on counts per level, after the first bracket from the chords.

    Every number here is a surplus over ``root``, the value of the chords' linear program: ``best``
    of the best vertex, ``proven`` of what no vertex goes below. A level is a position in the box.
    """

    def __init__(self, box: Box) -> None:
        self.box = box
        position = np.arange(len(box.low))
        slope = box.gain / box.room
        # Below the slack's cap slopes fall as costs rise; rounding must not blur their order.
        capped = box.room >= box.slack
        slope[~capped] = np.minimum.accumulate(slope[~capped])
        order = np.lexsort((-position, slope))
        filled = np.cumsum((box.counts * box.room)[order])
        at = min(int(np.searchsorted(filled, box.slack)), len(order) - 1)
        self.slope = slope
        self.split = int(order[at])  # the level which the linear program fills in part
        self.price = float(slope[self.split])
        self.is_full = np.zeros(len(order), dtype=np.bool_)  # at the upper bound there
        self.is_full[order[:at]] = True
        reduced = box.gain - self.price * box.room
        self.root = math.fsum(
            [box.base, self.price * box.slack, *(box.counts * np.minimum(reduced, 0)).tolist()]
        )
        self.penalty = np.abs(reduced)  # for one predicate at the other bound
        self.penalty[self.split] = 0.0
        self.start = box.slack - total((box.counts * box.room)[order[:at]])
        self.nearest = np.argsort(np.abs(slope - self.price), kind="stable")
        self.nearest = self.nearest[self.nearest != self.split]
        self.widest = np.maximum.accumulate(box.room)
        self.credit, self.credit_price = self._credit()
        self.best = math.inf
        self.vertex = np.zeros(len(order), dtype=np.int64)  # predicates at the upper bound there
        self.proven = 0.0
        self.nodes = 0
        self._leaves(_States.single(self.start, 0), np.zeros(0, dtype=np.int64), [])
        self.proven = min(self.best, self._residue_bound())

    def run(self, node_limit: int) -> None:
        """Search ever wider beams until the bracket closes or the nodes left allow no wider one."""
        width, affordable = _FIRST_WIDTH, True
        while self.best - self.proven > self.box.margin and affordable:
            affordable = self._beam(width, node_limit)
            width *= _WIDENING
            if self.best - self.proven > self.box.margin:
                self._descend()

    def _descend(self) -> None:
        self.best = min(self.best, least_nearby(self.box, self.price, self.vertex) - self.root)
        self.proven = min(self.proven, self.best)

    def _beam(self, width: int, node_limit: int) -> bool:
        """Enumerate what may beat the best, at most ``width`` states after each level.

        Returns:
            False when the node limit asked for fewer states.
        """
        credit = self.credit if self.credit_price <= self.best else 0.0
        limit = self.best + credit
        penalties = self.penalty[self.nearest]
        within = np.flatnonzero(penalties <= limit)
        size = min(_WINDOW, int(within[-1]) + 1 if len(within) else 0)
        window = self.nearest[:size]
        missed = float(penalties[size:].min(initial=math.inf))
        bits = np.int64(1) << np.arange(size, dtype=np.int64)
        states = _States.single(self.start, int(bits[self.is_full[window]].sum()))
        affordable = True
        trail: list[tuple[Ints, Floats]] = []
        for index in range(size - 1, -1, -1):
            # An equal share of the nodes left for every level left: it never shrinks on the way.
            share = (node_limit - self.nodes) // (_CHILDREN * (index + 1))
            if share < 1:
                return False
            affordable &= share >= width
            room = min(width, share)
            states, cut, parent, deviation = self._children(states, window, index, limit, room)
            missed = min(missed, cut)
            self.nodes += len(states.rest)
            bound = states.paid + self._repair(window[:index], states.rest)
            kept = np.flatnonzero(bound <= limit)
            if len(kept) > room:
                by_bound = np.argpartition(bound[kept], room)
                missed = min(missed, float(bound[kept[by_bound[room:]]].min()))
                kept = kept[by_bound[:room]]
            states = states.at(kept)
            trail.append((parent[kept], deviation[kept]))
        self._leaves(states, window, trail)
        self.proven = max(self.proven, min(missed - credit, self.best))
        return affordable

    def _children(
        self, states: _States, window: Ints, index: int, limit: float, width: int
    ) -> tuple[_States, float, Ints, Floats]:
        """Return the states after one more level, and a bound on the penalty of those left out.

        With them of each the state that it comes from, and how many predicates deviate.
        """
        level = int(window[index])
        penalty, count = float(self.penalty[level]), float(self.box.counts[level])
        spare = np.maximum(limit - states.paid, 0.0)
        wanted = np.minimum(np.floor(spare / max(penalty, 1e-300)), count)
        crowded = float(wanted.sum()) + len(spare) > _CHILDREN * width
        most = _CHILDREN * width // len(spare) - 1 if crowded else math.inf
        deviations = np.minimum(wanted, most)
        left_out = states.paid[wanted > most] + (deviations[wanted > most] + 1) * penalty
        parent = np.repeat(np.arange(len(spare)), deviations.astype(np.int64) + 1)
        first = np.cumsum(deviations + 1) - (deviations + 1)
        deviation = np.arange(len(parent)) - first[parent]
        full = states.full[parent]
        bit = np.int64(1) << np.int64(index)
        if self.is_full[level]:
            sign = 1.0
            full = np.where(deviation > 0, full & ~bit, full)
        else:
            sign = -1.0
            full = np.where(deviation == count, full | bit, full)
        children = _States(
            states.rest[parent] + sign * deviation * self.box.room[level],
            states.paid[parent] + deviation * penalty,
            full,
        )
        return children, float(left_out.min(initial=math.inf)), parent, deviation

    def _repair(self, open_levels: Ints, rest: Floats) -> Floats:
        """Return the least penalty at which levels still open, and one fraction, take the rest."""
        box = self.box
        full = self.is_full[open_levels]
        held = float(box.counts[self.split] * box.room[self.split])
        size, price = box.counts * box.room, box.counts * self.penalty
        back, more = open_levels[full], open_levels[~full]
        steepest = float(self.slope[more[-1]]) - self.price if len(more) else 0.0
        amounts = np.concatenate(
            [-np.cumsum(size[back])[::-1], [0.0, held], held + np.cumsum(size[more])]
        )
        prices = np.concatenate([np.cumsum(price[back])[::-1], [0.0, 0.0], np.cumsum(price[more])])
        widest = float(self.widest[-1])
        amounts = np.append(amounts, amounts[-1] + widest + box.mass_error)
        prices = np.append(prices, prices[-1] + steepest * widest)
        amounts[0] -= box.mass_error
        return np.asarray(np.interp(rest, amounts, prices, left=math.inf, right=math.inf))

    def _leaves(self, states: _States, window: Ints, trail: Sequence[tuple[Ints, Floats]]) -> None:
        """Complete every state to a vertex and keep the best.

        Args:
            states: with all levels of the window decided.
            window: those levels.
            trail: per level, the last of the window first, which state each comes from and how many
                predicates deviate.
        """
        box, levels = self.box, len(self.box.low)
        position = np.arange(levels)
        shut = self.is_full.copy()
        shut[window] = False
        # The nearest level from here upwards that isn't full whatever the state says.
        following = np.minimum.accumulate(np.where(shut, levels, position)[::-1])[::-1]
        following = np.append(following, [levels, levels])
        bit = np.zeros(levels + 1, dtype=np.int64)
        bit[window] = np.int64(1) << np.arange(len(window), dtype=np.int64)
        whole = np.floor(states.rest / box.room[self.split])
        whole = np.clip(whole, 0.0, box.counts[self.split])
        # By Theorem 11 a fraction of a dearer predicate leaves the split level all low or all high.
        for taken in (whole, np.zeros_like(whole)):
            rest = states.rest - taken * box.room[self.split]
            fits = (rest >= -box.mass_error) & (rest <= self.widest[-1])
            rest = np.maximum(rest[fits], 0.0)
            full, spent = states.full[fits], taken[fits] >= box.counts[self.split]
            level = following[np.searchsorted(self.widest, rest)]
            while True:
                taken_up = ((bit[level] & full) != 0) | ((level == self.split) & spent)
                if not taken_up.any():
                    break
                level = np.where(taken_up, following[level + 1], level)
            found = level < levels
            if found.any():
                surplus = states.paid[fits][found] + self._fraction(level[found], rest[found])
                least = int(surplus.argmin())
                if float(surplus[least]) < self.best:
                    self.best = float(surplus[least])
                    at = int(np.flatnonzero(fits)[found][least])
                    self.vertex = self._traced(at, int(taken[at]), window, trail)

    def _traced(
        self, at: int, taken: int, window: Ints, trail: Sequence[tuple[Ints, Floats]]
    ) -> Ints:
        """Return how many predicates of each level a state has at the upper bound."""
        high = np.where(self.is_full, self.box.counts, 0.0).astype(np.int64)
        high[self.split] = taken
        for level, (parent, deviation) in zip(window, reversed(trail), strict=True):
            high[level] += (-1 if self.is_full[level] else 1) * int(deviation[at])
            at = int(parent[at])
        return high

    def _fraction(self, level: Ints, amount: Floats) -> Floats:
        """Return the surplus of giving one predicate at its lower bound some more."""
        return raised(self.box, level, amount) - self.price * amount

    def _credit(self) -> tuple[float, float]:
        """Return what a fraction among the full levels saves at most, and what it costs at least.

        Such a vertex has every cheaper predicate at its upper bound (Theorem 11), and its own
        probability is at most the lower bound of the next cheaper one.
        """
        box = self.box
        lifted = np.append(box.low[:1], box.low[:-1]) - box.low
        saved = (self.slope.max() - self.slope) * lifted
        credit = float(saved[self.is_full].max(initial=0.0))
        free = ~self.is_full & (box.room < box.slack)
        return credit, total((box.counts * self.penalty)[free]) - credit

    def _residue_bound(self) -> float:
        """Return a lower bound on the surplus from the remainder modulo the split level's room.

        Whatever moves, the steps must add up to the remainder modulo that room. A triangle with its
        apex at the remainder is subadditive on that circle, so scaled to lie below the price of
        every step, its apex is below the price of all of them.
        """
        box = self.box
        period = float(box.room[self.split])
        apex = self.start % period
        full, partial = self.is_full, np.flatnonzero(~self.is_full)
        high = box.low + box.room
        # Where a fraction can be, by Theorem 11: from the upper bound of the next cheaper level up,
        # or, with all cheaper predicates at their upper bounds, up to its lower bound.
        above = np.maximum(np.append(box.low[:1], high[:-1]) - box.low, 0.0)[partial]
        lifted = np.append(box.low[:1], box.low[:-1]) - box.low
        below = lifted[partial]
        nothing_to_say = (
            bool((box.room >= box.slack).any())
            or min(apex, period - apex) <= box.mass_error
            or float(below.max()) >= period
        )
        if nothing_to_say:
            return 0.0
        middle = np.clip(apex, above, box.room[partial])
        # The ratio to the triangle is least at an end of a range or at the apex.
        fractions = [np.where(partial > 0, above, middle), middle, below, np.minimum(below, apex)]
        whole = np.flatnonzero(np.arange(len(full)) != self.split)
        steps = np.concatenate([np.where(full, -box.room, box.room)[whole], *fractions])
        prices = [self.penalty[whole], *(self._fraction(partial, amount) for amount in fractions)]
        price, step = np.concatenate(prices), steps % period
        blur = ROUNDING * float(self.widest[-1])
        share = np.minimum((step + blur) / apex, (period - step + blur) / (period - apex))
        noise = ROUNDING * float(
            (box.low_term + entropy_term(high) + abs(self.price) * box.room).max()
        )
        # Steps too small for their price to be told from rounding: take off all they can cover.
        covers = share * np.append(box.counts[whole], np.ones(len(share) - len(whole)))
        trifling = (steps != 0) & (price <= _TRIFLING * noise) & (covers < 1e-6)
        covered = total(covers[: len(whole)][trifling[: len(whole)]])
        covered += float(covers[len(whole) :][trifling[len(whole) :]].max(initial=0.0))
        telling = (steps != 0) & ~trifling
        scale = float((np.maximum(price - noise, 0.0) / share)[telling].min(initial=math.inf))
        if math.isinf(scale):
            return 0.0
        saved = 0.0
        if full.any() and self.credit_price <= self.best:
            # A fraction among the full levels is a step up from such a level's lower bound.
            covered += float(lifted[full].max()) / apex
            saved = float(((self.price - self.slope) * lifted)[full].max())
        return max(0.0, scale * (1 - covered) - saved)


@dataclass(frozen=True, slots=True)
class _States:
    """Choices made for some levels, one state per element.

    Args:
        rest: slack left for the split level and the fraction.
        paid: penalty so far.
        full: bit i is set where all predicates of the window's level i are at the upper bound.
    """

    rest: Floats
    paid: Floats
    full: Ints

    @classmethod
    def single(cls, rest: float, full: int) -> _States:
        """Return the state in which nothing deviates."""
        return cls(np.array([rest]), np.zeros(1), np.array([full], dtype=np.int64))

    def at(self, chosen: Ints) -> _States:
        """Return some of the states."""
        return _States(self.rest[chosen], self.paid[chosen], self.full[chosen])
