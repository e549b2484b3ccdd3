"""A feed that gets more partitions: what the ledger remembers, and whom it refuses meanwhile."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread

import pytest

from accountant.errors import LedgerError, LogChangedError
from accountant.log.entries import Grown
from accountant.records import LogIdentity, PartialStatus
from tests.support.ledgers import EVENT, TOPIC_ID, A, Clock, must_verify, partial, set_up

DATABASES = ["sqlite"]
NOW_MS = Clock().now_ms
UNTIL_MS = NOW_MS + 50


def announced(ledger):
    """Announce that the feed grows; windows of A from 20 on are neither counted nor decided."""
    return ledger.growths.announce("feed", 5, from_ms=20, first_starts={A.query: 20})


def identity(partitions):
    """Return the feed's log as Kafka tells it."""
    return LogIdentity("feed", "cluster", TOPIC_ID, "topic", partitions)


def test_the_log_may_have_the_partitions_that_were_announced(ledger):
    """Those of before too: some broker may not have heard. All others are refused, with a way."""
    set_up(ledger, EVENT, 5, [A])

    def fits(partitions):
        try:
            ledger.pins.refuse_changes((), [identity(partitions)], ())
            ledger.pins.register_log(identity(partitions))
        except LogChangedError:
            return False
        return True

    assert [fits(each) for each in (1, 2, 3, 5)] == [False, True, False, False]
    with pytest.raises(LogChangedError, match="partitions 2 -> 5") as caught:
        ledger.pins.register_log(identity(5))
    assert "tocsin topics add-partitions FILE feed --partitions 5" in caught.value.hint
    announced(ledger)
    assert [fits(each) for each in (2, 5, 6)] == [True, True, False]
    ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)
    assert [fits(each) for each in (1, 2, 5, 6)] == [False, True, True, False]
    with pytest.raises(LogChangedError, match="topic_id"):
        ledger.pins.register_log(replace(identity(5), topic_id="other"))


def test_counts_and_an_announcement_at_once_agree(opened):
    """Either the count was there and refuses the growth, or the growth refuses the count."""
    ledger = opened()
    set_up(ledger, EVENT, 5, [A])
    outcomes = {}
    other = opened()

    def count():
        outcomes["count"] = other.counts.put_partial(partial(A, 2))

    thread = Thread(target=count)
    thread.start()
    try:
        announced(ledger)
        outcomes["growth"] = True
    except LedgerError:
        outcomes["growth"] = False
    thread.join()
    expected = PartialStatus.STALE if outcomes["growth"] else PartialStatus.STORED
    assert outcomes["count"] is expected


def test_a_growth_that_cannot_have_been_is_found(ledger):
    """Whoever has it begin earlier or end sooner would have people counted twice."""
    set_up(ledger, EVENT, 5, [A])
    growth = announced(ledger)
    ledger.growths.conclude("feed", 5, until_ms=UNTIL_MS)
    must_verify(ledger)
    with ledger._door.write() as writing:
        writing.append(Grown(replace(growth, until_ms=20)))
    (impossible,) = ledger.reports.verify()
    assert impossible == "feed 'feed' cannot have grown to 5 partitions as the ledger has it"
