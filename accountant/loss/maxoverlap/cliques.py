"""The heaviest row, by branch and bound over the regions that hold it.

The regions of a row overlap pairwise, so they are a clique of the overlap graph. A node of this
search is a clique that shares a row, and the regions that may join it. Classes of values in a line,
each region's next to one another (ranges), need no second look: intervals that meet pairwise meet
(Helly), and the heaviest clique IS the heaviest row. Of other attributes every clique carries the
classes that all of its regions hold, and regions that leave none of them cannot join.

A greedy colouring bounds what a node can still add: no row holds two regions of one colour. Regions
whose colours fit into what is missing need no branch of their own. Where the work ends, what is not
yet branched on at the root keeps its colours' bound, which is safe.

The number of attributes has little part in this once the graph is made; it suits regions that ask
for many of them, where a row is hard to choose and few regions overlap.

Source: Parallel Composition, section 6.2 (branch and bound on cliques, each tested for a common
row); colours as the order of branches: Tomita and Seki 2003, with bit sets: San Segundo 2011; their
heights for weights: Tavares 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.maxoverlap.search import Found
from accountant.loss.maxoverlap.work import Work
from accountant.regions.patterns import members_of, pattern_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from accountant.loss.maxoverlap.classes import Attribute

__all__ = ["RegionSearch"]

_PER_LOOK = 48  # steps of one operation on bit sets, however short they are
_PER_WORD = 64  # bits of a set that are one step


@dataclass(slots=True)
class _Node:
    """A clique that shares a row, and what may join it.

    Args:
        candidates: regions that may, as a bit set in the search's order.
        branches: regions to branch on, the last one first, each with a bound on what it, and
            candidates that come before it, can add.
        weight: of the clique.
        common: classes that all of the clique's regions hold.
    """

    candidates: int
    branches: list[tuple[int, int]]
    weight: int
    common: int


class RegionSearch:
    """One search for the heaviest set of regions that share a row.

    Args:
        attributes: their classes of values.
        graph: per region, which others share a row with it.
        weights: per region, >= 0.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute],
        graph: Sequence[int],
        weights: Sequence[int],
    ) -> None:
        self.nodes = 0
        self._attributes = attributes
        self._work = Work()
        self._order = _densest_first(graph, weights)
        self._weights = [weights[at] for at in self._order]
        self._joins = [
            pattern_of(members_of(graph[at], len(graph))[self._order]) for at in self._order
        ]
        everyone = (1 << len(self._order)) - 1
        self._apart = [everyone & ~joins & ~(1 << at) for at, joins in enumerate(self._joins)]
        self._classes, self._guards, self._held = _unlined(attributes, self._order)
        self._look = _PER_LOOK + len(self._order) // _PER_WORD
        self._join = _PER_LOOK + self._guards.bit_length() // _PER_WORD

    @property
    def lined(self) -> bool:
        """Whether the classes of every attribute make a line: then pairs say it all."""
        return not self._guards

    def run(
        self,
        work: Work,
        node_limit: int | None = None,
        known: int = 0,
        ceiling: int | None = None,
    ) -> Found:
        """Search for a row that is heavier than what is known.

        Args:
            work: counts the steps; once its limit is reached, the search ends with what it has.
            node_limit: largest number of nodes; beyond it the search likewise ends.
            known: weight of a row that was found before.
            ceiling: a bound known beforehand; a row that reaches it ends the search.

        Returns:
            The heaviest row found, of value 0 if none is heavier than what is known; and a bound
            on all rows, which is met unless the search was stopped.
        """
        self.nodes, self._work = 0, work
        most = sum(self._weights) if ceiling is None else ceiling
        best, members = known, list[int]()
        everyone = (1 << len(self._order)) - 1
        nodes, clique = [self._node(everyone, 0, self._classes, known)], list[int]()
        begun = 0  # bound of the root's branch that is being searched
        while nodes and best < most:
            if work.over or (node_limit is not None and self.nodes > node_limit):
                break
            node = nodes[-1]
            if not node.branches or node.weight + node.branches[-1][1] <= best:
                nodes.pop()
                del clique[-1:]
                continue
            at, bound = node.branches.pop()
            if len(nodes) == 1:
                begun = bound
            node.candidates ^= 1 << at
            clique.append(at)
            weight, common = node.weight + self._weights[at], node.common & self._held[at]
            if weight > best:
                best, members = weight, clique.copy()
            joining = self._joining(node.candidates & self._joins[at], common)
            nodes.append(self._node(joining, weight, common, best))
        # The root's branches are searched from the largest bound down: no other one is above it.
        upper = best
        if nodes:
            root = nodes[0].branches
            upper = max(best, begun if len(nodes) > 1 else root[-1][1] if root else 0)
        found = [self._order[at] for at in members]
        value = best if members else 0
        return Found(value, min(upper, max(most, value)), self._row(found))

    def _node(self, candidates: int, weight: int, common: int, best: int) -> _Node:
        """Colour the candidates; branch on those whose colours do not fit into what is missing."""
        self.nodes += 1
        room, height, looks = best - weight, 0, 0
        left = self._weights.copy()
        branches: list[tuple[int, int]] = []
        uncoloured = candidates
        while uncoloured:
            colour: list[int] = []
            free = uncoloured
            while free:
                at = (free & -free).bit_length() - 1
                free &= self._apart[at]
                colour.append(at)
            least = min(left[at] for at in colour)
            height += least
            looks += len(colour)
            for at in colour:
                left[at] -= least
                if not left[at]:
                    uncoloured ^= 1 << at
                    if height > room:
                        branches.append((at, height))
        self._work.spend((1 + looks) * self._look)
        return _Node(candidates, branches, weight, common)

    def _joining(self, candidates: int, common: int) -> int:
        """Return the candidates that leave a class of every attribute."""
        if not self._guards or not candidates:
            return candidates
        self._work.spend(candidates.bit_count() * self._join)
        waiting = candidates
        while waiting:
            low = waiting & -waiting
            waiting ^= low
            # All ones below its guard carry into it exactly where an attribute has a class left.
            carried = (common & self._held[low.bit_length() - 1]) + self._classes
            if carried & self._guards != self._guards:
                candidates ^= low
        return candidates

    def _row(self, members: Sequence[int]) -> dict[int, int]:
        """Return attributes by a class that all of these regions hold."""
        choice: dict[int, int] = {}
        for at, attribute in enumerate(self._attributes):
            asking = [each for each in members if attribute.constrained >> each & 1]
            if asking:
                choice[at] = int(attribute.holds[:, asking].sum(axis=1).argmax())
        return choice


def _densest_first(graph: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Return the regions that cost something, from the densest part of the graph outwards."""
    count = len(graph)
    waiting = np.array([weight > 0 for weight in weights], dtype=np.bool_)
    joins = [members_of(each, count) for each in graph]
    degree = np.array([int((each & waiting).sum()) for each in joins], dtype=np.int64)
    degree[~waiting] = count + 1
    order: list[int] = []
    for _ in range(int(waiting.sum())):
        at = int(degree.argmin())
        order.append(at)
        degree -= joins[at]
        degree[at] = 2 * count + 1  # never the least again
    return order[::-1]


def _unlined(attributes: Sequence[Attribute], order: Sequence[int]) -> tuple[int, int, list[int]]:
    """Return classes, guards, and classes by region, of attributes whose classes make no line.

    Every attribute's classes are neighbouring bits, with a guard above them that no class has.
    """
    blocks: list[NDArray[np.bool_]] = []
    guards: list[NDArray[np.bool_]] = []
    for attribute in attributes:
        holds = attribute.holds[:, order]
        starts = holds[:1].astype(np.int64).sum(axis=0) + (holds[1:] & ~holds[:-1]).sum(axis=0)
        if starts.max(initial=0) > 1:
            free = ~members_of(attribute.constrained, attribute.holds.shape[1])[order]
            blocks += [holds | free, np.zeros((1, len(order)), dtype=np.bool_)]
            guards += [np.zeros(len(holds), dtype=np.bool_), np.ones(1, dtype=np.bool_)]
    if not blocks:
        return 0, 0, [0] * len(order)
    guard = np.concatenate(guards)
    packed = np.packbits(np.concatenate(blocks), axis=0, bitorder="little")
    held = [int.from_bytes(each.tobytes(), "little") for each in packed.T]
    return pattern_of(~guard), pattern_of(guard), held
