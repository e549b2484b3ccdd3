"""Reading a log as the pipeline does, its neighbours, and what none of them may change."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from accountant.layouts import Layouts
from accountant.records import Used
from accountant.units import PrivacyUnit
from operators.conditions.score import score_of
from stream.counting.partition import PartitionReader
from stream.events.codings import coding_of
from stream.events.decoder import Record
from stream.model.alarms import cells_per_unit
from tests.support.decoding import HASH_KEY
from tests.support.random_logs import (
    END_MS,
    MINUTE_MS,
    MINUTES,
    PERIOD_MS,
    ROOMS,
    START_MS,
    Event,
    Log,
    Message,
    Setup,
    encoded,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.costs.charges import WindowKey
    from accountant.records import Partial
    from stream.events.decoder import Batch
    from stream.model.alarms import Alarms

    Reader = type[PartitionReader]
    Partials = dict[WindowKey, Partial]


def reader_for(
    alarms: Alarms, /, *, twin: Reader = PartitionReader, partitions: int = 1, **options: Any
) -> PartitionReader:
    """Return a reader of all alarms of the only feed, and its only partition, yet to begin."""
    (feed,) = alarms.feeds.values()
    usual: dict[str, Any] = {
        "feed": feed,
        "partition": 0,
        "layouts": Layouts(partitions, tuple(options.pop("growths", ()))),
        "topic_id": "log",
        "alarms": list(alarms.by_name.values()),
        "budget": alarms.budget,
        "hash_key": HASH_KEY,
    }
    return twin(**{**usual, **options})


def part_of(batch: Batch, rows: Any) -> Batch:
    """Return some rows of a batch."""
    kept = np.arange(len(batch))[rows]
    return replace(
        batch,
        rows=batch.rows.take(pa.array(kept)),
        time_ms=batch.time_ms[kept],
        append_ms=batch.append_ms[kept],
        offset=batch.offset[kept],
        unit=batch.unit[kept],
        event_id=None if batch.event_id is None else batch.event_id[kept],
    )


def read(
    alarms: Alarms,
    setup: Setup,
    partition: int,
    messages: Sequence[Message],
    *,
    twin: Reader = PartitionReader,
    cuts: Sequence[int] = (),
    cursors: dict[str, int] | None = None,
    used: Mapping[str, Used] | None = None,
) -> Partials:
    """Read one partition to its end, split into reads at ``cuts``, and return every partial."""
    reader = reader_for(alarms, twin=twin, partition=partition, partitions=setup.partitions)
    first = dict.fromkeys(alarms.by_name, START_MS - 3 * MINUTE_MS)
    reader.begin(cursors or first, used)
    records = [record_of(setup, message) for message in messages]
    found: Partials = {}
    edges = [0, *cuts, len(records)]
    for start, end in pairwise(edges):
        reader.read(records[start:end])
        found.update({partial.key: partial for partial in reader.partials()})
    reader.arrived_through(END_MS)
    found.update({partial.key: partial for partial in reader.partials()})
    return found


@lru_cache(maxsize=4_096)
def record_of(setup: Setup, message: Message) -> Record:
    """Return the Kafka record of a message."""
    value = encoded(setup, message)
    return Record(message.offset, message.append_ms, log_append=message.log_append, value=value)


def dense(partial: Partial) -> np.ndarray:
    """Return every statistic of every cell."""
    values = np.zeros(partial.cells, np.int64)
    values[partial.index] = partial.value
    return values


def owner(event: Event) -> tuple[Any, ...]:
    """Return the privacy unit that an event belongs to, under unit ``user``."""
    if event.raw is not None or event.ts is None:
        return ("nobody", event)
    return event.person, event.ts // PERIOD_MS


def without(setup: Setup, log: Log, gone: set[tuple[int, int, int]]) -> Log:
    """Return the log without some events, given as (partition, message, row).

    A JSON event goes with its record, and so does an Arrow message that is none; an Arrow row
    leaves its message behind. Partitions that lose nothing are the same objects.
    """
    rest = list(log)
    for partition in {place[0] for place in gone}:
        rest[partition] = []
        for at, message in enumerate(log[partition]):
            kept = [
                event
                for row, event in enumerate(message.events)
                if (partition, at, row) not in gone
            ]
            lost = len(kept) < len(message.events)
            if lost and (coding_of(setup.codec).single or message.events[0].raw is not None):
                continue
            rest[partition].append(replace(message, events=tuple(kept)) if lost else message)
    return rest


def neighbours(setup: Setup, log: Log) -> Iterator[tuple[Log, list[Event]]]:
    """Yield every log with one privacy unit less, and the events that are gone."""
    places = {
        (partition, at, row): event
        for partition, messages in enumerate(log)
        for at, message in enumerate(messages)
        for row, event in enumerate(message.events)
    }
    units: dict[Any, set[tuple[int, int, int]]] = {}
    for place, event in places.items():
        unit = place if setup.unit is PrivacyUnit.EVENT else owner(event)
        units.setdefault(unit, set()).add(place)
    for gone in units.values():
        yield without(setup, log, gone), [places[place] for place in gone]


def breach(alarms: Alarms, setup: Setup, log: Log, twin: Reader = PartitionReader) -> str:
    """Return how some neighbour does more than it may; empty when none does."""
    full = [_piecewise(alarms, setup, at, messages, twin) for at, messages in enumerate(log)]
    for rest, gone in neighbours(setup, log):
        less = [
            full[at] if rest[at] is log[at] else _piecewise(alarms, setup, at, rest[at], twin)
            for at in range(setup.partitions)
        ]
        if any(have.keys() != full[0].keys() for have in (*full, *less)):
            return "another set of windows was counted"
        for query in alarms.by_name.values():
            found = _query_breach(alarms, query, full, less, gone)
            if found:
                return f"{query.id}: {found}"
    return ""


def _piecewise(alarms, setup, partition, messages, twin):
    """Read a few messages at a time, so that windows close while reading."""
    cuts = range(3, len(messages), 5)
    return read(alarms, setup, partition, messages, twin=twin, cuts=cuts)


def _query_breach(
    alarms,
    query,
    full,
    less,
    gone,
):
    windows = 0
    for key in (key for key in full[0] if key.query == query.id):
        shape = (len(query.aggregates), len(query.counted))
        here = sum(dense(partials[key]) for partials in full).reshape(shape)
        there = sum(dense(partials[key]) for partials in less).reshape(shape)
        if any(a[key].complete != b[key].complete for a, b in zip(full, less, strict=True)):
            return "whether a window is complete depends on an event"
        if (here == there).all():
            continue
        windows += 1
        if problem := _cell_breach(alarms, query, key, here - there, gone):
            return problem
        for channel in query.condition.channels:
            if np.abs(channel.steps(here) - channel.steps(there)).max() > 1:
                return "a cell moved by more than one step"
        score = score_of(query.condition, query.aim.tolerances)
        if np.abs(score.read(here) - score.read(there)).max() > 1:
            return "an answer moved by more than one step"
    of_event = alarms.budget.unit is PrivacyUnit.EVENT
    most = query.calendar.overlap if of_event else alarms.budget.contribution.windows_per_period
    return "too many windows moved" if most is not None and windows > most else ""


def _cell_breach(alarms, query, key, change, gone):
    moved = np.flatnonzero(change.any(axis=0))
    inside = [e for e in gone if e.ts is not None and key.start_ms <= e.ts < key.end_ms]
    rooms = {e.room for e in inside if e.raw is None}
    if any(ROOMS[cell].encode() not in rooms for cell in moved):
        return "a cell moved that the neighbour is not in"
    if len(set(moved // len(query.members))) > cells_per_unit(query, alarms.budget):
        return "too many cells moved"
    too_far = np.abs(change).max(axis=1) > np.array(query.condition.sensitivities)
    return "a cell moved too far" if too_far.any() else ""


def scattered(alarms: Alarms, setup: Setup, log: Log, rng: random.Random, twin: Reader) -> str:
    """Return how splitting reads, or starting again, changes a partial; empty when it does not.

    Whoever starts again knows what the ledger does: cursors, and of some windows before them what
    people had used up.
    """
    for partition, messages in enumerate(log):
        whole = read(alarms, setup, partition, messages, twin=twin)
        everywhere = range(1, len(messages))
        for cuts in (everywhere, sorted(rng.sample(everywhere, min(3, len(everywhere))))):
            if told(read(alarms, setup, partition, messages, twin=twin, cuts=cuts)) != told(whole):
                return "splitting the reads shows"
        for together in (True, True, True, False):
            common = rng.randrange(-2, MINUTES)
            cursors = {
                query: START_MS + (common if together else rng.randrange(-2, MINUTES)) * MINUTE_MS
                for query in alarms.by_name
            }
            used = {
                key.query: Used(key.start_ms, partial.used)
                for key, partial in whole.items()
                if partial.used is not None
                and key.start_ms < cursors[key.query]
                and rng.random() < 0.5
            }
            reader = reader_for(alarms, twin=twin, partition=partition, partitions=setup.partitions)
            from_ms = reader.begin(cursors, used)
            first = next(
                (at for at, m in enumerate(messages) if m.log_append and m.append_ms >= from_ms),
                len(messages),
            )
            again = read(
                alarms,
                setup,
                partition,
                messages[first:],
                twin=twin,
                cursors=cursors,
                used=used,
                cuts=(1,),
            )
            later = {key: one for key, one in whole.items() if key.start_ms >= cursors[key.query]}
            if told(again) != told(later):
                return "starting again shows"
    return ""


def told(partials: Partials) -> dict[WindowKey, tuple[str, bytes | None]]:
    """Return what partials say, by their windows."""
    return {key: (partial.digest, partial.used) for key, partial in partials.items()}
