"""The dearest of all combinations of classes, one attribute after the other.

A row is one class of values per attribute, and each loss hangs on a few attributes only: a tensor
over their classes. So the dearest row need not be looked for among all combinations: attributes
are eliminated one by one (Bertele and Brioschi 1972). What hangs on one of them is added up, and
the dearest of its classes kept for every combination of the others. All of it is whole numbers, and
the result is the largest sum over all rows, no less and no more.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["Axes", "Factor", "Losses", "added", "eliminated", "order_of", "spread"]

Axes: TypeAlias = tuple[int, ...]
"""Attributes by number, ascending."""
Losses: TypeAlias = NDArray[np.int64]
Factor: TypeAlias = tuple[Axes, Losses]
"""Losses over the classes of some attributes."""

_MOST_TRIED = 10
"""Linked attributes up to which the best of all orders is found; beyond, they go by name."""


def eliminated(
    factors: Iterable[Factor], order: Iterable[int]
) -> tuple[list[Factor], list[tuple[int, Factor]]]:
    """Return the losses left when some axes are gone, and per axis the sum of what hung on it."""
    left = list(factors)
    sums: list[tuple[int, Factor]] = []
    for axis in order:
        hanging = [factor for factor in left if axis in factor[0]]
        if hanging:
            axes, total = added(hanging)
            sums.append((axis, (axes, total)))
            others = tuple(each for each in axes if each != axis)
            left = [factor for factor in left if axis not in factor[0]]
            left.append((others, total.max(axis=axes.index(axis))))
    return left, sums


def added(factors: Sequence[Factor]) -> Factor:
    """Return the sum of some losses, over all axes that one of them hangs on."""
    axes = tuple(sorted({each for axes, _ in factors for each in axes}))
    total = spread(*factors[0], axes)
    for factor in factors[1:]:
        total = total + spread(*factor, axes)
    return axes, total


def spread(mine: Axes, values: NDArray[Any], axes: Axes) -> NDArray[Any]:
    """Return values over some axes as values over more, that do not depend on those."""
    sizes = iter(values.shape)
    return values.reshape([next(sizes) if axis in mine else 1 for axis in axes])


def order_of(
    counts: Sequence[int], scopes: Iterable[Axes], most: int, kept: Collection[int] = ()
) -> Axes | None:
    """Return an order of elimination; ``None`` where every one that is tried takes too much.

    What it takes depends on the scopes alone, never on losses, and only grows with them.

    Args:
        counts: classes per axis.
        scopes: axes that some losses hang on together, each of more than one class.
        most: combinations of classes that one elimination may look at.
        kept: axes that stay.
    """
    linked = [0] * len(counts)
    for scope in scopes:
        if prod(counts[at] for at in scope) > most:
            return None
        every = sum(1 << at for at in scope)
        for at in scope:
            linked[at] |= every & ~(1 << at)
    order: list[int] = []
    for group in _groups(counts, linked, kept):
        found: list[int] | None = group
        if _by_name(counts, linked, group) > most:
            found = _best(counts, linked, group, most) if len(group) <= _MOST_TRIED else None
        if found is None:
            return None
        order += found
    return tuple(order)


def _groups(counts: Sequence[int], linked: Sequence[int], kept: Collection[int]) -> list[list[int]]:
    """Return the axes of more than one class, in groups that nothing links, each by name."""
    waiting = sum(1 << at for at, count in enumerate(counts) if count > 1 and at not in kept)
    groups: list[list[int]] = []
    while waiting:
        group = _reached(linked, waiting & -waiting, waiting) & waiting
        waiting &= ~group
        groups.append(_bits(group))
    return groups


def _by_name(counts: Sequence[int], linked: Sequence[int], group: Sequence[int]) -> int:
    """Return the most combinations that one elimination looks at, in the order of names."""
    gone = worst = 0
    for at in group:
        worst = max(worst, _entries(counts, linked, gone, at))
        gone |= 1 << at
    return worst


def _best(
    counts: Sequence[int], linked: Sequence[int], group: Sequence[int], most: int
) -> list[int] | None:
    """Return the order whose largest elimination is smallest, by dynamic programming over sets."""
    best: dict[int, tuple[int, list[int]]] = {0: (0, [])}
    for _ in group:
        longer: dict[int, tuple[int, list[int]]] = {}
        for gone, (worst, order) in best.items():
            for at in group:
                if gone >> at & 1:
                    continue
                each = max(worst, _entries(counts, linked, gone, at))
                after = gone | 1 << at
                if each <= most and (after not in longer or each < longer[after][0]):
                    longer[after] = each, [*order, at]
        best = longer
    return next((order for _, order in best.values()), None)


def _entries(counts: Sequence[int], linked: Sequence[int], gone: int, at: int) -> int:
    """Return how many combinations eliminating an axis looks at, once others are gone."""
    reached = _reached(linked, 1 << at, gone | 1 << at)
    return prod(counts[each] for each in _bits(reached & ~gone | 1 << at))


def _reached(linked: Sequence[int], start: int, through: int) -> int:
    """Return what links lead to from some axes, through some of them only."""
    reached, waiting = start, _bits(start)
    while waiting:
        fresh = linked[waiting.pop()] & ~reached
        reached |= fresh
        waiting += _bits(fresh & through)
    return reached


def _bits(mask: int) -> list[int]:
    return [at for at in range(mask.bit_length()) if mask >> at & 1]
