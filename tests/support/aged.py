"""Ledgers with a long past, put there without deciding it, and the work that reading one takes."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import event

from accountant.costs.charges import UniformCost
from accountant.rules import admission
from accountant.store.transaction import CLOCK, CLOCK_GRAIN_MS, LEFT
from accountant.units import PrivacyUnit
from tests.support.ledgers import CELLS, set_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import sqlalchemy as sa

    from accountant.ledger.door import Writing
    from accountant.ledger.ledger import Ledger
    from tests.support.ledgers import Series

_BATCH_WINDOWS = 4_800


def age(
    ledger: Ledger, unit: PrivacyUnit, wall: int, all_series: Sequence[Series], count: int
) -> None:
    """Fill an empty ledger with the first windows of some queries, settled at worst and published.

    The entries are those that admitting, settling and publishing one by one would leave, each as
    its window ends: ``tests/contracts/test_ledger_age.py`` compares them.

    Args:
        ledger: with nothing in it.
        unit: of the budget ``s``.
        wall: of it, in loss units; what is put there has to fit.
        all_series: tumbling windows, all of one length.
        count: windows of each.
    """
    set_up(ledger, unit, wall, all_series)
    step = max(_BATCH_WINDOWS // len(all_series), 1)
    for first in range(0, count, step):
        with ledger._door.write() as writing:  # one by one would take hours
            for index in range(first, min(first + step, count)):
                _decide(writing, all_series, index, worst=unit is PrivacyUnit.EVENT and index == 0)
    if count:
        with ledger._door.write() as writing:
            for one in all_series:
                writing.tx.counters.put(LEFT + one.query, count, one.key(count - 1).start_ms)


def _decide(writing: Writing, all_series: Sequence[Series], index: int, *, worst: bool) -> None:
    """Admit and settle one window of each query, without asking again what nothing has changed.

    Args:
        writing: a transaction.
        all_series: the queries.
        index: of the window.
        worst: whether a window can make the dearest row dearer: of tumbling ones, all of which cost
            alike, only the first.
    """
    budget, counters = writing.state.budgets["s"], writing.tx.counters
    end_ms = all_series[0].key(index).end_ms
    if end_ms - counters.of(CLOCK)[0] > CLOCK_GRAIN_MS:
        counters.put(CLOCK, end_ms, end_ms)
    requests = [one.request(index) for one in all_series]
    writing.append(admission.admitted(writing.state, "s", requests))
    for one in all_series:
        key, cost = one.key(index), UniformCost(one.units, CELLS)
        ended = admission.settled(
            index + 1,
            admission.reserved(budget, key, one.fingerprint, cost),
            cost,
            alarms=b"[]",
            alarm_count=0,
            next_start_ms=one.key(index + 1).start_ms,
            release_ms=end_ms,
            now_ms=end_ms,
            run=None,
            left=None,
        )
        writing.append(ended)
        if worst:
            writing.append(admission.worst(budget, key, one.fingerprint, key.start_ms))


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
        # A table as small as a test's is read as a whole, or sorted, where a large one is not.
        for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin"):
            connection.execute(f"SET enable_{way} TO off")
        connection.commit()

    def executed(self, _: Any, cursor: Any, statement: str, *__: Any) -> None:
        """Take note of a statement."""
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            self._changed += max(cursor.rowcount, 0)

    def ended(self, _: sa.Connection) -> None:
        """End a transaction."""
        self.largest, self._changed = max(self.largest, self._changed), 0


@contextmanager
def effort(ledger: Ledger) -> Iterator[Effort]:
    """Count what the database of a ledger does meanwhile."""
    engine, found = ledger._store._engine, Effort()
    listeners = (
        *(("connect", found.connected), ("commit", found.ended), ("rollback", found.ended)),
        ("after_cursor_execute", found.executed),
    )
    before = _rows_read(engine)
    for name, listener in listeners:
        event.listen(engine, name, listener)
    try:
        yield found
    finally:
        for name, listener in listeners:
            event.remove(engine, name, listener)
        found.steps += _rows_read(engine) - before


def _rows_read(engine: sa.Engine) -> int:
    """Return what all connections of a PostgreSQL ledger have read, once they have ended.

    Only what a session has left behind is whole: while it lasts, its server reports what it read
    a second late, or at the end of a later transaction.
    """
    engine.dispose()  # and every connection to come is a new one
    if engine.dialect.name == "sqlite":
        return 0
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(_OTHERS).fetchone() != (0,):
            time.sleep(0.001)
        row = connection.execute(_READ).fetchone()
    return int(row[0] or 0) if row else 0


_OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
_READ = (
    "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables"
)
