"""Whom a window waits for, how long, and what it is denied as."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from accountant.records import REFERENCE_PARTITIONS, UNSEEN_MS, Place, Stand
from stream.decisions.waiting import Awaited
from stream.model.reasons import DENIALS
from stream.model.references import WindowPartials

CUT_MS = 1_000_000
TIMEOUT_MS = 60_000
LATER_MS = CUT_MS + TIMEOUT_MS + 1
STILL = Place(0, 5, Stand.READING, 0, LATER_MS)


def told(own, reference=None, now_ms=LATER_MS):
    """Return what is said of a window that lacks partition 0 of every feed and has partition 1."""
    query = SimpleNamespace(
        feed=SimpleNamespace(name="own"), decide_timeout_ms=TIMEOUT_MS, reference=None
    )
    if reference is not None:
        feed = SimpleNamespace(name="reference")
        query.reference = SimpleNamespace(feed=feed, timeout_ms=TIMEOUT_MS)
    partials = WindowPartials(
        [SimpleNamespace(partition=each) for each in ([1] if reference is None else [0, 1])],
        [SimpleNamespace(partition=REFERENCE_PARTITIONS + 1)],
    )
    awaited = Awaited(query, partials, {"own": 2, "reference": 2})
    assert awaited
    places = {"own": own, "reference": reference or {}}
    counts = SimpleNamespace(places=places.__getitem__)
    return awaited.too_long(counts, CUT_MS, now_ms)


@pytest.mark.parametrize(
    ("stand", "reason"),
    [
        (Stand.READING, "partition_missing"),
        (Stand.END, "partition_missing"),
        (Stand.TRANSACTION, "transaction_open"),
        (Stand.CORRUPT, "partition_corrupt"),
    ],
)
def test_a_partition_that_stands_still_is_named_by_what_holds_it(stand, reason):
    """The clock starts at the cut or when the place last moved, whichever is later."""
    place = replace(STILL, stand=stand)
    assert told({0: place}) == reason
    assert told({0: place}, now_ms=LATER_MS - 1) is None
    assert told({0: replace(place, still_since_ms=CUT_MS + 1)}) is None
    assert told({0: replace(place, seen_ms=LATER_MS - 1)}) is None
    assert reason in DENIALS


def test_what_nobody_could_read_is_waited_for():
    """Neither a partition that was never read, nor one whose reader is gone, is missing."""
    assert told({}) is None
    assert told({1: STILL}) is None, "its count is there"
    assert told({0: STILL}, now_ms=LATER_MS + UNSEEN_MS) == "partition_missing"
    assert told({0: STILL}, now_ms=LATER_MS + UNSEEN_MS + 1) is None


def test_a_reference_that_stands_still_is_named_as_such():
    """Whatever holds it."""
    for stand in Stand:
        assert told({0: STILL}, {0: replace(STILL, stand=stand)}) == "reference_timeout"
    assert told({0: STILL}, {}) is None
    assert "reference_timeout" in DENIALS
