"""Newer code takes a ledger over; what ran before stops at its next write, and draws nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from accountant.errors import LedgerError
from accountant.store.schema import VERSION, metadata, table_of
from accountant.store.tables.pinned import LEDGER
from accountant.units import PrivacyUnit
from tests.support.ledgers import A, B, deny, partial, requests, set_up, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.ledger.ledger import Ledger

NEWER = "9999"


def take_over(ledger: Ledger) -> None:
    """Do to a ledger what code that brings it to a newer schema does when it opens it."""
    with ledger._store.write() as tx:
        tx.connection.execute(sa.update(table_of(LEDGER)).values(schema_version=NEWER))


def content(ledger: Ledger) -> dict[str, list[Any]]:
    """Every row of every table."""
    with ledger._store.read() as tx:
        return {
            table.name: sorted(map(repr, tx.connection.execute(sa.select(table))))
            for table in metadata.sorted_tables
        }


def test_a_ledger_says_what_it_was_written_by(opened: Callable[[], Ledger]) -> None:
    """From its first moment on, and however often it is opened again."""
    for _ in range(2):
        with opened()._store.read() as tx:
            assert tx.ledger().schema_version == VERSION


@pytest.mark.parametrize(
    "write",
    [
        lambda ledger: ledger.admit("s", requests([A, B], 30)[2:]),
        lambda ledger: settle(ledger, A, 0),
        lambda ledger: deny(ledger, B, 0),
        lambda ledger: ledger.writers.release("w"),
        lambda ledger: ledger.counts.put_partial(partial(A, 1)),
        lambda ledger: ledger.upkeep.compact("s", 20),
        lambda ledger: set_up(ledger, PrivacyUnit.EVENT, 10, [A, B]),
    ],
    ids=["admit", "settle", "deny", "release", "count", "compact", "register"],
)
def test_older_code_stops_at_its_next_write(
    opened: Callable[[], Ledger], write: Callable[[Ledger], object]
) -> None:
    """Before it draws, and nothing of that write is left."""
    ledger = opened()
    set_up(ledger, PrivacyUnit.EVENT, 10, [A, B])
    ledger.admit("s", requests([A, B], 30)[:2])
    take_over(ledger)
    before = content(ledger)
    with pytest.raises(LedgerError, match=f"schema {NEWER}; this one writes {VERSION}"):
        write(ledger)
    assert content(ledger) == before


@pytest.mark.parametrize("other", [NEWER, "0017"])
def test_a_ledger_of_another_version_is_not_opened(
    opened: Callable[[], Ledger], other: str
) -> None:
    """Neither a newer one nor one of before the first release; both versions are named."""
    ledger = opened()
    with ledger._store.write() as tx:
        tx.connection.execute(sa.update(table_of(LEDGER)).values(schema_version=other))
    before = content(ledger)
    with pytest.raises(LedgerError, match=f"schema version {other}; this code reads {VERSION}"):
        opened()
    assert content(ledger) == before


def test_a_ledger_that_says_no_version_is_not_opened(opened: Callable[[], Ledger]) -> None:
    """The first ledgers did not."""
    with opened()._store.write() as tx:
        tx.connection.exec_driver_sql("ALTER TABLE tocsin_ledger DROP COLUMN schema_version")
    with pytest.raises(LedgerError, match="schema version none"):
        opened()
