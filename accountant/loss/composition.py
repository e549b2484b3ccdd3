"""Predicate-wise composition: what decisions over different regions and groups cost together.

Guarantee: if every charge bounds the log-likelihood ratio of its decision for every row that a
neighbour may lack, then the sum over the charges bounds that of all decisions together, row by row;
the largest sum over rows is the loss under unit ``event``, and the largest over the rows of a
predicate is that predicate's loss. Where an answer is not exact it is too large, never too small.
Proof: ``docs/research/proofs/composition.md``.

Nothing is intersected in advance: ``k`` charges may have the product of their cells as predicates,
but only classes of values per attribute are made (:mod:`accountant.loss.tables`), and attributes
eliminated. Where tables would be too large, cells are searched as regions of their own; where there
are too many, each charge is taken at its dearest cell.

Source: MIDE, Theorem 5 (composition of predicate-wise DP) and Theorem 6 (its loss as plain DP).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import WHOLE, expect, instance_of, several
from accountant.errors import ArgumentError
from accountant.loss import tables
from accountant.loss.maxoverlap.solver import maximum_overlap
from accountant.loss.rowcharges import RowCharge, row_loss, value_key
from accountant.regions.regions import Region

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from accountant.regions.regions import Value

__all__ = ["NODE_LIMIT", "PredicateLosses", "WorstRow", "loss_by_predicate", "worst_row"]

NODE_LIMIT: Final = 5_000
"""Nodes that a search visits before it settles for a bound."""

_MOST_REGIONS: Final = 2_000  # that cells are searched as
_MOST_SEARCHES: Final = 1_000  # for the cells of one query


@dataclass(frozen=True, slots=True)
class WorstRow:
    """The row that loses the most.

    Args:
        value: the loss of ``row``, in loss units.
        upper_bound: no row loses more.
        row: values of the attributes that matter; it loses the same whatever others it has.
    """

    value: int
    upper_bound: int
    row: Mapping[str, Value]

    @property
    def exact(self) -> bool:
        """Whether no row loses more than ``row`` does."""
        return self.value == self.upper_bound


@dataclass(frozen=True, slots=True)
class PredicateLosses:
    """What the rows of every cell of a query lost at most.

    Args:
        units: loss units per cell, shape (cells,); 0 for a cell that no row can be in.
        exact: whether some row of every cell lost that; otherwise they are safe bounds.
    """

    units: NDArray[np.int64]
    exact: bool


def worst_row(charges: Iterable[RowCharge], *, node_limit: int = NODE_LIMIT) -> WorstRow:
    """Return the row that loses the most over all charges: the loss under unit ``event``.

    Rows have any values that a ``ValueSet`` knows; a region that should hold values of declared
    domains only is narrowed first (``Region.within``).

    Source: MIDE, Theorems 5 and 6; ``docs/research/proofs/composition.md``.

    Args:
        charges: any charges, in any order.
        node_limit: where tables would be too large, nodes of a search to visit before settling for
            a bound, at least 1. The answer depends on nothing else, such as a clock.

    Raises:
        ValueError: ``node_limit`` is below 1, or the losses add up to 2^63 and more.
    """
    if not hasattr(charges, "__iter__"):
        raise ArgumentError("charges are a list of RowCharge", hint="write [RowCharge(...), ...]")
    charges = list(charges)
    expect(several(instance_of(RowCharge)), charges=charges)
    _expect_nodes(node_limit)
    costly = _costly(charges)
    found = tables.tables_of(costly, tables.axes_of(costly))
    if found is not None:
        value, dearest = found.dearest()
        return WorstRow(value, value, dearest)
    if sum(len(each.cells) for each in costly) <= _MOST_REGIONS:
        parts = [part for each in costly for part in _parts(each)]
    else:
        parts = [(each.region, each.cost.worst_units) for each in costly]
    regions, units = zip(*parts, strict=True)
    overlap = maximum_overlap(regions, units, work_limit=None, node_limit=node_limit)
    row: dict[str, Value] = {}
    for each in costly:
        row |= zip(each.group_by, each.cells.values[0], strict=True)
    row |= overlap.witness
    return WorstRow(row_loss(costly, row), int(overlap.upper_bound), row)


def loss_by_predicate(
    charges: Iterable[RowCharge], query: RowCharge, *, node_limit: int = NODE_LIMIT
) -> PredicateLosses:
    """Return, for every cell of a query, the worst loss of a row in it over all charges.

    Args:
        charges: what was charged; the query's own charge counts only if it is among them.
        query: the cells, with their region and group-by; its cost is not looked at.
        node_limit: as in ``worst_row``, which is asked for each of up to 1,000 cells where tables
            would be too large, and once for all of more.

    Raises:
        ValueError: as ``worst_row``.
    """
    _expect_nodes(node_limit)
    within = _costly(_narrowed(each, query.region) for each in _costly(charges))
    axes = tables.axes_of([*within, query])
    found = tables.tables_of(within, axes, kept=query.group_by)
    exact = True
    if found is not None:
        units = found.by_cell(query)
    elif len(query.cells) <= _MOST_SEARCHES:
        cells = [
            Region.of(dict(zip(query.group_by, cell, strict=True))) for cell in query.cells.values
        ]
        rows = [
            worst_row([_narrowed(each, cell) for each in within], node_limit=node_limit)
            for cell in cells
        ]
        units = np.array([each.upper_bound for each in rows], dtype=np.int64)
        exact = all(each.exact for each in rows)
    else:
        bound = worst_row(within, node_limit=node_limit).upper_bound
        units = np.full(len(query.cells), bound, dtype=np.int64)
        exact = False
    for axis in axes:
        if axis.name in query.group_by:
            units *= axis.holds(query.region.values(axis.name))[axis.cells_of(query)]
    if query.region.empty:
        units[:] = 0
    return PredicateLosses(units, exact)


def _parts(charge: RowCharge) -> list[tuple[Region, int]]:
    """Return the cells of a charge as regions, those in one that differ in the last value alone."""
    alike: dict[tuple[int, tuple[object, ...]], list[tuple[Value, ...]]] = {}
    for cell, units in zip(charge.cells.values, charge.costs.as_array().tolist(), strict=True):
        alike.setdefault((units, tuple(map(value_key, cell[:-1]))), []).append(cell)
    parts: list[tuple[Region, int]] = []
    for (units, _), cells in alike.items():
        held = {name: [cell[at] for cell in cells] for at, name in enumerate(charge.group_by)}
        parts.append((charge.region & Region.of(held), units))
    return parts


def _narrowed(charge: RowCharge, region: Region) -> RowCharge:
    return replace(charge, region=charge.region & region)


def _expect_nodes(node_limit: int) -> None:
    expect(WHOLE, node_limit=node_limit)
    if node_limit < 1:
        raise ArgumentError(
            "a search visits at least one node", hint="write node_limit=1 or more, or leave it out"
        )


def _costly(charges: Iterable[RowCharge]) -> list[RowCharge]:
    """Return the charges that may cost some row something.

    Raises:
        ValueError: the losses add up to 2^63 and more.
    """
    kept = [each for each in charges if each.cost.worst_units and not each.region.empty]
    if sum(each.cost.worst_units for each in kept) >= 2**63:
        raise ArgumentError("losses add up to 2^63 loss units or more")
    return kept
