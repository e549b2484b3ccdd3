"""How much loss the worst-placed row carries: charges swept over time, regions and cells.

Guarantee: the result is never below the largest loss of any row (MIDE, Theorem 5), and grows with
every charge. It is exact over time, regions (Parallel Composition, Theorem 6) and cells, whatever
the queries group by, where their cells are known and their regions fit on a grid
(:mod:`accountant.loss.grid`). Otherwise it is a SAFE BOUND: cells that are not known are taken to
meet all others but their equals; without a grid so are all that are grouped differently, and with
too many regions (:mod:`accountant.regions.shapes`) all that meet the window asked about, or all
there are, are taken to meet each other. Proof: ``docs/research/proofs/filter.md``.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.levels import LevelCosts
from accountant.loss.grid import grid_of, near
from accountant.loss.held import Held
from accountant.loss.rows import LARGEST_SUM, RowLosses
from accountant.regions.shapes import ANYWHERE, Shape, row_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from accountant.loss.grid import Grid

__all__ = ["Held", "coarse_loss", "told_apart", "worst_instant", "worst_loss"]

_WRAPS = 2**63


def worst_instant(charges: Iterable[Held], *, within: tuple[int, int] | None = None) -> int:
    """Return the largest sum of charges covering one instant, in loss units.

    Args:
        charges: half-open windows and their losses, in any order.
        within: ``[start_ms, end_ms)`` to look at; all of time when left out.

    Returns:
        The maximum over instants; 0 where nothing covers any. O(n log n).
    """
    level = worst = 0
    for _, changes in _edges(charges, within):
        level += sum(sign * charge.loss_units for sign, charge in changes)
        worst = max(worst, level)
    return worst


def worst_loss(
    charges: Sequence[Held],
    *,
    within: tuple[int, int] | None = None,
    meeting: Shape | None = None,
    above: int = 0,
    among: frozenset[Shape] = frozenset(),
) -> int:
    """Return the largest loss of one row from charges, in loss units.

    Args:
        charges: in any order.
        within: ``[start_ms, end_ms)`` to look at; all of time when left out.
        meeting: look only at rows that a query of this shape may cover.
        above: losses up to this are of no interest: where none is larger, this is returned.
        among: shapes that calls to come will be about; it saves time and changes no result.
    """
    plain = all(charge.costs is None for charge in charges)
    shapes = {charge.shape for charge in charges}
    alike = shapes <= {meeting or next(iter(shapes), ANYWHERE)}
    if plain and alike and not any(shape.as_region.empty for shape in shapes):
        return max(above, worst_instant(charges, within=within))
    grid = _grid(frozenset(shapes if meeting is None else shapes | {meeting}), among)
    if grid is None or sum(charge.loss_units for charge in charges) >= LARGEST_SUM:
        return max(above, coarse_loss(charges, within=within, meeting=meeting))
    if meeting is not None:
        sharing = near(grid, meeting)
        charges = [charge for charge in charges if charge.shape in sharing]
        if sum(charge.loss_units for charge in charges) <= above:
            return above
    worst, level, grown = above, 0, False
    rows = RowLosses(grid, meeting)
    edges = list(_edges(charges, within))
    to_come = sum(sign > 0 for _, changes in edges for sign, _ in changes)
    for _, changes in edges:
        # Losses fall only where charges end: just before is when a row may have lost the most.
        if grown and level > worst and any(sign < 0 for sign, _ in changes):
            worst, grown = max(worst, rows.worst()), False
        if not to_come:
            break
        for sign, charge in changes:
            level += sign * charge.loss_units
            if sign > 0:
                grown, to_come = True, to_come - 1
            rows.change(charge, sign)
    return worst


def told_apart(shapes: frozenset[Shape], among: frozenset[Shape]) -> bool:
    """Say whether the loss of a row depends on the charges that it can be in alone.

    Where neither a grid nor all classes of rows are to be had, it depends on what is looked at.

    Args:
        shapes: of the charges.
        among: as in :func:`worst_loss`.
    """
    return _grid(shapes, among) is not None or row_classes(shapes) is not None


def coarse_loss(
    charges: Sequence[Held],
    *,
    within: tuple[int, int] | None,
    meeting: Shape | None,
) -> int:
    """Return a bound on :func:`worst_loss`: it takes cells of different groupings to meet.

    Args:
        charges: in any order.
        within: ``[start_ms, end_ms)`` to look at; all of time when left out.
        meeting: look only at rows that a query of this shape may cover.
    """
    worst = 0
    shapes = {charge.shape for charge in charges}
    for members in _together(charges, shapes, meeting):
        # The sum of largest cells bounds the class: only a class that may be worse is looked into.
        bound = worst_instant(members, within=within)
        if bound > worst:
            mixed = any(charge.costs is not None for charge in members)
            worst = max(worst, _worst_cells(members, within) if mixed else bound)
    return worst


def _grid(shapes: frozenset[Shape], among: frozenset[Shape]) -> Grid | None:
    """Return a grid of some shapes: one for many calls where there is one, and else their own."""
    shared = grid_of(among) if shapes <= among else None
    return grid_of(shapes) if shared is None else shared


def _together(
    charges: Sequence[Held], shapes: set[Shape], meeting: Shape | None
) -> Iterator[list[Held]]:
    """Yield charges that one row can carry together."""
    asked = shapes if meeting is None else shapes | {meeting}
    classes = row_classes(frozenset(asked))
    if classes is None:
        region = None if meeting is None else meeting.as_region
        near = {one for one in shapes if region is None or region.overlaps(one.as_region)}
        yield [charge for charge in charges if charge.shape in near]
        return
    for one in classes:
        if meeting is None or meeting in one:
            yield [charge for charge in charges if charge.shape in one]


def _worst_cells(charges: Sequence[Held], within: tuple[int, int] | None) -> int:
    """Sweep over time, adding up cell by cell where the cells are the same."""
    level: defaultdict[str, int] = defaultdict(int)
    cells: dict[str, NDArray[np.int64]] = {}
    ceiling = worst = 0
    for _, changes in _edges(charges, within):
        for sign, charge in changes:
            ceiling += sign * charge.loss_units
            if charge.costs is None:
                level[charge.cells] += sign * charge.loss_units
            else:
                before = cells.get(charge.cells, np.int64(0))
                cells[charge.cells] = before + sign * LevelCosts.decode(charge.costs).as_array()
        if ceiling > worst:
            # Sums of cells wrap at 64 bits and back again; only where none can is one read.
            dearest = sum(int(each.max()) for each in cells.values())
            exact = ceiling < _WRAPS
            worst = max(worst, sum(level.values()) + dearest if exact else ceiling)
    return worst


def _edges(
    charges: Iterable[Held], within: tuple[int, int] | None
) -> Iterator[tuple[int, list[tuple[int, Held]]]]:
    """Yield, per instant, the charges that end (-1) and start (+1) there: windows are half-open."""
    edges: list[tuple[int, int, Held]] = []
    for charge in charges:
        start_ms, end_ms = charge.start_ms, charge.end_ms
        if within is not None:
            start_ms, end_ms = max(start_ms, within[0]), min(end_ms, within[1])
        if start_ms < end_ms:
            edges.append((start_ms, 1, charge))
            edges.append((end_ms, -1, charge))
    edges.sort(key=itemgetter(0))
    for at_ms, changes in groupby(edges, key=itemgetter(0)):
        yield at_ms, [(sign, charge) for _, sign, charge in changes]
