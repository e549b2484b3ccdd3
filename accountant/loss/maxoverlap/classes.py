"""Rows as one class of values per attribute, as a matrix: which regions hold each class.

Source: Parallel Composition, Proposition 5: the maximum is reached on a set of regions that no
other one contains, so that other classes are left out (:mod:`accountant.loss.tables`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.charges import UniformCost
from accountant.loss.rowcharges import Cells, RowCharge
from accountant.loss.tables import axes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from accountant.regions.regions import Region, Value

__all__ = ["Classes"]

_MOST_CELLS = 25_000_000  # of a matrix of classes and regions


class Classes:
    """The classes of all attributes that some regions constrain.

    Where there are too many of one attribute, neighbours are merged into one that is in every
    region that one of them is in. No bound on rows becomes too low by that, but the witness of a
    merged class may be in fewer regions.

    Args:
        regions: not empty ones.
    """

    def __init__(self, regions: Sequence[Region]) -> None:
        self.charges = [RowCharge(each, (), Cells.single(), UniformCost(1, 1)) for each in regions]
        self.axes = axes_of(self.charges)

    @cached_property
    def merged(self) -> list[int]:
        """Per attribute how many classes are one."""
        return [
            max(1, -(-len(axis.witnesses) * len(self.charges) // _MOST_CELLS)) for axis in self.axes
        ]

    @cached_property
    def holds(self) -> list[NDArray[np.bool_]]:
        """Per attribute, classes by regions; true also where a region does not constrain it."""
        blocks = []
        conditions = [dict(charge.region.conditions) for charge in self.charges]
        for axis, merged in zip(self.axes, self.merged, strict=True):
            held = np.array([axis.holds(each.get(axis.name)) for each in conditions]).T
            blocks.append(np.logical_or.reduceat(held, np.arange(0, len(held), merged)))
        return blocks

    @cached_property
    def neighbours(self) -> NDArray[np.bool_]:
        """Whether two regions share a row, shape (regions, regions)."""
        sharing = np.ones((len(self.charges), len(self.charges)), dtype=np.bool_)
        for holds in self.holds:
            counts = holds.astype(np.float32)
            sharing &= counts.T @ counts > 0
        return sharing

    def row_of(self, members: Sequence[int]) -> dict[str, Value]:
        """Return a row that these regions hold: most of them, where classes are merged."""
        return {
            axis.name: axis.witnesses[int(holds[:, members].sum(axis=1).argmax()) * merged]
            for axis, holds, merged in zip(self.axes, self.holds, self.merged, strict=True)
        }
