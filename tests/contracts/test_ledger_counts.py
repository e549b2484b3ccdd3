"""Partials and marks: what partitions counted is kept until its window is decided."""

from __future__ import annotations

from accountant.records import Stand

DATABASES = ["sqlite"]


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
