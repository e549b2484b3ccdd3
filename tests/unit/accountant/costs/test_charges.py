"""Charges are exact, and an unknown cost never looks free."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.records import Partial
from accountant.units import Contribution, floor_loss_units, from_loss_units, to_loss_units


def test_windows_are_served_by_end_then_query():
    """Keys sort by window end, then query id, then start."""
    keys = [WindowKey(10, "b", 0), WindowKey(20, "a", 0), WindowKey(10, "a", 5)]
    assert sorted(keys) == [keys[2], keys[0], keys[1]]


@given(st.integers(0, 10**15), st.integers(1, 100), st.integers(1, 100))
def test_a_uniform_cost_adds_up_by_hand(units, cells, reached):
    """Whoever reaches more cells than there are loses all of them and no more."""
    cost = UniformCost(units, cells)
    assert cost.worst_units == units
    assert cost.largest_sum_units(reached) == sum([units] * min(reached, cells))
    assert Charge(WindowKey(1, "q", 0), cost, reached).loss_units == cost.largest_sum_units(reached)


@given(st.fractions(0, 100))
def test_loss_units_round_against_us(epsilon):
    """Charges round up, walls round down, and exact values stay."""
    assert from_loss_units(floor_loss_units(epsilon)) <= epsilon
    assert from_loss_units(to_loss_units(epsilon)) >= epsilon
    assert to_loss_units(epsilon) - floor_loss_units(epsilon) in (0, 1)
    assert to_loss_units(from_loss_units(7)) == 7


KEY = WindowKey(10, "q", 0)


def vector(index, value, *, partition=0, first_offset=0, of=np.int64):
    """Return a partial of four cells."""
    columns = (np.array(index, dtype=of), np.array(value, dtype=of))
    return Partial(KEY, partition, "f", "t", True, 4, *columns, first_offset, 3)


def test_the_digest_covers_everything():
    """Equal partials have equal digests; one changed number changes it."""
    same = [vector([0, 2], [5, 6]).digest for _ in range(2)]
    others = [
        vector([0, 3], [5, 6]),
        vector([0, 2], [5, 7]),
        vector([0], [5]),
        vector([0, 2], [5, 6], partition=1),
        vector([0, 2], [5, 6], first_offset=1),
    ]
    assert len({*same, *(other.digest for other in others)}) == 6


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: WindowKey(10, "a", 10), "empty"),
        (lambda: UniformCost(-1, 1), "cost"),
        (lambda: UniformCost(1, 0), "cost"),
        (lambda: Charge(KEY, UniformCost(1, 1), 0), "`cells_per_unit` is below 1"),
        (lambda: Contribution(0, 1), "at least 1"),
        (lambda: vector([1, 1], [1, 1]), "strictly increasing"),
        (lambda: vector([2, 1], [1, 1]), "strictly increasing"),
        (lambda: vector([-1, 1], [1, 1]), "strictly increasing"),
        (lambda: vector([0, 4], [1, 1]), "strictly increasing"),
        (lambda: vector([0], [1, 1]), "one length"),
        (lambda: vector([0], [1], of=np.float64), "int64"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    """Windows without length, costs that pay back, caps of nothing, vectors that are not sparse."""
    with pytest.raises((ValueError, TypeError), match=said):
        call()
