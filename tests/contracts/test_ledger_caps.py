"""Caps over a period: windows that nobody more can count in are free, on any back end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from accountant.errors import ArgumentError
from accountant.records import PartialStatus, Request
from tests.support.ledgers import (
    TOPIC_ID,
    USER,
    Series,
    admit,
    partial,
    registration,
    set_up,
    settle,
)

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger

DATABASES = ["sqlite"]

FEW = Series("few", units=2, period=100, windows=2)


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
