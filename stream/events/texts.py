"""Columns of texts, and which of known texts each is: compared as words of eight bytes.

A short text is its bytes in words, zero beyond its end, with its length in the last byte of the
last one: SipHash's padding, under which no two texts are alike. numpy compares such words many
times faster than Arrow looks texts up.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.events.hashing import PADDING_BYTES, ByteStrings, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["SHORT_BYTES", "Lexicon", "Texts", "distinct"]

SHORT_BYTES: Final = 39
"""What is no longer is a short text: names, numbers and UUIDs."""

_WORD_BYTES: Final = 8
_LEAST_SLOTS: Final = 1 << 10
_SLOTS_OF_ONE: Final = 8  # at least: then most texts are found at the first look
_HALF: Final = np.uint64(32)
_FREE: Final = -1


def _words(longest: int) -> int:
    """Return how many words tell texts of so many bytes, and shorter ones, apart."""
    return longest // _WORD_BYTES + 1


_SIZES: Final = np.arange(SHORT_BYTES + 2)  # of texts; the last stands for all that are not short
_WITHIN: Final = _SIZES - _WORD_BYTES * np.arange(_words(SHORT_BYTES))[:, np.newaxis]
_MASKS: Final = np.array([(1 << (8 * size)) - 1 for size in range(9)], dtype=np.uint64)[
    np.clip(_WITHIN, 0, _WORD_BYTES)
]
"""What of a word, by its number and the text's size, belongs to the text."""
_LENGTHS: Final = np.where((_WITHIN >= 0) & (_WITHIN < _WORD_BYTES), _SIZES, 0).astype(
    np.uint64
) << np.uint64(56)
"""What a word has in its last byte, by its number and the text's size."""


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts.

    Args:
        data: their bytes, uint8, and ``PADDING_BYTES`` more.
        start: shape (n,), int64: where each starts in ``data``.
        length: shape (n,), int64: its bytes.
        least: none has fewer bytes.
        most: none has more.
        even: they are equally long, and stand side by side from the beginning of ``data`` on.
    """

    data: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    least: int
    most: int
    even: bool = False

    @staticmethod
    def of(array: pa.Array) -> Texts:
        """Return the texts of a ``string`` or ``binary`` array; where it is null, any text."""
        data, start, length = spelled(array)
        padded = np.concatenate([data, np.zeros(PADDING_BYTES, np.uint8)])
        least, most = (int(length.min()), int(length.max())) if len(length) else (0, 0)
        return Texts(padded, start, length, least, most, even=least == most)

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.start)

    def __getitem__(self, rows: NDArray[np.intp]) -> Texts:
        """Return the texts of some rows."""
        return Texts(self.data, self.start[rows], self.length[rows], self.least, self.most)

    def strings(self) -> ByteStrings:
        """Return the texts laid out to be hashed."""
        return ByteStrings(self.data, self.start, self.length)

    def words(self, count: int) -> list[NDArray[np.uint64]]:
        """Return the first words of every text, shape (n,) each.

        Args:
            count: how many; at most as many as a short text has.
        """
        return [self._word(number) for number in range(count)]

    def _word(self, number: int) -> NDArray[np.uint64]:
        at = _WORD_BYTES * number
        if self.even and len(self):
            everywhere: NDArray[np.uint64] = np.ndarray(
                shape=(len(self),),
                dtype="<u8",
                buffer=self.data,
                offset=min(at, self.most),
                strides=(self.most,),
            )
            size = min(self.most, len(_MASKS[0]) - 1)
            evenly: NDArray[np.uint64] = everywhere & _MASKS[number, size]
            evenly |= _LENGTHS[number, size]
            return evenly
        # Behind a text that ends before there may be nothing.
        last = len(self.data) - _WORD_BYTES
        everywhere = np.ndarray(shape=(last + 1,), dtype="<u8", buffer=self.data, strides=(1,))
        place = np.minimum(self.start + at, last) if at else self.start
        word = everywhere[place]
        word &= _MASKS[number].take(self.length, mode="clip")
        word |= _LENGTHS[number].take(self.length, mode="clip")
        return word


def distinct(texts: Texts, key: bytes) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return which text each row has, shape (n,), and the first row of each.

    Every row goes to a place that its text and the key say, and is compared with the first row
    there. Texts that came to another's place go on to the next one, all rows of a text together.

    Args:
        texts: short ones.
        key: at most 64 bytes; nobody without it can make texts meet.
    """
    words = texts.words(_words(texts.most))
    places = 1 << (2 * len(texts)).bit_length()
    place = _begins(words, _factors(key, len(words)), places)
    there = np.empty(places, np.int32)
    every = rows = np.arange(len(texts), dtype=np.int32)
    first = every.copy()
    while len(rows):
        there[place[::-1]] = rows[::-1]  # of several the first one stays
        found = there[place]
        same = words[0][found] == words[0][rows]
        for word in words[1:]:
            same &= word[found] == word[rows]
        first[rows[same]] = found[same]
        rows, place = rows[~same], (place[~same] + 1) & (places - 1)
    firsts = np.flatnonzero(first == every)
    number = np.empty(len(texts), np.int64)
    number[firsts] = np.arange(len(firsts))
    return number[first], firsts


class Lexicon:
    """Different short texts, each found by its number: the order in which they were added.

    Exact for any texts: what stands in a slot is compared word by word, and looking goes on from
    slot to slot until one is free, as most are. Where it begins depends on a key: nobody without it
    can crowd a place.

    Args:
        key: at most 64 bytes.
        longest: bytes of the longest text that is to be added, at most ``SHORT_BYTES``.
    """

    def __init__(self, key: bytes, longest: int) -> None:
        """Begin with no text."""
        self._width = _words(longest)
        self.longest = _WORD_BYTES * self._width - 1
        """Bytes of the longest text that may be added."""
        self._factors = _factors(key, self._width)
        self._count = 0
        self._entries = [np.zeros(0, np.uint64)] * self._width
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
        words = texts.words(self._width)
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
        for entries, word in zip(self._entries, texts.words(self._width), strict=True):
            entries[first : self._count] = word
        self._claim(0 if crowded else first)

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

    def _are(
        self, number: NDArray[np.int64], words: Sequence[NDArray[np.uint64]]
    ) -> NDArray[np.bool_]:
        """Tell which texts are those of some numbers; a number that is free may be any text's."""
        same: NDArray[np.bool_] = self._entries[0].take(number, mode="clip") == words[0]
        for entries, word in zip(self._entries[1:], words[1:], strict=True):
            same &= entries.take(number, mode="clip") == word
        return same

    def _first_slots(self, words: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
        """Return where the search for each text begins."""
        return _begins(words, self._factors, len(self._slots))


def _factors(key: bytes, words: int) -> list[np.uint64]:
    """Return odd numbers that depend on a key: one for each word, and one more."""
    size = _WORD_BYTES * (words + 1)
    drawn = blake2b(key=key, person=b"tocsin.slots", digest_size=size).digest()
    return [factor | np.uint64(1) for factor in np.frombuffer(drawn, "<u8")]


def _begins(
    words: Sequence[NDArray[np.uint64]], factors: Sequence[np.uint64], slots: int
) -> NDArray[np.int64]:
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
