"""Decoding is total, and every event is judged by itself."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import arrow_events, codings
from stream.events.codings import coding_of
from stream.events.columns import MAX_STRING_BYTES
from stream.events.decoder import Batch, Decoder, Drop, Record
from stream.events.partitioning import partitions_of
from stream.model.feeds import Clock, Codec, Field, FieldType, Partitioner
from stream.windows.instants import TIME_END_MS
from tests.support.decoding import (
    KINDS,
    NOON_MS,
    a_decoder,
    assert_independent,
    at,
    ipc,
    laid_out,
)
from tests.support.texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
people = st.sampled_from(["alice", "bob", "", "é", "\x00", "x" * 1024, "x" * 1025, 5, None])
events = st.fixed_dictionaries(
    {},
    optional={
        "person": people,
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


@pytest.mark.long
@settings(max_examples=200)
@given(json_logs, st.sampled_from([1, 2, 3, 7, codings._AT_ONCE]))
def test_json_messages_are_independent(records: list[Record], at_once: int) -> None:
    """What a JSON message gives does not depend on the messages around it.

    However many are parsed at once.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codings, "_AT_ONCE", at_once)
        assert_independent(a_decoder(Codec.JSON), records)


@pytest.mark.long
def test_a_batched_parser_with_a_fallback_is_caught() -> None:
    """The same property fails for the design it is there to keep out."""
    twin = BatchedWithFallback(a_decoder(Codec.JSON))
    beside = b'{"person":"alice","ts":1,"beside":"\xff"}'
    with pytest.raises(AssertionError):
        assert_independent(twin, [at(0, beside), at(1, b"{")])

    @settings(
        max_examples=500,
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
    marked = a_decoder(Codec.JSON, clock=Clock.WATERMARKS)
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


# Every codec


def written(codec: Codec, **columns: Sequence[Any]) -> list[Record]:
    """Return rows as messages of a codec: of a row each, or one of all."""
    rows = pa.RecordBatch.from_pydict({name: list(each) for name, each in columns.items()})
    return [at(offset, value) for offset, value in enumerate(coding_of(codec).write(rows))]


@pytest.mark.parametrize("partitioner", list(Partitioner))
@pytest.mark.parametrize("kind", [FieldType.STRING, FieldType.INTEGER])
def test_rows_count_in_one_partition(partitioner: Partitioner, kind: FieldType) -> None:
    """Over all partitions every row stays once; elsewhere it is misrouted, in every codec."""
    people: list[Any] = list(range(-20, 20))
    if kind is FieldType.STRING:
        people = [f"person-{number}" for number in people]
    fields = {"person": Field("person", kind), "ts": Field("ts", FieldType.TIMESTAMP)}
    homes = partitions_of(texts_of([str(person).encode() for person in people]), partitioner, 3)
    units: dict[Codec, list[bytes]] = {codec: [] for codec in Codec}
    for partition in range(3):
        for codec in Codec:
            decoder = a_decoder(
                codec, partition=partition, partitions=3, partitioner=partitioner, fields=fields
            )
            batch, drops = decoder.decode(written(codec, person=people, ts=range(40)))
            assert batch.time_ms.tolist() == np.flatnonzero(homes == partition).tolist()
            assert drops == {"misrouted": 40 - len(batch)}
            units[codec] += [half.tobytes() for half in batch.unit.hashes()]
    assert all(units[codec] == units[Codec.JSON] for codec in Codec)
    assert len(set(units[Codec.JSON])) == 40


@pytest.mark.parametrize("codec", list(Codec))
def test_ids(codec: Codec) -> None:
    """A declared id is required and hashed apart from the unit; equal ids have equal hashes."""
    fields = {name: Field(name, KINDS[name]) for name in ("person", "ts", "room")}
    decoder = a_decoder(codec, id="room", fields=fields)
    records = written(codec, person="aabb", room=["a", "b", "a", None], ts=[1] * 4)
    batch, drops = decoder.decode(records)
    assert drops == {"missing_field": 1}
    hashes = (batch.unit.hashes(), batch.event_id)
    unit, event = ([half.tobytes() for half in each] for each in hashes)
    assert unit[0] == unit[1] != unit[2]
    assert event[0] == event[2] != event[1]
    assert not set(unit) & set(event)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("limit", [1, 300, 500, 1 << 26])
def test_pieces_make_no_difference(
    monkeypatch: pytest.MonkeyPatch, codec: Codec, limit: int
) -> None:
    """Piece by piece or at once, the same rows come in the same order, and the same drops."""
    monkeypatch.setattr(arrow_events, "_SLICE_ROWS", 3)
    people = [*"abcdefg", "x" * 1_025, None]
    records = [at(0, None), at(1, b"{", log_append=False), at(2, b"\xff")]
    if coding_of(codec).single:
        records += written(codec, person=people * 3, ts=range(27))
    else:
        person = pa.array(people).dictionary_encode()
        message = ipc({"person": person, "ts": pa.array(range(9))})
        records += [at(3, message), at(5, b""), at(6, message), at(7, message)]
    decoder = a_decoder(codec)
    whole, dropped = decoder.decode(records)
    monkeypatch.setattr(codings, "_PIECE_BYTES", limit)
    pieces = list(decoder.batches(records))
    assert [row for batch, _ in pieces for row in laid_out(batch)] == laid_out(whole)
    assert sum((Counter(drops) for _, drops in pieces), Counter()) == dropped
    assert len(laid_out(whole)) == 21
    assert (len(pieces) > 1) == (limit < 1 << 26)


@pytest.mark.parametrize("codec", list(Codec))
def test_nothing_gives_an_empty_batch(codec: Codec) -> None:
    """No records, and records of nothing, give a batch without rows in the declared schema."""
    for records in ([], [at(0, None)], [at(0, b"")]):
        batch, _ = a_decoder(codec).decode(records)
        assert len(batch) == 0
        assert batch.rows.schema.names == list(KINDS)
        assert len(batch.unit) == 0
