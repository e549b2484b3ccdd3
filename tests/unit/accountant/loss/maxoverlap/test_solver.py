"""Maximum overlap: exact against brute force, safe under every limit, the same every time."""

from __future__ import annotations

import math
import random
import re
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from accountant.loss.maxoverlap import maximum_overlap, utility_gain
from accountant.loss.maxoverlap.colouring import colouring_bound
from accountant.regions.regions import Region
from benchmarks.overlap import census
from tests.support.overlaps import ranges, sets, truth, weights_for, workload
from tests.support.tree import ROOT


@pytest.mark.long
@pytest.mark.parametrize("composition", ["sum", "gdp"])
@pytest.mark.parametrize("block", range(5))
def test_the_answer_equals_brute_force(block, composition):
    """Five hundred small workloads in each composition, weighted or not, are solved exactly."""
    for seed in range(100 * block, 100 * block + 100):
        regions = workload(seed)
        weights = weights_for(seed, len(regions))
        found = maximum_overlap(regions, weights, composition=composition, work_limit=None)
        assert found.exact, seed
        exact = [Fraction(weight) for weight in weights or [1] * len(regions)]
        if composition == "sum":
            assert found.value == truth(regions, exact), seed
        else:
            squares = truth(regions, [weight**2 for weight in exact])
            assert Fraction(found.value) ** 2 >= squares, seed
            assert math.isclose(found.value, math.sqrt(squares), rel_tol=1e-15), seed
        held = [at for at, region in enumerate(regions) if region.contains(found.witness)]
        assert [at for at in held if exact[at]] == list(found.members), seed


@pytest.mark.parametrize("node_limit", [0, 1, 3])
def test_no_limit_makes_the_bound_unsafe(node_limit):
    """However early the search ends, the truth lies between the value and the bound."""
    for seed in range(40):
        regions = workload(seed, regions=12)
        weights = weights_for(seed, len(regions))
        found = maximum_overlap(regions, weights, node_limit=node_limit, work_limit=None)
        assert found.value <= truth(regions, weights) <= found.upper_bound <= found.plain, seed
        assert found.exact == (found.value == found.upper_bound)


def test_regions_that_overlap_pairwise_need_not_share_a_row():
    """Three pairs out of three values overlap in twos: two share a row, and colours say three."""
    pairs = [Region.where(x=["a", "b"]), Region.where(x=["b", "c"]), Region.where(x=["a", "c"])]
    assert colouring_bound(pairs, [1, 1, 1]) == 3
    found = maximum_overlap(pairs)
    assert (found.value, found.upper_bound, found.exact) == (2, 2, True)


NATIVE, NORTH = Region.where(postcode="A", native="Y"), Region.where(postcode=["A", "B"])
FOREIGN = Region.where(postcode="B", native="N")


def test_the_example_of_the_paper():
    """Example 2 of Parallel Composition has a maximum overlap of two."""
    found = maximum_overlap([NATIVE, NORTH, FOREIGN])
    assert (found.value, len(found.members), utility_gain(found)) == (2, 2, Fraction(1, 3))


def test_the_hypergraph_of_the_paper():
    """Example 3: of the six queries of Figure 8 no row is in more than three."""
    south = Region.where(postcode=["A", "C"], native="N")
    others = Region.where(native="Y"), Region.where(postcode="C"), FOREIGN
    found = maximum_overlap([NATIVE, NORTH, south, *others])
    assert (found.value, found.exact, sorted(found.members)) == (3, True, [0, 1, 3])


def test_nothing_costs_nothing():
    """No regions, empty regions and weights of zero leave no loss, in plain composition either."""
    for regions, weights in (
        ([], None),
        ([Region.nothing()], [7]),
        ([Region.where(x=1), Region.everything()], [0, 0]),
    ):
        found = maximum_overlap(regions, weights)
        assert (found.value, found.upper_bound, found.plain, found.members) == (0, 0, 0, ())
        assert utility_gain(found) == 0
    found = maximum_overlap([Region.nothing(), Region.where(x=1)], [100, 2])
    assert (found.value, found.plain, found.members) == (2, 2, (1,))


def test_unlinked_attributes_add_up():
    """Regions on attributes of their own are solved apart, and a row can be in the worst of all."""
    regions = [Region.of({f"x{at}": value}) for at in range(40) for value in range(3)]
    found = maximum_overlap(regions, [1, 2, 3] * 40, work_limit=None, node_limit=1000)
    assert (found.value, found.exact) == (120, True)


def test_weights_of_any_size_stay_exact():
    """Whole weights far beyond 64 bits, and floats that differ in the last bit, are told apart."""
    huge = 10**400
    regions = [Region.where(x=1), Region.where(x=2), Region.where(y=1), Region.where(x=2, y=2)]
    assert maximum_overlap(regions, [huge + 1, huge, 1, 0]).value == huge + 2
    extremes = [5e-324, sys.float_info.max]
    assert maximum_overlap(regions[:1] * 2, extremes).value == sum(map(Fraction, extremes))


def test_many_ties_in_rounded_weights_are_resolved():
    """Weights too fine for one sum of floats have the optimum of the same weights in small."""
    for seed in range(10):
        regions = ranges(seed, 24, attributes=5, values=12)
        rng = random.Random(seed)
        small = [rng.randint(1, 3) for _ in regions]
        scale = Fraction(2**70 + 1, 3**40)
        fine = [*(scale * each for each in small), Fraction(1, 7**30)]
        found = maximum_overlap([*regions, Region.where(x0=-1)], fine)
        plain = maximum_overlap(regions, small)
        assert found.exact
        assert plain.exact
        assert found.value == plain.value * scale


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"work_limit": -1}, "work limit"),
        ({"node_limit": -1}, "node limit"),
        ({"composition": "max"}, 'a composition is "sum"'),
        ({"composition": "rdp"}, "needs a delta"),
    ],
)
def test_bad_limits_and_compositions_are_refused(given, said):
    """What is no limit and no composition is refused in words."""
    with pytest.raises(ValueError, match=said):
        maximum_overlap([], **given)


def test_counted_work_ends_the_search_safely():
    """Wherever the work ends, what is returned is a row that exists and a bound that holds."""
    regions = sets(3, 50)
    done = maximum_overlap(regions, work_limit=None)
    assert done.exact
    bounds = []
    for limit in (0, 1, 1_000, 100_000, 1_000_000, 10**12):
        found = maximum_overlap(regions, work_limit=limit)
        assert 0 < found.value <= done.value <= found.upper_bound <= len(regions)
        bounds.append(found.upper_bound)
    assert bounds[0] > bounds[-1] == done.value
    squares = maximum_overlap(regions, composition="gdp", work_limit=1_000)
    assert squares.value <= maximum_overlap(regions, composition="gdp").value
    assert squares.value < squares.upper_bound


def test_no_clock_has_a_part_in_the_answer():
    """None is at hand: a limit is counted work, which ends the search at the same step anywhere."""
    texts = [path.read_text() for path in (ROOT / "accountant/loss/maxoverlap").glob("*.py")]
    assert len(texts) > 5
    assert not any(re.search("(import|from) (time|datetime)", text) for text in texts)
    for limit in ({"work_limit": 200_000}, {"node_limit": 3}):
        one, other = (maximum_overlap(sets(4, 100), **limit) for _ in range(2))
        assert one == other
        assert not one.exact


@pytest.mark.long
def test_the_census_workload_of_the_paper_is_exact():
    """Two thousand census queries are solved in seconds, whether incomes start at 0 or anywhere."""
    for queries, ranges_too in ((2_000, False), (500, True)):
        regions = census(np.random.default_rng(7), queries, ranges=ranges_too)
        began_s = time.process_time()
        found = maximum_overlap(regions, work_limit=10**9)
        assert found.exact
        assert time.process_time() - began_s < 60
        assert sum(region.contains(found.witness) for region in regions) == found.value


def test_the_gain_counts_the_certain_saving():
    """The gain is one minus overlap over total, by squares where losses compose by squares."""
    regions = [Region.where(x=at) for at in range(4)]
    assert utility_gain(maximum_overlap(regions)) == Fraction(3, 4)
    assert utility_gain(maximum_overlap(regions), 8) == Fraction(7, 8)
    assert utility_gain(maximum_overlap(regions, composition="gdp")) == pytest.approx(0.75)
    assert utility_gain(maximum_overlap([Region.everything()] * 2, composition="gdp")) == 0
    with pytest.raises(ValueError, match="below the overlap"):
        utility_gain(maximum_overlap(regions), Fraction(1, 2))
