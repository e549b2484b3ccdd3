"""What every ledger keeps, whichever database it lies in."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from accountant.audit import verify
from accountant.costs.charges import WindowKey
from accountant.errors import (
    ClockError,
    ConfigChangedError,
    LedgerCorruptError,
    LedgerError,
    LogChangedError,
)
from accountant.records import (
    Answer,
    LogIdentity,
    Outcome,
    PartialStatus,
    QueryRegistration,
)
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from accountant.store.decisions import Sequences
from accountant.units import PrivacyUnit
from tests.support.ledgers import (
    TOPIC_ID,
    Series,
    deny,
    partial,
    refuses,
    registration,
    requests,
    set_up,
    settle,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accountant.ledger.ledger import Ledger
    from tests.support.ledgers import Clock

A = Series("a")
B = Series("b", units=2)
HOP = Series("hop", size=20, step=10, units=2)


def admissions(ledger: Ledger, series: Series, count: int) -> list[Answer]:
    """Return what the filter said to the first windows."""
    return [ledger.answer(series.key(index)) for index in range(count)]


def test_identity_stays(opened: Callable[[], Ledger]) -> None:
    """Id and hash key are made once and read ever after."""
    first, second = opened(), opened()
    assert (first.ledger_id, first.hash_key) == (second.ledger_id, second.hash_key)
    assert len(first.hash_key) == 32


def test_budget_never_changes(ledger: Ledger) -> None:
    """Another wall, unit or period is refused and named."""
    ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 5))
    ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 5))
    with pytest.raises(ConfigChangedError, match="epsilon_max"):
        ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 6))
    with pytest.raises(ConfigChangedError, match="unit 'event' -> 'user'"):
        ledger.pins.register_budget(terms(PrivacyUnit.USER, 5))


def test_log_never_changes(ledger: Ledger) -> None:
    """A topic that was created anew, or grew a partition, is another log."""
    ledger.pins.register_log(LogIdentity("feed", "c", "t1", "topic", 2))
    ledger.pins.register_log(LogIdentity("feed", "c", "t1", "topic", 2))
    with pytest.raises(LogChangedError, match="topic_id 't1' -> 't2'"):
        ledger.pins.register_log(LogIdentity("feed", "c", "t2", "topic", 2))
    with pytest.raises(LogChangedError, match="partitions 2 -> 3"):
        ledger.pins.register_log(LogIdentity("feed", "c", "t1", "topic", 3))


def test_a_topic_has_one_budget(ledger: Ledger) -> None:
    """Another name for the feed is no fresh budget for the same events."""
    for feed, topic_id, topic in (
        ("one", "t1", "events"),
        ("renamed", "t1", "moved"),
        ("anew", "t2", "events"),
        ("other", "t3", "others"),
    ):
        ledger.pins.register_log(LogIdentity(feed, "c", topic_id, topic, 2))
        ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 5, f"feed:{feed}"))
    given = QueryRegistration("q-one", "feed:one", "one", "f1", "{}", 0)
    assert ledger.pins.register_query(given) == 0
    for feed in ("renamed", "anew"):
        second = replace(given, query=f"q-{feed}", scope=f"feed:{feed}", feed=feed)
        with pytest.raises(ConfigChangedError, match="as feed 'one': an event has one budget"):
            ledger.pins.register_query(second)
        shared = replace(second, scope="feed:one")  # as under unit user: one budget for all feeds
        assert ledger.pins.register_query(shared) == 0
    ledger.pins.register_query(replace(given, query="q-other", scope="feed:other", feed="other"))
    assert sorted(ledger.reports.status().queries) == ["q-anew", "q-one", "q-other", "q-renamed"]


def test_events_keep_the_field_that_dates_them(ledger: Ledger) -> None:
    """By two fields one event would lie in two windows that are taken to share none."""
    ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 5))
    dated = {name: json.dumps({"feed": {"time": name}}) for name in ("ts", "seen")}
    given = QueryRegistration("q", "s", "feed", "f1", dated["ts"], 0)
    ledger.pins.register_query(given)
    ledger.pins.register_query(
        replace(given, query="elsewhere", feed="doors", definition=dated["seen"])
    )
    with pytest.raises(ConfigChangedError, match="charged as two"):
        ledger.pins.register_query(replace(given, query="new", definition=dated["seen"]))
    with pytest.raises(ConfigChangedError, match="charged as two"):
        ledger.pins.accept_change(replace(given, fingerprint="f2", definition=dated["seen"]), 20)
    ledger.pins.accept_change(replace(given, fingerprint="f2"), 20)
    assert ledger.pins.register_query(replace(given, fingerprint="f2")) == 0


def test_rows_of_a_query_are_what_was_registered(ledger: Ledger) -> None:
    """A region that was changed behind the ledger's back, or that two versions see otherwise."""
    here = replace(A, shape=Shape(Region.where(x=1).canonical))
    set_up(ledger, PrivacyUnit.EVENT, 5, [here])
    with pytest.raises(LedgerCorruptError, match="other rows"):
        ledger.pins.register_query(registration(A))
    assert ledger.pins.register_query(registration(here)) == 0


def test_query_change_is_named(ledger: Ledger) -> None:
    """A changed definition is refused with the path that differs and the command that helps."""
    ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 5))
    old = QueryRegistration("q", "s", "feed", "f1", json.dumps({"having": {"c": 120}}), 40)
    assert ledger.pins.register_query(old) == 40
    new = QueryRegistration("q", "s", "feed", "f2", json.dumps({"having": {"c": 130}}), 90)
    with pytest.raises(ConfigChangedError, match=r"having\.c \(120 -> 130\)") as caught:
        ledger.pins.register_query(new)
    assert "tocsin ledger" in caught.value.hint
    assert ledger.pins.register_query(old) == 40


def test_accepted_change_takes_effect_at_a_boundary(ledger: Ledger) -> None:
    """Before the boundary windows can only be denied, from there the new configuration decides."""
    set_up(ledger, PrivacyUnit.EVENT, 5, [A])
    ledger.counts.put_partial(partial(A, 0))
    new = Series("a", fingerprint="f2")
    ledger.pins.accept_change(registration(new), 20)
    ledger.pins.accept_change(registration(new), 20)
    assert ledger.pins.register_query(registration(new)) == 0
    with pytest.raises(ConfigChangedError):
        ledger.counts.put_partial(partial(A, 2))
    assert ledger.counts.put_partial(partial(new, 1)) is PartialStatus.DECIDED
    assert ledger.counts.put_partial(partial(new, 2)) is PartialStatus.STORED
    ledger.admit("s", requests([new], 40))
    assert refuses(ledger, new, 0)
    for index in (0, 1):
        assert deny(ledger, new, index, "reconfigured").outcome is Outcome.DENIED
    assert settle(ledger, new, 2).fingerprint == "f2"
    assert ledger.reports.verify() == []


def test_reservation_of_the_old_configuration_is_missed(ledger: Ledger) -> None:
    """A window reserved under the old fingerprint cannot be decided under the new one."""
    set_up(ledger, PrivacyUnit.EVENT, 5, [A])
    ledger.admit("s", requests([A], 20))
    new = Series("a", fingerprint="f2", units=3)
    ledger.pins.accept_change(registration(new), 0)
    assert ledger.answer(A.key(0)) is Answer.MISSED
    assert refuses(ledger, new, 0)
    deny(ledger, new, 0, "reconfigured")
    assert ledger.reports.verify() == []


def test_accepted_change_gives_old_reservations_back(ledger: Ledger) -> None:
    """Windows that the new calendar doesn't have hold no loss, before the boundary or behind it."""
    old = Series("a", size=20, step=10)
    new = Series("a", size=30, step=30, fingerprint="f2")
    set_up(ledger, PrivacyUnit.EVENT, 2, [old])
    ledger.admit("s", requests([old], 60))
    ledger.pins.accept_change(registration(new), 30)
    assert ledger.reports.status().scopes["s"].reservations == 0
    for index, reason in enumerate(("reconfigured", "not_admitted")):
        deny(ledger, new, index, reason)
    ledger.admit("s", requests([new], 90))
    assert settle(ledger, new, 2).outcome is Outcome.DECIDED
    assert ledger.reports.verify() == []


def test_retired_query_gives_its_reservations_back(ledger: Ledger) -> None:
    """What a retired query had settled stays, what it had only reserved is free again."""
    set_up(ledger, PrivacyUnit.EVENT, 1, [A, Series("z")])
    ledger.admit("s", requests([A], 20))
    settle(ledger, A, 0)
    ledger.pins.retire_query("a")
    ledger.pins.retire_query("a")
    assert ledger.reports.status().scopes["s"].reservations == 0
    with pytest.raises(ConfigChangedError, match="retired"):
        ledger.pins.register_query(registration(A))
    with pytest.raises(ConfigChangedError, match="retired"):
        settle(ledger, A, 1)
    assert ledger.reports.verify() == []


def test_partials_come_back_as_they_were(ledger: Ledger) -> None:
    """Vectors survive the database bit by bit, in order of partitions."""
    set_up(ledger, PrivacyUnit.EVENT, 5, [A])
    big = partial(A, 0, partition=1, values=(2**62, -(2**62), 0))
    small = partial(A, 0)
    assert [ledger.counts.put_partial(one) for one in (big, small)] == [PartialStatus.STORED] * 2
    assert [one.digest for one in ledger.counts.partials(A.key(0))] == [small.digest, big.digest]
    assert ledger.counts.partials(A.key(0))[1].value.tolist() == [2**62, -(2**62), 0]


def test_recount_of_a_cut_slice_contradicts_nothing(ledger: Ledger) -> None:
    """What retention cut short since is no news; a complete recount that differs is."""
    set_up(ledger, PrivacyUnit.EVENT, 5, [A])
    whole = partial(A, 0, values=(3, 1, 0))
    assert ledger.counts.put_partial(whole) is PartialStatus.STORED
    cut = replace(partial(A, 0, values=(1, 1, 0)), complete=False)
    assert ledger.counts.put_partial(cut) is PartialStatus.DUPLICATE
    assert not ledger.counts.conflicted(A.key(0))
    assert [one.digest for one in ledger.counts.partials(A.key(0))] == [whole.digest]
    assert ledger.counts.put_partial(partial(A, 0, values=(2, 1, 0))) is PartialStatus.CONFLICT
    assert ledger.counts.conflicted(A.key(0))


def test_a_contradicting_partial_is_never_forgotten(opened: Callable[[], Ledger]) -> None:
    """Two counts of one slice deny the window, also after a restart and a third report."""
    ledger = opened()
    set_up(ledger, PrivacyUnit.EVENT, 5, [A])
    ledger.admit("s", requests([A], 20))
    assert ledger.counts.put_partial(partial(A, 0)) is PartialStatus.STORED
    assert ledger.counts.put_partial(partial(A, 0)) is PartialStatus.DUPLICATE
    assert ledger.counts.put_partial(partial(A, 0, values=(4,))) is PartialStatus.CONFLICT
    again = opened()
    assert again.counts.conflicted(A.key(0))
    assert again.counts.put_partial(partial(A, 0)) is PartialStatus.CONFLICT
    assert refuses(again, A, 0)
    deny(again, A, 0, "conflict")
    assert again.counts.put_partial(partial(A, 0)) is PartialStatus.DECIDED
    assert not again.counts.partials(A.key(0))


def test_a_partial_of_another_log_or_configuration_is_refused(ledger: Ledger) -> None:
    """Nothing counted elsewhere gets in."""
    set_up(ledger, PrivacyUnit.EVENT, 5, [A])
    with pytest.raises(ConfigChangedError):
        ledger.counts.put_partial(partial(Series("a", fingerprint="other"), 0))
    ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 5, "t"))
    ledger.pins.register_query(QueryRegistration("n", "t", "elsewhere", "f1", "{}", 0))
    with pytest.raises(LogChangedError):
        ledger.counts.put_partial(partial(Series("n"), 0))
    assert TOPIC_ID not in str(ledger.reports.verify())


def test_tumbling_windows_go_on_for_ever_under_unit_event(ledger: Ledger) -> None:
    """Disjoint windows compose in parallel."""
    set_up(ledger, PrivacyUnit.EVENT, 1, [A])
    ledger.admit("s", requests([A], 500))
    assert set(admissions(ledger, A, 50)) == {Answer.RESERVED}
    for index in range(20):
        settle(ledger, A, index)
    assert ledger.reports.status().scopes["s"].spent_units == 1


def test_overlapping_windows_add_up_under_unit_event(ledger: Ledger) -> None:
    """A hopping window and a tumbling one are refused where together they pass the wall.

    ::

        hop (2 units)  [----0----]        [----2----]
                            [----1----]
        a   (1 unit)   [-0--][-1--][-2--][-3--]        wall: 4 units
    """
    set_up(ledger, PrivacyUnit.EVENT, 4, [A, HOP])
    ledger.admit("s", requests([A, HOP], 60))
    # In the order of window ends, `a` comes first: hop 0 fits on top of a0 and a1; hop 1 meets
    # a1 (1) + hop 0 (2) at [10, 20) and waits for them, hop 2 for hop 1, hop 3 for both.
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    assert admissions(ledger, HOP, 4) == [yes, wait, wait, wait]
    for index in range(2):
        settle(ledger, A, index)
    assert admissions(ledger, HOP, 4) == [yes, wait, wait, wait]
    settle(ledger, HOP, 0)
    # hop 1 is refused; so hop 2 fits again, and hop 3 waits for it.
    assert admissions(ledger, HOP, 4) == [yes, no, yes, wait]
    deny(ledger, HOP, 1, "budget")
    for index in range(2, 4):
        settle(ledger, A, index)
    settle(ledger, HOP, 2)
    assert admissions(ledger, HOP, 4) == [yes, no, yes, no]
    assert set(admissions(ledger, A, 6)) == {yes}
    assert ledger.reports.verify() == []


def test_an_answer_comes_as_soon_as_nothing_can_change_it(ledger: Ledger) -> None:
    """Windows that fit in any case, or in none, do not wait for earlier ones."""
    b, c = Series("b", units=3, period=10**9), Series("c", units=1, period=10**9)
    d = Series("d", units=6, period=10**9)
    set_up(ledger, PrivacyUnit.USER, 5, [b, c, d])
    ledger.admit("s", requests([b, c, d], 20))
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    # Order: b0 (3), c0 (1), d0 (6), b1 (3), c1 (1). b1 waits, and c1 fits unless b1 is granted.
    assert [ledger.answer(one.key(0)) for one in (b, c, d)] == [yes, yes, no]
    assert [ledger.answer(one.key(1)) for one in (b, c, d)] == [wait, wait, no]
    assert refuses(ledger, c, 1), "nothing is reserved for it yet"
    settle(ledger, b, 0, units=2)
    assert [ledger.answer(one.key(1)) for one in (b, c)] == [wait, wait]
    settle(ledger, c, 0, units=1)
    assert [ledger.answer(one.key(1)) for one in (b, c)] == [no, yes]
    assert ledger.reports.status().scopes["s"].pending == 0
    assert ledger.reports.verify() == []


def test_later_windows_never_speak_against_earlier_ones(ledger: Ledger) -> None:
    """What a later window was granted is not counted when an earlier one gets its answer."""
    long = Series("long", size=20, step=20, units=3, period=10**9)
    small = Series("small", units=1, period=10**9)
    set_up(ledger, PrivacyUnit.USER, 5, [long, small])
    ledger.admit("s", requests([long, small], 40))
    yes, wait = Answer.RESERVED, Answer.PENDING
    # Order: small0, long0, small1, small2, long1, small3: with 5 units, small2 and all that follow
    # wait, and none of them is counted while one before it is answered.
    assert admissions(ledger, small, 4) == [yes, yes, wait, wait]
    assert admissions(ledger, long, 2) == [yes, wait]
    settle(ledger, small, 0, units=0)
    assert admissions(ledger, small, 4) == [yes, yes, yes, wait]
    settle(ledger, long, 0, units=0)
    assert admissions(ledger, small, 4) == [yes, yes, yes, wait]
    assert admissions(ledger, long, 2) == [yes, yes]
    settle(ledger, small, 1)
    settle(ledger, small, 2)
    settle(ledger, long, 1)
    assert admissions(ledger, small, 4) == [yes, yes, yes, Answer.REFUSED]
    assert ledger.reports.verify() == []


def test_cells_that_cost_little_leave_room_where_they_are(ledger: Ledger) -> None:
    """Under unit event a refund counts cell by cell where two queries have the same cells."""
    by_room = Shape(grouping="room")
    one, two = (Series(name, units=2, shape=by_room) for name in ("one", "two"))
    set_up(ledger, PrivacyUnit.EVENT, 3, [one, two])
    ledger.admit("s", requests([one, two], 30))
    assert admissions(ledger, two, 3) == [Answer.PENDING] * 3
    settle(ledger, one, 0, cells=(2, 0, 0, 1))
    settle(ledger, one, 1, cells=(1, 1, 0, 1))
    assert admissions(ledger, two, 2) == [Answer.REFUSED, Answer.RESERVED]
    deny(ledger, two, 0, "budget")
    decision = settle(ledger, two, 1, cells=(0, 2, 2, 0))
    assert decision.epsilon_units == 2, "what is published is the worst case"
    # Cell 1 lost 1 + 2; the largest cells of both add up to no more.
    assert ledger.reports.status().scopes["s"].spent_units == 3
    assert ledger.reports.verify() == []


def test_queries_over_other_rows_do_not_add_up(ledger: Ledger) -> None:
    """Disjoint regions compose in parallel; one that overlaps both meets the worse of them."""
    north, south = (
        Series(name, units=2, shape=Shape(Region.where(city=name).canonical))
        for name in ("north", "south")
    )
    both = Series("zz", units=1)
    set_up(ledger, PrivacyUnit.EVENT, 3, [north, south, both])
    ledger.admit("s", requests([north, south, both], 10))
    assert [ledger.answer(one.key(0)) for one in (north, south, both)] == [Answer.RESERVED] * 3
    assert ledger.reports.status().scopes["s"].spent_units == 3
    for one in (north, south, both):
        settle(ledger, one, 0)
    assert ledger.reports.status().scopes["s"].spent_units == 3
    assert ledger.reports.verify() == []


def test_an_event_is_never_forgiven(ledger: Ledger) -> None:
    """A long window keeps counting against short ones inside it, however much later they come."""
    long = Series("long", size=100, step=1000, units=3)
    set_up(ledger, PrivacyUnit.EVENT, 3, [A, long])
    ledger.admit("s", requests([A, long], 90))
    for index in range(9):
        settle(ledger, A, index)
    ledger.admit("s", requests([A, long], 100))
    assert ledger.answer(long.key(0)) is Answer.REFUSED
    assert ledger.reports.verify() == []


def test_periods_add_up_under_unit_user(ledger: Ledger) -> None:
    """Cells of all queries add up within a period, and a new period starts afresh."""
    a = Series("a", units=2, cells_per_unit=2, period=30)
    b = Series("b", units=1, period=30)
    set_up(ledger, PrivacyUnit.USER, 10, [a, b])
    ledger.admit("s", requests([a, b], 60))
    # Per period: a0 (4), b0 (1), a1 (4), b1 (1); then nothing fits until the next period, unless
    # one of these ends for less.
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    assert admissions(ledger, a, 6) == [yes, yes, wait, yes, yes, wait]
    assert admissions(ledger, b, 6) == [yes, yes, wait, yes, yes, wait]
    assert ledger.reports.status().scopes["s"].periods == {0: 10, 30: 10}
    for one in (a, b):
        for index in range(2):
            settle(ledger, one, index)
    assert admissions(ledger, a, 6) == [yes, yes, no, yes, yes, wait]
    assert admissions(ledger, b, 6) == [yes, yes, no, yes, yes, wait]
    assert ledger.reports.status().scopes["s"].periods == {0: 10, 30: 10}


def test_a_window_across_periods_is_charged_to_both(ledger: Ledger) -> None:
    """A window that touches two periods needs room in each."""
    wide = Series("wide", size=20, step=20, units=2, period=30)
    set_up(ledger, PrivacyUnit.USER, 4, [wide])
    ledger.admit("s", requests([wide], 100))
    yes, no = Answer.RESERVED, Answer.REFUSED
    # [0,20) in 0; [20,40) in 0 and 30; [40,60) in 30; [60,80) in 60; [80,100) in 60 and 90.
    assert admissions(ledger, wide, 5) == [yes, yes, yes, yes, yes]
    assert ledger.reports.status().scopes["s"].periods == {0: 4, 30: 4, 60: 4, 90: 2}
    assert no not in admissions(ledger, wide, 5)


def test_admission_is_served_once_and_in_order(ledger: Ledger) -> None:
    """What was asked for stays answered, what was left out is missed, what is ahead is unknown."""
    set_up(ledger, PrivacyUnit.EVENT, 1, [A, B])
    ledger.admit("s", requests([A], 20))
    frontier = ledger.frontier("s")
    ledger.admit("s", requests([A, B], 20))
    assert ledger.answer(B.key(0)) is Answer.MISSED
    assert ledger.frontier("s") == WindowKey(end_ms=20, query="b", start_ms=10) != frontier
    ledger.admit("s", requests([A, B], 20, too_old=True))
    assert ledger.answer(A.key(0)) is Answer.RESERVED
    with pytest.raises(LedgerError, match="not asked for"):
        ledger.answer(A.key(2))
    with pytest.raises(ValueError, match="sorted"):
        ledger.admit("s", requests([A], 60)[::-1])
    with pytest.raises(ConfigChangedError):
        ledger.admit("s", requests([Series("a", fingerprint="f9")], 60))


def test_windows_too_old_reserve_nothing(ledger: Ledger) -> None:
    """A window that is not to be decided takes no room."""
    set_up(ledger, PrivacyUnit.EVENT, 1, [A])
    ledger.admit("s", requests([A], 20, too_old=True))
    assert admissions(ledger, A, 2) == [Answer.TOO_OLD] * 2
    assert refuses(ledger, A, 0)
    assert deny(ledger, A, 0, "too_old").reason == "too_old"
    assert ledger.reports.status().scopes["s"].spent_units == 0


def test_a_decision_is_stored_once(ledger: Ledger) -> None:
    """A second draw for a window is thrown away; the first one comes back."""
    set_up(ledger, PrivacyUnit.EVENT, 1, [A])
    ledger.admit("s", requests([A], 30))
    first = settle(ledger, A, 0, alarms=b"first")
    assert settle(ledger, A, 0, alarms=b"second") == first
    assert deny(ledger, A, 0) == first == ledger.decision(A.key(0))
    assert (first.sequence, first.epsilon_units, first.alarms) == (1, 1, b"first")
    assert ledger.cursor("a") == 10
    assert settle(ledger, A, 1).sequence == 2
    assert ledger.decision(A.key(2)) is None


def test_settling_is_refused_out_of_turn_or_beyond_the_reservation(ledger: Ledger) -> None:
    """Order, fingerprint and reserved cost are checked before anything is written."""
    set_up(ledger, PrivacyUnit.EVENT, 5, [B])
    assert refuses(ledger, B, 0), "nothing is reserved yet"
    ledger.admit("s", requests([B], 30))
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
    assert (
        ledger.reports.status().scopes["s"].spent_units == 2
    )  # window 1 is still reserved at worst
    assert ledger.reports.verify() == []


def test_a_cheaper_settlement_refunds_at_once(ledger: Ledger) -> None:
    """What is left over of a reservation can be had by the windows that come after it."""
    b = Series("b", units=2, cells_per_unit=2, period=10**9)
    set_up(ledger, PrivacyUnit.USER, 8, [b])
    ledger.admit("s", requests([b], 50))
    yes, no, wait = Answer.RESERVED, Answer.REFUSED, Answer.PENDING
    assert admissions(ledger, b, 5) == [yes, yes, wait, wait, wait]
    settle(ledger, b, 0, units=0)
    assert admissions(ledger, b, 5) == [yes, yes, yes, wait, wait]
    settle(ledger, b, 1, cells=(0, 1, 1, 0))  # someone in two cells lost 2
    assert admissions(ledger, b, 5) == [yes, yes, yes, wait, wait]
    assert ledger.reports.status().scopes["s"].periods == {0: 6}
    settle(ledger, b, 2, cells=(2, 0, 0, 0))
    assert admissions(ledger, b, 5) == [yes, yes, yes, yes, wait]
    settle(ledger, b, 3)
    assert admissions(ledger, b, 5) == [yes, yes, yes, yes, no]
    assert ledger.reports.status().scopes["s"].periods == {0: 8}
    assert ledger.reports.verify() == []


def test_a_window_denied_while_it_waits_misses_its_answer(ledger: Ledger) -> None:
    """Nobody waits for a window that is over, and what waits behind it moves up."""
    a, b = Series("a", period=10**9), Series("b", period=10**9)
    set_up(ledger, PrivacyUnit.USER, 1, [a, b])
    ledger.admit("s", requests([a, b], 20))
    yes, wait, missed = Answer.RESERVED, Answer.PENDING, Answer.MISSED
    assert (admissions(ledger, a, 2), admissions(ledger, b, 2)) == ([yes, wait], [wait, wait])
    deny(ledger, b, 0)
    assert (admissions(ledger, a, 2), admissions(ledger, b, 2)) == ([yes, wait], [missed, wait])
    deny(ledger, a, 0)
    assert (admissions(ledger, a, 2), admissions(ledger, b, 2)) == ([yes, yes], [missed, wait])
    settle(ledger, a, 1, units=0)
    assert ledger.answer(b.key(1)) is yes
    assert ledger.reports.verify() == []


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_what_ends_many_windows_answers_once(ledger: Ledger, unit: PrivacyUnit) -> None:
    """Retiring a query gives all of it back before anyone else is answered."""
    period = 10**9 if unit is PrivacyUnit.USER else 0
    gone, stays = (Series(name, 40, 10, 2, period=period) for name in ("gone", "stays"))
    set_up(ledger, unit, 3, [gone, stays])
    ledger.admit("s", requests([gone, stays], 70))
    assert admissions(ledger, gone, 4) == [Answer.RESERVED, *[Answer.PENDING] * 3]
    assert admissions(ledger, stays, 4) == [Answer.PENDING] * 4
    ledger.pins.retire_query("gone")
    assert admissions(ledger, gone, 4) == [Answer.MISSED] * 4
    assert admissions(ledger, stays, 4) == [Answer.RESERVED, *[Answer.PENDING] * 3]
    assert ledger.reports.status().scopes["s"].reservations == 1
    assert ledger.reports.status().scopes["s"].spent_units == 2
    assert ledger.reports.verify() == []


def test_a_denied_window_is_not_charged(ledger: Ledger) -> None:
    """A denial gives the reservation back, and a window denied early is not reserved later."""
    a = Series("a", period=10**9)
    set_up(ledger, PrivacyUnit.USER, 2, [a])
    ledger.admit("s", requests([a], 20))
    deny(ledger, a, 0)
    deny(ledger, a, 1)
    assert ledger.reports.status().scopes["s"].spent_units == 0
    deny(ledger, a, 2)
    ledger.admit("s", requests([a], 50))
    expected = [*[Answer.RESERVED] * 2, Answer.MISSED, *[Answer.RESERVED] * 2]
    assert admissions(ledger, a, 5) == expected
    assert ledger.reports.status().scopes["s"].spent_units == 2
    assert ledger.reports.verify() == []


def test_the_outbox_keeps_order_and_time(ledger: Ledger) -> None:
    """Decisions leave in sequence, none before its time, each until it is marked."""
    set_up(ledger, PrivacyUnit.EVENT, 1, [A])
    ledger.admit("s", requests([A], 50))
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


def numbers_tell_no_order(make: Callable[[], Ledger]) -> None:
    """Compare the numbers of fresh ledgers that settle the same windows in different orders."""
    found = []
    for order in ([A, A, B, B], [B, A, B, A], [B, B, A, A]):
        ledger = make()
        set_up(ledger, PrivacyUnit.EVENT, 9, [A, B])
        ledger.admit("s", requests([A, B], 20))
        found.append(numbers(ledger, order))
        assert ledger.reports.verify() == []
    assert found[0] == found[1] == found[2]
    assert sorted(found[0].values()) == [1, 1, 2, 2]


def test_numbers_do_not_tell_which_query_was_stored_first(
    fresh: Callable[[], Ledger],
) -> None:
    """What is published of two queries is the same in whatever order their windows were stored."""
    numbers_tell_no_order(fresh)


def test_numbers_over_the_whole_ledger_are_caught(
    fresh: Callable[[], Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twin: one series of numbers for all queries tells the order of storage."""
    own = Sequences.take
    monkeypatch.setattr(Sequences, "take", lambda numbers, _query: own(numbers, "all"))
    monkeypatch.setattr(verify, "problems", lambda _tx, _anchors: [])
    with pytest.raises(AssertionError):
        numbers_tell_no_order(fresh)


def test_one_at_a_time(opened: Callable[[], Ledger]) -> None:
    """Only one holder of a name, others are told so at once; other names are free."""
    first, second = opened(), opened()
    with first.exclusive("publish:a") as mine, second.exclusive("publish:a") as theirs:
        assert (mine, theirs) == (True, False)
        with second.exclusive("publish:b") as other:
            assert other
    with second.exclusive("publish:a") as now:
        assert now


def test_punctuation_marks(ledger: Ledger) -> None:
    """The newest mark at or before an instant is found, per feed and partition."""
    for time_ms, offset in ((10, 100), (20, 200), (10, 999)):
        ledger.counts.put_mark("feed", 0, time_ms, offset)
    assert [ledger.counts.mark_before("feed", 0, at) for at in (9, 10, 19, 20, 99)] == [
        *(None, 100, 100, 200, 200)
    ]
    assert ledger.counts.mark_before("feed", 1, 99) is None


def test_a_clock_that_goes_back_stops_the_ledger(ledger: Ledger, clock: Clock) -> None:
    """Within the allowance it may step back, beyond it nothing is written."""
    set_up(ledger, PrivacyUnit.EVENT, 5, [A])
    ledger.admit("s", requests([A], 30))
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


def test_admission_looks_at_no_history(ledger: Ledger) -> None:
    """However long the past, one admission reads only the charges that reach into its window."""
    set_up(ledger, PrivacyUnit.EVENT, 4, [A, HOP])
    ledger.admit("s", requests([A, HOP], 20_000))
    with ledger._store.read() as tx:
        near = tx.charges.after("s", 19_980, starting_before_ms=20_000)
        assert len(near) <= 6
        if ledger._store._sqlite:
            plan = tx.connection.exec_driver_sql(
                "EXPLAIN QUERY PLAN SELECT * FROM tocsin_charges WHERE scope = 's' AND end_ms > 9"
            ).fetchall()
            assert "tocsin_charges_by_end" in str(plan)


def test_status_counts(ledger: Ledger) -> None:
    """Decisions, denials by reason, what waits, and the reserved part of what is spent."""
    set_up(ledger, PrivacyUnit.EVENT, 9, [A, HOP])
    ledger.admit("s", requests([A, HOP], 60))
    settle(ledger, A, 0)
    deny(ledger, A, 1, "incomplete")
    deny(ledger, A, 2, "incomplete")
    status = ledger.reports.status()
    assert status.scopes["s"].spent_units == 5  # two hops and one `a` cover [30, 40)
    query = status.queries["a"]
    assert (query.decided, query.denied, query.unpublished) == (1, {"incomplete": 2}, 3)
    assert (query.cursor_ms, query.sequence) == (30, 3)
    assert status.queries["hop"].sequence == 0


def test_export_replays_to_the_same_totals(ledger: Ledger) -> None:
    """The exported charges add up to the exported totals, and no secret is among them."""
    a = Series("a", units=2, period=30)
    set_up(ledger, PrivacyUnit.USER, 5, [a])
    ledger.counts.put_partial(partial(a, 0))
    ledger.admit("s", requests([a], 90))
    settle(ledger, a, 0)
    deny(ledger, a, 1)
    rows = list(ledger.reports.export())
    added: Counter[int] = Counter()
    for row in rows:
        if row["record"] == "charges" and row["state"] in {"reserved", "settled"}:
            added.update(dict.fromkeys(json.loads(row["periods"]), row["loss_units"]))
    stored = {row["period_ms"]: row["held_units"] for row in rows if row["record"] == "totals"}
    assert added == stored
    text = json.dumps(rows)
    assert ledger.hash_key.hex() not in text
    assert not any(row["record"] == "partials" for row in rows)


TAMPERINGS = {
    "a cheaper charge": "UPDATE tocsin_charges SET loss_units = 1 WHERE query = 'b'",
    "a cheaper cell": "UPDATE tocsin_charges SET units = 1, loss_units = 1 WHERE start_ms = 0",
    "a lost charge": "DELETE FROM tocsin_charges WHERE start_ms = 0 AND query = 'b'",
    "a released charge": "UPDATE tocsin_charges SET state = 'released' WHERE start_ms = 10",
    "a held refusal": "UPDATE tocsin_charges SET state = 'reserved' WHERE admission = 'refused'",
    "a lost decision": "DELETE FROM tocsin_decisions WHERE sequence = 2",
    "a cheaper decision": "UPDATE tocsin_decisions SET epsilon_units = 1 WHERE sequence = 1",
    "a turned decision": "UPDATE tocsin_decisions SET outcome = 'denied' WHERE sequence = 1",
    "a cursor set back": "UPDATE tocsin_queries SET cursor_ms = 0",
    "a sequence set back": "UPDATE tocsin_sequences SET last_sequence = 1",
    "a lost sequence": "DELETE FROM tocsin_sequences",
    "another's sequence": "INSERT INTO tocsin_sequences VALUES ('z', 1)",
    "a frontier set back": "UPDATE tocsin_scopes SET frontier_end_ms = 45",
    "an unreadable row": "UPDATE tocsin_charges SET state = '?' WHERE start_ms = 0",
    "a lower wall": "UPDATE tocsin_scopes SET epsilon_max_units = 3",
}


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_tampering_is_found(ledger: Ledger, unit: PrivacyUnit) -> None:
    """Every row that was changed behind the ledger's back contradicts the charges."""
    b = Series("b", size=20, step=10, units=2, period=100 if unit is PrivacyUnit.USER else 0)
    set_up(ledger, unit, 4, [b])
    ledger.admit("s", requests([b], 60))
    for index in range(2):
        settle(ledger, b, index)
    changes = dict(TAMPERINGS)
    if unit is PrivacyUnit.USER:
        changes["a lower total"] = "UPDATE tocsin_totals SET held_units = held_units - 1"
    else:
        # Every hop overlaps its neighbours twice, so all fit and none is refused.
        del changes["a held refusal"]
        changes["a lower settled total"] = "UPDATE tocsin_scopes SET settled_worst_units = 3"
    assert ledger.reports.verify() == []
    for name, statement in changes.items():
        with suppress(_Undo), ledger._store.write() as tx:
            tx.connection.exec_driver_sql(statement)
            assert verify.problems(tx, {}), name
            raise _Undo
    assert ledger.reports.verify() == []


class _Undo(Exception):  # noqa: N818  # not an error: it rolls a transaction back
    """Rolls a tampering back."""


def test_losses_fit_into_64_bits(ledger: Ledger) -> None:
    """A loss that the database couldn't add up is refused before it is stored."""
    monster = Series("monster", units=2**62)
    set_up(ledger, PrivacyUnit.EVENT, 5, [monster])
    with pytest.raises(LedgerError, match="does not fit"):
        ledger.admit("s", requests([monster], 10))
    with pytest.raises(LedgerError, match="does not fit"):
        ledger.pins.register_budget(terms(PrivacyUnit.EVENT, 2**62, "t"))


def test_a_budget_is_served_only_for_who_knows_all_of_it(ledger: Ledger) -> None:
    """Whoever lacks an alarm would make its windows missed, and is refused until it is retired."""
    a, b = Series("a"), Series("b")
    set_up(ledger, PrivacyUnit.EVENT, 4, [a, b])
    with pytest.raises(LedgerError, match="'b'"):
        ledger.admit("s", requests([a], 20), alarms={"a"})
    assert ledger.frontier("s") is None
    ledger.admit("s", requests([a, b], 20), alarms={"a", "b"})
    ledger.pins.retire_query("b")
    ledger.admit("s", requests([a], 40), alarms={"a"})
    assert ledger.answer(a.key(3)) is Answer.RESERVED
