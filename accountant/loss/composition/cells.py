"""What a charge costs the rows of each cell of a query, whatever the charge is grouped by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.levels import LevelCosts
from accountant.loss.composition.charges import Cells, RowCharge
from accountant.loss.composition.classes import holds, told_apart
from accountant.loss.composition.worst import worst_row
from accountant.regions.regions import Region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["OuterLosses", "cell_losses"]

_MOST_SEARCHES: Final = 1_000  # for the cells of one query
_SHARED: Final = 8  # times the nodes of one search are for all of them together
_LEAST_SHARE: Final = 64  # nodes: most searches need fewer


def cell_losses(charge: RowCharge, query: RowCharge) -> NDArray[np.int64]:
    """Return what a charge costs those rows of every cell of a query that its region holds.

    Args:
        charge: a charge grouped by attributes of the query, all or some, in any order.
        query: the cells.

    Returns:
        Loss units, shape (cells,); 0 where a cell's values are outside its region or cells.
    """
    places = _places(charge.cells, charge.group_by, query)
    losses = np.where(places < 0, 0, charge.costs.as_array()[places])
    return losses * _admitted(charge, query)


class OuterLosses:
    """What charges grouped by attributes that a query is not can cost the rows of its cells.

    Args:
        charges: those charges; their regions lie within the query's.
        query: the cells.
        searches: how often ``within`` will be asked. When that and the cells that the charges tell
            apart make too many searches, bounds are returned.
        node_limit: as in ``worst_row``, of any one search; each of many gets a smaller share.
    """

    def __init__(
        self,
        charges: Sequence[RowCharge],
        query: RowCharge,
        *,
        searches: int,
        node_limit: int,
    ) -> None:
        self._charges = charges
        self._cells = len(query.cells)
        self._parts = [_Parts(charge, query) for charge in charges]
        self._first, self._kind = told_apart([each.kinds for each in self._parts], self._cells)
        wanted = searches * len(self._first)
        self._apart = wanted <= _MOST_SEARCHES
        share = max(_LEAST_SHARE, _SHARED * node_limit // (wanted if self._apart else searches))
        self._node_limit = min(node_limit, share)
        self.exact = True
        """Whether everything returned so far is the loss of some row."""

    def within(self, region: Region) -> NDArray[np.int64]:
        """Return the worst loss of a row of each cell that is also in ``region``.

        Args:
            region: it says nothing of the query's group-by attributes.
        """
        met = [at for at, each in enumerate(self._charges) if each.region.overlaps(region)]
        if not met:
            return np.zeros(self._cells, dtype=np.int64)
        if self._apart:
            found = [self._searched(region, met, int(cell)) for cell in self._first]
            return np.array(found, dtype=np.int64)[self._kind]
        # The sum of the dearest cells of each charge, and no more than the worst row anywhere.
        self.exact = False
        sums = np.zeros(self._cells, dtype=np.int64)
        for at in met:
            sums += self._parts[at].dearest()
        anywhere = [_narrowed(self._charges[at], region) for at in met]
        bound = worst_row(anywhere, node_limit=self._node_limit).upper_bound
        return np.minimum(sums, bound)

    def _searched(self, region: Region, met: Sequence[int], cell: int) -> int:
        """Return the worst loss of a row of one cell."""
        parts = [part for at in met if (part := self._parts[at].of(cell)) is not None]
        found = worst_row([_narrowed(part, region) for part in parts], node_limit=self._node_limit)
        self.exact = self.exact and found.exact
        return found.upper_bound


class _Parts:
    """One charge cut up by the attributes it shares with a query.

    Args:
        charge: grouped by some attribute that the query isn't.
        query: the cells.
    """

    def __init__(self, charge: RowCharge, query: RowCharge) -> None:
        self._charge = charge
        shared = [at for at, name in enumerate(charge.group_by) if name in query.group_by]
        self._own = [at for at in range(len(charge.group_by)) if at not in shared]
        first, self._part = told_apart(
            [charge.cells.column(at).codes for at in shared], len(charge.cells)
        )
        parts = Cells(tuple(charge.cells.values[cell][at] for at in shared) for cell in first)
        found = _places(parts, tuple(charge.group_by[at] for at in shared), query)
        self.kinds = np.where(_admitted(charge, query), found, -1)
        """Per cell of the query which part its rows are in, -1 for none."""
        self._region = Region.of(
            {
                name: charge.region.values(name)
                for name in charge.region.attributes
                if name not in query.group_by
            }
        )
        self._made: dict[int, RowCharge] = {}

    def of(self, cell: int) -> RowCharge | None:
        """Return what is charged to the rows of a cell, by the attributes that are left."""
        part = int(self.kinds[cell])
        if part < 0:
            return None
        if part not in self._made:
            self._made[part] = self._charged(np.flatnonzero(self._part == part))
        return self._made[part]

    def dearest(self) -> NDArray[np.int64]:
        """Return the dearest cell of the charge that the rows of each cell of the query reach."""
        losses = np.zeros(len(self._part), dtype=np.int64)
        np.maximum.at(losses, self._part, self._charge.costs.as_array())
        return np.where(self.kinds < 0, 0, losses[self.kinds])

    def _charged(self, cells: NDArray[np.intp]) -> RowCharge:
        charge = self._charge
        group_by = tuple(charge.group_by[at] for at in self._own)
        if len(cells) == len(charge.cells) and len(self._own) == len(charge.group_by):
            return RowCharge(self._region, group_by, charge.cells, charge.cost)
        return RowCharge(
            self._region,
            group_by,
            Cells(tuple(charge.cells.values[cell][at] for at in self._own) for cell in cells),
            LevelCosts.of(charge.costs.as_array()[cells]),
        )


def _narrowed(charge: RowCharge, region: Region) -> RowCharge:
    return RowCharge(charge.region & region, charge.group_by, charge.cells, charge.cost)


def _admitted(charge: RowCharge, query: RowCharge) -> NDArray[np.bool_]:
    """Return which cells of the query a charge's region holds, by the group-by attributes."""
    admitted = np.ones(len(query.cells), dtype=np.bool_)
    for at, name in enumerate(query.group_by):
        values = charge.region.values(name)
        if not values.is_everything:
            column = query.cells.column(at)
            admitted &= holds(values, column)[column.codes]
    return admitted


def _places(cells: Cells, group_by: tuple[str, ...], query: RowCharge) -> NDArray[np.intp]:
    """Return which of some cells the rows of every cell of the query are in, -1 for none.

    Args:
        cells: grouped by attributes of the query.
        group_by: those attributes.
        query: the query.
    """
    if group_by == query.group_by and cells == query.cells:
        return np.arange(len(cells))
    at = [query.group_by.index(name) for name in group_by]
    first, kind = told_apart([query.cells.column(k).codes for k in at], len(query.cells))
    found = [cells.find(tuple(query.cells.values[cell][k] for k in at)) for cell in first]
    return np.array([-1 if each is None else each for each in found], dtype=np.intp)[kind]
