"""The ledger's rows, read and written inside one transaction of :mod:`accountant.store.store`.

Nothing is decided here: every method is one statement or two. Locks last until the transaction
ends and are taken in the order queries, scopes, ledger; they are FOR NO KEY UPDATE, so that a row
that refers to a locked one can be inserted. SQLite's write transaction holds the whole database, so
they cost nothing there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from accountant.records import LogIdentity
from accountant.store import chain, schema
from accountant.store.chargerows import ChargeRows
from accountant.store.entries import (
    LedgerRow,
    QueryRow,
    ScopeRow,
    read_decision,
    read_partial,
    read_run,
    read_scope,
)
from accountant.store.statements import (
    advance_clock,
    delete_by,
    fields,
    given,
    next_sequence,
    select_by,
    window_columns,
)

if TYPE_CHECKING:
    from accountant.costs.charges import WindowKey
    from accountant.costs.runs import StoredRun
    from accountant.records import BudgetTerms, Partial, StoredDecision

__all__ = ["Transaction"]


class Transaction(ChargeRows):
    """Rows within one transaction."""

    # --- the ledger itself

    def add_ledger(self, row: LedgerRow) -> None:
        """Give the ledger its identity, unless it has one."""
        table = schema.ledger
        values = {"id": 1, "created_ms": row.clock_ms, **fields(row)}
        self._connection.execute(self._insert(table).values(values).on_conflict_do_nothing())

    def ledger(self, *, lock: bool = False) -> LedgerRow:
        """Return the ledger's row."""
        found = self._get(schema.ledger, {"id": 1}, lock="update" if lock else "") or {}
        return LedgerRow(**{name: found[name] for name in LedgerRow.__dataclass_fields__})

    def advance(self, *, clock_ms: int) -> None:
        """Move the clock's mark, never back."""
        self._connection.execute(advance_clock(), {"now_ms": clock_ms})

    # --- numbers of decisions, by query: touched only while its scope is locked

    def next_sequence(self, query: str) -> int:
        """Take the next number of a query."""
        found = self._one(next_sequence(self._insert), {"of_query": query}) or {}
        return int(found["last_sequence"])

    def last_sequence(self, query: str) -> int:
        """Return the number of a query's last decision; 0 before the first."""
        found = self._get(schema.sequences, {"query": query})
        return 0 if found is None else int(found["last_sequence"])

    def sequences(self) -> dict[str, int]:
        """Return the last number of every query that has one."""
        return {row["query"]: row["last_sequence"] for row in self.rows("sequences")}

    def skip_sequences(self, query: str, last: int, *, declared_at_ms: int) -> None:
        """Declare the numbers up to ``last`` as used by another timeline of this ledger."""
        first = self.last_sequence(query) + 1
        gap = {"query": query, "first_sequence": first, "last_sequence": last}
        values = {**gap, "declared_at_ms": declared_at_ms}
        self._connection.execute(schema.gaps.insert().values(values))
        upsert = self._insert(schema.sequences).values(query=query, last_sequence=last)
        upsert = upsert.on_conflict_do_update(
            index_elements=["query"], set_={"last_sequence": upsert.excluded.last_sequence}
        )
        self._connection.execute(upsert)

    # --- scopes, logs, queries

    def add_scope(self, terms: BudgetTerms) -> bool:
        """Store a budget's terms unless it has some; say whether they were stored."""
        start = chain.genesis(terms.scope)
        values = {
            **fields(terms),
            "settled_worst_units": 0,
            "chain_link": 0,
            "chain_hash": start,
            "base_link": 0,
            "base_hash": start,
            "compacted_worst_units": 0,
        }
        statement = self._insert(schema.scopes).values(values).on_conflict_do_nothing()
        return self._one(statement.returning(schema.scopes.c.scope)) is not None

    def scope(self, name: str, *, lock: bool = False) -> ScopeRow | None:
        """Return a budget."""
        found = self._get(schema.scopes, {"scope": name}, lock="update" if lock else "")
        return None if found is None else read_scope(found)

    def scopes(self) -> list[ScopeRow]:
        """Return every budget by name."""
        return [read_scope(row) for row in self.rows("scopes")]

    def update_scope(self, name: str, **values: Any) -> None:
        """Set columns of a budget."""
        self._set(schema.scopes, {"scope": name}, values)

    def move_frontier(self, name: str, key: WindowKey) -> None:
        """Set the last window that was served."""
        self.update_scope(
            name,
            frontier_end_ms=key.end_ms,
            frontier_query=key.query,
            frontier_start_ms=key.start_ms,
        )

    def add_log(self, identity: LogIdentity) -> None:
        """Store a log's identity unless the feed has one."""
        statement = self._insert(schema.logs).values(fields(identity)).on_conflict_do_nothing()
        self._connection.execute(statement)

    def log(self, feed: str) -> LogIdentity | None:
        """Return the log of a feed."""
        found = self._get(schema.logs, {"feed": feed})
        return None if found is None else LogIdentity(**found)

    def add_query(self, row: QueryRow) -> None:
        """Register a query unless it is."""
        statement = self._insert(schema.queries).values(fields(row)).on_conflict_do_nothing()
        self._connection.execute(statement)

    def query(self, name: str, *, lock: bool = False, share: bool = False) -> QueryRow | None:
        """Return a query; ``share`` keeps it from changing, ``lock`` also from being shared."""
        how = "share" if share else "update" if lock else ""
        found = self._get(schema.queries, {"query": name}, lock=how)
        return None if found is None else QueryRow(**found)

    def queries(self) -> list[QueryRow]:
        """Return every query by name."""
        return [QueryRow(**row) for row in self.rows("queries")]

    def update_query(self, name: str, **values: Any) -> None:
        """Set columns of a query."""
        self._set(schema.queries, {"query": name}, values)

    def logs(self) -> list[LogIdentity]:
        """Return the log of every feed."""
        return [LogIdentity(**row) for row in self.rows("logs")]

    # --- runs

    def run(self, query: str) -> StoredRun | None:
        """Return a query's newest run."""
        found = self._get(schema.runs, {"query": query})
        return None if found is None else read_run(found)

    def runs(self) -> dict[str, StoredRun]:
        """Return every query's newest run."""
        return {row["query"]: read_run(row) for row in self.rows("runs")}

    def put_run(self, run: StoredRun) -> None:
        """Store a query's run in place of the one before."""
        values = {**fields(run), "alarms_rung": run.rung, "periods": json.dumps(run.periods)}
        del values["rung"]
        self.drop_run(run.query)
        self._connection.execute(schema.runs.insert().values(values))

    def drop_run(self, query: str) -> None:
        """Forget a query's run."""
        by = {"query": query}
        self._connection.execute(delete_by(schema.runs, tuple(by)), given(by))

    # --- partials

    def add_partial(self, partial: Partial) -> bool:
        """Store a partial unless its place is taken; say whether it was stored."""
        values = {
            **window_columns(partial.key),
            "partition": partial.partition,
            "fingerprint": partial.fingerprint,
            "topic_id": partial.topic_id,
            "complete": partial.complete,
            "cells": partial.cells,
            "cell_index": partial.index.astype("<i8").tobytes(),
            "cell_value": partial.value.astype("<i8").tobytes(),
            "first_offset": partial.first_offset,
            "last_offset": partial.last_offset,
            "digest": partial.digest,
            "conflicted": False,
        }
        table = schema.partials
        statement = self._insert(table).values(values).on_conflict_do_nothing()
        # A row comes back only if it was inserted; row counts differ between drivers.
        return self._one(statement.returning(table.c.partition)) is not None

    def matches_partial(self, partial: Partial) -> bool:
        """Whether the stored partial stands; one that contradicts it is marked as in conflict.

        A recount of a slice that retention has cut short since says nothing against the whole one.
        """
        place = {**window_columns(partial.key), "partition": partial.partition}
        found = self._get(schema.partials, place)
        if found is None or found["conflicted"]:
            return False
        if found["digest"] == partial.digest or (found["complete"] and not partial.complete):
            return True
        self._set(schema.partials, place, {"conflicted": True})
        return False

    def partials(self, key: WindowKey) -> list[Partial]:
        """Return a window's partials by partition."""
        statement = select_by(schema.partials, tuple(window_columns(key)), "").order_by("partition")
        return [read_partial(row) for row in self._all(statement, given(window_columns(key)))]

    def conflicted(self, key: WindowKey) -> bool:
        """Whether two different partials came for one place of the window."""
        return self._get(schema.partials, {**window_columns(key), "conflicted": True}) is not None

    def drop_partials(self, query: str, key: WindowKey | None = None) -> None:
        """Delete a window's partials, or all of a query's."""
        by = {"query": query} if key is None else window_columns(key)
        self._connection.execute(delete_by(schema.partials, tuple(by)), given(by))

    def drop_partials_before(self, query: str, start_ms: int) -> None:
        """Delete the partials of a query's windows that start before an instant."""
        table = schema.partials
        past = (table.c.query == query, table.c.start_ms < start_ms)
        self._connection.execute(table.delete().where(*past))

    # --- punctuation marks

    def add_mark(self, feed: str, partition: int, time_ms: int, offset: int) -> None:
        """Store where a mark lies unless it is known."""
        values = {"feed": feed, "partition": partition, "time_ms": time_ms, "log_offset": offset}
        self._connection.execute(self._insert(schema.marks).values(values).on_conflict_do_nothing())

    def mark_before(self, feed: str, partition: int, time_ms: int) -> int | None:
        """Return the offset of the newest mark at or before an instant."""
        table = schema.marks
        place = (table.c.feed == feed, table.c.partition == partition)
        statement = (
            sa.select(table.c.log_offset)
            .where(*place, table.c.time_ms <= time_ms)
            .order_by(table.c.time_ms.desc())
            .limit(1)
        )
        found = self._one(statement)
        return None if found is None else int(found["log_offset"])

    # --- decisions

    def decision(self, key: WindowKey, *, ledger_id: str) -> StoredDecision | None:
        """Return a window's decision by this ledger."""
        found = self._get(schema.decisions, window_columns(key))
        return None if found is None else read_decision(found, ledger_id)

    def add_decision(self, decision: StoredDecision) -> None:
        """Store a decision of this ledger."""
        values = {**fields(decision), **window_columns(decision.key), "archived": False}
        del values["key"], values["ledger_id"]
        self._connection.execute(schema.decisions.insert().values(values))

    def decisions(
        self, query: str, first_start_ms: int, last_start_ms: int, *, ledger_id: str
    ) -> list[StoredDecision]:
        """Return a query's decisions by this ledger, by range of window starts (inclusive)."""
        table = schema.decisions
        between = table.c.start_ms.between(first_start_ms, last_start_ms)
        statement = sa.select(table).where(table.c.query == query, between)
        return [read_decision(row, ledger_id) for row in self._all(statement)]

    def unpublished(
        self, query: str, released_by_ms: int, limit: int, *, ledger_id: str
    ) -> list[StoredDecision]:
        """Return the decisions that may leave now, in order; none passes an earlier one."""
        table = schema.decisions
        statement = (
            sa.select(table)
            .where(table.c.query == query, sa.text("NOT published"))
            .order_by(table.c.sequence)
            .limit(limit)
        )
        ready: list[StoredDecision] = []
        for row in self._all(statement):
            if row["release_ms"] > released_by_ms:
                break
            ready.append(read_decision(row, ledger_id))
        return ready

    def mark_published(self, key: WindowKey) -> None:
        """Remember that a decision has left."""
        self._set(schema.decisions, window_columns(key), {"published": True})

    def counts(self) -> list[tuple[str, str, str | None, int, int]]:
        """Return (query, outcome, reason, decisions, unpublished) for every combination."""
        table = schema.decisions
        waiting = sa.func.sum(sa.case((table.c.published, 0), else_=1))
        by = (table.c.query, table.c.outcome, table.c.reason)
        statement = sa.select(*by, sa.func.count(), waiting).group_by(*by)
        return [tuple(row) for row in self._connection.execute(statement)]
