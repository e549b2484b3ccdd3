"""How often an admission and a status ask their database, one question after the other.

A server answers each of them in a fraction of the time that asking takes: counted, never timed.
"""

from __future__ import annotations

import pytest

from accountant.units import PrivacyUnit
from tests.support.ledgers import USER, Series, must_verify, set_up, settle
from tests.support.many import counted

ADMISSION, STATUS = 5, 2
"""Statements."""


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
    """As many statements as there are things to know and to write; SQLite is told to begin, too."""
    for call, most in zip(in_use(ledger, unit), (ADMISSION, STATUS), strict=True):
        with counted(ledger) as work:
            call()
        assert work.statements <= most + (database == "sqlite")
    must_verify(ledger)
