"""Keyed 128-bit hashes of privacy units and event ids, many at a time.

Caps and duplicates compare hashes, never the ids themselves (promise 1), so whoever writes events
must not be able to make two ids collide. The hash is SipHash-2-4 with 128 bits of output (Aumasson
and Bernstein, 2012), a keyed pseudorandom function made for short inputs; its key is derived from
the caller's with BLAKE2b, one per purpose. SipHash is additions, rotations and exclusive ors on
64-bit words, so numpy computes it for a whole column at once: no cache that an attacker could fill,
no time that depends on what was seen before.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["ByteStrings", "KeyedHash"]

_PADDING = 8
_CHUNK = 16_384
_SIP_CONSTANTS = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)
_TAIL_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(8)], dtype=np.uint64)
# Left and right shifts of a rotation, one row per word of the state.
_BY_13_16 = (np.array([[13], [16]], dtype=np.uint64), np.array([[51], [48]], dtype=np.uint64))
_BY_17_21 = (np.array([[17], [21]], dtype=np.uint64), np.array([[47], [43]], dtype=np.uint64))
_BY_32 = (np.array(32, dtype=np.uint64), np.array(32, dtype=np.uint64))
_BYTES_IN_KEY = range(16, 65)


class ByteStrings:
    """A column of byte strings, laid out so that word ``w`` of all of them can be read at once.

    Longest first: the strings that still have a word ``w`` are then always a prefix, and one pass
    over the words hashes strings of any mix of lengths.

    Args:
        data: the strings' bytes, uint8.
        start: shape (n,), where each string starts in ``data``.
        length: shape (n,), its length in bytes.
    """

    def __init__(
        self, data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]
    ) -> None:
        self._data = np.concatenate([data, np.zeros(_PADDING, dtype=np.uint8)])
        narrow = length.astype(np.uint16) if length.max(initial=0) < 1 << 16 else length
        # Radix sort of the complement: stable, and fast on 16 bits.
        self.order: NDArray[np.int64] = np.argsort(~narrow, kind="stable")
        self.start = start[self.order]
        self.length = length[self.order]

    @classmethod
    def from_arrow(cls, array: pa.Array) -> ByteStrings:
        """Lay out a ``binary`` or ``string`` array without nulls (32-bit offsets)."""
        _, offsets_buffer, data_buffer = array.buffers()
        count = len(array)
        if count == 0:
            return cls.from_list([])
        offsets = np.frombuffer(offsets_buffer, dtype=np.int32)
        offsets = offsets[array.offset : array.offset + count + 1].astype(np.int64)
        data = (
            np.zeros(0, dtype=np.uint8)
            if data_buffer is None
            else np.frombuffer(data_buffer, dtype=np.uint8)
        )
        first, last = int(offsets[0]), int(offsets[-1])
        return cls(data[first:last], offsets[:-1] - first, np.diff(offsets))

    @classmethod
    def from_list(cls, values: Sequence[bytes]) -> ByteStrings:
        """Lay out a list of byte strings."""
        length = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        data = np.frombuffer(b"".join(values), dtype=np.uint8)
        return cls(data, np.cumsum(length) - length, length)

    def __len__(self) -> int:
        """Number of strings."""
        return len(self.order)

    def having(self, length: int) -> int:
        """Return how many strings are at least ``length`` bytes long: the first so many."""
        return int(np.searchsorted(-self.length, -length, side="right"))

    def unsorted(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return ``values`` (longest string first) in the strings' own order."""
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def words(self, dtype: type[np.unsignedinteger], at: NDArray[np.int64]) -> NDArray[np.generic]:
        """Read a little-endian word at each byte position of ``at``.

        Positions run up to the end of the data; what lies beyond a string's end is noise that the
        caller masks.
        """
        size = np.dtype(dtype).itemsize
        overlapping: NDArray[np.generic] = np.ndarray(
            shape=(len(self._data) - size + 1,),
            dtype=np.dtype(dtype).newbyteorder("<"),
            buffer=self._data,
            strides=(1,),
        )
        return overlapping[at].astype(dtype, copy=False)


class KeyedHash:
    """A 128-bit keyed hash of byte strings.

    Args:
        key: 16 to 64 secret bytes.
        purpose: separates hashes of different things under one key, at most 16 bytes.
    """

    def __init__(self, key: bytes, *, purpose: bytes) -> None:
        if len(key) not in _BYTES_IN_KEY:
            raise ValueError("a hash key has 16 to 64 bytes")
        derived = blake2b(key=key, person=purpose, digest_size=16).digest()
        self._k0 = int.from_bytes(derived[:8], "little")
        self._k1 = int.from_bytes(derived[8:], "little")

    def __call__(self, strings: ByteStrings) -> NDArray[np.uint64]:
        """Hash every string.

        Returns:
            Shape (n, 2), uint64: the low and the high half, in the strings' own order.
        """
        hashed = np.empty((len(strings), 2), dtype=np.uint64)
        for first in range(0, len(strings), _CHUNK):  # keeps the state within the cache
            last = min(first + _CHUNK, len(strings))
            low, high = _siphash(strings, first, last, self._k0, self._k1)
            rows = strings.order[first:last]
            hashed[rows, 0] = low
            hashed[rows, 1] = high
        return hashed


def _siphash(
    strings: ByteStrings, first: int, last: int, k0: int, k1: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """SipHash-2-4-128 of the strings ``[first, last)`` of the layout.

    The state's four words stand in two arrays, ``even`` (v0, v2) and ``odd`` (v1, v3), because
    each half of a round does the same to both rows of an array.
    """
    start, length = strings.start[first:last], strings.length[first:last]
    even = np.empty((2, last - first), dtype=np.uint64)
    odd = np.empty_like(even)
    even[0], odd[0], even[1], odd[1] = (
        np.uint64(key ^ constant)
        for key, constant in zip((k0, k1, k0, k1), _SIP_CONSTANTS, strict=True)
    )
    odd[0] ^= np.uint64(0xEE)
    scratch = np.empty_like(even)
    words = length >> 3
    ends = np.searchsorted(-words, -np.arange(1, int(words[0]) + 1), side="right")
    for word, end in enumerate(ends.tolist()):
        block = strings.words(np.uint64, start[:end] + 8 * word).view(np.uint64)
        _absorb(even[:, :end], odd[:, :end], block, scratch[:, :end])
    tail = strings.words(np.uint64, start + (words << 3)).view(np.uint64)
    tail = tail & _TAIL_MASKS[length & 7]
    tail |= (length.astype(np.uint64) & np.uint64(0xFF)) << np.uint64(56)
    _absorb(even, odd, tail, scratch)
    even[1] ^= np.uint64(0xEE)
    low = _squeeze(even, odd, scratch)
    odd[0] ^= np.uint64(0xDD)
    return low, _squeeze(even, odd, scratch)


def _absorb(
    even: NDArray[np.uint64],
    odd: NDArray[np.uint64],
    block: NDArray[np.uint64],
    scratch: NDArray[np.uint64],
) -> None:
    odd[1] ^= block
    _round(even, odd, scratch)
    _round(even, odd, scratch)
    even[0] ^= block


def _squeeze(
    even: NDArray[np.uint64], odd: NDArray[np.uint64], scratch: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    for _ in range(4):
        _round(even, odd, scratch)
    return even[0] ^ even[1] ^ odd[0] ^ odd[1]


def _round(
    even: NDArray[np.uint64], odd: NDArray[np.uint64], scratch: NDArray[np.uint64]
) -> None:
    swapped = even[::-1]
    np.add(even, odd, out=even)
    _rotate(odd, _BY_13_16, scratch)
    np.bitwise_xor(odd, even, out=odd)
    _rotate(even[0], _BY_32, scratch[0])
    np.add(swapped, odd, out=swapped)
    _rotate(odd, _BY_17_21, scratch)
    np.bitwise_xor(odd, swapped, out=odd)
    _rotate(even[1], _BY_32, scratch[0])


def _rotate(
    values: NDArray[np.uint64],
    by: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    scratch: NDArray[np.uint64],
) -> None:
    left, right = by
    np.left_shift(values, left, out=scratch)
    np.right_shift(values, right, out=values)
    np.bitwise_or(values, scratch, out=values)
