"""The ledger's rows as frozen data, and how they are read from columns.

What a row means is decided by :mod:`accountant.ledger`; how it is stored by :mod:`accountant.rows`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from accountant.charges import WindowKey
from accountant.overlap import Held
from accountant.records import Admission, BudgetTerms, Outcome, Partial, StoredDecision
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FINAL",
    "HELD",
    "ChargeRow",
    "ChargeState",
    "LedgerRow",
    "QueryRow",
    "ScopeRow",
    "read_adopted",
    "read_charge",
    "read_decision",
    "read_partial",
    "read_scope",
]


class ChargeState(StrEnum):
    """Where a charge stands."""

    RESERVED = "reserved"
    SETTLED = "settled"
    SPENT = "spent"
    """Taken as spent without a decision of this ledger: it was rolled back here."""
    RELEASED = "released"


FINAL = (ChargeState.SETTLED, ChargeState.SPENT)
"""States that are never taken back."""

HELD = (ChargeState.RESERVED, *FINAL)
"""States that count against the wall."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The ledger itself."""

    ledger_id: str
    hash_key: bytes
    clock_ms: int


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One budget with its frontier (the last window that was admitted or refused)."""

    terms: BudgetTerms
    frontier: WindowKey | None
    settled_worst_units: int


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
    """One window's reservation and what became of it."""

    key: WindowKey
    scope: str
    admission: Admission
    state: ChargeState
    fingerprint: str
    units: int
    cells: int
    cells_per_unit: int
    loss_units: int
    settled_units: int | None
    periods: tuple[int, ...]

    @property
    def held_units(self) -> int:
        """What counts against the wall: the worst case, unless it was released."""
        return self.loss_units if self.state in HELD else 0

    @property
    def held(self) -> Held:
        """The same with its window."""
        return Held(self.key.start_ms, self.key.end_ms, self.held_units)


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
    return ScopeRow(terms, frontier, row["settled_worst_units"])


def read_charge(row: Mapping[str, Any]) -> ChargeRow:
    """Return a charge."""
    return ChargeRow(
        key=_key(row),
        scope=row["scope"],
        admission=Admission(row["admission"]),
        state=ChargeState(row["state"]),
        fingerprint=row["fingerprint"],
        units=row["units"],
        cells=row["cells"],
        cells_per_unit=row["cells_per_unit"],
        loss_units=row["loss_units"],
        settled_units=row["settled_units"],
        periods=tuple(json.loads(row["periods"])),
    )


def read_partial(row: Mapping[str, Any]) -> Partial:
    """Return a partial."""
    return Partial(
        key=_key(row),
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
        key=_key(row),
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
        key=_key(row),
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


def _key(row: Mapping[str, Any]) -> WindowKey:
    return WindowKey(end_ms=row["end_ms"], query=row["query"], start_ms=row["start_ms"])
