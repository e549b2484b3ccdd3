"""The journal: what befell workers is counted on both stores, whoever writes, at any time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from accountant.errors import ClockError
from accountant.ledger.journal import START, Happened
from tests.support.ledgers import Clock, must_verify, open_ledger


def test_entries_are_counted_with_their_last_time(opened, clock):
    """Over processes, each entry for itself; a clock that went back is noted as it stands."""
    assert opened().journal.entries() == {}
    opened().journal.note(START)
    clock.now_ms += 5
    for _ in range(2):
        opened().journal.note("ClockError")
    clock.now_ms = 7
    opened().journal.note(START)
    assert opened().journal.entries() == {
        START: Happened(2, 7),
        "ClockError": Happened(2, 1_000_005),
    }
    must_verify(opened())


def test_a_clock_that_is_not_believed_is_noted_all_the_same(new_url):
    """By the last time that the ledger saw."""
    url, clock = new_url(), Clock()

    def refuses():
        raise ClockError("the clock was set forward")

    with open_ledger(url, clock):
        pass
    with open_ledger(url, clock_ms=_once(clock, refuses)) as ledger:
        ledger.journal.note("ClockError")
        assert ledger.journal.entries() == {"ClockError": Happened(1, 1_000_000)}


def _once(first, then):
    """Return a clock that is right when the ledger is opened."""
    left = [first]
    return lambda: left.pop()() if left else then()


def test_entries_of_many_at_once_all_count(opened):
    """Workers that start together are as many starts."""
    ledgers = [opened() for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ledgers[n % 4].journal.note(START), range(40)))
    assert opened().journal.entries()[START].times == 40
