"""What has reached its cap: rows that can count no more are known before anything is sorted.

A full place stays full. Most events of a long window are of people who are in their cells already,
and looking their places up costs a few steps, where bringing them together with all kept rows costs
a sort.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stream.events.grouping import occurrence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.counting.bounding import Contributions

__all__ = ["Full"]

_FACTORS: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SLOTS_OF_ONE: Final = 4


class Full:
    """The (unit, period, cell) of which a statistic counts nothing more, for every statistic.

    Guarantee: ``narrowed`` only takes away what stands behind as many rows of its own place as its
    statistic counts, all of them among the rows given here. So it may come before bounding: the
    rest is bounded as the whole would have been (see ``Bounds.compact``). It takes nothing away
    from rows of another roster, and may miss a full place that has to share a slot.

    Args:
        rows: in log order, bounded: of any place at most so many as its cap.
        caps: per statistic, rows of a place that it counts; ``None`` where that is not limited.
    """

    def __init__(self, rows: Contributions, caps: Sequence[int | None]) -> None:
        self._roster = rows.unit.roster
        self._shift = np.uint64(64 - (_SLOTS_OF_ONE * len(rows)).bit_length())
        self._full: dict[int, tuple[Contributions, NDArray[np.int32]]] = {}
        for statistic, cap in enumerate(caps):
            if cap is None:
                continue
            own = rows.of_statistic(statistic)
            own = own.take(occurrence(own.unit.number, own.period, own.cell) == cap - 1)
            if len(own):
                slots = np.zeros(1 << (64 - int(self._shift)), np.int32)
                slots[self._slot(own)] = np.arange(len(own))
                self._full[statistic] = own, slots

    def narrowed(self, rows: Contributions) -> Contributions:
        """Return the rows that may still count in some statistic."""
        if rows.unit.roster is not self._roster or not self._full:
            return rows
        counts, slot = rows.counts.copy(), self._slot(rows)
        for statistic, (full, slots) in self._full.items():
            at = slots[slot]
            same = full.cell.take(at) == rows.cell
            same &= full.unit.number.take(at) == rows.unit.number
            same &= full.period.take(at) == rows.period
            counts[statistic] &= ~same
        return rows.counting(counts)

    def _slot(self, rows: Contributions) -> NDArray[np.intp]:
        """Return where each row's place is looked for."""
        mixed = np.zeros(len(rows), np.uint64)
        columns = (rows.unit.number, rows.cell, rows.period)
        for column, factor in zip(columns, _FACTORS, strict=True):
            mixed ^= column.view(np.uint64) * np.uint64(factor)
        return (mixed >> self._shift).view(np.intp)
