"""What alarms keep of a budget from one another: shares, and what open runs may still cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from accountant.budget import keeping as budget_keeping
from accountant.errors import LedgerCorruptError
from accountant.log import images
from accountant.records import Answer
from tests.support.archived import move_all
from tests.support.ledgers import (
    USER,
    Opens,
    Series,
    admit,
    answers,
    decide_all,
    deny,
    held,
    must_verify,
    open_ledger,
    registration,
    requests,
    set_up,
    settle,
)
from tests.support.runs import OTHER, RUN, TERMS, WHOLE, ask, ring, seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from accountant.ledger.ledger import Ledger

DATABASES = ["sqlite"]
SHORT = Series("short", size=10, units=1, period=120)
LONG = Series("long", size=120, step=120, units=3, period=120, share=6)


def reserved(ledger: Ledger, series: Series, count: int) -> list[bool]:
    """Say which of the first windows were granted."""
    return [one is Answer.RESERVED for one in answers(ledger, series, count)]


def test_an_open_run_is_not_cut_off(ledger: Ledger) -> None:
    """Others take what is left of the budget: a quiet run goes on, and so does one that rings."""
    greedy = replace(OTHER, units=1)
    set_up(ledger, USER, WHOLE + 5, [RUN, greedy])
    ask(ledger, 300, greedy)
    for index in range(30):
        assert ledger.answer(RUN.key(index)) is Answer.RESERVED
        ring(ledger, index, int(index in {7, 19, 29}))
        if ledger.answer(greedy.key(index)) is Answer.RESERVED:
            settle(ledger, greedy, index)
        else:
            deny(ledger, greedy, index, "budget")
    assert reserved(ledger, greedy, 30) == [True] * 5 + [False] * 25
    assert held(ledger) == WHOLE + 5
    must_verify(ledger)


@pytest.mark.parametrize("share", [0, 6])
def test_a_share_is_there_at_the_end_of_the_period(ledger: Ledger, share: int) -> None:
    """Long windows come last in the order; without a share, short ones leave them nothing."""
    alarms = [SHORT, replace(LONG, share=share)]
    set_up(ledger, USER, 10, alarms)
    decide_all(ledger, alarms, 240, "one")
    many, few = ([4, 4], [True, True]) if share else ([10, 10], [False, False])
    granted = reserved(ledger, SHORT, 24)
    assert [sum(granted[:12]), sum(granted[12:])] == many
    assert reserved(ledger, LONG, 2) == few
    must_verify(ledger)


def test_a_run_keeps_nothing_once_it_is_over(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, new_url: Callable[[], str]
) -> None:
    """Windows across a boundary have a run of their own: over, it leaves the next period alone."""
    hop = replace(RUN, size=20, step=10, period=60)
    free = replace(OTHER, units=WHOLE, period=60, size=10, first=0)

    def late(one: Ledger) -> Answer:
        """Ring nothing across the boundary at 60, then ask for all of the next period."""
        set_up(one, USER, WHOLE, [hop, free])
        in_run = [replace(each, run=TERMS) for each in requests([hop], 70)]
        one.admit("s", in_run)
        for index in range(5):
            deny(one, hop, index)
        ring(one, 5, 0, hop)  # [50, 70): 5 of 11 spent in both periods, 6 may come
        small = replace(free, units=4)
        admit(one, 100, small)
        return one.answer(small.key(9))

    assert late(ledger) is Answer.RESERVED  # [90, 100): that run's last window ends by 80
    monkeypatch.setattr(budget_keeping.Keepers, "passed", lambda *_: None)
    with open_ledger(new_url()) as twin:
        assert late(twin) is Answer.REFUSED


@pytest.mark.parametrize("keeps", [True, False])
def test_an_archive_leaves_what_tells_of_an_open_run(
    opened: Opens, monkeypatch: pytest.MonkeyPatch, *, keeps: bool
) -> None:
    """What a run across a boundary has left is kept; a twin that keeps no ended window forgets."""
    if not keeps:
        own = images.dump
        monkeypatch.setattr(images, "dump", lambda state: own(state, live=False))
    hop = replace(RUN, size=20, step=10, period=60)
    other = replace(OTHER, units=1, period=60)
    ledger = opened()
    set_up(ledger, USER, WHOLE, [hop, other])
    ledger.admit("s", [replace(each, run=TERMS) for each in requests([hop], 70)])
    for index in range(5):
        deny(ledger, hop, index)
    ring(ledger, 5, 0, hop)  # [50, 70): 5 of 11 in both periods, 6 may come
    deny(ledger, hop, 6)
    for index in range(7):
        deny(ledger, other, index)
    ledger.mark_published(*(hop.key(index) for index in range(7)))
    ledger.mark_published(*(other.key(index) for index in range(7)))
    assert move_all(ledger, 70) > 0
    ledger = opened()
    admit(ledger, 80, other)
    assert ledger.answer(other.key(7)) is (Answer.REFUSED if keeps else Answer.RESERVED)


def test_a_share_changes_with_the_configuration(ledger: Ledger) -> None:
    """Accepted, it is kept from then on; retired, it is anybody's; another one is refused."""
    set_up(ledger, USER, 10, [SHORT, LONG])
    with pytest.raises(LedgerCorruptError):
        ledger.pins.register_query(registration(replace(LONG, share=5)))
    admit(ledger, 50, SHORT)
    assert reserved(ledger, SHORT, 5) == [True] * 4 + [False]
    smaller = replace(LONG, share=4, fingerprint="f2")
    ledger.pins.accept_change(registration(smaller), 0)
    admit(ledger, 80, SHORT)
    assert reserved(ledger, SHORT, 8)[4:] == [True] * 2 + [False] * 2
    ledger.pins.remove_alarm("long")
    admit(ledger, 120, SHORT)
    assert reserved(ledger, SHORT, 12)[6:] == [True] * 4 + [False] * 2
    must_verify(ledger)


def test_an_adopted_decision_is_drawn_from_its_share(ledger: Ledger) -> None:
    """What another timeline spent of a share is not kept beside it."""
    long = replace(LONG, period=10**9)
    short = replace(SHORT, period=10**9)
    set_up(ledger, USER, 10, [short, long])
    admit(ledger, 10, short)
    first = settle(ledger, short, 0)
    adopted = seen(first, query="long", start_ms=0, end_ms=60, ledger_id="other", epsilon_units=6)
    assert ledger.upkeep.reconcile([adopted]) == 1
    admit(ledger, 70, short)
    assert reserved(ledger, short, 7) == [True] * 4 + [False] * 3
    must_verify(ledger)
