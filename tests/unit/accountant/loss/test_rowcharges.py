"""Cells and charges over rows: what fits together, and which cell a row is in."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant.costs.charges import UniformCost
from accountant.loss.rowcharges import Cells, RowCharge
from accountant.regions.regions import Region


def test_charges_that_do_not_fit_are_refused():
    """Cells, attributes and costs have to agree in number."""
    with pytest.raises(ValueError, match="names an attribute once"):
        RowCharge(Region(), ("room", "room"), Cells([("a", "a")]), UniformCost(1, 1))
    with pytest.raises(ValueError, match="one value per group-by attribute"):
        RowCharge(Region(), (), Cells.of("a"), UniformCost(1, 1))
    with pytest.raises(ValueError, match="one cost per cell"):
        RowCharge(Region(), ("room",), Cells.of("a", "b"), UniformCost(1, 1))


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
    assert [cells.find((each,)) for each in (Fraction(1, 2), 1.0, True, "1", 2, False)] == [
        0,
        1,
        2,
        3,
        None,
        None,
    ]
    assert cells == Cells.of(Fraction(1, 2), Fraction(1), True, "1")
    assert hash(cells) == hash(Cells.of(Fraction(1, 2), 1, True, "1"))
    assert cells != Cells.of(1, 0.5, True, "1")
    assert Cells.of(1) != Cells.of(True)
    assert Cells.single() == Cells([()])
    assert "0.5" not in repr(cells)
