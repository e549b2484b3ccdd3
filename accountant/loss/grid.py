"""Rows sorted by all that some shapes tell apart, and an order in which to add losses up exactly.

A row is one class of values per attribute (:func:`accountant.regions.regions.elementary`), and each
shape looks at a few of them only, which are eliminated (:mod:`accountant.loss.elimination`). What
that takes depends on the shapes alone, never on what they cost, and only grows with them: a grid
that can be had for some shapes can be had for any of them (``docs/research/proofs/filter.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from accountant.loss.elimination import order_of, spread
from accountant.loss.tables import axis_of
from accountant.regions.groupings import grouping_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.loss.elimination import Axes
    from accountant.loss.tables import Axis
    from accountant.regions.shapes import Shape
    from accountant.regions.valuesets import ValueSet

__all__ = ["MOST_ENTRIES", "Grid", "Place", "grid_of", "near"]

MOST_ENTRIES = 2**16
"""Combinations of classes that one elimination may look at."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where the rows of one shape lie on a grid.

    Args:
        axes: attributes that it looks at, by number, ascending.
        region: which combinations of their classes its region holds.
        inside: which of these some cell holds; all, where its cells are not known.
        cells: the number of that cell, 0 outside; ``None`` where cells are not known.
        count: how many cells there are, where they are known.
    """

    axes: tuple[int, ...]
    region: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    cells: NDArray[np.intp] | None
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """All that some shapes tell apart.

    Args:
        order: axes in the order of their elimination.
        places: of every shape.
    """

    order: tuple[int, ...]
    places: Mapping[Shape, Place]


@lru_cache(maxsize=512)
def near(grid: Grid, meeting: Shape) -> frozenset[Shape]:
    """Return the shapes of a grid, all but some that share no row with ``meeting``.

    A charge of any other shape adds nothing to any row that ``meeting`` holds. Shapes that look at
    other attributes are not told apart here.
    """
    mine = grid.places[meeting]
    return frozenset(
        shape
        for shape, place in grid.places.items()
        if place.axes != mine.axes or (place.region & mine.inside).any()
    )


@lru_cache(maxsize=256)
def grid_of(shapes: frozenset[Shape]) -> Grid | None:
    """Return the grid of some shapes; ``None`` when eliminating takes too many combinations."""
    listed = sorted(shapes)
    sets: dict[str, list[ValueSet]] = {}
    for shape in listed:
        for name, values in shape.as_region.conditions:
            sets.setdefault(name, []).append(values)
        for name, cells in _grouped(shape).items():
            sets.setdefault(name, []).extend(cells)
    axes = [axis_of(name, sets[name]) for name in sorted(sets)]
    counts = [len(axis.witnesses) for axis in axes]
    scopes: dict[Shape, Axes] = {}
    opaque: dict[str, set[int]] = {}
    for shape in listed:
        names = {*shape.as_region.attributes, *_grouped(shape)}
        scopes[shape] = tuple(
            at for at, axis in enumerate(axes) if axis.name in names and counts[at] > 1
        )
        if shape.grouping and grouping_of(shape.grouping) is None:
            opaque.setdefault(shape.grouping, set()).update(scopes[shape])
    linked = [*scopes.values(), *(tuple(sorted(each)) for each in opaque.values())]
    order = order_of(counts, linked, MOST_ENTRIES)
    if order is None:
        return None
    return Grid(order, {shape: _placed(shape, scope, axes) for shape, scope in scopes.items()})


def _grouped(shape: Shape) -> Mapping[str, tuple[ValueSet, ...]]:
    """Return the attributes that a shape's cells are known to group by, each with its values."""
    found = grouping_of(shape.grouping)
    return {} if found is None else dict(zip(found.attributes, found.values, strict=True))


def _placed(shape: Shape, scope: Axes, axes: Sequence[Axis]) -> Place:
    """Return where the rows of one shape lie."""
    every = tuple(range(len(scope)))
    place = {axes[at].name: k for k, at in enumerate(scope)}
    inside = np.full([len(axes[at].witnesses) for at in scope], not shape.as_region.empty)
    for name, k in place.items():
        held = axes[scope[k]].holds(shape.as_region.values(name))
        inside &= spread((k,), held, every)
    grouping = grouping_of(shape.grouping)
    if grouping is None:
        return Place(scope, inside, inside, None, 0)
    region = inside.copy()
    cells = np.zeros(inside.shape, dtype=np.intp)
    by_name = {axis.name: axis for axis in axes}
    for name, values in _grouped(shape).items():
        numbers = np.full(len(by_name[name].witnesses), -1)
        for number, each in enumerate(values):
            numbers[by_name[name].holds(each)] = number
        # An axis of one class is on no scope: the same cell everywhere.
        along = spread((place[name],), numbers, every) if name in place else numbers[0]
        cells = cells * len(values) + along
        inside &= along >= 0
    return Place(scope, region, inside, np.where(inside, cells, 0), grouping.cells)
