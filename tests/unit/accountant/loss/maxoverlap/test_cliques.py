"""Sets of regions that share a row: the search is exact, and its bound safe wherever it ends."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from accountant.loss.maxoverlap import cliques, maximum_overlap
from accountant.loss.maxoverlap.classes import attributes_of
from accountant.loss.maxoverlap.cliques import RegionSearch
from accountant.loss.maxoverlap.colouring import neighbours
from accountant.loss.maxoverlap.work import Work
from accountant.regions.regions import Region
from tests.support.overlaps import ones, ranges, sets, truth, workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.loss.maxoverlap.search import Found

STEPS = (0, 1_000, 5_000, 20_000)


def searched(regions: Sequence[Region], weights: Sequence[int], limit: int | None = None) -> Found:
    """Return what the search of regions finds by itself."""
    attributes = attributes_of(regions)
    search = RegionSearch(attributes, neighbours(attributes, len(regions)), weights)
    return search.run(Work(limit))


def weighted(seed: int) -> tuple[list[Region], list[int]]:
    """Return a small workload of every kind of condition, and weights, some of them zero."""
    rng = random.Random(seed)
    kind = seed % 3
    if kind == 0:
        regions = [each for each in workload(seed, regions=12) if not each.empty]
    elif kind == 1:
        regions = ranges(seed, 10, attributes=3, values=8)
    else:
        regions = sets(seed, 10, attributes=3, values=4)
    return regions, [rng.randint(0, 6) if seed % 2 else 1 for _ in regions]


def brute(regions: Sequence[Region], weights: Sequence[int]) -> int:
    """Return the weight of the heaviest set of regions that share a row, one added at a time."""
    rows = {Region.everything(): 0}
    for region, weight in zip(regions, weights, strict=True):
        for row, total in list(rows.items()):
            both = row & region
            if not both.empty:
                rows[both] = max(total + weight, rows.get(both, 0))
    return max(rows.values())


def mistakes(count: int) -> int:
    """Return for how many workloads a bound, or the row found, is not what brute force says."""
    wrong = 0
    for seed in range(count):
        regions, weights = weighted(seed)
        most = brute(regions, weights)
        found = searched(regions, weights)
        stopped = [searched(regions, weights, steps) for steps in STEPS]
        wrong += not found.value == found.upper == most or any(
            not each.value <= most <= each.upper for each in stopped
        )
    return wrong


@pytest.mark.long
def test_thousands_of_small_workloads_are_those_of_brute_force() -> None:
    """Two thousand workloads are exact when the search ends, and safe wherever it is stopped."""
    assert mistakes(2_000) == 0


def test_brute_force_is_that_of_every_row() -> None:
    """The brute force of this module says what looking at every value says."""
    for seed in range(0, 60, 3):
        regions, weights = weighted(seed)
        assert brute(regions, weights) == truth(regions, weights)


@pytest.mark.parametrize("twin", ["colours", "pairs", "left"])
def test_broken_searches_are_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours too low, pairs taken for rows, and regions forgotten at a branch are all found."""
    assert mistakes(90) == 0
    if twin == "colours":  # of a colour the lightest region counts for all
        node = RegionSearch._node

        def lighter(
            search: RegionSearch, candidates: int, weight: int, *rest: int
        ) -> cliques._Node:
            made = node(search, candidates, weight, *rest)
            made.branches = [(at, bound - 1) for at, bound in made.branches]
            return made

        monkeypatch.setattr(RegionSearch, "_node", lighter)
    elif twin == "pairs":

        def pairs(_: RegionSearch, candidates: int, *__: int) -> int:
            return candidates

        monkeypatch.setattr(RegionSearch, "_joining", pairs)
    else:
        order = cliques._densest_first
        monkeypatch.setattr(cliques, "_densest_first", lambda *each: order(*each)[1:])
    assert mistakes(90) > 0


def test_ranges_of_many_attributes_are_settled_by_their_graph() -> None:
    """Where ranges overlap pairwise they share a row: hundreds of queries are exact in little."""
    for attributes in (30, 300):
        regions = ranges(1, 200, attributes=attributes)
        found = maximum_overlap(regions, work_limit=50_000_000)
        assert found.exact
        assert sum(region.contains(found.witness) for region in regions) == found.value
        held = searched(regions, ones(regions))
        assert held.value == held.upper == found.value


def test_lists_of_many_attributes_are_settled() -> None:
    """Sets of values that overlap pairwise need not share a row, and are exact all the same."""
    regions = sets(2, 60, attributes=30)
    found = maximum_overlap(regions, work_limit=200_000_000)
    assert found.exact
    assert sum(region.contains(found.witness) for region in regions) == found.value


def test_what_is_known_is_not_looked_for_again() -> None:
    """A row as heavy as the heaviest ends the search with no row of its own and that bound."""
    regions = ranges(3, 40)
    attributes = attributes_of(regions)
    search = RegionSearch(attributes, neighbours(attributes, 40), ones(regions))
    most = search.run(Work()).value
    again = search.run(Work(), known=most)
    assert (again.value, again.upper) == (0, most)
    assert search.run(Work(), known=most, ceiling=most).upper == most
    assert search.run(Work(), node_limit=1).upper >= most
