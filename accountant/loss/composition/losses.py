"""Predicate-wise composition: what decisions over different regions and groups cost together.

Guarantee: if every charge bounds the log-likelihood ratio of its decision for every row that a
neighbour may lack, then the sum over the charges bounds that of all decisions together, row by row;
the largest sum over rows is the loss under unit ``event``, and the largest over the rows of a
predicate is that predicate's loss. Where an answer is not exact it is too large, never too small.
Proof: ``docs/proofs/composition.md``.

Nothing is intersected in advance: ``k`` charges may have the product of their cells as predicates,
but only classes of values per attribute are made, and few of their combinations visited.

Source: MIDE, Theorem 5 (composition of predicate-wise DP) and Theorem 6 (its loss as plain DP).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ArgumentError
from accountant.loss.composition.cells import OuterLosses, cell_losses
from accountant.loss.composition.charges import RowCharge
from accountant.loss.composition.classes import holds, maximal_classes
from accountant.loss.composition.worst import NODE_LIMIT, costly
from accountant.regions.patterns import members_of
from accountant.regions.regions import Region, ValueSet, elementary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["PredicateLosses", "loss_by_predicate"]

_KEPT: Final = 64  # charges whose loss per cell is kept at hand
_MOST_PRODUCTS: Final = 2**17  # patterns of two attributes combined at a time


@dataclass(frozen=True, slots=True)
class PredicateLosses:
    """What the rows of every cell of a query lost at most.

    Args:
        units: loss units per cell, shape (cells,); 0 for a cell that no row can be in.
        exact: whether some row of every cell lost that; otherwise they are safe bounds.
    """

    units: NDArray[np.int64]
    exact: bool


def loss_by_predicate(
    charges: Iterable[RowCharge], query: RowCharge, *, node_limit: int = NODE_LIMIT
) -> PredicateLosses:
    """Return, for every cell of a query, the worst loss of a row in it over all charges.

    Charges grouped by attributes of the query cost the rows of a cell the same: they are added up
    as vectors, once per set of charges that can concern one row together. For the others the cells
    that they do not tell apart are searched once.

    Args:
        charges: what was charged; the query's own charge counts only if it is among them.
        query: the cells, with their region and group-by; its cost is not looked at.
        node_limit: as in ``worst_row``, of any one search; each of many gets a smaller share.

    Raises:
        ValueError: as ``worst_row``.
    """
    if node_limit < 1:
        raise ArgumentError("a search expands at least one node")
    within = [
        RowCharge(region, charge.group_by, charge.cells, charge.cost)
        for charge in costly(charges)
        if not (region := charge.region & query.region).empty
    ]
    grouped_within = [set(charge.group_by) <= set(query.group_by) for charge in within]
    inner = list(compress(within, grouped_within))
    outer = [each for each, is_inner in zip(within, grouped_within, strict=True) if not is_inner]
    patterns, split, exact = _patterns(inner, query.group_by, only_maximal=not outer)
    rest = OuterLosses(outer, query, searches=len(patterns), node_limit=node_limit)
    units = np.zeros(len(query.cells), dtype=np.int64)
    # Neighbouring patterns share most charges, and a period may have more than fit in memory.
    losses = lru_cache(maxsize=_KEPT)(lambda at: cell_losses(inner[at], query))
    for pattern in patterns:
        together = np.flatnonzero(members_of(pattern, len(inner))).tolist()
        total = rest.within(_common(inner, together, split))
        for at in together:
            total += losses(at)
        np.maximum(units, total, out=units)
    if query.region.empty:
        units[:] = 0
    for at, name in enumerate(query.group_by):
        column = query.cells.column(at)
        units *= holds(query.region.values(name), column)[column.codes]
    return PredicateLosses(units=units, exact=exact and rest.exact)


def _patterns(
    charges: Sequence[RowCharge], fixed: Sequence[str], *, only_maximal: bool
) -> tuple[list[int], tuple[str, ...], bool]:
    """Return the sets of charges that can concern one row of a cell, as bits.

    Args:
        charges: charges that cost a cell's rows the same.
        fixed: the group-by attributes, on which the sets do not depend here.
        only_maximal: whether sets that others contain may be left out.

    Returns:
        The sets, the attributes they were told apart by, and whether these are all. With an
        attribute left out a set may hold charges that no one row meets: it costs too much.
    """
    everyone = (1 << len(charges)) - 1
    by_attribute: list[tuple[str, list[int]]] = []
    for name in sorted({name for each in charges for name in each.region.attributes} - {*fixed}):
        # A charge that does not constrain the attribute is in every class.
        sets = [each.region.values(name) for each in charges]
        kept = maximal_classes(sets) if only_maximal else elementary(sets)
        by_attribute.append((name, list(dict.fromkeys(each.members for each in kept))))
    by_attribute.sort(key=lambda each: -len(each[1]))
    patterns = [everyone]
    split: list[str] = []
    for name, members in by_attribute:
        if len(patterns) > 1 and len(patterns) * len(members) > _MOST_PRODUCTS:
            break
        patterns = list(dict.fromkeys(left & right for left in patterns for right in members))
        split.append(name)
    return patterns, tuple(split), len(split) == len(by_attribute)


def _common(charges: Sequence[RowCharge], chosen: Sequence[int], split: Sequence[str]) -> Region:
    """Return the rows that all of some charges hold, as far as the attributes in ``split`` say."""
    common: dict[str, ValueSet] = {}
    for name in split:
        values = ValueSet.everything()
        for each in dict.fromkeys(charges[at].region.values(name) for at in chosen):
            values &= each
        common[name] = values
    return Region.of(common)
