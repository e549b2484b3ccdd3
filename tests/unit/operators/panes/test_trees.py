"""Trees over panes: what a window is made of, and of how many nodes at most."""

from __future__ import annotations

from itertools import accumulate, product

import pytest

from operators.panes import Tree
from operators.panes.trees import PLAIN, trees


def fewest(tree, start, end):
    """Return the least number of nodes that make up ``[start, end)``, by trying all."""
    best = {start: 0}
    for at in range(start, end):
        for level in range(tree.levels):
            width = tree.branching**level
            if at % width == 0 and at + width <= end:
                best[at + width] = min(best.get(at + width, 10**9), best[at] + 1)
    return best[end]


@pytest.mark.parametrize(("branching", "levels"), [(2, 1), (2, 4), (3, 3), (5, 2), (7, 2)])
def test_a_window_is_made_of_the_fewest_nodes(branching, levels):
    """They join without gap or overlap, and no other choice has fewer."""
    tree = Tree(branching, levels)
    for first, panes in product(range(-9, 20), range(1, 30)):
        nodes = tree.cover(first, panes)
        widths = [branching**level for level, _ in nodes]
        starts = [at * width for (_, at), width in zip(nodes, widths, strict=True)]
        joined = accumulate(widths, initial=first)
        assert [*starts, first + panes] == list(joined)
        assert len(nodes) == fewest(tree, first, first + panes)


@pytest.mark.parametrize("step", [1, 2, 6, 9, 30])
def test_the_most_nodes_are_met_by_some_window(step):
    """Over all windows of the grid, not only the first."""
    for tree, panes in product((PLAIN, Tree(2, 3), Tree(3, 2), Tree(6, 2)), (1, 6, 13)):
        sizes = [len(tree.cover(first, panes)) for first in range(0, 40 * step, step)]
        assert tree.most_nodes(panes, step) == max(sizes)


def test_windows_of_whole_nodes_are_offered_their_tree():
    """An hour of 60 panes, on the hour, is one node; no node is longer than a window."""
    offered = list(trees(60))
    assert PLAIN in offered
    assert min(each.most_nodes(60, 60) for each in offered) == 1
    assert all(each.branching ** (each.levels - 1) <= 60 for each in offered)
    assert len(offered) == len(set(offered))
