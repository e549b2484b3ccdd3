"""What windows are answered, and when: the wall under both privacy units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accountant.costs.charges import WindowKey
from accountant.errors import ConfigChangedError, LedgerError
from accountant.records import Answer
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from tests.support.ledgers import (
    EVENT,
    HOP,
    USER,
    A,
    B,
    Series,
    admit,
    answers,
    deny,
    each_unit,
    held,
    must_verify,
    refuses,
    requests,
    set_up,
    settle,
    status_of,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from accountant.units import PrivacyUnit


def test_a_ledger_that_went_back_says_so(ledger: Ledger) -> None:
    """A window that a worker has asked for and the ledger lacks: the cause, and what to do."""
    set_up(ledger, EVENT, 1, [A])
    admit(ledger, 50, A)
    lost = A.key(1000)
    with pytest.raises(LedgerError, match="after a fail-over to a copy") as caught:
        ledger.answer(lost)
    assert "start the worker again" in caught.value.hint


def test_tumbling_windows_go_on_for_ever_under_unit_event(ledger: Ledger) -> None:
    """Disjoint windows compose in parallel."""
    set_up(ledger, EVENT, 1, [A])
    admit(ledger, 500, A)
    assert set(answers(ledger, A, 50)) == {Answer.RESERVED}
    for index in range(20):
        settle(ledger, A, index)
    assert held(ledger) == 1


def test_overlapping_windows_add_up_under_unit_event(ledger: Ledger) -> None:
    """A hopping window and a tumbling one are refused where together they pass the wall.

    ::

        hop (2 units)  [----0----]        [----2----]
                            [----1----]
        a   (1 unit)   [-0--][-1--][-2--][-3--]        wall: 4 units
    """
    set_up(ledger, EVENT, 4, [A, HOP])
    admit(ledger, 60, A, HOP)
    # In the order of window ends, `a` comes first: hop 0 fits on top of a0 and a1; hop 1 meets
    # a1 (1) + hop 0 (2) at [10, 20) and waits for them, hop 2 for hop 1, hop 3 for both.
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    assert answers(ledger, HOP, 4) == [yes, wait, wait, wait]
    for index in range(2):
        settle(ledger, A, index)
    assert answers(ledger, HOP, 4) == [yes, wait, wait, wait]
    settle(ledger, HOP, 0)
    # hop 1 is refused; so hop 2 fits again, and hop 3 waits for it.
    assert answers(ledger, HOP, 4) == [yes, no, yes, wait]
    deny(ledger, HOP, 1, "budget")
    for index in range(2, 4):
        settle(ledger, A, index)
    settle(ledger, HOP, 2)
    assert answers(ledger, HOP, 4) == [yes, no, yes, no]
    assert set(answers(ledger, A, 6)) == {yes}
    must_verify(ledger)


def test_an_answer_comes_as_soon_as_nothing_can_change_it(ledger: Ledger) -> None:
    """Windows that fit in any case, or in none, do not wait for earlier ones."""
    b, c = Series("b", units=3, period=10**9), Series("c", units=1, period=10**9)
    d = Series("d", units=6, period=10**9)
    set_up(ledger, USER, 5, [b, c, d])
    admit(ledger, 20, b, c, d)
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    # Order: b0 (3), c0 (1), d0 (6), b1 (3), c1 (1). b1 waits, and c1 fits unless b1 is granted.
    assert [ledger.answer(one.key(0)) for one in (b, c, d)] == [yes, yes, no]
    assert [ledger.answer(one.key(1)) for one in (b, c, d)] == [wait, wait, no]
    assert refuses(ledger, c, 1), "nothing is reserved for it yet"
    settle(ledger, b, 0, units=2)
    assert [ledger.answer(one.key(1)) for one in (b, c)] == [wait, wait]
    settle(ledger, c, 0, units=1)
    assert [ledger.answer(one.key(1)) for one in (b, c)] == [no, yes]
    assert status_of(ledger).pending == 0
    must_verify(ledger)


def test_later_windows_never_speak_against_earlier_ones(ledger: Ledger) -> None:
    """What a later window was granted is not counted when an earlier one gets its answer."""
    long = Series("long", size=20, step=20, units=3, period=10**9)
    small = Series("small", units=1, period=10**9)
    set_up(ledger, USER, 5, [long, small])
    admit(ledger, 40, long, small)
    yes, wait = Answer.RESERVED, Answer.PENDING
    # Order: small0, long0, small1, small2, long1, small3: with 5 units, small2 and all that follow
    # wait, and none of them is counted while one before it is answered.
    assert answers(ledger, small, 4) == [yes, yes, wait, wait]
    assert answers(ledger, long, 2) == [yes, wait]
    settle(ledger, small, 0, units=0)
    assert answers(ledger, small, 4) == [yes, yes, yes, wait]
    settle(ledger, long, 0, units=0)
    assert answers(ledger, small, 4) == [yes, yes, yes, wait]
    assert answers(ledger, long, 2) == [yes, yes]
    settle(ledger, small, 1)
    settle(ledger, small, 2)
    settle(ledger, long, 1)
    assert answers(ledger, small, 4) == [yes, yes, yes, Answer.REFUSED]
    must_verify(ledger)


def test_cells_that_cost_little_leave_room_where_they_are(ledger: Ledger) -> None:
    """Under unit event a refund counts cell by cell where two queries have the same cells."""
    by_room = Shape(grouping="room")
    one, two = (Series(name, units=2, shape=by_room) for name in ("one", "two"))
    set_up(ledger, EVENT, 3, [one, two])
    admit(ledger, 30, one, two)
    assert answers(ledger, two, 3) == [Answer.PENDING] * 3
    settle(ledger, one, 0, cells=(2, 0, 0, 1))
    settle(ledger, one, 1, cells=(1, 1, 0, 1))
    assert answers(ledger, two, 2) == [Answer.REFUSED, Answer.RESERVED]
    deny(ledger, two, 0, "budget")
    decision = settle(ledger, two, 1, cells=(0, 2, 2, 0))
    assert decision.epsilon_units == 2, "what is published is the worst case"
    # Cell 1 lost 1 + 2; the largest cells of both add up to no more.
    assert held(ledger) == 3
    must_verify(ledger)


def test_queries_over_other_rows_do_not_add_up(ledger: Ledger) -> None:
    """Disjoint regions compose in parallel; one that overlaps both meets the worse of them."""
    north, south = (
        Series(name, units=2, shape=Shape(Region.where(city=name).canonical))
        for name in ("north", "south")
    )
    both = Series("zz", units=1)
    set_up(ledger, EVENT, 3, [north, south, both])
    admit(ledger, 10, north, south, both)
    assert [ledger.answer(one.key(0)) for one in (north, south, both)] == [Answer.RESERVED] * 3
    assert held(ledger) == 3
    for one in (north, south, both):
        settle(ledger, one, 0)
    assert held(ledger) == 3
    must_verify(ledger)


def test_an_event_is_never_forgiven(ledger: Ledger) -> None:
    """A long window keeps counting against short ones inside it, however much later they come."""
    long = Series("long", size=100, step=1000, units=3)
    set_up(ledger, EVENT, 3, [A, long])
    admit(ledger, 90, A, long)
    for index in range(9):
        settle(ledger, A, index)
    admit(ledger, 100, A, long)
    assert ledger.answer(long.key(0)) is Answer.REFUSED
    must_verify(ledger)


def test_periods_add_up_under_unit_user(ledger: Ledger) -> None:
    """Cells of all queries add up within a period, and a new period starts afresh."""
    a = Series("a", units=2, cells_per_unit=2, period=30)
    b = Series("b", units=1, period=30)
    set_up(ledger, USER, 10, [a, b])
    admit(ledger, 60, a, b)
    # Per period: a0 (4), b0 (1), a1 (4), b1 (1); then nothing fits until the next period, unless
    # one of these ends for less.
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    assert answers(ledger, a, 6) == [yes, yes, wait, yes, yes, wait]
    assert answers(ledger, b, 6) == [yes, yes, wait, yes, yes, wait]
    assert status_of(ledger).periods == {0: 10, 30: 10}
    for one in (a, b):
        for index in range(2):
            settle(ledger, one, index)
    assert answers(ledger, a, 6) == [yes, yes, no, yes, yes, wait]
    assert answers(ledger, b, 6) == [yes, yes, no, yes, yes, wait]
    assert status_of(ledger).periods == {0: 10, 30: 10}


def test_a_window_across_periods_is_charged_to_both(ledger: Ledger) -> None:
    """A window that touches two periods needs room in each."""
    wide = Series("wide", size=20, step=20, units=2, period=30)
    set_up(ledger, USER, 4, [wide])
    admit(ledger, 100, wide)
    yes, no = Answer.RESERVED, Answer.REFUSED
    # [0,20) in 0; [20,40) in 0 and 30; [40,60) in 30; [60,80) in 60; [80,100) in 60 and 90.
    assert answers(ledger, wide, 5) == [yes, yes, yes, yes, yes]
    assert status_of(ledger).periods == {0: 4, 30: 4, 60: 4, 90: 2}
    assert no not in answers(ledger, wide, 5)


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


def test_windows_too_old_reserve_nothing(ledger: Ledger) -> None:
    """A window that is not to be decided takes no room."""
    set_up(ledger, EVENT, 1, [A])
    ledger.admit("s", requests([A], 20, too_old=True))
    assert answers(ledger, A, 2) == [Answer.TOO_OLD] * 2
    assert refuses(ledger, A, 0)
    assert deny(ledger, A, 0, "too_old").reason == "too_old"
    assert held(ledger) == 0


def test_a_window_denied_while_it_waits_misses_its_answer(ledger: Ledger) -> None:
    """Nobody waits for a window that is over, and what waits behind it moves up."""
    a, b = Series("a", period=10**9), Series("b", period=10**9)
    set_up(ledger, USER, 1, [a, b])
    admit(ledger, 20, a, b)
    yes, wait, missed = Answer.RESERVED, Answer.PENDING, Answer.MISSED
    assert (answers(ledger, a, 2), answers(ledger, b, 2)) == ([yes, wait], [wait, wait])
    deny(ledger, b, 0)
    assert (answers(ledger, a, 2), answers(ledger, b, 2)) == ([yes, wait], [missed, wait])
    deny(ledger, a, 0)
    assert (answers(ledger, a, 2), answers(ledger, b, 2)) == ([yes, yes], [missed, wait])
    settle(ledger, a, 1, units=0)
    assert ledger.answer(b.key(1)) is yes
    must_verify(ledger)


@each_unit
def test_what_ends_many_windows_answers_once(ledger: Ledger, unit: PrivacyUnit) -> None:
    """Retiring a query gives all of it back before anyone else is answered."""
    period = 10**9 if unit is USER else 0
    gone, stays = (Series(name, 40, 10, 2, period=period) for name in ("gone", "stays"))
    set_up(ledger, unit, 3, [gone, stays])
    admit(ledger, 70, gone, stays)
    assert answers(ledger, gone, 4) == [Answer.RESERVED, *[Answer.PENDING] * 3]
    assert answers(ledger, stays, 4) == [Answer.PENDING] * 4
    ledger.pins.retire_query("gone")
    assert answers(ledger, gone, 4) == [Answer.MISSED] * 4
    assert answers(ledger, stays, 4) == [Answer.RESERVED, *[Answer.PENDING] * 3]
    assert status_of(ledger).reservations == 1
    assert held(ledger) == 2
    must_verify(ledger)


def test_a_budget_is_served_only_for_who_knows_all_of_it(ledger: Ledger) -> None:
    """Whoever lacks an alarm would make its windows missed, and is refused until it is retired."""
    a, b = Series("a"), Series("b")
    set_up(ledger, EVENT, 4, [a, b])
    with pytest.raises(LedgerError, match="'b'"):
        ledger.admit("s", requests([a], 20), alarms={"a"})
    assert ledger.frontier("s") is None
    ledger.admit("s", requests([a, b], 20), alarms={"a", "b"})
    ledger.pins.retire_query("b")
    ledger.admit("s", requests([a], 40), alarms={"a"})
    assert ledger.answer(a.key(3)) is Answer.RESERVED
