"""The filter grants what keeping the loss of every row would grant, and never passes the wall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from random import Random

import numpy as np
import pytest

from accountant.budget.filter import EventFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.loss import elimination, grid, overlap, rows, tables
from accountant.loss.grid import grid_of
from accountant.loss.overlap import Held, worst_loss
from accountant.records import Answer
from accountant.regions import shapes
from accountant.regions.groupings import Grouping, cells_key
from accountant.regions.regions import Region, ValueSet
from accountant.regions.shapes import Shape, row_classes
from tests.support.smallrows import EVERYWHERE, Query, random_query

LAST_MS = 12
HISTORIES = 1_000


@dataclass(frozen=True, eq=False)
class Asked:
    """One window of a query, what it reserves, and what its cells turn out to cost."""

    query: Query
    key: WindowKey
    worst: int
    costs: tuple[int, ...]

    @property
    def held(self):
        """What it holds once it has ended."""
        costs = LevelCosts.of(np.array(self.costs, dtype=np.int64))
        shape = self.query.shape
        return Held(
            *(self.key.start_ms, self.key.end_ms, costs.worst_units, shape),
            cells=f"{self.query.cells} {cells_key(shape.grouping)}",
            costs=costs.encode() if len(costs.levels) > 1 else None,
        )

    @cached_property
    def losses(self):
        """What each of the rows loses by it."""
        return self.query.lost(self.costs)

    @property
    def at_worst(self):
        """The same window, each cell at what it reserves."""
        return replace(self, costs=(self.worst,) * self.query.cells)


def random_history(rng, *, opaque=0.0):
    """Draw windows of some queries in the order of admission, and a wall."""
    asked = []
    for name in "abcde"[: rng.randint(2, 5)]:
        query = random_query(rng, name, opaque=opaque)
        size, step = rng.choice([(3, 3), (4, 2), (6, 3), (12, 12)])
        for start in range(0, LAST_MS - size + 1, step):
            worst = rng.randint(0, 4)
            costs = tuple(rng.randint(0, worst) for _ in range(query.cells))
            asked.append(Asked(query, WindowKey(start + size, name, start), worst, costs))
    return sorted(asked, key=lambda one: one.key), rng.randint(2, 8)


def worst_by_hand(held, inside, span):
    """Return the largest loss of a row, looking at every row and every instant."""
    worst = 0
    for at in span:
        near = [one.losses for one in held if one.key.start_ms <= at < one.key.end_ms]
        worst = max(worst, int(sum(near, np.zeros(inside.size)).max(where=inside, initial=0)))
    return worst


def by_hand(asked, wall):
    """Answer every window in its turn, keeping the loss of every row."""
    held = []
    answers = []
    for one in asked:
        span = range(one.key.start_ms, one.key.end_ms)
        answers.append(worst_by_hand(held, one.query.inside, span) + one.worst <= wall)
        held += [one] if answers[-1] else []
    return answers


def by_filter(asked, wall):
    """Ask the filter, each window in its turn."""
    judge = EventFilter(wall, [], lambda: frozenset(one.query.shape for one in asked))
    answers = []
    for one in asked:
        charge = Charge(one.key, UniformCost(one.worst, one.query.cells), 1)
        answer = judge.answer(charge, one.query.shape)
        assert answer is not Answer.PENDING
        answers.append(answer is Answer.RESERVED)
        if answers[-1]:
            judge.hold(Standing(one.held, open=False))
    return answers


def passed(asked, wall):
    """Say whether some row lost more than the wall, each window at its worst when granted."""
    held = []
    for one, granted in zip(asked, by_filter(asked, wall), strict=True):
        if granted:
            span = range(one.key.start_ms, one.key.end_ms)
            if worst_by_hand([*held, one.at_worst], EVERYWHERE, span) > wall:
                return True
            held.append(one)
    return False


def times_passed(histories, *, opaque=0.0):
    """Return in how many of the first histories the wall was passed."""
    return sum(passed(*random_history(Random(seed), opaque=opaque)) for seed in range(histories))


@pytest.mark.long
@pytest.mark.parametrize("classes", [shapes.MOST_CLASSES, 0])
def test_the_filter_grants_what_an_exact_one_would(monkeypatch, classes):
    """Every answer is that of keeping each row's loss, also beyond the classes that have a name."""
    monkeypatch.setattr(shapes, "MOST_CLASSES", classes)
    row_classes.cache_clear()
    refused = 0
    for seed in range(HISTORIES):
        asked, wall = random_history(Random(seed))
        wanted = by_hand(asked, wall)
        assert by_filter(asked, wall) == wanted, seed
        refused += wanted.count(False)
    row_classes.cache_clear()
    assert refused > HISTORIES


@pytest.mark.long
def test_cells_that_are_not_known_never_pass_the_wall():
    """With groupings known by name alone, or no grid, no row ever loses more than the wall."""
    assert times_passed(HISTORIES // 2, opaque=0.5) == 0


def test_cells_that_are_not_known_are_taken_to_meet():
    """Of each grouping a row is in the dearest cell: the largest sum, and none above it."""
    for seed in range(60):
        asked, _ = random_history(Random(seed), opaque=1.0)
        held = [one.held for one in asked]
        assert worst_loss(held) == worst_of_groupings(asked, EVERYWHERE, range(LAST_MS))
        query = asked[seed % len(asked)].query
        found = worst_loss(held, within=(2, 9), meeting=query.shape)
        assert found == worst_of_groupings(asked, query.inside, range(2, 9))


def worst_of_groupings(asked, inside, span):
    """Return the largest loss of a row that is in the dearest cell of every grouping."""
    worst, named = 0, [(one, one.held.cells) for one in asked]
    for at, row in product(span, inside.nonzero()[0]):
        cells = {}
        for one, name in named:
            if one.key.start_ms <= at < one.key.end_ms and one.query.inside[row]:
                cells[name] = cells.get(name, 0) + np.array(one.costs)
        worst = max(worst, sum(int(losses.max()) for losses in cells.values()))
    return worst


@pytest.fixture(params=[0, 3, shapes.MOST_CLASSES])
def _small(request, monkeypatch):
    """Allow for small grids only, and for few classes of rows, or many."""
    caches = grid_of, row_classes
    monkeypatch.setattr(grid, "MOST_ENTRIES", 6)
    monkeypatch.setattr(shapes, "MOST_CLASSES", request.param)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("_small")
def test_more_charges_never_lose_less():
    """Charge by charge the bound never falls, nor is it below the truth; no grid comes back."""
    gave_up = []
    for seed in range(60):
        asked, wall = random_history(Random(seed), opaque=0.3 * (seed % 2))
        assert not passed(asked, wall), seed
        held = [one.held for one in asked]
        several = [held[:n] for n in range(len(held) + 1)]
        grids = [grid_of(frozenset(one.shape for one in each)) for each in several]
        missing = [each is None for each in grids]
        assert missing == sorted(missing), seed
        gave_up.append(missing[-1])
        for query in (None, asked[0].query):
            bounds = [worst_loss(each, meeting=query and query.shape) for each in several]
            assert bounds == sorted(bounds), seed
            inside = EVERYWHERE if query is None else query.inside
            assert bounds[-1] >= worst_by_hand(asked, inside, range(LAST_MS)), seed
    assert {*gave_up} == {True, False}


def test_losses_too_large_to_add_up_are_taken_to_meet():
    """Where 64 bits would not hold a sum of cells, the sum of the dearest stands in for it."""
    huge = 2**62
    costs = [LevelCosts.of(np.array(each)).encode() for each in ([huge, 0], [huge, 1], [0, huge])]
    one = Held(0, 10, huge, cells="g", costs=costs[0])
    two = Held(5, 15, huge, cells="g", costs=costs[1])
    far = Held(0, 10, huge, cells="h", costs=costs[2])
    assert worst_loss([one, two]) == 2 * huge
    assert worst_loss([one, two], within=(10, 15)) == huge
    assert worst_loss([one, two, far]) == 3 * huge


def test_a_grid_for_many_calls_changes_no_result():
    """Losses are the same on the grid of all shapes and on that of those that are there."""
    for seed in range(100):
        asked, _ = random_history(Random(seed), opaque=0.3)
        held, among = [one.held for one in asked], frozenset(one.query.shape for one in asked)
        for n in range(len(held)):
            given = {"within": (2, 9), "meeting": held[-1].shape}
            alone = worst_loss(held[:n], **given)
            assert worst_loss(held[:n], **given, among=among) == alone
            for above in (alone, alone + 1):
                assert worst_loss(held[:n], **given, above=above) == above


def test_windows_that_share_no_row_are_left_out():
    """Of alarms on rows of their own, one alone is looked at."""
    apart = [Shape(Region.where(x=at).canonical) for at in range(5)]
    found = grid_of(frozenset(apart))
    assert all(grid.near(found, shape) == {shape} for shape in apart)


def test_costs_of_other_cells_count_at_their_worst_wherever_the_region_is():
    """Where a charge has more or fewer cells than its grouping, no row of its region goes free."""
    cells = Grouping("x", ("x",), ((ValueSet.integers(0),),))
    costs = LevelCosts.of(np.array([1, 5])).encode()
    held = Held(0, 10, 5, Shape(grouping=cells.text), cells="2 x", costs=costs)
    outside = Shape(Region.where(x=7).canonical)
    assert worst_loss([held], meeting=outside) == 5
    assert worst_loss([replace(held, costs=None)], meeting=outside) == 0


def off_by_one(patch):
    """Broken twin: reads the costs of the next cell."""
    own = rows.LevelCosts.decode

    def decode(text):
        costs = own(text).as_array()
        return LevelCosts.of(np.roll(costs, 1))

    rows._remembered.cache_clear()
    patch.setattr(rows, "LevelCosts", type("LevelCosts", (), {"decode": staticmethod(decode)}))


def one_at_a_time(patch):
    """Broken twin: takes the dearest of what hangs on an attribute, not the sum."""
    own = elimination.added

    def added(factors):
        axes, total = own(factors)
        dearest = max((losses for _, losses in factors), key=lambda losses: int(losses.max()))
        return axes, np.full_like(total, int(dearest.max()))

    patch.setattr(elimination, "added", added)


def only_declared(patch):
    """Broken twin: leaves out classes of values that any other one resembles."""

    def maximal(patterns, most):
        del most
        return [max(range(len(patterns)), key=lambda at: patterns[at].bit_count())]

    patch.setattr(tables, "maximal", maximal)


def looks_late(patch):
    """Broken twin: looks at the end of the window only."""
    own = overlap._edges

    def edges(charges, within):
        return own(charges, within and (within[1] - 1, within[1]))

    patch.setattr(overlap, "_edges", edges)


def only_its_own(patch):
    """Broken twin: takes no other query's windows to share a row with one that is asked for."""
    patch.setattr(overlap, "near", lambda _grid, meeting: frozenset([meeting]))


TWINS = [off_by_one, one_at_a_time, only_declared, looks_late, only_its_own]


@pytest.mark.parametrize("twin", TWINS)
def test_broken_twins_pass_the_wall(monkeypatch, twin):
    """The same check catches losses that are read, added up or looked for wrongly."""
    grid_of.cache_clear()
    twin(monkeypatch)
    found = times_passed(60)
    for cached in (grid_of, rows._remembered):
        cached.cache_clear()
    assert found
