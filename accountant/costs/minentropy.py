"""Min-entropy of predicate-wise costs: the least uncertainty an adversary can be left with.

An adversary who knows nothing but the output guesses which of k predicates a record satisfies. A
predicate of cost ``eps_i`` confines the posterior probability ``p_i`` to ``[l_i, u_i]``, with
``l_i = exp(-eps_i) / sum(exp(eps))`` and ``u_i = exp(eps_i) / sum(exp(-eps))``. The min-entropy is
the minimum of ``-sum(p ln p)`` over these bounds and ``sum(p) = 1``: ln k where every cost is zero,
near zero where the adversary may be sure.

Guarantee: ``lower`` and ``upper`` enclose the exact value, floating point included, also where the
search stops at its node limit. Proof: ``docs/proofs/minentropy.md``.

Source: MIDE, Lemma 7, Definition 6 and Theorem 11. The lower bound printed in its section 5, with
exp(-eps) in the denominator, is a misprint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MinEntropy", "min_entropy", "min_entropy_levels"]

_Floats: TypeAlias = NDArray[np.float64]
_Ints: TypeAlias = NDArray[np.int64]

NODE_LIMIT = 200_000
_FIRST_WIDTH = 64
_WIDENING = 8
_CHILDREN = 4  # per state and level, on average
_WINDOW = 62  # levels that may deviate: one bit each in an int64
_ALL_CERTAIN = 1e4  # beyond it exp(-eps) underflows and a posterior may be 1 anyway
_ROUNDING = 2.0**-49
_TRIFLING = 1024  # times its rounding error a price means something


@dataclass(frozen=True, slots=True)
class MinEntropy:
    """Min-entropy of k predicates, in nats.

    Args:
        value: entropy of the most certain posterior found.
        lower: proven lower bound, rounded down.
        upper: proven upper bound, rounded up; ``lower <= exact <= upper``.
        predicates: k.
        nodes: states the search generated after the first bracket; 0 where that closed it.
    """

    value: float
    lower: float
    upper: float
    predicates: int
    nodes: int = 0

    @property
    def normalised(self) -> float:
        """The value as a share of ln k, the most there can be; 1.0 for a single predicate.

        With one predicate there is nothing to guess and nothing that a cost could give away, so it
        reads as all of its uncertainty kept.
        """
        return self._share(self.value)

    @property
    def normalised_bracket(self) -> tuple[float, float]:
        """``lower`` and ``upper`` as shares of ln k, within [0, 1]."""
        # One ulp outward for the division.
        if self.predicates == 1:
            return 1.0, 1.0
        low, high = self._share(self.lower), self._share(self.upper)
        return max(0.0, math.nextafter(low, -1.0)), min(1.0, math.nextafter(high, 2.0))

    def _share(self, nats: float) -> float:
        return 1.0 if self.predicates == 1 else min(1.0, nats / math.log(self.predicates))


def min_entropy(epsilons: Iterable[SupportsFloat], *, node_limit: int = NODE_LIMIT) -> MinEntropy:
    """Return the min-entropy of a list of costs.

    Args:
        epsilons: cost of each predicate, shape (k,), k >= 1: non-negative ints, floats or
            Fractions, in any order.
        node_limit: see ``min_entropy_levels``.

    Returns:
        The value with its bracket, in nats. Time O(k log k) to sort, then as
        ``min_entropy_levels``.

    Raises:
        ValueError: no costs, more than one dimension, or a cost that is negative, NaN, infinite or
            no number.

    Source: MIDE, Definition 6.
    """
    levels, counts = np.unique(_costs(epsilons), return_counts=True)
    return _solved(levels, counts.astype(np.int64), node_limit)


def min_entropy_levels(
    levels: Iterable[SupportsFloat], counts: Iterable[int], *, node_limit: int = NODE_LIMIT
) -> MinEntropy:
    """Return the min-entropy of costs given as levels and how many predicates stand at each.

    Args:
        levels: costs as in ``min_entropy``, shape (m,); a level may be given twice.
        counts: predicates per level, whole numbers >= 0, shape (m,), not all zero.
        node_limit: states the search may generate; reaching it leaves the bracket open, never
            wrong. The same input always generates the same states.

    Returns:
        The value with its bracket, in nats. The first bracket takes O(m log m).

    Raises:
        ValueError: as ``min_entropy``; counts that are negative, not whole, all zero, or of
            another shape than the levels; a negative ``node_limit``.

    Source: MIDE, Definition 6.
    """
    costs = _costs(levels)
    sizes = np.asarray(counts if isinstance(counts, (np.ndarray, Sequence)) else list(counts))
    if sizes.dtype.kind not in "iu" or sizes.shape != costs.shape:
        raise ValueError("counts are whole numbers, one per level")
    if (sizes < 0).any() or not 0 < sum(sizes.tolist()) < 2**53:
        raise ValueError("counts are not negative, and there is at least one predicate")
    distinct, where = np.unique(costs, return_inverse=True)
    merged = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(merged, where, sizes.astype(np.int64))
    return _solved(distinct[merged > 0], merged[merged > 0], node_limit)


def _costs(values: Iterable[SupportsFloat]) -> _Floats:
    """Return costs as floats, those without effect beyond ``_ALL_CERTAIN`` lowered to it."""
    given = np.asarray(values if isinstance(values, (np.ndarray, Sequence)) else list(values))
    if given.ndim != 1 or not given.size:
        raise ValueError("costs are a list of at least one number")
    if given.dtype.kind == "O":
        given = np.array([_cost(value) for value in given.tolist()])
    elif given.dtype.kind not in "iuf":
        raise ValueError("costs are numbers")
    if not (np.isfinite(given) & (given >= 0)).all():
        raise ValueError("costs are finite and not negative")
    return np.asarray(np.minimum(given, _ALL_CERTAIN), dtype=np.float64)


def _cost(value: object) -> float:
    if isinstance(value, (str, bytes)):
        raise ValueError("costs are numbers")  # noqa: TRY004  # one kind of error for bad input
    try:
        return float(value)  # type: ignore[arg-type]  # whatever float() refuses is refused here
    except OverflowError:
        return _ALL_CERTAIN if value > 0 else -1.0  # type: ignore[operator]  # a huge int or ratio
    except TypeError:
        raise ValueError("costs are numbers") from None


def _solved(levels: _Floats, counts: _Ints, node_limit: int) -> MinEntropy:
    if node_limit < 0:
        raise ValueError("a node limit is not negative")
    predicates = int(counts.sum())
    box = _box(levels, counts)
    most = math.log(predicates)
    if box.slack <= box.mass_error:
        lowest = highest = box.base
        nodes = 0
    else:
        search = _Search(box)
        search.run(node_limit)
        lowest, highest = search.root + search.proven, search.root + search.best
        nodes = search.nodes
    return MinEntropy(
        value=min(max(highest, 0.0), most),
        lower=max(lowest - box.margin, 0.0),
        upper=min(highest + box.margin, math.nextafter(most, math.inf)),
        predicates=predicates,
        nodes=nodes,
    )


@dataclass(frozen=True, slots=True)
class _Box:
    """The bounds on the posterior, per level in ascending order of cost.

    Args:
        counts: predicates, as floats.
        low: lower bound of a predicate's probability.
        room: upper less lower bound, at most ``slack``: a single predicate cannot take more.
        low_term: entropy term -p ln p at the lower bound.
        gain: entropy term at the upper bound less that at the lower.
        slack: what all lower bounds leave of 1.
        base: entropy terms of all lower bounds together.
        mass_error: bound on what rounding moves of the total probability.
        margin: bound on what that and the evaluation change of the min-entropy.
    """

    counts: _Floats
    low: _Floats
    room: _Floats
    low_term: _Floats
    gain: _Floats
    slack: float
    base: float
    mass_error: float
    margin: float


def _box(levels: _Floats, counts: _Ints) -> _Box:
    sizes = counts.astype(np.float64)
    log_k = math.log(float(sizes.sum()))
    mass_error = _ROUNDING * (log_k + 8)
    # Both sums are taken relative to their largest term, so that nothing overflows.
    log_up = float(levels[-1]) + math.log(_sum(sizes * np.exp(levels - levels[-1])))
    log_down = -float(levels[0]) + math.log(_sum(sizes * np.exp(levels[0] - levels)))
    low = np.exp(-levels - log_up)
    low_term = low * (levels + log_up)
    slack = math.fsum([1.0, *(-sizes * low).tolist()])
    high = np.exp(np.minimum(levels - log_down, 1.0))
    room = np.minimum(high - low, slack)
    return _Box(
        counts=sizes,
        low=low,
        room=room,
        low_term=low_term,
        gain=_term(low + room) - low_term,
        slack=slack,
        base=_sum(sizes * low_term),
        mass_error=mass_error,
        margin=2 * mass_error * (2 * log_k + 4 - math.log(mass_error)),
    )


class _Search:
    """Branch and bound on counts per level, after the first bracket from the chords.

    Every number here is a surplus over ``root``, the value of the chords' linear program: ``best``
    of the best vertex, ``proven`` of what no vertex goes below. A level is a position in the box.
    """

    def __init__(self, box: _Box) -> None:
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
        self.start = box.slack - _sum((box.counts * box.room)[order[:at]])
        self.nearest = np.argsort(np.abs(slope - self.price), kind="stable")
        self.nearest = self.nearest[self.nearest != self.split]
        self.widest = np.maximum.accumulate(box.room)
        self.credit, self.credit_price = self._credit()
        self.best = math.inf
        self.proven = 0.0
        self.nodes = 0
        self._leaves(_States.single(self.start, 0), np.zeros(0, dtype=np.int64))
        self.proven = min(self.best, self._residue_bound())

    def run(self, node_limit: int) -> None:
        """Search ever wider beams until the bracket closes or the nodes left allow no wider one."""
        width, affordable = _FIRST_WIDTH, True
        while self.best - self.proven > self.box.margin and affordable:
            affordable = self._beam(width, node_limit)
            width *= _WIDENING

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
        for index in range(size - 1, -1, -1):
            # An equal share of the nodes left for every level left: it never shrinks on the way.
            share = (node_limit - self.nodes) // (_CHILDREN * (index + 1))
            if share < 1:
                return False
            affordable &= share >= width
            room = min(width, share)
            states, cut = self._children(states, window, index, limit, room)
            missed = min(missed, cut)
            self.nodes += len(states.rest)
            bound = states.paid + self._repair(window[:index], states.rest)
            kept = np.flatnonzero(bound <= limit)
            if len(kept) > room:
                by_bound = np.argpartition(bound[kept], room)
                missed = min(missed, float(bound[kept[by_bound[room:]]].min()))
                kept = kept[by_bound[:room]]
            states = states.at(kept)
        self._leaves(states, window)
        self.proven = max(self.proven, min(missed - credit, self.best))
        return affordable

    def _children(
        self, states: _States, window: _Ints, index: int, limit: float, width: int
    ) -> tuple[_States, float]:
        """Return the states after one more level, and a bound on the penalty of those left out."""
        level = int(window[index])
        penalty, count = float(self.penalty[level]), float(self.box.counts[level])
        spare = np.maximum(limit - states.paid, 0.0)
        wanted = np.minimum(np.floor(spare / max(penalty, 1e-300)), count)
        ceiling = math.inf
        if float(wanted.sum()) + len(spare) > _CHILDREN * width:
            most = _CHILDREN * width // len(spare) - 1
            cut = states.paid[wanted > most] + (most + 1) * penalty
            ceiling = float(cut.min(initial=math.inf))
            deviations = np.minimum(wanted, most)
        else:
            deviations = wanted
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
        return children, ceiling

    def _repair(self, open_levels: _Ints, rest: _Floats) -> _Floats:
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

    def _leaves(self, states: _States, window: _Ints) -> None:
        """Complete every state to a vertex and keep the best."""
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
                self.best = min(self.best, float(surplus.min()))

    def _fraction(self, level: _Ints, amount: _Floats) -> _Floats:
        """Return the surplus of giving one predicate at its lower bound some more."""
        box = self.box
        raised = _term(box.low[level] + amount) - box.low_term[level]
        return np.asarray(raised - self.price * amount)

    def _credit(self) -> tuple[float, float]:
        """Return what a fraction among the full levels saves at most, and what it costs at least.

        Such a vertex has every cheaper predicate at its upper bound (Theorem 11), and its own
        probability is at most the lower bound of the next cheaper one.
        """
        box = self.box
        raised = np.append(box.low[:1], box.low[:-1]) - box.low
        saved = (self.slope.max() - self.slope) * raised
        credit = float(saved[self.is_full].max(initial=0.0))
        free = ~self.is_full & (box.room < box.slack)
        return credit, _sum((box.counts * self.penalty)[free]) - credit

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
        raised = np.append(box.low[:1], box.low[:-1]) - box.low
        below = raised[partial]
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
        blur = _ROUNDING * float(self.widest[-1])
        share = np.minimum((step + blur) / apex, (period - step + blur) / (period - apex))
        noise = _ROUNDING * float((box.low_term + _term(high) + abs(self.price) * box.room).max())
        # Steps too small for their price to be told from rounding: take off all they can cover.
        covers = share * np.append(box.counts[whole], np.ones(len(share) - len(whole)))
        trifling = (steps != 0) & (price <= _TRIFLING * noise) & (covers < 1e-6)
        covered = _sum(covers[: len(whole)][trifling[: len(whole)]])
        covered += float(covers[len(whole) :][trifling[len(whole) :]].max(initial=0.0))
        telling = (steps != 0) & ~trifling
        scale = float((np.maximum(price - noise, 0.0) / share)[telling].min(initial=math.inf))
        if math.isinf(scale):
            return 0.0
        saved = 0.0
        if full.any() and self.credit_price <= self.best:
            # A fraction among the full levels is a step up from such a level's lower bound.
            covered += float(raised[full].max()) / apex
            saved = float(((self.price - self.slope) * raised)[full].max())
        return max(0.0, scale * (1 - covered) - saved)


@dataclass(frozen=True, slots=True)
class _States:
    """Choices made for some levels, one state per element.

    Args:
        rest: slack left for the split level and the fraction.
        paid: penalty so far.
        full: bit i is set where all predicates of the window's level i are at the upper bound.
    """

    rest: _Floats
    paid: _Floats
    full: _Ints

    @classmethod
    def single(cls, rest: float, full: int) -> _States:
        """Return the state in which nothing deviates."""
        return cls(np.array([rest]), np.zeros(1), np.array([full], dtype=np.int64))

    def at(self, chosen: _Ints) -> _States:
        """Return some of the states."""
        return _States(self.rest[chosen], self.paid[chosen], self.full[chosen])


def _sum(values: _Floats) -> float:
    return math.fsum(values.tolist())


def _term(probability: _Floats) -> _Floats:
    """Return -p ln p, 0 at 0."""
    return np.asarray(-probability * np.log(np.where(probability > 0, probability, 1.0)))
