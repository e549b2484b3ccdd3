"""Sums of panes released besides the panes: fewer noises in long windows, for every level once.

    level 2  |-------0-------|-------1-------|
    level 1  |---0---|---1---|---2---|---3---|
    level 0  |-0-|-1-|-2-|-3-|-4-|-5-|-6-|-7-|

A window of panes 1 to 6 is node 1 of level 0, nodes 1 and 2 of level 1 and node 6 of level 0: of
every level only what the coarser ones leave over at its two ends. An event lies in one node of
every level. Proof: ``docs/research/proofs/panes.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.arguments import WHOLE, expect
from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PLAIN", "Tree", "trees"]


@dataclass(frozen=True, slots=True)
class Tree:
    """Panes at level 0, and at level l the sums of ``branching^l`` panes that start together.

    Args:
        branching: nodes that make up one of the next level, at least 2.
        levels: at least 1; of one level, panes alone.

    Raises:
        ValueError: fewer of either.
    """

    branching: int
    levels: int

    def __post_init__(self) -> None:
        """Check the parts."""
        expect(WHOLE, branching=self.branching, levels=self.levels)
        if self.branching < 2 or self.levels < 1:
            raise ArgumentError(
                "a tree has at least two branches and one level",
                hint="write Tree(branching=2, levels=1), or more of each",
            )

    def cover(self, first: int, panes: int) -> tuple[tuple[int, int], ...]:
        """Return the fewest nodes that make up ``panes`` panes from pane ``first`` on.

        Args:
            first: may be negative.
            panes: at least 1.

        Returns:
            Level and index of every node, in the order of time.

        Raises:
            ValueError: no pane.
        """
        expect(WHOLE, first=first, panes=panes)
        if panes < 1:
            raise ArgumentError("a window has at least one pane", hint="write panes=1 or more")
        runs = self._runs(self.levels - 1, first, first + panes)
        return tuple((level, index) for level, low, high in runs for index in range(low, high))

    def most_nodes(self, panes: int, step: int) -> int:
        """Return of how many nodes a window of this length is made at most.

        Args:
            panes: of every window, at least 1.
            step: panes from the start of a window to that of the next; windows start at multiples
                of it.

        Raises:
            ValueError: no pane, or no step.
        """
        expect(WHOLE, panes=panes, step=step)
        if panes < 1 or step < 1:
            raise ArgumentError(
                "a window has at least one pane, and the next starts one later",
                hint="write panes=1 and step=1, or more of each",
            )
        top = self.levels - 1
        widest = self._width(top)
        return max(
            sum(high - low for _, low, high in self._runs(top, first, first + panes))
            for first in range(0, widest, math.gcd(widest, step))
        )

    def _width(self, level: int) -> int:
        return int(self.branching**level)

    def _runs(self, level: int, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield runs of nodes that make up the panes ``[start, end)``: level, first, beyond."""
        width = self._width(level)
        low, high = -(-start // width), end // width
        if low > high:  # no end of a node lies in here
            yield from self._runs(level - 1, start, end)
            return
        if start < low * width:
            yield from self._runs(level - 1, start, low * width)
        yield level, low, high
        if high * width < end:
            yield from self._runs(level - 1, high * width, end)


PLAIN: Final = Tree(branching=2, levels=1)
"""Panes alone."""


def trees(panes: int) -> Iterator[Tree]:
    """Yield the trees that may be worth their levels for windows of so many panes.

    None has a node longer than a window. Of more branches than twice the square root, two levels
    leave more nodes over than fewer branches do, unless windows are made of whole nodes.
    """
    yield PLAIN
    for branching in range(2, panes + 1):
        if branching > 2 * math.isqrt(panes) + 1 and panes % branching:
            continue
        levels = 2
        while branching ** (levels - 1) <= panes:
            yield Tree(branching, levels)
            levels += 1
