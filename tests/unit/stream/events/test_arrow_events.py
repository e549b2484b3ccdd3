"""Rows of Arrow messages are judged by themselves; messages are not believed."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import arrow_events, arrow_frames, codings
from stream.events.columns import MAX_STRING_BYTES
from stream.model.feeds import Codec
from stream.windows.instants import TIME_END_MS
from tests.support.decoding import (
    NOON_MS,
    REASONS,
    a_decoder,
    assert_independent,
    at,
    ipc,
    laid_out,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

raw_text = st.sampled_from(
    [
        *(b"alice", b"bob", b"", "é".encode(), b"\xff", b"\xc3", b"\xa9", None),
        *(b"b" * 1024, b"x" * 1025, b"\xff" * 1025),
    ]
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


def as_view(texts: pa.Array) -> pa.Array:
    """The same as string views, or with views for the entries of a dictionary."""
    if pa.types.is_dictionary(texts.type):
        words = as_view(texts.dictionary)
        return pa.DictionaryArray.from_arrays(texts.indices, words, safe=False)
    return texts.view(pa.binary()).cast(pa.binary_view()).view(pa.string_view())


def as_dictionary(values: Sequence[bytes | None]) -> pa.Array:
    """The same as a dictionary with small indices, entries of no row among them."""
    words = sorted({value for value in values if value is not None})
    indices = [None if value is None else words.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int8()), as_string([*words, b"\xfe"]), safe=False
    )


STRINGS: list[Callable[[Sequence[bytes | None]], pa.Array]] = [
    as_string,
    lambda values: as_view(as_string(values)),
    as_dictionary,
    lambda values: as_view(as_dictionary(values)),
    lambda values: pa.array(values, pa.large_binary()).view(pa.large_string()),
    lambda values: pa.array(values, pa.binary()),
]
TIMES: list[tuple[pa.DataType, Fraction]] = [
    (pa.int64(), Fraction(1)),
    (pa.timestamp("ms", "Europe/Berlin"), Fraction(1)),
    (pa.timestamp("s"), Fraction(1_000)),
    (pa.timestamp("us"), Fraction(1, 1_000)),
    (pa.timestamp("ns", "UTC"), Fraction(1, 1_000_000)),
]
"""Types of times, and how many milliseconds one step of them is."""


def columns_of(
    rows: Sequence[tuple[Any, ...]],
    string: Any = as_string,
    time: pa.DataType | None = None,
    *,
    encoded: bool = False,
) -> dict[str, pa.Array]:
    """The columns of some rows, strings and times in a chosen encoding."""
    person, ts, room, n, x, b = zip(*rows, strict=True)
    times = pa.array(ts, pa.int64()).view(time or pa.int64())
    return {
        "b": pa.array(b, pa.bool_()),
        "person": string(person),
        "ts": times.dictionary_encode() if encoded else times,
        "other": pa.array([[1]] * len(rows)),
        "room": string(room),
        "n": pa.array(n, pa.uint64()),
        "x": pa.array(x, pa.float64()),
    }


def oracle(row: tuple[Any, ...], scale: Fraction) -> str | None:
    """Say why a row is dropped, one condition after another; a time counts steps of ``scale``."""
    person, ts, room, n, x, _ = row
    texts = [text for text in (person, room) if text is not None]
    time_ms = 0 if ts is None else ts * scale
    try:
        for text in texts:
            _ = len(text) > MAX_STRING_BYTES or text.decode()
    except UnicodeDecodeError:
        return "undecodable"
    verdicts = [
        ("wrong_type", (n is not None and n >= 2**63) or abs(time_ms) >= 2**63),
        ("too_long", max(map(len, texts), default=0) > MAX_STRING_BYTES),
        ("not_finite", x is not None and x not in {0.0, 1.5}),
        ("missing_field", person is None or ts is None),
        ("bad_time", not 0 <= time_ms < TIME_END_MS),
    ]
    return next((reason for reason, holds in verdicts if holds), None)


def read(row: tuple[Any, ...], scale: Fraction) -> dict[str, Any]:
    """Return what a row holds that stays."""
    person, ts, room, *numbers = row
    texts = (None if text is None else text.decode() for text in (person, room))
    values = dict(zip(("person", "room", "n", "x", "b"), (*texts, *numbers), strict=True))
    return {**values, "ts": math.floor(ts * scale)}


@pytest.mark.long
@settings(max_examples=200)
@given(
    arrow_rows,
    st.sampled_from(STRINGS),
    st.sampled_from(TIMES),
    st.booleans(),
    st.integers(1, 7),
)
def test_arrow_rows_are_judged_by_themselves_as_documented(
    rows: list[tuple[Any, ...]],
    string: Any,
    time: tuple[pa.DataType, Fraction],
    encoded: bool,
    size: int,
) -> None:
    """The rows that stay, and the reasons for the others, are those of a plain reading of each.

    Whatever rows stand around it, in any encoding and slice.
    """
    message = ipc(columns_of(rows, string, time[0], encoded=encoded))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_events, "_SLICE_ROWS", size)
        batch, drops = a_decoder(Codec.ARROW).decode([at(3, message)])
    reasons = [oracle(row, time[1]) for row in rows]
    kept = [read(row, time[1]) for row, why in zip(rows, reasons, strict=True) if why is None]
    assert drops == Counter(reason for reason in reasons if reason)
    assert batch.rows.to_pylist() == kept
    assert batch.time_ms.tolist() == [row["ts"] for row in kept]
    assert batch.offset.tolist() == [3] * len(kept)


GOOD_ROW = (b"alice", NOON_MS, b"2.14", 1, 1.5, True)
GOOD_MESSAGE = ipc(columns_of([GOOD_ROW, (b"bob", *GOOD_ROW[1:])]))


@settings(max_examples=60)
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
    originals = [
        ipc(columns_of([GOOD_ROW] * 3, string), options=pa.ipc.IpcWriteOptions(compression=how))
        for string in STRINGS
        for how in (None, "lz4")
    ]
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


def judged(*messages: bytes) -> tuple[list[int], Mapping[str, int]]:
    """Return of which message each row is that stays, and what is dropped."""
    records = [at(offset, message) for offset, message in enumerate(messages)]
    batch, drops = a_decoder(Codec.ARROW).decode(records)
    return batch.offset.tolist(), drops


def changed(rows: int = 2, **change: pa.Array | None) -> bytes:
    """Return a message of good rows with other columns, without those that are none."""
    columns = {**columns_of([GOOD_ROW] * rows), **change}
    return ipc({name: column for name, column in columns.items() if column is not None})


def streamed(*batches: pa.RecordBatch, **options: Any) -> bytes:
    """Return a message of several record batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, **options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


TWO_ROWS = pa.record_batch({"person": ["a", "b"], "ts": pa.array([1, 2], pa.int64())})
ENDLESS = pa.Array.from_buffers(pa.null(), 2**31 - 1, [None])
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def test_several_batches_of_a_message_are_its_rows() -> None:
    """A stream of several record batches gives the rows of all, in order, at one offset."""
    message = streamed(TWO_ROWS, TWO_ROWS.slice(1))
    decoded, drops = a_decoder(Codec.ARROW).decode([at(9, message)])
    assert decoded.time_ms.tolist() == [1, 2, 2]
    assert decoded.offset.tolist() == [9, 9, 9]
    assert not drops


@pytest.mark.parametrize(
    "message",
    [
        # A missing required column or another type.
        changed(person=None),
        changed(ts=None),
        changed(person=pa.array([1, 2])),
        changed(person=pa.nulls(2)),
        changed(ts=pa.array(["2024-05-01", "2024-05-01"])),
        changed(n=pa.array(["1", "2"])),
        changed(b=pa.array([1, 0])),
        changed(x=pa.array([[1.0], [2.0]])),
        changed(person=pa.RunEndEncodedArray.from_arrays([2], ["alice"])),
        # A few bytes that claim two thousand million rows.
        ipc({"person": ENDLESS, "ts": ENDLESS}),
        ipc({"person": pa.RunEndEncodedArray.from_arrays([2**31 - 1], ["alice"]), "ts": ENDLESS}),
        # What stands behind a stream is never left out in silence.
        GOOD_MESSAGE + GOOD_MESSAGE,
        GOOD_MESSAGE + b"\0",
        GOOD_MESSAGE + bytes(8),
        GOOD_MESSAGE + END_OF_STREAM,
        GOOD_MESSAGE.removesuffix(END_OF_STREAM) + b"abc",
        GOOD_MESSAGE.removesuffix(END_OF_STREAM) + GOOD_MESSAGE,
        GOOD_MESSAGE + b"rows that nobody would miss",
    ],
)
def test_a_message_is_refused_as_a_whole(message: bytes) -> None:
    """One drop, whatever is wrong with its columns or behind them; the next message arrives."""
    assert judged(message, GOOD_MESSAGE) == ([1, 1], {"undecodable": 1})


@pytest.mark.parametrize(
    "message",
    [
        # Optional columns may be absent, and every type that holds the declared one is read.
        changed(room=None),
        changed(room=pa.nulls(2)),
        changed(n=pa.array([1, -1], pa.int8())),
        changed(n=pa.array([1.0, -1.0])),
        changed(x=pa.array([1, 2**60])),
        changed(x=pa.array([1.0, 2.0], pa.float32())),
        changed(person=pa.array(["a", "b"]).dictionary_encode()),
        # The end of the stream may be left out, and frames be those of the oldest writers.
        streamed(TWO_ROWS, options=pa.ipc.IpcWriteOptions(use_legacy_format=True)),
        GOOD_MESSAGE.removesuffix(END_OF_STREAM),
    ],
)
def test_messages_of_other_writers_are_read(message: bytes) -> None:
    """In other types and other frames than ours."""
    assert judged(message) == ([0, 0], {})


@pytest.mark.parametrize("values", [[1.0, 1.5], [1.0, float("nan")], [0.0, 1e30]])
def test_floats_that_are_no_integers(values: list[float]) -> None:
    """A float in an integer field costs its row unless its value is whole and fits."""
    assert judged(changed(n=pa.array(values))) == ([0], {"wrong_type": 1})


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_bodies_are_read(compression: str) -> None:
    """Feeders that compress inside the stream lose nothing, in any encoding, two batches or one."""
    for string in STRINGS:
        columns = columns_of([GOOD_ROW, (b"bob", *GOOD_ROW[1:])] * 100, string)
        packed = ipc(columns, options=pa.ipc.IpcWriteOptions(compression=compression))
        plain, _ = a_decoder(Codec.ARROW).decode([at(0, ipc(columns))])
        batch, drops = a_decoder(Codec.ARROW).decode([at(0, packed)])
        assert laid_out(batch) == laid_out(plain)
        assert len(batch) == 200
        assert not drops


@pytest.mark.parametrize("dictionary", [False, True])
def test_compressed_bodies_unpack_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, *, dictionary: bool
) -> None:
    """How much memory a message wants is known before any is given to it."""
    column = pa.array(["x" * 1_000] * 100)
    columns = {"person": column.dictionary_encode() if dictionary else column}
    columns["ts"] = pa.array([1] * 100)
    packed = ipc(columns, options=pa.ipc.IpcWriteOptions(compression="zstd"))
    monkeypatch.setattr(arrow_frames, "MAX_UNPACKED_BYTES", 1 << 20)
    assert judged(packed) == ([0] * 100, {})
    monkeypatch.setattr(arrow_frames, "MAX_UNPACKED_BYTES", 900)
    assert judged(packed) == ([], {"undecodable": 1})


@pytest.mark.parametrize("claim", [1 << 40, -2, -(1 << 62), 7])
def test_a_body_that_lies_about_its_size_costs_its_message(claim: int) -> None:
    """A buffer that claims a terabyte, or less than it holds, is refused and nobody runs short."""
    packed = bytearray(
        ipc(
            {"person": pa.array(["alice"] * 500), "ts": pa.array([1] * 500)},
            options=pa.ipc.IpcWriteOptions(compression="lz4"),
        )
    )
    at_size = packed.index((8 * 500).to_bytes(8, "little"))  # in front of the times
    packed[at_size : at_size + 8] = claim.to_bytes(8, "little", signed=True)
    assert judged(bytes(packed), GOOD_MESSAGE) == ([1, 1], {"undecodable": 1})


OTHER = pa.array(["abc", "defgh"])
ENDS = np.array([0, 3, 8], np.int32).tobytes()


@pytest.mark.parametrize("ends", [[0, 3, 99], [0, 99, 8], [7, 3, 1]])
@pytest.mark.parametrize(
    "other",
    [
        OTHER,
        pa.StructArray.from_arrays([OTHER], names=["inner"]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), OTHER),
    ],
    ids=["text", "struct", "dictionary"],
)
def test_a_column_that_nobody_declared_refuses_nothing(other: pa.Array, ends: list[int]) -> None:
    """However broken it is: only declared columns are read, and those are judged as ever."""
    good = columns_of([GOOD_ROW, GOOD_ROW])
    for name, expected in (("another", ([0, 0], {})), ("room", ([], {"undecodable": 1}))):
        message = ipc({"zero": pa.array([1, 2]), **good, name: other})
        assert message.count(ENDS) == 1
        assert judged(message.replace(ENDS, np.array(ends, np.int32).tobytes())) == expected


def repeated(text: str, rows: int, encoding: str) -> pa.Array:
    """A column that points to one text from every row but the last, which says ``bob``."""
    views = pa.array([text, "bob"], pa.string_view())
    indices = pa.array(np.append(np.zeros(rows - 1, np.int8), np.int8(1)))
    if encoding == "dictionary":
        return pa.DictionaryArray.from_arrays(indices, pa.array([text, "bob"]))
    if encoding == "dictionary of views":
        return pa.DictionaryArray.from_arrays(indices, views)
    _, heads, *texts = views.buffers()
    pointers = np.frombuffer(heads, np.int32).reshape(2, 4)[indices.to_numpy()]
    return pa.Array.from_buffers(views.type, rows, [None, pa.py_buffer(pointers.copy()), *texts])


@pytest.mark.parametrize("encoding", ["dictionary", "dictionary of views", "views"])
@pytest.mark.parametrize("length", [MAX_STRING_BYTES, 100_000])
def test_small_messages_unfold_in_bounded_memory(
    monkeypatch: pytest.MonkeyPatch, encoding: str, length: int
) -> None:
    """Every row of a message that spells out to many times its size is judged by itself."""
    monkeypatch.setattr(arrow_events, "_SLICE_ROWS", 1 << 10)
    assert codings._PIECE_BYTES < 2**29  # an Arrow column ends at 2**31
    monkeypatch.setattr(codings, "_PIECE_BYTES", 1 << 21)
    rows = 20_000
    times = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([NOON_MS]))
    message = ipc({"person": repeated("x" * length, rows, encoding), "ts": times})
    whole, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        found = [
            (len(batch), batch.rows.nbytes, dict(drops))
            for batch, drops in a_decoder(Codec.ARROW).batches([at(0, message)])
        ]
    finally:
        pa.set_memory_pool(whole)
    kept = rows if length <= MAX_STRING_BYTES else 1
    assert sum(count for count, _, _ in found) == kept
    dropped = sum((Counter(drops) for _, _, drops in found), Counter())
    assert dropped == Counter(too_long=rows - kept)
    assert max(size for _, size, _ in found) <= 1 << 21
    assert pool.max_memory() < rows * MAX_STRING_BYTES / 2


def test_an_index_that_points_nowhere_costs_its_row() -> None:
    """A dictionary index outside the dictionary is one bad row, in a column of any type."""
    for indices in ([0, 1, -1, 0], [0, 1, 2, 0], [0, 1, 2**64 - 1, 0]):
        at_entry = pa.array(indices, pa.uint64() if max(indices) > 2**62 else pa.int64())
        for name, words in (("person", pa.array(["a", "b"])), ("n", pa.array([1, 2]))):
            column = pa.DictionaryArray.from_arrays(at_entry, words, safe=False)
            assert judged(changed(4, **{name: column})) == ([0] * 3, {"undecodable": 1})


def test_a_decimal_with_too_many_digits_costs_nothing() -> None:
    """Digits beyond a decimal's precision are no reason to refuse the rows beside it."""
    wide = pa.array([1, 10**30], pa.decimal128(38, 0))
    narrow = pa.Array.from_buffers(pa.decimal128(3, 0), 2, wide.buffers())
    batch, drops = a_decoder(Codec.ARROW).decode([at(0, changed(x=narrow))])
    assert batch.rows.column("x").to_pylist() == [1.0, 1e30]
    assert not drops


def test_damage_behind_good_batches_costs_the_message() -> None:
    """A message is sound or refused as a whole: no batch counts before the last is checked."""
    whole = bytearray(streamed(TWO_ROWS, TWO_ROWS))
    offsets = np.array([0, 1, 2], np.int32).tobytes()
    place = whole.rindex(offsets)
    whole[place : place + 12] = np.array([0, 9, 2], np.int32).tobytes()
    assert judged(bytes(whole)) == ([], {"undecodable": 1})
