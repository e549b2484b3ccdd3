"""What the ledger is pinned to: itself, budgets, logs, queries and the rows that they cover."""

from dataclasses import dataclass
from typing import Final

from accountant.costs.charges import WindowKey
from accountant.records import BudgetTerms, LogIdentity
from accountant.store.declaration import Kind, Table
from accountant.units import PrivacyUnit

__all__ = [
    "LEDGER",
    "LOGS",
    "QUERIES",
    "SCOPES",
    "SHAPES",
    "LedgerRow",
    "QueryRow",
    "ScopeRow",
    "ShapeRow",
]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The ledger itself: the row 1, and no other.

    Args:
        id: 1.
        ledger_id: its identity, told with every decision.
        hash_key: for caps and duplicates; secret.
        clock_ms: the last time it saw.
        created_ms: the first.
    """

    id: int
    ledger_id: str
    hash_key: bytes
    clock_ms: int
    created_ms: int


LEDGER: Final = Table(
    "ledger",
    LedgerRow,
    key=["id"],
    kinds={"id": Kind.SMALL},
    private=["id", "hash_key", "created_ms"],
)


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One budget, the last window that was served, and the ends of its chain.

    Args:
        scope: its name.
        unit: what a neighbour differs in.
        epsilon_max_units: the wall.
        period: how often it is renewed, in words.
        frontier_end_ms: of the last window that was served; nothing before the first.
        frontier_query: likewise.
        frontier_start_ms: likewise.
        settled_worst_units: unit ``event``: worst row over settled charges; they are never taken
            back, so it only grows.
        chain_link: number of its chain's last link.
        chain_hash: of that link.
        base_link: the link up to which the chain was compacted.
        base_hash: of that link.
        compacted_before_ms: charges of windows that end by then may be gone; none that starts
            before it is served.
        compacted_worst_units: what their worst row had lost.
    """

    scope: str
    unit: PrivacyUnit
    epsilon_max_units: int
    period: str
    frontier_end_ms: int | None
    frontier_query: str | None
    frontier_start_ms: int | None
    settled_worst_units: int
    chain_link: int
    chain_hash: bytes
    base_link: int
    base_hash: bytes
    compacted_before_ms: int | None
    compacted_worst_units: int

    @property
    def terms(self) -> BudgetTerms:
        """What it was registered with."""
        return BudgetTerms(self.scope, self.unit, self.epsilon_max_units, self.period)

    @property
    def frontier(self) -> WindowKey | None:
        """The last window that was served."""
        end_ms, query, start_ms = self.frontier_end_ms, self.frontier_query, self.frontier_start_ms
        if end_ms is None or query is None or start_ms is None:
            return None
        return WindowKey(end_ms, query, start_ms)


SCOPES: Final = Table("scopes", ScopeRow, key=["scope"])

LOGS: Final = Table("logs", LogIdentity, key=["feed"], kinds={"partitions": Kind.SMALL})


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One registered query.

    Args:
        query: its name.
        scope: the budget it draws on.
        feed: where its events come from.
        fingerprint: of the configuration in force.
        definition: that configuration, as JSON.
        cursor_ms: start of its oldest undecided window.
        effective_from_ms: start of the first window that an accepted change decides.
        retired: whether it has ended for good.
    """

    query: str
    scope: str
    feed: str
    fingerprint: str
    definition: str
    cursor_ms: int
    effective_from_ms: int | None
    retired: bool


QUERIES: Final = Table("queries", QueryRow, key=["query"], refers={"scope": "scopes"})


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """Which rows a query's cells cover, by the fingerprint that its charges carry."""

    query: str
    fingerprint: str
    region: str
    grouping: str


SHAPES: Final = Table("shapes", ShapeRow, key=["query", "fingerprint"], refers={"query": "queries"})
