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
    try:
        feed.encode()
    except UnicodeEncodeError:
        return
    mark = Mark(feed, time_ms, partition, sequence)
    value, headers = encode_mark(mark, KEY)
    assert claims_mark(headers)
    assert verified_mark(value, headers, key=KEY, feed=feed, partition=partition) == mark


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
    given_headers: list[tuple[str, bytes | None]] = list(headers)
    assert read(value, given_headers) == MARK
    assert read(value, given_headers, key=b"another key, also long enough") is None
    assert read(value, given_headers, feed="doors") is None
    assert read(value, given_headers, partition=4) is None


def test_events_are_not_marks() -> None:
    """Without the header a record is an event; a header without a signature is a bad record."""
    value, headers = encode_mark(MARK, KEY)
    assert not claims_mark([("other", b"")])
    assert read(value, []) is None
    assert read(None, list(headers)) is None
    assert read(value, [(MARK_HEADER, None)]) is None
    assert read(value, [*headers, *headers]) is None
    assert claims_mark([(MARK_HEADER, None)])


@pytest.mark.parametrize("mark", [Mark("f", -1, 0, 0), Mark("f", 0, 0, 2**63)])
def test_impossible_numbers_are_refused(mark: Mark) -> None:
    """A negative number or one beyond 64 bits is never written."""
    with pytest.raises(ValueError, match="Expected `int`"):
        encode_mark(mark, KEY)


def test_short_keys_are_refused() -> None:
    """A key that could be guessed is refused when writing."""
    with pytest.raises(ValueError, match="at least 16 bytes"):
        encode_mark(MARK, b"short")
