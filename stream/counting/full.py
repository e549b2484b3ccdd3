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
    from numpy.typing import NDArray

    from stream.counting.bounding import Bounds, Contributions
    from stream.events.units import Units

__all__ = ["Full"]

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SLOTS_OF_ONE: Final = 8
_SLOT_BYTES: Final = 8
_FREE: Final = -1


class Full:
    """The (unit, place) of which nothing more counts in a period.

    Guarantee: ``free`` is false only of what stands behind as many entries of its own unit, period
    and place as that counts, all of them among those given here. So it may be left out before
    bounding: the rest is bounded as the whole would have been (see ``Bounds.compact``). Rows of
    another roster or period are free, and so may be what shares a slot.

    Args:
        rows: in log order, bounded: of any place at most so many as its cap.
        bounds: their rules.
    """

    def __init__(self, rows: Contributions, bounds: Bounds) -> None:
        self._roster, self._period = rows.unit.roster, rows.period.max()
        self._places = len(bounds.distinct) * bounds.cells
        bits = (_SLOTS_OF_ONE * len(rows)).bit_length()
        self._shift = np.uint64(64 - bits)
        now = rows.take(rows.period == self._period)
        place, last = self._key(now.unit, now.place), bounds.cap(now) - 1
        full = place[last == (occurrence(place) if last.any() else 0)]
        every = len(self._roster) * self._places
        self._open: NDArray[np.bool_] | None = None
        if every <= _SLOT_BYTES << bits:  # a flag for each place takes no more memory than slots
            self._open = np.ones(every + 1, np.bool_)  # the last is that of units met later
            self._open[full] = False
            return
        self._table = np.full(1 << bits, _FREE)
        self._table[self._slot(full)] = full

    def free(
        self, unit: Units, period: NDArray[np.int64], place: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell where rows may still count.

        Args:
            unit: of n rows.
            period: shape (n,), int64.
            place: shape (n,), or (statistics, n), as the answer.
        """
        if unit.roster is not self._roster or (period != self._period).any():
            return np.ones(place.shape, np.bool_)
        key = self._key(unit, place)
        free: NDArray[np.bool_] = (
            self._table.take(self._slot(key)) != key
            if self._open is None
            else self._open.take(key, mode="clip")
        )
        return free

    def _key(self, unit: Units, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a number for a unit and a place."""
        return unit.number * self._places + place

    def _slot(self, place: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return where each place is looked for."""
        return ((place.view(np.uint64) * _FACTOR) >> self._shift).view(np.intp)
