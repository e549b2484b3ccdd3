"""Queries over small domains, and every row that they can tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from accountant.regions.groupings import Grouping
from accountant.regions.regions import Region, ValueSet
from accountant.regions.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

SIZES = {"x": 3, "y": 3, "z": 2}
OUTSIDE = 9
"""Stands for every value that no query declares."""
ROWS = [
    dict(zip(SIZES, values, strict=True))
    for values in product(*([*range(size), OUTSIDE] for size in SIZES.values()))
]
EVERYWHERE = np.ones(len(ROWS), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Query:
    """A query over small domains: which values it asks for, and the order of those it groups by."""

    name: str
    where: Mapping[str, frozenset[int]]
    by: Mapping[str, tuple[int, ...]]
    opaque: bool = False

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return int(np.prod([len(values) for values in self.by.values()], dtype=np.int64))

    @property
    def region(self) -> Region:
        """The rows that it asks for, whatever it groups by."""
        return Region.of({name: ValueSet.integers(*held) for name, held in self.where.items()})

    @cached_property
    def shape(self) -> Shape:
        """What the ledger is told of it."""
        grouped = {name: ValueSet.integers(*values) for name, values in self.by.items()}
        values = tuple(tuple(map(ValueSet.integers, held)) for held in self.by.values())
        grouping = Grouping(f"{sorted(self.by.items())}", tuple(self.by), values)
        region = self.region & Region.of(grouped)
        return Shape(region.canonical, grouping.name if self.opaque else grouping.text)

    @cached_property
    def inside(self) -> Any:
        """Which of the rows it counts."""
        return self.row_cells >= 0

    @cached_property
    def row_cells(self) -> Any:
        """The cell that counts each of the rows, -1 for none."""
        return np.array(list(map(self._cell, ROWS)))

    def lost(self, costs: Sequence[int]) -> Any:
        """Return what each of the rows loses where cells cost so much."""
        return np.where(self.inside, np.array(costs)[self.row_cells], 0)

    def _cell(self, row):
        """Return the cell that counts a row, worked out value by value."""
        if any(row[name] not in values for name, values in self.where.items()):
            return -1
        cell = 0
        for name, values in self.by.items():
            if row[name] not in values:
                return -1
            cell = cell * len(values) + values.index(row[name])
        return cell


def random_query(rng: Random, name: str, *, opaque: float = 0.0, least: int = 1) -> Query:
    """Draw a query.

    Args:
        rng: draws it.
        name: of it.
        opaque: how likely its cells are known by a name alone.
        least: of how many values of an attribute it asks for; 0 makes a contradiction.
    """
    where = {
        each: frozenset(rng.sample(range(size), rng.randint(least, size)))
        for each, size in SIZES.items()
        if rng.random() < 0.5
    }
    by = {
        each: tuple(rng.sample(range(SIZES[each]), rng.randint(1, SIZES[each])))
        for each in rng.sample(list(SIZES), rng.choice([0, 1, 1, 2]))
    }
    return Query(name, where, by, rng.random() < opaque)
