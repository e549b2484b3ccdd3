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

from accountant.regions.regions import elementary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from accountant.regions.regions import Region, Value

__all__ = ["Attribute", "attributes_of", "bits_of", "bitset"]

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
    asking: dict[str, list[int]] = {}
    for at, region in enumerate(regions):
        for name in region.attributes:
            asking.setdefault(name, []).append(at)
    return [_attribute(name, regions, asking[name]) for name in sorted(asking)]


def bitset(positions: Iterable[int]) -> int:
    """Return the integer whose bits at these positions are set."""
    bits = 0
    for at in positions:
        bits |= 1 << at
    return bits


def bits_of(bits: int, count: int) -> NDArray[np.bool_]:
    """Return the lowest ``count`` bits as truth values."""
    packed = np.frombuffer(bits.to_bytes((count + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=count, bitorder="little").view(np.bool_)


def _attribute(name: str, regions: Sequence[Region], asking: Sequence[int]) -> Attribute:
    classes = elementary([regions[at].values(name) for at in asking])
    kept = _maximal([each.members for each in classes], len(asking))
    merged = -(-len(kept) * len(regions) // _MOST_CELLS)
    firsts = kept[:: max(1, merged)]
    holds = np.zeros((len(firsts), len(regions)), dtype=np.bool_)
    columns = np.array(asking)
    for at, each in enumerate(kept):
        holds[at // max(1, merged), columns] |= bits_of(classes[each].members, len(asking))
    packed = np.packbits(holds, axis=1, bitorder="little")
    return Attribute(
        name,
        bitset(asking),
        tuple(int.from_bytes(row.tobytes(), "little") for row in packed),
        holds,
        tuple(classes[each].witness for each in firsts),
    )


def _maximal(patterns: Sequence[int], count: int) -> list[int]:
    """Return which of different patterns are contained in no other one, in their order."""
    if len(patterns) > _MOST_FILTERED:
        return list(range(len(patterns)))
    kept: list[int] = []
    holding = [0] * count  # per region, which of the kept patterns have it
    frequency = sum((bits_of(each, count).astype(np.int64) for each in patterns), np.zeros(count))
    for at in sorted(range(len(patterns)), key=lambda at: (-patterns[at].bit_count(), at)):
        regions = np.flatnonzero(bits_of(patterns[at], count))
        containing = (1 << len(kept)) - 1
        # The rarest region first: it leaves the fewest patterns that could contain this one.
        for region in regions[np.argsort(frequency[regions], kind="stable")].tolist():
            containing &= holding[region]
            if not containing:
                break
        if containing:
            continue
        for region in regions.tolist():
            holding[region] |= 1 << len(kept)
        kept.append(at)
    return sorted(kept)
