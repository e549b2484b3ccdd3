"""Exact counts per window and cell, kept so that any split of the log gives the same result.

A row counts in window ``w`` iff ``w`` is active and contains its event time, its own append time is
before ``end + grace``, and its event time is not more than the allowed skew after its append time.
Nothing else has a say, least of all another event. The windows that count a row are therefore the
active ones from a first to a last; rows with the same first and last share all their windows, and
are kept together::

    windows   [------0------)
                   [------1------)
                        [------2------)
    event                 x                on time: 0 to 2; appended after the end + grace of
                                           window 0: 1 to 2, and window 0 never sees it

State per (first, last): for statistics that count every row (unit ``event``, no ids, no
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
from stream.counting.bounding import Bounds, Capped, Contributions
from stream.counting.fates import Fate
from stream.counting.filters import NO_OFFSET, ends, of_filter, spread
from stream.counting.firsts import in_turn
from stream.counting.full import Full
from stream.counting.projection import ONE_EACH, Rows
from stream.counting.sums import SUM_LIMIT, Sums
from stream.events.grouping import alike, grouped
from stream.windows.localtime import TIME_LIMIT_MS
from stream.windows.periods import Periods

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream.counting.usage import Usage
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

    _Where = slice | NDArray[np.intp]

__all__ = ["CellVector", "Rows", "WindowCounter"]

_COMPACT_ROWS: Final = 16_384
_CHUNK_ROWS: Final = 65_536
_SHARE_OF_ROSTER: Final = 4
_EVERY: Final = slice(None)
_NO_FLOOR: Final = int(np.iinfo(np.int64).min)


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
        ValueError: weights that would not be exact.
    """

    def __init__(
        self, alarm: Alarm, budget: Budget, *, whole: bool = False, filters: int = 1
    ) -> None:
        """Start with nothing counted."""
        self._whole, self._filters = whole, filters
        self._calendar = alarm.calendar
        self._grace_ms = alarm.grace_ms
        self._firsts = alarm.firsts
        self._skew_ms = min(alarm.feed.allowed_skew_ms, TIME_LIMIT_MS)
        self._cells, self._statistics = len(alarm.counted), range(len(alarm.aggregates))
        self._size = len(self._statistics) * self._cells
        self._one_each = [spec.kind in ONE_EACH for spec in alarm.aggregates]
        if max(spec.largest for spec in alarm.aggregates) > SUM_LIMIT:
            raise ValueError("a statistic's weights lie within 2**62")
        self._bounds = Bounds.of(alarm, budget)
        # What is left out of one statistic may count in another: then ``capped`` needs all entries.
        every = whole and self._bounds.limited
        self._unbounded = () if every else self._bounds.unbounded
        per_user = budget.unit is PrivacyUnit.USER
        self._periods = (per_user and budget.periods) or Periods.lifetime()
        self._groups: defaultdict[tuple[int, int], _Group] = defaultdict(self._no_rows)
        self._floor = _NO_FLOOR
        self._began = _NO_FLOOR  # the first floor
        self._rows_seen = 0
        self._last_offset = -1

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
        if rows.offset[0] < self._last_offset or (rows.offset[1:] < rows.offset[:-1]).any():
            raise ValueError("rows are added in log order, every row once")
        self._last_offset = int(rows.offset[-1])
        shared = self._shared(rows)
        for start in range(0, len(rows), _CHUNK_ROWS):  # pieces that fit the processor's cache
            where = slice(start, start + _CHUNK_ROWS)
            self._add_chunk(rows.take(where), fates[where], shared)
        return fates

    def cuts(self, index: int, usage: Usage | None = None) -> Sequence[CellVector]:
        """Return the exact statistics of window ``index``, filter by filter, from the rows so far.

        Changes nothing but ``usage``, which a cap over a period needs: that goes on from the window
        before. It may be called again, in any order, and between calls of ``add``.

        Raises:
            ValueError: the window lies before one that ``forget_before`` was told.
        """
        if index < self._floor:
            raise ValueError("this window is forgotten")
        if usage is not None:
            usage.forget_last()
        whole = self._no_rows()
        taken: defaultdict[int, list[Contributions]] = defaultdict(list)
        for first, group in self._groups_of(index):
            whole.sums.merge(group.sums)
            whole.reach(group.first_offset, group.last_offset)
            taken[first if self._firsts else index].extend(group.parts)
        if (found := in_turn(taken, index)) is not None:
            rows, before = found
            if rows.asked is not None:
                self._count_each(rows, rows.asked, whole.sums)
            else:
                counted = self._bounds.apply(rows if usage is None else usage.take(rows))
                if before:
                    counted = counted.take(counted.sequence >= before)
                self._add_bounded(whole.sums, counted)
        places, values = whole.sums.nonzero()
        starts = np.searchsorted(places, np.arange(self._filters + 1) * self._size).tolist()
        least, most = whole.first_offset, whole.last_offset
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
        self._add_bounded(sums, counted)
        sometimes = asked & ~always
        apart = np.flatnonzero(sometimes.any(axis=1))
        rows, sometimes = rows.take(apart), sometimes[apart]
        for at in range(self._filters):
            own = of_filter(sometimes, at)
            if own.any():
                self._add_bounded(sums, self._bounds.apply(rows.take(own)), at)

    def capped(self, index: int, usage: Usage | None = None) -> Capped:
        """Return what caps leave out of a window (where all is kept); ``usage`` as in ``cuts``."""
        parts = [part for _, group in self._groups_of(index) for part in group.parts]
        if not parts:
            return Capped()
        rows = Contributions.join(parts)
        left = rows if usage is None else usage.take(rows)
        return self._bounds.capped(rows, left)

    def forget_before(self, index: int) -> None:
        """Drop what only windows before ``index`` need; they can no longer be cut.

        Where people count in the first step of their window, all its steps are needed.
        """
        if self._firsts:
            index = self._calendar.first_starting_at(self._calendar.counted(index)[0])
        if self._floor == _NO_FLOOR:
            self._began = index
        self._floor = max(self._floor, index)
        for windows in [each for each in self._groups if each[1] < self._floor]:
            del self._groups[windows]

    def _shared(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the first and the last window that count every row, shape (1,), if all share them.

        Windows never fall as times rise: what the extremes share, all rows share.
        """
        times, appends = (np.array([of.min(), of.max()]) for of in (rows.time_ms, rows.append_ms))
        first, last, _ = self._windows(times.repeat(2), np.tile(appends, 2))
        if (first > last).any() or np.ptp(first) or np.ptp(last):
            return None
        return first[:1], last[:1]

    def _add_chunk(
        self,
        rows: Rows,
        fates: NDArray[np.uint8],
        shared: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    ) -> None:
        """Count rows that are known to be in log order, and write what no window takes."""
        sequence = np.arange(self._rows_seen, self._rows_seen + len(rows), dtype=np.int64)
        self._rows_seen += len(rows)
        counted: _Where = _EVERY
        if shared is not None:
            first, last = shared
        else:
            first, last, fates[:] = self._windows(rows.time_ms, rows.append_ms)
            counted = np.flatnonzero(first <= last)
            if not len(counted):
                return
            if len(counted) < len(rows):
                rows, sequence = rows.take(counted), sequence[counted]
                first, last = first[counted], last[counted]
        taken = fates[counted]
        for where in alike(first, last):
            opening, closing = int(first[where][0]), int(last[where][0])
            opening = self._calendar.next_active(opening)
            if opening > closing:
                taken[where] = Fate.UNASKED
            else:
                self._count(self._groups[opening, closing], rows, sequence, where)
        fates[counted] = taken

    def _windows(
        self, time_ms: NDArray[np.int64], append_ms: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """Return the first and the last window that count each row, and its fate, shape (n,) each.

        Where none does, the first is greater than the last.
        """
        timely = _valid(time_ms) & _valid(append_ms)
        punctual = timely & (time_ms - append_ms <= self._skew_ms)  # bad times may wrap: masked
        first, last = self._calendar.containing(time_ms)
        still = np.maximum(first, self._calendar.first_open(append_ms, self._grace_ms))
        taking = np.maximum(still, self._floor)
        fates = np.full(len(time_ms), Fate.USED, np.uint8)
        fates[(still > last) | ((taking > last) & (last >= self._began))] = Fate.LATE
        fates[first > last] = Fate.UNASKED
        fates[~punctual] = Fate.EARLY
        fates[~timely] = Fate.BAD_TIME
        return taking, np.where(fates == Fate.USED, last, _NO_FLOOR), fates

    def _count(self, group: _Group, rows: Rows, sequence: NDArray[np.int64], where: _Where) -> None:
        """Count the rows at ``where``, which belong to a group."""
        offsets = rows.offset[where]
        if rows.asked is None:
            group.reach(offsets[0], offsets[-1])
        else:
            group.reach(*ends(rows.asked[where], self._filters, offsets))
        for statistic in self._unbounded:
            here = where
            if len(self._statistics) > 1:
                here = np.arange(len(rows))[where][rows.counts[where, statistic]]
            weight = None if self._one_each[statistic] else rows.weight[here, statistic]
            asked = None if rows.asked is None else rows.asked[here]
            place = rows.cell[here]
            if statistic:
                place = place + statistic * self._cells
            self._add_up(group.sums, place, weight, asked)
        if len(self._unbounded) < len(self._statistics):
            kept = self._entries(rows.take(where), sequence[where], group.full)
            if self._whole:
                group.parts.append(kept)
            else:
                group.keep(kept, self._bounds, self._filters)

    def _entries(self, rows: Rows, sequence: NDArray[np.int64], full: Full | None) -> Contributions:
        """Return what rows may add to the statistics that do not count every row."""
        entries = Contributions(
            sequence,
            self._periods.of(rows.time_ms),
            rows.unit,
            rows.cell,
            rows.weight[:, 0],
            rows.event_id if self._bounds.deduplicate else None,
            rows.asked,
        )
        if len(self._statistics) == 1:
            if full is None:
                return entries
            return entries.take(full.free(entries.unit, entries.period, entries.place))
        counts = rows.counts.copy()
        counts[:, list(self._unbounded)] = False
        if full is not None:
            places = rows.cell + np.array(self._statistics)[:, np.newaxis] * self._cells
            counts &= full.free(entries.unit, entries.period, places).T
        entry = np.flatnonzero(counts)
        at, statistic = np.divmod(entry, len(self._statistics))
        entries = entries.take(at)
        place = entries.place + statistic * self._cells
        return replace(entries, place=place, weight=rows.weight.ravel().take(entry))

    def _add_bounded(self, sums: Sums, rows: Contributions, filter_at: int = 0) -> None:
        """Add what is left after bounding to the sums of one filter, or of those that rows name."""
        weight = None if all(self._one_each) else rows.weight
        self._add_up(sums, rows.place + filter_at * self._size, weight, rows.asked)

    def _add_up(
        self,
        sums: Sums,
        place: NDArray[np.int64],
        weight: NDArray[np.int64] | None,
        asked: NDArray[np.uint64] | None,
    ) -> None:
        """Add to sums, of each filter that is true where rows say which are."""
        if asked is None:
            sums.add(place, weight)
        else:
            spread(sums, asked, filters=self._filters, place=place, weight=weight, size=self._size)

    def _no_rows(self) -> _Group:
        """Return a group without rows."""
        return _Group(
            Sums(self._filters * self._size),
            np.full(self._filters, NO_OFFSET),
            np.full(self._filters, -1),
        )

    def _groups_of(self, index: int) -> Iterator[tuple[int, _Group]]:
        """Yield the groups of rows that window ``index`` counts, each with the first that does."""
        if self._calendar.active(index):
            for (first, last), group in self._groups.items():
                if first <= index <= last:
                    yield first, group


@dataclass(slots=True)
class _Group:
    """Rows that share all the windows that count them; offsets are those of each filter."""

    sums: Sums
    first_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    parts: list[Contributions] = field(default_factory=list)
    full: Full | None = None
    compacted: int = 0
    pending: int = 0

    def reach(
        self, first: NDArray[np.int64] | np.int64, last: NDArray[np.int64] | np.int64
    ) -> None:
        """Take note of the offsets of more rows."""
        np.minimum(self.first_offset, first, out=self.first_offset)
        np.maximum(self.last_offset, last, out=self.last_offset)

    def keep(self, rows: Contributions, bounds: Bounds, filters: int) -> None:
        """Remember rows, and compact when as many are new as were left the last time."""
        if not len(rows):
            return
        if not self.parts or rows.unit.roster is not self.parts[0].unit.roster:
            rows = _without_others(rows)
        self.parts.append(rows)
        self.pending += len(rows)
        if self.pending > max(_COMPACT_ROWS * len(bounds.distinct), self.compacted):
            self.parts = [bounds.compact(Contributions.join(self.parts), filters)]
            self.compacted, self.pending = len(self.parts[0]), 0
            if rows.asked is None and bounds.limited:
                self.full = Full(self.parts[0], bounds)


def _without_others(rows: Contributions) -> Contributions:
    """Return rows whose roster is not much larger than they are: a few would hold a large one."""
    if len(rows) < len(rows.unit.roster) // _SHARE_OF_ROSTER:
        return replace(rows, unit=rows.unit.trimmed())
    return rows


def _valid(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which times a row may carry at all."""
    # One comparison: as unsigned numbers, negative times lie beyond every limit.
    return times.view(np.uint64) < np.uint64(TIME_LIMIT_MS)
