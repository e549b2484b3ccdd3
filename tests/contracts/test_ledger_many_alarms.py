"""Another alarm on the same budget costs a decision nothing, and a start its own share.

Counted in statements and rows, whichever database the ledger lies in; ``benchmarks/alarms.py`` has
the times.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from itertools import product

import pytest

from accountant.errors import LedgerError
from accountant.log.entries import Admitted, Passed, decode
from stream.decisions.registration import registration, terms_of
from stream.model.feeds import Clock
from tests.support.ledgers import must_verify
from tests.support.many import HOUR_MS, LOG, Work, counted, many_alarms

KINDS = ("user", "event", "apart")


@pytest.fixture
def many(new_url, tmp_path):
    """A function that opens a new ledger for a number of alarms; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda kind, number: stack.enter_context(
            many_alarms(new_url(), tmp_path, kind, number)
        )


def work_of_one(one, query, hour):
    """Return what deciding a counted window takes."""
    one.count(query, hour)
    one.now_ms = max(one.now_ms, (hour + 1) * HOUR_MS + 1)
    with counted(one.ledger) as work:
        assert len(list(one.runtime.judge.decide_due(query))) == 1
    return work


@pytest.mark.parametrize("kind", KINDS)
def test_a_decision_costs_the_same_beside_many_alarms(many, kind):
    """As much work with twelve alarms as with one, from a process's second decision on.

    One look-up more is allowed: which rows the alarm covers whose window ended last.
    """
    alone, beside = many(kind, 1), many(kind, 12)
    for one in (alone, beside):
        one.start()
        one.decide("q000", 0)
    expected = work_of_one(alone, "q000", 1)
    more = int(kind != "user")
    expected = Work(expected.statements + more, expected.records + more)
    for hour, query in [*product((0, 1), beside.alarms.by_name)][1:]:
        assert work_of_one(beside, query, hour).within(expected)
    assert alone.ledger.reports.verify() == beside.ledger.reports.verify() == []


def test_a_window_that_was_passed_over_meanwhile_is_not_asked_for(many):
    """Who denied it left an entry, or the window was decided elsewhere: nothing is reserved."""
    one = many("user", 2)
    one.start()
    one.decide("q000", 0)
    with one.ledger._door.write() as writing:  # as recovering a later decision does
        writing.append(Passed("q001", HOUR_MS))
    one.decide("q000", 1)
    assert asked_of(one, "q001") == []
    one.decide("q001", 1)
    assert asked_of(one, "q001") == [HOUR_MS]


def asked_of(one, query):
    """Return the starts of a query's windows that were asked for."""
    entries = (decode(row.kind, row.payload) for row in one.ledger.reports.entries())
    admitted = (entry.windows for entry in entries if isinstance(entry, Admitted))
    return [asked.start_ms for windows in admitted for asked in windows if asked.query == query]


@pytest.mark.parametrize("kind", ["user", "apart"])
def test_a_start_takes_its_share_for_every_alarm(many, kind):
    """Twice the alarms are registered, and found registered, with at most twice the work."""
    works = []
    for one in (many(kind, 10), many(kind, 20)):
        for _ in range(2):
            with counted(one.ledger) as work:
                one.start()
            works.append(work)
    for fewer, more in (works[::2], works[1::2]):
        assert more.within(Work(2 * fewer.statements, 2 * fewer.records))
    assert works[1].statements == works[3].statements


@pytest.mark.parametrize("kind", KINDS)
def test_registering_together_leaves_what_registering_singly_does(many, kind):
    """Entry by entry, whatever the order of the names."""
    found = []
    for together in (True, False):
        one = many(kind, 5)
        pins = one.ledger.pins
        (scope,) = {"user" if kind == "user" else "feed:badges"}
        pins.register_budget(terms_of(one.alarms, scope))
        pins.register_log(LOG)
        order = sorted(one.alarms.by_name.values(), key=lambda query: query.id[::-1], reverse=True)
        given = [registration(query, one.alarms, 7 * at) for at, query in enumerate(order)]
        if together:
            cursors = pins.register_queries(given)
        else:
            cursors = {each.query: pins.register_query(each) for each in given}
        assert cursors == pins.register_queries(given)
        found.append((cursors, list(one.ledger.reports.entries())))
        must_verify(one.ledger)
    assert found[0] == found[1]


def test_one_refused_query_registers_none(many):
    """A configuration that is refused leaves no query behind."""
    one = many("user", 2)
    one.ledger.pins.register_budget(terms_of(one.alarms, "user"))
    first, second = (registration(query, one.alarms, 0) for query in one.alarms.by_name.values())
    with pytest.raises(LedgerError):
        one.ledger.pins.register_queries([first, replace(second, scope="other")])
    assert one.ledger.pins.queries() == []


def test_looking_for_due_windows_takes_one_read(many):
    """Where nothing is due forty alarms are looked through at once; what is due is found."""
    few, lots = many("user", 1), many("user", 40)
    works = []
    for one in (few, lots):
        one.start()
        with counted(one.ledger) as work:
            assert one.runtime.judge.due() == []
        assert work.statements <= 3  # SQLite is told to begin, too
        assert work.records == 1  # the last entry, which is known
        works.append(work)
    assert works[0] == works[1]
    lots.now_ms = HOUR_MS  # a window is late from its cut on: not yet
    assert lots.runtime.judge.due() == []
    lots.count("q007", 0)
    assert lots.runtime.judge.due() == ["q007"]
    lots.now_ms += 1
    assert lots.runtime.judge.due() == list(lots.alarms.by_name)


def test_a_change_is_due_before_its_windows_end(many):
    """Windows before an applied change can only be denied, and are at once."""
    one = many("user", 2)
    one.start()
    query = one.alarms.by_name["q001"]
    given = replace(registration(query, one.alarms, 0), fingerprint="before")
    one.ledger.pins.accept_change(given, one.ledger.cursor("q001"))
    one.ledger.pins.accept_change(replace(given, fingerprint=query.fingerprint), HOUR_MS)
    assert one.runtime.judge.due() == ["q001"]
    (denied,) = one.runtime.judge.decide_due("q001")
    assert denied.reason == "reconfigured"
    assert one.runtime.judge.due() == []


def test_what_is_not_due_has_nothing_to_decide(many):
    """Alarms that the short read leaves out are those that a look at each finds nothing for."""
    one = many("event", 6)
    one.start()
    for step in range(12):
        query = f"q{step * 5 % 6:03}"
        if step % 3 == 0:
            one.now_ms += HOUR_MS // 2
        hour = one.ledger.cursor(query) // HOUR_MS
        if (hour + 1) * HOUR_MS < one.now_ms:
            one.count(query, hour)
        due = one.runtime.judge.due()
        for idle in one.alarms.by_name.keys() - set(due):
            assert list(one.runtime.judge.decide_due(idle)) == []
        if step % 2:
            for busy in due:
                list(one.runtime.judge.decide_due(busy))


def test_alarms_catch_up_side_by_side(many):
    """After hours away the oldest window of all alarms is the next one."""
    one, hours = many("event", 3), 12
    one.start()
    for query, hour in product(one.alarms.by_name, range(hours)):
        one.count(query, hour)
    one.now_ms = hours * HOUR_MS + 1
    spreads, cursors = [], dict.fromkeys(one.alarms.by_name, 0)
    for decision in one.runtime.judge.decide_due(*one.runtime.judge.due()):
        cursors[decision.key.query] = decision.key.end_ms // HOUR_MS
        spreads.append(max(cursors.values()) - min(cursors.values()))
    assert set(cursors.values()) == {hours}
    assert max(spreads) == 1


def test_a_history_is_due_when_it_was_counted(many):
    """Where marks tell the time, the clock makes nothing due."""
    one = many("user", 1)
    feed = replace(one.alarms.feeds["badges"], clock=Clock.WATERMARKS)
    queries = {name: replace(query, feed=feed) for name, query in one.alarms.by_name.items()}
    one.alarms = replace(one.alarms, feeds={"badges": feed}, by_name=queries)
    one.start()
    one.now_ms = 10 * HOUR_MS
    assert one.runtime.judge.due() == []
    one.count("q000", 0)
    assert one.runtime.judge.due() == ["q000"]
