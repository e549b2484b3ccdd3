"""Records whose headers are not text, batches that are spoilt: a consumer must get past them.

Kafka takes any bytes for a header's key; aiokafka takes UTF-8 only and fails the whole fetch, for
every consumer that ever comes to that record. One sensor's record would stop a partition for good
(promise 8). Where a batch cannot be read, it is read again here, with what is no text replaced:
headers play no part in events, and watermarks come from a writer whose headers are text.

A broker unpacks otherwise than Python, and takes batches from whoever may write that Python cannot
read, or whose records lie where they like: it does not look at the offsets of an uncompressed one.
One record that cannot be decoded is read instead, at the place of the last; also of a compressed
batch that holds more than a process should ever unpack. Gaps are left where a log was compacted.

What is no sender's doing stays an error: a wrong checksum, which aiokafka checks before it reads a
batch, and a codec that is not installed.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.memory_records import _MemoryRecordsPy

from stream.kafka.unpacking import too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["Batch", "TolerantRecords", "tolerate_headers"]

_MAGIC_AT = 16
_VERSION_2 = 2
_RECORDS_AT = 61
_TIMES_END = 1 << 63
_MOST_AGAIN = 1 << 21  # bytes: it takes a second, and a session ends after some

_OFFSET = attrgetter("offset")


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
        self.records, self.offsets = self._read()
        if not self._whole:
            yield from self.records
        elif self.records:
            self.offset = int(self.offsets[-1])
            yield self

    def _read(self) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the records and their places, or those of one that cannot be decoded."""
        batch = self._batch
        if self._data[_MAGIC_AT] < _VERSION_2:
            return _placed(batch)
        end = batch.next_offset
        try:
            if not too_large(batch.compression_type, self._data[_RECORDS_AT:]):
                records, places = self._unpacked()
                if _rising(places, batch.base_offset, end):
                    return records, places
        except (MemoryError, UnsupportedCodecError):
            raise
        except Exception:  # noqa: BLE001, S110 (total: it is about these bytes alone)
            pass
        stamp = batch.max_timestamp, batch.timestamp_type
        return [_DefaultRecordPy(end - 1, *stamp, None, b"", [])], np.array([end - 1])

    def _unpacked(self) -> tuple[list[Any], NDArray[np.int64]]:
        try:
            return _placed(self._batch)
        except (UnicodeDecodeError, CorruptRecordException):
            return _placed(_AnyHeaders(self._data))


def _placed(batch: Iterable[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the records of a batch, and their places."""
    records = list(batch)
    return records, np.fromiter(map(_OFFSET, records), np.int64, len(records))


def _rising(places: NDArray[np.int64], first: int, end: int) -> bool:
    """Tell whether places lie in ``[first, end)``, each behind the one before."""
    if len(places) == end - first and places.tobytes() == np.arange(first, end).tobytes():
        return True  # most are: the check is a third as long
    around = np.concatenate(([first - 1], places, [end]))
    return bool((around[1:] > around[:-1]).all())


class _AnyHeaders(_DefaultRecordBatchPy):  # type: ignore[misc]  # aiokafka ships no stubs
    """Reads records whose headers are no text."""

    _buffer: bytearray

    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        if len(self._buffer) > _MOST_AGAIN:
            raise CorruptRecordException("too much to read again")
        self._buffer = _AnyText(self._buffer)

    def __next__(self) -> Any:
        record = super().__next__()
        if not -_TIMES_END <= record.timestamp < _TIMES_END:  # elsewhere it wraps
            raise CorruptRecordException("a time beyond 64 bits")
        return record


class _AnyText(bytearray):
    """Bytes of which every part is text, in some way."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return _AnyText(found) if isinstance(found, bytearray) else found

    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:
        """Return the text, with what is none replaced."""
        return super().decode(encoding, errors)
