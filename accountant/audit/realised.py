"""What predicates have really lost: the realised losses of one query, added up cell by cell.

Every number here depends on the data. The ledger's guarantee covers a reader who sees them (they
are part of the transcript that epsilon_max bounds, ``docs/research/proofs/filter.md``), but the
smaller loss that they state holds only towards readers who do not. They are the custodian's alone.

Guarantee: where ``complete`` is true, no cell has lost more, towards readers of this query's
decisions, in the period or at the instant summed over, than its cost here; and exactly that much
wherever all windows were counted over the same cells.

Source: MIDE, Theorem 5 (costs of one predicate add up) and Definition 6 (min-entropy).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from accountant.arguments import sentence_of
from accountant.costs.levels import MOST_CELLS, LevelCosts
from accountant.costs.minentropy import min_entropy_levels
from accountant.errors import LedgerError
from accountant.records import Outcome
from accountant.regions.groupings import cells_key
from accountant.units import UNITS_PER_EPSILON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from accountant.costs.minentropy import MinEntropy
    from accountant.log.entries import Ended
    from accountant.log.state import Budget, Query

    EndedFrom = Callable[[int, int], list[Ended]]
    """Reads how a query's windows ended: from a start (ms) on, so many at most."""

__all__ = ["MOST_CELLS_READ", "Realised", "RealisedLosses"]

MOST_CELLS_READ: Final = 2**24
"""Cells of windows that one reading unpacks, or one window if that has more: the others wait."""

_PAGE: Final = 1_000
_NODES: Final = 2_000  # some hundredths of a second: hundreds of queries are shown at once
_FEW: Final = 100  # levels of cost that are remembered with their min-entropy
_MOST_UNITS: Final = 2**62  # what is beyond is shown as this much


@dataclass(frozen=True, eq=False)
class Realised:
    """What the cells of one query have lost, over one period or at one instant.

    Args:
        query: its name.
        period: unit ``user``: start (ms) of the budget period summed over; ``None`` where no window
            has settled.
        instant_ms: unit ``event``: the instant whose events are shown; ``None`` as above.
        windows: settled windows summed over, one for every decision adopted from another timeline.
        costs: loss units per cell, shape (cells,), int64, read-only.
        complete: whether nothing is missing from the sum: none of its windows lies in an archive,
            and none still waits to be unpacked.
    """

    query: str
    period: int | None
    instant_ms: int | None
    windows: int
    costs: NDArray[np.int64]
    complete: bool

    @property
    def worst_units(self) -> int:
        """Loss of the dearest cell: the ex-post maximum."""
        return int(self.costs.max())

    @cached_property
    def min_entropy(self) -> MinEntropy:
        """Min-entropy of the cells, in nats, with its bracket."""
        units, counts = np.unique(self.costs, return_counts=True)
        solve = _min_entropy if len(units) <= _FEW else _min_entropy.__wrapped__
        return solve(tuple(units.tolist()), tuple(counts.tolist()))


class RealisedLosses:
    """Adds up what the settled windows of a query cost, cell by cell.

    Under unit ``user`` these are the windows that were charged to one budget period; unless another
    is asked for, the last one that the *latest* settled window touches, the one that starts last.
    Under unit ``event`` they are the windows that cover the instant at which the latest starts: the
    sum is what an event of that instant has lost to the query. Windows taken as spent count at
    their worst, and so do decisions of other copies. Where a person counts in so many windows of a
    period alone, the dearest so many of each cell are added. A window that was counted over other
    cells than the present ones, before a change of configuration, costs every cell what its dearest
    cell lost.

    A reading goes on where the last one ended, and reads a bounded number of cells. The memory
    holds one vector per query and is made anew by whoever starts without it. Safe from many
    threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._sums: dict[str, _Sum] = {}

    def read(
        self,
        budget: Budget,
        query: Query,
        latest: Ended | None,
        ended_from: EndedFrom,
        *,
        cells: int,
        period: int | None = None,
    ) -> Realised:
        """Return what a query's cells have lost; see :class:`accountant.ledger.reports.Reports`.

        Args:
            budget: that it draws on.
            query: as it stands.
            latest: its last window that settled.
            ended_from: reads its windows.
            cells: how many it has.
            period: as asked for.
        """
        if not 1 <= cells <= MOST_CELLS:
            raise ValueError(f"a query has between 1 and {MOST_CELLS} cells")
        if period is not None and not budget.by_user:
            raise ValueError("there are no periods under unit event")
        with self._lock:
            beside = list(_beside(budget, query))
            target = _target(budget, latest, beside) if period is None else period
            layout = (query.fingerprint, cells)
            # Taken out while it changes: an error halfway would leave it with some charges twice.
            kept = self._sums.pop(query.query, None)
            if kept is None or (kept.layout, kept.target) != (layout, target):
                since_ms = 0 if target is None else target - query.longest_ms
                kept = _Sum(layout, target, since_ms)
            if target is not None:
                kept.read(budget, query, ended_from)
            if budget.by_user:
                self._sums[query.query] = kept
            mine = [one for one in beside if _concerns(budget, one.periods, one.span, target)]
            if target is None:
                lost = query.settled_ms is not None  # all that settled lies in an archive
            else:
                lost = target < (budget.archived_ms or target)
            return Realised(
                query=query.query,
                period=target if budget.by_user else None,
                instant_ms=None if budget.by_user else target,
                windows=kept.windows + len(mine),
                costs=_limited(
                    kept.total(),
                    min(kept.base_units + sum(u.units for u in mine), _MOST_UNITS),
                    cells,
                ),
                complete=kept.complete and not lost,
            )


class _Beside(NamedTuple):
    """What counts at its worst: a decision of another copy, or a window taken as spent."""

    start_ms: int
    periods: tuple[int, ...]
    span: tuple[int, int]
    units: int


@dataclass(slots=True)
class _Sum:
    """What was added up for one query.

    Args:
        layout: fingerprint and number of the cells that the vector is over.
        target: the period's start, or the instant; ``None`` without a window.
        next_ms: windows that start from then on are still to be read.
        windows: how many were added.
        base_units: what every cell lost.
        vector: what each cell lost beyond that, shape (cells,), int64; ``None`` for nothing.
        dearest: of windows of which a person counts in few, what the dearest cost each cell, by
            fingerprint, shape (few, cells).
        complete: whether all there are were read.
    """

    layout: tuple[str, int]
    target: int | None
    next_ms: int
    windows: int = 0
    base_units: int = 0
    vector: NDArray[np.int64] | None = None
    dearest: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    complete: bool = True

    def read(self, budget: Budget, query: Query, ended_from: EndedFrom) -> None:
        """Add the windows that were not read yet, as far as one reading goes."""
        room = MOST_CELLS_READ
        self.complete = False
        while not self.complete:
            page = ended_from(self.next_ms, _PAGE)
            for one in page:
                periods = () if one.asked is None else one.asked.periods
                span = (one.start_ms, one.end_ms)
                mine = _concerns(budget, periods, span, self.target)
                if mine and one.settled_units is not None:
                    takes = self.layout[1] if one.costs is not None else 0
                    if takes > room and room < MOST_CELLS_READ:
                        return
                    self._add(one, query)
                    room -= takes
                self.next_ms = one.start_ms + 1
            self.complete = len(page) < _PAGE

    def _add(self, one: Ended, query: Query) -> None:
        fingerprint, cells = self.layout
        asked = one.asked
        alike = asked is not None and asked.cells == cells
        if alike and one.fingerprint != fingerprint:
            now, then = (query.covers(each).grouping for each in (fingerprint, one.fingerprint))
            alike = cells_key(now) == cells_key(then) != ""
        self.windows += 1
        # Over other cells nobody knows which predicate lost what: the dearest, for each.
        base_units, costs = one.settled_units or 0, None
        if one.costs is not None and alike:
            base_units, costs = 0, self._costs_of(one, one.costs)
        few = None if asked is None else asked.windows_per_period
        if few is not None and few * cells <= MOST_CELLS_READ:
            each = np.full(cells, base_units) if costs is None else costs
            before = self.dearest.get(one.fingerprint, np.zeros((few, cells), np.int64))
            # Of these a person counts in so many: the dearest so many of each cell.
            self.dearest[one.fingerprint] = np.sort(np.vstack((before, each)), axis=0)[1:]
            return
        self.base_units += base_units
        if costs is not None:
            self.vector = costs if self.vector is None else self.vector + costs

    def total(self) -> NDArray[np.int64] | None:
        """Return what each cell lost beyond what every cell did."""
        sums = [few.sum(axis=0) for few in self.dearest.values()]
        sums += [] if self.vector is None else [self.vector]
        return np.sum(sums, axis=0, dtype=np.int64) if sums else None

    @staticmethod
    def _costs_of(one: Ended, costs: bytes) -> NDArray[np.int64]:
        try:
            return LevelCosts.decode(costs).as_array()
        except ValueError as error:
            raise LedgerError(
                f"the window of alarm {one.query!r} from {one.start_ms} ms to {one.end_ms} ms: "
                f"{sentence_of(error)}",
                hint="run `tocsin ledger FILE verify`",
            ) from None


@lru_cache(maxsize=1_000)  # alarms are much alike, and most are as they were when last shown
def _min_entropy(units: tuple[int, ...], counts: tuple[int, ...]) -> MinEntropy:
    levels = np.array(units) / UNITS_PER_EPSILON
    return min_entropy_levels(levels, counts, node_limit=_NODES)


def _beside(budget: Budget, query: Query) -> Iterable[_Beside]:
    for seen in budget.recovered:
        if seen.query == query.query and seen.outcome is Outcome.DECIDED:
            span = (seen.start_ms, seen.end_ms)
            yield _Beside(seen.start_ms, seen.periods, span, seen.epsilon_units)
    for charge in budget.spent:
        asked = charge.asked
        if asked.query == query.query:
            span = (asked.start_ms, asked.end_ms)
            yield _Beside(asked.start_ms, asked.periods, span, charge.worst_cell_units)


def _target(budget: Budget, latest: Ended | None, beside: list[_Beside]) -> int | None:
    """Return the last period of the latest window, or the instant at which it starts."""
    found = [(one.start_ms, one.periods) for one in beside]
    if latest is not None and latest.asked is not None:
        found.append((latest.start_ms, latest.asked.periods))
    if not found:
        return None
    start_ms, periods = max(found)
    return periods[-1] if budget.by_user else start_ms


def _concerns(
    budget: Budget, periods: tuple[int, ...], span: tuple[int, int], target: int | None
) -> bool:
    """Whether a window was charged to the period, or covers the instant."""
    if target is None:
        return False
    return target in periods if budget.by_user else span[0] <= target < span[1]


def _limited(vector: NDArray[np.int64] | None, base_units: int, cells: int) -> NDArray[np.int64]:
    costs = np.full(cells, base_units, dtype=np.int64)
    if vector is not None:
        costs += np.minimum(vector, _MOST_UNITS - base_units)
    costs.setflags(write=False)
    return costs
