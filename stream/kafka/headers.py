"""Records whose headers are not text, batches that are too large: a consumer must get past them.

Kafka takes any bytes for a header's key; aiokafka takes UTF-8 only and fails the whole fetch, for
every consumer that ever comes to that record. One sensor's record would stop a partition for good
(promise 8). Where a batch cannot be read, it is read again here, without its headers: they play no
part in events, and watermarks come from a writer whose headers are text.

A compressed batch that holds more than a process should ever unpack is not read at all: one record
that cannot be decoded stands for it, at the place of its last.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch, _DefaultRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy
from aiokafka.record.util import decode_varint

from stream.kafka.unpacking import too_large

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Proxy", "TolerantRecords", "tolerate_headers"]

_MAGIC_AT = 16
_VERSION_2 = 2
_RECORDS_AT = 61
_CODEC = 0x07
_ATTRIBUTES_AND_LAST = struct.Struct(">hi")
_ATTRIBUTES_AT = 21


def tolerate_headers() -> None:
    """Let every aiokafka consumer of this process get past such records; idempotent.

    The client has no setting for it, so its class of fetched records is replaced.
    """
    fetcher.MemoryRecords = TolerantRecords


class TolerantRecords(_MemoryRecordsPy):  # type: ignore[misc]  # aiokafka ships no stubs
    """Fetched batches, each readable whatever its headers hold."""

    def next_batch(self) -> Any:
        """Return the next batch, ``None`` behind the last."""
        data = self._next_slice
        if data is None or len(data) <= _MAGIC_AT or data[_MAGIC_AT] < _VERSION_2:
            return super().next_batch()
        self._cache_next()
        return _Batch(data)


class Proxy:
    """Passes for what it holds, but for what a class below says."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __getattr__(self, name: str) -> Any:
        """Return what it has of that name."""
        return getattr(self._held, name)

    def __next__(self) -> Any:
        """Return its next: the one record of a control batch."""
        return next(self._held)


class _Batch(Proxy):
    """A batch as aiokafka reads it, until a header stops it."""

    def __init__(self, data: memoryview) -> None:
        super().__init__(DefaultRecordBatch(data))
        self._data = data  # of the whole fetch: a copy would cost as much as its checksum

    def __iter__(self) -> Iterator[Any]:
        attributes, last = _ATTRIBUTES_AND_LAST.unpack_from(self._data, _ATTRIBUTES_AT)
        if too_large(attributes & _CODEC, self._data[_RECORDS_AT:]):
            return iter((self._stand_in(last),))
        try:
            records = list(self._held)
        except (UnicodeDecodeError, CorruptRecordException):
            records = list(_Headerless(self._data))
        return iter(records)

    def _stand_in(self, last: int) -> _Plain:
        """Return what stands for a batch that is too large: nothing, where its last record is."""
        batch = self._held
        return _Plain(
            offset=batch.base_offset + last,
            timestamp=batch.max_timestamp,
            timestamp_type=batch.timestamp_type,
            key=None,
            value=b"",
        )


@dataclass(frozen=True, slots=True)
class _Plain:
    """A record without its headers."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[()] = ()
    checksum: None = None


class _Headerless(_DefaultRecordBatchPy):  # type: ignore[misc]  # aiokafka ships no stubs
    """Reads records up to their headers, and goes on behind them."""

    _pos: int

    def _read_msg(self) -> _Plain:
        size, at = decode_varint(self._buffer, self._pos)
        end = at + size
        later_ms, at = decode_varint(self._buffer, at + 1)  # behind one byte of attributes
        further, at = decode_varint(self._buffer, at)
        key, at = self._bytes(at)
        value, at = self._bytes(at)
        if not at <= end <= len(self._buffer):
            raise CorruptRecordException("a record is longer than it says")
        self._pos = end
        broker_dated = self.timestamp_type == self.LOG_APPEND_TIME
        return _Plain(
            offset=self.base_offset + further,
            timestamp=self.max_timestamp if broker_dated else self.first_timestamp + later_ms,
            timestamp_type=self.timestamp_type,
            key=key,
            value=value,
        )

    def _bytes(self, at: int) -> tuple[bytes | None, int]:
        size, at = decode_varint(self._buffer, at)
        return (None, at) if size < 0 else (bytes(self._buffer[at : at + size]), at + size)
