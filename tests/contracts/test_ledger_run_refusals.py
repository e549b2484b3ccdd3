"""What does not add up as a run is refused."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import count

import pytest
from sqlalchemy import event

from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunTerms
from accountant.errors import LedgerError
from accountant.records import Request
from tests.support.ledgers import CELLS, USER, admit, must_verify, set_up
from tests.support.runs import RUN, TERMS, WHOLE, ask, now, ring

DATABASES = ["sqlite"]
STALE = [
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
def test_a_run_that_does_not_add_up_is_refused(ledger, changes):
    """Stale runs, alarms that were not left, other costs: nothing is written."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 50)
    ring(ledger, 0, 1)
    before = (now(ledger, 1), ledger.reports.status(), list(ledger.reports.entries()))
    with pytest.raises(LedgerError):
        ring(ledger, 1, 0, **changes)
    assert (now(ledger, 1), ledger.reports.status(), list(ledger.reports.entries())) == before
    must_verify(ledger)


def test_the_run_before_last_is_refused(ledger):
    """Who read the run before an earlier window was decided has to read it again."""
    set_up(ledger, USER, 2 * WHOLE, [RUN])
    ask(ledger, 50)
    ring(ledger, 0)
    old = now(ledger, 1)
    ring(ledger, 1)
    said = "the SVT run of alarm 'r' changed while a window was decided"
    with pytest.raises(LedgerError, match=said):
        ring(ledger, 2, previous=old)
    ring(ledger, 2, 3)
    with pytest.raises(LedgerError, match=said):
        ring(ledger, 3, previous=old)
    assert ring(ledger, 3).epsilon_units == TERMS.open_units


def test_a_run_where_none_was_reserved_is_refused(ledger):
    """A window that was asked for by itself leaves no run behind under unit user."""
    set_up(ledger, USER, WHOLE, [RUN])
    admit(ledger, 10, RUN)
    with pytest.raises(LedgerError, match="a window of alarm 'r' has no SVT run"):
        ring(ledger, 0, cost=UniformCost(WHOLE, CELLS))


def test_requests_of_a_run_ask_for_a_whole_one():
    """Another worst case, more cells a person, or no period: that is a mistake of the caller."""
    good = RUN.request(0)
    assert Request(good.charge, "f", run=TERMS).run == TERMS
    wrong = (replace(RUN, units=10), replace(RUN, cells_per_unit=2), replace(RUN, period=0))
    for one in wrong:
        with pytest.raises(ValueError, match="run"):
            Request(one.request(0).charge, "f", run=TERMS)
    for terms in ((0, 2, 3), (5, 0, 3), (5, 2, 0)):
        with pytest.raises(ValueError, match="needs open_units"):
            RunTerms(*terms)


class Died(BaseException):
    """A process was interrupted: nothing that it ran catches this."""


@contextmanager
def dying_at(ledger, step):
    """Interrupt whoever writes to the ledger before their write number ``step``."""
    left = count(step, -1)

    def before(_connection, _cursor, statement, *_):
        if not statement.startswith(("SELECT", "PRAGMA", "BEGIN")) and next(left) == 0:
            raise Died

    engine = ledger._store._engine
    event.listen(engine, "before_cursor_execute", before)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", before)


def test_a_settlement_that_fails_on_its_way_writes_nothing(ledger):
    """Run, charge and decision are one transaction, whichever write it dies at."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 30)
    ring(ledger, 0, 1)
    before = (now(ledger, 1), list(ledger.reports.entries()))

    # The run twice, how the window ended, what then was answered, its partials.
    writes = 5
    for step in range(writes):
        with dying_at(ledger, step), pytest.raises(Died):
            ring(ledger, 1, 1)
        assert (now(ledger, 1), list(ledger.reports.entries())) == before, step
    with dying_at(ledger, writes):
        ring(ledger, 1, 1)
    must_verify(ledger)
