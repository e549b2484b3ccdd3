"""Marks: only the writer with the key can say that history has been written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.events.marks import MARK_HEADER, Mark, claims_mark, encode_mark, verified_mark

KEY = b"a watermarks key of its own"
MARK = Mark("badges", 1_700_000_000_000, 3, 17)
NATURAL = st.integers(0, 2**63 - 1)


def read(
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
    *,
    key: bytes = KEY,
    feed: str = "badges",
    partition: int = 3,
) -> Mark | None:
    """Read a record of partition 3 of ``badges``."""
    return verified_mark(value, headers, key=key, feed=feed, partition=partition)


@given(st.text(), NATURAL, NATURAL, NATURAL)
def test_round_trip(feed: str, time_ms: int, partition: int, sequence: int) -> None:
    """What was written is read, for every feed name and number."""
    mark = Mark(feed, time_ms, partition, sequence)
    value, headers = encode_mark(mark, KEY)
    assert claims_mark(headers)
    assert read(value, list(headers), feed=feed, partition=partition) == mark


@given(st.data())
def test_any_change_of_a_byte_is_noticed(data: st.DataObject) -> None:
    """A mark with one bit changed, in value or signature, is no mark."""
    value, headers = encode_mark(MARK, KEY)
    signature = headers[0][1]
    whole = bytearray(value + signature)
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    changed = bytes(whole)
    assert read(changed[: len(value)], [(MARK_HEADER, changed[len(value) :])]) is None


def test_marks_do_not_move() -> None:
    """A mark is not authentic under another key, for another feed or in another partition."""
    value, headers = encode_mark(MARK, KEY)
    assert read(value, list(headers)) == MARK
    assert read(value, list(headers), key=b"another key, also long enough") is None
    assert read(value, list(headers), feed="doors") is None
    assert read(value, list(headers), partition=4) is None


def test_events_are_not_marks() -> None:
    """Without the header a record is an event; a header without a signature is a bad record."""
    value, headers = encode_mark(MARK, KEY)
    assert not claims_mark([("other", b"")])
    assert read(value, []) is None
    assert read(None, list(headers)) is None
    assert read(value, [(MARK_HEADER, None)]) is None
    assert read(value, [*headers, *headers]) is None
    assert claims_mark([(MARK_HEADER, None)])


@pytest.mark.parametrize(
    ("mark", "key", "said"),
    [
        (Mark("f", -1, 0, 0), KEY, "natural"),
        (Mark("f", 0, 0, 2**63), KEY, "natural"),
        (MARK, b"short", "at least 16 bytes"),
    ],
)
def test_impossible_marks_are_never_written(mark: Mark, key: bytes, said: str) -> None:
    """No negative number and none beyond 64 bits, and nothing under a key that could be guessed."""
    with pytest.raises(ValueError, match=said):
        encode_mark(mark, key)
