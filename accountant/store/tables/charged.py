"""What was charged: charges and runs, what periods hold of them, and the chain."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from accountant.costs.charges import Charge, PeriodCap, UniformCost
from accountant.costs.runs import StoredRun
from accountant.records import Answer
from accountant.store.declaration import Index, Table
from accountant.store.tables.windows import WINDOW, OfWindow

__all__ = [
    "CHARGES",
    "COMPACTED",
    "DRAWN",
    "ENDED",
    "FINAL",
    "GRANTED",
    "LINKS",
    "OPEN",
    "RUNS",
    "SHARES",
    "TOTALS",
    "ChargeRow",
    "ChargeState",
    "CompactedRow",
    "DrawnRow",
    "LinkKind",
    "LinkRow",
    "PeriodTotal",
    "ShareRow",
    "TotalRow",
]


class ChargeState(StrEnum):
    """Where a charge stands."""

    PENDING = "pending"
    """Served, not answered: that takes the end of earlier windows."""
    RESERVED = "reserved"
    SETTLED = "settled"
    SPENT = "spent"
    """Taken as spent without a decision of this ledger: it was rolled back here."""
    RELEASED = "released"


OPEN: Final = (ChargeState.PENDING, ChargeState.RESERVED)
"""States of a charge that may still end cheaper, down to nothing."""

FINAL: Final = (ChargeState.SETTLED, ChargeState.SPENT)
"""States of a loss that is never taken back."""

GRANTED: Final = (ChargeState.RESERVED, ChargeState.SETTLED)
"""States of a charge whose window was let through."""

ENDED: Final = (*FINAL, ChargeState.RELEASED)
"""States that never change again."""


class PeriodTotal(NamedTuple):
    """What a period holds: reserved at worst or realised, and realised only; in loss units."""

    held: int = 0
    final: int = 0


@dataclass(frozen=True, slots=True)
class ChargeRow(OfWindow):
    """One window's reservation and what became of it.

    Args:
        admission: what the window was answered.
        units: loss of one cell at worst.
        loss_units: loss of one privacy unit at worst.
        settled_units: loss of the dearest cell, realised.
        settled_loss_units: loss of one privacy unit, realised.
        costs: realised cell by cell, where they differ (:mod:`accountant.costs.levels`).
        in_run: whether it shares a run's charge.
        held_units: what a window of a run holds once it is reserved; others hold their worst.
        windows_per_period: in how many windows of its query, under its configuration, a person
            counts in a period; ``None`` for all.
    """

    query: str
    start_ms: int
    end_ms: int
    scope: str
    admission: Answer
    state: ChargeState
    fingerprint: str
    units: int
    cells: int
    cells_per_unit: int
    loss_units: int
    settled_units: int | None
    settled_loss_units: int | None
    costs: bytes | None
    periods: tuple[int, ...]
    in_run: bool = False
    held_units: int | None = None
    windows_per_period: int | None = None

    @property
    def asked(self) -> Charge:
        """What was asked for; of a window in a run, what it holds."""
        cost = UniformCost(self.worst_cell_units, self.cells)
        return Charge(self.key, cost, self.cells_per_unit, self.periods, self.cap)

    @property
    def cap(self) -> PeriodCap | None:
        """Which windows it is one of that a person counts in a few of."""
        if self.windows_per_period is None:
            return None
        return PeriodCap(self.windows_per_period, self.query, self.fingerprint)

    @property
    def worst_cell_units(self) -> int:
        """Loss of one cell at worst."""
        return self.units if self.held_units is None else self.held_units

    @property
    def worst_units(self) -> int:
        """Loss of one privacy unit at worst."""
        return self.loss_units if self.held_units is None else self.held_units

    @property
    def total(self) -> PeriodTotal:
        """What it adds to every period it touches, where it has no cap over a period."""
        if self.state is ChargeState.RESERVED:
            return PeriodTotal(self.worst_units, 0)
        return PeriodTotal(self.final_units, self.final_units)

    @property
    def final_units(self) -> int:
        """Loss of one privacy unit that is never taken back."""
        if self.state is ChargeState.SPENT:
            return self.worst_units
        return self.settled_loss_units or 0


CHARGES: Final = Table(
    "charges",
    ChargeRow,
    key=WINDOW,
    refers={"query": "queries", "scope": "scopes"},
    indexes=[
        # An answer reads the charges that end after a window's start: never the past.
        Index("charges_by_end", ("scope", "end_ms")),
        Index("charges_open", ("scope",), "state = 'reserved'"),
        Index("charges_pending", ("scope",), "state = 'pending'"),
        Index("charges_capped", ("scope", "end_ms"), "windows_per_period IS NOT NULL"),
    ],
    unreadable="window [{start_ms}, {end_ms}) of {query!r}: its charge cannot be read: {error}",
)

RUNS: Final = Table(
    "runs",
    StoredRun,
    key=["query"],
    refers={"query": "queries"},
    private=None,
    unreadable="the run of {query!r} cannot be read",
)


@dataclass(frozen=True, slots=True)
class TotalRow:
    """What a budget's period holds, reserved at worst or realised, and realised only."""

    scope: str
    period_ms: int
    held_units: int
    final_units: int


TOTALS: Final = Table("totals", TotalRow, key=["scope", "period_ms"], refers={"scope": "scopes"})


@dataclass(frozen=True, slots=True)
class ShareRow:
    """What one query keeps of every period of its budget, in loss units."""

    query: str
    scope: str
    share_units: int


SHARES: Final = Table(
    "shares", ShareRow, key=["query"], refers={"query": "queries", "scope": "scopes"}
)


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """What a query with a share holds of a period, as a total does, since it has its share."""

    query: str
    period_ms: int
    held_units: int
    final_units: int


DRAWN: Final = Table("drawn", DrawnRow, key=["query", "period_ms"], refers={"query": "queries"})


@dataclass(frozen=True, slots=True)
class CompactedRow:
    """What compacted charges left behind in a budget's period."""

    scope: str
    period_ms: int
    final_units: int


COMPACTED: Final = Table(
    "compacted", CompactedRow, key=["scope", "period_ms"], refers={"scope": "scopes"}
)


class LinkKind(StrEnum):
    """What a link tells of."""

    SERVED = "served"
    ENDED = "ended"
    ADOPTED = "adopted"
    DECIDED = "decided"
    """A decision of a window whose charge had ended before."""
    STATE = "state"
    """Of the budget as a whole: its terms, its queries' rows, what compaction left."""


@dataclass(frozen=True, slots=True)
class LinkRow(OfWindow):
    """What happened to a charge, as the link of that number in its budget's chain.

    ``told`` is what cannot be read elsewhere: the digest of an adopted decision, a budget's state.
    """

    scope: str
    link: int
    kind: LinkKind
    query: str
    start_ms: int
    end_ms: int
    told: str | None
    hash: bytes


LINKS: Final = Table(
    "links",
    LinkRow,
    key=["scope", "link"],
    refers={"scope": "scopes"},
    indexes=[
        Index("links_by_window", WINDOW),
        Index("links_told", ("scope", "link"), "told IS NOT NULL"),
    ],
)
