"""The ledger's rows, read and written inside one transaction of :mod:`accountant.store`.

Nothing is decided here: every method is one statement or two. Locks last until the transaction
ends and are taken in the order queries, scopes, ledger; they are FOR NO KEY UPDATE, so that a row
that refers to a locked one can be inserted. SQLite's write transaction holds the whole database, so
they cost nothing there.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from accountant import schema
from accountant.charges import WindowKey
from accountant.entries import (
    ChargeRow,
    LedgerRow,
    QueryRow,
    ScopeRow,
    read_adopted,
    read_charge,
    read_decision,
    read_partial,
    read_scope,
)
from accountant.overlap import Held
from accountant.records import LogIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accountant.records import BudgetTerms, Partial, SeenDecision, StoredDecision

__all__ = ["Transaction"]

CHUNK = 1_000


class Transaction:
    """Rows within one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._insert: Any = (
            sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        )

    # --- the ledger itself

    def add_ledger(self, row: LedgerRow) -> None:
        """Give the ledger its identity, unless it has one."""
        table = schema.ledger
        values = {"id": 1, "created_ms": row.clock_ms, **_fields(row)}
        self._connection.execute(self._insert(table).values(values).on_conflict_do_nothing())

    def ledger(self, *, lock: bool = False) -> LedgerRow:
        """Return the ledger's row."""
        found = self._get(schema.ledger, {"id": 1}, lock="update" if lock else "") or {}
        return LedgerRow(**{name: found[name] for name in LedgerRow.__dataclass_fields__})

    def advance(self, *, clock_ms: int) -> None:
        """Move the clock's mark, never back."""
        self._connection.execute(_advance_clock(), {"now_ms": clock_ms})

    # --- numbers of decisions, by query: touched only while its scope is locked

    def next_sequence(self, query: str) -> int:
        """Take the next number of a query."""
        found = self._one(_next_sequence(self._insert), {"of_query": query}) or {}
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

    def add_scope(self, terms: BudgetTerms) -> None:
        """Store a budget's terms unless it has some."""
        values = {**_fields(terms), "settled_worst_units": 0}
        statement = self._insert(schema.scopes).values(values).on_conflict_do_nothing()
        self._connection.execute(statement)

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
        statement = self._insert(schema.logs).values(_fields(identity)).on_conflict_do_nothing()
        self._connection.execute(statement)

    def log(self, feed: str) -> LogIdentity | None:
        """Return the log of a feed."""
        found = self._get(schema.logs, {"feed": feed})
        return None if found is None else LogIdentity(**found)

    def add_query(self, row: QueryRow) -> None:
        """Register a query unless it is."""
        statement = self._insert(schema.queries).values(_fields(row)).on_conflict_do_nothing()
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

    # --- partials

    def add_partial(self, partial: Partial) -> bool:
        """Store a partial unless its place is taken; say whether it was stored."""
        values = {
            **_window(partial.key),
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
        place = {**_window(partial.key), "partition": partial.partition}
        found = self._get(schema.partials, place)
        if found is None or found["conflicted"]:
            return False
        if found["digest"] == partial.digest or (found["complete"] and not partial.complete):
            return True
        self._set(schema.partials, place, {"conflicted": True})
        return False

    def partials(self, key: WindowKey) -> list[Partial]:
        """Return a window's partials by partition."""
        statement = _select(schema.partials, tuple(_window(key)), "").order_by("partition")
        return [read_partial(row) for row in self._all(statement, _given(_window(key)))]

    def conflicted(self, key: WindowKey) -> bool:
        """Whether two different partials came for one place of the window."""
        return self._get(schema.partials, {**_window(key), "conflicted": True}) is not None

    def drop_partials(self, query: str, key: WindowKey | None = None) -> None:
        """Delete a window's partials, or all of a query's."""
        by = {"query": query} if key is None else _window(key)
        self._connection.execute(_delete(schema.partials, tuple(by)), _given(by))

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

    # --- charges

    def add_charges(self, rows: Sequence[ChargeRow]) -> None:
        """Store new charges."""
        values = [
            {**_fields(row), **_window(row.key), "periods": json.dumps(row.periods)} for row in rows
        ]
        for one in values:
            del one["key"]
        for first in range(0, len(values), CHUNK):
            self._connection.execute(schema.charges.insert(), values[first : first + CHUNK])

    def charge(self, key: WindowKey) -> ChargeRow | None:
        """Return a window's charge."""
        found = self._get(schema.charges, _window(key))
        return None if found is None else read_charge(found)

    def update_charge(self, key: WindowKey, **values: Any) -> None:
        """Set columns of a charge."""
        self._set(schema.charges, _window(key), values)

    def charges_after(
        self, scope: str, end_ms: int, *, starting_before_ms: int | None = None
    ) -> list[ChargeRow]:
        """Return a budget's charges whose windows end after an instant."""
        table = schema.charges
        where = [table.c.scope == scope, table.c.end_ms > end_ms]
        if starting_before_ms is not None:
            where.append(table.c.start_ms < starting_before_ms)
        return [read_charge(row) for row in self._all(sa.select(table).where(*where))]

    def open_charges(self, scope: str) -> list[ChargeRow]:
        """Return a budget's reservations that are neither settled nor released."""
        table = schema.charges
        # The state stands in the text, so that the planner can use the partial index.
        where = (table.c.scope == scope, sa.text("state = 'reserved'"))
        return [read_charge(row) for row in self._all(sa.select(table).where(*where))]

    def totals(self, scope: str, periods: Iterable[int] | None = None) -> dict[int, int]:
        """Return loss held by period start, for some periods or all."""
        table = schema.totals
        statement = sa.select(table.c.period_ms, table.c.held_units).where(table.c.scope == scope)
        if periods is not None:
            wanted = sorted(set(periods))
            if not wanted:
                return {}
            # A range, not a list of values: periods asked for together lie together.
            statement = statement.where(table.c.period_ms.between(wanted[0], wanted[-1]))
        return {int(period): int(held) for period, held in self._connection.execute(statement)}

    def add_to_totals(self, scope: str, change: Mapping[int, int]) -> None:
        """Add to the loss held in some periods."""
        values = [
            {"scope": scope, "period_ms": period, "held_units": units}
            for period, units in sorted(change.items())
        ]
        statement = self._insert(schema.totals)
        statement = statement.on_conflict_do_update(
            index_elements=["scope", "period_ms"],
            set_={"held_units": schema.totals.c.held_units + statement.excluded.held_units},
        )
        if values:
            self._connection.execute(statement, values)

    # --- decisions

    def decision(self, key: WindowKey, *, ledger_id: str) -> StoredDecision | None:
        """Return a window's decision by this ledger."""
        found = self._get(schema.decisions, _window(key))
        return None if found is None else read_decision(found, ledger_id)

    def add_decision(self, decision: StoredDecision) -> None:
        """Store a decision of this ledger."""
        values = {**_fields(decision), **_window(decision.key)}
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
        self._set(schema.decisions, _window(key), {"published": True})

    def counts(self) -> list[tuple[str, str, str | None, int, int]]:
        """Return (query, outcome, reason, decisions, unpublished) for every combination."""
        table = schema.decisions
        waiting = sa.func.sum(sa.case((table.c.published, 0), else_=1))
        by = (table.c.query, table.c.outcome, table.c.reason)
        statement = sa.select(*by, sa.func.count(), waiting).group_by(*by)
        return [tuple(row) for row in self._connection.execute(statement)]

    # --- decisions of another timeline

    def add_adopted(self, seen: SeenDecision, *, adopted_at_ms: int) -> None:
        """Store a decision that was seen on the topic."""
        values = {
            **_fields(seen),
            "digest": seen.digest,
            "loss_units": seen.loss_units,
            "periods": json.dumps(seen.periods),
            "adopted_at_ms": adopted_at_ms,
        }
        del values["next_start_ms"]
        self._connection.execute(schema.adopted.insert().values(values))

    def adopted_digests(self, ledger_ids: Iterable[str]) -> set[str]:
        """Return what was adopted from some ledgers, as digests."""
        table = schema.adopted
        statement = sa.select(table.c.digest).where(table.c.ledger_id.in_(sorted(set(ledger_ids))))
        return set(self._connection.scalars(statement))

    def adopted(self, key: WindowKey) -> StoredDecision | None:
        """Return a window's decision by another timeline, if one was adopted."""
        found = self._get(schema.adopted, _window(key))
        return None if found is None else read_adopted(found)

    def adopted_after(self, scope: str, end_ms: int) -> list[tuple[WindowKey, Held]]:
        """Return the windows of a budget that were adopted and end after an instant."""
        table = schema.adopted
        columns = (table.c.query, table.c.start_ms, table.c.end_ms, table.c.loss_units)
        where = (table.c.scope == scope, table.c.end_ms > end_ms)
        rows = self._connection.execute(sa.select(*columns).where(*where))
        return [
            (WindowKey(end_ms=end, query=query, start_ms=start), Held(start, end, loss))
            for query, start, end, loss in rows
        ]

    def adopted_periods(self, scope: str) -> Iterator[dict[int, int]]:
        """Yield, per adopted decision of a budget, its loss by period it touches."""
        table = schema.adopted
        statement = sa.select(table.c.periods, table.c.loss_units).where(table.c.scope == scope)
        for periods, loss in self._connection.execute(statement):
            yield dict.fromkeys(json.loads(periods), loss)

    # --- whole tables, for verification and export

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield every row of a table of :mod:`accountant.schema`, by primary key."""
        found: sa.Table = getattr(schema, table)
        statement = sa.select(found).order_by(*found.primary_key.columns)
        for row in self._connection.execute(statement).mappings():
            yield {str(name): value for name, value in row.items()}

    def charge_rows(self) -> Iterator[ChargeRow]:
        """Yield every charge."""
        yield from map(read_charge, self.rows("charges"))

    def _get(
        self, table: sa.Table, by: Mapping[str, Any], *, lock: str = ""
    ) -> dict[str, Any] | None:
        return self._one(_select(table, tuple(by), lock), _given(by))

    def _set(self, table: sa.Table, by: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        statement = _update(table, tuple(by), tuple(values))
        self._connection.execute(statement, {**_given(by), **_given(values, "new_")})

    def _one(self, statement: Any, given: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        found = self._connection.execute(statement, given or {}).mappings().first()
        return None if found is None else dict(found)

    def _all(self, statement: Any, given: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return [dict(row) for row in self._connection.execute(statement, given or {}).mappings()]


# Statements are built once: building one takes longer than running it.


@cache
def _select(table: sa.Table, by: tuple[str, ...], lock: str) -> Any:
    statement = sa.select(table).where(*_equal(table, by))
    if not lock:
        return statement
    # An admission holds its scope and refers to queries that a decision holds while it waits for
    # that scope: FOR UPDATE would block the foreign key's check, and the two would deadlock.
    return statement.with_for_update(read=lock == "share", key_share=lock == "update")


@cache
def _update(table: sa.Table, by: tuple[str, ...], names: tuple[str, ...]) -> Any:
    new: dict[str, Any] = {name: sa.bindparam(f"new_{name}") for name in names}
    return table.update().where(*_equal(table, by)).values(new)


@cache
def _delete(table: sa.Table, by: tuple[str, ...]) -> Any:
    return table.delete().where(*_equal(table, by))


@cache
def _next_sequence(insert: Any) -> Any:
    table = schema.sequences
    first = insert(table).values(query=sa.bindparam("of_query"), last_sequence=1)
    return first.on_conflict_do_update(
        index_elements=["query"], set_={"last_sequence": table.c.last_sequence + 1}
    ).returning(table.c.last_sequence)


@cache
def _advance_clock() -> Any:
    table = schema.ledger
    now_ms = sa.bindparam("now_ms", type_=sa.BigInteger)
    return table.update().where(table.c.clock_ms < now_ms).values(clock_ms=now_ms)


def _equal(table: sa.Table, by: tuple[str, ...]) -> list[Any]:
    return [table.c[name] == sa.bindparam(f"is_{name}") for name in by]


def _given(values: Mapping[str, Any], prefix: str = "is_") -> dict[str, Any]:
    return {f"{prefix}{name}": value for name, value in values.items()}


def _fields(record: Any) -> dict[str, Any]:
    # dataclasses.asdict would copy deeply and take the window key apart.
    values = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return {name: v.value if isinstance(v, StrEnum) else v for name, v in values.items()}


def _window(key: WindowKey) -> dict[str, Any]:
    return {"query": key.query, "start_ms": key.start_ms, "end_ms": key.end_ms}
