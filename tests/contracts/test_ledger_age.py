"""What a ledger's age costs: counted in what the database does, on both of them, never in time."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import ExitStack
from functools import partial

import pytest

from accountant.audit import sums
from accountant.ledger import archives, door
from accountant.log import state
from accountant.log.entries import read_checkpoint
from accountant.records import Answer
from accountant.store import entry_rows
from accountant.store.tables import ENTRIES
from tests.support.aged import age, effort
from tests.support.archived import move_all
from tests.support.ledgers import (
    USER,
    Clock,
    Series,
    deny,
    each_unit,
    must_verify,
    open_ledger,
    set_up,
    settle,
)

WALL = 10**9
STEP = 40
IMAGES = 100


def alarms(unit, period):
    """Return queries with tumbling windows."""
    return [Series(name, period=period if unit is USER else 0) for name in "abcd"]


def old(ledger, unit, past, period=10**6):
    """Put so many windows of each alarm behind a ledger; return it and its alarms."""
    series = alarms(unit, period)
    age(ledger, unit, WALL, series, past)
    return ledger, series


@pytest.fixture
def small_steps(monkeypatch):
    """Make a step so small that the ledgers of tests take many, without a pause."""
    monkeypatch.setattr(archives, "_STEP", STEP)
    monkeypatch.setattr(entry_rows, "PAGE", STEP)
    monkeypatch.setattr(archives, "_PAUSE_S", 0)


@pytest.mark.usefixtures("small_steps")
def test_an_archive_takes_its_share_for_every_entry(fresh):
    """Three times the entries take three times the work, in transactions as large as before."""
    took = []
    for past in (60, 180):
        ledger, _ = old(fresh(), USER, past)
        with effort(ledger) as work:
            assert move_all(ledger, 10 * past) > 5 * past
        took.append(work)
    assert took[1].steps < 4 * took[0].steps
    assert took[0].largest == took[1].largest <= STEP


@pytest.mark.usefixtures("small_steps")
def test_no_step_makes_room_under_the_wall(ledger, monkeypatch):
    """Whoever asks for a window between two steps is answered as if nothing had gone."""
    series, past = Series("a", period=10**9), 120
    age(ledger, USER, past + 3, [series], past)
    answers = []

    def ask(_):
        index = past + len(answers)
        ledger.admit("s", [series.request(index)])
        answers.append(ledger.answer(series.key(index)))
        (settle if answers[-1] is Answer.RESERVED else deny)(ledger, series, index)
        must_verify(ledger)

    monkeypatch.setattr(time, "sleep", ask)
    assert move_all(ledger, 10 * past) > 2 * past
    assert answers == [*[Answer.RESERVED] * 3, *[Answer.REFUSED] * (len(answers) - 3)]
    assert len(answers) > 4


@each_unit
def test_neither_a_status_nor_a_decision_takes_longer(fresh, unit):
    """Thirty times the decisions: not a step or a row more."""
    took = []
    for past in (5, 150):
        ledger, series = old(fresh(), unit, past)
        found = ledger.reports.status()
        assert [one.decided for one in found.queries.values()] == [past] * 4
        calls = (
            ledger.reports.status,
            partial(ledger.admit, "s", [one.request(past) for one in series]),
            partial(settle, ledger, series[0], past),
            partial(ledger.unpublished, "a", 10**9),
            partial(ledger.mark_published, series[0].key(past)),
        )
        took.append([steps_of(ledger, call) for call in calls])
        assert ledger.decision(series[0].key(past)).published
    assert all(more <= few + 2 for few, more in zip(*took, strict=True)), took


def steps_of(ledger, call):
    """Return the steps that something takes."""
    with effort(ledger) as work:
        call()
    return work.steps


def start(ledger):
    """Return the steps that it takes to know a ledger, as after a start."""
    ledger._door._state = None
    return steps_of(ledger, ledger.reports.status)


@each_unit
def test_a_start_takes_as_long_as_ever(fresh, unit, monkeypatch):
    """It reads an image of the state, and the few entries behind it; a twin without one reads all.

    An archive leaves a snapshot to begin with, too.
    """
    whole, since, moved = [], [], []
    for past in (20, 200):
        for every, took in ((10**9, whole), (IMAGES, since)):
            monkeypatch.setattr(door, "_IMAGE_EVERY", every)
            ledger, series = old(fresh(), unit, past)
            ledger.admit("s", [one.request(past) for one in series])
            took.append(start(ledger))
        monkeypatch.setattr(door, "_IMAGE_EVERY", 10**9)
        move_all(ledger, 10 * past)
        moved.append(start(ledger))
    assert whole[1] > 4 * whole[0]
    assert since[1] < 2 * whole[0]
    assert moved[1] < 2 * moved[0] + 2  # ten times the age; a server may read a few rows twice


def aged(fresh, unit, past):
    """Return a ledger that has decided windows since it was old, and an entry from before that."""
    ledger, series = old(fresh(), unit, past, 100)
    noted = read_checkpoint(ledger.reports.status().checkpoint)
    for index in range(past, past + 12):
        ledger.admit("s", [one.request(index) for one in series])
        for one in series:
            (settle if index % 3 else deny)(ledger, one, index)
    return ledger, noted


@each_unit
def test_a_ledger_is_verified_since_a_noted_entry(fresh, unit):
    """It takes as long as what came after, however old the ledger; what came after is compared."""
    took = []
    for past in (20, 200):
        ledger, noted = aged(fresh, unit, past)
        with effort(ledger) as work:
            assert ledger.reports.verify(since=noted) == []
        took.append(work.steps)
    assert took[1] < 1.2 * took[0]
    number, digest = noted
    for at, named in ((number - 1, False), (number, True), (number + 9, True)):
        with ledger._store.write() as tx:
            row = tx.log.at(at)
            change = ENTRIES.update().where(ENTRIES.c.seq == at)
            tx.connection.execute(change.values(hash=b"?" * 16))
        assert bool(ledger.reports.verify(since=noted)) is named
        assert ledger.reports.verify() != []
        with ledger._store.write() as tx:
            tx.connection.execute(change.values(hash=row.hash))
    for wrong in ((number, b"?" * 16), (number + 10**6, digest), (number - 1, digest)):
        assert any("noted" in line for line in ledger.reports.verify(since=wrong))


@each_unit
def test_an_aged_ledger_is_one_that_decided(new_url, unit):
    """What puts a past into a ledger leaves entry for entry what deciding each window does."""
    series, past, clock = alarms(unit, 100), 12, Clock(0)
    with ExitStack() as stack:
        aged, decided = (
            stack.enter_context(open_ledger(new_url(), clock, entropy=bytes)) for _ in range(2)
        )
        age(aged, unit, WALL, series, past)
        set_up(decided, unit, WALL, series)
        for index in range(past):
            clock.now_ms = series[0].key(index).end_ms
            decided.admit("s", [one.request(index) for one in series])
            for one in series:
                settle(decided, one, index)
                decided.mark_published(one.key(index))
        assert list(aged.reports.entries()) == list(decided.reports.entries())
        assert aged.reports.status() == decided.reports.status()


@each_unit
def test_verifying_holds_no_more_of_an_old_ledger(fresh, unit, monkeypatch):
    """However many entries there are, a page of them is held at once."""
    for module, name in ((entry_rows, "PAGE"), (state, "_SPARE"), (sums, "_RECENT")):
        monkeypatch.setattr(module, name, 50)
    most = []
    for past in (60, 180):
        ledger, _ = old(fresh(), unit, past)
        ledger.reports.verify()
        tracemalloc.start()
        must_verify(ledger)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < 1.5 * most[0]
