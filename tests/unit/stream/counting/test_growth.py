"""A feed gets more partitions: a person counts once in every window, wherever their events lie.

A hostile sensor writes each person's events into every partition, all the time, dated as it likes.
The windows are of COUNT(DISTINCT person), long, hopping and short; a person who moves a cell by
two is in two partitions of one window. Readers that choose partitions by event times, or count
windows across the growth, must be caught by the same check.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import groupby
from operator import itemgetter

import numpy as np
import pytest

from accountant.layouts import Growth
from stream.counting.partition import PartitionReader
from stream.events.decoder import Record
from stream.events.records import Records
from stream.model.routing import first_start_after
from tests.support.neighbours import reader_for
from tests.support.random_logs import loaded

MINUTE_MS = 60_000
END_MS = 30 * MINUTE_MS
FROM_MS, UNTIL_MS = 10 * MINUTE_MS + 7, 12 * MINUTE_MS + 13
PEOPLE = tuple(f"p{number}" for number in range(20))

CONFIG = """\
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
    codec: json
    allowed_skew: 90s
    max_append_time_regression: 200ms
budget: {privacy_unit: user, epsilon_max: "9000", period: lifetime}
alarms:
"""
ALARM = """\
  {name}:
    sql: SELECT 1 FROM badges GROUP BY {window} HAVING COUNT(DISTINCT person) > 5
    max_fnr: 0.05
    tolerance: 2
    timing: {{grace: 45s}}
"""
WINDOWS = {
    "short": "TUMBLE(ts, INTERVAL '1' MINUTE)",
    "long": "TUMBLE(ts, INTERVAL '7' MINUTE)",
    "hopping": "HOP(ts, INTERVAL '2' MINUTE, INTERVAL '6' MINUTE)",
}


class CountsAcross(PartitionReader):
    """Broken: routes by append times, and counts the windows across the growth, too."""

    def _belongs(self, _state):
        return True


class ByEventTime(CountsAcross):
    """Broken: routes each record by the time that its sender gave it."""

    def _routed(self, records):
        dated = [
            (int(self.layouts.at(np.array([json.loads(value or b"")["ts"]]))[0]), at)
            for at, value in enumerate(records.value)
        ]
        for partitions, run in groupby(dated, key=itemgetter(0)):
            places = [at for _, at in run]
            yield partitions, records.between(places[0], places[-1] + 1)


class ForgetsTheLate(PartitionReader):
    """Broken: takes windows across for those whose own time the growth lies in."""

    def _belongs(self, state):
        return bool(state.end_ms <= FROM_MS or state.start_ms >= UNTIL_MS)


def alarms():
    """Return three alarms on one feed."""
    written = (ALARM.format(name=name, window=window) for name, window in WINDOWS.items())
    return loaded(CONFIG + "".join(written))


def counted(*, twin=PartitionReader, until_ms=UNTIL_MS, first=2):
    """Return what five partitions count, each person in each of them every ten seconds."""
    growth = Growth("badges", 5, first, FROM_MS, until_ms, announced_ms=0)
    found = []
    for partition in range(5):
        reader = reader_for(
            alarms(), twin=twin, partition=partition, partitions=first, growths=[growth]
        )
        reader.begin(dict.fromkeys(WINDOWS, 0))
        reader.read(list(_hostile()))
        found += reader.partials()
    return found


def _hostile():
    """Yield the same events for every partition; some are dated back, some ahead."""
    offset = 0
    for append_ms in range(0, END_MS, 10_000):
        for number, person in enumerate(PEOPLE):
            for shift_ms in (0, -40_000, 80_000)[: 1 + number % 3]:
                time_ms = max(append_ms + shift_ms, 0)
                value = json.dumps({"person": person, "ts": time_ms}).encode()
                yield Record(offset, append_ms, log_append=True, value=value)
                offset += 1


def sums(partials):
    """Return how many people a window counts, over its partitions."""
    found = Counter()
    for one in partials:
        found[one.key.query, one.key.start_ms] += int(one.value.sum())
    return found


def most_of_a_person(partials):
    """Return how often one person counts in a window at most: there are so many of them."""
    return max(sums(partials).values()) - len(PEOPLE) + 1


def test_nobody_counts_twice_in_a_window():
    """Everybody is everywhere, and each window of a full crowd counts each of them once."""
    partials = counted()
    assert most_of_a_person(partials) == 1
    full = [key for key, value in sums(partials).items() if value == len(PEOPLE)]
    assert {query for query, _ in full} == set(WINDOWS)
    assert any(start > UNTIL_MS for _, start in full)
    assert any(start < FROM_MS - 7 * MINUTE_MS for _, start in full)


@pytest.mark.parametrize("twin", [ByEventTime, CountsAcross, ForgetsTheLate])
def test_broken_readers_count_somebody_twice(twin):
    """The same log shows it."""
    assert most_of_a_person(counted(twin=twin)) > 1


def test_windows_across_a_growth_have_no_counts_and_others_have_them_all():
    """Two partitions count before it, five after it, none across; nothing else is left out."""
    places = defaultdict(set)
    for one in counted():
        assert one.revision == 2
        places[one.key.query, one.key.start_ms].add(one.partition)
    for query in alarms().by_name.values():
        windows = list(map(query.calendar.bounds, range(30)))
        open_then = [start for start, end_ms in windows if end_ms + query.grace_ms > FROM_MS]
        assert first_start_after(query, FROM_MS) == open_then[0]
        ended = [each for each in windows if each[1] + query.grace_ms < END_MS - MINUTE_MS]
        across = [
            start_ms - 90_000 < UNTIL_MS and end_ms + 45_000 > FROM_MS for start_ms, end_ms in ended
        ]
        for (start_ms, end_ms), touches in zip(ended, across, strict=True):
            several = 0 if touches else 2 if end_ms < FROM_MS else 5
            assert places[query.id, start_ms] == set(range(several)), (query.id, start_ms)
        assert {False, True} <= set(across)


def test_while_a_growth_is_not_done_nothing_behind_it_is_counted():
    """When every sensor knows is not known yet, so every later window may have both."""
    partials = counted(until_ms=None)
    assert {one.partition for one in partials} == {0, 1}
    assert all(one.key.end_ms + 45_000 <= FROM_MS for one in partials)


def test_a_single_partition_may_grow():
    """Before, everybody belonged into partition 0, and what lies in others is nobody's."""
    partials = counted(first=1)
    assert {one.partition for one in partials if one.key.end_ms < FROM_MS} == {0}
    assert most_of_a_person(partials) == 1


def test_append_times_that_step_back_are_routed_one_by_one():
    """A leader change dates a later record earlier: it is routed as records of that time were."""
    growth = Growth("badges", 5, 2, FROM_MS, UNTIL_MS, announced_ms=0)
    reader = reader_for(alarms(), partitions=2, growths=[growth])
    times = [UNTIL_MS - 1, UNTIL_MS, UNTIL_MS - 2, UNTIL_MS + 1]
    records = [Record(at, time, log_append=True, value=b"{}") for at, time in enumerate(times)]
    routed = reader._routed(Records.of(records))
    runs = [(partitions, run.offset.tolist()) for partitions, run in routed]
    assert runs == [(2, [0]), (5, [1]), (2, [2]), (5, [3])]
