"""What alarms keep of a budget from one another: shares, and what open runs may still cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accountant.budget import keeping as budget_keeping
from accountant.log import images
from accountant.records import Answer
from tests.support.archived import move_all
from tests.support.ledgers import USER, admit, deny, open_ledger, requests, set_up
from tests.support.runs import OTHER, RUN, TERMS, WHOLE, ring

DATABASES = ["sqlite"]


HOP = replace(RUN, size=20, step=10, period=60)
SMALL = replace(OTHER, period=60)


def crossed(ledger, beside):
    """Decide windows until a run goes across a boundary: 5 of 11 spent in both, 6 may come."""
    set_up(ledger, USER, WHOLE, [HOP, beside])
    ledger.admit("s", [replace(each, run=TERMS) for each in requests([HOP], 70)])
    for index in range(5):
        deny(ledger, HOP, index)
    ring(ledger, 5, 0, HOP)


def test_a_run_keeps_nothing_once_it_is_over(ledger, monkeypatch, new_url):
    """Windows across a boundary have a run of their own: over, it leaves the next period alone."""

    def late(one):
        """Ask for all of the next period."""
        crossed(one, SMALL)
        admit(one, 100, SMALL)
        return one.answer(SMALL.key(9))

    assert late(ledger) is Answer.RESERVED  # [90, 100): that run's last window ends by 80
    monkeypatch.setattr(budget_keeping.Keepers, "passed", lambda *_: None)
    with open_ledger(new_url()) as twin:
        assert late(twin) is Answer.REFUSED


@pytest.mark.parametrize("keeps", [True, False])
def test_an_archive_leaves_what_tells_of_an_open_run(opened, monkeypatch, keeps):
    """What a run across a boundary has left is kept; a twin that keeps no ended window forgets."""
    if not keeps:
        own = images.dump
        monkeypatch.setattr(images, "dump", lambda state: own(state, live=False))
    ledger, other = opened(), replace(SMALL, units=1)
    crossed(ledger, other)
    deny(ledger, HOP, 6)
    for index in range(7):
        deny(ledger, other, index)
        ledger.mark_published(HOP.key(index), other.key(index))
    assert move_all(ledger, 70) > 0
    ledger = opened()
    admit(ledger, 80, other)
    assert ledger.answer(other.key(7)) is (Answer.REFUSED if keeps else Answer.RESERVED)
