"""Marks: only the writer with the key can say that history has been written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.events.marks import MARK_HEADER, Mark, claims_mark, encode_mark, verified_mark

KEY = b"a watermarks key of its own"
MARK = Mark("badges", 1_700_000_000_000, 3, 17)
VALUE, HEADERS = encode_mark(MARK, KEY)
NATURAL = st.integers(0, 2**63 - 1)


def read(**changes):
    """Read that mark where it was written, but for some changes."""
    given = {"value": VALUE, "headers": HEADERS, "key": KEY, "feed": "badges", "partition": 3}
    return verified_mark(**{**given, **changes})


@given(st.text(st.characters(exclude_categories=["Cs"])), NATURAL, NATURAL, NATURAL)
def test_round_trip(feed, time_ms, partition, sequence):
    """What was written is read, for every feed name and number."""
    mark = Mark(feed, time_ms, partition, sequence)
    value, headers = encode_mark(mark, KEY)
    assert claims_mark(headers)
    assert read(value=value, headers=headers, feed=feed, partition=partition) == mark


@given(st.integers(0, len(VALUE + HEADERS[0][1]) - 1), st.integers(0, 7))
def test_any_change_of_a_bit_is_noticed(place, bit):
    """A mark with one bit changed, in value or signature, is no mark."""
    changed = bytearray(VALUE + HEADERS[0][1])
    changed[place] ^= 1 << bit
    value, signature = changed[: len(VALUE)], changed[len(VALUE) :]
    assert read(value=bytes(value), headers=[(MARK_HEADER, bytes(signature))]) is None


@pytest.mark.parametrize(
    "change",
    [
        {"key": b"another key, also long enough"},
        {"feed": "doors"},
        {"partition": 4},
        {"value": None},
        {"headers": []},
        {"headers": [(MARK_HEADER, None)]},
        {"headers": [*HEADERS, *HEADERS]},
    ],
)
def test_marks_do_not_move(change):
    """No mark under another key, for another feed or partition, or without its one signature."""
    assert read() == MARK
    assert read(**change) is None


def test_events_are_not_marks():
    """Without the header a record is an event; a header without a signature is a bad record."""
    assert not claims_mark([("other", b"")])
    assert claims_mark([(MARK_HEADER, None)])


@pytest.mark.parametrize(
    ("mark", "key", "message"),
    [
        (Mark("f", -1, 0, 0), KEY, "Expected `int`"),
        (Mark("f", 0, 0, 2**63), KEY, "Expected `int`"),
        (MARK, b"short", "at least 16 bytes"),
    ],
)
def test_what_cannot_be_read_is_never_written(mark, key, message):
    """A negative number, one beyond 64 bits, and under a key that could be guessed."""
    with pytest.raises(ValueError, match=message):
        encode_mark(mark, key)
