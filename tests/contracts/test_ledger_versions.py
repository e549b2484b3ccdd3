"""Newer code takes a ledger over; what ran before stops at its next write, and draws nothing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from accountant.errors import LedgerError
from accountant.ledger import door
from accountant.ledger.archives import Copy
from accountant.log import images
from accountant.log.entries import Head, hash_after
from accountant.store.entry_rows import EntryRow
from accountant.store.tables import metadata
from tests.support.ledgers import EVENT, A, B, admit, deny, partial, requests, set_up, settle

DATABASES = ["sqlite"]


def take_over(ledger, kind, payload):
    """Append an entry that only newer code knows."""
    with ledger._store.write() as tx:
        last = tx.log.at(tx.log.bounds()[1])
        row = EntryRow(last.seq + 1, kind, "", payload, b"")
        tx.log.append(row._replace(hash=hash_after(last.hash, row.seq, kind, "", payload)))


def content(ledger):
    """Every row of every table."""
    with ledger._store.read() as tx:
        return {
            table.name: sorted(map(repr, tx.connection.execute(sa.select(table))))
            for table in metadata.sorted_tables
        }


@pytest.mark.parametrize(
    "write",
    [
        lambda ledger: ledger.admit("s", requests([A, B], 30)[2:]),
        lambda ledger: settle(ledger, A, 0),
        lambda ledger: deny(ledger, B, 0),
        lambda ledger: ledger.heads.release(),
        lambda ledger: ledger.counts.put_partial(partial(A, 1)),
        lambda ledger: ledger.archives.move("f", Copy(1, Head(2, b""), {}, 0), 10),
        lambda ledger: set_up(ledger, EVENT, 10, [A, B]),
    ],
    ids=["admit", "settle", "deny", "release", "count", "archive", "register"],
)
@pytest.mark.parametrize(
    ("kind", "payload"), [("newer", b"{}"), ("passed", b'{"query":"a","cursor_ms":9,"why":""}')]
)
def test_older_code_stops_at_its_next_write(opened, write, kind, payload):
    """Before it draws, and nothing of that write is left; a new field is as good as a new kind."""
    ledger = opened()
    set_up(ledger, EVENT, 10, [A, B])
    ledger.admit("s", requests([A, B], 30)[:2])
    take_over(ledger, kind, payload)
    before = content(ledger)
    for _ in range(2):
        with pytest.raises(LedgerError, match="by a newer version"):
            write(ledger)
    with pytest.raises(LedgerError, match="by a newer version"):
        opened()
    assert content(ledger) == before


def test_a_ledger_of_another_version_is_not_opened(opened, monkeypatch):
    """It says from its first entry on what it was written by; both versions are named."""
    with monkeypatch.context() as newer:
        newer.setattr("accountant.ledger.ledger.VERSION", 9999)
        newer.setattr(door, "VERSION", 9999)
        before = content(opened())
    with pytest.raises(LedgerError, match="entries of version 9999; this version writes 1"):
        opened()
    assert content_of(opened, monkeypatch) == before


def content_of(opened, monkeypatch):
    """Return what is in a ledger of the newer version."""
    with monkeypatch.context() as newer:
        newer.setattr(door, "VERSION", 9999)
        return content(opened())


def test_an_image_of_another_version_is_ignored(opened, monkeypatch):
    """The entries are folded anew."""
    monkeypatch.setattr(door, "_IMAGE_EVERY", 1)
    with monkeypatch.context() as newer:
        newer.setattr(images, "VERSION", 9999)
        ledger = opened()
        set_up(ledger, EVENT, 10, [A, B])
        admit(ledger, 30, A, B)
        settle(ledger, A, 0)
    assert opened().reports.status() == ledger.reports.status()
    with ledger._door.read() as (tx, _):
        image = tx.kept.get(name=images.IMAGE)
    assert images.load(image.body[16:], Head(image.number, b"")) is None
