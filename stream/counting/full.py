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

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SLOTS_OF_ONE: Final = 8
_FREE: Final = -1


class Full:
    """The (unit, cell) of which a statistic counts nothing more in a period, for every statistic.

    Guarantee: ``narrowed`` only takes away what stands behind as many rows of its own unit, period
    and cell as its statistic counts, all of them among the rows given here. So it may come before
    bounding: the rest is bounded as the whole would have been (see ``Bounds.compact``). It takes
    nothing away from rows of another roster or period, and may miss what shares a slot.

    Args:
        rows: in log order, bounded: of any place at most so many as its cap.
        caps: per statistic, rows of a place that it counts; ``None`` where that is not limited.
        cells: number of groups.
    """

    def __init__(self, rows: Contributions, caps: Sequence[int | None], cells: int) -> None:
        self._roster, self._cells = rows.unit.roster, cells
        self._period = rows.period.max()
        now = rows.period == self._period
        bits = (_SLOTS_OF_ONE * len(rows)).bit_length()
        self._shift = np.uint64(64 - bits)
        self._tables: dict[int, NDArray[np.int64]] = {}
        place = self._place(rows)
        for statistic, cap in enumerate(caps):
            if cap is None:
                continue
            full = place[rows.counts[statistic] & now]
            if cap > 1:
                full = full[occurrence(full) == cap - 1]
            table = self._tables[statistic] = np.full(1 << bits, _FREE)
            table[self._slot(full)] = full

    def narrowed(self, rows: Contributions) -> Contributions:
        """Return the rows that may still count in some statistic."""
        same = rows.unit.roster is self._roster
        if not (same and bool((rows.period == self._period).all())):
            return rows
        counts, place = rows.counts.copy(), self._place(rows)
        slot = self._slot(place)
        for statistic, table in self._tables.items():
            counts[statistic] &= table.take(slot) != place
        return rows.counting(counts)

    def _place(self, rows: Contributions) -> NDArray[np.int64]:
        """Return a number for each row's unit and cell."""
        return rows.unit.number * self._cells + rows.cell

    def _slot(self, place: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return where each place is looked for."""
        return ((place.view(np.uint64) * _FACTOR) >> self._shift).view(np.intp)
