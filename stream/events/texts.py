"""Columns of texts, and which of known texts each is: compared as words of eight bytes.

A short text is its bytes in words, zero beyond its end, with its length in the last byte of the
last one: SipHash's padding, under which no two texts of up to 255 bytes are alike. numpy compares
such words many times faster than Arrow looks texts up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_256
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

__all__ = ["SHORT_BYTES", "Lexicon", "Texts", "words_of"]

SHORT_BYTES: Final = 39
"""What is no longer is a short text: names, numbers and UUIDs."""

_WORD_BYTES: Final = 8
_LONGEST_IN_A_BYTE: Final = 255
_MASKS: Final = np.array([(1 << (8 * size)) - 1 for size in range(_WORD_BYTES + 1)], np.uint64)
_LEAST_SLOTS: Final = 1 << 10
_SLOTS_OF_ONE: Final = 8  # at least: then most texts are found at the first look
_HALF: Final = np.uint64(32)
_FREE: Final = -1


def words_of(longest: int) -> int:
    """Return how many words tell texts of so many bytes, and shorter ones, apart."""
    return longest // _WORD_BYTES + 1


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts, of which one word of each can be read at once.

    Args:
        data: their bytes, uint8, and eight more.
        start: shape (n,), int64: where each starts in ``data``.
        length: shape (n,), int64: its bytes.
        most: none has more.
        even: they are equally long, and stand side by side from the beginning of ``data`` on: what
            such a column has is read several times faster.
    """

    data: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    most: int
    even: bool = False

    @staticmethod
    def of(array: pa.Array) -> Texts:
        """Return the texts of a ``string`` or ``binary`` array; where it is null, any text."""
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets or bytes(4), np.int32)[array.offset :]
        ends = ends[: len(array) + 1].astype(np.int64)
        first, last = ends[[0, -1]].tolist()
        inside = np.frombuffer(data or b"", np.uint8)[first:last]
        length = np.diff(ends)
        most = int(length.max(initial=0))
        even = bool((length == most).all())
        padded = np.concatenate([inside, np.zeros(_WORD_BYTES, np.uint8)])
        return Texts(padded, ends[:-1] - first, length, most, even)

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.start)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Texts:
        """Return the texts of some rows."""
        return Texts(self.data, self.start[rows], self.length[rows], self.most)

    def longest_first(self) -> tuple[Texts, NDArray[np.intp]]:
        """Return the texts in another order, and the place here of each.

        Those that still have a word of some number are the first ones then: going over words takes
        as long as there are bytes, whatever mix of lengths somebody sends.
        """
        narrow = self.length.astype(np.uint16) if self.most < 1 << 16 else self.length
        order = np.argsort(~narrow, kind="stable")  # a radix sort, on 16 bits
        return self[order], order

    def having(self, length: int) -> int:
        """Return how many have at least so many bytes, where the longest are first."""
        return int(np.searchsorted(-self.length, -length, side="right"))

    def word(self, number: int) -> Words:
        """Return a word of every text, zero beyond its end, as shape (n,)."""
        last, at = len(self.data) - _WORD_BYTES, _WORD_BYTES * number
        word: Words
        if self.even:
            first, strides = min(at, self.most), (self.most,)
            word = np.ndarray((len(self),), "<u8", self.data, first, strides).copy()
        else:
            everywhere: Words = np.ndarray((last + 1,), "<u8", self.data, strides=(1,))
            # Behind a text that ends before there may be nothing.
            word = everywhere[np.minimum(self.start + at, last) if at else self.start]
        word &= self._by_length(_inside(number, self.most))
        return word

    def padded(self, number: int) -> Words:
        """Return a word of every text, with the length in its last byte if the text ends in it."""
        word = self.word(number)
        word |= self._by_length(_ending(number, self.most))
        return word

    def _by_length(self, table: Words) -> Words | np.uint64:
        """Return what a table by length has for every text; one number where it is the same."""
        return table[self.most] if self.even else table.take(self.length)


@lru_cache(maxsize=1024)
def _inside(number: int, most: int) -> Words:
    """Return what of a word belongs to a text, by the text's length: 0 to ``most``."""
    left = np.arange(most + 1) - _WORD_BYTES * number
    return _MASKS[np.clip(left, 0, _WORD_BYTES)]


@lru_cache(maxsize=1024)
def _ending(number: int, most: int) -> Words:
    """Return what padding adds to a word, by the text's length."""
    length = np.arange(most + 1)
    ends = length // _WORD_BYTES == number
    return np.where(ends, length, 0).astype(np.uint64) << np.uint64(56)


class Lexicon:
    """Different texts, each found by its number: the order in which they were added.

    Exact for any texts: what stands in a slot is compared word by word, and looking goes on from
    slot to slot until one is free, as most are. Where it begins depends on a key: nobody without it
    can crowd a place.

    Args:
        key: at most 64 bytes.
        longest: bytes of the longest text that is to be added.
    """

    def __init__(self, key: bytes, longest: int) -> None:
        """Begin with no text."""
        self._width = words_of(longest)
        self.longest = _WORD_BYTES * self._width - 1
        """Bytes of the longest text that may be added."""
        self._count = 0
        columns = self._width + (self.longest > _LONGEST_IN_A_BYTE)
        self._entries = [np.zeros(0, np.uint64)] * columns
        self._factors = _factors(key, columns)
        self._slots = np.zeros(0, np.int32)
        self._make_room(_LEAST_SLOTS)

    def __len__(self) -> int:
        """Number of texts."""
        return self._count

    def find(self, texts: Texts) -> NDArray[np.int64]:
        """Return the number of each text, -1 where it was not added, as shape (n,).

        Args:
            texts: of any length.
        """
        if not self._count:
            return np.full(len(texts), _FREE)
        words = self._words(texts)
        slot = self._first_slots(words)
        number = self._slots[slot].astype(np.int64)
        astray = np.flatnonzero((number != _FREE) & ~self._are(number, words))
        slot = slot[astray]
        while len(astray):
            slot = (slot + 1) & (len(self._slots) - 1)
            there = self._slots[slot].astype(np.int64)
            number[astray] = there
            on = (there != _FREE) & ~self._are(there, [word[astray] for word in words])
            astray, slot = astray[on], slot[on]
        if texts.most > self.longest:
            number[texts.length > self.longest] = _FREE
        return number

    def add(self, texts: Texts) -> None:
        """Add texts that are different from one another and from all that are there."""
        first, self._count = self._count, self._count + len(texts)
        crowded = _SLOTS_OF_ONE * self._count > len(self._slots)
        if crowded:
            self._make_room(1 << (_SLOTS_OF_ONE * self._count - 1).bit_length())
        for entries, word in zip(self._entries, self._words(texts), strict=True):
            entries[first : self._count] = word
        self._claim(0 if crowded else first)

    def _words(self, texts: Texts) -> list[Words]:
        """Return words that tell all texts apart: where there may be long ones, also by length.

        The last byte of the padding holds a length modulo 256 only.
        """
        words = [texts.padded(number) for number in range(self._width)]
        if self.longest > _LONGEST_IN_A_BYTE:
            words.append(texts.length.view(np.uint64))
        return words

    def _make_room(self, slots: int) -> None:
        """Have so many slots, a power of 2."""
        self._slots = np.full(slots, _FREE, np.int32)
        more = np.zeros(slots // _SLOTS_OF_ONE - len(self._entries[0]), np.uint64)
        self._entries = [np.concatenate([entries, more]) for entries in self._entries]

    def _claim(self, first: int) -> None:
        """Give a slot to every text from number ``first`` on."""
        number = np.arange(first, self._count, dtype=np.int32)
        slot = self._first_slots([entries[first : self._count] for entries in self._entries])
        while len(number):
            free = self._slots[slot] == _FREE
            self._slots[slot[free]] = number[free]  # of several the last one has it
            without = self._slots[slot] != number
            number, slot = number[without], (slot[without] + 1) & (len(self._slots) - 1)

    def _are(self, number: NDArray[np.int64], words: Sequence[Words]) -> NDArray[np.bool_]:
        """Tell which texts are those of some numbers; a number that is free may be any text's."""
        same: NDArray[np.bool_] = self._entries[0].take(number, mode="clip") == words[0]
        for entries, word in zip(self._entries[1:], words[1:], strict=True):
            same &= entries.take(number, mode="clip") == word
        return same

    def _first_slots(self, words: Sequence[Words]) -> NDArray[np.int64]:
        """Return where the search for each text begins."""
        return _begins(words, self._factors, len(self._slots))


def _factors(key: bytes, words: int) -> list[np.uint64]:
    """Return odd numbers that depend on a key: one for each word, and one more."""
    drawn = shake_256(b"tocsin.slots" + key).digest(_WORD_BYTES * (words + 1))
    return [factor | np.uint64(1) for factor in np.frombuffer(drawn, "<u8")]


def _begins(words: Sequence[Words], factors: Sequence[np.uint64], slots: int) -> NDArray[np.int64]:
    """Return a slot for each text, the same for the same text.

    Args:
        words: of the texts.
        factors: of a key.
        slots: how many there are, a power of 2.
    """
    mixed = words[0] * factors[0]
    for word, factor in zip(words[1:], factors[1:], strict=False):
        mixed ^= mixed >> _HALF
        mixed ^= word
        mixed *= factor
    mixed ^= mixed >> _HALF
    mixed *= factors[-1]
    mixed >>= np.uint64(65 - slots.bit_length())
    begins: NDArray[np.int64] = mixed.view(np.int64)
    return begins
