"""Where a worker stands in the partitions it reads: said while it is known, and never longer.

A gauge that is set and forgotten goes on telling the last thing it was told. Here a partition that
nobody has looked at for ``SILENT_S`` has no lag any more and is ``unreachable``; one that left has
no series at all. For the custodian: how many records are left depends on every single event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from accountant.records import Stand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SILENT_S", "STATES", "STILL_S", "PartitionFamilies"]

SILENT_S: Final = 30.0
"""A worker looks at its partitions every second or so."""

STILL_S: Final = 60.0
"""What is handed on at once is counted in a fraction of a second."""

STATES: Final = tuple(each for each in Stand if each is not Stand.OPENED)
"""What a partition can be in, one at a time."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What was last told of one partition, when, and since when it has stood there."""

    stand: Stand
    offset: int | None
    records: int
    told_s: float
    since_s: float

    def state(self, now_s: float) -> Stand:
        """Return its state now."""
        return Stand.UNREACHABLE if now_s - self.told_s > SILENT_S else self.stand

    def moving(self, now_s: float) -> bool:
        """Tell whether it is at its end, or read on."""
        state = self.state(now_s)
        still = now_s - self.since_s > STILL_S
        return state is Stand.END or (state is Stand.READING and not still)


class PartitionFamilies(Collector):
    """Lag and state of the partitions that are assigned now: told by one thread, asked by many.

    Args:
        monotonic_s: a clock that never goes back.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self.begun()

    def begun(self) -> None:
        """Forget what was told: the worker begins to read, anew after an outage."""
        self._places: dict[tuple[str, int], _Place] = {}
        self._shared_out = False

    def told(
        self, feed: str, partition: int, stand: Stand, offset: int | None, records: int = 0
    ) -> None:
        """Take note of where the worker stands in an assigned partition, every second or so.

        Args:
            feed: its name.
            partition: its number.
            stand: what it is in.
            offset: of the next record to be read: a worker that is said to read and stands still
                for a minute is not ready.
            records: how many are still to be read.
        """
        now_s, before = self._monotonic_s(), self._places.get((feed, partition))
        # What begins to be read has not stood still so far.
        since_s = now_s
        if before is not None and (before.stand, before.offset) == (stand, offset):
            since_s = before.since_s
        self._places[feed, partition] = _Place(stand, offset, records, now_s, since_s)

    def shared_out(self) -> None:
        """Take note that the worker knows its share and has told of each of it; idempotent."""
        self._shared_out = True

    def unassigned(self, feed: str, partition: int) -> None:
        """Forget a partition that another worker reads now, or nobody; idempotent."""
        self._places.pop((feed, partition), None)

    def moving(self) -> bool:
        """Tell whether every assigned partition is being read on or at its end.

        Not before the worker knows which: an event that is sent to a worker that is ready is read.
        """
        now_s, places = self._monotonic_s(), self._places.copy()
        return self._shared_out and all(place.moving(now_s) for place in places.values())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield both families as of now."""
        now_s = self._monotonic_s()
        lag = GaugeMetricFamily(
            "tocsin_ingest_lag_records",
            "Records of an assigned partition still to be read.",
            labels=["feed", "partition"],
        )
        states = GaugeMetricFamily(
            "tocsin_ingest_state",
            "1 for the state that an assigned partition is in, 0 for any other.",
            labels=["feed", "partition", "state"],
        )
        for (feed, partition), place in sorted(self._places.copy().items()):
            labels = [feed, str(partition)]
            current = place.state(now_s)
            if current is not Stand.UNREACHABLE:
                lag.add_metric(labels, place.records)
            for state in STATES:
                states.add_metric([*labels, state], float(state is current))
        yield lag
        yield states
