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
    from stream.events.units import Roster, Units

__all__ = ["Full"]

_DENSE_PLACES: Final = 64
"""Flags (a byte each) a kept row: beyond that, full places are listed and searched."""
_SHARE_OF_ROSTER: Final = 4


class Full:
    """The (unit, period, cell) of which a statistic counts nothing more, for every statistic.

    Guarantee: ``narrowed`` only takes away what stands behind as many rows of its own place as its
    statistic counts, all of them among the rows given here. So it may come before bounding: the
    rest is bounded as the whole would have been (see ``Bounds.compact``).

    Args:
        rows: in log order, bounded: of any place at most so many as its cap.
        caps: per statistic, rows of a place that it counts; ``None`` where that is not limited.
        cells: number of groups.
    """

    def __init__(self, rows: Contributions, caps: Sequence[int | None], cells: int) -> None:
        self._roster = rows.unit.roster
        self._units = len(self._roster)  # it may grow: whoever joins has nothing that is full
        self._periods = _values(rows.period)
        self._cells = cells
        self._limited = [statistic for statistic, cap in enumerate(caps) if cap is not None]
        # One unit more: whoever is not known has nothing that is full.
        size = (self._units + 1) * len(self._periods) * cells
        self._dense = size <= _DENSE_PLACES * len(rows)
        self._full: dict[int, NDArray[np.bool_] | NDArray[np.int64]] = {}
        places = self._places(rows.unit.number, rows)
        for statistic in self._limited:
            cap = caps[statistic] or 1
            full = places[rows.counts[statistic]]
            if cap > 1:
                full = full[occurrence(full) == cap - 1]
            if self._dense:
                flags = np.zeros(size, np.bool_)
                flags[full] = True
                self._full[statistic] = flags
            else:
                self._full[statistic] = np.sort(full)
        self._sorted: tuple[NDArray[np.intp], NDArray[np.uint64]] | None = None
        self._met: tuple[Roster | None, NDArray[np.int64]] = (None, np.zeros(0, np.int64))

    def narrowed(self, rows: Contributions) -> Contributions:
        """Return the rows that may still count in some statistic."""
        places = self._places(self._known(rows.unit), rows)
        counts = rows.counts.copy()
        for statistic, full in self._full.items():
            counts[statistic] &= ~self._contains(full, places)
        return rows.counting(counts)

    def _contains(
        self, full: NDArray[np.bool_] | NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell which places are full."""
        if self._dense:
            flags: NDArray[np.bool_] = full[places].view(np.bool_)
            return flags
        if not len(full):
            return np.zeros(len(places), np.bool_)
        at = np.minimum(np.searchsorted(full, places), len(full) - 1)
        found: NDArray[np.bool_] = full[at] == places
        return found

    def _places(self, unit: NDArray[np.int64], rows: Contributions) -> NDArray[np.int64]:
        """Number every row's (unit, period, cell); those of a period not met have no unit."""
        if len(self._periods) == 1 and bool((rows.period == self._periods[0]).all()):
            return unit * self._cells + rows.cell
        at = np.minimum(np.searchsorted(self._periods, rows.period), len(self._periods) - 1)
        unit = np.where(self._periods[at] == rows.period, unit, self._units)
        return (unit * len(self._periods) + at) * self._cells + rows.cell

    def _known(self, units: Units) -> NDArray[np.int64]:
        """Return each row's unit as our number of it, the number of ours where we have none."""
        roster = units.roster
        if roster is self._roster:
            return np.minimum(units.number, self._units)
        if len(units) < len(roster) // _SHARE_OF_ROSTER:
            return self._numbers(units.hashes())
        # Remembered, as batches share their units.
        met, known = self._met
        if met is not roster:
            known = np.zeros(0, np.int64)
        if len(known) < len(roster):
            known = np.concatenate([known, self._numbers(roster.hashed[len(known) :])])
            self._met = (roster, known)
        return known[units.number]

    def _numbers(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return our numbers of some hashes, the number of ours for one that we do not have."""
        if not self._units:
            return np.zeros(len(hashes), np.int64)
        hashed = self._roster.hashed[: self._units]
        if self._sorted is None:
            order = np.argsort(hashed[:, 0])
            self._sorted = (order, hashed[order, 0])
        order, words = self._sorted
        asked = np.argsort(hashes[:, 0])  # whoever looks in order finds faster
        at = np.empty(len(hashes), np.intp)
        at[asked] = np.searchsorted(words, hashes[asked, 0])
        at = order[np.minimum(at, self._units - 1)]
        # Of two of ours that share a word only the first is found: the other is nobody we know.
        return np.where((hashed[at] == hashes).all(axis=1), at, self._units)


def _values(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different values of a column, ascending; most often there is one."""
    if len(column) and column.min() == column.max():
        return column[:1].copy()  # not all of it is to be held
    return np.unique(column)
