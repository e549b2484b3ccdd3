"""Exact counts per window and cell, kept so that any split of the log gives the same result.

A row counts in window ``w`` iff ``w`` is active and contains its event time, its own append time is
before ``end + grace``, and its event time is not more than the allowed skew after its append time.
Nothing else has a say, least of all another event. The windows that count a row are therefore the
active ones from a first to a last; rows of one pane with the same first window share all their
windows, and are kept together::

    windows   [------0------)
                   [------1------)
                        [------2------)
    pane                |--4-|             on time: first 0; appended after the end + grace of
                                           window 0: first 1, and window 0 never sees it

State per (pane, first window): for statistics that count every row (unit ``event``, no ids, no
distinct count) a sum per cell; for the others the rows that bounding may still let through,
compacted now and then, so that memory is bounded by people times cells and not by events.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import PrivacyUnit
from stream.counting.bounding import Bounds, Capped, Contributions, left_out_of_period
from stream.counting.fates import Fate
from stream.counting.filters import NO_OFFSET, ends, of_filter, spread
from stream.counting.firsts import in_turn
from stream.counting.full import Full
from stream.counting.projection import ONE_EACH, WEIGHT_LIMIT, Rows
from stream.counting.sums import Sums
from stream.events.grouping import alike, grouped
from stream.windows.localtime import TIME_LIMIT_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream.counting.alike import Counting
    from stream.counting.usage import Usage
    from stream.model.alarms import Budget

__all__ = ["CellVector", "Rows", "WindowCounter"]

_COMPACT_ROWS: Final = 16_384
_CHUNK_ROWS: Final = 65_536
_SHARE_OF_ROSTER: Final = 4
_NARROW: Final = 2**20
_EVERY: Final = slice(None)


@dataclass(frozen=True, slots=True)
class CellVector:
    """The statistics of every cell of one window in one partition; those left out are 0.

    Args:
        index: shape (m,), int64: ``statistic * cells + cell``, ascending.
        value: shape (m,), int64: their sums, never 0, within +-2**62.
        first_offset: least offset of any row that belongs to the window and to a cell, before
            duplicates and caps; -1 when there is none.
        last_offset: greatest such offset, -1 when there is none.
    """

    index: NDArray[np.int64]
    value: NDArray[np.int64]
    first_offset: int
    last_offset: int


class WindowCounter:
    """Counts the rows of one partition for one query.

    Args:
        alarm: calendar, grace, domain and aggregates; its feed's skew and id.
        budget: privacy unit, caps and periods.
        whole: keep rows that can count no more, for ``capped``: memory grows with events then.
        filters: how many take the place of the alarm's own; if more than one, rows say which of
            them are true, and there is neither ``whole`` nor a cap over a period.

    Raises:
        ValueError: unit ``user`` without budget periods, or weights that would not be exact.
    """

    def __init__(
        self, alarm: Counting, budget: Budget, *, whole: bool = False, filters: int = 1
    ) -> None:
        """Start with nothing counted."""
        self._whole, self._filters = whole, filters
        self._calendar = alarm.calendar
        self._grace_ms = alarm.grace_ms
        self._firsts = alarm.firsts
        self._skew_ms = min(alarm.feed.allowed_skew_ms, TIME_LIMIT_MS)
        self._cells, self._statistics = len(alarm.counted), len(alarm.aggregates)
        self._size = self._statistics * self._cells
        self._one_each = [spec.kind in ONE_EACH for spec in alarm.aggregates]
        self._largest = max(spec.largest for spec in alarm.aggregates)
        if self._largest > WEIGHT_LIMIT:
            raise ValueError("a statistic's weights lie within 2**62")
        self._bounds = Bounds.of(alarm, budget)
        self._unbounded = self._bounds.unbounded
        self._periods = budget.periods if budget.unit is PrivacyUnit.USER else None
        if budget.unit is PrivacyUnit.USER and self._periods is None:
            raise ValueError("unit user needs budget periods")
        self._panes: dict[int, dict[int, _Group]] = {}
        self._active: dict[int, bool] = {}
        self._floor: int | None = None
        self._began: int | None = None  # the first floor
        self._rows_seen = 0
        self._last_offset: int | None = None

    def add(self, rows: Rows) -> NDArray[np.uint8]:
        """Count rows.

        How a log is split into calls makes no difference to any window.

        Args:
            rows: the next rows of the log, in log order.

        Returns:
            The fate of every row, shape (n,): ``USED``, or why no window takes it.

        Raises:
            ValueError: an offset is below one added before, or rows of a feed with ids have none.
        """
        if self._bounds.deduplicate and rows.event_id is None:
            raise ValueError("rows of a feed with an id field carry event ids")
        fates = np.full(len(rows), Fate.USED, np.uint8)
        if not len(rows):
            return fates
        ordered = self._last_offset is None or int(rows.offset[0]) >= self._last_offset
        if not (ordered and bool((rows.offset[1:] >= rows.offset[:-1]).all())):
            raise ValueError("rows are added in log order, every row once")
        self._last_offset = int(rows.offset[-1])
        for start in range(0, len(rows), _CHUNK_ROWS):  # pieces that fit the processor's cache
            where = slice(start, start + _CHUNK_ROWS)
            self._add_chunk(rows.take(where), fates[where])
        return fates

    def cuts(self, index: int, usage: Usage | None = None) -> Sequence[CellVector]:
        """Return the exact statistics of window ``index``, filter by filter, from the rows so far.

        Changes nothing but ``usage``, which a cap over a period needs: that goes on from the window
        before. It may be called again, in any order, and between calls of ``add``.

        Raises:
            ValueError: the window lies before one that ``forget_before`` was told.
        """
        if self._floor is not None and index < self._floor:
            raise ValueError("this window is forgotten")
        groups = list(self._groups_of(index)) if self._is_active(index) else []
        sums = self._no_sums()
        taken: defaultdict[int, list[Contributions]] = defaultdict(list)
        for first, group in groups:
            if group.sums is not None:
                sums.merge(group.sums)
            taken[first if self._firsts else index].extend(group.parts)
        if (found := in_turn(taken, index)) is not None:
            rows, before = found
            if rows.asked is not None:
                self._count_each(rows, rows.asked, sums)
            else:
                counted = self._bounds.apply(rows if usage is None else usage.take(rows))
                if before:
                    counted = counted.take(counted.sequence >= before)
                for statistic in range(self._statistics):
                    self._add_up(sums, statistic, counted)
        places, values = sums.nonzero()
        starts = np.searchsorted(places, np.arange(self._filters + 1) * self._size).tolist()
        least, most = self._no_offsets()
        for _, group in groups:
            np.minimum(least, group.first_offset, out=least)
            np.maximum(most, group.last_offset, out=most)
        least[least == NO_OFFSET] = -1
        return [
            CellVector(
                places[start:stop] - at * self._size,
                values[start:stop],
                int(least[at]),
                int(most[at]),
            )
            for at, (start, stop) in enumerate(pairwise(starts))
        ]

    def _count_each(self, rows: Contributions, asked: NDArray[np.uint64], sums: Sums) -> None:
        """Add up what every filter counts of the rows of a window.

        Caps look at one person's rows alone, so all filters that are true of every row of somebody
        count the same of them. What is left are people of whom a filter takes some rows and not
        others.
        """
        order, fresh = grouped(rows.unit.number)
        starts, person = np.flatnonzero(fresh), np.empty(len(rows), np.intp)
        person[order] = np.cumsum(fresh) - 1
        always = np.bitwise_and.reduceat(asked[order], starts, axis=0)[person]
        rows = replace(rows, asked=None)
        common = np.flatnonzero(always.any(axis=1))
        counted = self._bounds.apply(rows.take(common))
        counted = replace(counted, asked=always[np.searchsorted(rows.sequence, counted.sequence)])
        for statistic in range(self._statistics):
            self._add_up(sums, statistic, counted)
        sometimes = asked & ~always
        apart = np.flatnonzero(sometimes.any(axis=1))
        rows, sometimes = rows.take(apart), sometimes[apart]
        for at in range(self._filters):
            own = of_filter(sometimes, at)
            if own.any():
                counted = self._bounds.apply(rows.take(own))
                for statistic in range(self._statistics):
                    self._add_up(sums, statistic, counted, filter_at=at)

    def capped(self, index: int, usage: Usage | None = None) -> Capped:
        """Return what caps leave out of a window (where all is kept); ``usage`` as in ``cuts``."""
        parts = [part for _, group in self._groups_of(index) for part in group.parts]
        if self._unbounded or not parts:
            return Capped()
        rows = Contributions.join(parts)
        left = rows if usage is None else usage.take(rows)
        return self._bounds.capped(left) + left_out_of_period(rows, left)

    def forget_before(self, index: int) -> None:
        """Drop what only windows before ``index`` need; they can no longer be cut.

        Where people count in the first step of their window, all its steps are needed.
        """
        if self._firsts:
            index = self._calendar.pane_range(index)[0]
        if self._began is None:
            self._began = index
        self._floor = index if self._floor is None else max(self._floor, index)
        for pane in list(self._panes):
            groups = self._panes[pane]
            for first in [first for first, group in groups.items() if group.last < self._floor]:
                del groups[first]
            if not groups:
                del self._panes[pane]
        self._active = {at: active for at, active in self._active.items() if at >= self._floor}

    def _add_chunk(self, rows: Rows, fates: NDArray[np.uint8]) -> None:
        """Count rows that are known to be in log order, and write what no window takes."""
        sequence = np.arange(self._rows_seen, self._rows_seen + len(rows), dtype=np.int64)
        self._rows_seen += len(rows)
        if (shared := self._shared(rows)) is not None:
            if not self._add_run(*shared, rows, sequence, _EVERY):
                fates[:] = Fate.UNASKED
            return
        time_ms, append_ms = rows.time_ms, rows.append_ms

        timely = _valid(time_ms) & _valid(append_ms)
        punctual = timely & (time_ms - append_ms <= self._skew_ms)  # bad times may wrap: masked
        first, last = self._calendar.containing(time_ms)
        in_window = punctual & (first <= last)
        first = np.maximum(first, self._calendar.first_open(append_ms, self._grace_ms))
        in_time = counted = in_window & (first <= last)
        if self._floor is not None:
            np.maximum(first, self._floor, out=first)
            counted = in_time & (first <= last)

        pane = self._calendar.panes(time_ms)
        if not counted.all():
            fates[~counted] = Fate.LATE
            if self._began is not None:
                fates[in_time & (last < self._began)] = Fate.USED
            fates[~in_window] = Fate.UNASKED
            fates[~punctual] = Fate.EARLY
            fates[~timely] = Fate.BAD_TIME
            rows, sequence = rows.take(counted), sequence[counted]
            first, last, pane = first[counted], last[counted], pane[counted]
        if not len(rows):
            return
        for where in alike(pane, first):
            at = int(where[0]) if isinstance(where, np.ndarray) else 0
            windows = range(int(first[at]), int(last[at]) + 1)
            if not self._add_run(int(pane[at]), windows, rows, sequence, where):
                fates[np.flatnonzero(counted)[where]] = Fate.UNASKED

    def _shared(self, rows: Rows) -> tuple[int, range] | None:
        """Return the pane of all rows and the windows that count them, if they share them.

        Windows never fall as times rise: what holds at both ends of a stretch holds within it.
        ``None`` also where some row has a time that no window counts.
        """
        times = np.array([rows.time_ms.min(), rows.time_ms.max()])
        appends = np.array([rows.append_ms.min(), rows.append_ms.max()])
        if not (_valid(times).all() and _valid(appends).all()):
            return None
        if times[1] - appends[0] > self._skew_ms:
            return None
        first, last = self._calendar.containing(times)
        first = np.maximum(first, self._calendar.first_open(appends, self._grace_ms))
        if self._floor is not None:
            first = np.maximum(first, self._floor)
        pane = self._calendar.panes(times)
        if first[1] > last[0] or any(low != high for low, high in (first, last, pane)):
            return None
        return int(pane[0]), range(int(first[0]), int(last[0]) + 1)

    def _add_run(
        self,
        pane: int,
        windows: range,
        rows: Rows,
        sequence: NDArray[np.int64],
        where: slice | NDArray[np.intp],
    ) -> bool:
        """Count the rows at ``where``: they lie in one pane, and in the same windows.

        Returns:
            Whether any of the windows runs.
        """
        active = next((index for index in windows if self._is_active(index)), None)
        if active is None:
            return False
        offsets = rows.offset[where]
        first, last = self._no_offsets()
        if rows.asked is None:
            first[:], last[:] = offsets[0], offsets[-1]
        else:
            first, last = ends(rows.asked[where], self._filters, offsets)
        groups = self._panes.setdefault(pane, {})
        group = groups.get(active)
        if group is None:
            group = groups[active] = _Group(windows[-1], first, last)
        np.minimum(group.first_offset, first, out=group.first_offset)
        np.maximum(group.last_offset, last, out=group.last_offset)
        if self._unbounded:
            if group.sums is None:
                group.sums = self._no_sums()
            for statistic in self._unbounded:
                self._add_up(group.sums, statistic, rows, where)
            if len(self._unbounded) == self._statistics:
                return True
        rows = rows.take(where)
        kept = Contributions(
            sequence[where],
            _zeros(rows) if self._periods is None else self._periods.of(rows.time_ms),
            rows.unit,
            rows.cell,
            rows.weight,
            rows.counts,
            rows.event_id if self._bounds.deduplicate else None,
            rows.asked,
        )
        if self._unbounded:
            counts = rows.counts.copy()
            counts[list(self._unbounded)] = False
            kept = kept.counting(counts)
        if self._whole:
            group.parts.append(kept)
        else:
            group.keep(kept, self._bounds, self._cells, self._filters)
        return True

    def _add_up(
        self,
        sums: Sums,
        statistic: int,
        rows: Rows | Contributions,
        where: slice | NDArray[np.intp] = _EVERY,
        *,
        filter_at: int = 0,
    ) -> None:
        """Add the rows at ``where`` that count in a statistic to the sums of its cells.

        Rows that say which filters are true of them are added to those of each, others to those of
        one filter.
        """
        place = rows.cell[where]
        weight = None if self._one_each[statistic] else rows.weight[statistic][where]
        asked = None if rows.asked is None else rows.asked[where]
        if self._statistics > 1:
            counts = rows.counts[statistic][where]
            place = place[counts] + statistic * self._cells
            weight = None if weight is None else weight[counts]
            asked = None if asked is None else asked[counts]
        if asked is None:
            sums.add(place + filter_at * self._size if filter_at else place, weight)
        elif self._largest <= _NARROW or weight is None:
            spread(
                sums,
                asked,
                filters=self._filters,
                place=place,
                weight=weight,
                size=self._size,
            )
        else:  # sums of many such weights are more than a number holds
            for at in range(self._filters):
                own = of_filter(asked, at)
                sums.add(place[own] + at * self._size, weight[own])

    def _no_sums(self) -> Sums:
        """Return sums of every statistic of every cell and filter, nothing added yet."""
        return Sums(self._filters * self._size)

    def _no_offsets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last offset of every filter where there is none."""
        return np.full(self._filters, NO_OFFSET), np.full(self._filters, -1)

    def _groups_of(self, index: int) -> Iterator[tuple[int, _Group]]:
        """Yield the groups of rows that window ``index`` counts, each with the first that does."""
        for pane in range(*self._calendar.pane_range(index)):
            for first, group in self._panes.get(pane, {}).items():
                if first <= index:
                    yield first, group

    def _is_active(self, index: int) -> bool:
        """Tell whether a window runs (asked of the calendar once)."""
        active = self._active.get(index)
        if active is None:
            active = self._active[index] = self._calendar.active(index)
        return active


@dataclass(slots=True)
class _Group:
    """Rows of one pane that share all the windows that count them."""

    last: int
    first_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    sums: Sums | None = None
    parts: list[Contributions] = field(default_factory=list)
    full: Full | None = None
    compacted: int = 0
    pending: int = 0

    def keep(self, rows: Contributions, bounds: Bounds, cells: int, filters: int) -> None:
        """Remember rows, and compact when as many are new as were left the last time."""
        if self.full is not None:
            rows = self.full.narrowed(rows)
        if not len(rows):
            return
        if not self.parts or rows.unit.roster is not self.parts[0].unit.roster:
            rows = _without_others(rows)
        self.parts.append(rows)
        self.pending += len(rows)
        if self.pending > max(_COMPACT_ROWS, self.compacted):
            self.parts = [bounds.compact(Contributions.join(self.parts), filters)]
            self.compacted, self.pending = len(self.parts[0]), 0
            if rows.asked is None and any(cap is not None for cap in bounds.caps):
                self.full = Full(self.parts[0], bounds.caps, cells)


def _without_others(rows: Contributions) -> Contributions:
    """Return rows whose roster is not much larger than they are: a few would hold a large one."""
    if len(rows) < len(rows.unit.roster) // _SHARE_OF_ROSTER:
        return replace(rows, unit=rows.unit.trimmed())
    return rows


def _valid(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which times a row may carry at all."""
    # One comparison: as unsigned numbers, negative times lie beyond every limit.
    return times.view(np.uint64) < np.uint64(TIME_LIMIT_MS)


def _zeros(rows: Rows) -> NDArray[np.int64]:
    """Return a 0 per row."""
    return np.zeros(len(rows), np.int64)
