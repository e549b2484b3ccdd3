"""What does not add up as a run is refused, or named by verify."""

# ruff: noqa: S608 - statements are put together from names in this file

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from accountant.audit import verify
from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunTerms
from accountant.errors import LedgerError
from accountant.records import Request
from tests.support.ledgers import CELLS, requests, set_up, settle
from tests.support.runs import OTHER, RUN, TERMS, USER, WHOLE, ask, now, ring

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.ledger.ledger import Ledger

STALE: list[dict[str, Any]] = [
    {"previous": None},
    {"previous": None, "cost": UniformCost(TERMS.open_units, CELLS), "left": 3},
    {"rung": 1},
    {"left": 3},
    {"left": 0, "rung": 2, "alarm_count": 2},
    {"left": -1, "rung": 3, "alarm_count": 3, "cost": UniformCost(6, CELLS)},
    {"left": 3, "rung": -1, "cost": UniformCost(0, CELLS)},
    {"alarm_count": 1},
    {"cost": UniformCost(1, CELLS)},
    {"cost": UniformCost(5, CELLS)},
    {"cost": UniformCost(0, CELLS - 1)},
    {"terms": RunTerms(4, 2, 3)},
    {"terms": RunTerms(5, 3, 2)},
    {"run": None},
]


@pytest.mark.parametrize("changes", STALE, ids=str)
def test_a_run_that_does_not_add_up_is_refused(ledger: Ledger, changes: dict[str, Any]) -> None:
    """Stale runs, alarms that were not left, other costs: nothing is written."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 50)
    ring(ledger, 0, 1)
    before = (now(ledger, 1), ledger.reports.status(), list(ledger.reports.export()))
    with pytest.raises(LedgerError):
        ring(ledger, 1, 0, **changes)
    assert (now(ledger, 1), ledger.reports.status(), list(ledger.reports.export())) == before
    assert ledger.reports.verify() == []


def test_the_run_before_last_is_refused(ledger: Ledger) -> None:
    """Who read the run before an earlier window was decided has to read it again."""
    set_up(ledger, USER, 2 * WHOLE, [RUN])
    ask(ledger, 50)
    ring(ledger, 0)
    old = now(ledger, 1)
    ring(ledger, 1)
    with pytest.raises(LedgerError, match="not the one"):
        ring(ledger, 2, previous=old)
    ring(ledger, 2, 3)
    with pytest.raises(LedgerError, match="not the one"):
        ring(ledger, 3, previous=old)
    assert ring(ledger, 3).epsilon_units == TERMS.open_units


def test_a_run_where_none_was_reserved_is_refused(ledger: Ledger) -> None:
    """A window that was asked for by itself leaves no run behind under unit user."""
    set_up(ledger, USER, WHOLE, [RUN])
    ledger.admit("s", requests([RUN], 10))
    with pytest.raises(LedgerError, match="not reserved in a run"):
        ring(ledger, 0, cost=UniformCost(WHOLE, CELLS))


def test_requests_of_a_run_ask_for_a_whole_one() -> None:
    """Another worst case, more cells a person, or no period: that is a mistake of the caller."""
    good = RUN.request(0)
    assert Request(good.charge, "f", run=TERMS).run == TERMS
    wrong = (replace(RUN, units=10), replace(RUN, cells_per_unit=2), replace(RUN, period=0))
    for one in wrong:
        with pytest.raises(ValueError, match="run"):
            Request(one.request(0).charge, "f", run=TERMS)
    for terms in ((0, 2, 3), (5, 0, 3), (5, 2, 0)):
        with pytest.raises(ValueError, match="costs something"):
            RunTerms(*terms)


class Died(BaseException):
    """A process was interrupted: nothing that it ran catches this."""


@contextmanager
def dying_at(ledger: Ledger, step: int) -> Iterator[None]:
    """Interrupt whoever writes to the ledger before their write number ``step``."""
    left = count(step, -1)

    def before(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
        if not statement.startswith(("SELECT", "PRAGMA", "BEGIN")) and next(left) == 0:
            raise Died

    engine = ledger._store._engine
    event.listen(engine, "before_cursor_execute", before)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", before)


def test_a_settlement_that_fails_on_its_way_writes_nothing(ledger: Ledger) -> None:
    """Run, charge and decision are one transaction, whichever write it dies at."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 30)
    ring(ledger, 0, 1)
    before = (now(ledger, 1), list(ledger.reports.export()))

    # The run twice, its charge with total, link and head, the next one's answer with its total,
    # then partials, decision, tally, number and cursor.
    writes = 13
    for step in range(writes):
        with dying_at(ledger, step), pytest.raises(Died):
            ring(ledger, 1, 1)
        assert (now(ledger, 1), list(ledger.reports.export())) == before, step
    with dying_at(ledger, writes):
        ring(ledger, 1, 1)
    assert ledger.reports.verify() == []


TAMPERED: Sequence[tuple[str, str]] = (
    ('UPDATE tocsin_runs SET "left" = 3', "costs 13 units in all"),
    ('UPDATE tocsin_runs SET "left" = -1', "impossible terms"),
    ("UPDATE tocsin_runs SET alarms_rung = 0", "cost 7 units, its alarms say 5"),
    ("UPDATE tocsin_runs SET alarm_units = 1", "its alarms say"),
    ("UPDATE tocsin_runs SET open_units = 4", "its alarms say"),
    ("UPDATE tocsin_runs SET periods = '[5]'", "other periods"),
    ("UPDATE tocsin_runs SET periods = '?'", "the run of 'r' cannot be read"),
    ("UPDATE tocsin_runs SET fingerprint = 'f9'", "outlived its configuration"),
    ("UPDATE tocsin_runs SET opened_start_ms = 1", "begin and end with a decided window"),
    ("UPDATE tocsin_runs SET last_start_ms = 0", "begin and end with a decided window"),
    ("DELETE FROM tocsin_runs", "it holds 4 units, its run says 11"),
    ("UPDATE tocsin_charges SET held_units = 3 WHERE start_ms = 20", "its run says 4"),
    ("UPDATE tocsin_charges SET held_units = NULL WHERE start_ms = 20", "holds None units"),
    ("UPDATE tocsin_charges SET held_units = 4 WHERE start_ms = 30", "it is pending in a run"),
    ("UPDATE tocsin_charges SET held_units = 10 WHERE start_ms = 0", "chain vouches for"),
    *(
        (f"UPDATE tocsin_charges SET in_run = false WHERE start_ms = {start}", "chain vouches for")
        for start in (0, 20, 30)
    ),
    ("UPDATE tocsin_charges SET in_run = true WHERE query = 's'", "chain vouches for"),
    ("UPDATE tocsin_charges SET held_units = 1 WHERE query = 's'", "it is in no run"),
    ("UPDATE tocsin_decisions SET epsilon_units = 11 WHERE start_ms = 0", "another epsilon"),
    ("UPDATE tocsin_decisions SET alarm_count = 2 WHERE query = 'r'", "gave more alarms"),
)


def test_tampering_with_runs_is_told(ledger: Ledger) -> None:
    """Whatever is changed of a run or of how its windows hold, verify names it."""
    set_up(ledger, USER, 2 * WHOLE, [RUN, OTHER])
    ask(ledger, 40, OTHER)
    ring(ledger, 0, 1)
    settle(ledger, OTHER, 0, units=1)
    ring(ledger, 1, 0)
    assert ledger.reports.verify() == []
    for change, word in TAMPERED:
        with suppress(_Undo), ledger._store.write() as tx:
            tx.connection.execute(sa.text(change))
            assert word in "\n".join(verify.problems(tx, {})), change
            raise _Undo
    assert ledger.reports.verify() == []


class _Undo(Exception):  # noqa: N818  # not an error: it rolls a tampering back
    """Rolls a tampering back."""
