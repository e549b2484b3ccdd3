"""What goes into the ledger and comes out of it, as frozen data.

No database is known here: :mod:`accountant.store.store` turns rows into these and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.charges import WindowKey
from accountant.errors import ArgumentError
from accountant.regions.shapes import ANYWHERE, Shape
from accountant.units import PrivacyUnit  # noqa: TC001  # msgspec reads it where it runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts, Charge
    from accountant.costs.runs import RunTerms

__all__ = [
    "REFERENCE_PARTITIONS",
    "UNSEEN_MS",
    "Answer",
    "BudgetTerms",
    "FinalCharge",
    "LedgerStatus",
    "LogIdentity",
    "Outcome",
    "Partial",
    "PartialStatus",
    "Place",
    "QueryRegistration",
    "QueryStatus",
    "Request",
    "ScopeStatus",
    "SeenDecision",
    "Stand",
    "StoredDecision",
    "Used",
]

REFERENCE_PARTITIONS: Final = 1_000_000
"""Counts of a query's public reference are stored from this partition number on."""


@dataclass(frozen=True, slots=True)
class BudgetTerms:
    """The wall of one scope; never changes under a ledger.

    Args:
        scope: what the budget belongs to (one feed, or feeds that share their people).
        unit: what a neighbour differs in.
        epsilon_max_units: the wall, in loss units; of ``mu^2 / 2`` under a Gaussian promise.
        period: how often it is renewed, in words: ``1d Europe/London``, ``lifetime``; empty for
            unit ``event``.
        promise: what a Gaussian wall promises (:mod:`accountant.loss.gaussian`), else ``None``.
    """

    scope: str
    unit: PrivacyUnit
    epsilon_max_units: int
    period: str
    promise: str | None = None


@dataclass(frozen=True, slots=True)
class QueryRegistration:
    """One alarm as the ledger pins it.

    Args:
        query: its name.
        scope: the budget it draws on.
        feed: where its events come from.
        fingerprint: hex digest of everything that changes its decisions.
        definition: the same as canonical JSON, so that an error can say what changed.
        first_start_ms: start of the first window to decide; read at the first registration only.
        shape: which rows its cells cover; anything wider is safe too.
        share_units: unit ``user``: what it keeps of every period for itself, in loss units.
    """

    query: str
    scope: str
    feed: str
    fingerprint: str
    definition: str
    first_start_ms: int
    shape: Shape = ANYWHERE
    share_units: int = 0


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """The log behind a feed: another cluster, topic id or partition count is another log."""

    feed: str
    cluster_id: str
    topic_id: str
    topic: str
    partitions: int


class PartialStatus(StrEnum):
    """What became of a partial."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    """The same one was there: nothing to do."""
    CONFLICT = "conflict"
    """Another one was there under the same key: the window can only be denied."""
    DECIDED = "decided"
    """The window is decided, or may only be denied: nothing was stored."""
    STALE = "stale"
    """The feed has more partitions since: nothing was stored; it is to be counted again."""


class Stand(StrEnum):
    """How a partition stands for the worker that reads it."""

    OPENED = "opened"
    """Its reading has just begun."""
    READING = "reading"
    """More of it can be read."""
    END = "end"
    """All of it is read."""
    TRANSACTION = "transaction"
    """An open transaction holds back what follows."""
    CORRUPT = "corrupt"
    """What follows cannot be read."""
    UNREACHABLE = "unreachable"
    """It has no leader that answers."""


UNSEEN_MS: Final = 15_000
"""A partition that no worker reported for so long was read by nobody."""


@dataclass(frozen=True, slots=True)
class Place:
    """How far one partition is read, and since when it has not gone on.

    It goes on while its offset moves and there is, or was, more of it to read; at its end, or held
    back, it stands still. Nothing here is known of what was read.

    Args:
        partition: of the feed's topic.
        log_offset: of the next record.
        stand: how it stands.
        still_since_ms: since when it has stood still, while somebody could have read on.
        seen_ms: when it was last reported.
    """

    partition: int
    log_offset: int
    stand: Stand
    still_since_ms: int
    seen_ms: int

    def still_ms(self, since_ms: int, now_ms: int) -> int:
        """Return for how long it was seen to stand still, from an instant on at the earliest."""
        if now_ms - self.seen_ms > UNSEEN_MS:
            return 0
        return max(self.seen_ms - max(self.still_since_ms, since_ms), 0)


@dataclass(frozen=True, eq=False)
class Partial:
    """One partition's final count of one window, as a sparse vector over the query's cells.

    Two partials are the same when their digests are.

    Args:
        key: the window.
        partition: of the feed's topic; ``REFERENCE_PARTITIONS`` more of a public reference's.
        fingerprint: of the query's configuration.
        topic_id: of the log that was read.
        complete: whether the whole slice was still retained.
        cells: length of the vector.
        index: shape (n,), int64, strictly increasing, each in [0, cells).
        value: shape (n,), int64, statistics of those cells.
        first_offset: offset of the first row that counted, -1 when none.
        last_offset: offset of the last row that counted, -1 when none.
        counted_on: the feed, if it is not the query's own but its public reference. Not stored: the
            partition tells, and the fingerprint which feed that is.
        revision: of the layouts of its feed that it was counted under. Not stored either: none is
            stored but of the newest.
        used: under a cap over a period, what people used up through this window, as text of whoever
            counted. Stored apart, as it is needed when the window has long ended.
    """

    key: WindowKey
    partition: int
    fingerprint: str
    topic_id: str
    complete: bool
    cells: int
    index: NDArray[np.int64]
    value: NDArray[np.int64]
    first_offset: int
    last_offset: int
    counted_on: str | None = None
    revision: int = 0
    used: bytes | None = None

    def __post_init__(self) -> None:
        """Refuse a vector that is not sorted, not unique or out of range."""
        if self.index.dtype != np.int64 or self.value.dtype != np.int64:
            raise TypeError("index and value are int64 arrays")
        if self.index.ndim != 1 or self.index.shape != self.value.shape:
            raise ArgumentError("index and value are one-dimensional and of one length")
        outside = self.index.size and (self.index[0] < 0 or self.index[-1] >= self.cells)
        if self.partition < 0 or outside or bool((np.diff(self.index) <= 0).any()):
            raise ArgumentError("indices are strictly increasing and lie in [0, cells)")

    @cached_property
    def digest(self) -> str:
        """BLAKE2b-128 in hex over all of it; equal on every machine for equal partials."""
        hasher = blake2b(digest_size=16)
        head = (
            *(self.key.query, self.key.start_ms, self.key.end_ms, self.partition),
            *(self.fingerprint, self.topic_id, int(self.complete), self.cells),
            *(self.first_offset, self.last_offset, self.index.size),
        )
        hasher.update(repr(head).encode())
        hasher.update(self.index.astype("<i8").tobytes())
        hasher.update(self.value.astype("<i8").tobytes())
        return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class Used:
    """What people had used up of a cap over a period, on one partition.

    Args:
        start_ms: through the window of a query that starts then.
        state: as it was counted.
    """

    start_ms: int
    state: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """Asks for the worst case of one window.

    Args:
        charge: the window and what deciding it costs at worst.
        fingerprint: of the query's configuration.
        too_old: the window was cut so long ago that it is not to be decided.
        run: unit ``user``: what a run costs, for a window that shares its noisy threshold with
            others. The charge is that of a whole run then, for one cell; what the window will hold
            is known, and answered, once the earlier windows of its query have ended.
    """

    charge: Charge
    fingerprint: str
    too_old: bool = False
    run: RunTerms | None = None

    def __post_init__(self) -> None:
        """Refuse a charge that is not that of a whole run."""
        cap = self.charge.cap
        if cap is not None and cap.fingerprint != self.fingerprint:
            raise ArgumentError("the cap's fingerprint does not match the request's")
        if self.run is None:
            return
        if cap is not None:
            raise ArgumentError("a request with an SVT run cannot have a cap")
        whole = (self.run.worst_units, 1)
        if (self.charge.cost.units, self.charge.cells_per_unit) != whole:
            raise ArgumentError("a request with an SVT run needs run.worst_units for one cell")
        if not self.charge.periods:
            raise ArgumentError("an SVT run needs privacy unit user")


class Answer(StrEnum):
    """What the filter said to a window; anything but ``PENDING`` is said once and for all."""

    PENDING = "pending"
    """How earlier windows end decides it: ask again when one of them has."""
    RESERVED = "reserved"
    REFUSED = "refused"
    """Its worst case did not fit under the wall."""
    TOO_OLD = "too_old"
    MISSED = "missed"
    """It was not asked for in its turn, or ended before it was answered (denied, or under a
    configuration that a change or a retirement ended): it can only be denied."""


class Outcome(StrEnum):
    """How a window ended."""

    DECIDED = "decided"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """One window's end, as released.

    Args:
        key: the window.
        outcome: decided or denied.
        reason: why it was denied; ``None`` when decided.
        alarms: which cells fired, in the caller's encoding.
        alarm_count: how many fired.
        epsilon_units: loss reserved per cell, in loss units: a public number, also where less was
            realised; in a run what was realised, a function of its alarms; 0 when denied.
        sequence: gapless number within ``ledger_id`` and query, in the order of windows.
        ledger_id: the ledger that decided it.
        release_ms: it leaves no earlier than this.
        decided_at_ms: when it was stored.
        published: whether it has left.
        fingerprint: of the configuration it was decided under.
        draw: of a pane, which draw of its noise is stored, in hex: keyed with the ledger's secret.
    """

    key: WindowKey
    outcome: Outcome
    reason: str | None
    alarms: bytes
    alarm_count: int
    epsilon_units: int
    sequence: int
    ledger_id: str
    release_ms: int
    decided_at_ms: int
    published: bool
    fingerprint: str
    draw: str | None = None


@dataclass(frozen=True, slots=True)
class SeenDecision:
    """A decision as it stands on the decisions topic, with what it costs under this configuration.

    Args:
        ledger_id: the ledger that released it.
        query: its alarm.
        scope: the budget it drew on.
        start_ms: window start.
        end_ms: window end.
        sequence: its number within ``ledger_id`` and query.
        outcome: decided or denied.
        epsilon_units: loss per cell as it was published, in loss units.
        alarm_count: alarms it carried.
        next_start_ms: start of the query's next window: the cursor moves there when it is adopted.
        cells_per_unit: cells of the window that one privacy unit reaches.
        periods: budget periods the window touches; empty under unit ``event``.
        draw: of a pane, as its record says it; ``None`` of others.
        gaussian: whether a Gaussian budget was charged.
    """

    ledger_id: str
    query: str
    scope: str
    start_ms: int
    end_ms: int
    sequence: int
    outcome: Outcome
    epsilon_units: int
    alarm_count: int
    next_start_ms: int
    cells_per_unit: int = 1
    periods: tuple[int, ...] = ()
    draw: str | None = None
    gaussian: bool = False

    @property
    def key(self) -> WindowKey:
        """The window."""
        return WindowKey(end_ms=self.end_ms, query=self.query, start_ms=self.start_ms)

    @property
    def loss_units(self) -> int:
        """What it cost one privacy unit at worst, in loss units."""
        return self.epsilon_units * self.cells_per_unit

    @property
    def digest(self) -> str:
        """BLAKE2b-128 in hex over what was released."""
        released = (
            *(self.ledger_id, self.sequence, self.query, self.start_ms, self.end_ms),
            *(self.outcome.value, self.epsilon_units, self.alarm_count),
            *(() if self.draw is None else (self.draw,)),
        )
        return blake2b(repr(released).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class FinalCharge:
    """What one window lost for good, cell by cell.

    Args:
        key: the window.
        fingerprint: of the configuration it was decided under.
        cost: realised loss per cell; the reservation where nobody knows it.
    """

    key: WindowKey
    fingerprint: str
    cost: CellCosts


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """How much of one wall is left.

    Args:
        scope: the budget.
        unit: its privacy unit.
        epsilon_max_units: the wall.
        spent_units: loss of the worst-off unit, realised where windows have ended, at worst where
            they are reserved: maximum over rows under unit ``event``, over periods under ``user``.
        periods: under unit ``user``, the same by period start (ms), the 64 latest.
        reserved_units: the same if nothing but open reservations counted; never more than spent.
        reservations: windows reserved and not yet decided.
        pending: windows whose answer waits for the end of earlier ones.
        archived_ms: windows that ended by then may lie in an archive; ``None`` before the first.
        promise: as :class:`BudgetTerms` has it.
    """

    scope: str
    unit: PrivacyUnit
    epsilon_max_units: int
    spent_units: int
    periods: Mapping[int, int]
    reserved_units: int
    reservations: int
    pending: int
    archived_ms: int | None = None
    promise: str | None = None


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """How far one query is.

    Args:
        query: its name.
        scope: its budget.
        cursor_ms: start of its oldest undecided window.
        decided: windows decided.
        denied: windows denied, by reason.
        decided_at_ms: when the last one was decided; 0 before it.
        denied_at_ms: when the last one was denied, by reason.
        unpublished: decisions that have not left yet.
        sequence: number of its last decision.
        removed: whether it was removed, for good.
        alarms_left: alarms that its newest run can still give; ``None`` without a run.
        alarms_rung: alarms that it has given.
    """

    query: str
    scope: str
    cursor_ms: int
    decided: int
    denied: Mapping[str, int]
    decided_at_ms: int
    denied_at_ms: Mapping[str, int]
    unpublished: int
    sequence: int
    removed: bool
    alarms_left: int | None = None
    alarms_rung: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The ledger at one instant.

    Args:
        ledger_id: its identity.
        checkpoint: ``NUMBER:HASH`` of its last entry, to note elsewhere.
        scopes: by name.
        queries: by name.
    """

    ledger_id: str
    checkpoint: str
    scopes: Mapping[str, ScopeStatus]
    queries: Mapping[str, QueryStatus]
