"""Conditions that no data, or all data, meet: found before anything is charged for them.

The comparisons of one aggregate cut its values into regions with one outcome for each comparison;
an aggregate that may be NULL has one more, where none of them holds. A condition is tried on every
combination of regions, aggregates being taken for independent: what is constant over all of those
is constant, while some dependences between aggregates go unnoticed.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, floor, prod
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

_MOST_TRIED: Final = 1 << 24
"""Outcomes of a condition that are looked at: those of further cells are not."""

_BARELY: Final = Fraction(1, 10**13)
"""An average is above a number from here on: thresholds of averages lie farther apart."""


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
    counts = Counter(asked.measure for asked in levels)
    size = prod(1 + count + measure.nullable for measure, count in counts.items())
    if size > _MOST_TRIED:
        return None
    cells = unlike_cells(levels.values())[: _MOST_TRIED // size]
    truth: dict[Asked, NDArray[np.bool_]] = {}
    for after, measure in enumerate(reversed(counts)):
        # The places of every measure's values have an axis of their own; the last one is of cells.
        mine = _truth(measure, levels, cells)
        shape = (-1, *[1] * after, len(cells))
        truth |= {asked: each.reshape(shape) for asked, each in mine.items()}
    outcomes = tree.holds(truth.__getitem__).reshape(size, len(cells))
    constant = np.flatnonzero(outcomes.all(axis=0) | ~outcomes.any(axis=0))
    if not constant.size:
        return None
    first = constant[0]
    return bool(outcomes[0, first]), int(cells[first])


def _truth(
    measure: Measure, levels: Mapping[Asked, Levels], cells: NDArray[np.intp]
) -> dict[Asked, NDArray[np.bool_]]:
    """Return the outcomes of a measure's comparisons wherever its values may lie.

    They are those of its least value, of every value from which on a comparison has another
    outcome, and of NULL.

    Returns:
        Each in shape (places, cells).
    """
    starts = {
        asked: each.over_cells(np.array([_start(value, asked) for value in each.values]))[cells]
        for asked, each in levels.items()
        if asked.measure == measure
    }
    least, most = measure.ends
    places = np.stack([np.full(len(cells), least), *starts.values()])
    places = np.where((least <= places) & (places <= most), places, least)
    null = np.zeros((int(measure.nullable), len(cells)), np.bool_)
    return {
        asked: np.concatenate([(places >= start) == asked.comparison.upward, null])
        for asked, start in starts.items()
    }


def _start(threshold: Fraction, asked: Asked) -> int | Fraction:
    """Return the least value on the upper side of a comparison, or of its negation."""
    after = asked.comparison.after
    if asked.measure.function is Function.AVG:
        return threshold + after * _BARELY
    return floor(threshold) + 1 if after else ceil(threshold)  # all else is whole granules
