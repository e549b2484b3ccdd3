"""What the dearest row on a grid loses: exact over time, regions and cells, whatever the groupings.

Losses are tensors over the classes of the attributes that they hang on. They add up where they hang
on the same ones; then attributes are eliminated (:mod:`accountant.loss.elimination`), and the
result is the largest sum over all rows, no less and no more. Cells that are opaque
(:mod:`accountant.regions.groupings`) are the one exception: a row is taken to be in any of them,
though in the same one of all charges that have them.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.levels import LevelCosts
from accountant.loss.elimination import eliminated, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accountant.loss.elimination import Axes, Factor, Losses
    from accountant.loss.grid import Grid
    from accountant.loss.held import Held
    from accountant.regions.shapes import Shape

__all__ = ["LARGEST_SUM", "RowLosses"]

LARGEST_SUM = 2**61
"""Charges that add up to less can be added up here: nothing passes 64 bits."""

_NOWHERE = -(2**62)
_FEW = 4_096  # cells whose losses are worth keeping at hand


class RowLosses:
    """The losses of all rows at one instant, charge by charge.

    Args:
        grid: of the shapes of all charges, and of ``meeting``.
        meeting: look only at rows that a query of this shape may cover.
    """

    def __init__(self, grid: Grid, meeting: Shape | None) -> None:
        self._grid = grid
        self._losses: dict[Axes, Losses] = {}
        self._opaque: defaultdict[str, dict[Shape, Losses]] = defaultdict(dict)
        self._many: defaultdict[tuple[str, Shape], int] = defaultdict(int)
        self._read: dict[Held, tuple[Axes | None, Losses]] = {}
        self._fixed: list[Factor] = []
        if meeting is not None:
            place = grid.places[meeting]
            self._fixed.append((place.axes, np.where(place.inside, 0, _NOWHERE)))

    def change(self, charge: Held, sign: int) -> None:
        """Take a charge in (+1), or out again (-1)."""
        if charge not in self._read:
            self._read[charge] = self._losses_of(charge)
        axes, losses = self._read[charge]
        if axes is None:
            self._change_opaque(charge, sign * losses, sign)
            return
        if axes not in self._losses:
            self._losses[axes] = np.zeros(np.shape(losses), dtype=np.int64)
        change = np.add if sign > 0 else np.subtract
        change(self._losses[axes], losses, out=self._losses[axes])

    def worst(self) -> int:
        """Return what the dearest row loses; 0 where there is no row."""
        factors = [*self._fixed, *self._losses.items()]
        factors += [factor for cells in self._opaque.values() for factor in self._dearest(cells)]
        left, _ = eliminated(factors, self._grid.order)
        return max(0, sum(int(losses) for _, losses in left))

    def _losses_of(self, charge: Held) -> tuple[Axes | None, Losses]:
        """Return what a charge costs along the axes it hangs on; without any, by opaque cell."""
        place = self._grid.places[charge.shape]
        if charge.costs is None:
            return place.axes, place.inside * np.int64(charge.loss_units)
        if place.cells is None:
            return None, LevelCosts.decode(charge.costs).as_array()
        few = place.count <= _FEW
        costs = _remembered(charge.costs) if few else LevelCosts.decode(charge.costs).as_array()
        if len(costs) != place.count:  # nobody knows which cell is which
            return place.axes, place.region * np.int64(charge.loss_units)
        return place.axes, np.where(place.inside, costs[place.cells], 0)

    def _change_opaque(self, charge: Held, change: Losses, sign: int) -> None:
        of, cells = (charge.cells, charge.shape), self._opaque[charge.cells]
        self._many[of] += sign
        if not self._many[of]:
            del cells[charge.shape]
        else:
            cells[charge.shape] = cells.get(charge.shape, np.int64(0)) + change

    def _dearest(self, cells: Mapping[Shape, Losses]) -> list[Factor]:
        """Return what the dearest of some opaque cells costs each row."""
        places = [self._grid.places[shape] for shape in cells]
        if len(places) <= 1:
            each = zip(places, cells.values(), strict=True)
            return [(place.axes, place.inside * losses.max()) for place, losses in each]
        axes = tuple(sorted({axis for place in places for axis in place.axes}))
        inside = np.broadcast_arrays(*(spread(one.axes, one.inside, axes) for one in places))
        # Rows that the same shapes hold have the same dearest cell.
        flat = np.array([each.ravel() for each in inside])
        kinds, kind = np.unique(flat, axis=1, return_inverse=True)
        losses = list(cells.values())
        dearest = [
            sum((losses[at] for at in np.flatnonzero(held)), np.zeros(1, dtype=np.int64)).max()
            for held in kinds.T
        ]
        return [(axes, np.array(dearest, dtype=np.int64)[kind].reshape(inside[0].shape))]


@lru_cache(maxsize=2_048)
def _remembered(text: bytes) -> Losses:
    """Return the losses of few cells: a window is looked at again for every one that overlaps."""
    return LevelCosts.decode(text).as_array()
