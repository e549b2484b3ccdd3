"""Decisions of this ledger with their numbers, and those adopted from other timelines."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.records import Outcome, StoredDecision
from accountant.store.declaration import made_from
from accountant.store.rows import Rows
from accountant.store.schema import table_of
from accountant.store.tables.decided import (
    ADOPTED,
    DECISIONS,
    GAPS,
    SEQUENCES,
    AdoptedRow,
    DecisionRow,
    GapRow,
    SequenceRow,
)
from accountant.store.tables.windows import window_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accountant.costs.charges import WindowKey
    from accountant.records import SeenDecision

__all__ = ["Adopted", "Decisions", "Sequences"]

_DECISIONS, _ADOPTED = table_of(DECISIONS), table_of(ADOPTED)


class Decisions(Rows[DecisionRow]):
    """Decisions of this ledger, whose id no row repeats."""

    def store(self, decision: StoredDecision) -> None:
        """Store a decision."""
        window = window_columns(decision.key)
        self.add(made_from(DecisionRow, decision, **window, archived=False))

    def of(self, key: WindowKey, *, ledger_id: str) -> StoredDecision | None:
        """Return a window's decision."""
        found = self.at(key)
        return None if found is None else made_from(StoredDecision, found, ledger_id=ledger_id)

    def between(
        self, query: str, first_start_ms: int, last_start_ms: int, *, ledger_id: str
    ) -> list[StoredDecision]:
        """Return a query's decisions by range of window starts (inclusive)."""
        starts = _DECISIONS.c.start_ms.between(first_start_ms, last_start_ms)
        found = self._read(sa.select(_DECISIONS).where(_DECISIONS.c.query == query, starts))
        return [made_from(StoredDecision, row, ledger_id=ledger_id) for row in found]

    def unpublished(
        self, query: str, released_by_ms: int, limit: int, *, ledger_id: str
    ) -> list[StoredDecision]:
        """Return the decisions that may leave now, in order; none passes an earlier one."""
        waiting = sa.select(_DECISIONS).where(_DECISIONS.c.query == query, sa.text("NOT published"))
        ready: list[StoredDecision] = []
        for row in self._read(waiting.order_by(_DECISIONS.c.sequence).limit(limit)):
            if row.release_ms > released_by_ms:
                break
            ready.append(made_from(StoredDecision, row, ledger_id=ledger_id))
        return ready

    def counts(self) -> list[tuple[str, str, str | None, int, int]]:
        """Return (query, outcome, reason, decisions, unpublished) for every combination."""
        waiting = sa.func.sum(sa.case((_DECISIONS.c.published, 0), else_=1))
        by = (_DECISIONS.c.query, _DECISIONS.c.outcome, _DECISIONS.c.reason)
        statement = sa.select(*by, sa.func.count(), waiting).group_by(*by)
        return [tuple(row) for row in self._connection.execute(statement)]


class Sequences:
    """Numbers of decisions, by query: touched only while its scope is locked."""

    def __init__(self, connection: sa.Connection) -> None:
        self._last = Rows(connection, SEQUENCES)
        self.gaps = Rows(connection, GAPS)

    def take(self, query: str) -> int:
        """Take the next number of a query."""
        self._last.add_up([SequenceRow(query, 1)], "last_sequence")
        return self.last_of(query)

    def last(self) -> dict[str, int]:
        """Return the last number of every query that has one."""
        return {row.query: row.last_sequence for row in self._last.each()}

    def last_of(self, query: str) -> int:
        """Return the number of a query's last decision; 0 before the first."""
        found = self._last.get(query=query)
        return 0 if found is None else found.last_sequence

    def skip(self, query: str, last: int, *, declared_at_ms: int) -> None:
        """Declare the numbers up to ``last`` as used by another timeline of this ledger."""
        self.gaps.add(GapRow(query, self.last_of(query) + 1, last, declared_at_ms))
        self._last.drop(query=query)
        self._last.add(SequenceRow(query, last))


class Adopted(Rows[AdoptedRow]):
    """Decisions of other timelines that were taken over as spent."""

    def store(self, seen: SeenDecision, *, adopted_at_ms: int) -> None:
        """Store a decision that was seen on the topic."""
        self.add(made_from(AdoptedRow, seen, adopted_at_ms=adopted_at_ms))

    def of(self, key: WindowKey) -> StoredDecision | None:
        """Return a window's decision, already published, if one was adopted."""
        found = self.at(key)
        if found is None:
            return None
        return made_from(
            StoredDecision,
            found,
            reason=None if found.outcome is Outcome.DECIDED else "adopted",
            alarms=b"",
            release_ms=found.adopted_at_ms,
            decided_at_ms=found.adopted_at_ms,
            published=True,
            fingerprint="",
        )

    def digests(self, ledger_ids: Iterable[str]) -> set[str]:
        """Return what was adopted from some ledgers, as digests."""
        of = _ADOPTED.c.ledger_id.in_(sorted(set(ledger_ids)))
        return set(self._connection.scalars(sa.select(_ADOPTED.c.digest).where(of)))

    def after(self, scope: str, end_ms: int = -(2**63)) -> list[AdoptedRow]:
        """Return those of a budget that end after an instant, or all."""
        return self._read(_after(), scope=scope, end_ms=end_ms)


@cache
def _after() -> Any:
    columns = _ADOPTED.c
    where = (columns.scope == sa.bindparam("scope"), columns.end_ms > sa.bindparam("end_ms"))
    return sa.select(_ADOPTED).where(*where)
