"""What one event moves of the looks at a window while it fills, in logs that are hostile.

``docs/research/proofs/early.md`` rests on it: one cell of one window, no look before the event's
own step, by at most one sensitivity; and of plain counts nothing, or the same in all looks from one
on.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from accountant.units import PrivacyUnit
from stream.counting.partition import PartitionReader
from stream.model.feeds import Codec
from stream.windows.cumulative import CumulativeCalendar
from tests.support.neighbours import dense, neighbours, read, scattered
from tests.support.random_logs import MINUTE_MS, Setup, random_log

STEPS = 3
PLAIN = Setup(Codec.JSON, PrivacyUnit.EVENT, ids=False, partitions=2)
SETUPS = [PLAIN, Setup(Codec.ARROW, PrivacyUnit.EVENT, ids=True, partitions=1)]


@cache
def early(setup):
    """Return counts, distinct counts and sums over windows that are looked at every minute."""
    alarms = setup.alarms
    calendar = CumulativeCalendar(STEPS * MINUTE_MS, MINUTE_MS)
    queries = {
        name: replace(alarms.by_name[name], calendar=calendar)
        for name in ("count", "people", "total")
    }
    return replace(alarms, by_name=queries)


def looked(setup, log):
    """Return what every look sees, all partitions together."""
    found = defaultdict(Counter)
    for partition, messages in enumerate(log):
        for key, partial in read(early(setup), setup, partition, messages).items():
            window = key.start_ms - key.start_ms % (STEPS * MINUTE_MS)
            found[key.query, window][key.start_ms] += dense(partial)
    return {
        place: np.stack([looks[at] for at in sorted(looks)])
        for place, looks in found.items()
        if len(looks) == STEPS
    }


def moves(setup, log):
    """Yield what an event that is gone moves: alarm, window, shape (looks, cells), the event."""
    full = looked(setup, log)
    for rest, (gone,) in neighbours(setup, log):
        for (query, window), here in looked(setup, rest).items():
            if (change := full[query, window] - here).any():
                yield query, window, change, gone


def steady(change):
    """Whether every look from one on has moved by the same, and none before."""
    moved = change[change.any(axis=1)]
    return bool((moved == moved[0]).all()) and bool((change[-len(moved) :] == moved).all())


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_an_event_moves_one_cell_of_one_window_from_its_step_on(setup):
    """Whatever else is in the log: late, early, doubled, broken."""
    alarms, seen = early(setup), set()
    for seed in range(2):
        of_event = defaultdict(set)
        for query, window, change, gone in moves(setup, random_log(setup, random.Random(seed))):
            own = (gone.ts - window) // MINUTE_MS
            assert 0 <= own < STEPS
            assert not change[:own].any()
            assert len(np.flatnonzero(change.any(axis=0))) == 1
            (most,) = alarms.by_name[query].condition.sensitivities
            assert np.abs(change).max() <= most
            of_event[query, id(gone)].add(window)
            seen.add((query, own, int(change.any(axis=1).sum())))
            if query == "count" and not setup.ids:
                assert steady(change)
        assert {len(windows) for windows in of_event.values()} == {1}
    assert {number for _, own, number in seen if own == 0} >= {STEPS}
    assert {query for query, _, _ in seen} == set(alarms.by_name)


def test_distinct_counts_are_no_counts_in_which_events_stay():
    """The same look at them finds an event that later ones stand for: they pay for both."""
    logs = (random_log(PLAIN, random.Random(seed), size=30) for seed in range(20))
    assert any(
        not steady(change)
        for log in logs
        for query, _, change, _ in moves(PLAIN, log)
        if query == "people"
    )


class BeginsAtTheStep(PartitionReader):
    """Broken twin: who comes back when steps are overdue reads from the oldest of them on."""

    def begin(self, cursors, used=None):
        """Leave the steps before it out."""
        super().begin(cursors, used)
        return min(cursors.values()) - self.feed.allowed_skew_ms


def test_who_comes_back_at_a_later_step_counts_the_window_from_its_start():
    """Partials are those of a reader that never stopped; a twin that reads too little is caught."""
    rng = random.Random("back")
    logs = [random_log(PLAIN, rng) for _ in range(10)]
    assert not any(scattered(early(PLAIN), PLAIN, log, rng, PartitionReader) for log in logs)
    assert any(scattered(early(PLAIN), PLAIN, log, rng, BeginsAtTheStep) for log in logs)
