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
_LEAST: Final = 1e-4  # of a weight: a share of nothing would never grow again
_LEAST_FACTOR: Final = 0.2  # of a share, in one step

_ROOT_STEPS: Final = 200
_NODE_STEPS: Final = 10
_PART: Final = 4  # one of so many of the steps that are left may be spent on shares at one node
_PATIENCE: Final = 8  # steps without a better bound before they get shorter
_ASCEND_EVERY: Final = 10
_DEEPEST: Final = 200
_QUICK: Final = 32  # times as quick as other steps are those of a product of matrices


@dataclass(slots=True)
class _Part:
    """What is open.

    Args:
        regions: which regions.
        holds: classes by regions, those of one attribute in a row; true also where a region does
            not constrain the attribute.
        starts: the first class of each attribute.
        shares: attributes by regions, whole numbers; a region's add up to ``_SHARE``.
        members: regions that hold all of these rows.
        weight: of the members.
    """

    regions: _Indexes
    holds: _Bools
    starts: _Indexes
    shares: _Floats
    members: list[int]
    weight: int

    @property
    def asks(self) -> _Bools:
        """Which attributes each region constrains."""
        return ~np.logical_and.reduceat(self.holds, self.starts, axis=0)

    @property
    def attributes(self) -> _Indexes:
        """The attribute of each class."""
        counts = np.diff(self.starts, append=len(self.holds))
        return np.repeat(np.arange(len(self.starts)), counts)


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
        work_limit: int | None = None,
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
        blocks = self._classes.holds
        if not blocks:
            self._found(regions.tolist())
            return self.best
        starts = np.cumsum([0, *map(len, blocks[:-1])])
        shares = np.ones((len(blocks), len(regions)))
        holds = np.concatenate(blocks)[:, regions]
        return max(self.best, self._node(_Part(regions, holds, starts, shares, [], 0), 0))

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
        asks = part.asks
        reached: _Bools = np.logical_or.reduceat(part.holds, part.starts, axis=0)
        possible = reached.all(axis=0)
        inside = possible & ~asks.any(axis=0)
        members = [*part.members, *part.regions[inside].tolist()]
        left = possible & ~inside
        asked = np.any(asks[:, left], axis=1)
        attributes = part.attributes
        holds = part.holds[:, left]
        # Classes that no region left tells apart are one.
        numbers = attributes.astype(np.uint32)[:, np.newaxis].view(np.uint8)
        kinds = np.hstack([numbers, np.packbits(holds, axis=1)]).view(f"V{4 - (-left.sum() // 8)}")
        last = dict(zip(kinds[:, 0].tolist(), range(len(holds)), strict=True))
        rows = np.array(sorted(at for at in last.values() if asked[attributes[at]]), dtype=np.intp)
        _, starts = np.unique(attributes[rows], return_index=True)
        shares = part.shares[asked][:, left] * asks[asked][:, left]
        fractions = shares / np.maximum(shares.sum(axis=0), 1e-300)
        return _Part(
            part.regions[left],
            holds[rows],
            starts,
            _whole(fractions, asks[asked][:, left]),
            members,
            self._weigh(members),
        )

    def _shared_out(self, part: _Part, steps: int, known: int) -> int:
        """Share the weights out well, and return the bound; on the way, rows are looked for."""
        asks, attributes = part.asks, part.attributes
        # In this order sums over attributes have one result on every machine.
        part.shares = np.ascontiguousarray(part.shares)
        holds = np.ascontiguousarray(part.holds & asks[attributes], dtype=np.float64)
        rough = self._rough[part.regions]
        enough = self.work + (self._work_limit - self.work) / _PART
        shares, bound = part.shares, part.weight + self._weigh(part.regions.tolist())
        length, failed = 1.0, 0
        for step in range(steps):
            self.work += holds.size
            totals = np.einsum("cr,cr->c", holds, (shares * rough)[attributes])
            best = _best(totals, part.starts)
            total = totals[best].sum()
            upper = part.weight + int(total // _SHARE) * self._unit
            failed += 1
            if upper < bound or not step:
                bound, part.shares, failed = min(bound, upper), shares, 0
            if step % _ASCEND_EVERY == 0:
                self._ascend(part, best)
            if self._settled(min(bound, known)) or self.work >= enough:
                break
            if failed == _PATIENCE:
                length, failed, shares = length * 0.7, 0, part.shares
                continue
            excess = total / _SHARE - (self.best - part.weight) / self._unit
            shares = _stepped(asks, holds[best], shares / _SHARE, rough, length * excess)
        return bound

    def _ascend(self, part: _Part, row: Sequence[int]) -> None:
        """Improve a row one attribute at a time until no class of one attribute is better."""
        self.work += part.holds.size
        rough, row = self._rough[part.regions], list(row)
        ends = [*part.starts[1:].tolist(), len(part.holds)]
        agreeing = part.holds[row].sum(axis=0)  # attributes whose class is in the region
        weight, improved = -1.0, True
        while improved:
            improved = False
            for at, (start, end) in enumerate(zip(part.starts.tolist(), ends, strict=True)):
                others = agreeing - part.holds[row[at]]
                totals = part.holds[start:end] @ (rough * (others == len(row) - 1))
                if totals.max() > weight:
                    weight, row[at] = float(totals.max()), start + int(totals.argmax())
                    agreeing, improved = others + part.holds[row[at]], True
        self._found([*part.members, *part.regions[agreeing == len(row)].tolist()])

    def _by_class(self, part: _Part) -> Iterator[tuple[int, _Part]]:
        """Yield the classes of the attribute that has the fewest, the highest bounds first.

        The bounds are of this class and those to come.
        """
        attributes = part.attributes
        shared = part.holds * (part.shares * self._rough[part.regions])[attributes]
        shared *= part.asks[attributes]
        at = int(np.bincount(attributes).argmin())
        rows = np.flatnonzero(attributes == at)
        self.work += part.holds.size * len(rows) // _QUICK
        best = np.maximum.reduceat(shared @ part.holds[rows].T, part.starts, axis=0)
        best[at] = shared[rows].sum(axis=1)
        totals = best.sum(axis=0) // _SHARE
        for row in np.argsort(-totals, kind="stable").tolist():
            chosen = attributes != at
            chosen[rows[row]] = True
            yield (
                part.weight + int(totals[row]) * self._unit,
                _cut(part, chosen, part.holds[rows[row]]),
            )

    def _by_region(
        self, part: _Part, neighbours: _Bools, heights: Sequence[tuple[int, float]]
    ) -> Iterator[tuple[int, _Part]]:
        """Yield the rows in each region that are in none of those before, the last coloured first.

        The bounds are of this region and those to come.
        """
        left = np.ones(len(part.regions), dtype=np.bool_)
        for at, height in reversed(heights):
            yield (
                part.weight + int(height) * self._unit,
                _cut(part, part.holds[:, at], left & neighbours[at]),
            )
            left[at] = False


def _cut(part: _Part, rows: _Bools, regions: _Bools) -> _Part:
    """Return a part with some of its classes, at least one of each attribute, and some regions."""
    starts = np.concatenate([[0], np.cumsum(np.add.reduceat(rows, part.starts, dtype=np.intp))])
    return replace(
        part,
        regions=part.regions[regions],
        holds=part.holds[np.ix_(rows, regions)],
        starts=starts[:-1],
        shares=part.shares[:, regions],
    )


def _best(totals: _Floats, starts: _Indexes) -> list[int]:
    """Return the heaviest class of each attribute."""
    ends = [*starts[1:].tolist(), len(totals)]
    return [
        start + int(totals[start:end].argmax())
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]


def _stepped(
    asks: _Bools, chosen: _Floats, fractions: _Floats, rough: _Floats, excess: float
) -> _Floats:
    """Move shares away from the attributes whose best class holds a region.

    Args:
        asks: attributes by regions.
        chosen: which regions hold the best class of each attribute.
        fractions: the shares as they are.
        rough: weights of the regions.
        excess: how far the bound should fall, in rough weight.

    Returns:
        Other shares: a Polyak step, multiplicative, so that shares stay positive.
    """
    slope = (chosen - (fractions * chosen).sum(axis=0)) * asks
    steepness = math.fsum(((fractions * slope * slope).sum(axis=0) * rough).tolist())
    moved = fractions
    if steepness > 0:
        moved = fractions * np.maximum(_LEAST_FACTOR, 1 - excess / steepness * slope)
    moved = np.maximum(moved, _LEAST) * asks
    return _whole(moved / moved.sum(axis=0), asks)


def _whole(fractions: _Floats, asks: _Bools) -> _Floats:
    """Return shares that add up to ``_SHARE``, from fractions that nearly add up to one."""
    shares = np.floor(fractions * (_SHARE - len(asks)))
    everyone = np.arange(asks.shape[1])
    if len(asks):
        shares[asks.argmax(axis=0), everyone] += _SHARE - shares.sum(axis=0)
    return shares
