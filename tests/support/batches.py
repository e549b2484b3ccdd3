"""Batches of records as a broker keeps them, whole or spoilt."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

if TYPE_CHECKING:
    from collections.abc import Sequence

_CRC_AT, _CHECKED_FROM, _ATTRIBUTES_AT, _MAX_TIME_AT = 17, 21, 21, 35
LOG_APPEND, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20


def batch(
    base: int,
    values: Sequence[bytes | None],
    *,
    codec: int = 0,
    attributes: int = LOG_APPEND,
    producer: int = -1,
    deltas: Sequence[int] | None = None,
    headers: Sequence[tuple[str, bytes | None]] = (),
    key: bytes = b"key",
) -> bytes:
    """Return a batch of the current format, its checksum right.

    Args:
        base: offset of the first record.
        values: of the records.
        codec: number of the compression.
        attributes: bits beside it; records that the broker dated are of 9,000 ms and the offset.
        producer: id of a transactional one.
        deltas: offsets of the records from the base on; 0, 1, ... where none are given.
        headers: of each record.
        key: of each record.
    """
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=int(bool(attributes & TRANSACTIONAL)),
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        batch_size=1 << 30,
    )
    for at, value in zip(deltas or range(len(values)), values, strict=True):
        builder.append(at, 5_000 + at, key, value, list(headers))
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, base)
    attributes |= struct.unpack_from(">h", data, _ATTRIBUTES_AT)[0]
    struct.pack_into(">h", data, _ATTRIBUTES_AT, attributes)
    if attributes & LOG_APPEND:
        struct.pack_into(">q", data, _MAX_TIME_AT, 9_000 + base)
    return signed(data)


def marker(base: int, producer: int, *, commit: bool) -> bytes:
    """Return the control batch that ends a transaction."""
    return batch(
        base,
        [b""],
        attributes=TRANSACTIONAL | CONTROL,
        producer=producer,
        key=struct.pack(">HH", 0, int(commit)),
    )


def signed(data: bytes) -> bytes:
    """Return a batch with the length and the checksum that it should have."""
    data = bytearray(data)
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, _CRC_AT, calc_crc32c(bytes(data[_CHECKED_FROM:])))
    return bytes(data)
