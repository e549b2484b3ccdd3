"""Swaps end at a vertex that is there, never above the first, and on few predicates at the best."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.costs import swaps
from accountant.costs.minentropy import min_entropy
from accountant.costs.posteriors import box_of
from accountant.costs.swaps import least_nearby
from accountant.costs.vertices import VertexSearch
from tests.support.entropies import bounds, over_counts, over_vertices


def descents(seed: int, *, distinct: bool) -> tuple[list[float], float]:
    """Return where swaps end from random vertices of a random small case, and the minimum."""
    rng = np.random.default_rng(seed)
    many = int(rng.integers(6, 13)) if distinct else int(rng.integers(2, 5))
    levels = np.sort(rng.uniform(0, rng.choice([0.1, 0.5, 1.5]), many))
    counts = np.ones(many, dtype=np.int64) if distinct else rng.integers(1, 12, many)
    exact = over_vertices(*bounds(levels)) if distinct else over_counts(levels, counts)
    box = box_of(levels, counts)
    search = VertexSearch(box)
    ends = []
    for _ in range(6):
        high = rng.integers(0, counts + 1)
        ends.append(least_nearby(box, search.price, high))
    ends.append(least_nearby(box, search.price, search.vertex))
    return [end for end in ends if np.isfinite(end)], exact


@pytest.mark.parametrize("distinct", [True, False])
def test_no_vertex_lies_below_the_minimum(*, distinct: bool) -> None:
    """From wherever swaps begin, they end at a vertex; mostly at the best of all."""
    found = best = 0
    for seed in range(30):
        ends, exact = descents(seed, distinct=distinct)
        assert all(end >= exact - 1e-12 for end in ends), seed
        found += 1
        best += min(ends) <= exact + 1e-12
    assert best > 0.9 * found


def test_a_vertex_without_its_fraction_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: what is left of the slack goes nowhere, and ends lie below the minimum."""
    monkeypatch.setattr(swaps, "raised", lambda _, levels, rest: 0.0 * (levels + rest))
    below = 0
    for seed in range(20):
        ends, exact = descents(seed, distinct=True)
        below += any(end < exact - 1e-12 for end in ends)
    assert below > 5


def test_swaps_never_leave_a_worse_vertex() -> None:
    """Each start that is a vertex is kept where nothing better is near."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        costs = np.sort(rng.uniform(0, 0.3, 40))
        search = VertexSearch(box_of(costs, np.ones(40, dtype=np.int64)))
        before = search.root + search.best
        ended = least_nearby(search.box, search.price, search.vertex)
        assert ended <= before + search.box.margin
        assert ended == least_nearby(search.box, search.price, search.vertex)


def test_swaps_find_what_the_search_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten cases of 50 narrow costs some end lower, none higher, and no bound is passed."""
    rng = np.random.default_rng(0)
    draws = [rng.uniform(0, 0.1, 50) for _ in range(10)]
    after = [min_entropy(draw) for draw in draws]
    monkeypatch.setattr(VertexSearch, "_descend", lambda _: None)
    before = [min_entropy(draw) for draw in draws]
    assert all(new.upper <= old.upper + 1e-12 for new, old in zip(after, before, strict=True))
    assert all(new.upper >= old.lower for new, old in zip(after, before, strict=True))
    closed = [old.upper - new.upper for new, old in zip(after, before, strict=True)]
    assert max(closed) > 1e-6
