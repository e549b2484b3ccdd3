"""Short texts as words, and a lexicon of them: exact for any bytes, however crowded."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import texts as module
from stream.events.texts import SHORT_BYTES, Lexicon, Texts, words_of
from tests.support.texts import texts_of

KEY = bytes(range(32))

# Zeros, and lengths as bytes, at the ends: what padding could be taken for.
TRICKY = [b"", b"\0", b"\x01", b"a", b"a\0", b"\0" * 8, b"abcdefg", b"abcdefg\x07", b"abcdefg\x08"]
ANY = st.lists(
    st.sampled_from(TRICKY)
    | st.binary(max_size=SHORT_BYTES)
    | st.integers(0, 50).map(lambda number: f"person-{number:06d}".encode())
)
EVEN = st.lists(st.binary(min_size=9, max_size=9))


@given(ANY | EVEN, st.integers(0, 3))
def test_different_texts_are_told_apart(values, start):
    """By their words: of any length, with zeros at their ends, in slices of a column."""
    column = pa.array(values, pa.binary())[start:]
    found = Texts.of(column)
    words = [found.padded(at).tolist() for at in range(words_of(SHORT_BYTES))]
    met = list(zip(zip(*words, strict=True), column.to_pylist(), strict=True))
    different = set(column.to_pylist())
    assert len({word for word, _ in met}) == len(set(met)) == len(different)


@settings(max_examples=200)
@given(
    st.lists(ANY | EVEN, max_size=5),
    ANY | EVEN,
    st.booleans(),
    st.sampled_from([8, 1 << 10]),
    st.sampled_from([7, 8, SHORT_BYTES]),
)
def test_a_lexicon_is_a_dictionary(added, asked, crowd, slots, longest):
    """It finds what was added, under the number that it got, wherever searching begins.

    Also when it has made room, several times over; and no longer text that begins as a known one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LEAST_SLOTS", slots)
        lexicon = Lexicon(KEY, longest)
    if crowd:
        lexicon._first_slots = lambda words: np.zeros(len(words[0]), np.int64)
    known = {}
    for values in added:
        new = [each for each in dict.fromkeys(values) if len(each) <= longest and each not in known]
        lexicon.add(texts_of(new))
        known |= {value: len(known) + at for at, value in enumerate(new)}
    longer = (value + end for value in known for end in (b"\0", bytes([len(value)]), b"y" * 2_000))
    every = [*asked, *known, *longer]
    assert len(lexicon) == len(known)
    assert lexicon.find(texts_of(every)).tolist() == [known.get(value, -1) for value in every]


@pytest.mark.parametrize("longest", [39, 40, 55, 56, 255, 256, 257, 1_024])
def test_a_lexicon_of_long_texts_is_a_dictionary(longest):
    """It tells apart texts that end in zeros, also where their lengths are the same modulo 256."""
    sizes = [0, 1, 39, 40, 55, 56, 255, 256, 257, 512, 1_024]
    pairs = combinations_with_replacement(sizes, 2)
    every = list(dict.fromkeys(b"x" * most + b"\0" * (size - most) for most, size in pairs))
    known = [each for each in every if len(each) <= longest][::2]
    lexicon = Lexicon(b"", longest)
    lexicon.add(texts_of(known))
    numbers = {value: at for at, value in enumerate(known)}
    assert lexicon.find(texts_of(every)).tolist() == [numbers.get(value, -1) for value in every]


def test_where_searching_begins_depends_on_the_key():
    """Whoever does not have the key cannot choose texts that crowd a place."""
    names = texts_of([f"person-{number:06d}".encode() for number in range(1_000)])

    def begins(key):
        return Lexicon(key, 13)._first_slots([names.padded(at) for at in range(2)])

    assert np.count_nonzero(begins(KEY) == begins(bytes(32))) < 50
    assert len(set(begins(KEY).tolist())) > 500
