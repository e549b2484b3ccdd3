"""The heaviest row, by branch and bound.

A node is a part of the problem: classes of values that are still open, and regions that hold some
of them but not all. Two bounds are at hand. A colouring knows that regions which never meet share
no row (:mod:`accountant.loss.maxoverlap.colouring`). And the weight of every region can be shared
out over the attributes it constrains: a row that is in the region has, at each of them, a class
that is, so what the row weighs is at most the sum, over attributes, of the best class's shares.
EVERY way to share out gives a safe bound, the dual of the linear relaxation; a subgradient method
looks for a good one. Where shares bound better, a node branches on the classes of one attribute,
and else on regions: those whose colours fit into what is missing need no branch of their own.

Shares are whole multiples of ``weight / _SHARE`` and all sums are whole numbers below ``2**53``, so
floating point adds them exactly, in any order: the bounds are rigorous. Nothing is random and no
clock is read, so the same input takes the same steps on every machine, up to its limit.

Source: Parallel Composition, section 6.2 (branch and bound on cliques); colours as the order of
branches: Tomita and Seki 2003; their heights for weights: Tavares 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from accountant.loss.maxoverlap.colouring import coloured

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.loss.maxoverlap.classes import Classes

__all__ = ["RowSearch"]

_Bools: TypeAlias = NDArray[np.bool_]
_Floats: TypeAlias = NDArray[np.float64]
_Indexes: TypeAlias = NDArray[np.intp]

_SHARE: Final = 1 << 20
_LARGEST_TOTAL: Final = 1 << 32  # of rough weights, so that times a share they stay below 2**53
_LEAST: Final = 1e-4  # of a weight: a share of nothing never grows again
_LEAST_FACTOR: Final = 0.2  # of a share, in one step
_SHORTER: Final = 0.98  # times as long as the last one is each step

_ROOT_STEPS: Final = 200
_NODE_STEPS: Final = 10
_PART: Final = 4  # one of so many of the steps that are left may be spent on shares at one node
_ASCEND_EVERY: Final = 10
_DEEPEST: Final = 200
_QUICK: Final = 32  # times as quick as other steps are those of a product of matrices


@dataclass(slots=True)
class _Part:
    """What is open.

    Args:
        regions: which regions.
        attributes: of each class, ascending.
        holds: classes by regions; true also where a region does not constrain the attribute.
        shares: attributes by regions, whole numbers; a region's add up to ``_SHARE``.
        members: regions that hold all of these rows.
        weight: of the members.
    """

    regions: _Indexes
    attributes: _Indexes
    holds: _Bools
    shares: _Floats
    members: list[int]
    weight: int = 0

    @property
    def starts(self) -> _Indexes:
        """The first class of each attribute."""
        return np.flatnonzero(np.diff(self.attributes, prepend=-1))

    def cut(self, classes: _Bools, regions: _Bools) -> _Part:
        """Return a part with some classes, at least one of each attribute, and some regions."""
        return replace(
            self,
            regions=self.regions[regions],
            attributes=self.attributes[classes],
            holds=self.holds[np.ix_(classes, regions)],
            shares=self.shares[:, regions],
        )


class RowSearch:
    """One search for the heaviest row.

    Args:
        classes: of all regions.
        weights: of the regions, >= 0.
        work_limit: steps after which no more are begun; ``None`` for no limit. What is begun is
            finished, so it may be exceeded by a little.
        node_limit: likewise of nodes.
    """

    def __init__(
        self,
        classes: Classes,
        weights: Sequence[int],
        work_limit: int | None,
        node_limit: int | None = None,
    ) -> None:
        self.best = 0
        """Weight of the heaviest row found."""
        self.members: list[int] = []
        """Regions that hold it."""
        self.nodes = self.work = 0
        self._classes = classes
        self._weights = weights
        self._work_limit = math.inf if work_limit is None else work_limit
        self._node_limit = math.inf if node_limit is None else node_limit
        # Rounded up to whole multiples of a unit; mostly the unit is 1 and nothing is rounded.
        self._unit = max(1, -(-sum(weights) // (_LARGEST_TOTAL - len(weights))))
        self._rough = np.array([-(-each // self._unit) for each in weights], dtype=np.float64)

    def run(self) -> int:
        """Search; return a bound on all rows, which is met unless a limit ended the search."""
        regions = np.flatnonzero(self._rough > 0)
        # An attribute that nobody constrains: there is always one.
        blocks = [np.ones((1, len(self._weights)), dtype=np.bool_), *self._classes.holds]
        attributes = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        shares = np.ones((len(blocks), len(regions)))
        holds = np.concatenate(blocks)[:, regions]
        return max(self.best, self._node(_Part(regions, attributes, holds, shares, []), 0))

    def _node(self, part: _Part, depth: int) -> int:
        """Look for rows that are heavier than the best one; return a bound on those of a part."""
        self.nodes += 1
        part = self._reduced(part)
        self._found(part.members)
        if not len(part.regions):
            return part.weight
        self.work += len(part.regions) ** 2
        neighbours = self._classes.neighbours[np.ix_(part.regions, part.regions)]
        heights = coloured(neighbours, self._rough[part.regions])
        by_colours = part.weight + int(heights[-1][1]) * self._unit
        by_shares = self._shared_out(part, _NODE_STEPS if depth else _ROOT_STEPS, by_colours)
        bound = min(by_colours, by_shares)
        if self._settled(bound) or depth == _DEEPEST:
            return bound
        if by_shares < by_colours:
            branches = self._by_class(part)
        else:
            branches = self._by_region(part, neighbours, heights)
        upper = part.weight
        for most, branch in branches:
            limit = min(bound, most)
            if self._settled(limit):
                return max(upper, limit)
            upper = max(upper, min(limit, self._node(branch, depth + 1)))
        return upper

    def _settled(self, bound: int) -> bool:
        """Whether there is no heavier row, or no more looking for it."""
        halted = self.work >= self._work_limit or self.nodes > self._node_limit
        return bound <= self.best or halted

    def _found(self, members: Sequence[int]) -> None:
        weight = self._weigh(members)
        if weight > self.best:
            self.best, self.members = weight, list(members)

    def _weigh(self, members: Sequence[int]) -> int:
        return sum(self._weights[at] for at in members)

    def _reduced(self, part: _Part) -> _Part:
        """Return a part without what is decided: regions that hold all of its rows or none."""
        self.work += part.holds.size
        asks: _Bools = ~np.logical_and.reduceat(part.holds, part.starts, axis=0)
        reached: _Bools = np.logical_or.reduceat(part.holds, part.starts, axis=0)
        possible: _Bools = np.logical_and.reduce(reached)
        left: _Bools = possible & np.logical_or.reduce(asks)
        members = [*part.members, *part.regions[possible & ~left].tolist()]
        part = part.cut(np.ones(len(part.holds), dtype=np.bool_), left)
        asks = asks[:, left]
        # Classes that no region left tells apart are one.
        numbers = part.attributes.astype(np.uint32)[:, np.newaxis].view(np.uint8)
        kinds = np.hstack([numbers, np.packbits(part.holds, axis=1)])
        last = dict(zip(map(bytes, kinds), range(len(kinds)), strict=True))
        asked = np.any(asks, axis=1)[part.attributes]
        rows = np.array(sorted(at for at in last.values() if asked[at]), dtype=np.intp)
        kept, attributes = np.unique(part.attributes[rows], return_inverse=True)
        shares = part.shares[kept] * asks[kept]
        return _Part(
            part.regions,
            attributes,
            part.holds[rows],
            _whole(shares / np.maximum(shares.sum(axis=0), 1)),
            members,
            self._weigh(members),
        )

    def _shared_out(self, part: _Part, steps: int, known: int) -> int:
        """Share the weights out well, and return the bound; on the way, rows are looked for."""
        # In this order sums over attributes have one result on every machine.
        shares = part.shares = np.ascontiguousarray(part.shares)
        holds = np.ascontiguousarray(part.holds, dtype=np.float64)
        rough = self._rough[part.regions]
        last = np.append(part.starts[1:], len(holds)) - 1
        enough = self.work + (self._work_limit - self.work) / _PART
        bound = part.weight + self._weigh(part.regions.tolist())
        for step in range(steps):
            self.work += holds.size
            totals = np.einsum("cr,cr->c", holds, (shares * rough)[part.attributes])
            best = np.lexsort((totals, part.attributes))[last]  # the heaviest of each attribute
            total = totals[best].sum()
            upper = part.weight + int(total // _SHARE) * self._unit
            if upper < bound:
                bound, part.shares = upper, shares
            if step % _ASCEND_EVERY == 0:
                self._ascend(part, best)
            if self._settled(min(bound, known)) or self.work >= enough:
                break
            excess = total / _SHARE - (self.best - part.weight) / self._unit
            shares = _stepped(shares / _SHARE, holds[best], rough, excess * _SHORTER**step)
        return bound

    def _ascend(self, part: _Part, row: _Indexes) -> None:
        """Improve a row one attribute at a time until no class of one attribute is better."""
        self.work += part.holds.size
        rough, chosen = self._rough[part.regions], part.holds[row]
        blocks = np.split(part.holds, part.starts[1:])
        agreeing = chosen.sum(axis=0)  # attributes whose class is in the region
        weight, improved = -1.0, True
        while improved:
            improved = False
            for at, block in enumerate(blocks):
                others = agreeing - chosen[at]
                totals = block @ (rough * (others == len(blocks) - 1))
                if totals.max() > weight:
                    weight, chosen[at] = float(totals.max()), block[totals.argmax()]
                    agreeing, improved = others + chosen[at], True
        self._found([*part.members, *part.regions[agreeing == len(blocks)].tolist()])

    def _by_class(self, part: _Part) -> Iterator[tuple[int, _Part]]:
        """Yield the classes of the attribute that has the fewest, the highest bounds first.

        The bounds are of this class and those to come.
        """
        at = int(np.bincount(part.attributes).argmin())
        rows = np.flatnonzero(part.attributes == at)
        self.work += part.holds.size * len(rows) // _QUICK
        shared = part.holds * (part.shares * self._rough[part.regions])[part.attributes]
        best = np.maximum.reduceat(shared @ part.holds[rows].T, part.starts, axis=0)
        best[at] = shared[rows].sum(axis=1)
        totals = best.sum(axis=0) // _SHARE
        for row in np.argsort(-totals, kind="stable").tolist():
            classes = part.attributes != at
            classes[rows[row]] = True
            most = part.weight + int(totals[row]) * self._unit
            yield most, part.cut(classes, part.holds[rows[row]])

    def _by_region(
        self, part: _Part, neighbours: _Bools, heights: Sequence[tuple[int, float]]
    ) -> Iterator[tuple[int, _Part]]:
        """Yield the rows in each region that are in none of those before, the last coloured first.

        The bounds are of this region and those to come.
        """
        left = np.ones(len(part.regions), dtype=np.bool_)
        for at, height in reversed(heights):
            most = part.weight + int(height) * self._unit
            yield most, part.cut(part.holds[:, at], left & neighbours[at])
            left[at] = False


def _stepped(fractions: _Floats, chosen: _Floats, rough: _Floats, excess: float) -> _Floats:
    """Move shares away from the attributes whose best class holds a region.

    Args:
        fractions: the shares as they are.
        chosen: which regions hold the best class of each attribute.
        rough: weights of the regions.
        excess: how far the bound should fall, in rough weight.

    Returns:
        Other shares: a Polyak step, multiplicative, so that shares stay positive.
    """
    slope = chosen - (fractions * chosen).sum(axis=0)
    steepness = math.fsum(((fractions * slope * slope).sum(axis=0) * rough).tolist())
    if steepness <= 0:
        return fractions * _SHARE
    moved = fractions * np.maximum(_LEAST_FACTOR, 1 - excess / steepness * slope)
    moved = np.where(fractions > 0, np.maximum(moved, _LEAST), 0)
    return _whole(moved / moved.sum(axis=0))


def _whole(fractions: _Floats) -> _Floats:
    """Return shares that add up to ``_SHARE``, from fractions that nearly add up to one."""
    shares = np.floor(fractions * (_SHARE - len(fractions)))
    if len(shares):
        largest = fractions.argmax(axis=0), np.arange(shares.shape[1])
        shares[largest] += _SHARE - shares.sum(axis=0)
    return shares
