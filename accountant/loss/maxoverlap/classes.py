"""Rows as one class of values per attribute: what a row can be, seen from a list of regions.

Two values of an attribute that are in the same of the regions' sets cannot be told apart by the
regions, so a row is a choice of one class per attribute. A class whose regions are all among those
of another one is never the better choice and is left out (Parallel Composition, Proposition 5: the
maximum is reached on a set of regions that no other one contains).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.regions.patterns import maximal, members_of
from accountant.regions.regions import elementary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from accountant.regions.regions import Region, Value, ValueSet

__all__ = ["Attribute", "attributes_of"]

_MOST_FILTERED = 50_000  # comparing more classes with one another costs more than it saves
_MOST_CELLS = 25_000_000  # of a matrix of classes and regions


@dataclass(frozen=True, slots=True)
class Attribute:
    """The classes of values of one attribute that a worst row can have.

    Where there are too many, neighbouring classes are merged into one that is in every region that
    one of them is in. No bound on rows becomes too low by that, but the witness of a merged class
    may be in fewer regions.

    Args:
        name: of the attribute.
        constrained: bit ``i`` is set if region ``i`` constrains the attribute.
        members: per class, which of the constraining regions hold its values.
        holds: the same as a matrix, classes by regions; false where a region does not constrain.
        witnesses: per class, one of its values.
    """

    name: str
    constrained: int
    members: tuple[int, ...]
    holds: NDArray[np.bool_]
    witnesses: tuple[Value, ...]


def attributes_of(regions: Sequence[Region]) -> list[Attribute]:
    """Return the constrained attributes of non-empty regions, by name, with their classes."""
    asking: dict[str, dict[int, ValueSet]] = {}
    for at, region in enumerate(regions):
        for name, values in region.conditions:
            asking.setdefault(name, {})[at] = values
    return [_attribute(name, len(regions), asking[name]) for name in sorted(asking)]


def _attribute(name: str, count: int, asking: Mapping[int, ValueSet]) -> Attribute:
    classes = elementary(list(asking.values()))
    kept = maximal([each.members for each in classes], _MOST_FILTERED)
    merged = -(-len(kept) * count // _MOST_CELLS)
    firsts = kept[:: max(1, merged)]
    holds = np.zeros((len(firsts), count), dtype=np.bool_)
    columns = np.array(list(asking))
    for at, each in enumerate(kept):
        holds[at // max(1, merged), columns] |= members_of(classes[each].members, len(asking))
    packed = np.packbits(holds, axis=1, bitorder="little")
    return Attribute(
        name,
        sum(1 << at for at in asking),
        tuple(int.from_bytes(row.tobytes(), "little") for row in packed),
        holds,
        tuple(classes[each].witness for each in firsts),
    )
