"""Which noisy counts a board knows: those of the last window, of alarms that release them."""

from __future__ import annotations

import msgspec

from stream.kafka.board.counts import Counts
from tests.support.published import HOUR_MS, count_of

LAB, HALL = {"room": "lab"}, {"room": "hall"}


def test_the_last_windows_counts_are_known() -> None:
    """Whatever is newer replaces all of what is older; copies and what is late say nothing."""
    counts = Counts(frozenset({"crowd"}))
    assert counts.take(count_of(1, LAB, 5.0))
    assert counts.take(count_of(1, HALL, -2.5))
    assert not counts.take(count_of(1, HALL, -2.5))
    assert not counts.take(count_of(0, LAB, 9.0))
    ((query, known),) = counts.all()
    assert (query, known.start_ms, known.deviation) == ("crowd", HOUR_MS, 5.5)
    assert known.counts == {(("room", "lab"),): 5.0, (("room", "hall"),): -2.5}
    assert counts.take(count_of(2, HALL, 3.0))
    ((_, known),) = counts.all()
    assert known.counts == {(("room", "hall"),): 3.0}


def test_another_ledgers_numbers_say_nothing() -> None:
    """After a restore the window's time tells which is newer."""
    counts = Counts(frozenset({"crowd"}))
    counts.take(count_of(5, LAB, 5.0))
    older = msgspec.structs.replace(count_of(4, LAB, 1.0), ledger="other", sequence=90)
    newer = msgspec.structs.replace(count_of(6, LAB, 2.0), ledger="other", sequence=0)
    assert not counts.take(older)
    assert counts.take(newer)
    ((_, known),) = counts.all()
    assert known.counts == {(("room", "lab"),): 2.0}


def test_who_does_not_release_has_none() -> None:
    """Whatever somebody wrote to the topic, and after it was forgotten."""
    counts = Counts(frozenset({"other"}))
    assert not counts.take(count_of(0, LAB, 5.0))
    assert list(counts.all()) == []
    counts = Counts(frozenset({"crowd"}))
    counts.take(count_of(0, LAB, 5.0))
    counts.forget("crowd")
    assert list(counts.all()) == []


def test_nothing_grows_without_end() -> None:
    """A window of more predicates than are kept keeps the first of them."""
    counts = Counts(frozenset({"crowd"}))
    taken = [counts.take(count_of(0, {"room": f"r{number}"}, 1.0)) for number in range(10_001)]
    assert (sum(taken), taken[-1]) == (10_000, False)
