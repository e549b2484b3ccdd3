"""Composition row by row: checked against every row there is, over small domains."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.loss import composition, tables
from accountant.loss.composition import loss_by_predicate, worst_row
from accountant.loss.rowcharges import Cells, RowCharge, row_loss
from accountant.regions.regions import Not, Region, ValueSet

GROUPS = {
    "badge": (0, 1, 2, Fraction(1, 2)),
    "flag": (True, False, 1, "a"),
    "room": ("a", "b", "c", ""),
    "time": (0, 1, 2, 3),
}
"""Values that cells and conditions are made of."""

HALVES = tuple(Fraction(each, 2) for each in range(-1, 10))
ROWS = {
    "badge": (*HALVES, Fraction(1, 4), Fraction(3, 4), "", True),
    "flag": (True, False, 0, 1, 2, "", "a", "aa", "b"),
    "room": ("", "\0", "a", "a\0", "b", "b\0", "c", "c\0", 0, False),
    "time": (*HALVES, "", True),
}
"""A value of every kind that conditions made of those can tell apart."""


def condition(rng, name):
    """Make a condition of any kind, trivial and contradictory ones among them."""
    values = GROUPS[name]
    some = rng.sample(values, rng.randrange(1, len(values)))
    low, high = rng.randrange(4), rng.randrange(5)
    kinds = [some[0], some, Not(some), rng.choice([ValueSet.everything(), ValueSet.nothing()])]
    kinds += [ValueSet.of(*some) | ValueSet.strings()]
    if name in ("badge", "time"):
        kinds += [(low, max(low + 1, high)), rng.choice([(None, low), (low, None)])]
        kinds += [ValueSet.between(low, high, low_closed=False, high_closed=True)]
    return rng.choice(kinds)


def row_charge(rng, names, shared):
    """Make a charge with up to two group-by attributes and any part of their cells."""
    chosen = [name for name in names if rng.random() < (0.7 if name == "time" else 0.4)]
    region = Region.of({name: condition(rng, name) for name in chosen})
    group_by = tuple(rng.sample(names, min(len(names), rng.choice([0, 1, 1, 2]))))
    domain = list(product(*(GROUPS[name] for name in group_by)))
    whole = shared.setdefault(group_by, Cells(domain))
    cells = whole if rng.random() < 0.4 else Cells(rng.sample(domain, rng.randint(1, len(domain))))
    cost = UniformCost(rng.randrange(6), len(cells))
    if rng.random() < 0.7:
        levels = [0, *rng.sample(range(1, 10), rng.randint(1, 3))]
        cost = LevelCosts.of(np.array(rng.choices(levels, k=len(cells))))
    return RowCharge(region, group_by, cells, cost)


def workload(seed):
    """Make up to 8 charges over up to 4 attributes, and a query whose cells are asked about."""
    rng = random.Random(seed)
    names = sorted(rng.sample(sorted(GROUPS), rng.randint(1, 4)))
    shared = {}
    charges = [row_charge(rng, names, shared) for _ in range(rng.randint(0, 8))]
    return charges, row_charge(rng, names, shared)


def along(name, flags):
    """Put one number per value of an attribute along its axis."""
    shape = [1] * len(ROWS)
    shape[list(ROWS).index(name)] = len(flags)
    return np.array(flags, dtype=np.int64).reshape(shape)


def inside(where):
    """Say for every row whether it is in a region."""
    rows = 1
    for name, values in ROWS.items():
        rows = rows * along(name, [value in where.values(name) for value in values])
    return rows


def in_cell(group_by, cell):
    """Say for every row whether it has the values of a cell."""
    rows = 1
    for name, value in zip(group_by, cell, strict=True):  # True is not 1
        own = (type(value) is bool, value)
        rows = rows * along(name, [(type(each) is bool, each) == own for each in ROWS[name]])
    return rows


def every_row(charges):
    """Add up what every row loses, cell by cell."""
    losses = np.zeros([len(values) for values in ROWS.values()], dtype=np.int64)
    for charge in charges:
        costs = zip(charge.cells.values, charge.costs.as_array(), strict=True)
        by_cell = sum(cost * in_cell(charge.group_by, cell) for cell, cost in costs)
        losses += by_cell * inside(charge.region)
    return losses


def every_cell(losses, query):
    """Find the worst row of every cell of a query."""
    within = losses * inside(query.region)
    return [int((within * in_cell(query.group_by, cell)).max()) for cell in query.cells.values]


@pytest.fixture(scope="module")
def workloads():
    """1,000 workloads, with the loss of every row."""
    made = map(workload, range(1000))
    return [(*each, every_row(each[0]).astype(np.int16)) for each in made]


def attains(charges, found):
    """Whether a row that was found loses what is said, whatever it has of other attributes."""
    others = ({name: values[at] for name, values in ROWS.items()} for at in (0, 5))
    rows = [found.row, *({**other, **found.row} for other in others)]
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
        found = answer(charges, query)
        wrong += not (found.exact and found.units.tolist() == every_cell(losses, query))
    return wrong


@pytest.mark.long
def test_the_worst_row_is_that_of_brute_force(workloads):
    """1,000 workloads: the maximum over all rows, a row that attains it, and that of each cell."""
    assert wrong_rows(workloads) == 0
    assert wrong_cells(workloads) == 0


def everywhere(charge):
    """Twin: every charge at its highest cell, whether or not one row is in all of them."""
    if charge.region.empty:
        return charge
    return RowCharge(Region(), (), Cells.single(), UniformCost(charge.cost.worst_units, 1))


def timeless(charge):
    """Twin: windows that never cover one instant taken to do so."""
    kept = {name: charge.region.values(name) for name in charge.region.attributes if name != "time"}
    return replace(charge, region=Region.nothing() if charge.region.empty else Region.of(kept))


def filled(charge):
    """Twin: a contradiction read as no condition at all."""
    return replace(charge, region=Region()) if charge.region.empty else charge


def as_python(charge):
    """Twin: the cell of 1 charged to rows that hold True, as Python's dictionaries would."""
    costs = {cell: charge.costs.units(at) for at, cell in enumerate(charge.cells.values)}
    of_cells = np.array([costs[cell] for cell in charge.cells.values])
    return replace(charge, cost=LevelCosts.of(of_cells))


@pytest.mark.long
@pytest.mark.parametrize(
    ("twin", "many", "wrong"),
    [(everywhere, 100, 50), (timeless, 100, 10), (filled, 200, 10), (as_python, 150, 5)],
)
def test_regions_that_do_not_meet_are_not_added(workloads, twin, many, wrong):
    """Nor do empty ones cost anything, and no truth value is a number."""
    assert wrong_rows(workloads[:many], twin) > wrong


@pytest.mark.long
def test_cells_that_are_read_otherwise_are_caught(workloads):
    """The same of the losses by cell: charges without time, and an empty query taken for full."""

    def no_time(charges, query):
        return loss_by_predicate([timeless(each) for each in charges], query)

    def no_contradiction(charges, query):
        return loss_by_predicate(charges, filled(query))

    assert wrong_cells(workloads[:100], no_time) > 10
    assert wrong_cells(workloads[:200], no_contradiction) > 5


@pytest.mark.long
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
        cells = loss_by_predicate(charges, query, node_limit=node_limit)
        expected = np.array(every_cell(losses, query))
        assert (cells.units == expected).all() if cells.exact else (cells.units >= expected).all()
        exact.append(found.exact and cells.exact)
    assert all(exact) == (most > 0)


@pytest.mark.long
def test_the_loss_of_a_row_is_the_sum_over_its_cells(workloads):
    """Rows taken at random lose what adding up says; absent attributes match nothing."""
    rng = random.Random(3)
    for charges, _, losses in workloads[:200]:
        at = {name: rng.randrange(len(values)) for name, values in ROWS.items()}
        row = {name: ROWS[name][k] for name, k in at.items()}
        assert row_loss(charges, row) == losses[tuple(at.values())]
        partial = {name: value for name, value in row.items() if rng.random() < 0.5}
        blind = [one for one in charges if not {*one.attributes} - {*partial}]
        assert row_loss(charges, partial) == row_loss(blind, row)


def test_the_example_of_mide():
    """Costs of 0.1 and 0.5, then 0.5 and 0.1, on the same predicates compose to 0.6, not 1.0."""
    charges = [
        RowCharge(Region(), ("room",), Cells.of("1", "2"), LevelCosts.of(np.array(costs)))
        for costs in ([1, 5], [5, 1])
    ]
    worst = worst_row(charges)
    assert worst.value == worst.upper_bound == 6
    assert loss_by_predicate(charges, charges[0]).units.tolist() == [6, 6]


def test_nothing_charged_is_nothing_lost():
    """No charge, a free one and an empty region leave every row without loss."""
    free = RowCharge(Region(), (), Cells.single(), UniformCost(0, 1))
    nowhere = RowCharge(Region.nothing(), (), Cells.single(), UniformCost(5, 1))
    for charges in ([], [free], [nowhere], [free, nowhere]):
        worst = worst_row(charges)
        assert (worst.value, worst.upper_bound, dict(worst.row)) == (0, 0, {})
        assert loss_by_predicate(charges, free).units.tolist() == [0]
    everyone = replace(free, cost=UniformCost(5, 1))
    assert worst_row([everyone]).value == row_loss([everyone], {}) == 5
    assert loss_by_predicate([everyone], nowhere).units.tolist() == [0]


def test_losses_that_leave_64_bits_are_refused():
    """Sums are refused before they could wrap around and look small."""
    huge = RowCharge(Region(), (), Cells.single(), UniformCost(2**62, 1))
    assert worst_row([huge]).value == 2**62
    for compose in (worst_row, lambda charges, **of: loss_by_predicate(charges, huge, **of)):
        with pytest.raises(ValueError, match="add up to"):
            compose([huge, huge])
        with pytest.raises(ValueError, match="at least one node"):
            compose([huge], node_limit=0)


def test_a_hundred_thousand_cells_and_a_day_of_windows():
    """24 hopping windows over 100,000 cells on 12 levels compose in vectors, not cell by cell."""
    rng = np.random.default_rng(5)
    cells = Cells.of(*range(100_000))
    charges = [
        RowCharge(
            Region.where(time=(start, start + 3)),
            ("badge",),
            cells,
            LevelCosts.of(rng.integers(1, 13, len(cells))),
        )
        for start in range(24)
    ]
    losses = np.array([each.costs.as_array() for each in charges])
    sums = losses[:-2] + losses[1:-1] + losses[2:]
    worst = worst_row(charges)
    found = loss_by_predicate(charges, replace(charges[0], region=Region()))
    assert (worst.value, worst.upper_bound) == (sums.max(), sums.max())
    assert found.exact
    assert (found.units == sums.max(axis=0)).all()


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
