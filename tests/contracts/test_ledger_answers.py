"""Who may ask a ledger for windows, and when; what they are answered is in ``scripts``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accountant.costs.charges import WindowKey
from accountant.errors import ConfigChangedError, LedgerError
from accountant.records import Answer
from tests.support.ledgers import (
    EVENT,
    A,
    B,
    Series,
    admit,
    requests,
    set_up,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger


def test_a_ledger_that_went_back_says_so(ledger: Ledger) -> None:
    """A window that a worker has asked for and the ledger lacks: the cause, and what to do."""
    set_up(ledger, EVENT, 1, [A])
    admit(ledger, 50, A)
    lost = A.key(1000)
    with pytest.raises(LedgerError, match="after a fail-over to a copy") as caught:
        ledger.answer(lost)
    assert "start the worker again" in caught.value.hint


def test_admission_is_served_once_and_in_order(ledger: Ledger) -> None:
    """What was asked for stays answered, what was left out is missed, what is ahead is unknown."""
    set_up(ledger, EVENT, 1, [A, B])
    admit(ledger, 20, A)
    frontier = ledger.frontier("s")
    admit(ledger, 20, A, B)
    assert ledger.answer(B.key(0)) is Answer.MISSED
    assert ledger.frontier("s") == WindowKey(end_ms=20, query="b", start_ms=10) != frontier
    ledger.admit("s", requests([A, B], 20, too_old=True))
    assert ledger.answer(A.key(0)) is Answer.RESERVED
    with pytest.raises(LedgerError, match="went back"):
        ledger.answer(A.key(2))
    with pytest.raises(ValueError, match="sorted"):
        ledger.admit("s", requests([A], 60)[::-1])
    with pytest.raises(ConfigChangedError):
        admit(ledger, 60, Series("a", fingerprint="f9"))


def test_a_budget_is_served_only_for_who_knows_all_of_it(ledger: Ledger) -> None:
    """Whoever lacks an alarm would make its windows missed, and is refused until it is retired."""
    a, b = Series("a"), Series("b")
    set_up(ledger, EVENT, 4, [a, b])
    with pytest.raises(LedgerError, match="'b'"):
        ledger.admit("s", requests([a], 20), alarms={"a"})
    assert ledger.frontier("s") is None
    ledger.admit("s", requests([a, b], 20), alarms={"a", "b"})
    ledger.pins.remove_alarm("b")
    ledger.admit("s", requests([a], 40), alarms={"a"})
    assert ledger.answer(a.key(3)) is Answer.RESERVED
