"""A small ledger with rows in every table, and plausible edits of each of its values."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import sqlalchemy as sa
from sqlalchemy import event

from accountant.costs.noisy import Noisy
from accountant.ledger.journal import START
from accountant.loss.gaussian import Gaussian
from accountant.records import BudgetTerms, LogIdentity, SeenDecision, Stand
from accountant.store.declaration import Kind
from accountant.store.schema import metadata, table_of
from accountant.store.tables import TABLES
from accountant.units import PrivacyUnit
from tests.support.archived import move_all
from tests.support.ledgers import (
    TOPIC_ID,
    Clock,
    Series,
    deny,
    partial,
    registration,
    requests,
    settle,
)
from tests.support.runs import OTHER, RUN, WHOLE, ask, ring

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import StrEnum

    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from accountant.store.declaration import Column, Table
    from accountant.store.transaction import Transaction

__all__ = ["Edit", "edits", "fill", "tampering"]

_EVENTS = Series("e", 20, 10, 3)
_FEW = Series("k", period=100, windows=2)
_PROMISE = Gaussian(Fraction(1), Fraction(1, 10**6))
_OLD = Series("o", units=2, cells_per_unit=2, period=100, share=4)


@dataclass(frozen=True)
class Edit:
    """One value of one row, changed behind the ledger's back; or the row, deleted.

    Args:
        table: its declaration.
        key: of the row.
        words: what the row says of its state: rows of the same words are alike.
        column: its name; empty where the row goes.
        how: what kind of edit it is.
        value: what stands there then.
    """

    table: Table[Any]
    key: tuple[Any, ...]
    words: str
    column: str
    how: str
    value: Any = None

    @property
    def place(self) -> str:
        """Where: the table, and the column unless the row goes."""
        return f"{self.table.name}.{self.column}" if self.column else self.table.name

    def make(self, tx: Transaction) -> None:
        """Make it."""
        table = table_of(self.table)
        mine = [table.c[name] == one for name, one in zip(self.table.key, self.key, strict=True)]
        changed: Any = table.delete()
        if self.column:
            changed = table.update().values({self.column: self.value})
        assert tx.connection.execute(changed.where(*mine)).rowcount == 1


def fill(ledger: Ledger, clock: Clock) -> None:
    """Put rows into every table of an empty ledger, as those who work with it would.

    Budget ``s`` is of unit ``user`` and holds a run, ``old`` of the same and compacted, ``t`` of
    unit ``event`` with decisions adopted from another timeline, ``idle`` Gaussian and with a query
    that never decided, ``few`` with one of which people count in two windows.
    """
    ledger.journal.note(START)
    ledger.journal.note("clock")
    for scope, unit, wall in (
        ("s", PrivacyUnit.USER, WHOLE + OTHER.units),
        ("old", PrivacyUnit.USER, 10),
        ("t", PrivacyUnit.EVENT, 5),
        ("few", PrivacyUnit.USER, 2),
    ):
        period = "lifetime" if unit is PrivacyUnit.USER else ""
        ledger.pins.register_budget(BudgetTerms(scope, unit, wall, period))
    idle = BudgetTerms("idle", PrivacyUnit.USER, _PROMISE.wall_units, "lifetime", _PROMISE.text)
    ledger.pins.register_budget(idle)
    for feed, topic in (("feed", "rooms"), ("old", "doors"), ("t", "badges")):
        identity = TOPIC_ID if feed == "feed" else f"id of {topic}"
        ledger.pins.register_log(LogIdentity(feed, f"cluster {feed}", identity, topic, 2))
    ledger.pins.register_files({"feed": ["ab", "cd"], "t": ["ef"]})
    _compacted(ledger)
    _in_a_run(ledger)
    _adopted(ledger)
    ledger.pins.register_query(registration(Series("i"), "idle"))
    ledger.pins.register_query(registration(_FEW, "few"))
    ledger.admit("few", requests([_FEW], 50))
    for index in range(3):
        settle(ledger, _FEW, index, units=1)
    for number, feed in enumerate(("feed", "old")):
        clock.now_ms += 500
        announced = ledger.growths.announce(feed, 3 + number, from_ms=9_000, first_starts={})
        if feed == "old":
            ledger.growths.conclude(feed, announced.partitions, until_ms=clock.now_ms + 900)
    for writer in ("w1", "w1", "w2"):
        ledger.writers.release(writer)
    places = {0: (4, Stand.READING), 1: (9, Stand.END)}
    ledger.counts.put_places({"feed": places})
    for time_ms, offset in ((100, 3), (200, 8)):
        for partition in (0, 1):
            ledger.counts.put_mark("feed", partition, time_ms, offset + partition)
    clock.now_ms -= 50
    ledger.upkeep.set_clock()
    clock.now_ms += 500
    ledger.pins.register_log(LogIdentity("extra", "cluster", "id", "extra", 1))


def _compacted(ledger: Ledger) -> None:
    """Let a query decide, compact most of it, move some, change it, and retire another."""
    gone = replace(_OLD, query="gone", share=0)
    for one in (_OLD, gone):
        ledger.pins.register_query(registration(one, "old"))
    ledger.admit("old", requests([_OLD, gone], 30))
    for index in range(3):
        deny(ledger, gone, index)
        settle(ledger, _OLD, index, units=index, alarms=b'["lab"]')
    ledger.mark_published(*(one.key(index) for one in (_OLD, gone) for index in range(3)))
    ledger.pins.retire_query("gone")
    assert ledger.upkeep.compact("old", 20) > 0
    assert move_all(ledger, 10) == 2
    changed = replace(registration(replace(_OLD, fingerprint="f3"), "old"), definition='{"a": 1}')
    ledger.pins.accept_change(changed, 30)
    later = replace(_OLD, fingerprint="f3")
    ledger.admit("old", [later.request(3), later.request(4)])
    settle(ledger, later, 3, cells=(2, 0, 0, 1), alarms=b'["office"]')


def _in_a_run(ledger: Ledger) -> None:
    """Decide windows of a run, and count one that is not decided; two partitions disagree on it."""
    for one in (RUN, OTHER):
        ledger.pins.register_query(registration(one))
    ask(ledger, 50, OTHER)
    ring(ledger, 0, 1)
    ring(ledger, 1)
    settle(ledger, OTHER, 0, units=1, alarms=b'["hall"]')
    deny(ledger, OTHER, 1, "budget")
    ledger.mark_published(RUN.key(0), OTHER.key(0))
    counted = replace(partial(RUN, 2), cells=4)
    ledger.counts.put_partial(counted)
    other = partial(RUN, 2, partition=1, values=(1, 2, 3))
    ledger.counts.put_partial(replace(other, used=b"everybody"))
    ledger.counts.put_partial(partial(RUN, 2, values=(5,)))


def _adopted(ledger: Ledger) -> None:
    """Decide windows of unit ``event``, then learn of two that another timeline decided."""
    beside = replace(_EVENTS, query="f", units=1)
    for one in (_EVENTS, beside):
        ledger.pins.register_query(registration(one, "t"))
    ledger.admit("t", requests([_EVENTS, beside], 70))
    last = settle(ledger, _EVENTS, 0, units=2)
    deny(ledger, _EVENTS, 1)
    settle(ledger, beside, 0, cells=(1, 0, 0, 1), noisy=Noisy(b"secret counts", 0))
    seen = [_seen(last, index, index + 3) for index in (2, 3)]
    ledger.upkeep.mark_spent([seen[0], replace(seen[1], ledger_id="other", draw="ab" * 20)])
    deny(ledger, beside, 1)


def _seen(last: StoredDecision, index: int, sequence: int) -> SeenDecision:
    key = _EVENTS.key(index)
    place = (last.ledger_id, key.query, "t", key.start_ms, key.end_ms, sequence)
    return SeenDecision(*place, last.outcome, 1, 1, next_start_ms=_EVENTS.key(index + 1).start_ms)


@contextmanager
def tampering(ledger: Ledger) -> Iterator[sa.Connection]:
    """Yield a connection that may write anything: no foreign key holds it back."""
    engine = sa.create_engine(ledger._store._engine.url, hide_parameters=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _by_hand)
    try:
        with engine.connect() as connection, connection.begin() as whole:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")
            else:
                connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            yield connection
            whole.rollback()
    finally:
        engine.dispose()


def _by_hand(connection: Any, _record: Any) -> None:
    connection.isolation_level = None


def edits(connection: sa.Connection) -> Iterator[Edit]:
    """Yield every edit of every value, and every deletion, by table and row.

    Tables and columns are those that the database has: none can be forgotten.
    """
    found = sa.MetaData()
    found.reflect(connection)
    declared = {table_of(one).name: one for one in TABLES}
    assert found.tables.keys() == declared.keys() == metadata.tables.keys()
    for name, one in declared.items():
        columns = [column.name for column in found.tables[name].columns]
        assert sorted(columns) == sorted(column.name for column in one.columns)
        rows = [row._asdict() for row in connection.execute(sa.select(table_of(one)))]
        assert rows, f"{name} has no row: nothing of it is tested"
        for row in rows:
            key = tuple(row[name] for name in one.key)
            words = " ".join(row[each.name] for each in one.columns if _is_word(each))
            yield Edit(one, key, words, "", "deleted")
            for column in one.columns:
                for how, value in _others(column, row, rows):
                    yield Edit(one, key, words, column.name, how, value)


def _others(
    column: Column, row: dict[str, Any], rows: list[dict[str, Any]]
) -> Iterator[tuple[str, Any]]:
    """Yield other values for one, each with what kind it is."""
    now = row[column.name]
    beside = [one[column.name] for one in rows if one[column.name] not in {now, None}]
    if beside:
        yield "of another row", beside[0]
    if column.nullable and now is not None:
        yield "missing", None
    if _is_word(column):
        words = cast("type[StrEnum]", column.read)
        yield from (("another word", one.value) for one in words if one.value != now)
    elif column.kind is Kind.TRUTH:
        yield "turned", not now
    elif column.kind is Kind.WHOLES:
        yield from (("other periods", one) for one in ("[]", "[0, 100]") if one != now)
    elif column.kind is Kind.TEXT:
        yield "longer", f"{now or ''}x"
    elif column.kind in {Kind.BYTES, Kind.ENCODED}:
        yield "longer", (now or b"") + b"x"
    else:
        yield "one more", (now or 0) + 1
        yield "one less", (now or 0) - 1


def _is_word(column: Column) -> bool:
    """Whether a column holds a member of a ``StrEnum``."""
    return column.kind is Kind.TEXT and column.read is not None
