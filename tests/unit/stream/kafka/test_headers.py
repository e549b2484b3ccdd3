"""Headers that are not text stop nobody."""

from __future__ import annotations

import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from stream.kafka.headers import TolerantRecords

CRC_AT, CHECKED_FROM = 17, 21
VALUES = [b"one", None, b"three"]


def batch(compression: int, key: bytes) -> bytes:
    """Return a batch of three records; the second one has a header with this key of two bytes."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=10_000,
    )
    for at, value in enumerate(VALUES):
        headers = [("h", None), ("zz", b"content")] if at == 1 else []
        builder.append(at, 1_000 + at, b"key" if at else None, value, headers)
    data = bytearray(bytes(builder.build()).replace(b"zz", key))
    struct.pack_into(">I", data, CRC_AT, calc_crc32c(bytes(data[CHECKED_FROM:])))
    return bytes(data)


def laid_out(records: object) -> list[tuple[object, ...]]:
    """Read every batch to its end."""
    found: list[tuple[object, ...]] = []
    while records.has_next():
        following = records.next_batch()
        assert following.validate_crc()
        assert following.next_offset == 3
        found += [(r.offset, r.timestamp, r.timestamp_type, r.key, r.value) for r in following]
    return found


def test_aiokafka_stops_at_such_a_header() -> None:
    """The client by itself fails the whole fetch: this is what has to be got past."""
    with pytest.raises(UnicodeDecodeError):
        laid_out(MemoryRecords(batch(0, b"\xff\xfe")))


def test_every_record_is_read_whatever_the_headers_hold() -> None:
    """Offsets, times, keys and values are those of the same batch with a good header."""
    good = laid_out(MemoryRecords(batch(0, b"ok") * 2))
    assert [value for *_, value in good] == VALUES * 2
    assert laid_out(TolerantRecords(batch(0, b"\xff\xfe") * 2)) == good
    assert laid_out(TolerantRecords(batch(0, b"ok") + batch(0, b"\xc3\x28"))) == good


def test_good_batches_keep_their_headers() -> None:
    """Marks are found by their header, so a batch that aiokafka can read is left to it."""
    records = list(TolerantRecords(batch(1, b"zz")).next_batch())
    assert records[1].headers == [("h", None), ("zz", b"content")]
    assert TolerantRecords(b"").next_batch() is None
