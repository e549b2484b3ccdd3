"""What arrives of a feed beside what its alarms declare: predicates without events, ids a window.

The live counterpart of what a replay tells before it spends anything
(:mod:`stream.replay.survey`): where half the predicates never occur, sensors and declaration mean
different names; where one id is all that a window holds, it is not a person's. Exact and private:
for the custodian's registry only.

Bounded whatever arrives: of alarms that count the same, a number a predicate and what
:mod:`stream.metrics.people` holds.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stream.metrics.people import LATEST, LatestPeople, add_people_of_each
from stream.model.references import feeds_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream.metrics.people import Units
    from stream.model.alarms import Alarms
    from stream.windows.calendars import Calendar

__all__ = ["SINCE", "SeenFamilies", "Takers"]

SINCE: Final = ("start", "windows")
"""Since when predicates had no event: the worker's start, or the oldest of its latest windows."""

_NEVER: Final = -(2**62)

Takers: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.bool_]]"
"""The kind of each row, shape (n,), and which filters take rows of it: shape (kinds, filters)."""


class SeenFamilies(Collector):
    """Which predicates and how many ids were seen; safe to call from many threads.

    Args:
        alarms: the checked configuration.
    """

    def __init__(self, alarms: Alarms) -> None:
        """Make every series; nothing was seen yet."""
        self._calendars = {query.id: query.calendar for query in alarms.running.values()}
        self._cells = {query.id: len(query.counted) for query in alarms.running.values()}
        self._labels = [
            (feed.name, query.id) for query in alarms.running.values() for feed in feeds_of(query)
        ]
        self._uses: dict[tuple[str, str], _Use] = {}
        self._lock = Lock()

    def taken(
        self,
        feed: str,
        queries: Sequence[Sequence[str]],
        *,
        cell: NDArray[np.int64],
        time_ms: NDArray[np.int64],
        unit: Units,
        takers: Takers | None = None,
    ) -> None:
        """Take note of rows that windows take; rows that are read again change nothing.

        Args:
            feed: which the rows are of, at least one.
            queries: ids of those that count them, all alike but for filters; by filter.
            cell: shape (n,): predicate of each row.
            time_ms: shape (n,): event times.
            unit: of n rows.
            takers: which filters take which rows; ``None`` where there is one filter.
        """
        calendar = self._calendars[queries[0][0]]
        first, last = calendar.containing(np.array([time_ms.min(), time_ms.max()]))
        if first[0] == first[1] and last[0] == last[1]:  # neither falls as times rise
            first, last = first[:1], last[:1]
        else:
            first, last = calendar.containing(time_ms)
        with self._lock:
            uses = []
            for alike in queries:
                use = self._uses.get((feed, alike[0]))
                if use is None:
                    use = _Use(calendar, self._cells[alike[0]])
                    self._uses |= dict.fromkeys(((feed, query) for query in alike), use)
                uses.append(use)
            if takers is None:
                uses[0].add(first, last, cell, unit)
            else:
                _add_each(uses, first, last, cell=cell, unit=unit, takers=takers)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield all families as of now."""
        declared = GaugeMetricFamily(
            "tocsin_predicates", "Predicates declared.", labels=["feed", "query"]
        )
        unseen = GaugeMetricFamily(
            "tocsin_predicates_unseen",
            f"Predicates without an event since the start, or in the latest {LATEST} windows"
            " that hold any.",
            labels=["feed", "query", "since"],
        )
        ids = GaugeMetricFamily(
            "tocsin_window_ids",
            f"Different ids in the fullest of the latest {LATEST} windows that hold any.",
            labels=["feed", "query"],
        )
        with self._lock:
            for feed, query in self._labels:
                use = self._uses.get((feed, query))
                cells = self._cells[query]
                declared.add_metric([feed, query], cells)
                counts = (cells, cells) if use is None else use.unseen()
                for since, count in zip(SINCE, counts, strict=True):
                    unseen.add_metric([feed, query, since], count)
                ids.add_metric([feed, query], 0 if use is None else use.people.largest)
        yield declared
        yield unseen
        yield ids


class _Use:
    """What alarms that count the same have seen of a feed."""

    def __init__(self, calendar: Calendar, cells: int) -> None:
        self.people = LatestPeople(overlap=calendar.overlap)
        self._last = np.full(cells, _NEVER, np.int64)

    def add(
        self,
        first: NDArray[np.int64],
        last: NDArray[np.int64],
        cell: NDArray[np.int64],
        unit: Units,
    ) -> None:
        """Take note of rows; the windows as ``LatestPeople.add`` has them."""
        self.people.add(first, last, unit)
        np.maximum.at(self._last, cell, last)

    def add_last(self, cell: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """Take note of the last window of a row of each cell."""
        np.maximum.at(self._last, cell, last)

    def unseen(self) -> tuple[int, int]:
        """Return how many predicates had no event, as ``SINCE`` has it."""
        never = int(np.count_nonzero(self._last == _NEVER))
        oldest = self.people.oldest
        return never, never if oldest is None else int(np.count_nonzero(self._last < oldest))


def _add_each(
    uses: Sequence[_Use],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    *,
    cell: NDArray[np.int64],
    unit: Units,
    takers: Takers,
) -> None:
    """Take note of rows for every filter what its ``_Use.add`` would of those that it takes."""
    kind, taken = takers
    add_people_of_each([use.people for use in uses], first, last, unit, takers)
    width = int(cell.max()) + 1
    code, at = np.unique(kind * width + cell, return_inverse=True)
    latest = np.full(len(code), _NEVER, np.int64)
    np.maximum.at(latest, at, last)
    kind, cell = np.divmod(code, width)
    for number, use in enumerate(uses):
        own = taken[kind, number]
        use.add_last(cell[own], latest[own])
