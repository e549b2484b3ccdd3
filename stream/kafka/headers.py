"""Records whose headers are not text, batches that are too large: a consumer must get past them.

Kafka takes any bytes for a header's key; aiokafka takes UTF-8 only and fails the whole fetch, for
every consumer that ever comes to that record. One sensor's record would stop a partition for good
(promise 8). Where a batch cannot be read, it is read again here, with what is no text replaced:
headers play no part in events, and watermarks come from a writer whose headers are text.

A compressed batch that holds more than a process should ever unpack is not read at all: one record
that cannot be decoded stands for it, at the place of its last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.memory_records import _MemoryRecordsPy

from stream.kafka.unpacking import too_large

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Batch", "TolerantRecords", "tolerate_headers"]

_MAGIC_AT: Final = 16
_VERSION_2: Final = 2
_RECORDS_AT: Final = 61


def tolerate_headers() -> None:
    """Let every aiokafka consumer of this process get past such records; idempotent.

    The client has no setting for it, so its class of fetched records is replaced.
    """
    fetcher.MemoryRecords = TolerantRecords


class TolerantRecords(_MemoryRecordsPy):  # type: ignore[misc]  # aiokafka ships no stubs
    """Fetched batches, each readable whatever its headers hold."""

    whole = False
    """Whether batches are handed out as such, not as records."""

    def next_batch(self) -> Batch | None:
        """Return the next batch, ``None`` behind the last."""
        data, batch = self._next_slice, super().next_batch()
        return None if batch is None else Batch(batch, data, whole=self.whole)


class Batch:
    """A batch as aiokafka knows it, until a header or its size stops it.

    As a whole it is iterated over once, and passes for its last record.

    Args:
        batch: aiokafka's.
        data: its bytes, of the whole fetch: a copy would cost as much as its checksum.
        whole: whether it is iterated over as a whole.
    """

    def __init__(self, batch: Any, data: memoryview, *, whole: bool) -> None:
        self._batch = batch
        self._data = data
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        """Return what aiokafka's has of that name."""
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        """Return the one record of a control batch."""
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        """Yield the records, or itself if there are any."""
        self.records = self._read()
        if not self._whole:
            yield from self.records
        elif self.records:
            self.offset = self.records[-1].offset
            yield self

    def _read(self) -> list[Any]:
        batch = self._batch
        if self._data[_MAGIC_AT] < _VERSION_2:
            return list(batch)
        if too_large(batch.compression_type, self._data[_RECORDS_AT:]):
            last = batch.next_offset - 1
            return [
                _DefaultRecordPy(last, batch.max_timestamp, batch.timestamp_type, None, b"", [])
            ]
        try:
            return list(batch)
        except (UnicodeDecodeError, CorruptRecordException):
            return list(_AnyHeaders(self._data))


class _AnyHeaders(_DefaultRecordBatchPy):  # type: ignore[misc]  # aiokafka ships no stubs
    """Reads records whose headers are no text."""

    _buffer: bytearray

    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        self._buffer = _AnyText(self._buffer)


class _AnyText(bytearray):
    """Bytes of which every part is text, in some way."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return _AnyText(found) if isinstance(found, bytearray) else found

    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:
        """Return the text, with what is none replaced."""
        return super().decode(encoding, errors)
