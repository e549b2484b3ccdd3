"""Decisions are stored once, in turn, and leave in order; what they refund is usable at once."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec import structs

from accountant.ledger import verify
from accountant.ledger.ledger import Ledger
from tests.support.ledgers import EVENT, A, B, admit, deny, must_verify, set_up, settle


def test_a_decision_is_stored_once(ledger):
    """A second draw for a window is thrown away; the first one comes back."""
    set_up(ledger, EVENT, 1, [A])
    admit(ledger, 30, A)
    first = settle(ledger, A, 0, alarms=b"first")
    assert settle(ledger, A, 0, alarms=b"second") == first
    assert deny(ledger, A, 0) == first == ledger.decision(A.key(0))
    assert (first.sequence, first.epsilon_units, first.alarms) == (1, 1, b"first")
    assert ledger.cursor("a") == 10
    assert settle(ledger, A, 1).sequence == 2
    assert ledger.decision(A.key(2)) is None


def test_the_outbox_keeps_order_and_time(ledger):
    """Decisions leave in sequence, none before its time, each until it is marked."""
    set_up(ledger, EVENT, 1, [A])
    admit(ledger, 50, A)
    for index in range(4):
        settle(ledger, A, index)
    assert [one.sequence for one in ledger.unpublished("a", 30)] == [1, 2, 3]
    assert [one.sequence for one in ledger.unpublished("a", 30, limit=2)] == [1, 2]
    ledger.mark_published(A.key(0), A.key(1))
    ledger.mark_published(A.key(0))
    assert [one.sequence for one in ledger.unpublished("a", 10**9)] == [3, 4]
    assert ledger.reports.status().queries["a"].unpublished == 2
    assert ledger.decision(A.key(0)).published


def numbers(ledger, order):
    """Settle the next window of each series in turn; return every window's number."""
    turn = Counter()
    found = {}
    for series in order:
        decision = settle(ledger, series, turn[series.query])
        found[decision.key] = decision.sequence
        turn[series.query] += 1
    return found


def numbers_tell_no_order(make):
    """Compare the numbers of fresh ledgers that settle the same windows in different orders."""
    found = []
    for order in ([A, A, B, B], [B, A, B, A], [B, B, A, A]):
        ledger = make()
        set_up(ledger, EVENT, 9, [A, B])
        admit(ledger, 20, A, B)
        found.append(numbers(ledger, order))
        must_verify(ledger)
    assert found[0] == found[1] == found[2]
    assert sorted(found[0].values()) == [1, 1, 2, 2]


def test_numbers_do_not_tell_which_query_was_stored_first(fresh):
    """What is published of two queries is the same in whatever order their windows were stored."""
    numbers_tell_no_order(fresh)


def test_numbers_over_the_whole_ledger_are_caught(fresh, monkeypatch):
    """Broken twin: one series of numbers for all queries tells the order of storage."""
    own = Ledger._end

    def end(self, writing, ended):
        last = max(one.sequence for one in writing.state.queries.values())
        return own(self, writing, structs.replace(ended, sequence=last + 1))

    monkeypatch.setattr(Ledger, "_end", end)
    monkeypatch.setattr(verify, "problems", lambda *_: [])
    with pytest.raises(AssertionError):
        numbers_tell_no_order(fresh)


def test_one_at_a_time(opened):
    """Only one holder of a name, others are told so at once; other names are free."""
    first, second = opened(), opened()
    with first.exclusive("publish:a") as mine, second.exclusive("publish:a") as theirs:
        assert (mine, theirs) == (True, False)
        with second.exclusive("publish:b") as other:
            assert other
    with second.exclusive("publish:a") as now:
        assert now
