"""Runs in the ledger: windows that share one noisy threshold, charged by their alarms alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from accountant.costs.charges import UniformCost
from accountant.costs.runs import RunAfter
from accountant.errors import LedgerError
from accountant.records import Answer
from tests.support.ledgers import CELLS, USER, deny, held, must_verify, set_up
from tests.support.runs import RUN, TERMS, WHOLE, ask, now, ring


def test_the_first_of_two_deciders_wins(ledger, opened):
    """Both drew the same window from the same run; one draw and its state are stored, once."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 30)
    ring(ledger, 0)
    other, before = opened(), now(ledger, 1)
    kept = ring(ledger, 1, 1, state=b"first")
    dropped = {"left": 3, "state": b"second", "cost": UniformCost(0, CELLS)}
    assert ring(other, 1, 0, previous=before, **dropped) == kept
    after = now(other, 2)
    assert (after.state, after.left, after.alarms_rung) == (b"first", 2, 1)
    assert held(ledger) == 11


def test_the_state_shows_nowhere(ledger):
    """Neither an export nor a status nor the text of a record gives a threshold away."""
    set_up(ledger, USER, WHOLE, [RUN])
    ask(ledger, 20)
    ring(ledger, 0, 1)
    run = now(ledger, 1)
    assert run.state == b"secret 0"
    text = str(list(ledger.reports.entries())) + str(ledger.reports.status()) + repr(run)
    text += repr(RunAfter(run.state, 1, 1, run, TERMS))
    assert "secret 0" not in text
    assert "c2VjcmV0" not in text  # base64


def test_many_deciders_at_once_share_one_run(ledger):
    """Every window is decided once, and the run is the sum of what was stored."""
    set_up(ledger, USER, 3 * WHOLE, [RUN])
    windows = 30

    def decide(number):
        while (index := ledger.cursor("r") // 10) < windows:
            ask(ledger, 10 * (index + 1))
            refused = ledger.answer(RUN.key(index)) is Answer.REFUSED
            with suppress(LedgerError):  # another was faster: read anew
                if refused:
                    deny(ledger, RUN, index, "budget")
                else:
                    ring(ledger, index, int((index + number) % 3 == 0))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(decide, range(4)))
    must_verify(ledger)
    decisions = [ledger.decision(RUN.key(index)) for index in range(windows)]
    units = [0 if one is None else one.epsilon_units for one in decisions]
    assert sum(units) == held(ledger) <= 3 * WHOLE
