"""Conditions that no data, or all data, meet: found before anything is charged for them.

The comparisons of one aggregate cut its values into regions with one outcome for each comparison;
an aggregate that may be NULL has one more, where none of them holds. A condition is tried on every
combination of regions, aggregates being taken for independent: what is constant over all of those
is constant, while some dependences between aggregates go unnoticed.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, inf, prod
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.config.alarms.reduction import Function
from stream.config.alarms.thresholds import unlike_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.config.alarms.reduction import Tree
    from stream.config.alarms.thresholds import Levels
    from stream.config.sql.comparisons import Asked, Measure

__all__ = ["constant_condition"]

MOST_COMBINATIONS: Final = 1 << 16
"""Conditions with more combinations of regions are not tried."""

_MOST_TRIED: Final = 1 << 22

_Cut = tuple[Fraction | float, int]
"""A place between values: before (0) or after (1) a number."""


def constant_condition(
    tree: Tree[Asked], levels: Mapping[Asked, Levels]
) -> tuple[bool, int] | None:
    """Return the outcome of a condition that has only one in some cell, else ``None``.

    Args:
        tree: the condition.
        levels: thresholds of every comparison in it.

    Returns:
        The outcome, and the first cell that has it.
    """
    measures = dict.fromkeys(asked.measure for asked in levels)
    cells = unlike_cells(levels.values())
    read = [_truth(measure, levels, cells) for measure in measures]
    # Where all comparisons have the same outcomes at all places, so has the condition.
    codes = [np.packbits(truth.reshape(-1, truth.shape[2]), axis=0) for _, truth in read]
    _, firsts = np.unique(np.concatenate(codes), axis=1, return_index=True)
    tried = 0
    for first in sorted(firsts.tolist()):
        regions = [np.unique(truth[:, :, first], axis=0) for _, truth in read]
        sizes = [len(each) for each in regions]
        size = prod(sizes)
        tried += size
        if size > MOST_COMBINATIONS or tried > _MOST_TRIED:
            continue
        combined = np.unravel_index(np.arange(size), sizes)
        holds: dict[Asked, NDArray[np.bool_]] = {}
        for (mine, _), region, at in zip(read, regions, combined, strict=True):
            holds.update(zip(mine, region[at].T, strict=True))
        outcomes = tree.holds(holds.__getitem__)
        if outcomes.all() or not outcomes.any():
            return bool(outcomes[0]), int(cells[first])
    return None


def _truth(
    measure: Measure,
    levels: Mapping[Asked, Levels],
    cells: NDArray[np.intp],
) -> tuple[tuple[Asked, ...], NDArray[np.bool_]]:
    """Return the comparisons of a measure, and their outcomes wherever its values may lie.

    A value lies at one cut and below the next; cuts are numbered in order.

    Returns:
        The outcomes in shape (places, comparisons, cells).
    """
    mine = tuple(asked for asked in levels if asked.measure == measure)
    cuts = [[_cut(value, asked) for value in levels[asked].values] for asked in mine]
    (least, most), after = measure.span, int(measure.function is Function.AVG)
    low = (-inf if least is None else least, 0)  # all values are at this one, and none is at `high`
    high = ((inf if most is None else most) + 1 - after, after)
    ranks = {cut: rank for rank, cut in enumerate(sorted({low, high}.union(*cuts)))}
    rows = np.stack(
        [
            levels[asked].over_cells(np.array([ranks[cut] for cut in row], np.int64))[cells]
            for asked, row in zip(mine, cuts, strict=True)
        ]
    )
    places = np.where((ranks[low] < rows) & (rows < ranks[high]), rows, ranks[low])
    places = np.vstack([np.full_like(rows[:1], ranks[low]), places])
    upward = np.array([asked.comparison.upward for asked in mine])
    truth = (places[:, np.newaxis] >= rows) == upward[:, np.newaxis]
    return mine, np.concatenate([truth, np.zeros_like(truth[:1])]) if measure.nullable else truth


def _cut(value: Fraction, asked: Asked) -> _Cut:
    """Return the cut whose upper side a comparison (or its negation) asks for."""
    after = asked.comparison.after
    if asked.measure.function is Function.AVG:
        return value, int(after)
    return (floor(value) + 1 if after else ceil(value)), 0  # all else is whole granules
