"""Two-neighbour tests of the whole pipeline, from the bytes of Kafka records to step counts.

Random logs of JSON messages and of Arrow batches, with every kind of bad event among good ones, are
read by ``PartitionReader``. Adding or removing one event (unit ``event``), or all events of one
person within one budget period (unit ``user``), may move no cell by more than its sensitivity and
no other cell at all; how a log is split into reads, or where reading starts again, may change
nothing. Readers that are broken on purpose must be caught by the same checks.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from accountant.units import PrivacyUnit
from stream.config.loading import load
from stream.counting.partition import PartitionReader, ReadStart, slice_start_ms
from stream.events import decoder as decoding
from stream.events.decoder import Decoder, Record
from stream.events.hashing import ByteStrings
from stream.events.partitioning import partitions_of
from stream.model.alarms import cells_per_unit
from stream.model.feeds import Codec, Partitioner
from tests.support.decoding import HASH_KEY, ipc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accountant.costs.charges import WindowKey
    from accountant.records import Partial
    from stream.events.decoder import Batch
    from stream.model.alarms import Alarms
    from stream.model.queries import Query

    Reader = type[PartitionReader]
    Partials = dict[WindowKey, Partial]

MINUTE_MS = 60_000
START_MS = 1_714_564_800_000  # 2024-05-01T12:00Z
MINUTES = 4
END_MS = START_MS + (MINUTES + 2) * MINUTE_MS
SKEW_MS, BROKER_SKEW_MS, GRACE_MS, PERIOD_MS = 20_000, 1_000, 10_000, 90_000
ROOMS = ("attic", "bar", "dé")
PEOPLE = (b"ann", b"bo", b"\xc3\xa9va", b"7")
HOSTILE_TIMES = (-(2**63), -1, 0, 253_402_300_799_999, 253_402_300_800_000, 2**63 - 1)
HOSTILE_IDS = (b"", b"\xff", b"\xc3", b"x" * 1_025, b"a\x00b", None)
BROKEN_MESSAGES = (
    b"",
    b"\x00\xff",
    b"[" * 400,
    b'{"person": "ann", ',
    b"null",
    b"\xff\xff\xff\xff",
)
SEEDS = range(2)

CONFIG = """\
timezone: UTC
ledger: sqlite:///unused.db
feeds:
  badges:
    topic: badges
    codec: {codec}
    time: ts
    unit: person
    {event_id}
    fields:
      person: string
      event: string
      room: {{domain: [{rooms}]}}
      amount: {{type: float, clip: [-1.5, 2.5], granule: "0.5"}}
      open: boolean
      ts: timestamp
    allowed_skew: {skew}ms
    broker_skew: {broker_skew}ms
budget:
{budget}
alarms:
  count:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' MINUTE) HAVING COUNT(*) > 2
    max_fnr: 0.05
    grace: {grace}ms
  people:
    sql: >
      SELECT room FROM badges WHERE open GROUP BY room,
      HOP(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE) HAVING COUNT(DISTINCT person) >= 2
    max_fnr: 0.05
    grace: 0s
  total:
    sql: >
      SELECT room FROM badges GROUP BY room,
      HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) HAVING SUM(amount) < 3
    max_fnr: 0.05
    grace: {grace}ms
  mixed:
    sql: >
      SELECT room FROM badges GROUP BY room,
      HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)
      HAVING (AVG(amount) > 0.75 OR MEDIAN(amount) FILTER (WHERE open) >= 1)
      AND COUNT(DISTINCT person) >= 2 AND NOT SUM(amount) FILTER (WHERE NOT open) > 2
    max_fnr: 0.05
    grace: {grace}ms
"""
BUDGETS = {
    PrivacyUnit.EVENT: '  {unit: event, epsilon_max: "100"}',
    PrivacyUnit.USER: '  {unit: user, epsilon_max: "1000", period: 90s, '
    "contribution: {predicates_per_window: 2, events_per_cell: 2}}",
}


@dataclass(frozen=True)
class Setup:
    """One configuration, and into how many partitions its feed falls."""

    codec: Codec
    unit: PrivacyUnit
    ids: bool
    partitions: int


@dataclass(frozen=True)
class Event:
    """One event as its sensor wrote it; ``raw`` replaces its bytes where they are no event."""

    person: bytes | None
    ts: int | None
    room: bytes | None
    amount: float | None
    open: bool | None
    event: bytes | None
    raw: bytes | None = None


@dataclass(frozen=True)
class Message:
    """One record of a partition: one JSON event, or one Arrow batch of any number of them."""

    offset: int
    append_ms: int
    log_append: bool
    events: tuple[Event, ...]
    form: int


Log = list[list[Message]]

SETUPS = [
    Setup(codec, unit, ids, partitions)
    for codec in Codec
    for unit in PrivacyUnit
    for ids, partitions in ((False, 2), (True, 1), (True, 3))
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where configurations are written."""
    return tmp_path_factory.mktemp("neighbours")


@cache
def alarms_of(folder: Path, codec: Codec, unit: PrivacyUnit, ids: bool) -> Alarms:
    """Load the configuration: sensitivities and costs are those a user would get."""
    path = folder / f"{codec}-{unit}-{ids}.yaml"
    path.write_text(
        CONFIG.format(
            codec=codec.value,
            event_id="id: event" if ids else "",
            rooms=", ".join(ROOMS),
            skew=SKEW_MS,
            broker_skew=BROKER_SKEW_MS,
            grace=GRACE_MS,
            budget=BUDGETS[unit],
        )
    )
    return load(path, environ={})


# --- random logs


def random_log(setup: Setup, rng: random.Random, size: int = 16) -> Log:
    """Return a log per partition; append times step back by less than the broker's skew."""
    log: Log = []
    for partition in range(setup.partitions):
        messages: list[Message] = []
        offset, newest_ms = rng.choice((0, 17)), START_MS - 30_000
        sent: list[Event] = []
        for _ in range(size // setup.partitions + 2):
            offset += rng.choice((1, 1, 1, 4))
            newest_ms += rng.choice((0, 0, 900, 9_000, 30_000))
            append_ms = newest_ms - rng.choice((0, 0, BROKER_SKEW_MS - 1))
            log_append = rng.random() > 0.06
            if not log_append:
                append_ms = rng.choice((*HOSTILE_TIMES, append_ms))
            rows = 1 if setup.codec is Codec.JSON else rng.choice((0, 1, 2, 4))
            events = []
            for _ in range(rows):
                if sent and rng.random() < 0.2:
                    events.append(rng.choice(sent))
                else:
                    events.append(random_event(setup, partition, newest_ms, rng))
                sent.append(events[-1])
            if setup.codec is Codec.ARROW and rng.random() < 0.06:
                nothing = random_event(setup, partition, newest_ms, rng)
                events = [replace(nothing, raw=rng.choice(BROKEN_MESSAGES))]
            form = rng.randrange(12)
            messages.append(Message(offset, append_ms, log_append, tuple(events), form))
        log.append(messages)
    return log


def random_event(setup: Setup, partition: int, now_ms: int, rng: random.Random) -> Event:
    """Return an event, often a bad one."""
    people = [person for person in PEOPLE if home(person, setup.partitions) == partition]
    person: bytes | None = rng.choice(people if people and rng.random() < 0.93 else PEOPLE)
    ts = now_ms + rng.choice(
        (-150_000, -70_000, -15_000, -3_000, 0, 0, 5_000, 15_000, SKEW_MS + 1, 10**9)
    )
    event = Event(
        person,
        ts,
        rng.choice((*(room.encode() for room in ROOMS), b"nowhere")),
        rng.choice((-7.5, -0.5, 0.0, 1.0, 2.0, 1e300)),
        rng.random() < 0.8,
        rng.choice((b"e1", b"e2", b"e3")),
    )
    if rng.random() < 0.25:
        name, values = rng.choice(
            (
                ("ts", (*HOSTILE_TIMES, None)),
                ("person", HOSTILE_IDS),
                ("event", HOSTILE_IDS),
                ("room", HOSTILE_IDS),
                ("amount", (float("nan"), float("inf"), None)),
                ("open", (None,)),
            )
        )
        event = replace(event, **{name: rng.choice(values)})
    if setup.codec is Codec.JSON and rng.random() < 0.1:
        event = replace(event, raw=rng.choice((*BROKEN_MESSAGES, *wrong_types(event))))
    return event


def wrong_types(event: Event) -> Iterator[bytes]:
    """Yield JSON objects whose fields are not of their types."""
    good = {"person": "ann", "ts": START_MS, "room": "bar", "amount": 1, "event": "e1"}
    for name, value in (
        ("ts", "soon"),
        ("ts", 2**63),
        ("ts", True),
        ("person", 7),
        ("room", ["bar"]),
        ("amount", "1"),
        ("amount", 10**400),
        ("event", {"e1": event.open}),
    ):
        yield json.dumps({**good, name: value}).encode()


@cache
def home(person: bytes, partitions: int) -> int:
    """Return the partition of a person."""
    strings = ByteStrings.from_list([person])
    return int(partitions_of(strings, Partitioner.MURMUR2, partitions)[0])


# --- bytes


def encoded(setup: Setup, message: Message) -> bytes | None:
    """Return the value of a record."""
    raw = next((event.raw for event in message.events if event.raw is not None), None)
    if raw is not None:
        return raw
    if setup.codec is Codec.JSON:
        return as_json(message.events[0], message.form) if message.events else None
    return as_arrow(message.events, message.form)


def as_json(event: Event, form: int) -> bytes:
    """Write an event as a careless sensor does: text is put between quotes as it is."""
    parts = [
        b'"%s": "%s"' % (name.encode(), text)
        for name, text in (("person", event.person), ("room", event.room), ("event", event.event))
        if text is not None
    ]
    parts += [
        b'"%s": %s' % (name.encode(), json.dumps(value).encode())
        for name, value in (("ts", event.ts), ("amount", event.amount), ("open", event.open))
        if value is not None or form % 2
    ]
    if form % 3 == 0:
        parts.append(b'"else": [[{"ts": "\xff"}], 1e99]')
    return b"{%s}" % b", ".join(parts)


def as_arrow(events: Sequence[Event], form: int) -> bytes:
    """Write events as one batch, in one of several layouts."""
    layout = LAYOUTS[form % len(LAYOUTS)]
    columns = {
        "person": layout([event.person for event in events]),
        "ts": pa.array([event.ts for event in events], pa.int64()),
        "room": layout([event.room for event in events]),
        "amount": pa.array([event.amount for event in events], pa.float64()),
        "open": pa.array([event.open for event in events], pa.bool_()),
        "event": layout([event.event for event in events]),
        "else": pa.array([[1, None]] * len(events), pa.list_(pa.int8())),
    }
    if form % 2:
        columns["ts"] = columns["ts"].view(pa.timestamp("ms"))
    return ipc(columns)


def dictionary(values: Sequence[bytes | None]) -> pa.Array:
    """Return a dictionary-encoded column; the dictionary does not depend on which rows are there.

    (An entry that no row uses belongs to no event.)
    """
    words = sorted({b"ann", b"bar", *(word for word in HOSTILE_IDS if word is not None)})
    words += sorted({value for value in values if value is not None} - set(words))
    indices = [None if value is None else words.index(value) for value in values]
    text = pa.array(words, pa.binary()).view(pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int16()), text, safe=False)


LAYOUTS = (
    lambda values: pa.array(values, pa.binary()).view(pa.string()),
    lambda values: pa.array(values, pa.binary()),
    dictionary,
    lambda values: pa.array(values, pa.binary()).cast(pa.binary_view()).view(pa.string_view()),
)


# --- reading


def read(
    alarms: Alarms,
    setup: Setup,
    partition: int,
    messages: Sequence[Message],
    *,
    twin: Reader = PartitionReader,
    cuts: Sequence[int] = (),
    cursors: dict[str, int] | None = None,
) -> Partials:
    """Read one partition to its end, split into reads at ``cuts``, and return every partial."""
    (feed,) = alarms.feeds.values()
    reader = twin(
        feed=feed,
        partition=partition,
        partitions=setup.partitions,
        topic_id="log",
        queries=list(alarms.queries.values()),
        budget=alarms.budget,
        hash_key=HASH_KEY,
        on_drops=lambda _drops: None,
    )
    first = dict.fromkeys(alarms.queries, START_MS - 3 * MINUTE_MS)
    reader.begin(cursors or first, ReadStart(whole=True))
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


# --- neighbours


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
            if lost and (setup.codec is Codec.JSON or message.events[0].raw is not None):
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
        for query in alarms.queries.values():
            found = _query_breach(alarms, query, full, less, gone)
            if found:
                return f"{query.id}: {found}"
    return ""


def _piecewise(
    alarms: Alarms, setup: Setup, partition: int, messages: Sequence[Message], twin: Reader
) -> Partials:
    """Read a few messages at a time, so that windows close while reading."""
    cuts = range(3, len(messages), 5)
    return read(alarms, setup, partition, messages, twin=twin, cuts=cuts)


def _query_breach(
    alarms: Alarms,
    query: Query,
    full: Sequence[Partials],
    less: Sequence[Partials],
    gone: Sequence[Event],
) -> str:
    windows = 0
    for key in (key for key in full[0] if key.query == query.id):
        shape = (len(query.aggregates), len(query.domain))
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
    if alarms.budget.unit is PrivacyUnit.EVENT and windows > query.calendar.overlap:
        return "too many windows moved"
    return ""


def _cell_breach(
    alarms: Alarms, query: Query, key: WindowKey, change: np.ndarray, gone: Sequence[Event]
) -> str:
    moved = np.flatnonzero(change.any(axis=0))
    inside = [e for e in gone if e.ts is not None and key.start_ms <= e.ts < key.end_ms]
    rooms = {e.room for e in inside if e.raw is None}
    if any(ROOMS[cell].encode() not in rooms for cell in moved):
        return "a cell moved that the neighbour is not in"
    if len(moved) > cells_per_unit(query, alarms.budget):
        return "too many cells moved"
    too_far = np.abs(change).max(axis=1) > np.array(query.condition.sensitivities)
    return "a cell moved too far" if too_far.any() else ""


def scattered(alarms: Alarms, setup: Setup, log: Log, rng: random.Random, twin: Reader) -> str:
    """Return how splitting reads, or starting again, changes a partial; empty when it does not."""
    for partition, messages in enumerate(log):
        whole = read(alarms, setup, partition, messages, twin=twin)
        digests = {key: partial.digest for key, partial in whole.items()}
        everywhere = range(1, len(messages))
        for cuts in (everywhere, sorted(rng.sample(everywhere, min(3, len(everywhere))))):
            split = read(alarms, setup, partition, messages, twin=twin, cuts=cuts)
            if {key: partial.digest for key, partial in split.items()} != digests:
                return "splitting the reads shows"
        for together in (True, True, True, False):
            common = rng.randrange(-2, MINUTES)
            cursors = {
                query: START_MS + (common if together else rng.randrange(-2, MINUTES)) * MINUTE_MS
                for query in alarms.queries
            }
            oldest_ms = min(
                slice_start_ms(query, cursors[query.id]) for query in alarms.queries.values()
            )
            first = next(
                (at for at, m in enumerate(messages) if m.log_append and m.append_ms >= oldest_ms),
                len(messages),
            )
            again = read(
                alarms, setup, partition, messages[first:], twin=twin, cursors=cursors, cuts=(1,)
            )
            later = {k: d for k, d in digests.items() if k.start_ms >= cursors[k.query]}
            if {key: partial.digest for key, partial in again.items()} != later:
                return "starting again shows"
    return ""


# --- the pipeline


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_no_neighbour_moves_more_than_its_share(folder: Path, setup: Setup) -> None:
    """One event, or one person in one period, moves its own cells by at most D, one step of s'."""
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    for seed in SEEDS:
        log = random_log(setup, random.Random(f"{setup} {seed}"))
        assert not breach(alarms, setup, log), seed


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_nothing_depends_on_reads_or_restarts(folder: Path, setup: Setup) -> None:
    """Partials, offsets included, are the same for any split and from any later slice on."""
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    for seed in SEEDS:
        rng = random.Random(f"split {setup} {seed}")
        log = random_log(setup, rng, size=30)
        assert not scattered(alarms, setup, log, rng, PartitionReader), seed


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_offsets_say_nothing_but_the_order(folder: Path, setup: Setup) -> None:
    """Numbering the records anew changes no statistic, so a removed record leaves no gap."""
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    log = random_log(setup, random.Random(str(setup)), size=30)
    for partition, messages in enumerate(log):
        renumbered = [replace(message, offset=at) for at, message in enumerate(messages)]
        before = read(alarms, setup, partition, messages)
        after = read(alarms, setup, partition, renumbered)
        assert before.keys() == after.keys()
        assert all((dense(before[key]) == dense(after[key])).all() for key in before)


def test_the_random_logs_count_something(folder: Path) -> None:
    """Most logs have cells that count, some at their caps: the checks are not about nothing."""
    setup = Setup(Codec.ARROW, PrivacyUnit.USER, ids=False, partitions=2)
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    largest = []
    for seed in SEEDS:
        log = random_log(setup, random.Random(f"{setup} {seed}"))
        partials = [read(alarms, setup, at, messages) for at, messages in enumerate(log)]
        largest.append(max(abs(dense(p)).max() for found in partials for p in found.values()))
    assert sum(value >= 2 for value in largest) > len(SEEDS) // 2, largest


# --- broken twins


class StopsAtLate(PartitionReader):
    """Takes the first late record for the end of what counts."""

    stopped = False

    def count_batch(self, batch: Batch) -> None:
        """Count until a record comes two minutes after its event time."""
        late = np.flatnonzero(batch.append_ms - batch.time_ms > MINUTE_MS)
        keep = slice(0, 0 if self.stopped else late[0] if len(late) else None)
        self.stopped = self.stopped or bool(len(late))
        super().count_batch(part_of(batch, keep))


class DropsBatches(PartitionReader):
    """Its decoder drops the whole message for one bad row."""

    def read(self, records: Sequence[Record]) -> None:
        """Leave out messages that are not good throughout."""
        for record in records:
            drops = self._decoder.decode([record])[1]
            super().read([] if drops else [record])


class SharesCaps(PartitionReader):
    """Takes everybody for one person, so that one person's events use up the caps of others."""

    def count_batch(self, batch: Batch) -> None:
        """Forget who it was."""
        super().count_batch(replace(batch, unit=np.zeros_like(batch.unit)))


class Watermark(PartitionReader):
    """Tells lateness by the largest event time seen so far, as stream processors do."""

    seen_ms = 0

    def count_batch(self, batch: Batch) -> None:
        """Replace append times by the watermark."""
        sane = np.where(batch.time_ms < 2 * START_MS, batch.time_ms, 0)
        marks = np.maximum.accumulate(np.append(self.seen_ms, sane))[1:]
        self.seen_ms = int(marks[-1]) if len(marks) else self.seen_ms
        super().count_batch(replace(batch, append_ms=np.maximum(marks, batch.append_ms)))


class NoCaps(PartitionReader):
    """Counts every event of a person."""

    def count_batch(self, batch: Batch) -> None:
        """Make every event a person of its own."""
        unit = batch.unit.copy()
        unit[:, 0] ^= batch.offset.astype(np.uint64)
        super().count_batch(replace(batch, unit=unit))


class ClosesBySending(PartitionReader):
    """Believes times that senders chose, and takes them for the progress of the log."""

    def read(self, records: Sequence[Record]) -> None:
        """Let any record's time close windows."""
        super().read(records)
        times = [record.timestamp_ms for record in records]
        self._arrival_ms = max(self._arrival_ms, *(min(time_ms, END_MS) for time_ms in times))


class CutsByReads(PartitionReader):
    """Forgets a window as soon as a read shows that it is over, before it counts that read."""

    def read(self, records: Sequence[Record]) -> None:
        """Move on first, then count."""
        newest_ms = max((r.timestamp_ms for r in records if r.log_append), default=0)
        for state in self._states.values():
            index = state.query.calendar.first_starting_at(newest_ms - 6 * MINUTE_MS)
            state.counter.forget_before(max(index, state.next_index))
            state.next_index = max(index, state.next_index)
        super().read(records)


class StartsAtWindow(PartitionReader):
    """Takes the start of its oldest window for the start of the slice."""

    def begin(self, cursors: Any, start: ReadStart) -> None:
        """Remember where that is."""
        super().begin(cursors, start)
        self.oldest_ms = min(cursors.values())

    def count_batch(self, batch: Batch) -> None:
        """Leave out what was appended before."""
        super().count_batch(part_of(batch, batch.append_ms >= self.oldest_ms))


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


NEIGHBOUR_TWINS = [
    (StopsAtLate, Codec.JSON, PrivacyUnit.EVENT),
    (StopsAtLate, Codec.ARROW, PrivacyUnit.USER),
    (DropsBatches, Codec.ARROW, PrivacyUnit.EVENT),
    (DropsBatches, Codec.ARROW, PrivacyUnit.USER),
    (SharesCaps, Codec.JSON, PrivacyUnit.USER),
    (SharesCaps, Codec.ARROW, PrivacyUnit.USER),
    (Watermark, Codec.JSON, PrivacyUnit.EVENT),
    (NoCaps, Codec.ARROW, PrivacyUnit.USER),
    (ClosesBySending, Codec.JSON, PrivacyUnit.EVENT),
]


@pytest.mark.parametrize(("twin", "codec", "unit"), NEIGHBOUR_TWINS)
def test_broken_readers_are_caught(
    folder: Path, twin: Reader, codec: Codec, unit: PrivacyUnit
) -> None:
    """The check that the pipeline passes fails readers that let one event do more."""
    setup = Setup(codec, unit, ids=False, partitions=2)
    alarms = alarms_of(folder, codec, unit, setup.ids)
    logs = (random_log(setup, random.Random(f"twin {seed}")) for seed in range(30))
    assert any(breach(alarms, setup, log, twin) for log in logs)


@pytest.mark.parametrize("twin", [CutsByReads, StartsAtWindow])
def test_readers_that_depend_on_reads_are_caught(folder: Path, twin: Reader) -> None:
    """The check that the pipeline passes fails readers whose counts depend on how they read."""
    setup = Setup(Codec.JSON, PrivacyUnit.EVENT, ids=False, partitions=1)
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    rng = random.Random(5)
    logs = (random_log(setup, rng, size=30) for _ in range(30))
    assert any(scattered(alarms, setup, log, rng, twin) for log in logs)


def test_a_sensitivity_without_caps_is_caught(folder: Path) -> None:
    """Step counts of a test that forgot ``events_per_cell`` move by more than one."""
    setup = Setup(Codec.ARROW, PrivacyUnit.USER, ids=False, partitions=1)
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    careless = {
        name: replace(
            query,
            condition=replace(query.condition, sensitivities=(1,) * len(query.aggregates)),
        )
        for name, query in alarms.queries.items()
    }
    forgetful = replace(alarms, queries=careless)
    logs = (random_log(setup, random.Random(seed)) for seed in range(20))
    assert any(breach(forgetful, setup, log) for log in logs)


def dictionary_message(rows: int, others: int = 0) -> bytes:
    """Return a small message that spells out a long name in every row; ``others`` are another's."""
    indices = pa.array([0] * rows + [1] * others, pa.int8())
    columns = {
        "person": pa.DictionaryArray.from_arrays(indices, pa.array(["p" * 1_000, "q" * 1_000])),
        "room": pa.DictionaryArray.from_arrays(indices, pa.array(["bar", "bar"])),
        "ts": pa.DictionaryArray.from_arrays(indices, pa.array([START_MS, START_MS])),
    }
    return ipc(columns)


class RefusesUnfolding(PartitionReader):
    """Refuses messages that spell out to more than 64 times their size and a mebibyte."""

    def read(self, records: Sequence[Record]) -> None:
        """Leave those out."""
        super().read([record for record in records if self._unfolded(record) <= self._most(record)])

    @staticmethod
    def _most(record: Record) -> int:
        return 64 * len(record.value or b"") + (1 << 20)

    @staticmethod
    def _unfolded(record: Record) -> int:
        with pa.ipc.open_stream(record.value) as stream:
            columns = stream.read_all().select(["person", "room"])
        return sum(len(text) for column in columns for text in column.to_pylist())


@pytest.mark.parametrize("twin", [PartitionReader, RefusesUnfolding])
def test_a_row_does_not_refuse_a_message_that_others_filled(folder: Path, twin: Reader) -> None:
    """However much a message spells out to, one row more is one event more."""
    setup = Setup(Codec.ARROW, PrivacyUnit.EVENT, ids=False, partitions=1)
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    raw = Event(None, None, None, None, None, None)

    def counted(value: bytes) -> Partials:
        event = replace(raw, raw=value)
        return read(alarms, setup, 0, [Message(0, START_MS, True, (event,), 0)], twin=twin)

    full = next(
        rows
        for rows in range(1_000, 2_000)
        if rows * 1_003 > 64 * len(dictionary_message(rows)) + (1 << 20)
    )
    here, there = (counted(dictionary_message(full - 1, others)) for others in (1, 0))
    moved = [
        int(np.abs(dense(here[key]) - dense(there[key])).max())
        for key in here
        if key.query == "count"
    ]
    (sensitivity,) = alarms.queries["count"].condition.sensitivities
    assert max(moved) == (sensitivity if twin is PartitionReader else full - 1)


def test_small_messages_that_spell_out_to_gigabytes_stop_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text beyond what one Arrow column holds is decoded in pieces, however it is packed."""
    assert decoding._PIECE_BYTES < 2**29  # an Arrow column ends at 2**31
    monkeypatch.setattr(decoding, "_PIECE_BYTES", 1 << 20)
    setup = Setup(Codec.ARROW, PrivacyUnit.EVENT, ids=False, partitions=1)
    alarms = alarms_of(folder, setup.codec, setup.unit, setup.ids)
    (feed,) = alarms.feeds.values()
    decoder = Decoder(feed, partition=0, partitions=1, hash_key=HASH_KEY)
    rows, times = 100, 50
    bomb = dictionary_message(rows)
    records = [Record(at, START_MS, log_append=True, value=bomb) for at in range(times)]
    pieces = [batch for batch, _ in decoder.batches(records)]
    assert np.concatenate([piece.offset for piece in pieces]).tolist() == [
        at for at in range(times) for _ in range(rows)
    ]
    assert max(piece.rows.nbytes for piece in pieces) <= 1 << 20
