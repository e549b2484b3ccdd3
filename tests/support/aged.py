"""Ledgers with a long past, put there without deciding it, and the work that reading one takes."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event

from accountant.costs.charges import UniformCost
from accountant.rules import admission
from accountant.store.transaction import LEFT
from tests.support.ledgers import CELLS, set_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.ledger.door import Writing
    from accountant.ledger.ledger import Ledger
    from accountant.units import PrivacyUnit
    from tests.support.ledgers import Series

__all__ = ["Effort", "age", "effort"]

_BATCH_WINDOWS = 4_800


def age(
    ledger: Ledger, unit: PrivacyUnit, wall: int, all_series: Sequence[Series], count: int
) -> None:
    """Fill an empty ledger with the first windows of some queries, settled at worst and published.

    Its entries are those that admitting, settling and publishing one by one would leave, each as
    its window ends: ``tests/contracts/test_ledger_age.py`` compares them.

    Args:
        ledger: with nothing in it.
        unit: of the budget ``s``.
        wall: of it, in loss units.
        all_series: tumbling windows, all of one length.
        count: windows of each.
    """
    set_up(ledger, unit, wall, all_series)
    step = max(_BATCH_WINDOWS // len(all_series), 1)
    for first in range(0, count, step):
        with ledger._door.write() as writing:  # one by one would take hours
            for index in range(first, min(first + step, count)):
                asked = [one.request(index) for one in all_series]
                writing.append(admission.admitted(writing.state, "s", asked))
                for one in all_series:
                    _settle(ledger, writing, one, index)
    with ledger._door.write() as writing:
        for one in all_series:
            writing.tx.counters.put(LEFT + one.query, count, one.key(count - 1).start_ms)


def _settle(ledger: Ledger, writing: Writing, one: Series, index: int) -> None:
    key, cost = one.key(index), UniformCost(one.units, CELLS)
    charge = admission.reserved(writing.state.budgets["s"], key, one.fingerprint, cost)
    ended = admission.settled(
        index + 1,
        charge,
        cost,
        alarms=b"[]",
        alarm_count=0,
        next_start_ms=one.key(index + 1).start_ms,
        release_ms=key.end_ms,
        now_ms=key.end_ms,
        run=None,
        left=None,
    )
    ledger._end(writing, ended)


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
