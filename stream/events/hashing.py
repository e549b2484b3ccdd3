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

from stream.events.texts import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.events.texts import Texts

__all__ = ["KeyedHash"]

_CHUNK = 16_384
_CONSTANTS = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_STEPS = ((0, 1, 13, 32), (2, 3, 16, 0), (0, 3, 21, 0), (2, 1, 17, 32))
"""Of a round: two words of the state, and by how much the second and the first are rotated."""
_BYTES_IN_KEY = range(16, 65)


class KeyedHash:
    """A 128-bit keyed hash of texts.

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

    def __call__(self, texts: Texts) -> NDArray[np.uint64]:
        """Hash every text.

        Returns:
            Shape (n, 2), uint64: the low and the high half.
        """
        hashed = np.empty((len(texts), 2), np.uint64)
        ordered, order = texts.longest_first()
        for first in range(0, len(texts), _CHUNK):  # keeps the state within the cache
            chunk = slice(first, first + _CHUNK)
            hashed[order[chunk]] = self._siphash(ordered[chunk]).T
        return hashed

    def _siphash(self, texts: Texts) -> NDArray[np.uint64]:
        """Return SipHash-2-4-128 of texts, the longest first, as shape (2, n)."""
        state, scratch = np.empty((4, len(texts)), np.uint64), np.empty(len(texts), np.uint64)
        for at, constant in enumerate(_CONSTANTS):
            state[at] = (self._k1 if at % 2 else self._k0) ^ constant
        state[1] ^= 0xEE
        for number in range(words_of(int(texts.length[0]))):
            left = texts.having(8 * number)  # the others have ended
            block, active = texts[:left].padded(number), state[:, :left]
            active[3] ^= block
            _rounds(2, active, scratch[:left])
            active[0] ^= block
        state[2] ^= 0xEE
        halves = np.empty((2, len(texts)), np.uint64)
        for half in halves:
            _rounds(4, state, scratch)
            np.bitwise_xor.reduce(state, axis=0, out=half)
            state[1] ^= 0xDD
        return halves


def _rounds(count: int, state: NDArray[np.uint64], scratch: NDArray[np.uint64]) -> None:
    """Mix the four words of the state, shape (4, n), in place."""
    for at, other, by, turn in _STEPS * count:
        state[at] += state[other]
        _rotate(state[other], by, scratch)
        state[other] ^= state[at]
        if turn:
            _rotate(state[at], turn, scratch)


def _rotate(values: NDArray[np.uint64], by: int, scratch: NDArray[np.uint64]) -> None:
    """Rotate words to the left."""
    np.left_shift(values, by, out=scratch)
    np.right_shift(values, 64 - by, out=values)
    np.bitwise_or(values, scratch, out=values)
