"""Predicates without events and ids in one window, as the custodian's page has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stream.events.units import Roster, Units
from stream.metrics import people
from stream.metrics.people import LATEST, LatestPeople
from stream.metrics.registries import Metrics
from stream.metrics.seen import SINCE
from stream.windows.calendars import FixedCalendar
from tests.support.measured import (
    HOUR_MS,
    PLANS,
    fresh_metrics,
    sample_value,
    series_of,
    two_alarms,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BOTH = ("crowd", "quiet")


def _take(
    metrics: Metrics,
    *rows: tuple[int, int, int],
    queries: Sequence[str] = _BOTH,
) -> None:
    """Let windows take rows, each an hour, a cell and a person."""
    hour, cell, person = np.array(rows, np.int64).T
    metrics.rows_taken("badges", queries, cell, hour * HOUR_MS, _units(person.astype(np.uint64)))


def _units(hashed: NDArray[np.uint64]) -> Units:
    """Return the units that hashes stand for, which are in their first words."""
    return Units.of(np.stack([hashed, np.zeros_like(hashed)], axis=1))


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

    before = series_of(metrics.custodian)
    for query in _BOTH:
        assert _unseen(metrics, query) == (3, 3)
        assert _ids(metrics, query) == 0
        assert sample_value(metrics.custodian, "tocsin_predicates", feed="badges", query=query) == 3
    _take(metrics, (1, 0, 1))
    assert series_of(metrics.custodian) == before


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
    held = LatestPeople(overlap=overlap)
    crowd = np.arange(60_000).astype(np.uint64) * np.uint64(11400714819323198485)
    some, everybody = _units(crowd[:600]), _units(crowd)
    for first in range(0, 2_400, 24):
        last = np.full(600, first + overlap - 1)
        held.add(last - overlap + 1, last, some)
    held.add(np.full(60_000, 2_400), np.full(60_000, 2_399 + overlap), everybody)
    assert len(held._least) == LATEST
    assert all(len(hashes) <= 1_024 for hashes in held._least.values())
    assert abs(held.largest - 60_000) < 9_000  # five times the estimate's spread


def _wrong_figures(seed: int) -> bool:
    """Tell whether figures of random rows differ from those that sets of all rows give.

    People join a roster from batch to batch, two rosters take turns as two partitions do, windows
    overlap, rows come late and in any order, and crowds pass what is held of a window.
    """
    rng = np.random.default_rng(seed)
    size, step = ((HOUR_MS, HOUR_MS), (3 * HOUR_MS, HOUR_MS))[seed % 2]
    alarms = two_alarms()
    crowd = replace(alarms.queries["crowd"], calendar=FixedCalendar(size, step))
    metrics = Metrics(replace(alarms, queries={**alarms.queries, "crowd": crowd}), PLANS)
    overlap = crowd.calendar.overlap
    rosters = [Roster(), Roster()]
    windows: dict[int, set[int]] = {}
    latest = np.full(3, -1)
    for turn in range(24):
        roster = rosters[turn % 2]
        if not turn or rng.random() < 1 / 3:
            joining = rng.integers(0, 2**64, (int(rng.integers(1, 4_000)), 2), np.uint64)
            roster.extend(joining)
        if not len(roster):
            continue
        rows = int(rng.integers(1, (20, 12_000)[int(rng.integers(2))]))
        number = rng.integers(0, len(roster), rows)
        hour = turn // 2 - rng.integers(0, int(rng.integers(1, 4)), rows) + 20
        hour = np.sort(hour) if rng.random() < 1 / 2 else hour
        cell = rng.integers(0, int(rng.integers(1, 4)), rows)
        metrics.rows_taken("badges", ["crowd"], cell, hour * HOUR_MS, Units(number, roster))
        for at, where, who in zip(
            hour.tolist(), cell.tolist(), roster.hashed[number, 0].tolist(), strict=True
        ):
            latest[where] = max(latest[where], at)
            index = -(-(at - overlap + 1) // overlap) * overlap
            windows.setdefault(index, set()).add(who)
        held = sorted(windows)[-LATEST:]
        fullest = max(map(_estimated, (windows[index] for index in held)))
        never = int(np.count_nonzero(latest < 0))
        lately = int(np.count_nonzero(latest < held[0])) if len(held) == LATEST else never
        if (_ids(metrics), _unseen(metrics)) != (fullest, (never, lately)):
            return True
    return False


def _estimated(hashes: set[int]) -> int:
    """Return how many hashes there are, to what the 1,024 least say."""
    if len(hashes) < 1_024:
        return len(hashes)
    return round(1_023 * 2**64 / (sorted(hashes)[1_023] + 1))


@pytest.mark.parametrize("seed", range(6))
def test_figures_are_those_of_all_rows(seed: int) -> None:
    """What is left out of a crowd or told by a flag changes no figure."""
    assert not _wrong_figures(seed)


@pytest.mark.parametrize("mistake", ["limit", "window", "joined"])
def test_leaving_too_much_out_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins: hashes above a wrong limit, those of another window, or new units are left out."""
    least, add = people._least, LatestPeople._add

    def lower(before: Any, hashed: Any) -> Any:
        full = before is not None and len(before) == 1_024
        return least(before, hashed[hashed < before[-1] // 2] if full else hashed)

    def added(self: Any, index: int, number: Any, roster: Any) -> None:
        if mistake == "window":
            index = max(self._least, default=index)
        if mistake == "joined":
            number = number[number < len(roster) - 500]
        add(self, index, number, roster)

    if mistake == "limit":
        monkeypatch.setattr(people, "_least", lower)
    monkeypatch.setattr(LatestPeople, "_add", added)
    assert any(_wrong_figures(seed) for seed in range(6))
