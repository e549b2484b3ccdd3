"""How much loss the worst-placed row carries: charges swept over time, regions and cells.

Guarantee: the result is never below the largest loss of any row (MIDE, Theorem 5), and grows with
every charge. It is exact over time and over regions (Parallel Composition, Theorem 6), and over
cells wherever the queries that share a row have the same cells or cost all their cells the same.
Otherwise it is a SAFE BOUND: cells of queries that are grouped differently are taken to meet, and
with too many regions (see :mod:`accountant.regions.shapes`) all that meet the window asked about,
or all there are, are taken to meet each other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.levels import LevelCosts
from accountant.regions.shapes import ANYWHERE, Shape, row_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Held", "worst_instant", "worst_loss"]

_WRAPS = 2**63


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A charge that counts against the wall.

    Args:
        start_ms: start of its window.
        end_ms: end of its window, exclusive.
        loss_units: its largest loss for a row inside the window, in loss units, >= 0.
        shape: which rows its cells cover.
        cells: what its cells are; the same for charges whose cells have the same numbers.
        costs: loss of every cell when they differ, as ``LevelCosts`` encodes it; decoded only where
            the dearest cells would not fit, so that many large windows may be held.
    """

    start_ms: int
    end_ms: int
    loss_units: int
    shape: Shape = ANYWHERE
    cells: str = ""
    costs: bytes | None = None


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
) -> int:
    """Return the largest loss of one row from charges, in loss units.

    Args:
        charges: in any order.
        within: ``[start_ms, end_ms)`` to look at; all of time when left out.
        meeting: look only at rows that a query of this shape may cover.
    """
    plain = all(charge.costs is None for charge in charges)
    shapes = {charge.shape for charge in charges}
    alike = shapes <= {meeting or next(iter(shapes), ANYWHERE)}
    if plain and alike and not any(shape.as_region.empty for shape in shapes):
        return worst_instant(charges, within=within)
    worst = 0
    for members in _together(charges, shapes, meeting):
        # The sum of largest cells bounds the class: only a class that may be worse is looked into.
        bound = worst_instant(members, within=within)
        if bound > worst:
            mixed = any(charge.costs is not None for charge in members)
            worst = max(worst, _worst_cells(members, within) if mixed else bound)
    return worst


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
