"""Where a worker stands in the partitions it reads: said while it is known, and never longer.

A gauge that is set and forgotten goes on telling the last thing it was told. Here a partition that
nobody has looked at for ``SILENT_S`` has no lag any more and is ``unreachable``; one that left has
no series at all. For the custodian: how many records are left depends on every single event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from threading import Lock
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

STATES: Final = tuple(each.value for each in Stand if each is not Stand.OPENED)
"""What a partition can be in, one at a time."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What was last said about one partition, and when: its lag, anything at all, a new offset."""

    lag_s: float
    seen_s: float
    moved_s: float
    records: int
    state: str | None
    offset: int | None

    def state_at(self, now_s: float) -> str:
        """Return its state; where only a lag was told, that says whether it is at its end."""
        if now_s - self.seen_s > SILENT_S:
            return Stand.UNREACHABLE.value
        return self.state or (Stand.READING.value if self.records else Stand.END.value)

    def moving(self, now_s: float) -> bool:
        """Tell whether it is at its end, or read on; where no offset is told, reading is that."""
        state = self.state_at(now_s)
        still = self.offset is not None and now_s - self.moved_s > STILL_S
        return state == Stand.END.value or (state == Stand.READING.value and not still)


_NOWHERE: Final = _Place(-math.inf, -math.inf, -math.inf, 0, None, None)


class PartitionFamilies(Collector):
    """Lag and state of the partitions that are assigned now; safe to call from many threads.

    Args:
        monotonic_s: a clock that never goes back.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._places: dict[tuple[str, int], _Place] = {}
        self._shared_out = False
        self._lock = Lock()

    def lag(self, feed: str, partition: int, records: int) -> None:
        """Take note of how many records of a partition are still to be read."""
        now_s = self._monotonic_s()
        with self._lock:
            before = self._places.get((feed, partition), _NOWHERE)
            self._places[feed, partition] = replace(
                before, lag_s=now_s, seen_s=now_s, records=records
            )

    def held(self, feed: str, partition: int, why: str, offset: int | None = None) -> None:
        """Take note of a partition's state, and of where the worker stands in it.

        Raises:
            ValueError: ``why`` is none of ``STATES``.
        """
        if why not in STATES:
            raise ValueError(f"a partition is in one of {', '.join(STATES)}")
        now_s = self._monotonic_s()
        with self._lock:
            before = self._places.get((feed, partition), _NOWHERE)
            # What begins to be read has not stood still so far.
            moved = offset != before.offset or before.state != why
            self._places[feed, partition] = replace(
                before,
                seen_s=now_s,
                moved_s=now_s if moved else before.moved_s,
                state=why,
                offset=offset,
            )

    def shared_out(self) -> None:
        """Take note that the worker knows its share and has told of each of it; idempotent."""
        self._shared_out = True

    def unassigned(self, feed: str, partition: int) -> None:
        """Forget a partition that another worker reads now, or nobody; idempotent."""
        with self._lock:
            self._places.pop((feed, partition), None)

    def moving(self) -> bool:
        """Tell whether every assigned partition is being read on or at its end.

        Not before the worker knows which: an event that is sent to a worker that is ready is read.
        """
        now_s = self._monotonic_s()
        return self._shared_out and all(place.moving(now_s) for _, place in self._now())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield both families as of now."""
        now_s, places = self._monotonic_s(), self._now()
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
        for (feed, partition), place in places:
            labels = [feed, str(partition)]
            current = place.state_at(now_s)
            if now_s - place.lag_s <= SILENT_S and current != Stand.UNREACHABLE:
                lag.add_metric(labels, place.records)
            for state in STATES:
                states.add_metric([*labels, state], float(state == current))
        yield lag
        yield states

    def _now(self) -> list[tuple[tuple[str, int], _Place]]:
        with self._lock:
            return sorted(self._places.items(), key=lambda item: item[0])
