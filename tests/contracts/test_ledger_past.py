"""What lies behind: of a copy that was put back, and of windows that are left out of the state."""

from __future__ import annotations

import shutil

import pytest

from accountant.errors import LedgerRolledBackError
from accountant.ledger import door
from accountant.log import state
from accountant.records import Answer, Outcome, SeenDecision
from tests.support.ledgers import (
    EVENT,
    Series,
    admit,
    open_ledger,
    registration,
    requests,
    set_up,
    settle,
)

DATABASES = ["sqlite"]


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_copy_put_back_under_a_process_is_refused(tmp_path, monkeypatch, goes_on):
    """The process has read what the copy lacks: it grants nothing, however often it is asked."""
    a = Series("a", size=20, units=4)
    path, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        set_up(ledger, EVENT, 4, [a])
        admit(ledger, 20, a)
        ledger._store.close()
        shutil.copy(path, backup)
        settle(ledger, a, 0)
        admit(ledger, 30, a)
        assert ledger.answer(a.key(1)) is Answer.REFUSED
        ledger._store.close()
        shutil.copy(backup, path)
        if goes_on:  # another entry stands under the number that was read last
            with open_ledger(f"sqlite:///{path}") as copy:
                settle(copy, a, 0, units=0)
                admit(copy, 30, a)
                admit(copy, 40, a)
                assert copy._door._state.head.number == ledger._door._state.head.number
        for _ in range(2):
            with pytest.raises(LedgerRolledBackError, match="another copy was put in its place"):
                ledger.answer(a.key(1))
            with pytest.raises(LedgerRolledBackError):
                admit(ledger, 30, a)
        # Broken twin: reads whatever is there anew, as if this process had known nothing.
        monkeypatch.setattr(door, "_goes_on", lambda *_: False)
        admit(ledger, 30, a)


@pytest.mark.parametrize("later", [5, 30])
def test_what_was_taken_as_spent_counts_for_an_alarm_that_begins_before_it(
    ledger, monkeypatch, later
):
    """Also when so many windows came since that the state has left it out."""
    monkeypatch.setattr(state, "_SPARE", 10)
    a, long = Series("a"), Series("long", 400, 400)
    set_up(ledger, EVENT, 1, [a])
    admit(ledger, 30, a)
    # Of another copy: the windows before it are taken as spent.
    left = SeenDecision(ledger.ledger_id, "a", "s", 20, 30, 3, Outcome.DECIDED, 0, 0, 30)
    assert ledger.upkeep.reconcile([left]) == 1
    for number in range(3, 3 + later):
        admit(ledger, 10 * (number + 1), a)
        settle(ledger, a, number, units=0)
    ledger.pins.register_query(registration(long))
    ahead = requests([a], 400)[3 + later :]
    ledger.admit("s", sorted([*ahead, long.request(0)], key=lambda one: one.charge.key))
    for number in range(3 + later, 40):
        settle(ledger, a, number, units=0)
    assert ledger.answer(long.key(0)) is Answer.REFUSED
