"""Partials and marks: what partitions counted is kept until its window is decided."""

from __future__ import annotations

import pytest

from accountant.errors import ConfigChangedError, LogChangedError
from accountant.records import PartialStatus, QueryRegistration, Stand
from tests.support.ledgers import (
    EVENT,
    TOPIC_ID,
    A,
    Series,
    partial,
    set_up,
    terms,
)

DATABASES = ["sqlite"]


def test_partials_come_back_as_they_were(ledger):
    """Vectors survive the database bit by bit, in order of partitions."""
    set_up(ledger, EVENT, 5, [A])
    big = partial(A, 0, partition=1, values=(2**62, -(2**62), 0))
    small = partial(A, 0)
    assert [ledger.counts.put_partial(one) for one in (big, small)] == [PartialStatus.STORED] * 2
    assert [one.digest for one in ledger.counts.partials(A.key(0))] == [small.digest, big.digest]
    assert ledger.counts.partials(A.key(0))[1].value.tolist() == [2**62, -(2**62), 0]


def test_a_partial_of_another_log_or_configuration_is_refused(ledger):
    """Nothing counted elsewhere gets in."""
    set_up(ledger, EVENT, 5, [A])
    with pytest.raises(ConfigChangedError):
        ledger.counts.put_partial(partial(Series("a", fingerprint="other"), 0))
    ledger.pins.register_budget(terms(EVENT, 5, "t"))
    ledger.pins.register_query(QueryRegistration("n", "t", "elsewhere", "f1", "{}", 0))
    with pytest.raises(LogChangedError):
        ledger.counts.put_partial(partial(Series("n"), 0))
    assert TOPIC_ID not in str(ledger.reports.verify())


def test_punctuation_marks(ledger):
    """The newest mark at or before an instant is found, per feed and partition."""
    for time_ms, offset in ((10, 100), (20, 200), (10, 999)):
        ledger.counts.put_mark("feed", 0, time_ms, offset)
    assert [ledger.counts.mark_before("feed", 0, at) for at in (9, 10, 19, 20, 99)] == [
        *(None, 100, 100, 200, 200)
    ]
    assert ledger.counts.mark_before("feed", 1, 99) is None


def test_all_feeds_are_reported_in_one_transaction(ledger, clock):
    """Each at its own place, all at one time."""
    clock.now_ms += 1
    ledger.counts.put_places(
        {
            "badges": {0: (7, Stand.END), 1: (8, Stand.READING)},
            "forecast": {0: (9, Stand.TRANSACTION)},
        }
    )
    badges, forecast = ledger.counts.places("badges"), ledger.counts.places("forecast")
    told = [(at.log_offset, at.stand) for at in (badges[0], badges[1], forecast[0])]
    assert told == [(7, Stand.END), (8, Stand.READING), (9, Stand.TRANSACTION)]
    assert {at.seen_ms for at in (*badges.values(), *forecast.values())} == {clock.now_ms}
