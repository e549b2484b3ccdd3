"""How often an admission and a status ask their database, one question after the other.

A server answers each of them in a fraction of the time that asking takes: counted, never timed.
"""

from __future__ import annotations

from contextlib import contextmanager
from unittest import mock

import psycopg
import pytest

from accountant.units import PrivacyUnit
from tests.support.ledgers import USER, Series, must_verify, set_up, settle
from tests.support.many import counted

ADMISSION, STATUS = 5, 2
"""Statements."""


@contextmanager
def round_trips():
    """Note each time that a client waits for PostgreSQL: for an answer, a ping, or a commit."""
    found = []
    own = psycopg.Connection.wait

    def noted(asked):
        waited = False
        try:
            state = next(asked)
            while True:
                if not waited:
                    waited = True
                    found.append(None)
                state = asked.send((yield state))
        except StopIteration as end:
            return end.value

    def wait(connection, asked, *args, **options):
        return own(connection, noted(asked), *args, **options)

    with mock.patch.object(psycopg.Connection, "wait", wait):
        yield found


def in_use(ledger, unit):
    """Return an admission to a ledger that has decided, and a status of it."""
    series = [Series(name, period=10**6 if unit is USER else 0) for name in ("a", "b", "c")]
    set_up(ledger, unit, 10**9, series)
    for index in range(3):
        ledger.admit("s", [one.request(index) for one in series])
        settle(ledger, series[0], index)
        ledger.reports.status()
    ledger.admit("s", [series[0].request(3)])
    return [lambda: ledger.admit("s", [series[1].request(3)]), ledger.reports.status]


@pytest.mark.parametrize("unit", PrivacyUnit)
def test_what_happens_often_asks_little(ledger, unit, database):
    """As many statements as there are things to know and to write, and one transaction around them.

    SQLite is told to begin by a statement; PostgreSQL is asked neither for the end of a read alone
    nor whether it is still there.
    """
    for call, most in zip(in_use(ledger, unit), (ADMISSION, STATUS), strict=True):
        with counted(ledger) as work, round_trips() as trips:
            call()
        if database == "sqlite":
            assert work.statements <= most + 1
        else:
            assert work.statements <= most
            assert 0 < len(trips) <= most + 2
    must_verify(ledger)
