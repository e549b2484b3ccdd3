"""The worst-placed event carries exactly the largest sum of charges that it shares."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.costs.levels import LevelCosts
from accountant.loss.overlap import Held, worst_loss
from accountant.regions import shapes
from accountant.regions.regions import Not, Region
from accountant.regions.shapes import Shape, row_classes

REGIONS = [
    Region.everything(),
    Region.where(x=0),
    Region.where(x=Not(0)),
    Region.where(x={0, 1}),
    Region.where(y=(0, 2)),
    Region.where(y=(1, 3), x={1, 2}),
    Region.nothing(),
]
ROWS = [{"x": x, "y": y} for x in range(4) for y in range(4)]


def encoded(costs):
    """Return the losses of cells as they are stored."""
    return LevelCosts.of(np.array(costs, dtype=np.int64)).encode()


@st.composite
def held(draw):
    """Draw a charge over some rows, with equal cells or with cells that cost differently."""
    start, size = draw(st.integers(0, 20)), draw(st.integers(1, 12))
    shape = Shape(draw(st.sampled_from(REGIONS)).canonical, draw(st.sampled_from(["g", "h"])))
    costs = draw(st.lists(st.integers(0, 5), min_size=3, max_size=3))
    if draw(st.booleans()):
        return Held(start, start + size, max(costs), shape, cells=shape.grouping)
    level = encoded(costs)
    return Held(start, start + size, max(costs), shape, cells=shape.grouping, costs=level)


def loss_by_hand(charges, span, rows):
    """Add up every instant, row and pair of cells one by one."""
    worst = 0
    by_cell = {text: LevelCosts.decode(text).as_array() for one in charges if (text := one.costs)}
    for at in span:
        for row in rows:
            near = [
                one
                for one in charges
                if one.start_ms <= at < one.end_ms and one.shape.as_region.contains(row)
            ]
            for cells in product(range(3), repeat=2):
                cell = dict(zip(("g", "h"), cells, strict=True))
                loss = sum(
                    one.loss_units
                    if one.costs is None
                    else int(by_cell[one.costs][cell[one.cells]])
                    for one in near
                )
                worst = max(worst, loss)
    return worst


@pytest.mark.long
@settings(max_examples=60)
@given(st.lists(held(), max_size=7), st.integers(0, 25), st.integers(1, 12))
def test_rows_and_cells_match_brute_force(charges, first, size):
    """The worst row over regions, cells and time is found exactly, anywhere and near a query."""
    assert worst_loss(charges) == loss_by_hand(charges, range(40), ROWS)
    for region in REGIONS:
        meeting = Shape(region.canonical, "g")
        rows = [row for row in ROWS if region.contains(row)]
        found = worst_loss(charges, within=(first, first + size), meeting=meeting)
        assert found == loss_by_hand(charges, range(first, first + size), rows)


@pytest.mark.long
@settings(max_examples=40)
@given(st.lists(held(), min_size=1, max_size=6), st.integers(0, 6), st.randoms())
def test_more_charges_never_lose_less(charges, most, random):
    """Dropping a charge never raises the bound, whether or not all sets of regions are named."""
    order = random.sample(charges, len(charges))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "MOST_CLASSES", most)
        row_classes.cache_clear()
        for region in REGIONS[:3]:
            meeting = Shape(region.canonical)
            bounds = [worst_loss(order[:n], meeting=meeting) for n in range(len(order) + 1)]
            assert bounds == sorted(bounds)
            rows = [row for row in ROWS if region.contains(row)]
            assert bounds[-1] >= loss_by_hand(charges, range(40), rows)
        bounds = [worst_loss(order[:n]) for n in range(len(order) + 1)]
        assert bounds == sorted(bounds)
        assert bounds[-1] >= loss_by_hand(charges, range(40), ROWS)
    row_classes.cache_clear()


def test_cells_too_dear_to_add_up_are_taken_to_meet():
    """Where 64 bits would not hold a sum of cells, the sum of the dearest stands in for it."""
    huge = 2**62
    one = Held(0, 10, huge, cells="g", costs=encoded([huge, 0]))
    two = Held(5, 15, huge, cells="g", costs=encoded([huge, 1]))
    assert worst_loss([one, two]) == 2 * huge
    assert worst_loss([one, two], within=(10, 15)) == huge
    far = Held(0, 10, huge, cells="h", costs=encoded([0, huge]))
    assert worst_loss([one, two, far]) == 3 * huge
