"""How much loss the worst-placed event carries: charges swept over time.

Guarantee: the result is exact over time. Over predicates it is a SAFE BOUND: the cells of different
queries are taken to overlap wherever their windows do, as if one row could satisfy all of them. The
true maximum overlap (Parallel Composition, Theorem 6) is never larger, so the bound never
understates a loss. Cells of one window are disjoint groups and count once (``Held.loss_units``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Held", "worst_instant"]


@dataclass(frozen=True, slots=True)
class Held:
    """A charge that counts against the wall.

    Args:
        start_ms: start of its window.
        end_ms: end of its window, exclusive.
        loss_units: its loss for a row inside the window, in loss units, >= 0.
    """

    start_ms: int
    end_ms: int
    loss_units: int


def worst_instant(charges: Iterable[Held], *, within: tuple[int, int] | None = None) -> int:
    """Return the largest sum of charges covering one instant, in loss units.

    Args:
        charges: half-open windows and their losses, in any order.
        within: ``[start_ms, end_ms)`` to look at; all of time when left out.

    Returns:
        The maximum over instants; 0 where nothing covers any. O(n log n).
    """
    edges: list[tuple[int, int]] = []
    for charge in charges:
        start_ms, end_ms = charge.start_ms, charge.end_ms
        if within is not None:
            start_ms, end_ms = max(start_ms, within[0]), min(end_ms, within[1])
        if start_ms < end_ms:
            edges.append((start_ms, charge.loss_units))
            edges.append((end_ms, -charge.loss_units))
    # At one instant ends come before starts (negative first): windows are half-open.
    edges.sort()
    level = worst = 0
    for _, change in edges:
        level += change
        worst = max(worst, level)
    return worst
