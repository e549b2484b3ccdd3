"""Realised losses as metrics: for the custodian's registry only.

They are functions of the data. Which groups cost much shows where noise alone could not decide,
so near the threshold; see ``docs/reference/metrics-and-alerts.md``. However many groups there
are, an alarm has at most ``MOST_GROUPS`` series of its own groups and a fixed number of
others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from stream.model.losses import shown_entropy, shown_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from accountant.audit.realised import Realised
    from stream.model.alarms import Budget
    from stream.model.feeds import Domain

__all__ = ["MOST_GROUPS", "LossFamilies", "costliest", "group_label", "label_of"]

MOST_GROUPS: Final = 20
"""Groups of one alarm that have a series of their own."""

_FAMILIES: Final = (
    (
        "tocsin_realised_epsilon_max",
        "Realised loss of the alarm's highest-cost group, over one budget period or instant.",
    ),
    (
        "tocsin_realised_complete",
        "1 if nothing is missing from the alarm's realised losses, else 0.",
    ),
    (
        "tocsin_min_entropy_normalised",
        "Share of the uncertainty about a group that realised losses leave at least.",
    ),
    ("tocsin_group_realised_epsilon", "Realised loss of the alarm's highest-cost groups.", "group"),
)


class LossFamilies(Collector):
    """Families of the last losses it was shown; until then they have no series.

    A scrape sees all of one reading: a group that is no longer among the costliest is gone with
    the reading that says so.

    Args:
        domains: groups of every alarm, by id.
        budget: the wall, and how losses are told.
    """

    def __init__(self, domains: Mapping[str, Domain], budget: Budget) -> None:
        self._domains = domains
        self._gaussian = budget.gaussian
        self._shown = self._families(())

    def show(self, losses: Iterable[Realised]) -> None:
        """Take losses of alarms in place of all those shown before."""
        # Worked out here, once, and not by every scrape.
        self._shown = self._families(losses)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every family."""
        yield from self._shown

    def _families(self, losses: Iterable[Realised]) -> tuple[GaugeMetricFamily, ...]:
        worst, complete, normalised, groups = (
            GaugeMetricFamily(name, text, labels=["alarm", *label])
            for name, text, *label in _FAMILIES
        )
        for loss in losses:
            alarm, costs, entropy = loss.query, loss.costs, loss.min_entropy
            worst.add_metric([alarm], shown_epsilon(self._gaussian, loss.worst_units))
            complete.add_metric([alarm], float(loss.complete))
            normalised.add_metric([alarm], shown_entropy(entropy.normalised))
            for cell in costliest(costs):
                label = group_label(self._domains[alarm], cell)
                groups.add_metric([alarm, label], shown_epsilon(self._gaussian, int(costs[cell])))
        if self._gaussian is not None:  # pure losses bound uncertainty: of Gaussian ones none is
            return worst, complete, groups
        return worst, complete, normalised, groups


def costliest(costs: NDArray[np.int64], most: int = MOST_GROUPS) -> list[int]:
    """Return the cells that lost most, costliest first; of equals those with the lowest numbers.

    Args:
        costs: loss per cell, shape (cells,).
        most: how many cells at most; those that lost nothing are left out.
    """
    chosen = np.flatnonzero(costs)
    order = np.argsort(-costs[chosen], kind="stable")[:most]
    cells: list[int] = chosen[order].tolist()
    return cells


def group_label(domain: Domain, cell: int) -> str:
    """Return a group as a label, its field's values joined; no two cells have the same."""
    return label_of(domain.group(cell))


def label_of(group: Mapping[str, str]) -> str:
    """Return the label of ``{field: value}``, fields in the order of the group-by."""
    values = list(group.values())
    if len(values) > 1:
        values = [value.replace("\\", "\\\\").replace(",", "\\,") for value in values]
    return ", ".join(values) or "(all)"
