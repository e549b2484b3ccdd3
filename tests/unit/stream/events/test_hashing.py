"""The keyed hash of ids: SipHash-2-4 with 128 bits, for whole columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import hashing
from stream.events.hashing import KeyedHash
from stream.events.texts import Texts
from tests.support.texts import texts_of

WORD = (1 << 64) - 1
KEY = bytes(range(32))


def scalar_siphash(data: bytes, k0: int, k1: int) -> bytes:
    """SipHash-2-4-128 of one string with Python's integers, word by word as the paper has it."""
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D ^ 0xEE,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def left(x: int, by: int) -> int:
        return ((x << by) | (x >> (64 - by))) & WORD

    def rounds(count: int) -> None:
        steps = ((0, 1, 13, 32), (2, 3, 16, 0), (0, 3, 21, 0), (2, 1, 17, 32))
        for at, other, by, turned in steps * count:
            v[at] = (v[at] + v[other]) & WORD
            v[other] = left(v[other], by) ^ v[at]
            v[at] = left(v[at], turned)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(4)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return low.to_bytes(8, "little") + (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")


def keyed(k0: int, k1: int) -> KeyedHash:
    """A hash with a SipHash key given outright."""
    chosen = KeyedHash(KEY, purpose=b"test")
    chosen._k0, chosen._k1 = k0, k1
    return chosen


def test_published_vectors() -> None:
    """The reference implementation's first two 128-bit vectors come out."""
    k0, k1 = (int.from_bytes(KEY[at : at + 8], "little") for at in (0, 8))
    hashed = keyed(k0, k1)(texts_of([b"", b"\x00"]))
    assert hashed[0].tobytes().hex() == "a3817f04ba25a8e66df67214c7550293"
    assert hashed[1].tobytes().hex() == "da87c1d86b99af44347659119b22fc45"


@settings(max_examples=60)
@given(
    st.lists(st.binary(max_size=40), max_size=30),
    st.integers(0, WORD),
    st.integers(0, WORD),
    st.integers(0, 3),
    st.sampled_from([1, 7, hashing._CHUNK]),
)
def test_columns_agree_with_one_string_at_a_time(
    values: list[bytes], k0: int, k1: int, start: int, chunk: int
) -> None:
    """Each string of a column of mixed lengths gets its own hash, in the column's order.

    Also in a slice of an Arrow column, and wherever chunks cut it.
    """
    column = pa.array(values, pa.binary())[start:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "_CHUNK", chunk)
        hashed = keyed(k0, k1)(Texts.of(column))
    alone = [scalar_siphash(value, k0, k1) for value in column.to_pylist()]
    assert [row.tobytes() for row in hashed] == alone


def test_key_and_purpose_separate_hashes() -> None:
    """Another key or another purpose gives unrelated hashes."""
    strings = texts_of([b"alice"])
    hashes = {
        KeyedHash(key, purpose=purpose)(strings).tobytes()
        for key in (KEY, bytes(32))
        for purpose in (b"unit", b"event")
    }
    assert len(hashes) == 4


@pytest.mark.parametrize("size", [0, 15, 65])
def test_short_and_long_keys_are_refused(size: int) -> None:
    """A key outside 16 to 64 bytes is an error, not a weak hash."""
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        KeyedHash(bytes(size), purpose=b"test")
