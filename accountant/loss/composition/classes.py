"""Values of each attribute sorted into classes that no charge tells apart.

A charge tells two values of an attribute apart if its region holds one and not the other, or if it
is grouped by the attribute and some row would lose more with one than with the other. Values that
no charge tells apart form a class. A class whose every charge is matched or exceeded by another
class is left out where that is cheap to see: no row needs it to lose the most.

Everything else (``accountant.loss.composition.worst``) deals in classes. Source of the idea: the
elementary predicates of MIDE, section 4, one attribute at a time instead of all intersections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from accountant.loss.composition.charges import Column, value_key
from accountant.regions.patterns import maximal, members_of, pattern_of
from accountant.regions.regions import elementary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.loss.composition.charges import Cells, RowCharge
    from accountant.regions.regions import Elementary, Value, ValueSet

__all__ = [
    "AttributeClasses",
    "RowProblem",
    "Table",
    "holds",
    "maximal_classes",
    "row_problem",
    "told_apart",
]

_MOST_PAIRS: Final = 2_000  # patterns up to which every pair is compared; keeping more is only slow


@dataclass(frozen=True, slots=True)
class AttributeClasses:
    """The classes of one attribute and what every charge makes of them.

    Args:
        name: the attribute.
        witnesses: a value of each class.
        gated: charges whose region constrains the attribute and that are not grouped by it.
        gates: whether their region holds each class, shape (gated, classes).
        grouped: charges whose only group-by attribute it is.
        losses: what a row of each class loses to them, 0 outside their region or cells, shape
            (grouped, classes).
        tables: charges grouped by it and others.
    """

    name: str
    witnesses: tuple[Value, ...]
    gated: NDArray[np.intp]
    gates: NDArray[np.bool_]
    grouped: NDArray[np.intp]
    losses: NDArray[np.int64]
    tables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a charge grouped by several attributes, those that cost something.

    Args:
        classes: per attribute (its place in the problem) the class of each cell.
        losses: the loss of each cell.
    """

    classes: Mapping[int, NDArray[np.intp]]
    losses: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Which row loses the most: one class per attribute is to be chosen.

    Args:
        attributes: every attribute that a charge looks at, by name.
        tables: the charges grouped by several attributes.
        largest: per charge the loss of its dearest cell that a row can reach.
        touched: whether each charge looks at each attribute, shape (attributes, charges).
        homes: per charge the attributes it looks at, group-by attributes first.
    """

    attributes: tuple[AttributeClasses, ...]
    tables: Mapping[int, Table]
    largest: NDArray[np.int64]
    touched: NDArray[np.bool_]
    homes: tuple[tuple[int, ...], ...]


def row_problem(charges: Sequence[RowCharge]) -> RowProblem:
    """Return the problem that some charges pose.

    Args:
        charges: any charges; those that cost no row anything may be among them.
    """
    names = sorted({name for charge in charges for name in charge.attributes})
    place = {name: at for at, name in enumerate(names)}
    live = [_live_cells(charge) for charge in charges]
    largest = np.array(
        [
            int(charge.costs.as_array()[cells].max(initial=0)) if not charge.region.empty else 0
            for charge, cells in zip(charges, live, strict=True)
        ],
        dtype=np.int64,
    )
    attributes: list[AttributeClasses] = []
    found: dict[int, dict[int, NDArray[np.intp]]] = {}
    for at, name in enumerate(names):
        classes, codes = _classes(name, charges, live)
        attributes.append(classes)
        for row, cell_classes in codes.items():
            found.setdefault(row, {})[at] = cell_classes
    touched = np.zeros((len(names), len(charges)), dtype=np.bool_)
    for row, charge in enumerate(charges):
        touched[[place[name] for name in charge.attributes], row] = True
    return RowProblem(
        attributes=tuple(attributes),
        tables={
            row: Table(classes, charges[row].costs.as_array()[live[row]])
            for row, classes in found.items()
        },
        largest=largest,
        touched=touched,
        homes=tuple(
            tuple(place[name] for name in dict.fromkeys((*charge.group_by, *charge.attributes)))
            for charge in charges
        ),
    )


def maximal_classes(sets: Sequence[ValueSet]) -> list[Elementary]:
    """Return the classes of values by the sets they belong to, without those another contains."""
    classes = elementary(sets)
    return [classes[at] for at in maximal([each.members for each in classes], _MOST_PAIRS)]


def holds(values: ValueSet, column: Column) -> NDArray[np.bool_]:
    """Return which of the different values of a column are in a set."""
    if values.is_everything:
        return np.ones(len(column.values), dtype=np.bool_)
    return np.fromiter((value in values for value in column.values), np.bool_, len(column.values))


def told_apart(
    columns: Sequence[NDArray[Any]], length: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the place of the first row of each kind, and the kind of every row.

    Args:
        columns: vectors of one length; two rows are of a kind if all columns hold the same there.
        length: their length, which says it where there is no column.
    """
    kinds = np.zeros(length, dtype=np.intp)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        # Both are below the length, so the product stays far from 64 bits.
        _, kinds = np.unique(kinds * (length + 1) + codes, return_inverse=True)
    _, first = np.unique(kinds, return_index=True)
    return first, kinds


def _live_cells(charge: RowCharge) -> NDArray[np.intp]:
    """Return the places of the cells that cost something and that the region holds."""
    live = charge.costs.as_array() > 0
    for at, name in enumerate(charge.group_by):
        values = charge.region.values(name)
        if not values.is_everything:
            column = charge.cells.column(at)
            live &= holds(values, column)[column.codes]
    return np.flatnonzero(live)


def _classes(
    name: str, charges: Sequence[RowCharge], live: Sequence[NDArray[np.intp]]
) -> tuple[AttributeClasses, dict[int, NDArray[np.intp]]]:
    """Return the classes of an attribute, and the class of every live cell of the tables."""
    grouping = [at for at, charge in enumerate(charges) if name in charge.group_by]
    grouped = [at for at in grouping if len(charges[at].group_by) == 1]
    tables = [at for at in grouping if len(charges[at].group_by) > 1]
    gated = [
        at
        for at, charge in enumerate(charges)
        if name in charge.region.attributes and name not in charge.group_by
    ]
    sets = list(dict.fromkeys(charges[at].region.values(name) for at in gated))
    set_of = {values: at for at, values in enumerate(sets)}
    values, lift = _union(
        [(charges[at].cells, charges[at].group_by.index(name)) for at in grouping]
    )

    # Values of some cell: told apart by loss, by row of a table, and by membership.
    losses = np.zeros((len(grouped), len(values.values)), dtype=np.int64)
    for row, at in enumerate(grouped):
        cells = live[at]
        place = lift[charges[at].cells, 0][charges[at].cells.column(0).codes[cells]]
        losses[row, place] = charges[at].costs.as_array()[cells]
    codes: dict[int, NDArray[np.intp]] = {}
    rows_of_tables = []
    for at in tables:
        charge, k = charges[at], charges[at].group_by.index(name)
        codes[at] = lift[charge.cells, k][charge.cells.column(k).codes[live[at]]]
        rows_of_tables.append(_rows_told_apart(charge, k, live[at], codes[at], len(values.values)))
    member = np.array([holds(each, values) for each in sets], dtype=np.bool_)
    member = member.reshape(len(sets), len(values.values))
    first, class_of = told_apart([*losses, *rows_of_tables, *member], len(values.values))

    # Other values lose nothing to those charges: only a membership that no cell's value has or
    # exceeds can make one worth having, and the witness of it is then no cell's value.
    listed = {pattern_of(member[:, at]) for at in told_apart([*member], len(values.values))[0]}
    others = [
        each
        for each in maximal_classes(sets)
        if not any(each.members & other == each.members for other in listed)
    ]
    unlisted = [members_of(each.members, len(sets)) for each in others]
    gates = np.vstack([member[:, first].T, *unlisted]).T
    classes = AttributeClasses(
        name=name,
        witnesses=(*(values.values[at] for at in first), *(each.witness for each in others)),
        gated=np.array(gated, dtype=np.intp),
        gates=gates[[set_of[charges[at].region.values(name)] for at in gated]],
        grouped=np.array(grouped, dtype=np.intp),
        losses=np.pad(losses[:, first], ((0, 0), (0, len(others)))),
        tables=tuple(tables),
    )
    return classes, {at: class_of[places] for at, places in codes.items()}


def _union(
    sources: Sequence[tuple[Cells, int]],
) -> tuple[Column, dict[tuple[Cells, int], NDArray[np.intp]]]:
    """Return the values of all columns as one, and where each column's values are in it."""
    columns = {source: source[0].column(source[1]) for source in sources}
    if len(columns) == 1:
        (column,) = columns.values()
        return column, dict.fromkeys(columns, np.arange(len(column.values)))
    places: dict[object, int] = {}
    values: list[Value] = []
    lift: dict[tuple[Cells, int], NDArray[np.intp]] = {}
    for source, column in columns.items():
        for value in column.values:
            if places.setdefault(value_key(value), len(values)) == len(values):
                values.append(value)
        lift[source] = np.array([places[key] for key in column.places], dtype=np.intp)
    return Column(np.arange(len(values)), tuple(values), places), lift


def _rows_told_apart(
    charge: RowCharge,
    attribute: int,
    live: NDArray[np.intp],
    places: NDArray[np.intp],
    values: int,
) -> NDArray[np.intp]:
    """Return a number per value; equal ones lose the same whatever the other attributes are."""
    others = [
        charge.cells.column(k).codes[live] for k in range(len(charge.group_by)) if k != attribute
    ]
    losses = charge.costs.as_array()[live]
    _, rest = told_apart(others, len(live))
    order = np.lexsort((rest, places))
    ends = np.flatnonzero(np.diff(places[order])) + 1
    numbers: dict[bytes, int] = {}
    rows = np.zeros(values, dtype=np.intp)  # 0: no cell of this charge
    for stretch in np.split(order, ends) if len(order) else ():
        row = rest[stretch].tobytes() + losses[stretch].tobytes()
        rows[places[stretch[0]]] = numbers.setdefault(row, len(numbers) + 1)
    return rows
