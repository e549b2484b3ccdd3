"""Caps over a period: windows that nobody more can count in are free, on any back end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from accountant.errors import ArgumentError
from accountant.records import Request
from tests.support.ledgers import USER, Series, admit, set_up, settle

DATABASES = ["sqlite"]

FEW = Series("few", units=2, period=100, windows=2)


def test_only_windows_under_a_cap_look_for_what_people_used_up(ledger):
    """Settlements of others do not touch that table: there is nothing of theirs in it."""
    every = Series("every", units=1, period=100)
    set_up(ledger, USER, 4, [FEW, every])
    admit(ledger, 30, FEW, every)
    said = []

    def note(_connection, _cursor, statement, *_):
        said.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for series, touched in ((every, False), (FEW, True)):
            said.clear()
            settle(ledger, series, 0)
            assert any("tocsin_used" in one for one in said) is touched
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_a_cap_is_of_the_configuration_that_asks():
    """Nor does a cap of nothing pass, nor one of a run."""
    asked = FEW.request(0)
    with pytest.raises(ArgumentError, match="does not match the request"):
        Request(asked.charge, "another")
    with pytest.raises(ArgumentError, match="`windows` is below 1"):
        replace(FEW, windows=0).request(0)
    with pytest.raises(ArgumentError, match="own query"):
        replace(asked.charge, periods=())
