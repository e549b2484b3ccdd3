"""How much of one person a window lets in: duplicates and contribution caps, by log order.

Everything here is a pure function of rows in log order. A *key* below is a tuple of integer
columns; which key bounds what:

======  =====================================  ================================================
unit    duplicates (feeds with an ``id``)      caps
======  =====================================  ================================================
event   same (unit, cell, weight, id)          none
user    same (unit, period, cell, weight, id)  ``events_per_cell`` events in each cell, and the
                                               first ``predicates_per_window`` groups of every
                                               (unit, period)
======  =====================================  ================================================

Duplicates and events are told apart for every statistic by itself, among the rows that count in it
and by what they weigh in it, so that a statistic is the same whatever stands beside it. Cells are
capped for all statistics together: the first that any row of the alarm reaches. A person pays for
the sum over statistics in the dearest cells, as many as the cap; choices of cells per statistic
would let one person reach more. A group is one cell, or all cells of the groups that a
quantifier counts: however many of these a person reaches, they move its score by one step.

Guarantee: adding or removing one event (unit ``event``) changes one cell of a window, every
statistic of it by at most what the event weighs there; adding or removing all events of one unit in
one period (unit ``user``) changes cells of at most ``predicates_per_window`` groups, over all
statistics, each statistic of a cell by at most ``events_per_cell`` weights; a distinct count
changes by at most 1. That is why keys start with the unit, why the period is part of the key under
unit ``user``, why duplicates weigh the same, and why nothing here may look at a row that is not in
the window.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from stream.counting.filters import of_filter
from stream.counting.projection import Table
from stream.events.grouping import firsts, numbered, occurrence
from stream.events.units import Units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["Bounds", "Capped", "Contributions"]

_ALL: Final = 2**62
"""As many rows as there are."""


@dataclass(frozen=True, slots=True)
class Capped:
    """Events that a window takes and that count in none of its statistics; exact, private.

    Args:
        repeats: duplicates by id, and in distinct counts further events of somebody counted.
        beyond_groups: in cells of a person beyond their first ``predicates_per_window``.
        people_beyond_groups: people who lost any so.
        beyond_events: beyond the first ``events_per_cell`` of a person in a cell.
        people_beyond_events: people who lost any so.
        beyond_windows: of people who counted in ``windows_per_period`` windows before.
        people_beyond_windows: people who lost any so.
    """

    repeats: int = 0
    beyond_groups: int = 0
    people_beyond_groups: int = 0
    beyond_events: int = 0
    people_beyond_events: int = 0
    beyond_windows: int = 0
    people_beyond_windows: int = 0

    def __add__(self, other: Capped) -> Capped:
        """Add what another partition lost: people are in one partition each."""
        return Capped(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Contributions(Table):
    """What rows may add to statistics: an entry for each statistic that a row may count in.

    Args:
        sequence: shape (n,), int64: place of the row in the log, not falling.
        period: shape (n,), int64: start of the event's budget period (0 under unit ``event``).
        unit: of n entries.
        place: shape (n,), int64: ``statistic * cells + cell``.
        weight: shape (n,), int64: what the row adds there.
        event_id: shape (n, 2), uint64: keyed hash of the event's id; ``None`` for feeds without.
        asked: as :class:`stream.counting.projection.Rows` has it.
    """

    sequence: NDArray[np.int64]
    period: NDArray[np.int64]
    unit: Units
    place: NDArray[np.int64]
    weight: NDArray[np.int64]
    event_id: NDArray[np.uint64] | None
    asked: NDArray[np.uint64] | None = None

    @staticmethod
    def join(parts: Sequence[Contributions]) -> Contributions:
        """Return the entries of one or more parts, sorted by log order."""
        joined = parts[0]
        if len(parts) > 1:
            columns = ([getattr(part, each.name) for part in parts] for each in fields(joined))
            joined = Contributions(*map(_joined, columns))
        if bool((joined.sequence[1:] >= joined.sequence[:-1]).all()):
            return joined
        return joined.take(np.argsort(joined.sequence, kind="stable"))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounding rules of one alarm under one budget.

    Args:
        per_user: unit ``user``: caps hold, keyed by (unit, period).
        distinct: per statistic whether it counts units, so that one row per unit and cell is
            enough.
        deduplicate: the feed names events, repeated ones are removed.
        predicates_per_window: groups of a window that one unit reaches in one period.
        events_per_cell: events of one unit and period that a statistic of a cell counts.
        cells: of a statistic.
        members: cells of a group.
    """

    per_user: bool
    distinct: tuple[bool, ...]
    deduplicate: bool
    predicates_per_window: int
    events_per_cell: int
    cells: int
    members: int = 1

    @staticmethod
    def of(alarm: Alarm, budget: Budget) -> Bounds:
        """Return the rules that a configuration asks for."""
        return Bounds(
            per_user=budget.unit is PrivacyUnit.USER,
            distinct=tuple(spec.kind is Weight.DISTINCT_UNITS for spec in alarm.aggregates),
            deduplicate=alarm.feed.id is not None,
            predicates_per_window=budget.contribution.predicates_per_window,
            events_per_cell=budget.contribution.events_per_cell,
            cells=len(alarm.counted),
            members=len(alarm.members),
        )

    @property
    def unbounded(self) -> tuple[int, ...]:
        """The statistics that count every row of a window: their sums are all to remember."""
        if self.per_user or self.deduplicate:
            return ()
        return tuple(at for at, distinct in enumerate(self.distinct) if not distinct)

    @property
    def limited(self) -> bool:
        """Whether some statistic counts only so many rows of a (unit, period, cell)."""
        return self.per_user or any(self.distinct)

    def cap(self, rows: Contributions) -> NDArray[np.int64]:
        """Return how many rows of its (unit, period) each entry's place counts, shape (n,)."""
        events = self.events_per_cell if self.per_user else _ALL
        caps = np.array([1 if distinct else events for distinct in self.distinct])
        return caps[rows.place // self.cells]

    def compact(self, rows: Contributions, filters: int = 1) -> Contributions:
        """Drop what no window can count, whichever windows the rows belong to.

        Rows that share a set of windows may be compacted apart from other rows and more than once:
        ``apply`` gives the same result on what is left. An entry that is dropped here stands behind
        ``events_per_cell`` entries of its own key, or behind its own duplicate, in every window
        that contains it. The order in which a unit reaches its cells stays: the first entry of a
        (unit, period, cell) is the first of its statistic there, too, and so is kept.

        Rows that say which filters are true of them stand behind those of which the same are.
        Where that leaves more than twice what filters by themselves would keep, it is what those
        keep.

        Args:
            rows: in log order, all in the same windows.
            filters: how many there are.

        Returns:
            The entries left, in log order: for every statistic at most ``events_per_cell`` per
            (unit, period, cell), or one per duplicate key under unit ``event``.
        """
        left = rows.take(self._kept(rows))
        if left.asked is None or not self.per_user:
            return left
        reached = int(firsts(left.unit.number, left.period, left.place % self.cells).sum())
        few = filters * reached * self.events_per_cell * len(self.distinct)
        if len(left) <= 2 * few:
            return left
        kept, alone = np.zeros(len(left), np.bool_), replace(left, asked=None)
        for at in range(filters):
            own = np.flatnonzero(of_filter(left.asked, at))
            kept[own[self._kept(alone.take(own))]] = True
        return left.take(kept)

    def apply(self, rows: Contributions) -> Contributions:
        """Return what one window counts.

        Args:
            rows: every row of the window, in log order, compacted or not.
        """
        rows = self.compact(rows)
        if self.per_user:
            rows = rows.take(self._within_groups(rows))
            if any(self.distinct):  # a unit may reach a cell in several periods; it is one unit
                events = ~np.array(self.distinct)[rows.place // self.cells]
                rows = rows.take(events | firsts(rows.unit.number, rows.place))
        return rows

    def capped(self, rows: Contributions, let_in: Contributions) -> Capped:
        """Return what a window leaves out, and why.

        Args:
            rows: every row of the window, in log order, none of them compacted away.
            let_in: those that a cap over a period lets in.
        """
        single = replace(self, events_per_cell=len(rows) + 1).compact(let_in)
        within = single.take(self._within_groups(single)) if self.per_user else single
        few = self.compact(within)
        again, _ = _left_out(few, self.apply(let_in))
        return Capped(
            _left_out(let_in, single)[0] + again,
            *_left_out(single, within),
            *_left_out(within, few),
            *_left_out(rows, let_in),
        )

    def _kept(self, rows: Contributions) -> NDArray[np.bool_]:
        """Tell which entries are no duplicates, and the first of their caps."""
        key: tuple[NDArray[Any], ...] = (rows.unit.number, rows.place)
        if self.per_user:
            key = (*key, rows.period)
        if rows.asked is not None:
            key = (*key, *rows.asked.T)
        cap = self.cap(rows)
        if (cap == 1).all():
            return firsts(*key)  # whose first event is nobody's duplicate
        kept = np.ones(len(rows), np.bool_)
        if self.deduplicate:
            kept = firsts(*key, rows.weight, *_words(rows.event_id))
        if self.limited:
            left = slice(None) if kept.all() else np.flatnonzero(kept)
            kept[left] = occurrence(*(column[left] for column in key)) < cap[left]
        return kept

    def _within_groups(self, rows: Contributions) -> NDArray[np.bool_]:
        """Tell which entries lie in the first groups that their unit reaches in their period."""
        units = rows.unit.number
        group, first = numbered(units, rows.period, rows.place % self.cells // self.members)
        reached = np.sort(first)  # in log order
        rank = occurrence(units[reached], rows.period[reached])
        allowed = np.zeros(len(rows), np.bool_)
        allowed[reached] = rank < self.predicates_per_window
        return allowed[first][group]


def _joined(columns: Sequence[Any]) -> Any:
    """Return a column of several parts, ``None`` where they have none."""
    if columns[0] is None:
        return None
    if isinstance(columns[0], Units):
        return Units.joined(columns)
    return np.concatenate(columns)


def _left_out(rows: Contributions, left: Contributions) -> tuple[int, int]:
    """Return how many rows have no entry among those left, and of how many units they are."""
    out = rows.take(~np.isin(rows.sequence, left.sequence))
    return len(np.unique(out.sequence)), len(np.unique(out.unit.number))


def _words(hashes: NDArray[np.uint64] | None) -> tuple[NDArray[np.uint64], ...]:
    """Return the two words of 128-bit hashes."""
    return () if hashes is None else (hashes[:, 0], hashes[:, 1])
