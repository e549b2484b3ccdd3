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

KEY = bytes(range(32))
VECTORS = {
    0: [0xE6A825BA047F81A3, 0x930255C71472F66D],
    1: [0x44AF996BD8C187DA, 0x45FC229B11597634],
    7: [0x53C1DBD8BEEBF1A1, 0x3982F01FA64AB8C0],
    8: [0x61F55862BAA9623B, 0xB49714F364E2830F],
    15: [0x11A8B03399E99354, 0xD9C3CF970FEC087E],
    16: [0xBB54B067CAA4E26E, 0x77052385BF1533FD],
    63: [0x4A83502F77D15051, 0x7CBD3F979A063E50],
}
"""Of the reference implementation: halves of the hash of bytes 0, 1, 2... up to a length."""


def test_published_vectors():
    """Those of 128 bits come out, under their key, for words of any number and padding."""
    chosen = KeyedHash(KEY, purpose=b"test")
    chosen._k0, chosen._k1 = (int.from_bytes(KEY[at : at + 8], "little") for at in (0, 8))
    hashed = chosen(texts_of([bytes(range(length)) for length in VECTORS]))
    assert hashed.tolist() == list(VECTORS.values())


@settings(max_examples=60)
@given(
    st.lists(st.binary(max_size=40), max_size=30),
    st.integers(0, 3),
    st.sampled_from([1, 7, hashing._CHUNK]),
)
def test_columns_agree_with_one_text_at_a_time(values, start, chunk):
    """Each text of a column of mixed lengths gets its own hash, in the column's order.

    Also in a slice of an Arrow column, and wherever chunks cut it.
    """
    column = pa.array(values, pa.binary())[start:]
    hashed = KeyedHash(KEY, purpose=b"test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "_CHUNK", chunk)
        together = hashed(Texts.of(column))
    assert together.tolist() == [hashed(texts_of([value]))[0].tolist() for value in values[start:]]


def test_key_and_purpose_separate_hashes():
    """Another key or another purpose gives unrelated hashes."""
    strings = texts_of([b"alice"])
    hashes = {
        KeyedHash(key, purpose=purpose)(strings).tobytes()
        for key in (KEY, bytes(32))
        for purpose in (b"unit", b"event")
    }
    assert len(hashes) == 4


@pytest.mark.parametrize("size", [0, 15, 65])
def test_short_and_long_keys_are_refused(size):
    """A key outside 16 to 64 bytes is an error, not a weak hash."""
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        KeyedHash(bytes(size), purpose=b"test")
