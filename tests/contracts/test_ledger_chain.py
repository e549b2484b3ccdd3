"""The chain of charges: whoever changes the past behind the ledger's back is told on by name."""

# ruff: noqa: S608 - statements are put together from names in this file

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from accountant.audit import verify
from accountant.costs.levels import LevelCosts
from accountant.errors import LedgerCorruptError
from accountant.records import SeenDecision
from accountant.store import chain, decisionchain, rows
from accountant.store.chain import read_anchor
from accountant.store.tables.charged import LINKS, LinkKind
from accountant.store.tables.decided import ADOPTED, TallyRow
from accountant.store.tables.windows import window_columns
from accountant.units import PrivacyUnit
from tests.support.ledgers import Series, deny, registration, requests, set_up, settle, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.charges import WindowKey
    from accountant.ledger.ledger import Ledger
    from accountant.records import StoredDecision
    from accountant.store.transaction import Transaction

WALL = 12
HOUR = 100


def series(unit: PrivacyUnit) -> Series:
    """Return hopping windows of two units a cell."""
    period = HOUR if unit is PrivacyUnit.USER else 0
    return Series("b", 20, 10, 2, cells_per_unit=2 if period else 1, period=period)


def seen(decision: StoredDecision, unit: PrivacyUnit) -> SeenDecision:
    """Return another ledger's decision of a window."""
    periods = (0,) if unit is PrivacyUnit.USER else ()
    key = decision.key
    place = ("other", key.query, "s", key.start_ms, key.end_ms, 1, decision.outcome)
    return SeenDecision(*place, 1, 3, next_start_ms=0, periods=periods)


@pytest.fixture(params=list(PrivacyUnit))
def unit(request: pytest.FixtureRequest) -> PrivacyUnit:
    """Each privacy unit."""
    found: PrivacyUnit = request.param
    return found


@pytest.fixture
def told(ledger: Ledger, unit: PrivacyUnit) -> Ledger:
    """A ledger with windows that ended in every way, open ones, and an adopted decision."""
    b = series(unit)
    set_up(ledger, unit, WALL, [b])
    ledger.admit("s", requests([b], 90))
    settle(ledger, b, 0, cells=(2, 1, 0, 0))
    second = settle(ledger, b, 1, units=1)
    deny(ledger, b, 2)
    ledger.upkeep.mark_spent([seen(second, unit)])
    assert ledger.reports.verify() == []
    return ledger


class _Undo(Exception):  # noqa: N818  # not an error: it rolls a transaction back
    """Rolls a tampering back."""


@contextmanager
def tampered(ledger: Ledger) -> Iterator[Transaction]:
    """Yield a transaction that is rolled back."""
    with suppress(_Undo), ledger._store.write() as tx:
        yield tx
        raise _Undo


def problems(tx: Transaction, anchors: dict[int, bytes] | None = None) -> str:
    """Return what verify says, as text."""
    return "\n".join(verify.problems(tx, {"s": anchors or {}}))


def run(tx: Transaction, statement: str, **values: object) -> None:
    """Run a statement."""
    tx.connection.execute(sa.text(statement), values)


COLUMNS: dict[str, object] = {
    "admission": "refused",
    "state": "spent",
    "fingerprint": "f9",
    "units": 3,
    "cells": 5,
    "cells_per_unit": 3,
    "loss_units": 1,
    "settled_units": 1,
    "settled_loss_units": 1,
    "costs": LevelCosts((0, 2), [0, 0, 0, 1]).encode(),  # type: ignore[arg-type]  # any integers
    "periods": "[0, 100]",
}


def test_every_column_of_a_charge_is_vouched_for(told: Ledger) -> None:
    """Whatever is changed of a charge that ended, verify names its window and the link."""
    for column, value in COLUMNS.items():
        with tampered(told) as tx:
            run(tx, f"UPDATE tocsin_charges SET {column} = :value WHERE start_ms = 0", value=value)
            found = problems(tx)
        assert "window [0, 20) of 'b'" in found, column
        assert "of the chain vouches for" in found, column


def test_an_open_charge_is_vouched_for(told: Ledger) -> None:
    """What was asked for stands on the chain before anything has become of it."""
    for column in COLUMNS.keys() - {"admission", "costs"}:
        with tampered(told) as tx:
            change = f"UPDATE tocsin_charges SET {column} = :value WHERE start_ms = 40"
            run(tx, change, value=COLUMNS[column])
            found = problems(tx)
        assert "window [40, 60) of 'b'" in found, column


def test_what_cannot_be_read_is_named(told: Ledger) -> None:
    """Costs that cannot be decoded, or words that no charge has, do not hide the window."""
    for value in (b"", b"x" * 40):
        with tampered(told) as tx:
            run(tx, "UPDATE tocsin_charges SET costs = :value WHERE start_ms = 0", value=value)
            found = problems(tx)
        assert "window [0, 20) of 'b': its costs cannot be read" in found
        assert "of the chain vouches for" in found
    for column in ("state", "admission", "periods"):
        with tampered(told) as tx:
            run(tx, f"UPDATE tocsin_charges SET {column} = '?' WHERE start_ms = 0")
            found = problems(tx)
        assert "window [0, 20) of 'b': its charge cannot be read" in found, column


def test_a_deleted_charge_is_missed(told: Ledger) -> None:
    """The links still tell of it."""
    with tampered(told) as tx:
        run(tx, "DELETE FROM tocsin_charges WHERE start_ms = 10")
        assert "window [10, 30) of 'b': link 4 tells of it, and it is not there" in problems(tx)


def test_an_invented_charge_is_not_told_of(told: Ledger) -> None:
    """A charge that was put in by hand has no link."""
    with tampered(told) as tx:
        run(tx, "UPDATE tocsin_charges SET start_ms = 1, end_ms = 3 WHERE start_ms = 70")
        assert "window [1, 3) of 'b': the chain does not tell how it is" in problems(tx)


def test_adopted_decisions_are_vouched_for(told: Ledger) -> None:
    """What was taken over as spent stays spent, and an adoption put in by hand is none."""
    names = [column.name for column in ADOPTED.columns]
    other = ["'z'" if name == "digest" else name for name in names]
    changes = (
        "UPDATE tocsin_adopted SET loss_units = 0",
        "UPDATE tocsin_adopted SET periods = '[7]'",
        "UPDATE tocsin_adopted SET start_ms = -5, end_ms = -4",
        "DELETE FROM tocsin_adopted",
        f"INSERT INTO tocsin_adopted SELECT {', '.join(other)} FROM tocsin_adopted",
    )
    for change in changes:
        with tampered(told) as tx:
            run(tx, change)
            assert "window [10, 30) of 'b'" in problems(tx), change


def test_a_deleted_link_is_named(told: Ledger) -> None:
    """Whichever link goes, its number is missing or its charge is not told of."""
    last = told.reports.status().scopes["s"].anchor.partition(":")[0]
    for number in range(1, int(last) + 1):
        with tampered(told) as tx:
            run(tx, f"DELETE FROM tocsin_links WHERE link = {number}")
            found = problems(tx)
        word = "its chain ends at link" if number == int(last) else f"link {number} of the chain is"
        assert word in found


def test_every_link_is_compared(told: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first and the last of the chain, and of every page that is read of it, too."""
    monkeypatch.setattr(rows, "PAGE", 3)
    last, _ = read_anchor(told.reports.status().scopes["s"].anchor)
    assert last > 6
    for number in range(1, last + 1):
        with tampered(told) as tx:
            other = "COALESCE(told, '') || 'x'"
            run(tx, f"UPDATE tocsin_links SET told = {other} WHERE link = {number}")
            found = problems(tx)
        assert f"link {number} " in found, number


def test_a_chain_cut_short_with_its_head_is_named(told: Ledger) -> None:
    """Even where the head is set back with it, the charge at the end is not told of."""
    number, _ = read_anchor(told.reports.status().scopes["s"].anchor)
    with tampered(told) as tx:
        run(tx, "UPDATE tocsin_scopes SET chain_link = chain_link - 2")
        run(tx, "DELETE FROM tocsin_links WHERE link > :last", last=number - 2)
        before = "SELECT hash FROM tocsin_links WHERE link = :last"
        run(tx, f"UPDATE tocsin_scopes SET chain_hash = ({before})", last=number - 2)
        assert "does not tell how it is released" in problems(tx)


def test_links_in_another_order_are_named(told: Ledger) -> None:
    """Two links that change places fit nowhere."""
    with tampered(told) as tx:
        for old, new in ((4, 0), (5, 4), (0, 5)):
            run(tx, f"UPDATE tocsin_links SET link = {new} WHERE link = {old}")
        found = problems(tx)
    for window in ("[10, 30)", "[20, 40)"):
        assert f"window {window} of 'b': it is not what link" in found


def test_an_inserted_link_is_named(told: Ledger) -> None:
    """A link put in between breaks those behind it; one put at the end tells things twice."""
    with tampered(told) as tx:
        run(tx, "UPDATE tocsin_links SET link = -link - 1 WHERE link >= 3")
        run(tx, "UPDATE tocsin_links SET link = -link WHERE link < 0")
        run(tx, "UPDATE tocsin_scopes SET chain_link = chain_link + 1")
        _copy_link(tx, 1, 3)
        assert "budget 's', its state: it is not what link 3" in problems(tx)
    with tampered(told) as tx:
        number = int(told.reports.status().scopes["s"].anchor.partition(":")[0]) + 1
        _copy_link(tx, 4, number)
        _rewrite(tx)
        assert f"window [10, 30) of 'b': link {number} tells of it once more" in problems(tx)


def test_a_rewritten_chain_is_caught_by_an_anchor(ledger: Ledger) -> None:
    """Who changes the past and every link after it is told on by one link noted elsewhere."""
    a = Series("a", units=2, period=HOUR)
    set_up(ledger, PrivacyUnit.USER, WALL, [a])
    ledger.admit("s", requests([a], 30))
    first = dict([read_anchor(ledger.reports.status().scopes["s"].anchor)])
    settle(ledger, a, 0)
    second = dict([read_anchor(ledger.reports.status().scopes["s"].anchor)])
    settle(ledger, a, 1)
    assert ledger.reports.verify({"s": first | second}) == []
    with tampered(ledger) as tx:
        cheaper = "settled_units = 1, settled_loss_units = 1"
        run(tx, f"UPDATE tocsin_charges SET {cheaper} WHERE start_ms = 0")
        run(tx, "UPDATE tocsin_totals SET held_units = held_units - 1")
        run(tx, "UPDATE tocsin_totals SET final_units = final_units - 1")
        assert "window [0, 10) of 'a'" in problems(tx)
        _rewrite(tx)
        assert problems(tx) == "", "without an anchor it cannot be seen"
        assert problems(tx, first) == "", "the anchor was noted before what was changed"
        (number,) = second
        assert f"link {number} is not the one that was noted" in problems(tx, second)
        assert f"link {number + 9} was noted" in problems(tx, {number + 9: b""})


@pytest.mark.parametrize("cut", [False, True])
def test_rewritten_decisions_are_caught_by_an_anchor(ledger: Ledger, *, cut: bool) -> None:
    """Who rewrites what rang, or deletes the end of it, and every hash behind it is told on."""
    a = Series("a", units=2, period=HOUR)
    set_up(ledger, PrivacyUnit.USER, WALL, [a])
    ledger.admit("s", requests([a], 30))
    settle(ledger, a, 0, alarms=b'["lab"]')
    before = dict([read_anchor(ledger.reports.status().scopes["s"].anchor)])
    settle(ledger, a, 1, alarms=b'["hall"]')
    noted = dict([read_anchor(ledger.reports.status().scopes["s"].anchor)])
    assert ledger.reports.verify({"s": before | noted}) == []
    with tampered(ledger) as tx:
        if cut:
            _take_back(tx, a.key(1))
        else:
            tx.decisions.change(window_columns(a.key(1)), alarms=b"[]")
            assert "window [10, 20) of 'a': its decision is not" in problems(tx)
        _rehash(tx, "a")
        _rewrite(tx)
        assert problems(tx) == "", "without an anchor it cannot be seen"
        assert problems(tx, before) == "", "the anchor was noted before what was changed"
        (number,) = noted
        said = f"link {number} was noted" if cut else f"link {number} is not the one"
        assert said in problems(tx, noted)


def test_rewritten_decisions_whose_links_are_gone_are_named(ledger: Ledger) -> None:
    """The budget's state vouches for the last of them that the chain tells of no more."""
    a = Series("a", units=2, period=HOUR)
    set_up(ledger, PrivacyUnit.USER, WALL, [a])
    ledger.admit("s", requests([a], 20))
    for index in range(2):
        settle(ledger, a, index)
    ledger.mark_published(a.key(0), a.key(1))
    ledger.pins.retire_query("a")
    assert ledger.upkeep.compact("s", HOUR) == 2
    assert ledger.reports.verify() == []
    with tampered(ledger) as tx:
        tx.decisions.change(window_columns(a.key(0)), alarms_digest=b"x" * 16)
        _rehash(tx, "a")
        assert "is not what the budget's state vouches for" in problems(tx)


def test_an_invented_decision_is_not_told_of(ledger: Ledger) -> None:
    """Also where all that a denial leaves behind is there: its number, its hash, its cursor."""
    a = Series("a", units=WALL + 1, period=HOUR)
    set_up(ledger, PrivacyUnit.USER, WALL, [a])
    ledger.admit("s", requests([a], 20))
    first = deny(ledger, a, 0)
    with tampered(ledger) as tx:
        (row,) = tx.decisions.all()
        window = window_columns(a.key(1))
        next_ms = a.key(2).start_ms
        tx.decisions.add(replace(row, **window, sequence=2, next_start_ms=next_ms))
        tx.queries.change({"query": "a"}, cursor_ms=next_ms)
        tx.tallies.count([TallyRow("a", first.outcome, "incomplete", 1, first.decided_at_ms)])
        _rehash(tx, "a")
        assert problems(tx) == "window [10, 20) of 'a': no link of the chain tells of its decision"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tocsin_scopes SET epsilon_max_units = epsilon_max_units + 1",
        "UPDATE tocsin_scopes SET period = 'later'",
        "UPDATE tocsin_scopes SET compacted_before_ms = 0",
        "UPDATE tocsin_scopes SET compacted_worst_units = 1",
        "UPDATE tocsin_shapes SET region = 'false'",
        "DELETE FROM tocsin_shapes",
        "INSERT INTO tocsin_compacted VALUES ('s', 0, 0)",
    ],
)
def test_what_no_charge_says_is_vouched_for_too(told: Ledger, change: str) -> None:
    """Terms, rows of queries and what compaction left cannot be changed behind the chain's back."""
    with tampered(told) as tx:
        run(tx, change)
        assert "are not what its chain vouches for" in problems(tx)


def test_a_changed_budget_is_not_vouched_for_anew(ledger: Ledger) -> None:
    """Nothing that is registered later covers up what was changed before it."""
    set_up(ledger, PrivacyUnit.EVENT, WALL, [Series("a")])
    with ledger._store.write() as tx:
        run(tx, "UPDATE tocsin_shapes SET region = 'false'")
    with pytest.raises(LedgerCorruptError, match="vouches for"):
        ledger.pins.register_query(registration(Series("b")))
    with pytest.raises(LedgerCorruptError, match="vouches for"):
        ledger.pins.register_budget(terms(PrivacyUnit.EVENT, WALL))


def _copy_link(tx: Transaction, source: int, target: int) -> None:
    names = ", ".join(column.name for column in LINKS.columns if column.name != "link")
    statement = f"INSERT INTO tocsin_links (link, {names}) SELECT {target}, {names}"
    run(tx, f"{statement} FROM tocsin_links WHERE link = {source}")


def _take_back(tx: Transaction, key: WindowKey) -> None:
    """Make the last decision as if it had never been, but for the hashes."""
    run(tx, "DELETE FROM tocsin_decisions WHERE start_ms = :start", start=key.start_ms)
    run(tx, "DELETE FROM tocsin_links WHERE link = (SELECT max(link) FROM tocsin_links)")
    tx.charges.change(
        window_columns(key), state="reserved", settled_units=None, settled_loss_units=None
    )
    tx.queries.change({"query": key.query}, cursor_ms=key.start_ms)
    run(tx, "UPDATE tocsin_tallies SET windows = windows - 1")
    run(tx, "UPDATE tocsin_totals SET final_units = final_units - 2")


def _rehash(tx: Transaction, query: str) -> None:
    """Make a new chain of decisions over what the rows say now."""
    last, number = decisionchain.begin(query), 0
    for row in list(tx.decisions.in_order(query, -(2**63))):
        last, number = decisionchain.hash_after(last, row), row.sequence
        tx.decisions.change(window_columns(row.key), hash=last)
    tx.sequences.put(replace(tx.sequences.of(query), last_sequence=number, hash=last))


def _rewrite(tx: Transaction) -> None:
    """Make a new chain over what the rows say now."""
    charges = {charge.key: charge for charge in tx.charges.all()}
    hashes = {decision.key: decision.hash for decision in tx.decisions.all()}
    number, last = 0, chain.genesis("s")
    for link in tx.links.all(scope="s"):
        if link.kind is LinkKind.ADOPTED:
            (row,) = tx.adopted.after("s")
            happened = chain.of_adopted(row)
        elif link.kind is LinkKind.STATE:
            happened = chain.of_state(link.told or "")
        else:
            decided = hashes.get(link.key) if link.kind is LinkKind.ENDED else None
            happened = chain.of_charge(charges[link.key], link.kind, decided)
        (new,) = chain.extend("s", number, last, [happened])
        number, last = new.link, new.hash
        run(tx, "UPDATE tocsin_links SET hash = :hash WHERE link = :link", hash=last, link=number)
    tx.scopes.change({"scope": "s"}, chain_link=number, chain_hash=last)
