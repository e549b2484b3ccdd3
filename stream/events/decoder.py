"""Bytes to events: what one partition's records hold, as valid rows in log order.

Decoding is total per event. A record or row that is not what the feed declares is dropped alone and
counted by reason, for the custodian; it stops nothing and changes nothing about any other (promises
1 and 8). Whether a row survives depends on that row, its record's timestamp type, and the partition
it lies in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from stream.events.codings import coding_of, pieces
from stream.events.columns import Drop, count, declared_schema, examine
from stream.events.hashing import KeyedHash
from stream.events.people import People
from stream.events.records import Record, Records
from stream.events.texts import Texts
from stream.model.feeds import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream.events.columns import Parsed
    from stream.events.units import Units
    from stream.model.feeds import Feed

__all__ = ["Batch", "Batcher", "Decoder", "Drop", "Record", "Records"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Valid rows of one partition, in log order (offset, then position within the message).

    Args:
        rows: the declared fields in their declared types (timestamps are int64 ms).
        time_ms: shape (n,), event times, each in ``[0, 253402300800000)``.
        append_ms: shape (n,), append times of the records they came in.
        offset: shape (n,), offsets of those records.
        unit: of n rows.
        event_id: shape (n, 2), uint64, keyed hash of the declared id; ``None`` without one.
    """

    rows: pa.RecordBatch
    time_ms: NDArray[np.int64]
    append_ms: NDArray[np.int64]
    offset: NDArray[np.int64]
    unit: Units
    event_id: NDArray[np.uint64] | None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.time_ms)


class Batcher:
    """Turns examined columns into batches: routing and keyed hashes.

    Args:
        feed: its declared fields, unit, id and partitioner.
        partitions: partitions of the topic.
        hash_key: 16 to 64 secret bytes; the same wherever units are compared.

    Raises:
        ValueError: if there are no partitions, or the key is too short.
    """

    def __init__(self, feed: Feed, *, partitions: int, hash_key: bytes) -> None:
        if partitions < 1:
            raise ValueError("a topic has at least one partition")
        names = list(feed.fields)
        self._schema = declared_schema(feed)
        self._time, self._unit = names.index(feed.time), names.index(feed.unit)
        self._id = None if feed.id is None else names.index(feed.id)
        self._people = People(hash_key, partitioner=feed.partitioner, partitions=partitions)
        self._id_hash = KeyedHash(hash_key, purpose=b"tocsin.event")

    def admit(
        self,
        columns: Sequence[pa.Array],
        *,
        offset: NDArray[np.int64],
        append_ms: NDArray[np.int64],
        partition: int | None = None,
    ) -> tuple[Batch, int]:
        """Make a batch of good rows.

        Args:
            columns: the declared fields of rows that passed ``examine``.
            offset: shape (n,).
            append_ms: shape (n,).
            partition: where the rows came from; ``None`` keeps rows of any partition.

        Returns:
            The batch, and how many rows were left out because they belong to another partition.
        """
        unit, homes = self._people.units(columns[self._unit].cast(pa.string()))
        misrouted = 0
        # Most often everybody who was ever met here belongs here: no row is looked at then.
        if partition is not None and not (at_home := homes == partition).all():
            here = at_home[unit.number]
            misrouted = len(here) - int(np.count_nonzero(here))
            if misrouted:
                mask = pa.array(here)
                columns = [column.filter(mask) for column in columns]
                offset, append_ms, unit = offset[here], append_ms[here], unit[here]
        event_id = None
        if self._id is not None:
            event_id = self._id_hash(Texts.of(columns[self._id].cast(pa.string())))
        batch = Batch(
            rows=pa.RecordBatch.from_arrays(list(columns), schema=self._schema),
            time_ms=columns[self._time].to_numpy(zero_copy_only=False),
            append_ms=append_ms,
            offset=offset,
            unit=unit,
            event_id=event_id,
        )
        return batch, misrouted


class Decoder:
    """Decodes the records of one partition of a feed.

    Args:
        feed: what the events are declared to be.
        partition: the partition the records come from.
        partitions: partitions that rows are routed over; with one, all belong into partition 0.
        hash_key: 16 to 64 secret bytes; the same wherever units are compared.

    Raises:
        ValueError: if there are no partitions, or the key is too short.
    """

    def __init__(self, feed: Feed, *, partition: int, partitions: int, hash_key: bytes) -> None:
        self._batcher = Batcher(feed, partitions=partitions, hash_key=hash_key)
        self._feed = feed
        self._partition = partition
        self._broker_dated = feed.clock is Clock.APPEND_TIME
        self._parse = coding_of(feed.codec).parser(feed)

    def batches(
        self, records: Sequence[Record] | Records
    ) -> Iterator[tuple[Batch, Mapping[str, int]]]:
        """Yield the valid rows of the records, in log order, and what was dropped by reason.

        The rows come a piece of bounded size at a time, at least one, because small messages may
        spell out to more than memory holds; pieces may end within a message. A record that cannot
        be read at all counts as one drop, a bad row of a readable one as one.

        Args:
            records: records of the partition in log order, marks of the watermarks left out.
        """
        records = Records.of(records)
        drops: dict[str, int] = {}
        if self._broker_dated:
            given, records = len(records), records.where(records.log_append)
            count(drops, Drop.CREATE_TIME, given - len(records))
        values: Sequence[Any] = records.value
        if None in values:
            values = [value or b"" for value in values]  # no codec can read nothing
        for parsed in pieces(self._parse(values), self._feed):
            batch = self._admitted(parsed, records, drops)
            yield batch, dict(drops)
            drops.clear()

    def _admitted(self, parsed: Parsed, records: Records, drops: dict[str, int]) -> Batch:
        """Return the rows that are good and belong here."""
        examine(parsed, self._feed)
        good = parsed.good()
        if good is not parsed:
            parsed.count_drops(drops)
        batch, misrouted = self._batcher.admit(
            good.columns,
            offset=records.offset.take(good.message),
            append_ms=records.timestamp_ms.take(good.message),
            partition=self._partition,
        )
        count(drops, Drop.MISROUTED, misrouted)
        return batch
