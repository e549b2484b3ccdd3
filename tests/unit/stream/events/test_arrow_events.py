"""Rows of Arrow messages are judged by themselves; messages are not believed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import arrow_events, codings
from stream.events.columns import MAX_STRING_BYTES
from stream.model.feeds import Codec
from stream.windows.instants import TIME_END_MS
from tests.support.decoding import NOON_MS, a_decoder, assert_independent, at, in_a_row

if TYPE_CHECKING:
    Row = tuple[Any, ...]

raw_text = st.sampled_from(
    [b"alice", b"", "é".encode(), b"\xff", b"\xc3", b"b" * 1024, b"x" * 1025, b"\xff" * 1025, None]
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


def as_string(values):
    """Bytes that claim to be text, as a careless feeder writes them."""
    return pa.array(values, pa.binary()).view(pa.string())


def as_view(texts):
    """The same as string views."""
    return texts.view(pa.binary()).cast(pa.binary_view()).view(pa.string_view())


def as_dictionary(values, entries=as_string):
    """The same as a dictionary with small indices, entries of no row among them."""
    words = sorted({value for value in values if value is not None})
    indices = [None if value is None else words.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int8()), entries([*words, b"\xfe"]), safe=False
    )


STRINGS = [
    as_string,
    lambda values: as_view(as_string(values)),
    as_dictionary,
    lambda values: as_dictionary(values, lambda words: as_view(as_string(words))),
    lambda values: pa.array(values, pa.large_binary()).view(pa.large_string()),
    lambda values: pa.array(values, pa.binary()),
]
TIMES = [
    (pa.int64(), Fraction(1)),
    (pa.timestamp("ms", "Europe/Berlin"), Fraction(1)),
    (pa.timestamp("s"), Fraction(1_000)),
    (pa.timestamp("us"), Fraction(1, 1_000)),
    (pa.timestamp("ns", "UTC"), Fraction(1, 1_000_000)),
]
"""Types of times, and how many milliseconds one step of them is."""


def columns_of(rows, string=as_string, time=None):
    """The columns of some rows, strings and times in a chosen encoding."""
    person, ts, room, n, x, b = zip(*rows, strict=True)
    return {
        "b": pa.array(b, pa.bool_()),
        "person": string(person),
        "ts": pa.array(ts, pa.int64()).view(time or pa.int64()),
        "other": pa.array([[1]] * len(rows)),
        "room": string(room),
        "n": pa.array(n, pa.uint64()),
        "x": pa.array(x, pa.float64()),
    }


def written(columns, size=None, **options):
    """A message: an IPC stream of batches of so many rows."""
    table = pa.Table.from_batches([pa.record_batch(dict(columns))])
    sink = pa.BufferOutputStream()
    how = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, table.schema, options=how) as writer:
        writer.write_table(table, max_chunksize=size)
    return bytes(sink.getvalue())


def plainly(row, scale):
    """Return what a row holds, or why it is dropped: one condition after another.

    A step of its time is ``scale`` milliseconds.
    """
    person, ts, room, n, x, b = row
    texts = [text or b"" for text in (person, room)]
    short = [text for text in texts if len(text) <= MAX_STRING_BYTES]
    time_ms = (ts or 0) * scale
    reasons = {
        "undecodable": any(text.decode(errors="ignore").encode() != text for text in short),
        "wrong_type": (n or 0) >= 2**63 or abs(time_ms) >= 2**63,
        "too_long": len(short) < 2,
        "not_finite": not math.isfinite(x or 0),
        "missing_field": None in (person, ts),
        "bad_time": not 0 <= time_ms < TIME_END_MS,
    }
    values = {"ts": math.floor(time_ms), "n": n, "x": x, "b": b}
    for name, text in (("person", person), ("room", room)):
        values[name] = None if text is None else text.decode(errors="ignore")
    return next((reason for reason, holds in reasons.items() if holds), values)


@st.composite
def messages(draw):
    """Draw rows, the scale of their times, and a message of them in any encoding."""
    rows, (time, scale) = draw(arrow_rows), draw(st.sampled_from(TIMES))
    columns = columns_of(rows, draw(st.sampled_from(STRINGS)), time)
    if draw(st.booleans()):
        columns["ts"] = columns["ts"].dictionary_encode()
    return rows, scale, written(columns, draw(st.integers(1, 7)))


@pytest.mark.long
@settings(max_examples=200)
@given(messages(), st.integers(1, 7))
def test_arrow_rows_are_judged_by_themselves_as_documented(drawn, size):
    """The rows that stay, and the reasons for the others, are those of a plain reading of each.

    Whatever rows stand around it, in any encoding, batches and slices.
    """
    rows, scale, message = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_events, "_SLICE_ROWS", size)
        batch, drops = a_decoder(Codec.ARROW).decode([at(3, message)])
    found = [plainly(row, scale) for row in rows]
    kept = [each for each in found if isinstance(each, dict)]
    assert drops == Counter(each for each in found if isinstance(each, str))
    assert batch.rows.to_pylist() == kept
    assert batch.time_ms.tolist() == [row["ts"] for row in kept]
    assert batch.offset.tolist() == [3] * len(kept)


GOOD_ROW = (b"alice", NOON_MS, b"2.14", 1, 1.5, True)
GOOD_MESSAGE = written(columns_of([GOOD_ROW] * 2))
TWO_ROWS = {"person": pa.array(["a", "b"]), "ts": pa.array([1, 2])}


def damaged(message, changes):
    """Return a message with some bytes changed."""
    found = bytearray(message)
    for place, value in changes:
        found[place % len(found)] = value
    return bytes(found)


ANY_MESSAGE = messages().map(itemgetter(2))
DAMAGE = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=5)


@settings(max_examples=150)
@given(
    st.lists(
        st.none()
        | st.binary(max_size=30)
        | st.sampled_from([GOOD_MESSAGE, GOOD_MESSAGE[:-40], GOOD_MESSAGE[:100]])
        | ANY_MESSAGE
        | st.builds(damaged, ANY_MESSAGE, DAMAGE),
        max_size=5,
    )
)
def test_arrow_messages_are_independent(values):
    """What a message gives does not depend on the messages around it, however one is damaged."""
    assert_independent(a_decoder(Codec.ARROW), in_a_row(*values))


def judged(*messages):
    """Return of which message each row is that stays, and what is dropped."""
    batch, drops = a_decoder(Codec.ARROW).decode(in_a_row(*messages))
    return batch.offset.tolist(), drops


def changed(rows=2, **change):
    """Return a message of good rows with other columns, without those that are none."""
    columns = {**columns_of([GOOD_ROW] * rows), **change}
    return written({name: column for name, column in columns.items() if column is not None})


ENDLESS = pa.Array.from_buffers(pa.null(), 2**31 - 1, [None])
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
WIDE = pa.array([1, 10**30], pa.decimal128(38, 0))


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
        written({"person": ENDLESS, "ts": ENDLESS}),
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
def test_a_message_is_refused_as_a_whole(message):
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
        # More digits than a decimal's precision are no reason to refuse the rows beside it.
        changed(x=pa.Array.from_buffers(pa.decimal128(3, 0), 2, WIDE.buffers())),
        # The end of the stream may be left out, and frames be those of the oldest writers.
        written(TWO_ROWS, use_legacy_format=True),
        GOOD_MESSAGE.removesuffix(END_OF_STREAM),
    ],
)
def test_messages_of_other_writers_are_read(message):
    """In other types and other frames than ours."""
    assert judged(message) == ([0, 0], {})


WORDS, NUMBERS = pa.array(["a", "b"]), pa.array([1, 2])


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        # A float in an integer field, unless its value is whole and fits.
        *[
            ("n", pa.array([1.0, value]), "wrong_type")
            for value in (1.5, float("nan"), float("inf"), 1e30)
        ],
        # An index outside the dictionary.
        *[
            (name, pa.DictionaryArray.from_arrays(indices, words, safe=False), "undecodable")
            for indices in (
                pa.array([1, -1]),
                pa.array([1, 2]),
                pa.array([1, 2**64 - 1], pa.uint64()),
            )
            for name, words in (("person", WORDS), ("n", NUMBERS))
        ],
    ],
)
def test_what_a_column_cannot_hold_costs_its_row(name, column, reason):
    """The second row here, and nothing of the first."""
    assert judged(changed(**{name: column})) == ([0], {reason: 1})


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_compressed_body_is_refused(codec, *, dictionary):
    """It would say itself how much memory it wants; Kafka compresses whole batches."""
    column = pa.array(["x" * 1_000] * 100)
    person = column.dictionary_encode() if dictionary else column
    packed = written({"person": person, "ts": pa.array([1] * 100)}, compression=codec)
    assert judged(packed, GOOD_MESSAGE) == ([1, 1], {"undecodable": 1})


def ends(*offsets):
    """Return where the texts of a column end, as its buffer says it."""
    return np.array(offsets, np.int32).tobytes()


OTHER = pa.array(["abc", "defgh"])


@pytest.mark.parametrize("broken", [ends(0, 3, 99), ends(0, 99, 8), ends(7, 3, 1)])
@pytest.mark.parametrize(
    "other",
    [
        OTHER,
        pa.StructArray.from_arrays([OTHER], names=["inner"]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), OTHER),
    ],
    ids=["text", "struct", "dictionary"],
)
def test_a_column_that_nobody_declared_refuses_nothing(other, broken):
    """However broken it is: only declared columns are read, and those are judged as ever."""
    for name, expected in (("another", ([0, 0], {})), ("room", ([], {"undecodable": 1}))):
        message = changed(zero=NUMBERS, **{name: other})
        assert message.count(ends(0, 3, 8)) == 1
        assert judged(message.replace(ends(0, 3, 8), broken)) == expected


def test_damage_behind_good_batches_costs_the_message():
    """A message is sound or refused as a whole: no batch counts before the last is checked."""
    columns = {"person": pa.array(["a", "b", "ccc", "d"]), "ts": pa.array([1, 2, 3, 4])}
    whole = written(columns, 2)
    assert judged(whole) == ([0] * 4, {})
    assert whole.count(ends(0, 3, 4)) == 1
    assert judged(whole.replace(ends(0, 3, 4), ends(0, 9, 4))) == ([], {"undecodable": 1})


def repeated(text, rows, encoding):
    """A column that points to one text from every row but the last, which says ``bob``."""
    views = pa.array([text, "bob"], pa.string_view())
    indices = np.append(np.zeros(rows - 1, np.int8), np.int8(1))
    if encoding != "views":
        words = views if encoding == "dictionary of views" else pa.array([text, "bob"])
        return pa.DictionaryArray.from_arrays(pa.array(indices), words)
    _, heads, *texts = views.buffers()
    pointers = np.frombuffer(heads, np.int32).reshape(2, 4)[indices]
    return pa.Array.from_buffers(views.type, rows, [None, pa.py_buffer(pointers), *texts])


@pytest.mark.parametrize("encoding", ["dictionary", "dictionary of views", "views"])
@pytest.mark.parametrize("length", [MAX_STRING_BYTES, 100_000])
def test_small_messages_unfold_in_bounded_memory(monkeypatch, encoding, length):
    """Every row of a message that spells out to many times its size is judged by itself."""
    monkeypatch.setattr(arrow_events, "_SLICE_ROWS", 1 << 10)
    assert codings._PIECE_BYTES < 2**29  # an Arrow column ends at 2**31
    monkeypatch.setattr(codings, "_PIECE_BYTES", 1 << 21)
    rows = 20_000
    times = pa.array([NOON_MS] * rows).dictionary_encode()
    message = written({"person": repeated("x" * length, rows, encoding), "ts": times})
    whole, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:  # nothing of the pool's outlives it
        found = [
            (len(batch), batch.rows.nbytes, Counter(drops))
            for batch, drops in a_decoder(Codec.ARROW).batches([at(0, message)])
        ]
    finally:
        pa.set_memory_pool(whole)
    kept = rows if length <= MAX_STRING_BYTES else 1
    several, sizes, dropped = zip(*found, strict=True)
    assert sum(several) == kept
    assert sum(dropped, Counter()) == Counter(too_long=rows - kept)
    assert max(sizes) <= 1 << 21
    assert pool.max_memory() < rows * MAX_STRING_BYTES / 2
