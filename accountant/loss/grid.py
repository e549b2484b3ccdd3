"""Rows sorted by all that some shapes tell apart, and an order in which to add losses up exactly.

A row is one class of values per attribute (:func:`accountant.regions.regions.elementary`), and each
shape looks at a few of them only, which are eliminated (:mod:`accountant.loss.elimination`). What
that takes depends on the shapes alone, never on what they cost, and only grows with them: a grid
that can be had for some shapes can be had for any of them (``docs/proofs/filter.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from accountant.loss.elimination import order_of
from accountant.regions.groupings import grouping_of
from accountant.regions.patterns import maximal
from accountant.regions.regions import elementary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.regions.groupings import Grouping
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
    groupings = [grouping_of(shape.grouping) for shape in listed]
    axes = _axes(listed, groupings)
    scopes = [
        tuple(
            at
            for at, axis in enumerate(axes)
            if axis.constrained >> number & 1 and len(axis.members) > 1
        )
        for number in range(len(listed))
    ]
    counts = [len(axis.members) for axis in axes]
    order = order_of(counts, _linked(listed, groupings, scopes), MOST_ENTRIES)
    if order is None:
        return None
    places = {
        shape: _placed(number, scopes[number], axes, groupings[number], empty=shape.as_region.empty)
        for number, shape in enumerate(listed)
    }
    return Grid(order, places)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One attribute.

    Args:
        name: of it.
        members: per class, bit ``i`` is set where set ``i`` holds its values.
        constrained: bit ``i`` is set where shape ``i`` looks at the attribute.
        regions: per shape the number of the set that its region asks for.
        cells: per shape that groups by it with known cells, the numbers of their sets, in order.
    """

    name: str
    members: tuple[int, ...]
    constrained: int
    regions: tuple[int, ...]
    cells: Mapping[int, tuple[int, ...]]


def _axes(shapes: Sequence[Shape], groupings: Sequence[Grouping | None]) -> list[_Axis]:
    names = {name for shape in shapes for name in shape.as_region.attributes}
    names |= {name for one in groupings if one is not None for name in one.attributes}
    return [_axis(name, shapes, groupings) for name in sorted(names)]


def _axis(name: str, shapes: Sequence[Shape], groupings: Sequence[Grouping | None]) -> _Axis:
    numbers: dict[ValueSet, int] = {}

    def numbered(values: ValueSet) -> int:
        return numbers.setdefault(values, len(numbers))

    regions = tuple(numbered(shape.as_region.values(name)) for shape in shapes)
    cells = {
        at: tuple(map(numbered, one.values[one.attributes.index(name)]))
        for at, one in enumerate(groupings)
        if one is not None and name in one.attributes
    }
    members = [each.members for each in elementary(list(numbers))]
    # A value that is only in sets that hold another one as well loses no more than that one.
    kept = maximal(members, len(members))
    constrained = sum(
        1 << at
        for at, shape in enumerate(shapes)
        if at in cells or name in shape.as_region.attributes
    )
    return _Axis(name, tuple(members[at] for at in kept), constrained, regions, cells)


def _linked(
    shapes: Sequence[Shape],
    groupings: Sequence[Grouping | None],
    scopes: Sequence[tuple[int, ...]],
) -> list[tuple[int, ...]]:
    """Return the axes that have to be looked at together: of every shape, and of equal cells."""
    together: dict[str, set[int]] = {}
    for shape, grouping, scope in zip(shapes, groupings, scopes, strict=True):
        if grouping is None and shape.grouping:
            together.setdefault(shape.grouping, set()).update(scope)
    return [*scopes, *(tuple(sorted(each)) for each in together.values())]


def _placed(
    number: int,
    scope: tuple[int, ...],
    axes: Sequence[_Axis],
    grouping: Grouping | None,
    *,
    empty: bool,
) -> Place:
    """Return where the rows of one shape lie."""
    everywhere = not empty and all(_holds(axis, number).any() for axis in axes)
    shape = tuple(len(axes[at].members) for at in scope)
    inside = np.full(shape, everywhere)
    for k, at in enumerate(scope):
        inside &= _along(_holds(axes[at], number), k, len(scope))
    if grouping is None:
        return Place(scope, inside, inside, None, 0)
    region = inside.copy()
    cells = np.zeros(shape, dtype=np.intp)
    for name, values in zip(grouping.attributes, grouping.values, strict=True):
        axis = next(each for each in axes if each.name == name)
        places = [k for k, at in enumerate(scope) if axes[at] is axis]
        # An axis of one class is on no scope: the same cell everywhere.
        numbers = _along(_cells_along(axis, number), places[0] if places else 0, len(scope))
        cells = cells * len(values) + numbers
        inside &= numbers >= 0
    return Place(scope, region, inside, np.where(inside, cells, 0), grouping.cells)


def _holds(axis: _Axis, number: int) -> NDArray[np.bool_]:
    """Return which classes of an axis a shape's region holds."""
    asked = axis.regions[number]
    return np.array([bool(each >> asked & 1) for each in axis.members], dtype=np.bool_)


def _cells_along(axis: _Axis, number: int) -> NDArray[np.intp]:
    """Return the number of the value that each class of an axis counts as, -1 for none."""
    sets = {1 << each: at for at, each in enumerate(axis.cells[number])}
    mask = sum(sets)
    return np.array([sets.get(each & mask, -1) for each in axis.members], dtype=np.intp)


def _along(values: NDArray[Any], axis: int, axes: int) -> NDArray[Any]:
    """Return a vector as a tensor of so many axes that runs along one of them."""
    return values.reshape([-1 if k == axis else 1 for k in range(axes)])
