"""Noisy counts that have left, by group, for whoever draws a curve: as public as these are.

A domain may have millions of groups, a page may not: of an alarm, the first ``MOST_GROUPS``
of its domain have a series, from the start, and always the same ones. A curve has no value before
the first window, nor for one that was denied. So the page is a function of configuration and of
released records alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stream.metrics.fired import MOST_GROUPS
from stream.metrics.losses import group_label, label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from stream.model.feeds import Domain

__all__ = ["CountFamilies"]

_NOTHING: Final = (math.nan, math.nan)


class CountFamilies(Collector):
    """The families of noisy counts; safe to call from many threads.

    Args:
        domains: groups of every alarm that releases counts, by id.
    """

    def __init__(self, domains: Mapping[str, Domain]) -> None:
        self._labels = {
            alarm: [group_label(domain, cell) for cell in range(min(len(domain), MOST_GROUPS))]
            for alarm, domain in domains.items()
        }
        self._last: dict[str, dict[str, tuple[float, float]]] = {}

    def released(
        self, alarm: str, counts: Iterable[tuple[Mapping[str, str], float, float]]
    ) -> None:
        """Take note of a window that has left: with it, the one before is shown no more.

        Args:
            alarm: its id.
            counts: group, noisy count and standard deviation of what left with it; nothing of a
                window that was denied.
        """
        found = {label_of(group): (count, deviation) for group, count, deviation in counts}
        shown = self._labels.get(alarm, ())
        self._last[alarm] = {label: found[label] for label in shown if label in found}

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield both families as of now, in the order of configuration and domain."""
        counts = GaugeMetricFamily(
            "tocsin_group_noisy_value",
            "Noisy count of the last published window, in the unit of its comparison; "
            "NaN before the first, and where that window was denied.",
            labels=["alarm", "group"],
        )
        deviations = GaugeMetricFamily(
            "tocsin_noisy_value_standard_deviation",
            "Standard deviation of the noise in each noisy count of the last published window.",
            labels=["alarm"],
        )
        for alarm, labels in self._labels.items():
            last = self._last.get(alarm, {})
            for label in labels:
                counts.add_metric([alarm, label], last.get(label, _NOTHING)[0])
            deviations.add_metric([alarm], next(iter(last.values()), _NOTHING)[1])
        yield counts
        yield deviations
