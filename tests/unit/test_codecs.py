"""Decoding is total, and every event is judged by itself."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.codecs import Batch, Decoder, Drop, Record
from stream.columns import MAX_STRING_BYTES, TIME_END_MS
from stream.hashing import ByteStrings
from stream.model import Clock, Codec, Feed, Field, FieldType, Partitioner
from stream.partitioning import partitions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HASH_KEY = bytes(range(32))
NOON_MS = 1_714_564_800_000
KINDS = {
    "person": FieldType.STRING,
    "ts": FieldType.TIMESTAMP,
    "room": FieldType.STRING,
    "n": FieldType.INTEGER,
    "x": FieldType.FLOAT,
    "b": FieldType.BOOLEAN,
}
REASONS = {drop.value for drop in Drop}


class Decodes(Protocol):
    """What the properties are about: ``Decoder`` or a broken twin of it."""

    def decode(self, records: Sequence[Record]) -> tuple[Batch, Mapping[str, int]]:
        """Decode records."""
        ...


def a_feed(codec: Codec, **changes: Any) -> Feed:
    """A feed with a field of every type."""
    options: dict[str, Any] = {
        "name": "badges",
        "topic": "badges",
        "codec": codec,
        "time": "ts",
        "unit": "person",
        "id": None,
        "fields": {name: Field(name, kind) for name, kind in KINDS.items()},
    }
    return Feed(**{**options, **changes})


def a_decoder(codec: Codec, *, partition: int = 0, partitions: int = 1, **changes: Any) -> Decoder:
    """A decoder of that feed."""
    feed = a_feed(codec, **changes)
    return Decoder(feed, partition=partition, partitions=partitions, hash_key=HASH_KEY)


def at(offset: int, value: bytes | None, *, log_append: bool = True) -> Record:
    """A record whose append time follows from its offset."""
    return Record(offset, NOON_MS + 7 * offset, log_append=log_append, value=value)


def ipc(columns: Mapping[str, pa.Array], **options: Any) -> bytes:
    """One message: an IPC stream of one batch."""
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, **options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def laid_out(batch: Batch) -> list[tuple[Any, ...]]:
    """The rows of a batch, everything of a row beside it."""
    assert len(batch.rows) == len(batch) == len(batch.unit) == len(batch.offset)
    identities = batch.unit if batch.event_id is None else batch.event_id
    return list(
        zip(
            (tuple(row.values()) for row in batch.rows.to_pylist()),
            batch.time_ms.tolist(),
            batch.append_ms.tolist(),
            batch.offset.tolist(),
            (half.tobytes() for half in batch.unit),
            (half.tobytes() for half in identities),
            strict=True,
        )
    )


def assert_independent(decoder: Decodes, records: Sequence[Record]) -> None:
    """Decoding everything at once is decoding every record by itself."""
    batch, drops = decoder.decode(records)
    rows: list[tuple[Any, ...]] = []
    counted: Counter[str] = Counter()
    for record in records:
        alone, dropped = decoder.decode([record])
        rows += laid_out(alone)
        counted.update(dropped)
    assert laid_out(batch) == rows
    assert counted == drops
    assert set(drops) <= REASONS


# JSON

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
times = st.sampled_from(
    [
        NOON_MS,
        "2024-05-01T12:00:00Z",
        "2024-05-01 14:00:00.5+02:00",
        "2024-05-01T12:00:00",
        0,
        -1,
        TIME_END_MS - 1,
        TIME_END_MS,
        2**63,
        "1969-12-31T23:59:59.9999Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999-00:01",
        "tomorrow",
        1.5,
        None,
    ]
)
people = st.sampled_from(["alice", "bob", "", "é", "\x00", "x" * 1024, "x" * 1025, 5, None])
json_events = st.fixed_dictionaries(
    {},
    optional={
        "person": people,
        "ts": times,
        "room": st.sampled_from(["2.14", None, 3]),
        "n": st.sampled_from([0, -(2**63), 2**63 - 1, 2**63, 10**400, 1.0, True]),
        "x": st.sampled_from([0, 1.5, 10**400, float("nan"), float("-inf"), 10**18]),
        "b": st.sampled_from([True, False, None, 1]),
        "beside": json_values,
    },
)
hostile_bytes = st.sampled_from(
    [
        b"",
        b"{",
        b"\xff\x00",
        b"null",
        b"[]",
        b'{"person":"alice","ts":1}{"person":"bob","ts":2}',
        b'{"person":"alice","ts":1},{"person":"bob","ts":2}',
        b'{"person":"alice","ts":1,"beside":"\xff"}',
        b'{"person":"alice","ts":1,"person":"bob"}',
        b'{"person":"\\ud800","ts":1}',
        b'{"person":"\xff","ts":1}',
        b'{"person":"alice","ts":1,"x":1e400}',
        b'{"person":"alice","ts":1,"beside":NaN}',
        b'{"person":"alice","ts":1,"beside":' + b"[" * 250 + b"]" * 250 + b"}",
        b'{"person":"alice","ts":1,"beside":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"person":"alice","ts":1,"beside":"' + b"[" * 5000 + b'"}',
        b'{"person":"alice","ts":1}\n{"person":"bob","ts":2}',
    ]
)
json_messages = (
    st.none()
    | st.binary(max_size=20)
    | hostile_bytes
    | json_events.map(lambda event: json.dumps(event).encode())
    | st.just(b'{"person":"alice","ts":"2024-05-01T12:00:00Z","room":"2.14"}')
)
json_logs = st.lists(st.tuples(json_messages, st.booleans()), max_size=8).map(
    lambda messages: [
        at(offset, value, log_append=log_append or offset % 2 == 0)
        for offset, (value, log_append) in enumerate(messages)
    ]
)


class BatchedWithFallback:
    """A broken twin: one parse for the whole batch, and one per message where that fails."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def decode(self, records: Sequence[Record]) -> tuple[Batch, Mapping[str, int]]:
        """Decode what the batch parser, or else the careful one, lets through."""
        values = [record.value for record in records if record.log_append and record.value]
        try:
            msgspec.json.decode(b"[" + b",".join(values) + b"]", type=list[msgspec.Raw])
            return self._decoder.decode(records)
        except (ValueError, RecursionError):
            kept = [
                record for record in records if not record.log_append or self._careful(record.value)
            ]
            batch, drops = self._decoder.decode(kept)
            return batch, Counter(drops) + Counter(undecodable=len(records) - len(kept))

    @staticmethod
    def _careful(value: bytes | None) -> bool:
        try:
            return isinstance(json.loads(value or b""), dict)
        except (ValueError, RecursionError):
            return False


@settings(max_examples=200, deadline=None)
@given(json_logs)
def test_json_messages_are_independent(records: list[Record]) -> None:
    """What a JSON message gives does not depend on the messages around it."""
    assert_independent(a_decoder(Codec.JSON), records)


def test_a_batched_parser_with_a_fallback_is_caught() -> None:
    """The same property fails for the design it is there to keep out."""
    twin = BatchedWithFallback(a_decoder(Codec.JSON))
    beside = b'{"person":"alice","ts":1,"beside":"\xff"}'
    with pytest.raises(AssertionError):
        assert_independent(twin, [at(0, beside), at(1, b"{")])

    @settings(
        max_examples=500,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
    )
    @given(json_logs)
    def check(records: list[Record]) -> None:
        assert_independent(twin, records)

    with pytest.raises(AssertionError):
        check()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, Drop.UNDECODABLE),
        (b"", Drop.UNDECODABLE),
        (b'{"person":"a","ts":1', Drop.UNDECODABLE),
        (b'{"person":"\xff","ts":1}', Drop.UNDECODABLE),
        (b'{"person":"a","ts":1,"x":NaN}', Drop.UNDECODABLE),
        (b'{"person":"a","ts":1,"z":' + b"[" * 300 + b"]" * 300 + b"}", Drop.UNDECODABLE),
        (b"[]", Drop.WRONG_TYPE),
        (b'{"person":5,"ts":1}', Drop.WRONG_TYPE),
        (b'{"person":"a","ts":"noon"}', Drop.WRONG_TYPE),
        (b'{"person":"a","ts":1,"n":9223372036854775808}', Drop.WRONG_TYPE),
        (b'{"person":"a","ts":1,"x":1e400}', Drop.WRONG_TYPE),
        (b'{"ts":1}', Drop.MISSING_FIELD),
        (b'{"person":"a"}', Drop.MISSING_FIELD),
        (b'{"person":null,"ts":1}', Drop.MISSING_FIELD),
        (b'{"person":"a","ts":-1}', Drop.BAD_TIME),
        (b'{"person":"a","ts":253402300800000}', Drop.BAD_TIME),
        (b'{"person":"a","ts":"1969-12-31T23:59:59.9999Z"}', Drop.BAD_TIME),
        (b'{"person":"' + b"a" * (MAX_STRING_BYTES + 1) + b'","ts":1}', Drop.TOO_LONG),
    ],
)
def test_why_a_json_event_is_dropped(value: bytes | None, reason: Drop) -> None:
    """A bad event is dropped alone, under the reason that the custodian reads."""
    good = b'{"person":"a","ts":1}'
    batch, drops = a_decoder(Codec.JSON).decode([at(0, good), at(1, value), at(2, good)])
    assert batch.offset.tolist() == [0, 2]
    assert drops == {reason.value: 1}


def test_json_values_arrive() -> None:
    """Fields come out in their declared types; times in every notation mean the same instant."""
    notations = [
        NOON_MS,
        "2024-05-01T12:00:00Z",
        "2024-05-01T14:00:00.000999+02:00",
        "2024-05-01 12:00:00",
    ]
    records = [
        at(
            offset,
            json.dumps({"x": 3, "b": True, "n": -1, "ts": ts, "person": "é", "more": {}}).encode(),
        )
        for offset, ts in enumerate(notations)
    ]
    batch, drops = a_decoder(Codec.JSON).decode(records)
    assert not drops
    assert batch.time_ms.tolist() == [NOON_MS] * 4
    assert batch.append_ms.tolist() == [NOON_MS + 7 * offset for offset in range(4)]
    expected = {"person": "é", "ts": NOON_MS, "room": None, "n": -1, "x": 3.0, "b": True}
    assert batch.rows.to_pylist() == [expected] * 4
    kinds = [pa.string(), pa.int64(), pa.string(), pa.int64(), pa.float64(), pa.bool_()]
    assert batch.rows.schema.types == kinds


def test_producer_timestamps() -> None:
    """Under ``clock: append_time`` a record that the producer dated is dropped; not under marks."""
    record = at(0, b'{"person":"a","ts":1}', log_append=False)
    assert a_decoder(Codec.JSON).decode([record])[1] == {"create_time": 1}
    marked = a_decoder(Codec.JSON, clock=Clock.PUNCTUATION)
    assert len(marked.decode([record])[0]) == 1


def test_deep_nesting_does_not_depend_on_the_caller() -> None:
    """A message is judged the same however deep the stack is that decodes it."""
    messages = [
        at(depth, b'{"person":"a","ts":1,"z":' + b"[" * depth + b"]" * depth + b"}")
        for depth in (200, 255, 256, 400, 900)
    ]

    def deeper(frames: int) -> list[int]:
        if frames:
            return deeper(frames - 1)
        return a_decoder(Codec.JSON).decode(messages)[0].offset.tolist()

    assert deeper(0) == deeper(400) == [200, 255]


# Arrow

raw_text = st.sampled_from(
    [b"alice", b"bob", b"", "é".encode(), b"\xff", b"\xc3", b"\xa9", b"x" * 1025, None]
)
arrow_rows = st.lists(
    st.tuples(
        raw_text,
        st.sampled_from([NOON_MS, 0, -1, TIME_END_MS - 1, TIME_END_MS, 2**62, -(2**62), None]),
        raw_text,
        st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 1, None]),
        st.sampled_from([0.0, 1.5, float("nan"), float("inf"), None]),
        st.sampled_from([True, False, None]),
    ),
    min_size=1,
    max_size=6,
)


def as_string(values: Sequence[bytes | None]) -> pa.Array:
    """Bytes that claim to be text, as a careless feeder writes them."""
    return pa.array(values, pa.binary()).view(pa.string())


def as_view(values: Sequence[bytes | None]) -> pa.Array:
    """The same as string views."""
    return pa.array(values, pa.binary()).cast(pa.binary_view()).view(pa.string_view())


def as_dictionary(values: Sequence[bytes | None]) -> pa.Array:
    """The same as a dictionary with small indices, entries of no row among them."""
    words = sorted({value for value in values if value is not None})
    indices = [None if value is None else words.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int8()), as_string([*words, b"\xfe"]), safe=False
    )


def as_large(values: Sequence[bytes | None]) -> pa.Array:
    """The same with 64-bit offsets."""
    return pa.array(values, pa.large_binary()).view(pa.large_string())


STRINGS: list[Callable[[Sequence[bytes | None]], pa.Array]] = [
    as_string,
    as_view,
    as_dictionary,
    as_large,
    lambda values: pa.array(values, pa.binary()),
]
TIMES: list[Callable[[Sequence[int | None]], pa.Array]] = [
    lambda values: pa.array(values, pa.int64()),
    lambda values: pa.array(values, pa.int64()).cast(pa.timestamp("ms", "Europe/Berlin")),
    lambda values: pa.array(values, pa.int64()).view(pa.timestamp("s")),
    lambda values: pa.array(values, pa.int64()).view(pa.timestamp("us")),
    lambda values: pa.array(values, pa.int64()).view(pa.timestamp("ns", "UTC")),
    lambda values: pa.array(values, pa.int64()).dictionary_encode(),
]


def columns_of(
    rows: Sequence[tuple[Any, ...]], string: Any = as_string, time: Any = TIMES[0]
) -> dict[str, pa.Array]:
    """The columns of some rows, strings and times in a chosen encoding."""
    person, ts, room, n, x, b = zip(*rows, strict=True)
    return {
        "b": pa.array(b, pa.bool_()),
        "person": string(person),
        "ts": time(ts),
        "other": pa.array([[1]] * len(rows)),
        "room": string(room),
        "n": pa.array(n, pa.uint64()),
        "x": pa.array(x, pa.float64()),
    }


def oracle(row: tuple[Any, ...]) -> str | None:
    """Say why a row is dropped (times in ms), one condition after another."""
    person, ts, room, n, x, _ = row
    try:
        lengths = [len(text.decode().encode()) for text in (person, room) if text is not None]
    except UnicodeDecodeError:
        return "undecodable"
    verdicts = [
        ("wrong_type", n is not None and n >= 2**63),
        ("too_long", max(lengths, default=0) > MAX_STRING_BYTES),
        ("not_finite", x is not None and x not in {0.0, 1.5}),
        ("missing_field", person is None or ts is None),
        ("bad_time", ts is not None and not 0 <= ts < TIME_END_MS),
    ]
    return next((reason for reason, holds in verdicts if holds), None)


@settings(max_examples=100, deadline=None)
@given(arrow_rows, st.sampled_from(STRINGS), st.sampled_from(TIMES))
def test_arrow_rows_are_independent(rows: list[tuple[Any, ...]], string: Any, time: Any) -> None:
    """What a row of a batch gives does not depend on the rows around it, in any encoding."""
    decoder = a_decoder(Codec.ARROW)
    batch, drops = decoder.decode([at(3, ipc(columns_of(rows, string, time)))])
    alone = [decoder.decode([at(3, ipc(columns_of([row], string, time)))]) for row in rows]
    assert laid_out(batch) == [row for single, _ in alone for row in laid_out(single)]
    assert drops == sum((Counter(dropped) for _, dropped in alone), Counter())
    assert set(drops) <= REASONS


@settings(max_examples=100, deadline=None)
@given(arrow_rows, st.sampled_from(STRINGS))
def test_arrow_rows_are_judged_as_documented(rows: list[tuple[Any, ...]], string: Any) -> None:
    """The rows that stay, and the reasons for the others, are those of a plain reading."""
    batch, drops = a_decoder(Codec.ARROW).decode([at(0, ipc(columns_of(rows, string)))])
    reasons = [oracle(row) for row in rows]
    kept = [row for row, reason in zip(rows, reasons, strict=True) if reason is None]
    assert drops == Counter(reason for reason in reasons if reason)
    assert [row["person"].encode() for row in batch.rows.to_pylist()] == [row[0] for row in kept]
    assert batch.time_ms.tolist() == [row[1] for row in kept]


GOOD_ROW = (b"alice", NOON_MS, b"2.14", 1, 1.5, True)
GOOD_MESSAGE = ipc(columns_of([GOOD_ROW, (b"bob", *GOOD_ROW[1:])]))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.none()
        | st.binary(max_size=30)
        | st.sampled_from([GOOD_MESSAGE, GOOD_MESSAGE[:-40], GOOD_MESSAGE[:100]])
        | arrow_rows.map(lambda rows: ipc(columns_of(rows))),
        max_size=5,
    )
)
def test_arrow_messages_are_independent(messages: list[bytes | None]) -> None:
    """What a message gives does not depend on the messages around it."""
    records = [at(offset, message) for offset, message in enumerate(messages)]
    assert_independent(a_decoder(Codec.ARROW), records)


def test_damaged_messages_stop_nothing() -> None:
    """However a message is damaged, decoding goes on, and the good ones around it arrive."""
    rng = random.Random(7)
    decoder = a_decoder(Codec.ARROW)
    originals = [ipc(columns_of([GOOD_ROW] * 3, string)) for string in STRINGS]
    for _ in range(400):
        damaged = bytearray(rng.choice(originals))
        for _ in range(rng.randrange(1, 6)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        messages = [at(0, GOOD_MESSAGE), at(1, bytes(damaged)), at(2, GOOD_MESSAGE)]
        batch, drops = decoder.decode(messages)
        offsets = batch.offset.tolist()
        assert offsets.count(0) == offsets.count(2) == 2
        assert offsets.count(1) + sum(drops.values()) >= 1
        assert set(drops) <= REASONS


def test_several_batches_of_a_message_are_its_rows() -> None:
    """A stream of several record batches gives the rows of all, in order, at one offset."""
    batch = pa.record_batch({"person": ["a", "b"], "ts": pa.array([1, 2], pa.int64())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch.slice(1))
    decoded, drops = a_decoder(Codec.ARROW).decode([at(9, bytes(sink.getvalue()))])
    assert decoded.time_ms.tolist() == [1, 2, 2]
    assert decoded.offset.tolist() == [9, 9, 9]
    assert not drops


@pytest.mark.parametrize(
    "change",
    [
        {"person": None},
        {"ts": None},
        {"person": pa.array([1, 2])},
        {"person": pa.nulls(2)},
        {"ts": pa.array(["2024-05-01", "2024-05-01"])},
        {"n": pa.array(["1", "2"])},
        {"b": pa.array([1, 0])},
        {"x": pa.array([[1.0], [2.0]])},
        {"person": pa.RunEndEncodedArray.from_arrays([2], ["alice"])},
    ],
)
def test_unsuitable_columns_cost_the_message(change: dict[str, Any]) -> None:
    """A missing required column or another type makes the whole message undecodable."""
    columns = {**columns_of([GOOD_ROW, GOOD_ROW]), **change}
    bad = ipc({name: column for name, column in columns.items() if column is not None})
    batch, drops = a_decoder(Codec.ARROW).decode([at(0, bad), at(1, GOOD_MESSAGE)])
    assert set(batch.offset.tolist()) == {1}
    assert drops == {"undecodable": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"room": None},
        {"room": pa.nulls(2)},
        {"n": pa.array([1, -1], pa.int8())},
        {"n": pa.array([1.0, -1.0])},
        {"x": pa.array([1, 2**60])},
        {"x": pa.array([1.0, 2.0], pa.float32())},
        {"person": pa.array(["a", "b"]).dictionary_encode()},
    ],
)
def test_suitable_columns(change: dict[str, Any]) -> None:
    """Optional columns may be absent, and every type that holds the declared one is read."""
    columns = {**columns_of([GOOD_ROW, GOOD_ROW]), **change}
    message = ipc({name: column for name, column in columns.items() if column is not None})
    batch, drops = a_decoder(Codec.ARROW).decode([at(0, message)])
    assert len(batch) == 2
    assert not drops


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("n", pa.array([1.0, 1.5])),
        ("n", pa.array([1.0, float("nan")])),
        ("n", pa.array([0.0, 1e30])),
    ],
)
def test_floats_that_are_no_integers(column: str, values: pa.Array) -> None:
    """A float in an integer field costs its row unless its value is whole and fits."""
    message = ipc({**columns_of([GOOD_ROW, GOOD_ROW]), column: values})
    batch, drops = a_decoder(Codec.ARROW).decode([at(0, message)])
    assert len(batch) == 1
    assert drops == {"wrong_type": 1}


def test_small_messages_do_not_unfold() -> None:
    """Compressed bodies, and dictionaries or views that repeat one long text, are refused."""
    count = 20_000
    indices = pa.array(np.zeros(count, dtype=np.int8))
    long = "x" * MAX_STRING_BYTES
    times = pa.array(np.ones(count, dtype=np.int64)).dictionary_encode()
    times = pa.DictionaryArray.from_arrays(indices, times.dictionary)
    repeated = pa.DictionaryArray.from_arrays(indices, pa.array([long]))
    packed = ipc(columns_of([GOOD_ROW] * 200), options=pa.ipc.IpcWriteOptions(compression="zstd"))
    for message in (ipc({"person": repeated, "ts": times}), packed):
        assert a_decoder(Codec.ARROW).decode([at(0, message)])[1] == {"undecodable": 1}
    longer = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array([long * 1000, "bob"]))
    batch, drops = a_decoder(Codec.ARROW).decode(
        [at(0, ipc({"person": longer, "ts": pa.array([1, 2, 3])}))]
    )
    assert batch.time_ms.tolist() == [3]
    assert drops == {"too_long": 2}


# Both


@pytest.mark.parametrize("partitioner", list(Partitioner))
@pytest.mark.parametrize("kind", [FieldType.STRING, FieldType.INTEGER])
def test_rows_count_in_one_partition(partitioner: Partitioner, kind: FieldType) -> None:
    """Over all partitions every row stays once; elsewhere it is misrouted, in both codecs."""
    people: list[Any] = list(range(-20, 20))
    if kind is FieldType.STRING:
        people = [f"person-{number}" for number in people]
    fields = {"person": Field("person", kind), "ts": Field("ts", FieldType.TIMESTAMP)}
    homes = partitions_of(
        ByteStrings.from_list([str(person).encode() for person in people]), partitioner, 3
    )
    message = ipc({"person": pa.array(people), "ts": pa.array(range(40))})
    units: dict[Codec, list[bytes]] = {Codec.JSON: [], Codec.ARROW: []}
    for partition in range(3):
        for codec in Codec:
            decoder = a_decoder(
                codec, partition=partition, partitions=3, partitioner=partitioner, fields=fields
            )
            records = [at(0, message)]
            if codec is Codec.JSON:
                records = [
                    at(ts, json.dumps({"person": person, "ts": ts}).encode())
                    for ts, person in enumerate(people)
                ]
            batch, drops = decoder.decode(records)
            assert batch.time_ms.tolist() == np.flatnonzero(homes == partition).tolist()
            assert drops == {"misrouted": 40 - len(batch)}
            units[codec] += [half.tobytes() for half in batch.unit]
    assert units[Codec.JSON] == units[Codec.ARROW]
    assert len(set(units[Codec.JSON])) == 40


@pytest.mark.parametrize("codec", list(Codec))
def test_ids(codec: Codec) -> None:
    """A declared id is required and hashed apart from the unit; equal ids have equal hashes."""
    fields = {name: Field(name, KINDS[name]) for name in ("person", "ts", "room")}
    decoder = a_decoder(codec, id="room", fields=fields)
    rows = [("a", "a"), ("a", "b"), ("b", "a"), ("b", None)]
    if codec is Codec.JSON:
        records = [
            at(n, json.dumps({"person": p, "room": r, "ts": 1}).encode())
            for n, (p, r) in enumerate(rows)
        ]
    else:
        person, room = (pa.array(column) for column in zip(*rows, strict=True))
        records = [at(0, ipc({"person": person, "room": room, "ts": pa.array([1] * 4)}))]
    batch, drops = decoder.decode(records)
    assert drops == {"missing_field": 1}
    assert batch.event_id is not None
    unit, event = ([half.tobytes() for half in hashes] for hashes in (batch.unit, batch.event_id))
    assert unit[0] == unit[1] != unit[2]
    assert event[0] == event[2] != event[1]
    assert not set(unit) & set(event)


@pytest.mark.parametrize("codec", list(Codec))
def test_nothing_gives_an_empty_batch(codec: Codec) -> None:
    """No records, and records of nothing, give a batch without rows in the declared schema."""
    for records in ([], [at(0, None)], [at(0, b"")]):
        batch, _ = a_decoder(codec).decode(records)
        assert len(batch) == 0
        assert batch.rows.schema.names == list(KINDS)
        assert batch.unit.shape == (0, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"time": "person", "unit": "person"},
        {"unit": "x"},
        {"time": "room"},
        {"id": "b"},
        {"id": "nowhere"},
    ],
)
def test_impossible_feeds_are_refused(change: dict[str, str]) -> None:
    """A feed whose time, unit or id cannot serve as one gets no decoder."""
    with pytest.raises(ValueError, match=r"declared|timestamp|strings or integers"):
        a_decoder(Codec.JSON, **change)
