"""Realised losses as metrics: for the custodian's registry only.

They are functions of the data. Which predicates are dear tells where noise alone could not decide,
so near the threshold; see ``docs/reference/metrics-and-alerts.md``. However many predicates there
are, a query has at most ``MOST_PREDICATES`` series of its own predicates and a fixed number of
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

__all__ = ["MOST_PREDICATES", "LossFamilies", "dearest", "label_of", "predicate_label"]

MOST_PREDICATES: Final = 20
"""Predicates of one query that have a series of their own."""

_FAMILIES: Final = (
    (
        "tocsin_expost_epsilon_max",
        "Realised loss of the query's dearest predicate, over one budget period or instant.",
    ),
    (
        "tocsin_expost_complete",
        "1 if nothing is missing from the query's realised losses, else 0.",
    ),
    (
        "tocsin_min_entropy_normalised",
        "Share of the uncertainty about a predicate that realised losses leave at least.",
    ),
    ("tocsin_predicate_epsilon", "Realised loss of the query's dearest predicates.", "predicate"),
)


class LossFamilies(Collector):
    """Families of the last losses it was shown; until then they have no series.

    A scrape sees all of one reading: a predicate that is no longer among the dearest is gone with
    the reading that says so.

    Args:
        domains: predicates of every query, by id.
        budget: the wall, and how losses are told.
    """

    def __init__(self, domains: Mapping[str, Domain], budget: Budget) -> None:
        self._domains = domains
        self._gaussian = budget.gaussian
        self._shown = self._families(())

    def show(self, losses: Iterable[Realised]) -> None:
        """Take losses of queries in place of all those shown before."""
        # Worked out here, once, and not by every scrape.
        self._shown = self._families(losses)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every family."""
        yield from self._shown

    def _families(self, losses: Iterable[Realised]) -> tuple[GaugeMetricFamily, ...]:
        worst, complete, normalised, predicates = (
            GaugeMetricFamily(name, text, labels=["query", *label])
            for name, text, *label in _FAMILIES
        )
        for loss in losses:
            query, costs, entropy = loss.query, loss.costs, loss.min_entropy
            worst.add_metric([query], shown_epsilon(self._gaussian, loss.worst_units))
            complete.add_metric([query], float(loss.complete))
            normalised.add_metric([query], shown_entropy(entropy.normalised))
            for cell in dearest(costs):
                label = predicate_label(self._domains[query], cell)
                predicates.add_metric(
                    [query, label], shown_epsilon(self._gaussian, int(costs[cell]))
                )
        if self._gaussian is not None:  # pure losses bound uncertainty: of Gaussian ones none is
            return worst, complete, predicates
        return worst, complete, normalised, predicates


def dearest(costs: NDArray[np.int64], most: int = MOST_PREDICATES) -> list[int]:
    """Return the cells that lost most, dearest first; of equals those with the lowest numbers.

    Args:
        costs: loss per cell, shape (cells,).
        most: how many cells at most; those that lost nothing are left out.
    """
    if most < 1:
        return []
    chosen = np.flatnonzero(costs)
    if len(chosen) > most:
        # No sort of all cells: there may be millions, and most of them equal.
        least = np.partition(costs[chosen], -most)[-most]
        above = chosen[costs[chosen] > least]
        level = chosen[costs[chosen] == least][: most - len(above)]
        chosen = np.concatenate([above, level])
    return sorted(chosen.tolist(), key=lambda cell: (-int(costs[cell]), cell))


def predicate_label(domain: Domain, cell: int) -> str:
    """Return a predicate as a label, its field's values joined; no two cells have the same."""
    return label_of(domain.predicate(cell))


def label_of(predicate: Mapping[str, str]) -> str:
    """Return the label of ``{field: value}``, fields in the order of the group-by."""
    values = list(predicate.values())
    if len(values) > 1:
        values = [value.replace("\\", "\\\\").replace(",", "\\,") for value in values]
    return ", ".join(values) or "(all)"
