"""Caps over a period: who counts in which windows, whatever the log, the reads and the restarts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from accountant.units import Contribution, PrivacyUnit
from stream.counting.bounding import Bounds
from stream.counting.partition import PartitionReader
from stream.counting.sharing import SharedCounter
from stream.counting.usage import Usage
from stream.events.units import Units
from stream.model.feeds import Codec
from stream.windows.calendars import FixedCalendar
from stream.windows.periods import Periods
from tests.support.contributions import CELLS, random_rows, rows_of
from tests.support.neighbours import breach, scattered
from tests.support.random_logs import MINUTE_MS, START_MS, Setup, alarms_of, random_log

SETUPS = [
    Setup(Codec.JSON, PrivacyUnit.USER, ids=False, partitions=2),
    Setup(Codec.ARROW, PrivacyUnit.USER, ids=True, partitions=1),
]


def capped(setup, most=1):
    """Return the configuration with a cap over its periods of 90 seconds, which windows straddle.

    Alarms over the same rows and windows share a counter.
    """
    alarms = setup.alarms
    caps = replace(alarms.budget.contribution, windows_per_period=most)
    twice = replace(alarms.by_name["count"], id="count-again")
    queries = {**alarms.by_name, "count-again": twice}
    return replace(alarms, by_name=queries, budget=replace(alarms.budget, contribution=caps))


class ForgetsAtRestart(PartitionReader):
    """Broken twin: begins at the oldest undecided window with nobody's windows used up."""

    def begin(self, cursors, used=None):
        """Leave the beginning of the period out."""
        super().begin(cursors, used)
        from_ms = min(cursors.values())
        for counter in self._counters.all:
            counter.usage = Usage(1)
            counter.go_to(counter.alarm.calendar.first_starting_at(from_ms))
        return from_ms - 30_000


class HasNoCap(PartitionReader):
    """Broken twin: lets everybody count in all windows."""

    def __init__(self, **given):
        caps = replace(given["budget"].contribution, windows_per_period=None)
        super().__init__(**{**given, "budget": replace(given["budget"], contribution=caps)})


@pytest.mark.parametrize(("setup", "most"), [(SETUPS[0], 1), (SETUPS[1], 2)], ids=str)
def test_a_person_moves_no_more_windows_than_the_cap(setup, most):
    """Whatever hostile events there are; and no cell moves too far. A twin without it does more."""
    alarms = capped(setup, most)
    logs = [random_log(setup, random.Random(f"caps {seed}")) for seed in range(2)]
    assert not any(breach(alarms, setup, log) for log in logs)
    assert any("too many windows" in breach(alarms, setup, log, HasNoCap) for log in logs)


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_restarts_do_not_show(setup):
    """Where a worker stopped, and what it had stored by then, changes no count."""
    for seed in range(5):
        rng = random.Random(f"restart {seed}")
        assert not scattered(capped(setup), setup, random_log(setup, rng, 30), rng, PartitionReader)


def test_a_cap_that_is_forgotten_at_restart_is_caught():
    """By the same check, where no window reaches far back."""
    alarms = capped(SETUPS[0])
    short = replace(alarms, by_name={"count": alarms.by_name["count"]})
    rng = random.Random("restart")
    logs = (random_log(SETUPS[0], rng, 30) for _ in range(20))
    assert any(scattered(short, SETUPS[0], log, rng, ForgetsAtRestart) for log in logs)


EVENTS = list(product(range(2), range(3)))
"""Of two people in three minutes."""


def first_windows(events, most):
    """Return how many people count in a minute: each in the first to end that they are in."""
    return Counter(
        minute
        for person in range(2)
        for minute in sorted({minute for who, minute in events if who == person})[:most]
    )


def test_the_definition_by_enumeration():
    """Of every order of up to three events, those of the first windows to end count."""
    alarms = alarms_of(Codec.JSON, PrivacyUnit.USER, False)
    query = replace(alarms.by_name["count"], grace_ms=10 * MINUTE_MS)
    hour = FixedCalendar(60 * MINUTE_MS, 60 * MINUTE_MS)
    budget = replace(alarms.budget, periods=Periods(hour))
    index = query.calendar.first_starting_at(START_MS)
    logs = [log for size in (2, 3) for log in permutations(EVENTS, size)]
    for most, events in product((1, 2), logs):
        caps = Contribution(1, 1, windows_per_period=most)
        counter = SharedCounter([query], replace(budget, contribution=caps))
        counter.begin({query.id: START_MS}, {})
        counter.go_to(index)
        who, minute = np.array(events).T
        rows = rows_of(
            len(events),
            time_ms=START_MS + minute * MINUTE_MS,
            append_ms=np.full(len(events), START_MS + 3 * MINUTE_MS),
            unit=Units.of(np.stack([who, who], axis=1).astype(np.uint64)),
        )
        counter.add(rows)
        found = []
        for _ in range(3):
            ((_, vector),) = counter.cut()
            found.append(vector.value.sum())
            counter.go_to(counter.index + 1)
        assert found == [first_windows(events, most)[at] for at in range(3)], events


def test_what_was_used_up_goes_through_its_text_and_with_its_period():
    """The text says it all, in one order; periods that are over are forgotten."""
    rng = np.random.default_rng(3)
    usage, again = Usage(2), Usage(2)
    for _ in range(6):
        rows = random_rows(rng, 20, Bounds(True, (True,), False, 1, 1, CELLS))
        left = usage.take(rows)
        assert (again.take(rows).sequence == left.sequence).all()
        again = Usage(2, again.encoded())
        assert again.encoded() == usage.encoded()
    several = len(usage)
    usage.forget_before(1)
    assert 0 < len(usage) < several
    usage.forget_before(201)
    assert not usage.encoded()
