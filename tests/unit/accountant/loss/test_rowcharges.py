"""Cells and charges over rows: what fits together, and which cell a row is in."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from accountant.costs.charges import UniformCost
from accountant.loss.composition import worst_row
from accountant.loss.rowcharges import Cells, RowCharge, row_loss
from accountant.regions.regions import Region


@pytest.mark.parametrize(
    ("attributes", "cells", "said"),
    [
        (("room", "room"), [("a", "a")], "names an attribute once"),
        ((), [("a",)], "one value per group-by attribute"),
        (("room",), [("a",), ("b",)], "one cost per cell"),
    ],
)
def test_charges_that_do_not_fit_are_refused(attributes, cells, said):
    """Cells, attributes and costs have to agree in number."""
    with pytest.raises(ValueError, match=said):
        RowCharge(Region(), attributes, Cells(cells), UniformCost(1, 1))


def test_no_truth_value_is_a_number():
    """Nobody is in the cell of 1 and in that of True, as Python's dictionaries would have it."""
    one = RowCharge(Region(), ("flag",), Cells.of(1), UniformCost(5, 1))
    true = replace(one, cells=Cells.of(True), cost=UniformCost(3, 1))
    assert worst_row([one, true]).value == row_loss([one, true], {"flag": 1}) == 5
    assert row_loss([one, true], {"flag": True}) == 3


@pytest.mark.parametrize(
    "values",
    [
        [],
        [("a",), ("a",)],
        [("a",), ("a", "b")],
        [(float("nan"),)],
        [(float("inf"),)],
        [(None,)],
        [(0.5,), (Fraction(1, 2),)],
    ],
)
def test_cells_that_are_none_are_refused(values):
    """No cell, one twice, ragged ones, and values that are no values."""
    with pytest.raises(ValueError, match="cell"):
        Cells(values)


def test_cells_compare_by_content_and_find_their_place():
    """Numbers are exact, truth values apart from numbers, order matters."""
    cells = Cells.of(0.5, 1, True, "1")
    sought = (Fraction(1, 2), 1.0, True, "1", 2, False)
    assert [cells.find((each,)) for each in sought] == [0, 1, 2, 3, None, None]
    assert cells == Cells.of(Fraction(1, 2), Fraction(1), True, "1")
    assert hash(cells) == hash(Cells.of(Fraction(1, 2), 1, True, "1"))
    assert cells != Cells.of(1, 0.5, True, "1")
    assert Cells.of(1) != Cells.of(True)
    assert Cells.single() == Cells([()])
    assert "0.5" not in repr(cells)
