"""What contradicts itself in rows that no chain tells of, or that refer to what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.audit.chargechecks import named
from accountant.loss.gaussian import Gaussian
from accountant.records import SeenDecision
from accountant.store.declaration import made_from
from accountant.store.orphans import orphans
from accountant.store.partials import conflict_digest, mark_digest
from accountant.store.tables.journal import CLOCK_SET
from accountant.store.used import used_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.store.tables.decided import AdoptedRow
    from accountant.store.tables.pinned import ScopeRow
    from accountant.store.transaction import Transaction

__all__ = ["adopted_problems", "frontier_problems", "problems", "promise_problems"]

_CLOCK_GRAIN_MS: Final = 100
"""The mark may stand so far behind (:data:`accountant.ledger.access.CLOCK_GRAIN_MS`)."""


def problems(tx: Transaction, *, whole: bool) -> Iterator[str]:
    """Yield what contradicts itself, one sentence each.

    Args:
        tx: sees one snapshot.
        whole: whether also what takes time that grows with the ledger's age.
    """
    yield from _clock_problems(tx)
    for row in tx.partials.each():
        partial = tx.partials.of_row(row)
        digest = conflict_digest(partial.digest) if row.conflicted else partial.digest
        if row.digest != digest:
            yield f"{named(row.key)}: the count of partition {row.partition} is not what was stored"
    for used in tx.used.each():
        if used.digest != used_digest(used):
            place = f"the window of {used.query!r} from {used.start_ms} on"
            yield f"what people used up through {place} is not what was stored"
    if not whole:
        return
    for table, value in orphans(tx.connection):
        yield f"{table} of {value!r} refer to a row that is not there"
    for mark in tx.marks.each():
        if mark.digest != mark_digest(mark.feed, mark.partition, mark.time_ms, mark.log_offset):
            place = f"partition {mark.partition} of {mark.feed!r}"
            yield f"the mark at {mark.time_ms} ms in {place} is not what was stored"


def adopted_problems(row: AdoptedRow) -> Iterator[str]:
    """Yield what contradicts itself in an adopted decision, one sentence each."""
    seen = made_from(SeenDecision, row, next_start_ms=0, gaussian=False)
    if (seen.digest, seen.loss_units) != (row.digest, row.loss_units):
        yield f"{named(row.key)}: its adopted decision is not what its digest or its loss says"


def promise_problems(scope: ScopeRow) -> Iterator[str]:
    """Yield whether the wall of a Gaussian budget is not the one that its promise comes to."""
    gaussian = Gaussian.read(scope.promise)
    if gaussian is not None and gaussian.wall_units != scope.epsilon_max_units:
        yield (
            f"budget {scope.scope!r}: its wall is {scope.epsilon_max_units} units of rho,"
            f" its promise comes to {gaussian.wall_units}"
        )


def frontier_problems(tx: Transaction, scope: ScopeRow) -> Iterator[str]:
    """Yield whether a budget's frontier is no window that was ever served."""
    name, places = (
        scope.scope,
        (scope.frontier_end_ms, scope.frontier_query, scope.frontier_start_ms),
    )
    frontier = scope.frontier
    if frontier is None:
        if any(place is not None for place in places):
            yield f"budget {name!r}: its frontier is no window"
        return
    gone = scope.compacted_before_ms is not None and frontier.end_ms <= scope.compacted_before_ms
    charge, adopted = tx.charges.at(frontier), tx.adopted.at(frontier)
    served = charge is not None and charge.scope == name
    if not served and adopted is None and not gone:
        yield f"budget {name!r}: its frontier is a window that was never served"


def _clock_problems(tx: Transaction) -> Iterator[str]:
    """Compare the mark of time with when it was set, or with the last decisions before."""
    ledger, was_set = tx.ledger(), tx.journal.get(entry=CLOCK_SET)
    latest_ms = (tx.decisions.last_decided_ms() or ledger.created_ms) - _CLOCK_GRAIN_MS
    since_ms = max(ledger.created_ms, latest_ms) if was_set is None else was_set.last_ms
    if ledger.clock_ms < since_ms:
        yield f"the mark of time stands at {ledger.clock_ms} ms, before what the ledger has seen"
