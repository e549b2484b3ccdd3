"""What a ledger's entries come to, in memory: budgets, queries, logs; no entry is read here.

Guarantee: whatever a rule can ask about a window that is open or still to come is here, however old
the ledger is. What only windows of the past could ask for is dropped (:meth:`Budget.forget`), so
that a state grows with what overlaps and with budget periods, not with what was ever decided.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accountant.budget.dearest import dearest_sum
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, PeriodCap, UniformCost, WindowKey
from accountant.costs.runs import StoredRun
from accountant.layouts import Growth, Layouts
from accountant.log.entries import Archived, Asked, Ended, Given, Head
from accountant.loss.held import Held
from accountant.records import Answer, BudgetTerms, LogIdentity, SeenDecision
from accountant.regions.groupings import cells_key
from accountant.regions.shapes import ANYWHERE, Shape
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "FINAL",
    "OPEN",
    "STATES",
    "Budget",
    "ChargeState",
    "PeriodTotal",
    "Query",
    "Reservation",
    "State",
    "Tally",
]


class ChargeState(StrEnum):
    """Where a reservation stands; one that was released is kept nowhere."""

    PENDING = "pending"
    """Asked for, not answered: that takes the end of earlier windows."""
    RESERVED = "reserved"
    SETTLED = "settled"
    SPENT = "spent"
    """Taken as spent without a decision of this ledger."""
    RELEASED = "released"


# As names of this module: those of an enumeration take ten times as long to look up.
_PENDING, _RESERVED, _SETTLED, _SPENT, _RELEASED = ChargeState

OPEN: Final = frozenset({_PENDING, _RESERVED})
"""States of a reservation that may still end cheaper, down to nothing."""

FINAL: Final = frozenset({_SETTLED, _SPENT})
"""States of a loss that is never taken back."""

_SPARE: Final = 512
_BEGINNING_MS: Final = -(2**63)


# Structs are made in a third of the time of named tuples; as arrays they are the same bytes.
class PeriodTotal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a period holds: reserved at worst or realised, and realised only; in loss units."""

    held: int = 0
    final: int = 0

    def plus(self, other: PeriodTotal, sign: int = 1) -> PeriodTotal:
        """Return the sum with another, or the difference (``sign`` -1)."""
        return PeriodTotal(self.held + sign * other.held, self.final + sign * other.final)


_NOTHING: Final = PeriodTotal()


class Tally(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How many windows ended in one way, and when the last of them did."""

    windows: int = 0
    last_ms: int = 0


class Reservation(msgspec.Struct, frozen=True, gc=False):
    """One window's reservation and what became of it.

    Args:
        asked: what was asked for, with its answer.
        state: where it stands.
        settled_units: loss of the dearest cell, realised.
        realised_units: loss of one privacy unit, realised.
        costs: realised cell by cell, where they differ.
    """

    asked: Asked
    state: ChargeState
    settled_units: int | None = None
    realised_units: int = 0
    costs: bytes | None = None

    @classmethod
    def settled(cls, ended: Ended) -> Reservation | None:
        """Return what a window that ended counts for good; ``None`` where it drew nothing."""
        asked, units = ended.asked, ended.settled_units
        if asked is None or units is None:
            return None
        return cls(asked, _SETTLED, units, ended.loss_units, ended.costs)

    @property
    def window(self) -> WindowKey:
        """The window."""
        return self.asked.window

    @property
    def loss_units(self) -> int:
        """Loss of one privacy unit as it was asked for, at worst."""
        asked = self.asked
        return asked.units * min(asked.cells_per_unit, asked.cells)

    @property
    def worst_cell_units(self) -> int:
        """Loss of one cell at worst; of a window in a run, what it holds."""
        held = self.asked.held_units
        return self.asked.units if held is None else held

    @property
    def worst_units(self) -> int:
        """Loss of one privacy unit at worst."""
        held = self.asked.held_units
        return self.loss_units if held is None else held

    @property
    def final_units(self) -> int:
        """Loss of one privacy unit that is never taken back."""
        return self.worst_units if self.state is _SPENT else self.realised_units

    @property
    def parts(self) -> tuple[int, int]:
        """What it adds to every period it touches, where it has no cap over a period."""
        if self.state is _RESERVED:
            return self.worst_units, 0
        units = self.final_units
        return units, units

    @property
    def total(self) -> PeriodTotal:
        """The same, by name."""
        return PeriodTotal(*self.parts)

    @property
    def cap(self) -> PeriodCap | None:
        """Which windows it is one of that a person counts in a few of."""
        windows = self.asked.windows_per_period
        if windows is None:
            return None
        return PeriodCap(windows, self.asked.query, self.asked.fingerprint)

    @property
    def charge(self) -> Charge:
        """What it asks the filter for."""
        asked = self.asked
        cost = UniformCost(self.worst_cell_units, asked.cells)
        return Charge(self.window, cost, asked.cells_per_unit, asked.periods, self.cap)

    @property
    def left_units(self) -> int | None:
        """What the alarms that it left its run may cost; ``None`` where it drew nothing."""
        if not self.asked.in_run:
            return None
        if self.state is _SETTLED:
            return self.worst_units - self.final_units
        # The recovery that took it as spent ended the run.
        return 0 if self.state is _SPENT else None

    def answered(self, given: Answer, held_units: int | None = None) -> Reservation:
        """Return it with an answer: reserved, still pending, or released."""
        asked = msgspec.structs.replace(self.asked, answer=given, held_units=held_units)
        return Reservation(asked, STATES.get(given, _RELEASED))

    def as_given(self) -> Given:
        """Return its answer as an entry says it."""
        asked = self.asked
        window = (asked.query, asked.start_ms, asked.end_ms)
        return Given(*window, asked.answer, asked.held_units)


STATES: Final = {Answer.PENDING: _PENDING, Answer.RESERVED: _RESERVED}
"""Where a reservation stands by its answer; by any other, it was released."""


@dataclass(slots=True)
class Query:
    """One registered query.

    Args:
        query: its name.
        scope: the budget it draws on.
        feed: where its events come from.
        fingerprint: of its configuration.
        definition: the same in full.
        cursor_ms: start of its oldest undecided window.
        shapes: which rows its cells cover, by fingerprint.
        share_units: what it keeps of every period.
        drawn: what it holds of a period, since it has a share.
        effective_from_ms: start of the first window that an applied change decides.
        retired: whether it decides no more.
        sequence: number of its last decision.
        ended: windows by outcome and reason.
        run: its newest run; its private state is left out.
        left: keyed digest of that state, or of what its last pane left.
        longest_ms: length of its longest window that ended.
        settled_ms: start of its last window that was decided.
        beside: starts of its decisions that another copy's took the place of.
    """

    query: str
    scope: str
    feed: str
    fingerprint: str
    definition: str
    cursor_ms: int
    shapes: dict[str, Shape]
    share_units: int = 0
    drawn: dict[int, PeriodTotal] = field(default_factory=dict)
    effective_from_ms: int | None = None
    retired: bool = False
    sequence: int = 0
    ended: dict[str, Tally] = field(default_factory=dict)
    run: StoredRun | None = None
    left: bytes | None = None
    longest_ms: int = 0
    settled_ms: int | None = None
    beside: list[int] = field(default_factory=list)

    def covers(self, fingerprint: str) -> Shape:
        """Return which rows its cells cover under one of its configurations."""
        return self.shapes.get(fingerprint, ANYWHERE)


class Budget:
    """One budget.

    Args:
        terms: what it was registered with.
    """

    def __init__(self, terms: BudgetTerms) -> None:
        self.terms = terms
        self.by_user = terms.unit is PrivacyUnit.USER
        self.frontier: WindowKey | None = None
        self.queries: dict[str, Query] = {}
        self.charges: dict[WindowKey, Reservation] = {}
        """Those that are open, and those that a window to come may be compared with."""
        self.refused: dict[WindowKey, Answer] = {}
        """Answers of windows that were released and have not ended."""
        self.totals: dict[int, PeriodTotal] = {}
        """Unit ``user``: what periods hold, by their starts (ms)."""
        self.final: list[Standing] = []
        """Unit ``event``: what counts for good, by end of windows, as far as it was asked for."""
        self.settled: list[Reservation] = []
        """Unit ``event``: what counts for good and nobody has asked for yet."""
        self.recovered: list[SeenDecision] = []
        self.spent: list[Reservation] = []
        """Reservations that a recovery took as spent."""
        self.worst_units = 0
        """Unit ``event``: what the dearest row has lost for good."""
        self.archived_ms: int | None = None
        """No window that starts before this is served any more."""
        self.archived_units = 0
        """Unit ``event``: what the dearest row had lost for good when entries were archived."""
        self.archived_beside = 0
        """How many decisions of other copies that counts."""
        self.forgotten_ms = _BEGINNING_MS
        """What ended by then may be left out of ``charges`` and ``final``."""
        self._capped: defaultdict[tuple[int, PeriodCap], dict[WindowKey, PeriodTotal]]
        self._capped = defaultdict(dict)
        self._kept = 0

    def open(self) -> list[Reservation]:
        """Return what is reserved or pending, in order."""
        found = [one for one in self.charges.values() if one.state in OPEN]
        return sorted(found, key=lambda one: one.window)

    def put(self, charge: Reservation, window: WindowKey | None = None) -> None:
        """Store what became of a window's reservation, in every sum that it is in.

        Args:
            charge: as it stands.
            window: its window, where it was made already.
        """
        asked, state = charge.asked, charge.state
        window = window or asked.window
        before = self.charges.pop(window, None)
        if state is not _RELEASED:
            self.charges[window] = charge
        if self.by_user:
            held, final = charge.parts
            if before is not None:
                was = before.parts
                held, final = held - was[0], final - was[1]
            cap = charge.cap
            for period in asked.periods:
                if cap is not None:
                    growth = self._growth((period, cap), window, charge.total)
                    held, final = growth.held, growth.final
                self._add(period, asked.query, held, final)
        elif state in FINAL:
            self.settled.append(charge)

    def answer(self, charge: Reservation, given: Answer, held_units: int | None = None) -> None:
        """Store the answer of a window: released unless it is reserved."""
        after = charge.answered(given, held_units)
        self.put(after)
        if after.state is _RELEASED:
            self.refused[after.window] = given

    def add_recovered(self, seen: SeenDecision) -> None:
        """Count a decision of another copy as spent."""
        self.recovered.append(seen)
        for period in seen.periods:
            self._add(period, seen.query, seen.loss_units, seen.loss_units)

    def standing(self, charge: Reservation) -> Standing | None:
        """Return what a charge holds or may come to hold; ``None`` when it was released."""
        is_open = charge.state in OPEN
        if not is_open and charge.state not in FINAL:
            return None
        asked, units = charge.asked, charge.worst_units if is_open else charge.final_units
        shape, cells, costs = ANYWHERE, "", None
        if not self.by_user:
            shape, costs = self.shape(asked.query, asked.fingerprint), charge.costs
            known = cells_key(shape.grouping) or f"{asked.query} {asked.fingerprint}"
            cells = f"{asked.cells} {known}"
        held = Held(asked.start_ms, asked.end_ms, units, shape, cells, costs)
        return Standing(held, is_open, asked.periods, asked.query, charge.left_units, charge.cap)

    def shape(self, query: str, fingerprint: str) -> Shape:
        """Return which rows a query covers: one person may have some of any."""
        known = None if self.by_user else self.queries.get(query)
        return ANYWHERE if known is None else known.covers(fingerprint)

    def shapes(self) -> frozenset[Shape]:
        """Return what its queries cover under any configuration that they had."""
        return frozenset(
            [ANYWHERE, *(one for query in self.queries.values() for one in query.shapes.values())]
        )

    def final_after(self, end_ms: int) -> list[Standing]:
        """Return what counts for good of windows that end after an instant; unit ``event``."""
        if self.settled:
            self.final += filter(None, map(self.standing, self.settled))
            self.final.sort(key=_end)
            self.settled.clear()
        return self.final[bisect_right(self.final, end_ms, key=_end) :]

    def recovered_after(self, end_ms: int, first: int = 0) -> list[Standing]:
        """Return what decisions of other copies hold whose windows end after an instant.

        Args:
            end_ms: the instant.
            first: of those that were taken over, the number of the first that is looked at.
        """
        return [
            Standing(Held(one.start_ms, one.end_ms, one.loss_units), False, one.periods, one.query)
            for one in self.recovered[first:]
            if one.end_ms > end_ms
        ]

    def last_in_runs(self, before: WindowKey | None) -> dict[str, Reservation]:
        """Return the last window of each query that was decided in a run, before a window."""
        found: dict[str, Reservation] = {}
        for window, one in self.charges.items():
            if one.asked.in_run and one.state is _SETTLED:
                last = found.get(window.query)
                later = last is None or window > last.window
                if later and (before is None or window < before):
                    found[window.query] = one
        return found

    def plain_total(self, period: int) -> PeriodTotal:
        """Return what a period holds of windows without a cap over it."""
        total = self.totals.get(period, _NOTHING)
        for (mine, cap), windows in self._capped.items():
            if mine == period:
                total = total.plus(_dearest(windows.values(), cap), -1)
        return total

    def horizon_ms(self) -> int:
        """Return an instant that no window which is open, or still to come, starts before."""
        starts = [one.cursor_ms for one in self.queries.values() if not one.retired]
        starts += [one.asked.start_ms for one in self.charges.values() if one.state in OPEN]
        end_ms = self.forgotten_ms if self.frontier is None else self.frontier.end_ms
        return min(starts, default=end_ms)

    def forget(self) -> None:
        """Drop what no window that is open or still to come can be compared with.

        Kept are the last window of each query that was decided in a run, which tells what the run
        may still cost, and windows with a cap until every period that they touch is over.
        """
        if self._size() < 2 * self._kept + _SPARE:
            return
        horizon_ms = self.horizon_ms()
        begun_ms = max((one for one in self.totals if one <= horizon_ms), default=_BEGINNING_MS)
        last = self.last_in_runs(WindowKey(horizon_ms + 1, "", horizon_ms))
        for window, charge in list(self.charges.items()):
            kept = (
                charge.state in OPEN
                or window.end_ms > horizon_ms
                or charge is last.get(window.query)
                or (charge.cap is not None and charge.asked.periods[-1] >= begun_ms)
            )
            if not kept:
                del self.charges[window]
        for window in list(self.refused):
            if window.start_ms < self.queries[window.query].cursor_ms:
                del self.refused[window]
        for period, cap in list(self._capped):
            if period < begun_ms:
                del self._capped[period, cap]
        self.settled = [one for one in self.settled if one.asked.end_ms > horizon_ms]
        self.final = self.final_after(horizon_ms)
        self.forgotten_ms = max(self.forgotten_ms, horizon_ms)
        self._kept = self._size()

    def _size(self) -> int:
        return len(self.charges) + len(self.final) + len(self.settled)

    def _growth(
        self, capped: tuple[int, PeriodCap], window: WindowKey, after: PeriodTotal
    ) -> PeriodTotal:
        """Return how much more a period holds under a cap, once one of its windows has changed."""
        windows, (_, cap) = self._capped[capped], capped
        was = _dearest(windows.values(), cap)
        windows[window] = after
        return _dearest(windows.values(), cap).plus(was, -1)

    def _add(self, period: int, query: str, held: int, final: int) -> None:
        if held or final:
            before = self.totals.get(period, _NOTHING)
            self.totals[period] = PeriodTotal(before.held + held, before.final + final)
        known = self.queries.get(query)
        if known is not None and known.share_units:
            before = known.drawn.get(period, _NOTHING)
            known.drawn[period] = PeriodTotal(before.held + held, before.final + final)


@dataclass(slots=True)
class State:
    """What a ledger believes after its entries up to ``head``."""

    head: Head
    ledger_id: str = ""
    secret: bytes = b""
    created_ms: int = 0
    clock_set_ms: int | None = None
    clock_sets: int = 0
    budgets: dict[str, Budget] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    logs: dict[str, LogIdentity] = field(default_factory=dict)
    growths: dict[str, list[Growth]] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)
    recovered: dict[WindowKey, SeenDecision] = field(default_factory=dict)
    """Decisions of other copies, the last of each window."""
    recovered_ms: dict[WindowKey, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """Of queries that were never registered here: the last number another copy used."""
    archives: list[Archived] = field(default_factory=list)

    def layouts(self, feed: str) -> Layouts:
        """Return how many partitions a registered feed has had."""
        return Layouts(self.logs[feed].partitions, tuple(self.growths.get(feed, ())))

    def recovered_all(self) -> Iterator[SeenDecision]:
        """Yield every decision of another copy that was taken over."""
        for budget in self.budgets.values():
            yield from budget.recovered

    def replayed(self) -> Iterator[tuple[str, str]]:
        """Yield feeds and the digests of files that were replayed as them."""
        for feed, digests in self.files.items():
            for digest in digests:
                yield feed, digest


def _dearest(totals: Iterable[PeriodTotal], cap: PeriodCap) -> PeriodTotal:
    every = list(totals)
    return PeriodTotal(
        dearest_sum((one.held for one in every), cap.windows),
        dearest_sum((one.final for one in every), cap.windows),
    )


def _end(standing: Standing) -> Any:
    return standing.held.end_ms
