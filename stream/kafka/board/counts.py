"""Noisy counts as they were published: those of the last window of each alarm that releases them.

What is here was released, noise and all: a count may be negative, and none is cut off. Alarms that
the configuration does not say to release counts have none here, whatever lies on the topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stream.windows.instants import from_iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream.decisions.records import CountRecord

__all__ = ["Counts", "Noisy", "Predicate"]

Predicate = tuple[tuple[str, str], ...]
"""Values by field, in the order of the alarm's SQL."""

_MOST_COUNTS: Final = 10_000  # of one window: the first of its domain


@dataclass(frozen=True, slots=True)
class Noisy:
    """The counts of one window.

    Args:
        start_ms: inclusive, in milliseconds since the epoch.
        end_ms: exclusive.
        deviation: standard deviation of the noise in each, in their own unit.
        counts: by predicate.
    """

    start_ms: int
    end_ms: int
    deviation: float
    counts: Mapping[Predicate, float]


class Counts:
    """The last window's counts, by alarm.

    Args:
        queries: alarms that release counts.
    """

    def __init__(self, queries: frozenset[str]) -> None:
        self._queries = queries
        self._known: dict[str, tuple[CountRecord, dict[Predicate, float]]] = {}

    def take(self, record: CountRecord) -> bool:
        """Take a record, and tell whether it says anything new; copies and older windows do not."""
        if record.query not in self._queries:
            return False
        first, counts = self._known.get(record.query, (record, {}))
        if (record.ledger, record.sequence) != (first.ledger, first.sequence):
            if not _is_newer(record, first):
                return False
            first, counts = record, {}
        self._known[record.query] = (first, counts)
        predicate = tuple(record.predicate.items())
        if predicate in counts or len(counts) >= _MOST_COUNTS:
            return False
        counts[predicate] = record.count
        return True

    def all(self) -> Iterator[tuple[str, Noisy]]:
        """Yield alarms, each with the counts of its last window."""
        for query, (first, counts) in self._known.items():
            yield (
                query,
                Noisy(
                    from_iso_utc(first.window_start),
                    from_iso_utc(first.window_end),
                    first.standard_deviation,
                    counts,
                ),
            )

    def forget(self, query: str) -> None:
        """Forget an alarm's."""
        self._known.pop(query, None)


def _is_newer(record: CountRecord, other: CountRecord) -> bool:
    if record.ledger == other.ledger:
        return record.sequence > other.sequence
    return record.window_start > other.window_start
