"""Partitions of units: the producers' hashes, computed for whole columns."""

from __future__ import annotations

import zlib

from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_murmur2

from stream.events.partitioning import partitions_of
from stream.model.feeds import Partitioner
from tests.support.texts import texts_of

KEYS = st.lists(st.binary(max_size=70), max_size=40)


@settings(max_examples=100)
@given(KEYS, st.integers(1, 1000))
def test_partitions(keys, partitions):
    """``toPositive`` clears the sign bit; crc32 is taken as unsigned, as librdkafka does."""
    strings = texts_of(keys)
    by_murmur = partitions_of(strings, Partitioner.MURMUR2, partitions)
    by_crc = partitions_of(strings, Partitioner.CRC32, partitions)
    assert by_murmur.tolist() == [(kafka_murmur2(k) & 0x7FFFFFFF) % partitions for k in keys]
    assert by_crc.tolist() == [zlib.crc32(key) % partitions for key in keys]
