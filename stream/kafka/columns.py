"""What a fetch brought, column by column: no object outlives a record but its value.

aiokafka hands out a ``ConsumerRecord`` per record, and making them costs more than everything that
is done with them afterwards. A consumer with ``as_columns`` gets blocks instead: ``Records``, tens
of thousands at a time. What may be read is still decided by aiokafka's own code, batch by batch:
checksums, aborted transactions, control records, places in compacted logs, positions.

A batch that cannot be read ends no call: what lies before it is handed out, then its place
(``damaged``), and the partition's position stays there. aiokafka by itself raises, which also loses
what the same call had already taken of other partitions.

``fetch`` returns, and positions stand, like this::

    log       [ batch ][ batch ][ damaged ][ batch ]
    records   ^^^^^^^^^^^^^^^^^^
    position                    ^  here, and at the next fetch that alone
"""

from __future__ import annotations

import time
from array import array
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import PartitionRecords

from stream.events.marks import MARK_HEADER
from stream.events.records import Records
from stream.kafka.headers import tolerate_headers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from aiokafka import TopicPartition
    from numpy.typing import NDArray

    from stream.events.records import Headers
    from stream.kafka.headers import Batch

__all__ = ["LOG_APPEND_TIME", "Fetched", "as_columns", "fetch"]

LOG_APPEND_TIME: Final = 1
"""How aiokafka says that the broker set a record's timestamp."""

_BLOCK_RECORDS = 1 << 17  # of small events: as many as one fetch of a partition brings
_BLOCK_BYTES = 1 << 26  # of values and marks: batches unpack to more than was fetched
_BLOCK_S = 0.5  # asked after each batch, as heartbeats wait: keys and headers take time, too
_BLOCKS = 4
"""Blocks of one call: a fraction of a second's work, and what the partitions of one worker hold."""

_VALUE = attrgetter("value")


class Fetched(NamedTuple):
    """What one call brought.

    Args:
        records: by partition, in log order, at least one each.
        damaged: partitions at a batch that cannot be read: a wrong checksum, an unknown codec.
            It is told again after every fetch, so whoever reads on names the others for a while.
    """

    records: dict[TopicPartition, Records]
    damaged: set[TopicPartition]


def as_columns(headers_of: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments that make a new ``AIOKafkaConsumer`` one for ``fetch``.

    Other consumers of the process are as they were.

    Args:
        headers_of: topics whose marks' headers are wanted; all others are left out.
    """
    tolerate_headers()
    fetcher.PartitionRecords = _fetched
    return {"value_deserializer": _AsColumns(headers_of)}


async def fetch(consumer: Any, *partitions: TopicPartition, timeout_ms: int) -> Fetched:
    """Return what a consumer ``as_columns`` has fetched, waiting for it if need be.

    Args:
        consumer: aiokafka's.
        partitions: of which; of all that are assigned where none is named.
        timeout_ms: how long to wait.

    Raises:
        KafkaError: as ``getmany``, but never for a batch that cannot be read.
    """
    taken = await consumer.getmany(*partitions, timeout_ms=timeout_ms, max_records=_BLOCKS)
    found = Fetched({}, set())
    for partition, blocks in taken.items():
        if blocks and blocks[-1] is None:
            blocks.pop()
            found.damaged.add(partition)
        if blocks:
            found.records[partition] = Records.joined(blocks)
    return found


class _AsColumns(frozenset[str]):
    """How a consumer says what it wants: topics whose headers are; see :func:`as_columns`.

    aiokafka passes deserializers on to where it unpacks. Where this one is called, it does so by
    itself: that version does not fit.
    """


def _fetched(
    partition: TopicPartition,
    records: Any,
    aborted: Any,
    offset: int,
    *how: Any,
) -> Any:
    """Stand in for aiokafka's ``PartitionRecords``.

    ``how``: deserializers of keys and of values, whether to check CRCs, and what to read.
    """
    _, wanted, *checks = how
    if not isinstance(wanted, _AsColumns):
        return PartitionRecords(partition, records, aborted, offset, *how)
    records.whole = True
    blocks = _Blocks(partition, records, aborted, offset, None, None, *checks)
    blocks.with_headers = partition.topic in wanted
    return blocks


class _Blocks(PartitionRecords):  # type: ignore[misc]  # aiokafka ships no stubs
    """Iterates over blocks, and ``None`` at the end where a batch cannot be read.

    aiokafka's loop runs over batches that each claim to be one record.
    """

    next_fetch_offset: int
    with_headers: bool

    def _unpack_records(self) -> Iterator[Records | None]:
        batches = super()._unpack_records()
        damaged = False
        block = _Block()
        while True:
            try:
                records = next(batches, None)
            except MemoryError:
                raise
            except Exception:  # noqa: BLE001 (total: it is about these bytes alone)
                damaged = True
                break
            if records is None:
                break
            block.add(*records, with_headers=self.with_headers)
            full = len(block.value) >= _BLOCK_RECORDS or block.size >= _BLOCK_BYTES
            if full or time.monotonic() > block.until_s:
                yield block.columns()
                block = _Block()
        if block.value:
            yield block.columns()
        if damaged:
            yield None

    def _consumer_record(
        self, _partition: TopicPartition, batch: Batch
    ) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the records of a batch from the place on that was asked for, and their places."""
        start = int(batch.offsets.searchsorted(self.next_fetch_offset))
        return batch.records[start:], batch.offsets[start:]


class _Block:
    """Columns that grow by batches; some hold a single record, so arrays are made at the end."""

    def __init__(self) -> None:
        self._offset = array("q")
        # Runs of records with the same time: how many, when, and whether the broker said so.
        self._alike: list[int] = []
        self._timestamp_ms: list[int] = []
        self._log_append: list[bool] = []
        self._headers: list[Headers] = []
        self.value: list[bytes | None] = []
        self.size = 0
        self.until_s = time.monotonic() + _BLOCK_S

    def add(self, records: list[Any], offsets: NDArray[np.int64], *, with_headers: bool) -> None:
        """Add the records of a batch.

        All of a batch are dated the same way; where the broker dated it, all at the same time.
        Those of the oldest format have no timestamp.
        """
        value, first = list(map(_VALUE, records)), records[0]
        self.value += value
        try:
            self.size += sum(map(len, value))
        except TypeError:  # a tombstone
            self.size += sum(map(len, filter(None, value)))
        self._offset.frombytes(offsets.tobytes())
        log_append = first.timestamp_type == LOG_APPEND_TIME
        undated = first.timestamp is None
        dated = [first] if log_append or undated else records
        self._alike += [len(records) // len(dated)] * len(dated)
        self._timestamp_ms += [-1] if undated else [one.timestamp for one in dated]
        self._log_append += [log_append] * len(dated)
        if with_headers:
            marks = [_marks(one.headers) if one.headers else () for one in records]
            self._headers += marks
            self.size += sum(len(content or b"") for _, content in chain.from_iterable(marks))

    def columns(self) -> Records:
        """Return the records so far."""
        return Records(
            np.array(self._offset, np.int64),
            np.repeat(np.array(self._timestamp_ms, np.int64), self._alike),
            np.repeat(np.array(self._log_append, np.bool_), self._alike),
            self.value,
            self._headers or [()] * len(self.value),
        )


def _marks(headers: Headers) -> Headers:
    """Return the headers that make a record a mark: one does, and with two it is none.

    Others are not kept: a batch may unpack to much more of them than of values.
    """
    return [header for header in headers if header[0] == MARK_HEADER][:2]
