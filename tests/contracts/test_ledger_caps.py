"""Caps over a period: windows that nobody more can count in are free, on any back end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from accountant.errors import ArgumentError
from accountant.records import Answer, PartialStatus, Request
from tests.support.archived import move_all
from tests.support.ledgers import (
    TOPIC_ID,
    USER,
    Opens,
    Series,
    admit,
    deny,
    must_verify,
    partial,
    registration,
    set_up,
    settle,
    status_of,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger

DATABASES = ["sqlite"]

FEW = Series("few", units=2, period=100, windows=2)


def spent(ledger: Ledger) -> dict[int, int]:
    """Return what every period holds."""
    return dict(status_of(ledger).periods)


def answers(ledger: Ledger, series: Series, count: int) -> list[Answer | None]:
    """Return what the first windows were answered."""
    return [ledger.answer(series.key(index)) for index in range(count)]


def test_windows_beyond_the_cap_are_free(ledger: Ledger) -> None:
    """Of ten windows a period holds two: all are granted under a wall of two, in every period."""
    set_up(ledger, USER, 4, [FEW])
    admit(ledger, 200, FEW)
    assert set(answers(ledger, FEW, 20)) == {Answer.RESERVED}
    assert spent(ledger) == {0: 4, 100: 4}
    for index in range(20):
        settle(ledger, FEW, index, units=1 if index < 9 else 2)
    assert spent(ledger) == {0: 3, 100: 4}  # the dearest two, wherever they came
    must_verify(ledger)


def test_a_denied_window_refunds_only_where_it_was_among_the_dearest(ledger: Ledger) -> None:
    """What else there is takes its place."""
    set_up(ledger, USER, 4, [FEW])
    admit(ledger, 30, FEW)
    deny(ledger, FEW, 0)
    assert spent(ledger) == {0: 4}
    deny(ledger, FEW, 1)
    assert spent(ledger) == {0: 2}
    must_verify(ledger)


def test_a_dearer_window_waits_for_those_before_it(ledger: Ledger) -> None:
    """Whether it fits depends on how they end, and is answered when they have."""
    dear = Series("wide", size=30, step=30, units=3, period=100)
    set_up(ledger, USER, 6, [FEW, dear])
    admit(ledger, 30, FEW, dear)
    assert ledger.answer(dear.key(0)) is Answer.PENDING
    settle(ledger, FEW, 0, units=1)
    assert ledger.answer(dear.key(0)) is Answer.PENDING
    settle(ledger, FEW, 1, units=1)
    settle(ledger, FEW, 2, units=2)
    assert ledger.answer(dear.key(0)) is Answer.RESERVED
    assert spent(ledger) == {0: 6}


def test_a_changed_configuration_counts_people_anew(ledger: Ledger) -> None:
    """Windows of another cap are no windows of this one: somebody may count in two of each."""
    set_up(ledger, USER, 8, [FEW])
    admit(ledger, 30, FEW)
    for index in range(3):
        settle(ledger, FEW, index)
    changed = replace(FEW, fingerprint="f2", windows=1)
    ledger.pins.accept_change(registration(changed), 30)
    ledger.admit("s", [changed.request(index) for index in range(3, 6)])
    for index in range(3, 6):
        settle(ledger, changed, index)
    assert spent(ledger) == {0: 2 * 2 + 2}
    must_verify(ledger)


def test_an_archive_keeps_what_later_windows_are_compared_with(
    opened: Opens,
) -> None:
    """What a period holds is known, whoever opens the ledger next."""
    ledger = opened()
    set_up(ledger, USER, 4, [FEW])
    for until_ms, windows in ((100, range(10)), (150, range(10, 15)), (250, ())):
        admit(ledger, until_ms, FEW)
        for index in windows:
            settle(ledger, FEW, index, units=1 + (index in {3, 12}))
    ledger.mark_published(*(FEW.key(index) for index in range(15)))
    assert move_all(ledger, 150) > 15
    ledger = opened()
    assert spent(ledger) == {0: 3, 100: 4, 200: 4}  # with what is reserved
    must_verify(ledger)
    for index in range(15, 25):
        deny(ledger, FEW, index)
    assert spent(ledger) == {0: 3, 100: 3}
    must_verify(ledger)


def test_only_windows_under_a_cap_look_for_what_people_used_up(ledger: Ledger) -> None:
    """Settlements of others do not touch that table: there is nothing of theirs in it."""
    every = Series("every", units=1, period=100)
    set_up(ledger, USER, 4, [FEW, every])
    admit(ledger, 30, FEW, every)
    said: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        said.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for series, touched in ((every, False), (FEW, True)):
            said.clear()
            settle(ledger, series, 0)
            assert any("tocsin_used" in one for one in said) is touched
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_a_cap_is_of_the_configuration_that_asks() -> None:
    """Nor does a cap of nothing pass, nor one of a run."""
    asked = FEW.request(0)
    with pytest.raises(ArgumentError, match="the configuration that asks"):
        Request(asked.charge, "another")
    with pytest.raises(ArgumentError, match="at least one window"):
        replace(FEW, windows=0).request(0)
    with pytest.raises(ArgumentError, match="own query"):
        replace(asked.charge, periods=())


def test_what_people_used_up_is_kept_behind_the_cursor(ledger: Ledger) -> None:
    """With complete counts, until later windows are behind the cursor too; then it is gone."""
    set_up(ledger, USER, 4, [FEW])
    admit(ledger, 100, FEW)

    def known(cursor_ms: int, partition: int = 0) -> bytes | None:
        found = ledger.counts.used({FEW.query: cursor_ms}, partition, TOPIC_ID)
        return found[FEW.query].state if found else None

    for index in range(4):
        counted = replace(partial(FEW, index), used=bytes([index]), complete=index != 3)
        ledger.counts.put_partial(counted)
        ledger.counts.put_partial(replace(counted, partition=1))
    assert known(0) is None
    assert [known(10), known(30), known(40)] == [b"\0", b"\2", b"\2"]
    settle(ledger, FEW, 0)
    settle(ledger, FEW, 1)
    assert known(20) == b"\1"
    assert known(10) is None  # what was before the window decided last is gone
    assert ledger.counts.used({FEW.query: 20}, 0, "another log") == {}
    conflicting = replace(partial(FEW, 2, values=(9,)), used=b"x")
    assert ledger.counts.put_partial(conflicting) is PartialStatus.CONFLICT
    assert known(30) == b"\1"
    ledger.pins.accept_change(registration(replace(FEW, fingerprint="f2")), 50)
    assert known(50, partition=1) is None


def test_what_people_used_up_is_no_part_of_an_export(ledger: Ledger) -> None:
    """It is as confidential as counts are."""
    set_up(ledger, USER, 4, [FEW])
    ledger.counts.put_partial(replace(partial(FEW, 0), used=b"somebody"))
    assert not any(b"somebody" in row.payload for row in ledger.reports.entries())
