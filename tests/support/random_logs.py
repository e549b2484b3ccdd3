"""Random logs of JSON messages and of Arrow batches, with every kind of bad event among good."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa

from accountant.units import PrivacyUnit
from stream.config.loading import load
from stream.events.codings import coding_of
from stream.events.partitioning import partitions_of
from stream.model.feeds import Codec, Partitioner
from tests.support.decoding import ipc
from tests.support.texts import texts_of

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from stream.model.alarms import Alarms


MINUTE_MS = 60_000
START_MS = 1_714_564_800_000  # 2024-05-01T12:00Z
MINUTES = 4
END_MS = START_MS + (MINUTES + 2) * MINUTE_MS
SKEW_MS, MAX_APPEND_TIME_REGRESSION_MS, GRACE_MS, PERIOD_MS = 20_000, 1_000, 10_000, 90_000
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
      amount: {{type: float, clip: [-1.5, 2.5], resolution: "0.5"}}
      open: boolean
      ts: timestamp
    allowed_skew: {skew}ms
    max_append_time_regression: {max_append_time_regression}ms
budget:
{budget}
alarms:
  count:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' MINUTE) HAVING COUNT(*) > 2
    max_fnr: 0.05
    timing: {{grace: {grace}ms}}
  rooms:
    sql: >
      SELECT 1 FROM (SELECT room FROM badges GROUP BY room,
      HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) HAVING COUNT(*) > 1) HAVING COUNT(*) >= 2
    max_fnr: 0.05
    timing: {{grace: {grace}ms}}
  people:
    sql: >
      SELECT room FROM badges WHERE open GROUP BY room,
      HOP(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE) HAVING COUNT(DISTINCT person) >= 2
    max_fnr: 0.05
    timing: {{grace: 0s}}
  total:
    sql: >
      SELECT room FROM badges GROUP BY room,
      HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)
      HAVING SUM(amount) - 0.3 * COUNT(*) FILTER (WHERE open) < 3
    max_fnr: 0.05
    timing: {{grace: {grace}ms}}
  mixed:
    sql: >
      SELECT room FROM badges GROUP BY room,
      HOP(ts, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)
      HAVING (AVG(amount) > 0.75 OR MEDIAN(amount) FILTER (WHERE open) >= 1)
      AND COUNT(DISTINCT person) >= 2 AND NOT SUM(amount) FILTER (WHERE NOT open) > 2
    max_fnr: 0.05
    timing: {{grace: {grace}ms}}
"""
BUDGETS = {
    PrivacyUnit.EVENT: '  {privacy_unit: event, epsilon_max: "100"}',
    PrivacyUnit.USER: '  {privacy_unit: user, epsilon_max: "1000", period: 90s, '
    "contribution: {max_groups_per_window: 2, max_events_per_group: 2}}",
}


@dataclass(frozen=True)
class Setup:
    """One configuration, and into how many partitions its feed falls."""

    codec: Codec
    unit: PrivacyUnit
    ids: bool
    partitions: int

    @property
    def alarms(self) -> Alarms:
        """The configuration."""
        return alarms_of(self.codec, self.unit, self.ids)


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


@cache
def alarms_of(codec: Codec, unit: PrivacyUnit, ids: bool) -> Alarms:
    """Load the configuration: sensitivities and costs are those a user would get."""
    return loaded(
        CONFIG.format(
            codec=codec.value,
            event_id="id: event" if ids else "",
            rooms=", ".join(ROOMS),
            skew=SKEW_MS,
            max_append_time_regression=MAX_APPEND_TIME_REGRESSION_MS,
            grace=GRACE_MS,
            budget=BUDGETS[unit],
        )
    )


@cache
def loaded(text: str) -> Alarms:
    """Load a configuration of this text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "alarms.yaml"
        path.write_text(text)
        return load(path, environ={})


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
            append_ms = newest_ms - rng.choice((0, 0, MAX_APPEND_TIME_REGRESSION_MS - 1))
            log_append = rng.random() > 0.06
            if not log_append:
                append_ms = rng.choice((*HOSTILE_TIMES, append_ms))
            alone = coding_of(setup.codec).single
            rows = 1 if alone else rng.choice((0, 1, 2, 4))
            events = []
            for _ in range(rows):
                if sent and rng.random() < 0.2:
                    events.append(rng.choice(sent))
                else:
                    events.append(random_event(setup, partition, newest_ms, rng))
                sent.append(events[-1])
            if not alone and rng.random() < 0.06:
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
    if coding_of(setup.codec).single and rng.random() < 0.1:
        event = replace(event, raw=rng.choice((*BROKEN_MESSAGES, *wrong_types(setup.codec, event))))
    return event


def wrong_types(codec: Codec, event: Event) -> Iterator[bytes]:
    """Yield messages of one row whose fields are not of their types."""
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
        fields = {**good, name: value}
        yield json.dumps(fields).encode() if codec is Codec.JSON else as_written(codec, [fields])


@cache
def home(person: bytes, partitions: int) -> int:
    """Return the partition of a person."""
    strings = texts_of([person])
    return int(partitions_of(strings, Partitioner.MURMUR2, partitions)[0])


def encoded(setup: Setup, message: Message) -> bytes | None:
    """Return the value of a record."""
    raw = next((event.raw for event in message.events if event.raw is not None), None)
    if raw is not None:
        return raw
    if setup.codec is Codec.JSON:
        return as_json(message.events[0], message.form) if message.events else None
    if setup.codec is Codec.ARROW:
        return as_arrow(message.events, message.form)
    return as_written(setup.codec, [fields_of(event) for event in message.events])


def fields_of(event: Event) -> dict[str, object]:
    """Return what an event says; what is no text cannot be written."""
    fields: dict[str, object] = {
        name: text if text is None else text.decode(errors="surrogateescape")
        for name, text in (("person", event.person), ("room", event.room), ("event", event.event))
    }
    return {**fields, "ts": event.ts, "amount": event.amount, "open": event.open}


def as_written(codec: Codec, events: Sequence[Mapping[str, object]]) -> bytes:
    """Write events as the product does, in one message; it cannot write some, and breaks those."""
    try:
        rows = pa.RecordBatch.from_pylist(list(events))
        (message,) = coding_of(codec).write(rows)
    except (pa.ArrowException, UnicodeError, OverflowError):
        return BROKEN_MESSAGES[1]
    return message


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
