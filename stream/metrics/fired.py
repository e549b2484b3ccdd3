"""Which group fired last, and for which window: for anybody, from alarms that have left.

A domain may have millions of groups, a page may not. Where an alarm has at most
``MOST_GROUPS``, each has its series from the start; of a larger one those that fired last have
one. Either way the page is a function of configuration and released alarms alone, so that it adds
nothing to the privacy loss of the decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stream.metrics.losses import group_label, label_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream.model.feeds import Domain

__all__ = ["MOST_GROUPS", "FiredFamilies"]

MOST_GROUPS: Final = 200
"""Groups of one alarm that have a series: a page of a dozen alarms stays below half a MB."""


class FiredFamilies(Collector):
    """The family of the groups that fired: told by one thread, asked by many.

    Args:
        domains: groups of every alarm, by id.
    """

    def __init__(self, domains: Mapping[str, Domain]) -> None:
        self._ends_ms: dict[str, dict[str, int]] = {
            alarm: {group_label(domain, cell): 0 for cell in range(len(domain))}
            if len(domain) <= MOST_GROUPS
            else {}
            for alarm, domain in domains.items()
        }

    def fired(self, alarm: str, group: Mapping[str, str], end_ms: int) -> None:
        """Take note of an alarm that has left.

        Args:
            alarm: its id.
            group: ``{field: value}``, fields in the order of the group-by.
            end_ms: end of the window that fired; an alarm of an older window changes nothing.
        """
        label, ends_ms = label_of(group), self._ends_ms[alarm].copy()
        # At the end of the dict stands what fired last: it leaves last.
        ends_ms[label] = max(end_ms, ends_ms.pop(label, 0))
        if len(ends_ms) > MOST_GROUPS:
            del ends_ms[next(iter(ends_ms))]
        self._ends_ms[alarm] = ends_ms

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the family as of now, by label: the order tells nothing."""
        family = GaugeMetricFamily(
            "tocsin_group_fired_timestamp_seconds",
            "End of the last window that the group fired for, seconds since the Unix epoch.",
            labels=["alarm", "group"],
        )
        for alarm, ends_ms in self._ends_ms.items():
            for label, end_ms in sorted(ends_ms.items()):
                family.add_metric([alarm, label], end_ms / 1000)
        yield family
