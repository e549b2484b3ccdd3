"""How far the queries are, and what of their decisions has left: short reads, many at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.errors import LedgerError
from accountant.ledger.door import registered
from accountant.records import Outcome, StoredDecision
from accountant.store.entry_rows import PAGE
from accountant.store.transaction import LEFT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from accountant.costs.charges import WindowKey
    from accountant.ledger.door import Door
    from accountant.log.entries import Ended
    from accountant.log.state import Query, State
    from accountant.store.transaction import Transaction

__all__ = [
    "Progress",
    "QueryProgress",
    "decision_of",
    "leave",
    "unpublished_of",
    "waiting",
]

_BEGINNING_MS: Final = -(2**62)


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """How far one query is.

    Args:
        query: its name.
        cursor_ms: start of its oldest undecided window.
        reconfigured: whether an applied change takes effect behind that window, which can only be
            denied then.
        counted: whether any count waits for a decision of the query.
    """

    query: str
    cursor_ms: int
    reconfigured: bool
    counted: bool


class Progress:
    """Reads what deciders and publishers look for: where nothing is due, that costs one read."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def cursors(self, queries: Collection[str]) -> dict[str, int]:
        """Return the start (ms) of the oldest undecided window of some queries, by name.

        Raises:
            LedgerError: one of them is not registered.
        """
        with self._door.state() as state:
            return {query: registered(state, query).cursor_ms for query in queries}

    def queries(self) -> list[QueryProgress]:
        """Return how far every query is that was not retired, by name."""
        with self._door.read() as (tx, state):
            counted = tx.partials.queries()
            return [
                QueryProgress(
                    query=name,
                    cursor_ms=one.cursor_ms,
                    reconfigured=one.cursor_ms < (one.effective_from_ms or 0),
                    counted=name in counted,
                )
                for name, one in sorted(state.queries.items())
                if not one.retired
            ]

    def decided(self, query: str, since_ms: int, until_ms: int) -> list[StoredDecision]:
        """Return this ledger's decisions of a query whose windows start in a span, both included.

        Args:
            query: its name.
            since_ms: the first start.
            until_ms: the last start.
        """
        with self._door.read() as (tx, state):
            return [
                one.decision(state.ledger_id, published=True)
                for one in tx.log.ended(query, since_ms, until_ms)
            ]

    def numbered(self, query: str, first: int, last: int) -> Iterator[StoredDecision]:
        """Yield the decisions of a query from one number to another, in order; read in pages.

        What lies in an archive is not among them; whether one has left is not said.
        """
        since_ms = _BEGINNING_MS
        while True:
            with self._door.read() as (tx, state):
                page = tx.log.ended(query, since_ms, -_BEGINNING_MS, PAGE)
            if not page or page[0].sequence > last:
                return
            for one in page:
                since_ms = one.start_ms + 1
                if first <= one.sequence <= last:
                    yield one.decision(state.ledger_id, published=True)

    def unpublished(self, released_by_ms: int) -> set[str]:
        """Return the queries with decisions that may leave by an instant and have not left."""
        with self._door.read() as (tx, state):
            left = tx.counters.named(LEFT)
            behind = [one for one in state.queries.values() if unpublished_of(one, left)]
            first = ((one.query, next(iter(waiting(tx, one, 1)), None)) for one in behind)
            return {query for query, one in first if one and one.release_ms <= released_by_ms}


def decision_of(tx: Transaction, state: State, key: WindowKey) -> StoredDecision | None:
    """Return a window's decision, of this ledger or recovered from another copy."""
    query = state.queries.get(key.query)
    if query is not None and key.start_ms < query.cursor_ms:
        for one in tx.log.ended(key.query, key.start_ms, key.start_ms):
            if one.window == key:
                number, left_ms = tx.counters.of(LEFT + key.query)
                has_left = key.start_ms in query.beside or bool(number and key.start_ms <= left_ms)
                return one.decision(state.ledger_id, published=has_left)
    seen = state.recovered.get(key)
    if seen is None:
        return None
    at_ms = state.recovered_ms[key]
    return StoredDecision(
        key=key,
        outcome=seen.outcome,
        reason=None if seen.outcome is Outcome.DECIDED else "adopted",
        alarms=b"",
        alarm_count=seen.alarm_count,
        epsilon_units=seen.epsilon_units,
        sequence=seen.sequence,
        ledger_id=seen.ledger_id,
        release_ms=at_ms,
        decided_at_ms=at_ms,
        published=True,
        fingerprint="",
        draw=seen.draw,
    )


def waiting(tx: Transaction, query: Query, limit: int) -> list[Ended]:
    """Return the first decisions of a query that have not left, in order."""
    number, last_ms = tx.counters.of(LEFT + query.query)
    since_ms = last_ms + 1 if number else _BEGINNING_MS
    found = tx.log.ended(query.query, since_ms, query.cursor_ms, limit + len(query.beside))
    return [one for one in found if one.start_ms not in query.beside][:limit]


def leave(tx: Transaction, query: Query, key: WindowKey) -> None:
    """Note that a decision has left; those that another copy's took the place of go with it.

    Nothing is to be noted of a window that this ledger did not decide: another copy's has left.

    Raises:
        LedgerError: one before it has not left.
    """
    name = LEFT + query.query
    number, last_ms = tx.counters.of(name)
    if number and key.start_ms <= last_ms:
        return
    since_ms = last_ms + 1 if number else _BEGINNING_MS
    behind = tx.log.ended(query.query, since_ms, key.start_ms)
    if not any(one.window == key for one in behind):
        return
    mine = [one for one in behind if one.start_ms not in query.beside or one.window == key]
    if [one.window for one in mine] != [key]:
        raise LedgerError(
            f"a decision of alarm {query.query!r} would be published before an older one",
            hint="restart the worker: it publishes in the order of windows",
        )
    tx.counters.put(name, number + len(behind), key.start_ms)


def unpublished_of(query: Query, left: dict[str, tuple[int, int]]) -> int:
    """Return how many decisions of a query have not left.

    Args:
        query: as it stands.
        left: how many have, and where the last of them starts, by query.
    """
    number, last_ms = left.get(query.query, (0, 0))
    beside = sum(1 for start_ms in query.beside if not number or start_ms > last_ms)
    return sum(one.windows for one in query.ended.values()) - number - beside
