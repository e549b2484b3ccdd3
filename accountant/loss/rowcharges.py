"""Charges over rows: which rows a decision concerned, and what each of them lost by it.

A query counts the rows of a region in cells: groups of rows that agree on its group-by attributes.
A decision costs a row of the region the loss of its cell, and every other row nothing (predicate-
wise DP: MIDE, Definitions 4 and 5). Time is an attribute like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from accountant.costs.levels import LevelCosts, level_costs
from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accountant.costs.charges import CellCosts
    from accountant.regions.regions import Region, Value

__all__ = ["Cells", "RowCharge", "row_loss", "value_key"]

_Key: TypeAlias = tuple[object, ...]


class Cells:
    """The cells of one query in order: per cell, its value of every group-by attribute.

    Immutable, and meant to be shared by all charges of a query: a domain of 100,000 values is then
    looked at once.

    Args:
        values: one tuple per cell, all of one length, no two equal. Truth values are no numbers:
            ``(True,)`` and ``(1,)`` are two cells.

    Raises:
        ValueError: no cell, tuples of different lengths, the same cell twice, or a value that is
            NaN, infinite, or not a truth value, number or string.
    """

    def __init__(self, values: Iterable[tuple[Value | float, ...]]) -> None:
        self._values = tuple(tuple(_exact(value) for value in cell) for cell in values)
        if not self._values:
            raise ArgumentError("a query has at least one cell")
        if len({len(cell) for cell in self._values}) > 1:
            raise ArgumentError("every cell has one value per group-by attribute")
        self._places = {_cell_key(cell): at for at, cell in enumerate(self._values)}
        if len(self._places) < len(self._values):
            raise ArgumentError("a query has no cell twice")

    @classmethod
    def of(cls, *values: Value | float) -> Cells:
        """Return the cells of one group-by attribute with these values, in this order."""
        return cls((value,) for value in values)

    @classmethod
    def single(cls) -> Cells:
        """Return the one cell of a query without group-by."""
        return _SINGLE

    @property
    def values(self) -> tuple[tuple[Value, ...], ...]:
        """The cells in order, numbers exact."""
        return self._values

    @property
    def width(self) -> int:
        """How many group-by attributes they have."""
        return len(self._values[0])

    def find(self, values: tuple[object, ...]) -> int | None:
        """Return the place of the cell with these values, ``None`` if there is none."""
        return self._places.get(_cell_key(values))

    def __len__(self) -> int:
        """Return how many cells there are."""
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Say whether both have the same cells in the same order."""
        if not isinstance(other, Cells):
            return NotImplemented
        return self is other or list(self._places) == list(other._places)

    def __hash__(self) -> int:
        """Return a hash of the cells."""
        return self._hash

    def __repr__(self) -> str:
        """Return how many cells there are: their values may be many."""
        return f"Cells({len(self)} cells of {self.width} values)"

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self._places))


@dataclass(frozen=True, slots=True)
class RowCharge:
    """What one decision cost the rows it concerned.

    A row inside ``region`` whose group-by values are those of a cell lost the cost of that cell;
    any other row lost nothing.

    Args:
        region: rows that could count; the window's time is a condition of it.
        group_by: group-by attributes, none twice; empty for a query of one cell.
        cells: its cells, their values in the order of ``group_by``.
        cost: loss per cell, in the order of ``cells``.

    Raises:
        ValueError: an attribute twice, or cells that fit neither the attributes nor the costs.
        TypeError: the costs say nothing of single cells.
    """

    region: Region
    group_by: tuple[str, ...]
    cells: Cells
    cost: CellCosts

    def __post_init__(self) -> None:
        """Refuse charges that would read the wrong cell's cost."""
        if len(set(self.group_by)) < len(self.group_by):
            raise ArgumentError("a group-by names an attribute once")
        if self.cells.width != len(self.group_by):
            raise ArgumentError("a cell has one value per group-by attribute")
        if self.costs.cells != len(self.cells):
            raise ArgumentError("a charge has one cost per cell")

    @property
    def costs(self) -> LevelCosts:
        """The cost as levels."""
        return level_costs(self.cost)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute that decides what a row loses, sorted."""
        return tuple(sorted({*self.region.attributes, *self.group_by}))

    def loss(self, row: Mapping[str, Value]) -> int:
        """Return what a row lost, in loss units; without a group-by attribute it is in no cell."""
        if not self.region.contains(row) or any(name not in row for name in self.group_by):
            return 0
        cell = self.cells.find(tuple(row[name] for name in self.group_by))
        return 0 if cell is None else self.costs.units(cell)


def row_loss(charges: Iterable[RowCharge], row: Mapping[str, Value]) -> int:
    """Return what one row lost over all charges, in loss units.

    Source: MIDE, Theorem 5; ``docs/research/proofs/composition.md``.

    Args:
        charges: any charges, in any order.
        row: its attributes; one it lacks meets no condition.

    Raises:
        ValueError: a value that a region looks at is NaN, infinite or of no known kind.
    """
    return sum(charge.loss(row) for charge in charges)


def value_key(value: object) -> object:
    """Return what stands for a value in a dictionary: Python takes True for 1, we do not."""
    return _TRUTH[value] if isinstance(value, bool) else value


def _cell_key(values: tuple[object, ...]) -> _Key:
    return tuple([value_key(value) for value in values])


def _exact(value: Any) -> Value:
    match value:
        case bool() | int() | Fraction() | str():
            return value
        case float() if math.isfinite(value):
            return Fraction(value)
        case _:
            raise ArgumentError("a cell's value is a truth value, a finite number or a string")


_TRUTH: Final = {False: ("truth", False), True: ("truth", True)}
_SINGLE: Final = Cells([()])
