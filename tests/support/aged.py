"""Ledgers with a long past, put there without deciding it, and the work that reading one takes."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event

from accountant.charging.admission import serve
from accountant.charging.past import Past
from accountant.records import Answer, Outcome
from accountant.store import chain, decisionchain
from accountant.store.tables.charged import ChargeRow, ChargeState, LinkKind, PeriodTotal
from accountant.store.tables.decided import DecisionRow, SequenceRow, TallyRow
from accountant.store.tables.windows import window_columns
from accountant.units import PrivacyUnit
from tests.support.ledgers import set_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.ledger.ledger import Ledger
    from tests.support.ledgers import Series

__all__ = ["Effort", "age", "effort", "settled"]

_BATCH_WINDOWS = 4_800


def age(
    ledger: Ledger, unit: PrivacyUnit, wall: int, all_series: Sequence[Series], count: int
) -> None:
    """Fill an empty ledger with the first windows of some queries, settled at worst and published.

    The rows are those that admitting, settling and publishing one by one would leave, each as its
    window ends: ``tests/contracts/test_ledger_age.py`` compares them.

    Args:
        ledger: with nothing in it.
        unit: of the budget ``s``.
        wall: of it, in loss units; nothing that is put there is held against it.
        all_series: tumbling windows, all of one length.
        count: windows of each.
    """
    set_up(ledger, unit, wall, all_series)
    last: dict[str, DecisionRow] = {}
    step = max(_BATCH_WINDOWS // len(all_series), 1)
    for first in range(0, count, step):
        with ledger._store.write() as tx:  # one by one would take hours
            rows: list[ChargeRow] = []
            links: list[chain.Happening] = []
            decided: list[DecisionRow] = []
            for index in range(first, min(first + step, count)):
                mine = [settled(one, index) for one in all_series]
                rows += mine
                links += [chain.of_charge(row, LinkKind.SERVED) for row in mine]
                for row in mine:
                    last[row.query] = _decided(row, last.get(row.query))
                    decided.append(last[row.query])
                    kept = last[row.query].hash
                    links.append(chain.of_charge(row, LinkKind.ENDED, kept))
            tx.charges.add(*rows)
            tx.links.append("s", links)
            tx.decisions.add(*decided)
            tx.tallies.count(
                TallyRow(row.query, Outcome.DECIDED, "", 1, row.end_ms) for row in rows
            )
            held: dict[int, PeriodTotal] = {}
            for row in rows:
                for period in row.periods:
                    total = held.get(period, PeriodTotal()).held + row.total.held
                    held[period] = PeriodTotal(total, total)
            tx.totals.add("s", held)
    with ledger._store.write() as tx:
        for one in all_series:
            tx.queries.change({"query": one.query}, cursor_ms=one.key(count).start_ms)
            tx.sequences.put(SequenceRow(one.query, count, last[one.query].hash, 0, b""))
        if unit is PrivacyUnit.EVENT:
            worst = sum(one.units for one in all_series)
            tx.scopes.change({"scope": "s"}, settled_worst_units=worst)
        scope = tx.scopes.get(scope="s")
        assert scope is not None
        serve(tx, scope, [one.request(count - 1) for one in all_series], Past())
        tx.advance(clock_ms=all_series[0].key(count - 1).end_ms)


@dataclass
class Effort:
    """What a database did, in steps that depend on no clock.

    Args:
        steps: SQLite: hundreds of instructions of its virtual machine; PostgreSQL: rows that it
            read from tables.
        largest: most rows that were changed in one transaction.
    """

    steps: int = 0
    largest: int = 0
    _changed: int = 0

    def step(self) -> int:
        """Count one; SQLite goes on."""
        self.steps += 1
        return 0

    def connected(self, connection: Any, *_: Any) -> None:
        """Prepare a new connection."""
        if isinstance(connection, sqlite3.Connection):
            connection.set_progress_handler(self.step, 100)
            return
        # A table as small as a test's is read from end to end where a large one is not.
        for way in ("seqscan", "hashjoin", "mergejoin"):
            connection.execute(f"SET enable_{way} TO off")
        connection.commit()

    def begun(self, connection: sa.Connection) -> None:
        """Begin a transaction: the server sums up, and forgets what it has reported already."""
        self.steps -= _rows_read(connection)

    def executed(self, _: Any, cursor: Any, statement: str, *__: Any) -> None:
        """Take note of a statement."""
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            self._changed += max(cursor.rowcount, 0)

    def ended(self, connection: sa.Connection) -> None:
        """End a transaction."""
        self.largest, self._changed = max(self.largest, self._changed), 0
        self.steps += _rows_read(connection)


@contextmanager
def effort(ledger: Ledger) -> Iterator[Effort]:
    """Count what the database of a ledger does meanwhile."""
    engine, found = ledger._store._engine, Effort()
    listeners = (
        *(("connect", found.connected), ("begin", found.begun), ("commit", found.ended)),
        ("after_cursor_execute", found.executed),
    )
    engine.dispose()  # so that every connection is a new one
    for name, listener in listeners:
        event.listen(engine, name, listener)
    try:
        yield found
    finally:
        for name, listener in listeners:
            event.remove(engine, name, listener)
        engine.dispose()


def _rows_read(connection: sa.Connection) -> int:
    """Return what this transaction and those before it read, as far as PostgreSQL still knows."""
    return 0 if connection.dialect.name == "sqlite" else int(connection.scalar(_READ) or 0)


_READ = sa.text(
    "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) "
    "FROM pg_stat_xact_user_tables"
)


def settled(one: Series, index: int) -> ChargeRow:
    """Return the charge of one window as it stands once all that was reserved is spent."""
    request = one.request(index)
    charge = request.charge
    return ChargeRow(
        **window_columns(charge.key),
        scope="s",
        admission=Answer.RESERVED,
        state=ChargeState.SETTLED,
        fingerprint=request.fingerprint,
        units=charge.cost.units,
        cells=charge.cost.cells,
        cells_per_unit=charge.cells_per_unit,
        loss_units=charge.loss_units,
        settled_units=charge.cost.units,
        settled_loss_units=charge.loss_units,
        costs=None,
        periods=charge.periods,
    )


def _decided(row: ChargeRow, before: DecisionRow | None) -> DecisionRow:
    decided = DecisionRow(
        **window_columns(row.key),
        sequence=row.start_ms // (row.end_ms - row.start_ms) + 1,
        outcome=Outcome.DECIDED,
        reason=None,
        alarms=b"[]",
        alarm_count=0,
        epsilon_units=row.units,
        release_ms=row.end_ms,
        decided_at_ms=row.end_ms,
        published=True,
        fingerprint=row.fingerprint,
        archived=False,
        next_start_ms=row.end_ms,
        run_digest=None,
        alarms_digest=None,
        hash=b"",
    )
    last = decisionchain.begin(row.query) if before is None else before.hash
    return replace(decided, hash=decisionchain.hash_after(last, decided))
