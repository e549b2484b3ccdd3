"""Which rows the cells of a query cover, and which queries one row can be in together.

Guarantee: :func:`row_classes` names every maximal set of shapes that share a row, or says that
there are too many to name; both depend on the shapes alone: every worker gives the same answer.

Source: Parallel Composition, Theorem 6 (a row is in at most one of two disjoint regions).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from accountant.regions.patterns import maximal
from accountant.regions.regions import Region, elementary

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ANYWHERE", "MOST_CLASSES", "Shape", "row_classes"]

MOST_CLASSES = 1_024
"""More maximal sets than this are not named: the caller takes a coarser bound."""


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """Which rows the cells of one query cover.

    Args:
        region: canonical text of a region that holds every row that weighs anything in any cell.
        grouping: what the cells are, in order (:mod:`accountant.regions.groupings`): two queries
            of one grouping have the same cells under the same numbers. Empty: nothing is known, its
            cells match no other query's.
    """

    region: str = Region.everything().canonical
    grouping: str = ""

    @property
    def as_region(self) -> Region:
        """The region itself."""
        return _region(self.region)


ANYWHERE = Shape()
"""Of a query that nothing is known about: it may touch every row."""


@lru_cache(maxsize=4_096)
def row_classes(shapes: frozenset[Shape]) -> tuple[frozenset[Shape], ...] | None:
    """Return the maximal sets of shapes that one row can be in.

    Args:
        shapes: any shapes; one whose region is empty is in no set.

    Returns:
        The sets, or ``None`` when there are more than :data:`MOST_CLASSES` on the way.
    """
    order = sorted(shapes)
    regions = [shape.as_region for shape in order]
    masks = [sum(1 << i for i, region in enumerate(regions) if not region.empty)]
    for attribute in sorted({name for region in regions for name in region.attributes}):
        parts = elementary([region.values(attribute) for region in regions])
        members = _kept([part.members for part in parts])
        if len(members) * len(masks) > 16 * MOST_CLASSES:
            return None
        masks = _kept([mask & part for mask in masks for part in members])
        if len(masks) > MOST_CLASSES:
            return None
    return tuple(
        frozenset(shape for i, shape in enumerate(order) if mask >> i & 1)
        for mask in sorted(masks)
        if mask
    )


def _kept(masks: Sequence[int]) -> list[int]:
    return [masks[at] for at in maximal(masks, len(masks))]


@lru_cache(maxsize=4_096)
def _region(text: str) -> Region:
    return Region.parse(text)
