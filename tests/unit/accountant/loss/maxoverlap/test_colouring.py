"""A colouring bounds every row, and a large clique would not."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import numpy as np
import pytest

from accountant.loss.maxoverlap import maximum_overlap
from accountant.loss.maxoverlap.classes import Classes
from accountant.loss.maxoverlap.colouring import colouring_bound
from benchmarks.overlap import uniform
from tests.support.overlaps import truth, workload


def filled(seed, regions):
    """Return so many regions at most, none of them empty."""
    return [region for region in workload(seed, regions=regions) if not region.empty]


def unweighted(regions):
    """Return the colouring's bound on how many regions share a row."""
    return colouring_bound(regions, [1] * len(regions))


def greedy_clique(regions):
    """Broken twin: a clique that is merely large, read as a bound."""
    graph = Classes(regions).neighbours
    clique = []
    for at in graph.sum(axis=1).argsort(kind="stable").tolist():
        if graph[at, clique].all():
            clique.append(at)
    return len(clique)


def test_a_bound_never_falls_below_the_truth_and_a_broken_one_is_caught():
    """The colouring passes the test that an approximate clique fails."""
    workloads = [filled(seed, 12) for seed in range(150)]
    for bound, broken in ((unweighted, False), (greedy_clique, True)):
        assert any(bound(regions) < truth(regions) for regions in workloads) is broken


def test_a_weighted_colouring_is_safe_and_no_worse_than_repeating_regions():
    """Heights of colours bound the heaviest row, as colouring every copy of a region would."""
    for seed in range(60):
        regions = filled(seed, 10)
        rng = random.Random(seed)
        weights = [rng.randint(0, 7) for _ in regions]
        bound = colouring_bound(regions, weights)
        assert truth(regions, weights) <= bound <= sum(weights)


def test_neighbours_are_the_regions_that_overlap():
    """The graph says what comparing regions pair by pair says."""
    for seed in range(40):
        regions = filled(seed, 10)
        graph = Classes(regions).neighbours
        for left, right in itertools.permutations(range(len(regions)), 2):
            assert graph[left, right] == regions[left].overlaps(regions[right])


@pytest.mark.long
def test_uniform_workloads_are_bounded_no_worse_than_by_dsatur():
    """However short the search, the bound is not above that of networkx's DSatur."""
    for seed in range(3):
        regions = uniform(np.random.default_rng(seed), 60)
        graph = nx.from_numpy_array(Classes(regions).neighbours & ~np.eye(60, dtype=np.bool_))
        colours = len(set(nx.greedy_color(graph, strategy="DSATUR").values()))
        found = maximum_overlap(regions, node_limit=2, work_limit=None)
        assert found.value <= found.upper_bound <= colours
