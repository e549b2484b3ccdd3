"""What a process remembers of the log is what the database holds, or it is not used."""

from __future__ import annotations

import random
import shutil
from functools import partial

import pytest

from accountant.errors import ClockError, LedgerRolledBackError
from accountant.ledger import door
from accountant.log import state
from accountant.log.entries import Admitted, decode
from accountant.records import Answer
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from tests.support.ledgers import (
    EVENT,
    Clock,
    Series,
    admit,
    deny,
    must_verify,
    open_ledger,
    set_up,
    settle,
)

DATABASES = ["sqlite"]
NORTH, SOUTH = (Shape(Region.where(city=name).canonical, "one") for name in ("n", "s"))
ALL = (
    Series("a", units=3, shape=NORTH),
    Series("b", units=2, shape=SOUTH),
    Series("c", size=40, step=20, units=2),
    Series("d", size=20, units=3, shape=NORTH),
)
UNTIL_MS = 120


def story(pick, clock, seed):
    """Play a history; ask ``pick`` for the ledger of every call.

    Now and then the clock goes back, which undoes a settlement that was all but stored.
    """
    script = random.Random(seed)  # the same for every ledger that plays it
    left = {one: [n for n in range(12) if one.key(n).end_ms <= UNTIL_MS] for one in ALL}
    until_ms = 0
    while any(left.values()):
        until_ms = min(until_ms + script.choice([0, 0, 10]), UNTIL_MS)
        admit(pick(), until_ms, *ALL)
        one = script.choice([series for series, windows in left.items() if windows])
        number, units, fails = left[one][0], script.randint(0, one.units), script.random() < 0.2
        if one.key(number).end_ms > until_ms:
            continue
        answer = pick().answer(one.key(number))
        if answer is Answer.PENDING:
            continue
        if answer is not Answer.RESERVED:
            deny(pick(), one, number, "budget")
        else:
            if fails:
                clock.now_ms -= 10_000
                with pytest.raises(ClockError):
                    settle(pick(), one, number, units=one.units)
                clock.now_ms += 10_000
            settle(pick(), one, number, units=units)
        clock.now_ms += 1
        left[one].pop(0)


def forgetting(ledger):
    """Yield a ledger again and again, each time with nothing remembered."""
    while True:
        ledger._door._state = None
        yield ledger


def alternating(seed, *ledgers):
    """Yield one ledger or another, each with what it remembers."""
    turns = random.Random(seed)  # which process is at it
    while True:
        yield turns.choice(ledgers)


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_remembering_changes_no_entry(new_url, seed, monkeypatch):
    """Two that remember, and forget what is past, write what one writes that folds all anew."""
    exports = []
    for remembers in (True, False):
        clock, url = Clock(), new_url()
        monkeypatch.setattr(state, "_SPARE", seed % 3 if remembers else 10**6)
        same = {"entropy": bytes}  # the first entry tells which ledger it is
        with open_ledger(url, clock, **same) as one, open_ledger(url, clock) as other:
            set_up(one, EVENT, 7, ALL)
            turns = alternating(seed, one, other) if remembers else forgetting(one)
            story(partial(next, turns), clock, seed)
            must_verify(one)
            exports.append(list(one.reports.entries()))
    assert exports[0] == exports[1]
    told = (decode(row.kind, row.payload) for row in exports[0])
    answers = {one.answer for each in told if isinstance(each, Admitted) for one in each.windows}
    assert answers >= {Answer.RESERVED, Answer.PENDING}


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
        if goes_on:  # the copy has other entries under the same numbers
            with open_ledger(f"sqlite:///{path}") as copy:
                settle(copy, a, 0, units=0)
                admit(copy, 30, a)
        for _ in range(2):
            with pytest.raises(LedgerRolledBackError, match="another copy was put in its place"):
                ledger.answer(a.key(1))
            with pytest.raises(LedgerRolledBackError):
                admit(ledger, 30, a)
        # Broken twin: reads whatever is there anew, as if this process had known nothing.
        monkeypatch.setattr(door, "_goes_on", lambda *_: False)
        admit(ledger, 30, a)
