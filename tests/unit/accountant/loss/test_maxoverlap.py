"""Maximum overlap: exact against brute force, safe under every limit, the same every time."""

from __future__ import annotations

import itertools
import math
import random
import sys
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import dp_accounting as accounting
import networkx as nx
import numpy as np
import pytest
from dp_accounting import rdp

from accountant.loss.maxoverlap import classes, maximum_overlap, utility_gain
from accountant.loss.maxoverlap.classes import attributes_of
from accountant.loss.maxoverlap.colouring import colouring_bound, neighbours
from accountant.loss.maxoverlap.composing import Gdp, PureSum, Rdp
from accountant.regions.regions import Not, Region
from benchmarks.overlap import census, uniform

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Every value that a condition of ``workload`` can tell from the others: whole ones and between.
GRID = [*(Fraction(half, 2) for half in range(-1, 20)), "text"]


def workload(seed: int, *, regions: int = 8, attributes: int = 4) -> list[Region]:
    """Return random conjunctions of equalities, sets, ranges and negations over small numbers."""
    rng = random.Random(seed)
    conditions: list[Callable[[], object]] = [
        lambda: rng.randint(0, 4),
        lambda: [rng.randint(0, 4) for _ in range(rng.randint(0, 3) or 1)],
        lambda: (rng.randint(0, 4), rng.randint(5, 9)),
        lambda: (low := rng.randint(0, 4), low + rng.randint(0, 3)),
        lambda: Not(rng.randint(0, 4)),
    ]
    return [
        Region.of(
            {f"x{at}": rng.choice(conditions)() for at in range(attributes) if rng.random() < 0.65}
        )
        for _ in range(rng.randint(0, regions))
    ]


def weights_for(seed: int, count: int) -> list[object] | None:
    """Return no weights, small whole ones (some zero), fractions or floats."""
    rng = random.Random(seed)
    kinds: list[Callable[[], object]] = [
        lambda: rng.randint(0, 5),
        lambda: Fraction(rng.randint(1, 9), rng.randint(1, 9)),
        rng.random,
        lambda: rng.choice([0.1, 0.2, 0.3, 0.6]),
    ]
    kind = rng.randrange(5)
    return None if kind == 4 else [kinds[kind]() for _ in range(count)]


def rows_of(regions: Sequence[Region]) -> set[tuple[int, ...]]:
    """Return which regions hold a row, for every row that they can tell from another one."""
    everyone = (1 << len(regions)) - 1
    patterns = [
        {
            sum(1 << at for at, region in enumerate(regions) if value in region.values(name))
            for value in GRID
        }
        for name in sorted({name for region in regions for name in region.attributes})
    ]
    covers = {everyone}
    for each in patterns:
        covers = {cover & pattern for cover in covers for pattern in each}
    return {
        tuple(at for at, region in enumerate(regions) if cover >> at & 1 and not region.empty)
        for cover in covers
    }


def truth(regions: Sequence[Region], costs: Sequence[object]) -> Fraction:
    """Return the largest sum of costs over all rows."""
    exact = [Fraction(cost) for cost in costs]  # type: ignore[arg-type]
    return max(sum((exact[at] for at in row), Fraction(0)) for row in rows_of(regions))


def ranges(seed: int, count: int, attributes: int = 10, values: int = 1000) -> list[Region]:
    """Return conjunctions of random ranges over a random choice of attributes."""
    rng = np.random.default_rng(seed)
    regions = []
    for _ in range(count):
        chosen = rng.choice(attributes, rng.integers(1, attributes + 1), replace=False)
        conditions = {}
        for at in chosen.tolist():
            low, high = sorted(rng.choice(values + 1, 2, replace=False).tolist())
            conditions[f"x{at}"] = (low, high)
        regions.append(Region.of(conditions))
    return regions


def sets(seed: int, count: int, attributes: int = 10, values: int = 10) -> list[Region]:
    """Return conjunctions of random sets of values; colourings say little about them."""
    rng = np.random.default_rng(seed)
    return [
        Region.of(
            {
                f"x{at}": rng.choice(values, rng.integers(1, values + 1), replace=False).tolist()
                for at in rng.choice(attributes, rng.integers(1, attributes + 1), replace=False)
            }
        )
        for _ in range(count)
    ]


def ones(regions: Sequence[Region]) -> list[int]:
    """Return a weight of one each."""
    return [1] * len(regions)


@pytest.mark.parametrize("composition", ["sum", "gdp"])
@pytest.mark.parametrize("block", range(5))
def test_the_answer_equals_brute_force(block: int, composition: str) -> None:
    """Five hundred small workloads in each composition, weighted or not, are solved exactly."""
    for seed in range(100 * block, 100 * block + 100):
        regions = workload(seed)
        weights = weights_for(seed, len(regions))
        found = maximum_overlap(regions, weights, composition=composition, time_limit_s=None)
        assert found.exact, seed
        exact = [Fraction(weight) for weight in weights or ones(regions)]  # type: ignore[arg-type]
        if composition == "sum":
            assert found.value == truth(regions, exact), seed
        else:
            squares = truth(regions, [weight**2 for weight in exact])
            assert Fraction(found.value) ** 2 >= squares, seed
            assert math.isclose(found.value, math.sqrt(squares), rel_tol=1e-15), seed
        held = [at for at, region in enumerate(regions) if region.contains(found.witness)]
        assert [at for at in held if exact[at]] == list(found.members), seed


@pytest.mark.parametrize("node_limit", [0, 1, 3])
def test_no_limit_makes_the_bound_unsafe(node_limit: int) -> None:
    """However early the search ends, the truth lies between the value and the bound."""
    for seed in range(40):
        regions = workload(seed, regions=12)
        weights = weights_for(seed, len(regions)) or ones(regions)
        found = maximum_overlap(regions, weights, node_limit=node_limit, time_limit_s=None)
        assert found.value <= truth(regions, weights) <= found.upper_bound <= found.plain, seed
        assert found.exact == (found.value == found.upper_bound)


def greedy_clique(regions: Sequence[Region], _: Sequence[int]) -> int:
    """Broken twin: a clique that is merely large, read as a bound."""
    graph = neighbours(attributes_of(regions), len(regions))
    clique = 0
    for at in sorted(range(len(regions)), key=lambda at: graph[at].bit_count()):
        if clique & ~graph[at] == 0:
            clique |= 1 << at
    return clique.bit_count()


def coloured(regions: Sequence[Region], weights: Sequence[int]) -> int:
    """Return the bound of the colouring alone."""
    return colouring_bound(attributes_of(regions), weights)


def broken_off(regions: Sequence[Region], weights: Sequence[int]) -> int:
    """Return the bound of a colouring that is stopped half way."""
    calls = itertools.count()
    return colouring_bound(
        attributes_of(regions), weights, lambda: next(calls) > 1.5 * len(regions)
    )


def shortfalls(bound: Callable[[Sequence[Region], Sequence[int]], int]) -> int:
    """Return for how many workloads a bound lies below the truth."""
    count = 0
    for seed in range(150):
        regions = [region for region in workload(seed, regions=12) if not region.empty]
        count += bound(regions, ones(regions)) < truth(regions, ones(regions))
    return count


def test_a_bound_never_falls_below_the_truth_and_a_broken_one_is_caught() -> None:
    """The colouring passes the test that an approximate clique fails."""
    assert shortfalls(coloured) == 0
    assert shortfalls(broken_off) == 0
    assert shortfalls(greedy_clique) > 0


def test_a_weighted_colouring_is_safe_and_no_worse_than_repeating_regions() -> None:
    """Heights of colours bound the heaviest row, as colouring every copy of a region would."""
    for seed in range(60):
        regions = [region for region in workload(seed, regions=10) if not region.empty]
        rng = random.Random(seed)
        weights = [rng.randint(0, 7) for _ in regions]
        bound = colouring_bound(attributes_of(regions), weights)
        assert truth(regions, weights) <= bound <= sum(weights)


def test_neighbours_are_the_regions_that_overlap() -> None:
    """The graph says what comparing regions pair by pair says."""
    for seed in range(40):
        regions = [region for region in workload(seed, regions=10) if not region.empty]
        graph = neighbours(attributes_of(regions), len(regions))
        for left, right in itertools.permutations(range(len(regions)), 2):
            assert bool(graph[left] >> right & 1) == regions[left].overlaps(regions[right])


def test_regions_that_overlap_pairwise_need_not_share_a_row() -> None:
    """Three pairs out of three values overlap in twos: two share a row, and colours say three."""
    pairs = [Region.where(x=["a", "b"]), Region.where(x=["b", "c"]), Region.where(x=["a", "c"])]
    assert coloured(pairs, [1, 1, 1]) == 3
    found = maximum_overlap(pairs)
    assert (found.value, found.upper_bound, found.exact) == (2, 2, True)


def test_the_example_of_the_paper() -> None:
    """Example 2 of Parallel Composition has a maximum overlap of two."""
    queries = [
        Region.where(postcode="A", native="Y"),
        Region.where(postcode=["A", "B"]),
        Region.where(postcode="B", native="N"),
    ]
    found = maximum_overlap(queries)
    assert found.value == 2
    assert len(found.members) == 2
    assert utility_gain(found) == Fraction(1, 3)


def test_nothing_costs_nothing() -> None:
    """No regions, empty regions and weights of zero leave a loss of zero."""
    for regions, weights in (
        ([], None),
        ([Region.nothing()], None),
        ([Region.nothing()], [7]),
        ([Region.where(x=1), Region.everything()], [0, 0]),
    ):
        found = maximum_overlap(regions, weights)
        assert (found.value, found.upper_bound, found.exact, found.members) == (0, 0, True, ())
        assert utility_gain(found) == 0


def test_empty_regions_do_not_count() -> None:
    """The empty region adds nothing, not even to plain composition."""
    found = maximum_overlap([Region.nothing(), Region.where(x=1)], [100, 2])
    assert (found.value, found.plain, found.members) == (2, 2, (1,))


def test_regions_without_conditions_hold_every_row() -> None:
    """The region of all rows counts wherever the worst row is."""
    regions = [Region.everything(), Region.where(x=1), Region.where(x=2)]
    assert maximum_overlap(regions, [5, 1, 2]).value == 7
    assert maximum_overlap([Region.everything()] * 3).value == 3


def test_the_same_region_again_adds_up() -> None:
    """Ten charges on one region cost ten times as much."""
    regions = [Region.where(x=1, time=(0, 10)), Region.where(x=2, time=(0, 10))] * 10
    found = maximum_overlap(regions, [Fraction(1, 10), Fraction(1, 5)] * 10)
    assert found.value == 2
    assert found.members == tuple(range(1, 20, 2))


def test_unlinked_attributes_add_up() -> None:
    """Regions on attributes of their own are solved apart, and a row can be in the worst of all."""
    regions = [Region.of({f"x{at}": value}) for at in range(40) for value in range(3)]
    found = maximum_overlap(regions, [1, 2, 3] * 40, time_limit_s=None, node_limit=1000)
    assert (found.value, found.exact) == (120, True)


def test_time_is_an_attribute() -> None:
    """Windows that follow one another compose in parallel, and those that overlap do not."""
    windows = [Region.where(time=(start, start + 10)) for start in range(0, 50, 5)]
    assert maximum_overlap(windows).value == 2
    assert maximum_overlap(windows[::2]).value == 1


def test_weights_of_any_size_stay_exact() -> None:
    """Whole weights far beyond 64 bits, and floats that differ in the last bit, are told apart."""
    huge = 10**400
    regions = [Region.where(x=1), Region.where(x=2), Region.where(y=1), Region.where(x=2, y=2)]
    assert maximum_overlap(regions, [huge + 1, huge, 1, 0]).value == huge + 2
    regions = ranges(1, 30, attributes=4)
    weights = [math.nextafter(0.1, 1) if at % 2 else 0.1 for at in range(30)]
    found = maximum_overlap(regions, weights, time_limit_s=None)
    rough = maximum_overlap(regions, time_limit_s=None)
    assert found.exact
    assert rough.exact
    assert isinstance(found.value, Fraction)
    assert rough.value * Fraction(0.1) <= found.value
    assert found.value <= rough.value * Fraction(math.nextafter(0.1, 1))
    extremes = [5e-324, sys.float_info.max]
    assert maximum_overlap(regions[:1] * 2, extremes).value == sum(map(Fraction, extremes))


def test_many_ties_in_rounded_weights_are_resolved() -> None:
    """Weights too fine for one sum of floats have the optimum of the same weights in small."""
    for seed in range(10):
        regions = ranges(seed, 24, attributes=5, values=12)
        rng = random.Random(seed)
        small = [rng.randint(1, 3) for _ in regions]
        scale = Fraction(2**70 + 1, 3**40)
        fine = maximum_overlap(
            [*regions, Region.where(x0=-1)], [*(scale * each for each in small), Fraction(1, 7**30)]
        )
        plain = maximum_overlap(regions, small)
        assert fine.exact
        assert plain.exact
        assert fine.value == plain.value * scale


def test_roots_are_exact_or_rounded_up() -> None:
    """The mu of a row is the root itself where it is rational, and else not below it."""
    both = [Region.everything()] * 2
    assert maximum_overlap(both, [3, 4], composition="gdp").value == 5
    assert maximum_overlap(both, [Fraction(3, 7), Fraction(4, 7)], composition="gdp").value == (
        Fraction(5, 7)
    )
    for weights in ([1, 1], [0.1, 0.2], [1e-200, 1e-200], [1e200, 1e200], [10**300, 10**300]):
        value = maximum_overlap(both, weights, composition=Gdp()).value
        squares = sum(Fraction(weight) ** 2 for weight in weights)
        assert Fraction(value) ** 2 >= squares
        assert Fraction(math.nextafter(value, 0)) ** 2 < squares
    assert maximum_overlap(both, [10**400, 1], composition="gdp").value == math.inf


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1], "2 regions, but 1 weights"),
        ([1, -1], "weight 1 is negative"),
        ([1, -0.5], "weight 1 is negative"),
        ([math.nan, 1], "NaN or infinite"),
        ([1, math.inf], "NaN or infinite"),
        ([1, "2"], "not a number"),
        ([1, None], "not a number"),
        ([1, [2]], "not a number"),
        ([1, True], "truth value"),
        ([1, 1j], "not a number"),
    ],
)
def test_bad_weights_are_refused(weights: list[object], says: str) -> None:
    """A weight that is no loss is refused, whatever region it belongs to."""
    for composition in ("sum", "gdp"):
        for regions in ([Region.where(x=1)] * 2, [Region.nothing()] * 2):
            with pytest.raises(ValueError, match=says):
                maximum_overlap(regions, weights, composition=composition)


def test_bad_limits_and_compositions_are_refused() -> None:
    """What is no limit and no composition is refused in words."""
    for limit in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="time limit"):
            maximum_overlap([], time_limit_s=limit)
    with pytest.raises(ValueError, match="node limit"):
        maximum_overlap([], node_limit=-1)
    with pytest.raises(ValueError, match='a composition is "sum"'):
        maximum_overlap([], composition="max")
    with pytest.raises(ValueError, match="needs a delta"):
        maximum_overlap([], composition="rdp")


def test_the_clock_ends_the_search_safely() -> None:
    """With a clock that jumps, what is returned is a row that exists and a bound that holds."""
    regions = sets(3, 50)
    done = maximum_overlap(regions, time_limit_s=None)
    assert done.exact
    for jump_s in (0.001, 0.5, 10.0, 1e9):
        clock = itertools.count(0, jump_s).__next__
        found = maximum_overlap(regions, time_limit_s=5, clock=clock)
        assert 0 < found.value <= done.value <= found.upper_bound <= len(regions)
    assert maximum_overlap(regions, time_limit_s=0).upper_bound >= done.value


def test_without_a_clock_the_answer_is_the_same() -> None:
    """A limit on nodes, and no limit on time, gives the same answer and never asks the clock."""

    def clock() -> float:
        calls.append(1)
        return 0.0

    calls: list[int] = []
    regions = sets(4, 100)
    answers = [
        maximum_overlap(regions, time_limit_s=None, node_limit=3, clock=clock) for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert not answers[0].exact
    assert answers[0].nodes <= 5
    assert len(calls) <= 2


def test_the_census_workload_of_the_paper_is_exact() -> None:
    """Two thousand census queries are solved in seconds, whether incomes start at 0 or anywhere."""
    for ranges_too in (False, True):
        regions = census(
            np.random.default_rng(7), 2_000 if not ranges_too else 500, ranges=ranges_too
        )
        began_s = time.process_time()
        found = maximum_overlap(regions, time_limit_s=10)
        assert found.exact
        assert time.process_time() - began_s < 60
        assert sum(region.contains(found.witness) for region in regions) == found.value


def test_uniform_workloads_are_bounded_no_worse_than_by_dsatur() -> None:
    """However short the search, the bound is not above that of networkx's DSatur."""
    for seed in range(3):
        regions = uniform(np.random.default_rng(seed), 60)
        graph = nx.Graph()
        graph.add_nodes_from(range(len(regions)))
        graph.add_edges_from(
            (left, right)
            for left, right in itertools.combinations(range(len(regions)), 2)
            if regions[left].overlaps(regions[right])
        )
        colours = len(set(nx.greedy_color(graph, strategy="DSATUR").values()))
        found = maximum_overlap(regions, node_limit=2, time_limit_s=None)
        assert found.value <= found.upper_bound <= colours


def test_the_order_of_regions_does_not_change_the_answer() -> None:
    """A permutation of the regions, with their weights, has the same maximum overlap."""
    for seed in range(30):
        regions = workload(seed)
        weights = [random.Random(seed).randint(1, 5) for _ in regions]
        order = list(range(len(regions)))
        random.Random(seed).shuffle(order)
        shuffled = maximum_overlap([regions[at] for at in order], [weights[at] for at in order])
        assert shuffled.value == maximum_overlap(regions, weights).value


def test_the_gain_counts_the_certain_saving() -> None:
    """The gain is one minus overlap over total, by squares where losses compose by squares."""
    regions = [Region.where(x=at) for at in range(4)]
    assert utility_gain(maximum_overlap(regions)) == Fraction(3, 4)
    assert utility_gain(maximum_overlap(regions), 8) == Fraction(7, 8)
    assert utility_gain(maximum_overlap(regions, composition="gdp")) == pytest.approx(0.75)
    assert utility_gain(maximum_overlap([Region.everything()] * 2, composition="gdp")) == 0
    with pytest.raises(ValueError, match="below the overlap"):
        utility_gain(maximum_overlap(regions), Fraction(1, 2))


def test_too_many_classes_are_merged_safely(monkeypatch: pytest.MonkeyPatch) -> None:
    """With coarser classes the bound still holds, and the value is one of a row that exists."""
    monkeypatch.setattr(classes, "_MOST_CELLS", 60)
    for seed in range(30):
        regions = ranges(seed, 14, attributes=3, values=12)
        regions = [Region.of({n: r.values(n) for n in r.attributes}) for r in regions]
        coarse = maximum_overlap(regions, time_limit_s=None)
        monkeypatch.setattr(classes, "_MOST_CELLS", 10**9)
        fine = maximum_overlap(regions, time_limit_s=None)
        monkeypatch.setattr(classes, "_MOST_CELLS", 60)
        assert fine.exact
        assert coarse.value <= fine.value <= coarse.upper_bound
        assert sum(region.contains(coarse.witness) for region in regions) == coarse.value


class TestRenyi:
    """Composition by Renyi divergences, turned into epsilon by dp-accounting."""

    def test_gaussians_agree_with_brute_force(self) -> None:
        """For noise multipliers the answer is the worst row's epsilon, as the library has it."""
        for seed in range(12):
            regions = [region for region in workload(seed, regions=6) if not region.empty]
            rng = random.Random(seed)
            multipliers = [rng.choice([0.5, 1.0, 2, 4.5]) for _ in regions]
            expected = 0.0
            for row in rows_of(regions):
                accountant = rdp.RdpAccountant()
                for at in row:
                    accountant.compose(accounting.GaussianDpEvent(float(multipliers[at])))
                expected = max(expected, accountant.get_epsilon(1e-6))
            found = maximum_overlap(regions, multipliers, composition=Rdp(delta=1e-6))
            assert found.exact
            assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_events_of_different_kinds_are_bounded(self) -> None:
        """Where no one order is the worst row's, the bound still holds for every row."""
        orders = (1.5, 2.0, 4.0, 16.0, 64.0)
        kinds = [
            accounting.GaussianDpEvent(0.8),
            accounting.LaplaceDpEvent(1.0),
            accounting.PoissonSampledDpEvent(0.1, accounting.GaussianDpEvent(0.7)),
        ]
        for seed in range(20):
            regions = [region for region in workload(seed, regions=8) if not region.empty]
            rng = random.Random(seed)
            events = [rng.choice(kinds) for _ in regions]
            worst = 0.0
            for row in rows_of(regions):
                accountant = rdp.RdpAccountant(orders)
                for at in row:
                    accountant.compose(events[at])
                worst = max(worst, accountant.get_epsilon(1e-5))
            found = maximum_overlap(regions, events, composition=Rdp(1e-5, orders))
            assert found.value <= worst * (1 + 1e-12)
            assert worst <= found.upper_bound * (1 + 1e-12)
            assert found.upper_bound <= found.plain

    def test_bad_weights_and_orders_are_refused(self) -> None:
        """Noise of zero, what is no event, and events without a curve are refused."""
        where = [Region.everything()]
        refused = [0, -1.0, math.nan, "x", True, accounting.UnsupportedDpEvent()]
        for weight in [*refused, accounting.NonPrivateDpEvent()]:
            with pytest.raises(ValueError, match=r"weight 0|no Renyi order"):
                maximum_overlap(where, [weight], composition=Rdp(1e-6))
        for delta in (0, 1, -1, math.nan):
            with pytest.raises(ValueError, match="delta"):
                Rdp(delta)
        for orders in ((), (1.0,), (math.inf,), (math.nan,), (0.5, 2.0)):
            with pytest.raises(ValueError, match="order"):
                Rdp(1e-6, orders)

    def test_a_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without dp-accounting the error says what to install."""
        monkeypatch.setitem(sys.modules, "dp_accounting.rdp", None)
        with pytest.raises(ImportError, match=r"tocsin\[rdp\]"):
            maximum_overlap([Region.everything()], [1], composition=Rdp(1e-6))


def test_compositions_can_be_passed_as_objects() -> None:
    """The names stand for objects that can be passed as well."""
    regions = ranges(9, 10)
    assert maximum_overlap(regions, composition=PureSum()) == maximum_overlap(regions)
    assert maximum_overlap(regions, composition=Gdp()) == maximum_overlap(
        regions, composition="gdp"
    )
