"""A compressed batch that holds too much is passed by, and nothing is unpacked for it."""

from __future__ import annotations

import gzip
import random
import struct

import cramjam
import pytest
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode

from stream.kafka import unpacking
from stream.kafka.headers import TolerantRecords
from stream.kafka.unpacking import MOST_BYTES, too_large
from tests.support.batches import batch

CODECS = {
    1: gzip_encode,
    2: snappy_encode,
    3: lz4_encode,
    4: zstd_encode,
}
RAW_SNAPPY = 2


def held(codec, body):
    """Ask as a client does."""
    return too_large(codec, memoryview(body))


@pytest.fixture
def _small(monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_BYTES", 300_000)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("content", ["alike", "noise"])
@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec, content):
    """As much as may be is let through, one byte more is not, whatever the content packs to."""
    noise = random.Random(7).randbytes(300_001)
    full = b"a" * 300_001 if content == "alike" else noise
    assert not held(codec, CODECS[codec](full[:-1]))
    assert held(codec, CODECS[codec](full))


@pytest.mark.usefixtures("_small")
def test_parts_add_up():
    """Several members or frames are unpacked one behind the other, so they count together."""
    half = b"a" * 200_000
    for codec in (1, 3, 4):
        assert not held(codec, CODECS[codec](half))
        assert held(codec, CODECS[codec](half) * 2)
    zeros = gzip_encode(half) + bytes(9) + gzip_encode(half)
    assert len(gzip.decompress(zeros)) == 400_000
    assert held(1, zeros)
    skipped = struct.pack("<II", 0x184D2A50, 5) + b"12345"
    assert held(4, skipped + zstd_encode(half) * 2)
    assert not held(4, skipped + zstd_encode(half))
    assert held(RAW_SNAPPY, bytes(cramjam.snappy.compress_raw(half * 2)))
    assert not held(RAW_SNAPPY, bytes(cramjam.snappy.compress_raw(half)))


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("codec", [0, *CODECS, 5, 7])
def test_any_bytes_are_answered(codec):
    """Bodies that break off or were never one raise nothing here."""
    draw = random.Random(3)
    whole = CODECS.get(codec, bytes)(b"a" * 400_000)
    for _ in range(200):
        held(codec, whole[: draw.randrange(len(whole))])
        held(codec, draw.randbytes(draw.randrange(600)))
        spoilt = bytearray(whole)
        spoilt[draw.randrange(len(spoilt))] ^= 1 << draw.randrange(8)
        held(codec, bytes(spoilt))


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_one_record_stands_for_such_a_batch(codec):
    """It is at the place of the last, so that whoever reads goes on behind; the others are read."""
    large = batch(0, [b"one", b"0" * MOST_BYTES, b"three"], codec=codec)
    assert len(large) < 1 << 20, "a broker takes it"
    records = TolerantRecords(large + batch(3, [b"good"], codec=codec))
    first = records.next_batch()
    assert first.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value) for r in first] == [(2, 9_000, None, b"")]
    assert first.next_offset == 3
    assert [r.value for r in records.next_batch()] == [b"good"]
