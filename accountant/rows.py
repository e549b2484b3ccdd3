"""The ledger's rows, read and written inside one transaction of :mod:`accountant.store`.

Nothing is decided here: every method is one statement or two. Locks last until the transaction
ends and are taken in the order queries, scopes, ledger; SQLite's write transaction holds the whole
database, so they cost nothing there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from accountant import schema
from accountant.charges import WindowKey
from accountant.overlap import Held
from accountant.records import (
    Admission,
    BudgetTerms,
    LogIdentity,
    Outcome,
    Partial,
    SeenDecision,
    StoredDecision,
)
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["ChargeRow", "ChargeState", "LedgerRow", "QueryRow", "ScopeRow", "Transaction"]

CHUNK = 1_000


class ChargeState(StrEnum):
    """Where a charge stands."""

    RESERVED = "reserved"
    SETTLED = "settled"
    SPENT = "spent"
    """Taken as spent without a decision of this ledger: it was rolled back here."""
    RELEASED = "released"


HELD = (ChargeState.RESERVED, ChargeState.SETTLED, ChargeState.SPENT)
"""States that count against the wall."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The ledger itself."""

    ledger_id: str
    hash_key: bytes
    last_sequence: int
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
        table = schema.ledger
        columns = (table.c.ledger_id, table.c.hash_key, table.c.last_sequence, table.c.clock_ms)
        found = self._one(_locked(sa.select(*columns), lock=lock))
        return LedgerRow(**(found or {}))

    def advance(self, *, clock_ms: int, last_sequence: int | None = None) -> None:
        """Move the clock's mark (never back) and, if given, the sequence."""
        table = schema.ledger
        statement = table.update().values(
            clock_ms=sa.case((table.c.clock_ms < clock_ms, clock_ms), else_=table.c.clock_ms)
        )
        if last_sequence is not None:
            statement = statement.values(last_sequence=last_sequence)
        self._connection.execute(statement)

    def add_gap(self, first: int, last: int, *, declared_at_ms: int) -> None:
        """Declare sequence numbers that another timeline of this ledger used."""
        values = {"first_sequence": first, "last_sequence": last, "declared_at_ms": declared_at_ms}
        self._connection.execute(schema.gaps.insert().values(values))

    # --- scopes, logs, queries

    def add_scope(self, terms: BudgetTerms) -> None:
        """Store a budget's terms unless it has some."""
        values = {**_fields(terms), "unit": terms.unit.value, "settled_worst_units": 0}
        statement = self._insert(schema.scopes).values(values).on_conflict_do_nothing()
        self._connection.execute(statement)

    def scope(self, name: str, *, lock: bool = False) -> ScopeRow | None:
        """Return a budget."""
        statement = sa.select(schema.scopes).where(schema.scopes.c.scope == name)
        found = self._one(_locked(statement, lock=lock))
        return None if found is None else _scope(found)

    def scopes(self) -> list[ScopeRow]:
        """Return every budget by name."""
        return [_scope(row) for row in self.rows("scopes")]

    def update_scope(self, name: str, **values: Any) -> None:
        """Set columns of a budget."""
        table = schema.scopes
        self._connection.execute(table.update().where(table.c.scope == name).values(values))

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
        found = self._one(sa.select(schema.logs).where(schema.logs.c.feed == feed))
        return None if found is None else LogIdentity(**found)

    def add_query(self, row: QueryRow) -> None:
        """Register a query unless it is."""
        statement = self._insert(schema.queries).values(_fields(row)).on_conflict_do_nothing()
        self._connection.execute(statement)

    def query(self, name: str, *, lock: bool = False, share: bool = False) -> QueryRow | None:
        """Return a query; ``share`` keeps it from changing, ``lock`` also from being shared."""
        statement = sa.select(schema.queries).where(schema.queries.c.query == name)
        found = self._one(_locked(statement, lock=lock or share, share=share))
        return None if found is None else QueryRow(**found)

    def queries(self) -> list[QueryRow]:
        """Return every query by name."""
        return [QueryRow(**row) for row in self.rows("queries")]

    def update_query(self, name: str, **values: Any) -> None:
        """Set columns of a query."""
        table = schema.queries
        self._connection.execute(table.update().where(table.c.query == name).values(values))

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
        statement = self._insert(schema.partials).values(values).on_conflict_do_nothing()
        return bool(self._connection.execute(statement).rowcount)

    def matches_partial(self, partial: Partial) -> bool:
        """Whether the stored partial is the same; another one is marked as in conflict."""
        table = schema.partials
        where = (_is(table, partial.key), table.c.partition == partial.partition)
        found = self._one(sa.select(table.c.digest, table.c.conflicted).where(*where))
        if found is None or found["conflicted"]:
            return False
        if found["digest"] == partial.digest:
            return True
        self._connection.execute(table.update().where(*where).values(conflicted=True))
        return False

    def partials(self, key: WindowKey) -> list[Partial]:
        """Return a window's partials by partition."""
        table = schema.partials
        statement = sa.select(table).where(_is(table, key)).order_by(table.c.partition)
        return [_partial(row) for row in self._connection.execute(statement).mappings()]

    def partitions_stored(self, query: str, from_start_ms: int) -> set[tuple[int, int]]:
        """Return (window start, partition) of the partials at or after a start."""
        table = schema.partials
        statement = sa.select(table.c.start_ms, table.c.partition).where(
            table.c.query == query, table.c.start_ms >= from_start_ms
        )
        return {(start_ms, part) for start_ms, part in self._connection.execute(statement)}

    def conflicted(self, key: WindowKey) -> bool:
        """Whether two different partials came for one place of the window."""
        table = schema.partials
        where = (_is(table, key), table.c.conflicted)
        return self._one(sa.select(table.c.partition).where(*where).limit(1)) is not None

    def drop_partials(self, query: str, key: WindowKey | None = None) -> None:
        """Delete a window's partials, or all of a query's."""
        table = schema.partials
        where = table.c.query == query if key is None else _is(table, key)
        self._connection.execute(table.delete().where(where))

    # --- charges

    def add_charges(self, rows: Sequence[ChargeRow]) -> None:
        """Store new charges."""
        values = [
            {**_fields(row), **_window(row.key), "periods": json.dumps(row.periods)}
            for row in rows
        ]
        for one in values:
            del one["key"]
        for first in range(0, len(values), CHUNK):
            self._connection.execute(schema.charges.insert(), values[first : first + CHUNK])

    def charge(self, key: WindowKey) -> ChargeRow | None:
        """Return a window's charge."""
        found = self._one(sa.select(schema.charges).where(_is(schema.charges, key)))
        return None if found is None else _charge(found)

    def update_charge(self, key: WindowKey, **values: Any) -> None:
        """Set columns of a charge."""
        table = schema.charges
        self._connection.execute(table.update().where(_is(table, key)).values(values))

    def charges_after(self, scope: str, end_ms: int) -> list[ChargeRow]:
        """Return a budget's charges whose windows end after an instant."""
        table = schema.charges
        where = (table.c.scope == scope, table.c.end_ms > end_ms)
        rows = self._connection.execute(sa.select(table).where(*where)).mappings()
        return [_charge(row) for row in rows]

    def open_charges(self, scope: str) -> list[ChargeRow]:
        """Return a budget's reservations that are neither settled nor released."""
        table = schema.charges
        # The state stands in the text, so that the planner can use the partial index.
        where = (table.c.scope == scope, sa.text("state = 'reserved'"))
        rows = self._connection.execute(sa.select(table).where(*where)).mappings()
        return [_charge(row) for row in rows]

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
        return {period: held for period, held in self._connection.execute(statement)}

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

    def add_decision(self, decision: StoredDecision, *, with_ledger: bool = False) -> None:
        """Store a decision of this ledger."""
        values = {**_fields(decision), **_window(decision.key)}
        del values["key"]
        if not with_ledger:
            del values["ledger_id"]
        self._connection.execute(schema.decisions.insert().values(values))

    def decisions(
        self, query: str, first_start_ms: int, last_start_ms: int, *, ledger_id: str
    ) -> list[StoredDecision]:
        """Return a query's decisions by this ledger, by range of window starts (inclusive)."""
        table = schema.decisions
        between = table.c.start_ms.between(first_start_ms, last_start_ms)
        statement = sa.select(table).where(table.c.query == query, between)
        rows = self._connection.execute(statement).mappings()
        return [_decision(row, ledger_id) for row in rows]

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
        for row in self._connection.execute(statement).mappings():
            if row["release_ms"] > released_by_ms:
                break
            ready.append(_decision(row, ledger_id))
        return ready

    def mark_published(self, key: WindowKey) -> None:
        """Remember that a decision has left."""
        table = schema.decisions
        self._connection.execute(table.update().where(_is(table, key)).values(published=True))

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
        statement = sa.select(schema.adopted).where(_is(schema.adopted, key))
        found = self._one(statement.order_by(schema.adopted.c.digest).limit(1))
        return None if found is None else _adopted_decision(found)

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

    # --- whole tables, for verification and export

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield every row of a table of :mod:`accountant.schema`, by primary key."""
        found: sa.Table = getattr(schema, table)
        statement = sa.select(found).order_by(*found.primary_key.columns)
        for row in self._connection.execute(statement).mappings():
            yield dict(row)

    def charge_rows(self) -> Iterator[ChargeRow]:
        """Yield every charge."""
        yield from map(_charge, self.rows("charges"))

    def _one(self, statement: Any) -> dict[str, Any] | None:
        found = self._connection.execute(statement).mappings().first()
        return None if found is None else dict(found)


def _locked(statement: Any, *, lock: bool, share: bool = False) -> Any:
    return statement.with_for_update(read=share) if lock else statement


def _is(table: sa.Table, key: WindowKey) -> Any:
    return sa.and_(
        table.c.query == key.query,
        table.c.start_ms == key.start_ms,
        table.c.end_ms == key.end_ms,
    )


def _fields(record: Any) -> dict[str, Any]:
    # dataclasses.asdict would copy deeply and take the window key apart.
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _window(key: WindowKey) -> dict[str, Any]:
    return {"query": key.query, "start_ms": key.start_ms, "end_ms": key.end_ms}


def _key(row: Mapping[str, Any]) -> WindowKey:
    return WindowKey(end_ms=row["end_ms"], query=row["query"], start_ms=row["start_ms"])


def _scope(row: Mapping[str, Any]) -> ScopeRow:
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


def _charge(row: Mapping[str, Any]) -> ChargeRow:
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


def _partial(row: Mapping[str, Any]) -> Partial:
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


def _decision(row: Mapping[str, Any], ledger_id: str) -> StoredDecision:
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


def _adopted_decision(row: Mapping[str, Any]) -> StoredDecision:
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
