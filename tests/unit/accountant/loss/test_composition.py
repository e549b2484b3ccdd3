"""Composition row by row: checked against every row there is, over small domains."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.loss import composition, tables
from accountant.loss.composition import loss_by_predicate, worst_row
from accountant.loss.rowcharges import Cells, RowCharge, row_loss
from accountant.regions.regions import Region
from tests.support.smallrows import ROWS, random_query


def charged(query, costs):
    """Charge a query's cells."""
    cells = Cells(list(product(*query.by.values())))
    cost = UniformCost(costs[0], len(cells))
    if len(set(costs)) > 1:
        cost = LevelCosts.of(np.array(costs))
    return RowCharge(query.region, tuple(query.by), cells, cost)


def workload(seed):
    """Make up to 8 charges, a query whose cells are asked about, and the loss of every row."""
    rng = random.Random(seed)
    charges, losses = [], np.zeros(len(ROWS), dtype=np.int64)
    for _ in range(rng.randint(0, 8)):
        query = random_query(rng, "q", least=0)
        costs = rng.choices([0, *rng.sample(range(1, 10), 3)], k=query.cells)
        charges.append(charged(query, costs))
        losses += query.lost(costs)
    return charges, random_query(rng, "q", least=0), losses


def every_cell(losses, query):
    """Find the worst row of every cell of a query."""
    return [int(losses[query.row_cells == cell].max(initial=0)) for cell in range(query.cells)]


@pytest.fixture(scope="module")
def workloads():
    """1,000 workloads."""
    return list(map(workload, range(1000)))


def attains(charges, found):
    """Whether a row that was found loses what is said, whatever it has of other attributes."""
    rows = [found.row, *({**other, **found.row} for other in (ROWS[0], ROWS[-1]))]
    return {row_loss(charges, row) for row in rows} == {found.value}


def wrong_rows(workloads, twin=lambda charge: charge):
    """Count the workloads whose worst row is not what brute force finds."""
    wrong = 0
    for charges, _, losses in workloads:
        found = worst_row([twin(each) for each in charges])
        right = found.value == found.upper_bound == losses.max() and found.exact
        wrong += not (right and attains(charges, found))
    return wrong


def wrong_cells(workloads, answer=loss_by_predicate):
    """Count the workloads whose losses per cell are not what brute force finds."""
    wrong = 0
    for charges, query, losses in workloads:
        found = answer(charges, charged(query, [1] * query.cells))
        wrong += not (found.exact and found.units.tolist() == every_cell(losses, query))
    return wrong


def test_the_worst_row_is_that_of_brute_force(workloads):
    """1,000 workloads: the maximum over all rows, a row that attains it, and that of each cell."""
    assert wrong_rows(workloads) == 0
    assert wrong_cells(workloads) == 0


def everywhere(charge):
    """Twin: every charge at its highest cell, whether or not one row is in all of them."""
    if charge.region.empty:
        return charge
    return RowCharge(Region(), (), Cells.single(), UniformCost(charge.cost.worst_units, 1))


def blind(charge):
    """Twin: what a region asks of one attribute is not looked at."""
    kept = {name: charge.region.values(name) for name in charge.region.attributes if name != "x"}
    return replace(charge, region=Region.nothing() if charge.region.empty else Region.of(kept))


def filled(charge):
    """Twin: a contradiction read as no condition at all."""
    return replace(charge, region=Region()) if charge.region.empty else charge


@pytest.mark.parametrize(
    ("twin", "many", "wrong"), [(everywhere, 100, 50), (blind, 100, 10), (filled, 200, 10)]
)
def test_regions_that_do_not_meet_are_not_added(workloads, twin, many, wrong):
    """Nor do empty ones cost anything."""
    assert wrong_rows(workloads[:many], twin) > wrong


def test_cells_that_are_read_otherwise_are_caught(workloads):
    """The same of the losses by cell: an attribute left out, and an empty query taken for full."""

    def without(charges, query):
        return loss_by_predicate([blind(each) for each in charges], query)

    def full(charges, query):
        return loss_by_predicate(charges, filled(query))

    assert wrong_cells(workloads[:200], without) > 10
    assert wrong_cells(workloads[:200], full) > 5


@pytest.mark.parametrize("node_limit", [1, 2, 1_000])
@pytest.mark.parametrize("most", [0, 2_000])
def test_a_bound_is_never_below_the_truth(workloads, most, node_limit, monkeypatch):
    """Without tables a row loses the value, and no row more than the bound; cells too."""
    monkeypatch.setattr(tables, "MOST_ENTRIES", 0)
    monkeypatch.setattr(composition, "_MOST_REGIONS", most)
    monkeypatch.setattr(composition, "_MOST_SEARCHES", most)
    exact = []
    for charges, query, losses in workloads[::10]:
        found = worst_row(charges, node_limit=node_limit)
        assert found.value <= losses.max() <= found.upper_bound
        assert attains(charges, found)
        assert found == worst_row(charges, node_limit=node_limit)
        cells = loss_by_predicate(charges, charged(query, [1] * query.cells), node_limit=node_limit)
        expected = np.array(every_cell(losses, query))
        assert (cells.units == expected).all() if cells.exact else (cells.units >= expected).all()
        exact.append(found.exact and cells.exact)
    assert all(exact) == (most > 0)


def test_the_loss_of_a_row_is_the_sum_over_its_cells(workloads):
    """Rows taken at random lose what adding up says; absent attributes match nothing."""
    rng = random.Random(3)
    for charges, _, losses in workloads[:200]:
        at = rng.randrange(len(ROWS))
        assert row_loss(charges, ROWS[at]) == losses[at]
        partial = {name: value for name, value in ROWS[at].items() if rng.random() < 0.5}
        met = [one for one in charges if {*one.attributes} <= {*partial}]
        assert row_loss(charges, partial) == row_loss(met, ROWS[at])


def test_the_example_of_mide():
    """Costs of 0.1 and 0.5, then 0.5 and 0.1, on the same predicates compose to 0.6, not 1.0."""
    charges = [
        RowCharge(Region(), ("room",), Cells.of("1", "2"), LevelCosts.of(np.array(costs)))
        for costs in ([1, 5], [5, 1])
    ]
    worst = worst_row(charges)
    assert worst.value == worst.upper_bound == 6
    assert loss_by_predicate(charges, charges[0]).units.tolist() == [6, 6]


def test_losses_that_leave_64_bits_are_refused():
    """Sums are refused before they could wrap around and look small."""
    huge = RowCharge(Region(), (), Cells.single(), UniformCost(2**62, 1))
    assert worst_row([huge]).value == 2**62
    for compose in (worst_row, lambda charges, **of: loss_by_predicate(charges, huge, **of)):
        with pytest.raises(ValueError, match="add up to"):
            compose([huge, huge])
        with pytest.raises(ValueError, match="at least one node"):
            compose([huge], node_limit=0)


def test_alarms_that_share_no_attribute_are_not_multiplied_out(monkeypatch):
    """Twenty pairs of charges on twenty attributes: 2^20 sets of cells, and small tables."""
    charges = [
        RowCharge(Region(), (name,), Cells.of("1", "2"), LevelCosts.of(np.array(costs)))
        for name in "abcdefghijklmnopqrst"
        for costs in ([1, 5], [5, 1])
    ]
    monkeypatch.setattr(tables, "MOST_ENTRIES", 2)
    worst = worst_row(charges)
    assert (worst.value, worst.upper_bound) == (120, 120)
