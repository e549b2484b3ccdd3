"""How many people caps over a period leave out, by the hour at which windows start.

For the custodian alone: exact, and a function of single events.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.charges import WindowKey
    from stream.model.alarms import Alarms

__all__ = ["CapFamilies"]


class CapFamilies(Collector):
    """Adds up people over windows that this worker counts; windows counted again count again.

    Args:
        alarms: the configuration: its alarms, and the zone of its hours.
    """

    def __init__(self, alarms: Alarms) -> None:
        self._zone = load_zone(alarms.timezone)
        self._lock = Lock()
        self._met: Counter[tuple[str, str]] = Counter()
        self._beyond: Counter[tuple[str, str]] = Counter()

    def counted(self, key: WindowKey, met: int, beyond: int) -> None:
        """Take note of a window of one partition.

        Args:
            key: the window.
            met: people who have events in it.
            beyond: how many of them do not count, as they did in earlier windows.
        """
        start = datetime.fromtimestamp(key.start_ms / 1000, UTC).astimezone(self._zone)
        with self._lock:
            self._met[key.query, f"{start.hour:02d}"] += met
            self._beyond[key.query, f"{start.hour:02d}"] += beyond

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield both families as of now."""
        met = CounterMetricFamily(
            "tocsin_window_people",
            "People with events in a window, over windows, by local hour of its start.",
            labels=["query", "hour"],
        )
        beyond = CounterMetricFamily(
            "tocsin_window_people_beyond_cap",
            "Those of them who do not count: they did in max_windows_per_period earlier windows.",
            labels=["query", "hour"],
        )
        with self._lock:
            for (query, hour), people in sorted(self._met.items()):
                met.add_metric([query, hour], people)
                beyond.add_metric([query, hour], self._beyond[query, hour])
        yield met
        yield beyond
