"""What predicates have really lost: the realised losses of one query, added up cell by cell.

Every number here depends on the data. The ledger's guarantee covers a reader who sees them (they
are part of the transcript that epsilon_max bounds, ``docs/proofs/filter.md``), but the smaller loss
that they state holds only towards readers who do not. They are the custodian's alone.

Guarantee: where ``complete`` is true, no cell has lost more, towards readers of this query's
decisions, in the period or at the instant summed over, than its cost here; and exactly that much
wherever all windows were counted over the same cells.

Source: MIDE, Theorem 5 (costs of one predicate add up) and Definition 6 (min-entropy).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.arguments import sentence_of
from accountant.costs.levels import MOST_CELLS, LevelCosts
from accountant.costs.minentropy import min_entropy_levels
from accountant.errors import LedgerError
from accountant.records import Outcome
from accountant.regions.groupings import grouping_name
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from accountant.costs.minentropy import MinEntropy
    from accountant.store.finals import FinalLosses
    from accountant.store.tables.decided import AdoptedRow
    from accountant.store.tables.pinned import QueryRow, ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["MOST_CELLS_READ", "Realised", "RealisedLosses"]

MOST_CELLS_READ: Final = 2**24
"""Cells of windows that one reading unpacks, or one window if that has more: the others wait."""

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
        complete: whether nothing is missing from the sum: no charge of it was compacted away, and
            none still waits to be unpacked.
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
        return min_entropy_levels(units / UNITS_PER_EPSILON, counts)


class RealisedLosses:
    """Adds up what the settled windows of a query cost, cell by cell.

    Under unit ``user`` these are the windows that were charged to one budget period; unless another
    is asked for, the last one that the *latest* settled window touches, the one that starts last.
    Under unit ``event`` they are the windows that cover the instant at which the latest starts: the
    sum is what an event of that instant has lost to the query. Windows taken as spent count at
    their worst, and so do decisions of other timelines. A window that was counted over other cells
    than the present ones, before a change of configuration, costs every cell what its dearest cell
    lost.

    The first reading adds up a whole period in one query, later ones what is new. Windows that cost
    their cells differently are unpacked once, a bounded number at a time. The memory holds one
    vector per query and is made anew by whoever starts without it. Safe from many threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._sums: dict[str, _Sum] = {}

    def read(
        self,
        tx: Transaction,
        scope: ScopeRow,
        query: QueryRow,
        *,
        cells: int,
        period: int | None = None,
    ) -> Realised:
        """Return what a query's cells have lost; see :class:`accountant.ledger.reports.Reports`."""
        if not 1 <= cells <= MOST_CELLS:
            raise ValueError(f"a query has between 1 and {MOST_CELLS} cells")
        by_user = scope.terms.unit is PrivacyUnit.USER
        if period is not None and not by_user:
            raise ValueError("there are no periods under unit event")
        with self._lock:
            adopted = [
                row
                for row in tx.adopted.after(scope.terms.scope)
                if row.query == query.query and row.outcome is Outcome.DECIDED
            ]
            # Taken out while it changes: an error halfway would leave it with some charges twice.
            kept = self._sums.pop(query.query, None)
            added = self._updated(
                tx, scope, query, cells=cells, period=period, adopted=adopted, kept=kept
            )
            added.unpack(tx)
            self._sums[query.query] = added
            beside = [row for row in adopted if _adds(row, added.target, by_user=by_user)]
            windows = added.windows + len(beside)
            complete = not (added.lost or added.waiting)
            last = added.last
            # A sum only grows, and the min-entropy that was computed with it is worth keeping.
            if last is None or (last.windows, last.complete) != (windows, complete):
                base_units = added.base_units + sum(row.epsilon_units for row in beside)
                last = Realised(
                    query=query.query,
                    period=added.target if by_user else None,
                    instant_ms=None if by_user else added.target,
                    windows=windows,
                    costs=_limited(added.vector, min(base_units, _MOST_UNITS), cells),
                    complete=complete,
                )
                added.last = last
            return last

    def _updated(
        self,
        tx: Transaction,
        scope: ScopeRow,
        query: QueryRow,
        *,
        cells: int,
        period: int | None,
        adopted: Iterable[AdoptedRow],
        kept: _Sum | None,
    ) -> _Sum:
        """Return the sum with every charge that has ended, apart from those to unpack."""
        name, by_user = scope.terms.scope, scope.terms.unit is PrivacyUnit.USER
        layout = (query.fingerprint, cells)
        if kept is None or kept.layout != layout or kept.link < scope.base_link:
            kept = None
            latest, news = tx.finals.latest(query.query), []
        else:
            latest, news = kept.latest, tx.finals.since(name, query.query, kept.link)
        ends = [latest, *((row.latest_ms, row.periods) for row in news)]
        newest = max((one for one in ends if one is not None), default=None)
        seen = [(row.start_ms, row.periods) for row in adopted]
        target = period
        if period is None and (newest is not None or seen):
            start_ms, periods = max(seen if newest is None else [newest, *seen])
            target = periods[-1] if by_user else start_ms
        # An instant moves with every window, and only windows that cover it count.
        moved = kept is None or kept.target != target or (bool(news) and not by_user)
        if kept is None or moved:
            kept = _Sum(layout, target, _lost(tx, scope, target))
            if target is not None:
                by_ms = None if by_user else target
                news = tx.finals.of(name, query.query, end_ms=target, by_ms=by_ms)
        kept.add(tx, query, (row for row in news if not by_user or target in row.periods))
        kept.link, kept.latest = max(kept.link, scope.chain_link), newest
        return kept


@dataclass(slots=True)
class _Sum:
    """What was added up for one query.

    Args:
        layout: fingerprint and number of the cells that the vector is over.
        target: the period's start, or the instant; ``None`` without a window.
        lost: whether something to add was gone.
        link: the last link of the chain that was looked at.
        latest: start and periods of the window that starts last.
        windows: how many were added.
        base_units: what every cell lost.
        vector: what each cell lost beyond that, shape (cells,), int64; ``None`` for nothing.
        waiting: windows whose cells differ and are still to be unpacked.
        last: what was returned last.
    """

    layout: tuple[str, int]
    target: int | None
    lost: bool
    link: int = 0
    latest: tuple[int, tuple[int, ...]] | None = None
    windows: int = 0
    base_units: int = 0
    vector: NDArray[np.int64] | None = None
    waiting: deque[WindowKey] = field(default_factory=deque)
    last: Realised | None = None

    def add(self, tx: Transaction, query: QueryRow, rows: Iterable[FinalLosses]) -> None:
        """Add charges that have ended; those whose cells differ are put down to be unpacked."""
        same = {self.layout}
        other: set[tuple[str, int]] = set()
        for row in rows:
            layout = (row.fingerprint, row.cells)
            if row.key is not None and layout not in same | other:
                alike = row.cells == self.layout[1] and _same_cells(tx, query, row.fingerprint)
                (same if alike else other).add(layout)
            if row.key is not None and layout in same:
                self.waiting.append(row.key)
            else:
                # Over other cells nobody knows which predicate lost what: the dearest, for each.
                self.base_units += row.units
                self.windows += row.windows

    def unpack(self, tx: Transaction) -> None:
        """Add what waits, window by window, as far as one reading goes."""
        cells, room = self.layout[1], MOST_CELLS_READ
        while self.waiting and (room >= cells or room == MOST_CELLS_READ):
            charge = tx.charges.at(self.waiting[0])
            if charge is None or charge.costs is None:
                self.lost = True  # compacted since it was put down
            else:
                try:
                    costs = LevelCosts.decode(charge.costs).as_array()
                except ValueError as error:
                    key, said = charge.key, sentence_of(error)
                    raise LedgerError(
                        f"window [{key.start_ms}, {key.end_ms}) of {key.query!r}: {said}",
                        hint="run `tocsin ledger verify`",
                    ) from None
                self.vector = costs if self.vector is None else self.vector + costs
                self.windows += 1
            self.waiting.popleft()
            room -= cells


def _adds(row: AdoptedRow, target: int | None, *, by_user: bool) -> bool:
    """Whether an adopted decision was charged to the period, or covers the instant."""
    if target is None:
        return False
    return target in row.periods if by_user else row.start_ms <= target < row.end_ms


def _limited(vector: NDArray[np.int64] | None, base_units: int, cells: int) -> NDArray[np.int64]:
    costs = np.full(cells, base_units, dtype=np.int64)
    if vector is not None:
        costs += np.minimum(vector, _MOST_UNITS - base_units)
    costs.setflags(write=False)
    return costs


def _lost(tx: Transaction, scope: ScopeRow, target: int | None) -> bool:
    """Whether charges that belong to the sum may have been compacted away."""
    horizon_ms = scope.compacted_before_ms
    if horizon_ms is None:
        return False
    if scope.terms.unit is PrivacyUnit.EVENT:
        return target is None or horizon_ms > target
    left = tx.totals.compacted(scope.terms.scope)
    return bool(left) if target is None else target in left


def _same_cells(tx: Transaction, query: QueryRow, fingerprint: str) -> bool:
    """Whether a former configuration had the same cells under the same numbers."""
    now, then = (tx.shape(query.query, one) for one in (query.fingerprint, fingerprint))
    if now is None or then is None:
        return False
    return grouping_name(now.grouping) == grouping_name(then.grouping) != ""
