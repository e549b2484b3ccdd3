"""What charges cost all rows, as tables over classes of values that no charge needs told apart.

Two values of an attribute that are in the same of the charges' regions, and that no charge is
grouped by, lose the same. So an attribute has a class per value of some cell, and one per way in
which other values can be in regions (:func:`accountant.regions.regions.elementary`). Of the latter
those are left out that are in no region beyond those of another class: no row needs them to lose
the most (Parallel Composition, Proposition 5). Source of the idea: the elementary predicates of
MIDE, section 4, one attribute at a time instead of all intersections. Proof:
``docs/research/proofs/composition.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.loss.elimination import eliminated, order_of, spread
from accountant.loss.rowcharges import value_key
from accountant.regions.patterns import maximal, members_of
from accountant.regions.regions import elementary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.loss.elimination import Axes, Factor, Losses
    from accountant.loss.rowcharges import Cells, RowCharge
    from accountant.regions.regions import Value, ValueSet

__all__ = ["MOST_ENTRIES", "Axis", "Tables", "axes_of", "axis_of", "tables_of"]

MOST_ENTRIES: Final = 2**23
"""Combinations of classes that one table may have: 64 MiB."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The classes of one attribute.

    Args:
        name: of the attribute.
        witnesses: a value of each class.
        inside: per set of values, which classes it holds.
        codes: the class of every cell of a query, by its cells and the place of the attribute.
    """

    name: str
    witnesses: tuple[Value, ...]
    inside: Mapping[ValueSet | None, NDArray[np.bool_]]
    codes: Mapping[tuple[Cells, int], NDArray[np.intp]]

    def holds(self, values: ValueSet | None) -> NDArray[np.bool_]:
        """Return which classes a region's set of values holds; all where it has none."""
        if values in self.inside:
            return self.inside[values]
        return np.ones(len(self.witnesses), dtype=np.bool_)

    def cells_of(self, charge: RowCharge) -> NDArray[np.intp]:
        """Return the class of every cell of a charge that is grouped by the attribute."""
        return self.codes[charge.cells, charge.group_by.index(self.name)]


def axes_of(charges: Sequence[RowCharge]) -> list[Axis]:
    """Return every attribute that some charges look at, by name."""
    names = sorted({name for charge in charges for name in charge.attributes})
    sets: dict[str, list[ValueSet]] = {name: [] for name in names}
    cells: dict[str, list[tuple[Cells, int]]] = {name: [] for name in names}
    for charge in charges:
        for name, values in charge.region.conditions:
            sets[name].append(values)
        for at, name in enumerate(charge.group_by):
            cells[name].append((charge.cells, at))
    return [axis_of(name, sets[name], cells[name]) for name in names]


def axis_of(name: str, sets: Iterable[ValueSet], cells: Iterable[tuple[Cells, int]] = ()) -> Axis:
    """Return the classes of an attribute.

    Args:
        name: of it.
        sets: of its values, to be told apart.
        cells: of queries, each with the place of the attribute among those that it is grouped by.
    """
    sets, cells = list(dict.fromkeys(sets)), list(dict.fromkeys(cells))
    listed = {value_key(row[at]): row[at] for each, at in cells for row in each.values}
    members = [[value in each for each in sets] for value in listed.values()]
    held = np.array(members, dtype=np.bool_).reshape(len(listed), len(sets))
    # Other values lose nothing to those who list them: only a membership that no listed value has
    # or exceeds is worth having, and the witness of it is then no listed value.
    packed = np.packbits(held, axis=1, bitorder="little")
    known = {int.from_bytes(row.tobytes(), "little") for row in packed}
    classes = elementary(sets)
    others = [classes[at] for at in maximal([each.members for each in classes], len(classes))]
    others = [each for each in others if not any(each.members & ~one == 0 for one in known)]
    held = np.vstack([held, *(members_of(each.members, len(sets)) for each in others)])
    places = {key: at for at, key in enumerate(listed)}
    return Axis(
        name,
        (*listed.values(), *(each.witness for each in others)),
        dict(zip(sets, held.T, strict=True)),
        {
            (each, at): np.array([places[value_key(row[at])] for row in each.values], dtype=np.intp)
            for each, at in cells
        },
    )


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What charges cost all rows.

    Args:
        axes: every attribute that they look at.
        order: those to be eliminated, in their order.
        losses: by the attributes that they hang on.
    """

    axes: Sequence[Axis]
    order: Axes
    losses: Sequence[Factor]

    def dearest(self) -> tuple[int, dict[str, Value]]:
        """Return the largest loss of a row, and a row that has it, where no attribute is kept."""
        left, sums = eliminated(self.losses, self.order)
        chosen = [0] * len(self.axes)
        for axis, (axes, losses) in reversed(sums):
            along = losses[tuple(slice(None) if at == axis else chosen[at] for at in axes)]
            chosen[axis] = int(along.argmax())
        row = {axis.name: axis.witnesses[at] for axis, at in zip(self.axes, chosen, strict=True)}
        return sum(int(losses) for _, losses in left), row

    def by_cell(self, query: RowCharge) -> Losses:
        """Return the largest loss of a row of each cell, where the group-by attributes are kept."""
        places = {
            at: axis.cells_of(query)
            for at, axis in enumerate(self.axes)
            if axis.name in query.group_by
        }
        left, _ = eliminated(self.losses, self.order)
        units = np.zeros(len(query.cells), dtype=np.int64)
        for axes, losses in left:
            units += losses[tuple(places[at] for at in axes)]
        return units


def tables_of(
    charges: Sequence[RowCharge],
    axes: Sequence[Axis],
    *,
    most: int | None = None,
    kept: Sequence[str] = (),
) -> Tables | None:
    """Return what charges cost all rows; ``None`` where that takes too large tables.

    Args:
        charges: their losses add up to less than 2^63.
        axes: of the charges, and perhaps of others.
        most: combinations of classes that one table may have, if fewer than ``MOST_ENTRIES``.
        kept: attributes that are not to be eliminated.
    """
    counts = [len(axis.witnesses) for axis in axes]
    scopes = [
        tuple(at for at, axis in enumerate(axes) if counts[at] > 1 and axis.name in names)
        for names in (set(charge.attributes) for charge in charges)
    ]
    limit = MOST_ENTRIES if most is None else min(most, MOST_ENTRIES)
    staying = [at for at, axis in enumerate(axes) if axis.name in kept]
    order = order_of(counts, scopes, limit, staying)
    if order is None:
        return None
    losses: dict[Axes, Losses] = {}
    for charge, scope in zip(charges, scopes, strict=True):
        if scope not in losses:
            losses[scope] = np.zeros([counts[at] for at in scope], dtype=np.int64)
        _charge(losses[scope], charge, [axes[at] for at in scope])
    return Tables(axes, order, list(losses.items()))


def _charge(losses: Losses, charge: RowCharge, axes: Sequence[Axis]) -> None:
    """Add what a charge costs to losses over the attributes of more than one class it looks at."""
    grouped = tuple(at for at, axis in enumerate(axes) if axis.name in charge.group_by)
    cells = np.zeros([losses.shape[at] for at in grouped], dtype=np.int64)
    units = charge.costs.as_array() if grouped else charge.cost.worst_units
    cells[tuple(axes[at].cells_of(charge) for at in grouped)] = units
    inside = [np.flatnonzero(axis.holds(charge.region.values(axis.name))) for axis in axes]
    costs = spread(grouped, cells, tuple(range(len(axes))))
    within = [held if at in grouped else [0] for at, held in enumerate(inside)]
    losses[np.ix_(*inside)] += costs[np.ix_(*within)]
