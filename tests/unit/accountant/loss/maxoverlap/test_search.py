"""The heaviest row: the search is exact, and its bound safe wherever it ends."""

from __future__ import annotations

import random

import numpy as np
import pytest

from accountant.loss.maxoverlap import maximum_overlap, search
from accountant.loss.maxoverlap.classes import Classes
from accountant.loss.maxoverlap.search import RowSearch
from tests.support.overlaps import ones, ranges, sets, truth
from tests.unit.accountant.loss.maxoverlap.test_colouring import filled

STEPS = (0, 100, 500, 2_000)


def searched(regions, weights, limit=None):
    """Return the weight of the row that a search finds, and its bound."""
    classes = Classes(regions)
    search = RowSearch(classes, weights, limit)
    upper = search.run()
    row = classes.row_of(search.members)
    held = [region.contains(row) for region in regions]
    value = sum(weight for weight, each in zip(weights, held, strict=True) if each)
    assert value >= search.best == sum(weights[at] for at in search.members)
    return value, upper


def weighted(seed):
    """Return a small workload of every kind of condition, and weights, some of them zero."""
    rng = random.Random(seed)
    kind = seed % 3
    if kind == 0:
        regions = filled(seed, 12)
    elif kind == 1:
        regions = ranges(seed, 10, attributes=3, values=8)
    else:
        regions = sets(seed, 10, attributes=3, values=4)
    return regions, [rng.randint(0, 6) if seed % 2 else 1 for _ in regions]


def mistakes(count):
    """Yield the seeds of which a bound, or the row found, is not what brute force says."""
    for seed in range(count):
        regions, weights = weighted(seed)
        most = truth(regions, weights)
        stopped = [searched(regions, weights, steps) for steps in STEPS]
        if searched(regions, weights) != (most, most) or any(
            not value <= most <= upper for value, upper in stopped
        ):
            yield seed


@pytest.mark.long
def test_hundreds_of_small_workloads_are_those_of_brute_force():
    """They are exact when the search ends, and safe wherever it is stopped."""
    assert not list(mistakes(360))


@pytest.mark.parametrize("twin", ["", "colours", "shares", "classes", "regions"])
def test_broken_searches_are_caught(twin, monkeypatch):
    """Colours and shares too low, and classes and regions forgotten at a branch, are all found.

    Without rows that are found on the way, as they are no part of what makes a bound right.
    """
    monkeypatch.setattr(RowSearch, "_ascend", lambda *_: None)
    if not twin:
        pass
    elif twin == "colours":  # of a colour the lightest region counts for all
        own = search.coloured

        def lighter(*each):
            return [(at, height - 1) for at, height in own(*each)]

        monkeypatch.setattr(search, "coloured", lighter)
    elif twin == "shares":  # some of the weights are shared out to no attribute
        whole = search._whole
        monkeypatch.setattr(search, "_whole", lambda *each: np.floor(whole(*each) * 0.9))
    else:
        name = "_by_class" if twin == "classes" else "_by_region"
        every = getattr(RowSearch, name)
        monkeypatch.setattr(RowSearch, name, lambda *each: list(every(*each))[1:])
    found = next(mistakes(90), None)
    assert (found is not None) is bool(twin)


def test_ranges_of_many_attributes_are_settled_by_their_graph():
    """Where ranges overlap pairwise they share a row: hundreds of queries are exact in little."""
    for attributes in (30, 300):
        regions = ranges(1, 200, attributes=attributes)
        found = maximum_overlap(regions, work_limit=50_000_000)
        assert found.exact
        assert sum(region.contains(found.witness) for region in regions) == found.value
        assert searched(regions, ones(regions)) == (found.value, found.value)


def test_lists_of_many_attributes_are_settled():
    """Sets of values that overlap pairwise need not share a row, and are exact all the same."""
    regions = sets(2, 60, attributes=30)
    found = maximum_overlap(regions, work_limit=200_000_000)
    assert found.exact
    assert sum(region.contains(found.witness) for region in regions) == found.value
