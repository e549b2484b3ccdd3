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

    from stream.events.texts import Texts

__all__ = ["crc32", "murmur2", "partitions_of"]

_MURMUR_SEED = 0x9747B28C
_MURMUR_M = np.uint32(0x5BD1E995)


def partitions_of(texts: Texts, partitioner: Partitioner, partitions: int) -> NDArray[np.int64]:
    """Return the partition of every key.

    Args:
        texts: the keys.
        partitioner: the declared hash.
        partitions: partitions of the topic, at least 1.

    Returns:
        Shape (n,), int64 in ``[0, partitions)``.
    """
    if partitioner is Partitioner.MURMUR2:
        # Kafka's toPositive clears the sign bit; it does not take the absolute value.
        hashed = murmur2(texts) & np.uint32(0x7FFFFFFF)
    else:
        hashed = crc32(texts)
    # numpy divides by a constant with multiplications; its remainder does not.
    count = np.uint32(partitions)
    return (hashed - hashed // count * count).astype(np.int64)


def murmur2(texts: Texts) -> NDArray[np.uint32]:
    """Return Kafka's murmur2 of every text, as shape (n,) uint32."""
    ordered, order = texts.longest_first()
    state = np.uint32(_MURMUR_SEED) ^ ordered.length.astype(np.uint32)
    for word in range(-(-texts.most // 4)):
        end, whole = ordered.having(4 * word + 1), ordered.having(4 * word + 4)
        both = ordered[:end].word(word >> 1)
        block = (both >> np.uint64(32 * (word & 1))).astype(np.uint32)
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
    return _placed(state, order)


def crc32(texts: Texts) -> NDArray[np.uint32]:
    """Return the CRC-32 (as ``zlib.crc32``) of every text, as shape (n,) uint32."""
    ordered, order = texts.longest_first()
    state = np.full(len(texts), 0xFFFFFFFF, np.uint32)
    for at in range(texts.most):
        end = ordered.having(at + 1)
        byte = ordered.data[ordered.start[:end] + at]
        low = state[:end].astype(np.uint8) ^ byte
        state[:end] = _CRC_TABLE[low] ^ (state[:end] >> np.uint32(8))
    return _placed(~state, order)


def _placed(values: NDArray[np.uint32], order: NDArray[np.intp]) -> NDArray[np.uint32]:
    """Return the values of texts, longest first, in the texts' own order."""
    placed = np.empty_like(values)
    placed[order] = values
    return placed


def _crc_table() -> NDArray[np.uint32]:
    """CRC of every byte, for the reflected polynomial 0xEDB88320."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, np.uint32(0xEDB88320) ^ (table >> 1), table >> 1)
    return table.astype(np.uint32)


_CRC_TABLE = _crc_table()
