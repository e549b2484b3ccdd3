"""What one event moves of the looks at a window while it fills, in logs that are hostile.

``docs/research/proofs/early.md`` rests on it: one cell of one window, no look before the event's
own step, by at most one sensitivity; and of plain counts nothing, or the same in all looks from one
on.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accountant.units import PrivacyUnit
from stream.counting.partition import PartitionReader, ReadStart
from stream.model.feeds import Codec
from stream.windows.cumulative import CumulativeCalendar
from tests.support.neighbours import dense, neighbours, read, reader_of, record_of
from tests.support.random_logs import END_MS, MINUTE_MS, START_MS, Setup, alarms_of, random_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream.model.alarms import Alarms
    from tests.support.random_logs import Event, Log, Message

STEPS = 3
PLAIN = Setup(Codec.JSON, PrivacyUnit.EVENT, ids=False, partitions=2)
SETUPS = [PLAIN, Setup(Codec.ARROW, PrivacyUnit.EVENT, ids=True, partitions=1)]
Looks = dict[tuple[str, int], list[np.ndarray]]
"""By alarm and start of the window, every cell at each look."""


@cache
def early(setup: Setup) -> Alarms:
    """Return counts, distinct counts and sums over windows that are looked at every minute."""
    alarms = alarms_of(setup.codec, setup.unit, setup.ids)
    calendar = CumulativeCalendar(STEPS * MINUTE_MS, MINUTE_MS)
    queries = {
        name: replace(alarms.by_name[name], calendar=calendar)
        for name in ("count", "people", "total")
    }
    return replace(alarms, by_name=queries)


def looked(setup: Setup, log: Log) -> Looks:
    """Return what every look sees, all partitions together."""
    alarms = early(setup)
    found: defaultdict[tuple[str, int], dict[int, Any]] = defaultdict(dict)
    for partition, messages in enumerate(log):
        for key, partial in read(alarms, setup, partition, messages).items():
            window = key.start_ms // MINUTE_MS // STEPS * STEPS * MINUTE_MS
            seen = found[key.query, window]
            seen[key.start_ms] = seen.get(key.start_ms, 0) + dense(partial)
    return {
        place: [each[at] for at in sorted(each)]
        for place, each in found.items()
        if len(each) == STEPS
    }


def moves(setup: Setup, log: Log) -> Iterator[tuple[str, int, np.ndarray, Event]]:
    """Yield what an event that is gone moves: alarm, window, shape (looks, cells), the event."""
    full = looked(setup, log)
    for rest, (gone,) in neighbours(setup, log):
        for (query, window), here in looked(setup, rest).items():
            change = np.stack(full[query, window]) - np.stack(here)
            if change.any():
                yield query, window, change, gone


def steady(change: np.ndarray) -> bool:
    """Whether every look from one on has moved by the same, and none before."""
    moved = change[change.any(axis=1)]
    return bool((moved == moved[0]).all()) and bool((change[-len(moved) :] == moved).all())


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_an_event_moves_one_cell_of_one_window_from_its_step_on(setup: Setup) -> None:
    """Whatever else is in the log: late, early, doubled, broken."""
    alarms, seen = early(setup), set()
    for seed in range(2):
        of_event: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
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


def test_distinct_counts_are_no_counts_in_which_events_stay() -> None:
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

    def reads_from_ms(self, cursors: Mapping[str, int], used: Any = None) -> int:
        """Leave the steps before it out."""
        del used
        return min(cursors.values()) - self.feed.allowed_skew_ms


def resumed_otherwise(
    setup: Setup, partition: int, messages: Sequence[Message], reader: type[PartitionReader]
) -> bool:
    """Whether somebody who comes back at any step counts otherwise from there on."""
    alarms = early(setup)
    whole = read(alarms, setup, partition, messages)
    for step in range(2 * STEPS):
        cursors = dict.fromkeys(alarms.by_name, START_MS + step * MINUTE_MS)
        again = reader_of(alarms, setup, partition, reader)
        from_ms = again.reads_from_ms(cursors)
        again.begin(cursors, ReadStart(whole=True))
        rest = [one for one in messages if not one.log_append or one.append_ms >= from_ms]
        again.read([record_of(setup, message) for message in rest])
        again.arrived_through(END_MS)
        found = {partial.key: partial.digest for partial in again.partials()}
        assert min(key.start_ms for key in found) == START_MS + step * MINUTE_MS
        if any(whole[key].digest != digest for key, digest in found.items()):
            return True
    return False


def test_who_comes_back_at_a_later_step_counts_the_window_from_its_start() -> None:
    """Partials are those of a reader that never stopped; a twin that reads too little is caught."""
    logs = [random_log(PLAIN, random.Random(f"back {seed}")) for seed in range(3)]
    slices = [(at, messages) for log in logs for at, messages in enumerate(log)]
    assert not any(resumed_otherwise(PLAIN, *one, PartitionReader) for one in slices)
    assert any(resumed_otherwise(PLAIN, *one, BeginsAtTheStep) for one in slices)
