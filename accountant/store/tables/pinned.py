"""What the ledger is pinned to: itself, budgets, logs, queries and the rows that they cover."""

from dataclasses import dataclass
from typing import Final

from accountant.costs.charges import WindowKey
from accountant.layouts import Growth
from accountant.records import BudgetTerms, LogIdentity
from accountant.store.declaration import Kind, Table
from accountant.units import PrivacyUnit

__all__ = [
    "FILES",
    "GROWTHS",
    "LEDGER",
    "LOGS",
    "QUERIES",
    "SCOPES",
    "SHAPES",
    "FileRow",
    "LedgerRow",
    "QueryRow",
    "ScopeRow",
    "ShapeRow",
]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The ledger itself: the row 1, and no other.

    ``clock_ms`` is the last time it saw, ``schema_version`` what the newest code that opened it
    writes: older code that was running then reads it here, and stops.
    """

    id: int
    ledger_id: str
    hash_key: bytes
    clock_ms: int
    created_ms: int
    schema_version: str


LEDGER: Final = Table(
    "ledger",
    LedgerRow,
    key=["id"],
    kinds={"id": Kind.SMALL},
    private=["id", "hash_key", "created_ms", "schema_version"],
)


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One budget, the last window that was served, and the ends of its chain.

    Under unit ``event`` ``settled_worst_units`` is the worst row over settled charges; they are
    never taken back, so it only grows. Charges of windows that end by ``compacted_before_ms`` may
    be gone, with ``base_link`` the last of their links; none that starts before it is served.
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
    promise: str | None

    @property
    def terms(self) -> BudgetTerms:
        """What it was registered with."""
        return BudgetTerms(self.scope, self.unit, self.epsilon_max_units, self.period, self.promise)

    @property
    def frontier(self) -> WindowKey | None:
        """The last window that was served."""
        end_ms, query, start_ms = self.frontier_end_ms, self.frontier_query, self.frontier_start_ms
        if end_ms is None or query is None or start_ms is None:
            return None
        return WindowKey(end_ms, query, start_ms)


SCOPES: Final = Table("scopes", ScopeRow, key=["scope"])

LOGS: Final = Table("logs", LogIdentity, key=["feed"], kinds={"partitions": Kind.SMALL})

GROWTHS: Final = Table(
    "growths",
    Growth,
    key=["feed", "partitions"],
    refers={"feed": "logs"},
    kinds={"partitions": Kind.SMALL, "before": Kind.SMALL},
)


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file that was replayed as a feed, by what its bytes hash to."""

    feed: str
    digest: str
    first_ms: int


FILES: Final = Table("files", FileRow, key=["feed", "digest"])


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One registered query, with the start of its oldest undecided window.

    ``effective_from_ms`` is the start of the first window that an accepted change decides,
    ``placed_ms`` where the cursor was put last by anything but a decision of this ledger.
    """

    query: str
    scope: str
    feed: str
    fingerprint: str
    definition: str
    cursor_ms: int
    effective_from_ms: int | None
    retired: bool
    placed_ms: int


QUERIES: Final = Table("queries", QueryRow, key=["query"], refers={"scope": "scopes"})


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """Which rows a query's cells cover, by the fingerprint that its charges carry."""

    query: str
    fingerprint: str
    region: str
    grouping: str


SHAPES: Final = Table("shapes", ShapeRow, key=["query", "fingerprint"], refers={"query": "queries"})
