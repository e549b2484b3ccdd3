"""When one noise per pane is worth it: the loss of a unit by each way to answer the same questions.

A window that is decided alone (TSLM) costs each of its units once; a pane costs each unit that it
counts once, whatever windows it lies in. So panes gain where an event lies in many windows or is
asked about many thresholds, and lose where a unit counts in as many panes as windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import mul
from typing import TYPE_CHECKING

from accountant.arguments import NATURAL, expect, instance_of, or_none, several
from accountant.errors import ArgumentError
from accountant.units import from_loss_units, to_loss_units
from operators.panes.pricing import MOST_TERMS, PaneQuestion, least_units
from operators.panes.trees import trees
from operators.single.tslm import Tslm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from operators.panes.trees import Tree

__all__ = ["Alternative", "alternatives"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to answer all questions.

    Args:
        tree: what is released, of one level panes alone; ``None`` where every window is decided for
            itself, by TSLM.
        units: loss units of one privacy unit at worst, in one cell of each pane.
    """

    tree: Tree | None
    units: int

    @property
    def epsilon(self) -> Fraction:
        """The same as epsilon."""
        return from_loss_units(self.units)


def alternatives(
    questions: Sequence[PaneQuestion], *, counted: int = 1, period: int | None = None
) -> tuple[Alternative, ...]:
    """Return what a privacy unit loses by each way, the cheapest first.

    A tree is listed where no other of as many levels has fewer noises in every question's sum, and
    none has more of them than are planned for. Every price is certified.

    Args:
        questions: at least one; their windows are made of the same panes.
        counted: in how many panes of a budget period one unit counts at most. 1 for unit ``event``;
            for unit ``user`` all panes of the period, or as many as a cap lets through.
        period: panes in a budget period, no fewer than ``counted``; it bounds how many windows of a
            question end within it. ``None`` where no period does.

    Raises:
        ValueError: no question, nothing counted, or more counted than the period has.
    """
    expect(several(instance_of(PaneQuestion)), questions=questions)
    expect(NATURAL, counted=counted)
    expect(or_none(NATURAL), period=period)
    if not questions or counted < 1 or (period is not None and period < counted):
        raise ArgumentError(
            "`questions` is empty, or `counted` is not from 1 to `period`",
            hint="give one question or more, and counted from 1 to period",
        )
    alone = [to_loss_units(Tslm.priced(each.test, each.promise).epsilon) for each in questions]
    often = [_windows(each, counted, period) for each in questions]
    apart = sum(map(mul, often, alone))
    found = [Alternative(None, apart)]
    for tree, terms in _candidates(questions):
        units = max(map(least_units, questions, terms))
        found.append(Alternative(tree, units * _nodes(tree, counted, period)))
    return tuple(sorted(found, key=lambda each: each.units))


def _windows(question: PaneQuestion, counted: int, period: int | None) -> int:
    """Return in how many windows a unit counts at most."""
    reached = counted * question.overlap
    return reached if period is None else min(reached, -(-period // question.step))


def _nodes(tree: Tree, counted: int, period: int | None) -> int:
    """Return in how many nodes a unit counts at most."""
    if period is None:
        return counted * tree.levels
    # A period need not begin with a node, so one more of each level may reach into it.
    widths = (tree.branching**level for level in range(tree.levels))
    return sum(min(counted, -(-(period - 1) // width) + 1) for width in widths)


def _candidates(questions: Sequence[PaneQuestion]) -> Iterator[tuple[Tree, tuple[int, ...]]]:
    """Yield trees with the number of noises in every question's sum, without those outdone."""
    longest = max(each.panes for each in questions)
    sized = [
        (tree, tuple(tree.most_nodes(each.panes, each.step) for each in questions))
        for tree in trees(longest)
    ]
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for tree, terms in sized:
        rivals = [other for each, other in sized if each.levels == tree.levels and other != terms]
        outdone = any(all(a <= b for a, b in zip(other, terms, strict=True)) for other in rivals)
        if max(terms) > MOST_TERMS or outdone or (tree.levels, terms) in seen:
            continue
        seen.add((tree.levels, terms))
        yield tree, terms
