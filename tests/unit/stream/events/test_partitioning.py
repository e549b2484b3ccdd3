"""Partitions of units: the producers' hashes, computed for whole columns."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_murmur2

from stream.events.partitioning import murmur2, partitions_of
from stream.model.feeds import Partitioner
from tests.support.texts import texts_of

KEYS = st.lists(st.binary(max_size=70), max_size=40)


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_vectors_of_the_java_client(key: bytes, hashed: int) -> None:
    """The Java client's own test vectors come out, as signed 32-bit numbers."""
    assert murmur2(texts_of([key])).view(np.int32).tolist() == [hashed]


@settings(max_examples=100)
@given(KEYS, st.integers(1, 1000))
def test_partitions(keys: list[bytes], partitions: int) -> None:
    """``toPositive`` clears the sign bit; crc32 is taken as unsigned, as librdkafka does."""
    strings = texts_of(keys)
    by_murmur = partitions_of(strings, Partitioner.MURMUR2, partitions)
    by_crc = partitions_of(strings, Partitioner.CRC32, partitions)
    assert by_murmur.tolist() == [(kafka_murmur2(k) & 0x7FFFFFFF) % partitions for k in keys]
    assert by_crc.tolist() == [zlib.crc32(key) % partitions for key in keys]
