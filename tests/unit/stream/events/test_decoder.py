"""Decoding is total, and every event is judged by itself."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream.events import arrow_events, codings
from stream.events.codings import coding_of
from stream.events.columns import MAX_STRING_BYTES
from stream.events.decoder import Drop
from stream.events.partitioning import partitions_of
from stream.model.feeds import Clock, Codec, Field, FieldType, Partitioner
from stream.windows.instants import TIME_END_MS
from tests.support.decoding import (
    KINDS,
    NOON_MS,
    a_decoder,
    assert_independent,
    at,
    in_a_row,
    laid_out,
)
from tests.support.texts import texts_of

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
        2**63 - 1,
        -(2**63),
        "1969-12-31T23:59:59.9999Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999-00:01",
        "tomorrow",
        1.5,
        None,
    ]
)
events = st.fixed_dictionaries(
    {},
    optional={
        "person": st.sampled_from(["alice", "", "é", "\x00", "x" * 1024, "x" * 1025, 5, None]),
        "ts": times,
        "room": st.sampled_from(["2.14", None, 3]),
        "n": st.sampled_from([0, -(2**63), 2**63 - 1, 2**63, 10**400, 1.0, True, None]),
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
    | events.map(lambda event: json.dumps(event).encode())
    | st.just(b'{"person":"alice","ts":"2024-05-01T12:00:00Z","room":"2.14"}')
)
json_logs = st.lists(st.tuples(json_messages, st.sampled_from([True, True, False]))).map(
    lambda messages: [
        at(offset, value, log_append=log_append)
        for offset, (value, log_append) in enumerate(messages)
    ]
)


@pytest.mark.long
@settings(max_examples=200)
@given(json_logs, st.sampled_from([1, 2, 3, 7, codings._AT_ONCE]))
@example([at(0, b'{"person":"alice","ts":1,"beside":"\xff"}'), at(1, b"{")], 2)
def test_json_messages_are_independent(records, at_once):
    """What a JSON message gives does not depend on the messages around it.

    However many are parsed at once.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codings, "_AT_ONCE", at_once)
        assert_independent(a_decoder(Codec.JSON), records)


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
def test_why_a_json_event_is_dropped(value, reason):
    """A bad event is dropped alone, under the reason that the custodian reads."""
    good = b'{"person":"a","ts":1}'
    batch, drops = a_decoder(Codec.JSON).decode(in_a_row(good, value, good))
    assert batch.offset.tolist() == [0, 2]
    assert drops == {reason.value: 1}


def test_json_values_arrive():
    """Fields come out in their declared types; times in every notation mean the same instant."""
    notations = [
        NOON_MS,
        "2024-05-01T12:00:00Z",
        "2024-05-01T14:00:00.000999+02:00",
        "2024-05-01 12:00:00",
    ]
    row = {"x": 3, "b": True, "n": -1, "person": "é", "more": {}}
    values = [json.dumps({**row, "ts": ts}).encode() for ts in notations]
    batch, drops = a_decoder(Codec.JSON).decode(in_a_row(*values))
    assert not drops
    assert batch.time_ms.tolist() == [NOON_MS] * 4
    assert batch.append_ms.tolist() == [NOON_MS + 7 * offset for offset in range(4)]
    expected = {"person": "é", "ts": NOON_MS, "room": None, "n": -1, "x": 3.0, "b": True}
    assert batch.rows.to_pylist() == [expected] * 4
    kinds = [pa.string(), pa.int64(), pa.string(), pa.int64(), pa.float64(), pa.bool_()]
    assert batch.rows.schema.types == kinds


def test_producer_timestamps():
    """Under ``clock: append_time`` a record that the producer dated is dropped; not under marks."""
    record = at(0, b'{"person":"a","ts":1}', log_append=False)
    assert a_decoder(Codec.JSON).decode([record])[1] == {"create_time": 1}
    marked = a_decoder(Codec.JSON, clock=Clock.WATERMARKS)
    assert len(marked.decode([record])[0]) == 1


def test_deep_nesting_does_not_depend_on_the_caller():
    """A message is judged the same however deep the stack is that decodes it."""
    messages = [
        at(depth, b'{"person":"a","ts":1,"z":' + b"[" * depth + b"]" * depth + b"}")
        for depth in (200, 255, 256, 400, 900)
    ]

    def deeper(frames):
        if frames:
            return deeper(frames - 1)
        return a_decoder(Codec.JSON).decode(messages)[0].offset.tolist()

    assert deeper(0) == deeper(400) == [200, 255]


# Every codec


def written(codec, **columns):
    """Return rows as messages of a codec: of a row each, or one of all."""
    rows = pa.RecordBatch.from_pydict({name: list(each) for name, each in columns.items()})
    return list(coding_of(codec).write(rows))


@pytest.mark.parametrize("partitioner", list(Partitioner))
@pytest.mark.parametrize("kind", [FieldType.STRING, FieldType.INTEGER])
def test_rows_count_in_one_partition(partitioner, kind):
    """Over all partitions every row stays once; elsewhere it is misrouted, in every codec."""
    numbers = range(-20, 20)
    people = [f"p-{at}" for at in numbers] if kind is FieldType.STRING else numbers
    fields = {"person": Field("person", kind), "ts": Field("ts", FieldType.TIMESTAMP)}
    homes = partitions_of(texts_of([str(person).encode() for person in people]), partitioner, 3)
    units = []
    for codec in Codec:
        records = in_a_row(*written(codec, person=people, ts=range(40)))
        options = {"partitions": 3, "partitioner": partitioner, "fields": fields}
        found = [a_decoder(codec, partition=at, **options).decode(records) for at in range(3)]
        for partition, (batch, drops) in enumerate(found):
            assert batch.time_ms.tolist() == np.flatnonzero(homes == partition).tolist()
            assert drops == {"misrouted": 40 - len(batch)}
        units.append([tuple(unit) for batch, _ in found for unit in batch.unit.hashes().tolist()])
    assert all(each == units[0] for each in units)
    assert len(set(units[0])) == 40


@pytest.mark.parametrize("codec", list(Codec))
def test_ids(codec):
    """A declared id is required and hashed apart from the unit; equal ids have equal hashes."""
    decoder = a_decoder(
        codec,
        id="room",
        fields={name: Field(name, KINDS[name]) for name in ("person", "ts", "room")},
    )
    records = in_a_row(*written(codec, person="aabb", room=["a", "b", "a", None], ts=[1] * 4))
    batch, drops = decoder.decode(records)
    assert drops == {"missing_field": 1}
    assert batch.event_id is not None
    (ann, again, bob), (a, b, same) = batch.unit.hashes().tolist(), batch.event_id.tolist()
    assert ann == again != bob
    assert a == same != b
    assert not any(unit in (a, b) for unit in (ann, bob))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("limit", [1, 300, 500, 1 << 26])
def test_pieces_make_no_difference(monkeypatch, codec, limit):
    """Piece by piece or at once, the same rows come in the same order, and the same drops."""
    monkeypatch.setattr(arrow_events, "_SLICE_ROWS", 3)
    messages = written(codec, person=[*"abcdefg", "x" * 1_025, None], ts=range(9))
    records = in_a_row(None, *messages, b"\xff", *messages, b"", *messages)
    records.append(at(99, messages[0], log_append=False))
    decoder = a_decoder(codec)
    whole, dropped = decoder.decode(records)
    assert len(whole) == 21
    monkeypatch.setattr(codings, "_PIECE_BYTES", limit)
    pieces = list(decoder.batches(records))
    assert [row for batch, _ in pieces for row in laid_out(batch)] == laid_out(whole)
    assert sum((Counter(drops) for _, drops in pieces), Counter()) == dropped
    assert (len(pieces) > 1) == (limit < 1 << 26)


@pytest.mark.parametrize("codec", list(Codec))
def test_nothing_gives_an_empty_batch(codec):
    """No records, and records of nothing, give a batch without rows in the declared schema."""
    for values in ([], [None], [b""]):
        batch, _ = a_decoder(codec).decode(in_a_row(*values))
        assert len(batch) == len(batch.unit) == 0
        assert batch.rows.schema.names == list(KINDS)
