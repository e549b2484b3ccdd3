"""Noisy counts that have left, by group, for whoever draws a curve: as public as these are.

A domain may have millions of groups, a page may not: of an alarm, the first ``MOST_GROUPS``
of its domain have a series, from the start, and always the same ones. A curve has no value before
the first window, nor for one that was denied. So the page is a function of configuration and of
released records alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from prometheus_client import Gauge

from stream.metrics.fired import MOST_GROUPS
from stream.metrics.losses import group_label, label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client import CollectorRegistry

    from stream.model.feeds import Domain

__all__ = ["Counts"]


class Counts:
    """The noisy counts on a page.

    Args:
        registry: of the page.
        domains: groups of every alarm that releases counts, by id; of none nothing is shown.
    """

    def __init__(self, registry: CollectorRegistry, domains: Mapping[str, Domain]) -> None:
        shown_on = registry if domains else None
        self._counts = Gauge(
            "tocsin_group_noisy_value",
            "Noisy count of the last published window, in the unit of its comparison; "
            "NaN before the first, and where that window was denied.",
            ["alarm", "group"],
            registry=shown_on,
        )
        self._deviation = Gauge(
            "tocsin_noisy_value_standard_deviation",
            "Standard deviation of the noise in each noisy count of the last published window.",
            ["alarm"],
            registry=shown_on,
        )
        self._labels = {
            alarm: [group_label(domain, cell) for cell in range(min(len(domain), MOST_GROUPS))]
            for alarm, domain in domains.items()
        }
        for alarm in domains:
            self.released(alarm, ())

    def released(
        self, alarm: str, counts: Iterable[tuple[Mapping[str, str], float, float]]
    ) -> None:
        """Take note of a window that has left: with it, the one before is shown no more.

        Args:
            alarm: its id; of one that releases no counts nothing is shown.
            counts: group, noisy count and standard deviation of what left with it; nothing of a
                window that was denied.
        """
        if alarm in self._labels:
            found = {label_of(group): (count, deviation) for group, count, deviation in counts}
            for label in self._labels[alarm]:
                count, deviation = found.get(label, (math.nan, math.nan))
                self._counts.labels(alarm, label).set(count)
                self._deviation.labels(alarm).set(deviation)
