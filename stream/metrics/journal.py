"""Starts and refusals as metrics: read from the ledger, since a worker that ends is not scraped.

A counter that a worker raises just before it ends is seen by nobody. The ledger remembers; the next
worker that gets as far, and any that runs beside it, shows what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from accountant import errors
from accountant.ledger.journal import START

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accountant.ledger.journal import Happened

__all__ = ["KINDS", "JournalFamilies", "kind_of"]

_UNEXPECTED: Final = "unexpected"
_NEVER: Final = ("TocsinError", "ArgumentError")  # a base, and what is a mistake like any other
KINDS: Final = (*(name for name in errors.__all__ if name not in _NEVER), _UNEXPECTED)
"""All kinds of refusals."""


def kind_of(error: BaseException) -> str:
    """Return the class of an error that stops a worker; its text goes nowhere."""
    names = (each.__name__ for each in type(error).__mro__)
    return next((name for name in names if name in KINDS), _UNEXPECTED)


class JournalFamilies(Collector):
    """Families of the journal it was shown last; before that, of an empty one."""

    def __init__(self) -> None:
        self._shown: Mapping[str, Happened] = {}

    def show(self, entries: Mapping[str, Happened]) -> None:
        """Take a journal in place of the one before."""
        self._shown = entries

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield every family."""
        shown = self._shown
        starts = CounterMetricFamily("tocsin_starts", "Starts of workers that reached the ledger.")
        starts.add_metric([], shown[START].times if START in shown else 0)
        yield starts
        refused_at = GaugeMetricFamily(
            "tocsin_refused_timestamp_seconds",
            "When a worker was last stopped, seconds since the Unix epoch; 0 for never.",
            labels=["kind"],
        )
        for kind in KINDS:
            entry = shown.get(kind)
            refused_at.add_metric([kind], entry.last_ms / 1000 if entry else 0)
        yield refused_at
