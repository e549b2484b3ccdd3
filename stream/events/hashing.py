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
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["PADDING_BYTES", "ByteStrings", "KeyedHash", "spelled"]

PADDING_BYTES = 8
"""Behind the last string, so that eight bytes can be read from any place."""

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
        self._data = np.concatenate([data, np.zeros(PADDING_BYTES, dtype=np.uint8)])
        narrow = length.astype(np.uint16) if length.max(initial=0) < 1 << 16 else length
        # Radix sort of the complement: stable, and fast on 16 bits.
        self.order: NDArray[np.int64] = np.argsort(~narrow, kind="stable")
        self.start = start[self.order]
        self.length = length[self.order]
        self._negated = -self.length  # ascending, for binary search
        self._blocks: list[NDArray[np.uint64]] = []

    @classmethod
    def from_arrow(cls, array: pa.Array) -> ByteStrings:
        """Lay out a ``binary`` or ``string`` array without nulls (32-bit offsets)."""
        return cls(*spelled(array))

    def __len__(self) -> int:
        """Number of strings."""
        return len(self.order)

    def having(self, length: int) -> int:
        """Return how many strings are at least ``length`` bytes long: the first so many."""
        return int(np.searchsorted(self._negated, -length, side="right"))

    def unsorted(self, values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return ``values`` (longest string first) in the strings' own order."""
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def block(self, word: int) -> NDArray[np.uint64]:
        """Return 8-byte word ``word`` of the strings that are longer than ``8 * word`` bytes.

        Little-endian, zero beyond a string's end; longest string first.
        """
        while len(self._blocks) <= word:
            at = 8 * len(self._blocks)
            end = self.having(at + 1)
            overlapping: NDArray[np.uint64] = np.ndarray(
                shape=(len(self._data) - 7,), dtype="<u8", buffer=self._data, strides=(1,)
            )
            block = overlapping[self.start[:end] + at].astype(np.uint64, copy=False)
            whole = self.having(at + 8)
            block[whole:] &= _TAIL_MASKS[self.length[whole:end] - at]
            self._blocks.append(block)
        return self._blocks[word]


def spelled(
    array: pa.Array,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return the bytes of a ``binary`` or ``string`` array, and where each starts and how long.

    Args:
        array: without nulls, with 32-bit offsets.
    """
    _, offsets_buffer, data_buffer = array.buffers()
    if not len(array):
        return np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64)
    narrow = np.frombuffer(offsets_buffer, dtype=np.int32)
    offsets = narrow[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = (
        np.zeros(0, dtype=np.uint8)
        if data_buffer is None
        else np.frombuffer(data_buffer, dtype=np.uint8)
    )
    first, last = int(offsets[0]), int(offsets[-1])
    return data[first:last], offsets[:-1] - first, np.diff(offsets)


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
    length = strings.length[first:last]
    even = np.empty((2, last - first), dtype=np.uint64)
    odd = np.empty_like(even)
    even[0], odd[0], even[1], odd[1] = (
        np.uint64(key ^ constant)
        for key, constant in zip((k0, k1, k0, k1), _SIP_CONSTANTS, strict=True)
    )
    odd[0] ^= np.uint64(0xEE)
    scratch = np.empty_like(even)
    for word in range(int(length[0] >> 3) + 1):
        # Strings end at their word ``length >> 3``, which also carries the length; shorter ones
        # are done.
        active = strings.having(8 * word) - first
        whole = max(0, strings.having(8 * word + 8) - first)
        active, whole = min(active, last - first), min(whole, last - first)
        block = np.zeros(active, dtype=np.uint64)
        found = strings.block(word)[first:last]
        block[: len(found)] = found
        block[whole:] |= length[whole:active].astype(np.uint64) << np.uint64(56)
        _absorb(even[:, :active], odd[:, :active], block, scratch[:, :active])
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
    half: NDArray[np.uint64] = even[0] ^ even[1] ^ odd[0] ^ odd[1]
    return half


def _round(even: NDArray[np.uint64], odd: NDArray[np.uint64], scratch: NDArray[np.uint64]) -> None:
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
