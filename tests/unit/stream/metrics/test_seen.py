"""Predicates without events and ids in one window, as the custodian's page has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream.metrics.people import LATEST, LatestPeople
from stream.metrics.seen import SINCE
from tests.support.measured import HOUR_MS, fresh_metrics, page_text, sample_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.metrics.registries import Metrics

_BOTH = ("crowd", "quiet")


def _take(
    metrics: Metrics,
    *rows: tuple[int, int, int],
    queries: Sequence[str] = _BOTH,
) -> None:
    """Let windows take rows, each an hour, a cell and a person."""
    hour, cell, person = np.array(rows, np.int64).T
    metrics.rows_taken("badges", queries, cell, hour * HOUR_MS, person.astype(np.uint64))


def _unseen(metrics: Metrics, query: str = "crowd") -> tuple[float | None, ...]:
    return tuple(
        sample_value(
            metrics.custodian, "tocsin_predicates_unseen", feed="badges", query=query, since=since
        )
        for since in SINCE
    )


def _ids(metrics: Metrics, query: str = "crowd") -> float | None:
    return sample_value(metrics.custodian, "tocsin_window_ids", feed="badges", query=query)


def test_before_the_first_event_nothing_was_seen_and_every_series_is_there() -> None:
    """A series that appeared with its first event would show no increase."""
    metrics = fresh_metrics()

    def series() -> set[str]:
        lines = page_text(metrics.custodian).splitlines()
        return {line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")}

    before = series()
    for query in _BOTH:
        assert _unseen(metrics, query) == (3, 3)
        assert _ids(metrics, query) == 0
        assert sample_value(metrics.custodian, "tocsin_predicates", feed="badges", query=query) == 3
    _take(metrics, (1, 0, 1))
    assert series() == before


def test_predicates_and_ids_are_counted_for_all_that_count_alike() -> None:
    """A person counts once a window, a predicate once it had an event; both alarms say so."""
    metrics = fresh_metrics()
    _take(metrics, (1, 0, 7), (1, 0, 7), (1, 2, 8), (2, 0, 9))
    for query in _BOTH:
        assert _unseen(metrics, query) == (1, 1)
        assert _ids(metrics, query) == 2


def test_an_alarm_of_its_own_has_figures_of_its_own() -> None:
    """What one alarm takes says nothing of another with other filters or windows."""
    metrics = fresh_metrics()
    _take(metrics, (1, 0, 1), (1, 1, 2), queries=["quiet"])
    assert (_unseen(metrics), _unseen(metrics, "quiet")) == ((3, 3), (1, 1))
    assert (_ids(metrics), _ids(metrics, "quiet")) == (0, 2)


def test_rows_that_are_read_again_change_nothing() -> None:
    """After a rebalance a slice of the log comes again."""
    metrics = fresh_metrics()
    rows = [(hour, hour % 2, person) for hour in range(3) for person in range(5)]
    _take(metrics, *rows)
    once = _unseen(metrics), _ids(metrics)
    _take(metrics, *rows)
    assert (_unseen(metrics), _ids(metrics)) == once == ((1, 1), 5)


def test_a_predicate_that_falls_silent_is_unseen_lately_and_not_since_the_start() -> None:
    """Eight windows with an event later it counts as unseen; hours without any are no windows.

    hour    0 1 2 3 4 5 6 7     100
    attic   x
    bar     x x x x x x x x      x
    """
    metrics = fresh_metrics()
    _take(metrics, (0, 0, 1), (0, 0, 2), *((hour, 1, 1) for hour in range(LATEST)))
    assert (_unseen(metrics), _ids(metrics)) == ((1, 1), 2)
    _take(metrics, (100, 1, 1))
    assert (_unseen(metrics), _ids(metrics)) == ((1, 2), 1)
    _take(metrics, (0, 2, 5), (0, 2, 6))  # a late partition: seen, and no window of now
    assert (_unseen(metrics), _ids(metrics)) == ((0, 2), 1)


@pytest.mark.parametrize("overlap", [1, 24])
def test_memory_is_bounded_whatever_comes(overlap: int) -> None:
    """So many windows are held, each with so many hashes; a crowd is estimated to a tenth."""
    people = LatestPeople(overlap=overlap)
    crowd = np.arange(60_000).astype(np.uint64) * np.uint64(11400714819323198485)
    for first in range(0, 2_400, 24):
        last = np.full(600, first + overlap - 1)
        people.add(last - overlap + 1, last, crowd[:600])
    people.add(np.full(60_000, 2_400), np.full(60_000, 2_399 + overlap), crowd)
    assert len(people._least) == LATEST
    assert all(len(hashes) <= 1_024 for hashes in people._least.values())
    assert abs(people.largest - 60_000) < 9_000  # five times the estimate's spread
