"""Lanes that count as those of a replay do, for whoever decides nothing: no ledger, no charge."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from stream.counting.partition import PartitionReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from stream.counting.bounding import Capped
    from stream.events.decoder import Batch
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed
    from stream.model.queries import Query
    from stream.replay.lanes import Lane, Source

__all__ = ["HASH_KEY_BYTES", "uncharged_lanes"]

HASH_KEY_BYTES: Final = 32
"""Of a key that units are compared by; a new one for each pass."""

_NO_TOPIC: Final = "uncharged"


def _ignore(_told: object) -> None:
    """Drop what readers tell of single events."""


def _uncounted(_partition: int, _batch: Batch, _fates: NDArray[np.uint8]) -> None:
    """Drop what became of rows."""


def uncharged_lanes(
    feed: Feed,
    source: Source,
    queries: Sequence[Query],
    budget: Budget,
    keys: Mapping[str, Sequence[WindowKey]],
    *,
    hash_key: bytes,
    on_read: Callable[[int], None] = _ignore,
    on_drops: Callable[[Mapping[str, int]], None] = _ignore,
    on_counted: Callable[[int, Batch, NDArray[np.uint8]], None] = _uncounted,
    on_capped: Callable[[WindowKey, Capped], None] | None = None,
    on_events: Callable[[WindowKey, int, int], None] | None = None,
    public: bool = False,
) -> list[Lane]:
    """Begin to read a feed from the first window on.

    Args:
        feed: what the events are declared to be.
        source: its files.
        queries: what is counted of them.
        budget: its contribution bounds hold.
        keys: per query id its windows, at least one, in order.
        hash_key: ``HASH_KEY_BYTES`` secret bytes.
        on_read: as :class:`PartitionReader` tells, like all that follow.
        on_drops: as there.
        on_counted: as there, and of which partition.
        on_capped: as there.
        on_events: as there.
        public: as there.
    """
    readers = [
        PartitionReader(
            feed=feed,
            partition=partition,
            partitions=source.partitions,
            topic_id=_NO_TOPIC,
            queries=queries,
            budget=budget,
            hash_key=hash_key,
            on_read=on_read,
            on_drops=on_drops,
            on_counted=partial(on_counted, partition),
            on_capped=on_capped,
            on_events=on_events,
            public=public,
        )
        for partition in range(source.partitions)
    ]
    return source.lanes(
        readers,
        {query.id: keys[query.id][0].start_ms for query in queries},
        last_cut_ms=max(keys[query.id][-1].end_ms + query.grace_ms for query in queries),
        hash_key=hash_key,
        on_read=on_read,
        on_drops=on_drops,
    )
