"""Windows of an alarm whose feed, or whose reference feed, gets more partitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accountant.records import REFERENCE_PARTITIONS, PartialStatus
from tests.support.ledgers import must_verify, only_scope
from tests.unit.stream.config.alarms.test_band_references import (
    MINUTE_MS,
    OTHERS,
    OWN,
    running,
)

FEEDS = ("sales", "forecast")
LONG_AGO_MS = -(10**9)
"""Before anything that a window from 0 on takes: a forecast is written two days ahead."""


def announced(ledger, feed, from_ms):
    """Announce a growth."""
    ledger.growths.announce(feed, 3, from_ms=from_ms, first_starts={"drift": from_ms})


def put_all(run, feed, revision):
    """Store every partial of the first window, those of a feed by somebody who knows."""
    for of, counts in zip(FEEDS, (OWN, OTHERS), strict=True):
        for partition, values in counts:
            counted = run.counted(partition, values)
            run.ledger.counts.put_partial(replace(counted, revision=revision * (of == feed)))


@pytest.mark.parametrize("feed", FEEDS)
def test_a_window_across_is_denied_when_it_has_ended(tmp_path, feed):
    """Not before: until the growth is done, nobody knows which windows lie across; uncharged."""
    with running(tmp_path) as run:
        announced(run.ledger, feed, MINUTE_MS // 2)
        cut_ms = MINUTE_MS + run.query.grace_ms
        run.now_ms[0] = cut_ms
        assert run.ended() == []
        run.now_ms[0] = cut_ms + 1
        assert run.runtime.judge.due() == ["drift"]
        assert run.ended() == [("denied", "repartitioned", 0)]
        assert only_scope(run.ledger).spent_units == 0
        must_verify(run.ledger)


@pytest.mark.parametrize("feed", FEEDS)
def test_a_window_from_before_is_decided_as_ever(tmp_path, feed):
    """By the partitions that there were, whoever stored their counts, before or after."""
    with running(tmp_path) as run:
        run.put(*OWN[0])
        announced(run.ledger, feed, MINUTE_MS + run.query.grace_ms)
        run.late(5 * MINUTE_MS)
        run.put(*OWN[1])
        assert run.ended() == []
        put_all(run, feed, revision=1)
        assert run.ended() == [("decided", None, 1)]


@pytest.mark.parametrize("feed", FEEDS)
def test_a_window_from_after_waits_for_the_new_partition(tmp_path, feed):
    """The counts of the old ones alone decide nothing."""
    with running(tmp_path, LONG_AGO_MS) as run:
        announced(run.ledger, feed, LONG_AGO_MS + 10)
        run.ledger.growths.conclude(feed, 3, until_ms=LONG_AGO_MS + 20)
        run.late(5 * MINUTE_MS)
        put_all(run, feed, revision=2)
        assert run.ended() == []
        new = 2 + (REFERENCE_PARTITIONS if feed == "forecast" else 0)
        put = run.ledger.counts.put_partial
        assert put(run.counted(new, [0, 0])) is PartialStatus.STALE
        assert run.ended() == []
        assert put(replace(run.counted(new, [0, 0]), revision=2)) is PartialStatus.STORED
        assert run.ended() == [("decided", None, 1)]


def test_whoever_decides_knows_what_those_knew_who_counted(tmp_path, monkeypatch):
    """A growth between two reads of the ledger does not make two old partitions a whole window."""
    with running(tmp_path, LONG_AGO_MS) as run:
        read = run.ledger.counts.partials

        def meanwhile(key):
            monkeypatch.setattr(run.ledger.counts, "partials", read)
            run.now_ms[0] = LONG_AGO_MS
            announced(run.ledger, "sales", LONG_AGO_MS + 10)
            run.ledger.growths.conclude("sales", 3, until_ms=LONG_AGO_MS + 20)
            run.late(5 * MINUTE_MS)
            put_all(run, "sales", revision=2)
            return read(key)

        monkeypatch.setattr(run.ledger.counts, "partials", meanwhile)
        assert run.ended() == []
        assert len(read(run.counted(0, [0, 0]).key)) == 4
