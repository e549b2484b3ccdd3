"""The ledger's rows as frozen data, and how they are read from columns.

What a row means is decided by :mod:`accountant.ledger.ledger`; how it is stored by
:mod:`accountant.store.rows`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.runs import StoredRun
from accountant.records import Answer, BudgetTerms, Outcome, Partial, StoredDecision
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ENDED",
    "FINAL",
    "ChargeRow",
    "ChargeState",
    "LedgerRow",
    "PeriodTotal",
    "QueryRow",
    "ScopeRow",
    "read_adopted",
    "read_charge",
    "read_decision",
    "read_key",
    "read_partial",
    "read_run",
    "read_scope",
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


FINAL = (ChargeState.SETTLED, ChargeState.SPENT)
"""States of a loss that is never taken back."""

ENDED = (*FINAL, ChargeState.RELEASED)
"""States that never change again."""


class PeriodTotal(NamedTuple):
    """What a period holds: reserved at worst or realised, and realised only; in loss units."""

    held: int = 0
    final: int = 0


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The ledger itself."""

    ledger_id: str
    hash_key: bytes
    clock_ms: int


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One budget with its frontier (the last window that was served) and the ends of its chain."""

    terms: BudgetTerms
    frontier: WindowKey | None
    settled_worst_units: int
    chain_link: int
    chain_hash: bytes
    base_link: int
    base_hash: bytes
    compacted_before_ms: int | None
    compacted_worst_units: int


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One registered query with its cursor."""

    query: str
    scope: str
    feed: str
    fingerprint: str
    definition: str
    cursor_ms: int
    effective_from_ms: int | None
    retired: bool


@dataclass(frozen=True, slots=True)
class ChargeRow:
    """One window's reservation and what became of it.

    ``held_units`` is what a window of a run holds once it is reserved; others hold their worst.
    """

    key: WindowKey
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

    @property
    def asked(self) -> Charge:
        """What was asked for; of a window in a run, what it holds."""
        cost = UniformCost(self.worst_cell_units, self.cells)
        return Charge(self.key, cost, self.cells_per_unit, self.periods)

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
        """What it adds to every period it touches."""
        if self.state is ChargeState.RESERVED:
            return PeriodTotal(self.worst_units, 0)
        return PeriodTotal(self.final_units, self.final_units)

    @property
    def final_units(self) -> int:
        """Loss of one privacy unit that is never taken back."""
        if self.state is ChargeState.SPENT:
            return self.worst_units
        return self.settled_loss_units or 0


def read_scope(row: Mapping[str, Any]) -> ScopeRow:
    """Return a budget."""
    frontier = None
    if row["frontier_end_ms"] is not None:
        frontier = WindowKey(
            end_ms=row["frontier_end_ms"],
            query=row["frontier_query"],
            start_ms=row["frontier_start_ms"],
        )
    terms = BudgetTerms(
        scope=row["scope"],
        unit=PrivacyUnit(row["unit"]),
        epsilon_max_units=row["epsilon_max_units"],
        period=row["period"],
    )
    kept = {name: row[name] for name in ScopeRow.__dataclass_fields__ if name in row}
    return ScopeRow(terms=terms, frontier=frontier, **kept)


def read_charge(row: Mapping[str, Any]) -> ChargeRow:
    """Return a charge.

    Raises:
        ValueError: a column holds what no charge has; the window is named.
    """
    try:
        return _charge(row)
    except (ValueError, TypeError) as error:
        what = f"window [{row['start_ms']}, {row['end_ms']}) of {row['query']!r}"
        raise ValueError(f"{what}: its charge cannot be read: {error}") from None


def _charge(row: Mapping[str, Any]) -> ChargeRow:
    return ChargeRow(
        key=read_key(row),
        scope=row["scope"],
        admission=Answer(row["admission"]),
        state=ChargeState(row["state"]),
        fingerprint=row["fingerprint"],
        units=row["units"],
        cells=row["cells"],
        cells_per_unit=row["cells_per_unit"],
        loss_units=row["loss_units"],
        settled_units=row["settled_units"],
        settled_loss_units=row["settled_loss_units"],
        costs=row["costs"],
        periods=tuple(json.loads(row["periods"])),
        in_run=row["in_run"],
        held_units=row["held_units"],
    )


def read_run(row: Mapping[str, Any]) -> StoredRun:
    """Return a query's run.

    Raises:
        ValueError: its periods are no list of period starts; the query is named.
    """
    try:
        periods = tuple(json.loads(row["periods"]))
    except (ValueError, TypeError):
        raise ValueError(f"the run of {row['query']!r} cannot be read") from None
    return StoredRun(
        query=row["query"],
        fingerprint=row["fingerprint"],
        periods=periods,
        open_units=row["open_units"],
        alarm_units=row["alarm_units"],
        left=row["left"],
        rung=row["alarms_rung"],
        opened_start_ms=row["opened_start_ms"],
        last_start_ms=row["last_start_ms"],
        state=bytes(row["state"]),
    )


def read_partial(row: Mapping[str, Any]) -> Partial:
    """Return a partial."""
    return Partial(
        key=read_key(row),
        partition=row["partition"],
        fingerprint=row["fingerprint"],
        topic_id=row["topic_id"],
        complete=row["complete"],
        cells=row["cells"],
        index=np.frombuffer(row["cell_index"], dtype="<i8").astype(np.int64),
        value=np.frombuffer(row["cell_value"], dtype="<i8").astype(np.int64),
        first_offset=row["first_offset"],
        last_offset=row["last_offset"],
    )


def read_decision(row: Mapping[str, Any], ledger_id: str) -> StoredDecision:
    """Return a decision of ``ledger_id``."""
    return StoredDecision(
        key=read_key(row),
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        alarms=row["alarms"],
        alarm_count=row["alarm_count"],
        epsilon_units=row["epsilon_units"],
        sequence=row["sequence"],
        ledger_id=ledger_id,
        release_ms=row["release_ms"],
        decided_at_ms=row["decided_at_ms"],
        published=row["published"],
        fingerprint=row["fingerprint"],
    )


def read_adopted(row: Mapping[str, Any]) -> StoredDecision:
    """Return a decision of another timeline, already published."""
    outcome = Outcome(row["outcome"])
    return StoredDecision(
        key=read_key(row),
        outcome=outcome,
        reason=None if outcome is Outcome.DECIDED else "adopted",
        alarms=b"",
        alarm_count=row["alarm_count"],
        epsilon_units=row["epsilon_units"],
        sequence=row["sequence"],
        ledger_id=row["ledger_id"],
        release_ms=row["adopted_at_ms"],
        decided_at_ms=row["adopted_at_ms"],
        published=True,
        fingerprint="",
    )


def read_key(row: Mapping[str, Any]) -> WindowKey:
    """Return the window of a row."""
    return WindowKey(end_ms=row["end_ms"], query=row["query"], start_ms=row["start_ms"])
