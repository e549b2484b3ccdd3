"""Queries share what they have in common, and none of them can tell."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import create_autospec

import pytest

from accountant.units import PrivacyUnit
from stream.counting import sharing
from stream.counting.counter import WindowCounter
from stream.counting.projection import Columns
from stream.counting.sharing import FeedCounters
from stream.model.feeds import Codec
from tests.support.neighbours import read
from tests.support.random_logs import (
    MINUTE_MS,
    MINUTES,
    START_MS,
    Setup,
    alarms_of,
    random_log,
)

_SETUPS = [
    Setup(Codec.JSON, unit, ids, partitions=1) for unit in PrivacyUnit for ids in (False, True)
]


def digests(alarms, setup, log, queries, first):
    """Return what every partial of some queries holds, which begin where they like (ms)."""
    some = replace(alarms, by_name={query.id: query for query in queries})
    found = read(some, setup, 0, log, cuts=(20, 30), cursors=first)
    return {key: partial.digest for key, partial in found.items()}


def told_apart(setup, alarms, queries, rng):
    """Return which query counts otherwise beside the others than alone; empty for none."""
    first = {q.id: START_MS + rng.randrange(-2, MINUTES) * MINUTE_MS for q in queries}
    (log,) = random_log(setup, rng, size=60)
    together = digests(alarms, setup, log, queries, first)
    for query in queries:
        alone = digests(alarms, setup, log, [query], first)
        if alone != {key: found for key, found in together.items() if key.query == query.id}:
            return query.id
    return ""


def beside_others(setup, rng):
    """Return which query counts otherwise beside other queries than alone; empty for none.

    Of every alarm there are twins that differ in their thresholds only, and some that differ from
    it in one thing that matters.
    """
    alarms = setup.alarms
    queries = []
    for query in alarms.by_name.values():
        queries += [query, replace(query, id=f"{query.id} twin", fingerprint="of the twin")]
    count, people = alarms.by_name["count"], alarms.by_name["people"]
    queries += [
        replace(count, id="slow", grace_ms=3 * count.grace_ms),
        replace(count, id="hopping", calendar=people.calendar),
        replace(count, id="filtered", where=people.where),
        replace(count, id="distinct", aggregates=people.aggregates),
    ]
    rng.shuffle(queries)
    return told_apart(setup, alarms, queries, rng)


@pytest.mark.long
@pytest.mark.parametrize("setup", _SETUPS, ids=str)
def test_a_query_counts_the_same_whatever_stands_beside_it(setup):
    """Its partials are those of a reader that reads for it alone, digests and all."""
    for seed in range(2):
        assert not beside_others(setup, random.Random(f"sharing {setup} {seed}")), seed


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("statistics_key", lambda query: (query.domain, len(query.aggregates))),
        ("counting_key", lambda query: query.calendar),
        ("counting_key", lambda query: query.grace_ms),
    ],
)
def test_sharing_too_much_is_caught(name, key, monkeypatch):
    """Keys that leave something out let queries count for one another: the check above sees it."""
    monkeypatch.setattr(sharing, name, key)
    caught = [beside_others(setup, random.Random(f"{name} {setup}")) for setup in _SETUPS]
    assert any(caught)


def test_forgetting_too_early_is_caught(monkeypatch):
    """So is a counter that forgets the window that it waits for."""

    def eager(self, index):
        go_to(self, index)
        self._counter.forget_before(self.index + 1)

    go_to = sharing.SharedCounter.go_to
    monkeypatch.setattr(sharing.SharedCounter, "go_to", eager)
    with pytest.raises(ValueError, match="forgotten"):
        beside_others(_SETUPS[0], random.Random("eager"))


@pytest.mark.parametrize("alarms_alike", [1, 100])
def test_alarms_that_count_the_same_cost_what_one_costs(alarms_alike, monkeypatch):
    """Rows are made, counted and cut once; a partial is each alarm's own."""
    spies = []
    for of, name in ((WindowCounter, "add"), (WindowCounter, "cuts"), (Columns, "cells")):
        method = getattr(of, name)
        spies.append(create_autospec(method, side_effect=method))
        monkeypatch.setattr(of, name, spies[-1])
    setup = _SETUPS[0]
    alarms = setup.alarms
    query = alarms.by_name["count"]
    queries = [replace(query, id=f"alarm{at}", fingerprint=f"{at}") for at in range(alarms_alike)]
    (log,) = random_log(setup, random.Random("alike"), size=30)
    alike = replace(alarms, by_name={query.id: query for query in queries})
    partials = read(alike, setup, 0, log, cuts=(15,))
    windows = {key.start_ms for key in partials}
    assert len(partials) == alarms_alike * len(windows)
    assert {one.fingerprint for one in partials.values()} == {q.fingerprint for q in queries}
    assert [spy.call_count for spy in spies] == [2, len(windows), 2]


def test_queries_of_two_feeds_are_not_counted_together():
    """What is alike on two feeds is not the same: keys leave the feed out."""
    alarms = alarms_of(Codec.JSON, PrivacyUnit.EVENT, ids=False)
    here = alarms.by_name["count"]
    there = replace(here, id="there", feed=replace(here.feed, name="elsewhere"))
    with pytest.raises(ValueError, match="one feed"):
        FeedCounters([here, there], alarms.budget)
