"""Caps over a period: who counts in which windows, whatever the log, the reads and the restarts."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accountant.records import Used
from accountant.units import Contribution, PrivacyUnit
from stream.counting.bounding import Bounds
from stream.counting.partition import PartitionReader, ReadStart
from stream.counting.projection import Rows
from stream.counting.sharing import SharedCounter
from stream.counting.usage import Usage
from stream.events.units import Units
from stream.model.feeds import Codec
from stream.windows.calendars import FixedCalendar
from stream.windows.periods import Periods
from tests.support.contributions import random_rows
from tests.support.neighbours import breach, dense, neighbours, part_of, read, reader_of, record_of
from tests.support.random_logs import (
    END_MS,
    MINUTE_MS,
    START_MS,
    Message,
    Setup,
    alarms_of,
    random_log,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream.events.decoder import Batch
    from stream.model.alarms import Alarms
    from tests.support.neighbours import Partials
    from tests.support.random_logs import Log


MOST = 1
SETUP = Setup(Codec.JSON, PrivacyUnit.USER, ids=False, partitions=2)
SETUPS = [SETUP, Setup(Codec.ARROW, PrivacyUnit.USER, ids=True, partitions=1)]
FIRST_MS = START_MS - 3 * MINUTE_MS


def capped(setup: Setup = SETUP, most: int = MOST) -> Alarms:
    """Return the configuration with a cap over its periods of 90 seconds, which windows straddle.

    Alarms over the same rows and windows share a counter.
    """
    alarms = alarms_of(setup.codec, setup.unit, setup.ids)
    caps = replace(alarms.budget.contribution, windows_per_period=most)
    twice = replace(alarms.by_name["count"], id="count-again")
    queries = {**alarms.by_name, "count-again": twice}
    return replace(alarms, by_name=queries, budget=replace(alarms.budget, contribution=caps))


class ForgetsAtRestart(PartitionReader):
    """Broken twin: begins at the oldest undecided window with nobody's windows used up."""

    def reads_from_ms(self, cursors: Mapping[str, int], used: Any = None) -> int:
        """Leave the beginning of the period out."""
        del used
        return min(cursors.values()) - 30_000

    def begin(self, cursors: Mapping[str, int], start: ReadStart, used: Any = None) -> None:
        """Begin where the cursor is."""
        super().begin(cursors, start, used)
        for state in self._states.values():
            alike = (self._states[name].index for name in state.counter.alarms)
            state.counter.begin(min(alike))


class CountsInLogOrder(PartitionReader):
    """Broken twin: the minutes that somebody's events came to first count, whichever ends first."""

    def __init__(self, **given: Any) -> None:
        budget = given["budget"]
        caps = replace(budget.contribution, windows_per_period=None)
        super().__init__(**{**given, "budget": replace(budget, contribution=caps)})
        self.met: dict[tuple[bytes, int], list[int]] = {}

    def count_batch(self, batch: Batch) -> None:
        """Leave out events of further minutes."""
        kept = np.ones(len(batch), np.bool_)
        hashes = batch.unit.hashes()
        for row in range(len(batch)):
            time_ms = int(batch.time_ms[row])
            minutes = self.met.setdefault((hashes[row].tobytes(), time_ms // 90_000), [])
            minute = time_ms // MINUTE_MS
            if minute not in minutes and len(minutes) < MOST:
                minutes.append(minute)
            kept[row] = minute in minutes
        super().count_batch(part_of(batch, kept))


def restarted(
    alarms: Alarms,
    setup: Setup,
    partition: int,
    messages: Sequence[Message],
    rng: random.Random,
    *,
    twin: type[PartitionReader] = PartitionReader,
) -> Partials:
    """Count a partition by workers that take it over from one another, after a few reads each.

    Each knows of the earlier ones what the ledger does: cursors, and what people had used up where
    that was stored in time. It reads the log from where it says it has to.
    """
    records = [record_of(setup, message) for message in messages]
    found: Partials = {}
    used: dict[str, list[Used]] = {name: [] for name in alarms.by_name}
    cursors = dict.fromkeys(alarms.by_name, FIRST_MS)
    for ends in (*sorted(rng.sample(range(len(records) + 1), min(3, len(records)))), None):
        reader = reader_of(alarms, setup, partition, twin)
        known = used if rng.random() > 0.3 else {}
        stored = {
            name: one
            for name, kept in known.items()
            for one in kept
            if one.start_ms < cursors[name]
        }
        from_ms = reader.reads_from_ms(cursors, stored)
        at = next((i for i, one in enumerate(records) if one.timestamp_ms >= from_ms), len(records))
        reader.begin(cursors, ReadStart(whole=True), stored)
        reader.read(records[at:ends])
        if ends is None:
            reader.arrived_through(END_MS)
        for partial in reader.partials():
            name = partial.key.query
            assert found.setdefault(partial.key, partial).digest == partial.digest
            if twin is not CountsInLogOrder:
                assert partial.used is not None
                used[name].append(Used(partial.key.start_ms, partial.used))
            if rng.random() < 0.7 and cursors[name] <= partial.key.start_ms:
                cursors[name] = partial.key.start_ms + MINUTE_MS
    return found


def windows_moved(alarms: Alarms, full: Sequence[Partials], less: Sequence[Partials]) -> int:
    """Return in how many windows of one alarm some count differs, at most."""
    moved = dict.fromkeys(alarms.by_name, 0)
    for key in full[0]:
        pairs = zip(full, less, strict=True)
        moved[key.query] += any((dense(a[key]) != dense(b[key])).any() for a, b in pairs)
    return max(moved.values())


def most_moved(alarms: Alarms, setup: Setup, log: Log, twin: type[PartitionReader]) -> int:
    """Return how many windows somebody's events of one period move, however reading restarts."""

    def count(at: int, messages: list[Message]) -> Partials:
        return restarted(alarms, setup, at, messages, random.Random(at), twin=twin)

    full = [count(at, messages) for at, messages in enumerate(log)]
    most = 0
    for rest, _ in neighbours(setup, log):
        # Partitions that lose nothing are counted as before.
        less = [
            full[at] if messages is log[at] else count(at, messages)
            for at, messages in enumerate(rest)
        ]
        most = max(most, windows_moved(alarms, full, less))
    return most


@pytest.mark.parametrize(("setup", "most"), [(SETUPS[0], 1), (SETUPS[1], 2)], ids=str)
def test_a_person_moves_no_more_windows_than_the_cap(setup: Setup, most: int) -> None:
    """Whatever hostile events there are, and whoever reads them; and no cell moves too far."""
    alarms, moved = capped(setup, most), 0
    for seed in range(2):
        log = random_log(setup, random.Random(f"caps {seed}"))
        assert not breach(alarms, setup, log)
        moved = max(moved, most_moved(alarms, setup, log, PartitionReader))
        assert moved <= most
    assert moved


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_restarts_do_not_show(setup: Setup) -> None:
    """Where a worker stopped, and what it had stored by then, changes no count."""
    alarms = capped(setup)
    assert not any(any(shows_restarts(PartitionReader, alarms, at, setup)) for at in range(3))


@pytest.mark.parametrize("twin", [ForgetsAtRestart, CountsInLogOrder])
def test_broken_twins_are_caught(twin: type[PartitionReader]) -> None:
    """A cap that is forgotten at restart, or counted in log order, shows when reading restarts."""
    alarms = capped()
    short = replace(
        alarms, by_name={"count": alarms.by_name["count"]}
    )  # no window reaches far back
    assert any("digest" in shows_restarts(twin, short, seed) for seed in range(20))


def shows_restarts(
    twin: type[PartitionReader], alarms: Alarms, seed: int, setup: Setup = SETUP
) -> Iterator[str]:
    """Yield what is otherwise of a partial, or contradicts itself, when a reader restarts."""
    rng = random.Random(f"restart {seed}")
    for at, messages in enumerate(random_log(setup, rng, size=30)):
        whole = read(alarms, setup, at, messages, twin=twin)
        try:
            parts = restarted(alarms, setup, at, messages, rng, twin=twin)
        except AssertionError:
            yield "digest"
            return
        for key, part in parts.items():
            yield from (
                what
                for what in ("digest", "used")
                if getattr(whole[key], what) != getattr(part, what)
            )


def test_a_cap_that_is_forgotten_at_restart_moves_more_windows() -> None:
    """The two-neighbour test sees it, too."""
    alarms = capped()
    logs = (random_log(SETUP, random.Random(f"caps {seed}"), size=30) for seed in range(30))
    assert any(most_moved_or_torn(alarms, log) for log in logs)


def most_moved_or_torn(alarms: Alarms, log: Log) -> bool:
    """Whether the twin that forgets moves too much, or contradicts itself."""
    try:
        return most_moved(alarms, SETUP, log, ForgetsAtRestart) > MOST
    except AssertionError:
        return True


def tiny_logs() -> Iterator[list[tuple[int, int]]]:
    """Yield every order in which up to three events of two people in three minutes may come."""
    events = list(product(range(2), range(3)))
    for size in (2, 3):
        for chosen in combinations(events, size):
            yield from (list(each) for each in permutations(chosen))


def first_windows(events: Sequence[tuple[int, int]], most: int) -> set[tuple[int, int]]:
    """Return who counts in which minute, by the definition: the first to end, of each person."""
    counted: set[tuple[int, int]] = set()
    for person in {person for person, _ in events}:
        minutes = sorted({minute for who, minute in events if who == person})
        counted |= {(person, minute) for minute in minutes[:most]}
    return counted


def test_the_definition_by_enumeration() -> None:
    """Of every order of a few people's events, those of the first windows to end count."""
    alarms = alarms_of(Codec.JSON, PrivacyUnit.USER, False)
    query = replace(alarms.by_name["count"], grace_ms=10 * MINUTE_MS)
    hours = Periods(FixedCalendar(60 * MINUTE_MS, 60 * MINUTE_MS))
    index = query.calendar.first_starting_at(START_MS)
    for most, events in product((1, 2), tiny_logs()):
        caps = Contribution(1, 1, windows_per_period=most)
        budget = replace(alarms.budget, periods=hours, contribution=caps)
        counter = SharedCounter([query], budget)
        counter.begin(index)
        counter.keep_from(query.id, index)
        counter.add(rows_of(events))
        # A window that is asked for takes those before it with it.
        found = {at: counter.cut(index + at, query.id).value.sum() for at in (1, 2, 0)}
        wanted = first_windows(events, most)
        assert all(found[at] == sum(minute == at for _, minute in wanted) for at in found), events


def rows_of(events: Sequence[tuple[int, int]]) -> Rows:
    """Return events of (person, minute), appended in this order when the minutes were over."""
    who, minute = np.array(events, np.int64).T
    several = len(events)
    return Rows(
        time_ms=START_MS + minute * MINUTE_MS,
        append_ms=START_MS + 3 * MINUTE_MS + np.arange(several),
        offset=np.arange(several),
        cell=np.zeros(several, np.int64),
        weight=np.ones((1, several), np.int64),
        counts=np.ones((1, several), np.bool_),
        unit=Units.of(np.stack([who, who], axis=1).astype(np.uint64)),
        event_id=None,
    )


def test_what_was_used_up_goes_through_its_text_and_with_its_period() -> None:
    """The text says it all, in one order; periods that are over are forgotten."""
    rng = np.random.default_rng(3)
    usage, again = Usage(2), Usage(2)
    for _ in range(6):
        rows = random_rows(rng, 20, Bounds(True, (True,), False, 1, 1))
        left = usage.take(rows)
        assert (again.take(rows).sequence == left.sequence).all()
        again = Usage(2, again.encoded())
        assert again.encoded() == usage.encoded()
    several = len(usage)
    usage.forget_before(1)
    assert 0 < len(usage) < several
    usage.forget_before(201)
    assert not usage.encoded()
