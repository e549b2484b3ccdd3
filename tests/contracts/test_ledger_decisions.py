"""Decisions are stored once, in turn, and leave in order; what they refund is usable at once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from accountant.errors import ClockError, ConfigChangedError, LedgerError
from accountant.ledger import verify
from accountant.ledger.ledger import Ledger
from accountant.records import Answer, StoredDecision
from tests.support.ledgers import (
    EVENT,
    USER,
    A,
    B,
    Opens,
    Series,
    admit,
    answers,
    deny,
    held,
    must_verify,
    partial,
    refuses,
    set_up,
    settle,
    status_of,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.costs.charges import WindowKey
    from accountant.ledger.door import Writing
    from accountant.log.entries import Ended
    from tests.support.ledgers import Clock


def test_a_decision_is_stored_once(ledger: Ledger) -> None:
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


def test_the_last_decision_dates_what_a_copy_lacks(ledger: Ledger, clock: Clock) -> None:
    """Whatever else moves the clock's mark, as a start that was refused does."""
    set_up(ledger, EVENT, 5, [A, B])
    assert ledger.upkeep.last_decided_ms() is None
    admit(ledger, 30, A, B)
    settle(ledger, A, 0)
    decided_ms = clock.now_ms
    clock.now_ms += 60_000
    ledger.pins.register_budget(terms(EVENT, 5))
    assert ledger.upkeep.last_decided_ms() == decided_ms
    deny(ledger, B, 0)
    assert ledger.upkeep.last_decided_ms() == clock.now_ms


def test_a_mark_that_a_wrong_clock_took_along_is_put_back(ledger: Ledger, clock: Clock) -> None:
    """Nothing is drawn again; that it was done stays on record."""
    set_up(ledger, EVENT, 5, [A])
    admit(ledger, 30, A)
    right_ms = clock.now_ms
    clock.now_ms += 86_400_000
    first = settle(ledger, A, 0)
    clock.now_ms = right_ms
    with pytest.raises(ClockError, match="before the last time"):
        settle(ledger, A, 1)
    assert ledger.upkeep.reset_clock() == (right_ms + 86_400_000, right_ms)
    assert settle(ledger, A, 0) == first
    assert settle(ledger, A, 1).sequence == 2
    assert ledger.journal.entries()["clock_set"].times == 1
    must_verify(ledger)


def test_settling_is_refused_out_of_turn_or_beyond_the_reservation(ledger: Ledger) -> None:
    """Order, fingerprint and reserved cost are checked before anything is written."""
    set_up(ledger, EVENT, 5, [B])
    assert refuses(ledger, B, 0), "nothing is reserved yet"
    admit(ledger, 30, B)
    assert refuses(ledger, B, 1), "window 0 comes first"
    with pytest.raises(LedgerError, match="more than was reserved"):
        settle(ledger, B, 0, units=3)
    with pytest.raises(LedgerError, match="more than was reserved"):
        settle(ledger, B, 0, cells=(0, 0, 3, 0))
    with pytest.raises(LedgerError, match="more than was reserved"):
        settle(ledger, B, 0, cells=(1, 1, 1))  # of another number of cells
    with pytest.raises(ConfigChangedError):
        settle(ledger, Series("b", units=2, fingerprint="f2"), 0)
    assert ledger.reports.status().queries["b"].sequence == 0
    assert settle(ledger, B, 0, units=1).epsilon_units == 2, "the worst case is what is public"
    assert held(ledger) == 2  # window 1 is still reserved at worst
    must_verify(ledger)


def test_a_cheaper_settlement_refunds_at_once(ledger: Ledger) -> None:
    """What is left over of a reservation can be had by the windows that come after it."""
    b = Series("b", units=2, cells_per_unit=2, period=10**9)
    set_up(ledger, USER, 8, [b])
    admit(ledger, 50, b)
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    assert answers(ledger, b, 5) == [yes, yes, wait, wait, wait]
    settle(ledger, b, 0, units=0)
    assert answers(ledger, b, 5) == [yes, yes, yes, wait, wait]
    settle(ledger, b, 1, cells=(0, 1, 1, 0))  # someone in two cells lost 2
    assert answers(ledger, b, 5) == [yes, yes, yes, wait, wait]
    assert status_of(ledger).periods == {0: 6}
    settle(ledger, b, 2, cells=(2, 0, 0, 0))
    assert answers(ledger, b, 5) == [yes, yes, yes, yes, wait]
    settle(ledger, b, 3)
    assert answers(ledger, b, 5) == [yes, yes, yes, yes, no]
    assert status_of(ledger).periods == {0: 8}
    must_verify(ledger)


def test_a_denied_window_is_not_charged(ledger: Ledger) -> None:
    """A denial gives the reservation back, and a window denied early is not reserved later."""
    a = Series("a", period=10**9)
    set_up(ledger, USER, 2, [a])
    admit(ledger, 20, a)
    deny(ledger, a, 0)
    deny(ledger, a, 1)
    assert held(ledger) == 0
    deny(ledger, a, 2)
    admit(ledger, 50, a)
    expected = [*[Answer.RESERVED] * 2, Answer.MISSED, *[Answer.RESERVED] * 2]
    assert answers(ledger, a, 5) == expected
    assert held(ledger) == 2
    must_verify(ledger)


def test_the_outbox_keeps_order_and_time(ledger: Ledger) -> None:
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
    assert ledger.decision(A.key(0)).published  # type: ignore[union-attr]  # it was settled above


def numbers(ledger: Ledger, order: Sequence[Series]) -> dict[WindowKey, int]:
    """Settle the next window of each series in turn; return every window's number."""
    turn: Counter[str] = Counter()
    found = {}
    for series in order:
        decision = settle(ledger, series, turn[series.query])
        found[decision.key] = decision.sequence
        turn[series.query] += 1
    return found


def numbers_tell_no_order(make: Opens) -> None:
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


def test_numbers_do_not_tell_which_query_was_stored_first(
    fresh: Opens,
) -> None:
    """What is published of two queries is the same in whatever order their windows were stored."""
    numbers_tell_no_order(fresh)


def test_numbers_over_the_whole_ledger_are_caught(
    fresh: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twin: one series of numbers for all queries tells the order of storage."""
    own = Ledger._end

    def end(self: Ledger, writing: Writing, ended: Ended) -> StoredDecision:
        last = max(one.sequence for one in writing.state.queries.values())
        return own(self, writing, structs.replace(ended, sequence=last + 1))

    monkeypatch.setattr(Ledger, "_end", end)
    monkeypatch.setattr(verify, "problems", lambda *_: [])
    with pytest.raises(AssertionError):
        numbers_tell_no_order(fresh)


def test_one_at_a_time(opened: Opens) -> None:
    """Only one holder of a name, others are told so at once; other names are free."""
    first, second = opened(), opened()
    with first.exclusive("publish:a") as mine, second.exclusive("publish:a") as theirs:
        assert (mine, theirs) == (True, False)
        with second.exclusive("publish:b") as other:
            assert other
    with second.exclusive("publish:a") as now:
        assert now


def test_a_clock_that_goes_back_stops_the_ledger(ledger: Ledger, clock: Clock) -> None:
    """Within the allowance it may step back, beyond it nothing is written."""
    set_up(ledger, EVENT, 5, [A])
    admit(ledger, 30, A)
    clock.now_ms += 10_000
    settle(ledger, A, 0)
    clock.now_ms -= 5_000
    settle(ledger, A, 1)
    clock.now_ms -= 1
    with pytest.raises(ClockError, match="5001 ms"):
        settle(ledger, A, 2)
    with pytest.raises(ClockError):
        ledger.counts.put_partial(partial(A, 3))
    assert ledger.decision(A.key(2)) is None
    assert ledger.cursor("a") == 20
    assert not ledger.counts.partials(A.key(3))
    clock.now_ms += 1
    assert settle(ledger, A, 2).sequence == 3


def test_losses_fit_into_64_bits(ledger: Ledger) -> None:
    """A loss that the database couldn't add up is refused before it is stored."""
    monster = Series("monster", units=2**62)
    set_up(ledger, EVENT, 5, [monster])
    with pytest.raises(LedgerError, match="does not fit"):
        admit(ledger, 10, monster)
    with pytest.raises(LedgerError, match="does not fit"):
        ledger.pins.register_budget(terms(EVENT, 2**62, "t"))
