"""Which partition a privacy unit's events belong to.

A row counts only in the partition its unit hashes to (promise 1), so Tocsin computes what the
producer's partitioner computed, over the UTF-8 bytes of the unit: murmur2, the default of Kafka's
Java client (``toPositive(murmur2(key)) % n``), or crc32, librdkafka's ``consistent``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.model.feeds import Partitioner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.events.hashing import ByteStrings

__all__ = ["crc32", "murmur2", "partitions_of"]

_MURMUR_SEED = 0x9747B28C
_MURMUR_M = np.uint32(0x5BD1E995)


def partitions_of(
    strings: ByteStrings, partitioner: Partitioner, partitions: int
) -> NDArray[np.int64]:
    """Return the partition of every key.

    Args:
        strings: the keys' bytes.
        partitioner: the declared hash.
        partitions: partitions of the topic, at least 1.

    Returns:
        Shape (n,), int64 in ``[0, partitions)``.
    """
    if partitioner is Partitioner.MURMUR2:
        # Kafka's toPositive clears the sign bit; it does not take the absolute value.
        hashed = murmur2(strings) & np.uint32(0x7FFFFFFF)
    else:
        hashed = crc32(strings)
    # numpy divides by a constant with multiplications; its remainder does not.
    count = np.uint32(partitions)
    return (hashed - hashed // count * count).astype(np.int64)


def murmur2(strings: ByteStrings) -> NDArray[np.uint32]:
    """Return Kafka's murmur2 of every string, as shape (n,) uint32."""
    length = strings.length
    state = np.uint32(_MURMUR_SEED) ^ length.astype(np.uint32)
    for word in range(-(-int(length.max(initial=0)) // 4)):
        end, whole = strings.having(4 * word + 1), strings.having(4 * word + 4)
        block = (strings.block(word >> 1)[:end] >> np.uint64(32 * (word & 1))).astype(np.uint32)
        state[whole:end] ^= block[whole:]  # the last one to three bytes
        state[whole:end] *= _MURMUR_M
        block = block[:whole]
        block *= _MURMUR_M
        block ^= block >> np.uint32(24)
        block *= _MURMUR_M
        state[:whole] *= _MURMUR_M
        state[:whole] ^= block
    state ^= state >> np.uint32(13)
    state *= _MURMUR_M
    state ^= state >> np.uint32(15)
    return strings.unsorted(state)


def crc32(strings: ByteStrings) -> NDArray[np.uint32]:
    """Return the CRC-32 (as ``zlib.crc32``) of every string, as shape (n,) uint32."""
    state = np.full(len(strings), 0xFFFFFFFF, dtype=np.uint32)
    for at in range(int(strings.length.max(initial=0))):
        end = strings.having(at + 1)
        byte = strings.block(at >> 3)[:end] >> np.uint64(8 * (at & 7))
        low = state[:end].astype(np.uint8) ^ byte.astype(np.uint8)
        state[:end] = _CRC_TABLE[low] ^ (state[:end] >> np.uint32(8))
    return strings.unsorted(~state)


def _crc_table() -> NDArray[np.uint32]:
    """CRC of every byte, for the reflected polynomial 0xEDB88320."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, np.uint32(0xEDB88320) ^ (table >> 1), table >> 1)
    return table.astype(np.uint32)


_CRC_TABLE = _crc_table()
