"""The heaviest row: the search is exact, and its bound safe wherever it ends."""

from __future__ import annotations

import random

import numpy as np
import pytest

from accountant.loss.maxoverlap import maximum_overlap, search
from accountant.loss.maxoverlap.classes import Classes
from accountant.loss.maxoverlap.search import RowSearch
from tests.support.overlaps import ranges, sets, truth
from tests.unit.accountant.loss.maxoverlap.test_colouring import filled


def searched(regions, weights, limit=None):
    """Return the weight of the row that a search finds, and its bound."""
    classes = Classes(regions)
    search = RowSearch(classes, weights, limit)
    upper = search.run()
    row = classes.row_of(search.members)
    held = zip(weights, regions, strict=True)
    value = sum(weight for weight, region in held if region.contains(row))
    assert value >= search.best == sum(weights[at] for at in search.members)
    return value, upper


def mistakes(count):
    """Yield the seeds of which a bound, or the row found, is not what brute force says."""
    for seed in range(count):
        regions = (
            filled(seed, 12),
            ranges(seed, 10, attributes=3, values=8),
            sets(seed, 10, attributes=3, values=4),
        )[seed % 3]
        rng = random.Random(seed)
        weights = [rng.randint(0, 6) if seed % 2 else 1 for _ in regions]
        most = truth(regions, weights)
        stopped = [searched(regions, weights, steps) for steps in (0, 100, 500, 2_000)]
        safe = all(value <= most <= upper for value, upper in stopped)
        if not safe or searched(regions, weights) != (most, most):
            yield seed


@pytest.mark.long
def test_hundreds_of_small_workloads_are_those_of_brute_force():
    """They are exact when the search ends, and safe wherever it is stopped."""
    assert not list(mistakes(360))


@pytest.mark.parametrize("twin", ["", "colours", "shares", "_by_class", "_by_region"])
def test_broken_searches_are_caught(twin, monkeypatch):
    """Colours and shares too low, and classes and regions forgotten at a branch, are all found.

    Without rows that are found on the way, as they are no part of what makes a bound right.
    """
    monkeypatch.setattr(RowSearch, "_ascend", lambda *_: None)
    if twin == "colours":  # of a colour the lightest region counts for all
        own = search.coloured
        monkeypatch.setattr(
            search, "coloured", lambda *each: [(at, height - 1) for at, height in own(*each)]
        )
    elif twin == "shares":  # some of the weights are shared out to no attribute
        whole = search._whole
        monkeypatch.setattr(search, "_whole", lambda *each: np.floor(whole(*each) * 0.9))
    elif twin:
        every = getattr(RowSearch, twin)
        monkeypatch.setattr(RowSearch, twin, lambda *each: list(every(*each))[1:])
    found = next(mistakes(90), None)
    assert (found is not None) is bool(twin)


@pytest.mark.parametrize(
    "regions",
    [*(ranges(1, 200, attributes=many) for many in (30, 100)), sets(2, 60, attributes=30)],
    ids=["ranges", "more ranges", "sets"],
)
def test_regions_of_many_attributes_are_settled(regions):
    """Hundreds of ranges that overlap pairwise, and sets that need not share a row then."""
    found = maximum_overlap(regions, work_limit=200_000_000)
    assert found.exact
    assert sum(region.contains(found.witness) for region in regions) == found.value
    assert searched(regions, [1] * len(regions)) == (found.value, found.value)
