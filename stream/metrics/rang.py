"""Which predicate rang last, and for which window: for anybody, from alarms that have left.

A domain may have millions of predicates, a page may not. Where an alarm has at most
``MOST_PREDICATES``, each has its series from the start; of a larger one those that rang last have
one. Either way the page is a function of configuration and released alarms alone, so that it adds
nothing to the privacy loss of the decisions.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stream.metrics.losses import label_of, predicate_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream.model.feeds import Domain

__all__ = ["MOST_PREDICATES", "RangFamilies"]

MOST_PREDICATES: Final = 200
"""Predicates of one query that have a series: a page of a dozen alarms stays below half a MB."""


class RangFamilies(Collector):
    """The family of the predicates that rang; safe to call from many threads.

    Args:
        domains: predicates of every query, by id.
    """

    def __init__(self, domains: Mapping[str, Domain]) -> None:
        self._lock = Lock()
        self._ends_ms: dict[str, dict[str, int]] = {
            query: {predicate_label(domain, cell): 0 for cell in range(len(domain))}
            if len(domain) <= MOST_PREDICATES
            else {}
            for query, domain in domains.items()
        }

    def rang(self, query: str, predicate: Mapping[str, str], end_ms: int) -> None:
        """Take note of an alarm that has left.

        Args:
            query: its id.
            predicate: ``{field: value}``, fields in the order of the group-by.
            end_ms: end of the window that rang; an alarm of an older window changes nothing.
        """
        label = label_of(predicate)
        with self._lock:
            ends_ms = self._ends_ms[query]
            # At the end of the dict stands what rang last: it leaves last.
            ends_ms[label] = max(end_ms, ends_ms.pop(label, 0))
            if len(ends_ms) > MOST_PREDICATES:
                del ends_ms[next(iter(ends_ms))]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the family as of now, by label: the order tells nothing."""
        family = GaugeMetricFamily(
            "tocsin_predicate_rang_timestamp_seconds",
            "End of the last window that the predicate rang for, seconds since the Unix epoch.",
            labels=["query", "predicate"],
        )
        with self._lock:
            shown = [(query, sorted(ends.items())) for query, ends in self._ends_ms.items()]
        for query, ends in shown:
            for label, end_ms in ends:
                family.add_metric([query, label], end_ms / 1000)
        yield family
