"""People in the first step of their window: steps add up to windows, also where rows are late."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from accountant.units import PrivacyUnit
from stream.counting.bounding import Bounds, Contributions
from stream.counting.firsts import in_turn
from stream.events.units import Units
from tests.support.contributions import rows_of, taken

Row = tuple[int, int, int, int]
"""Place in the log, first step that takes it, person, cell."""


def log_of(rows: list[Row]) -> Contributions:
    """Return rows in the order of the log."""
    place, _, person, cell = np.array(sorted(rows), np.int64).reshape(-1, 4).T
    unit = Units.of(np.stack([person, person], axis=1).astype(np.uint64))
    return taken(rows_of(len(rows), offset=place, cell=cell, unit=unit))


def counted(rows: list[Row], steps: int, bounds: Bounds) -> list[list[tuple[int, int]]]:
    """Return person and cell of what each step counts."""
    found: list[list[tuple[int, int]]] = []
    for step in range(steps):
        of = {at: [row for row in rows if row[1] == at] for at in range(step + 1)}
        turned = in_turn({at: [log_of(some)] for at, some in of.items() if some}, step)
        who: list[tuple[int, int]] = []
        if turned is not None:
            ordered, before = turned
            left = bounds.apply(ordered)
            left = left.take(left.sequence >= before)
            who = list(zip(left.unit.hashes()[:, 0].tolist(), left.cell.tolist(), strict=True))
        found.append(who)
    return found


def bounds_of(unit: PrivacyUnit, cells: int = 1) -> Bounds:
    """Return the rules of a distinct count."""
    return Bounds(unit is PrivacyUnit.USER, (True,), False, cells, 1)


@pytest.mark.parametrize("unit", list(PrivacyUnit))
def test_steps_add_up_to_windows_wherever_rows_stand_in_the_log(unit: PrivacyUnit) -> None:
    """Three rows of two people in two cells, every step and every order: all of them."""
    bounds = bounds_of(unit, cells=2)
    for steps in product(range(3), repeat=3):
        for people in product(range(2), repeat=3):
            rows = [(at, steps[at], people[at], at % 2) for at in range(3)]
            each = counted(rows, 3, bounds)
            assert sum(map(len, each)) == len({pair for step in each for pair in step})
            for step in range(3):
                so_far = {(person, cell) for _, first, person, cell in rows if first <= step}
                assert {pair for some in each[: step + 1] for pair in some} == so_far


@pytest.mark.parametrize("cells", [1, 2])
def test_a_person_reaches_as_many_cells_of_a_window_as_the_cap_says(cells: int) -> None:
    """In all its steps together; a late row that stands before others in the log changes none."""
    bounds = bounds_of(PrivacyUnit.USER, cells)
    for steps in product(range(3), repeat=3):
        rows = [(at, steps[at], 7, at) for at in range(3)]
        assert sum(map(len, counted(rows, 3, bounds))) == cells


def test_caps_in_the_order_of_the_log_are_caught() -> None:
    """A twin that sorts all rows by their place: a late row takes back what a step had counted."""
    rows = [(0, 1, 7, 0), (1, 0, 7, 1)]
    bounds = bounds_of(PrivacyUnit.USER)
    assert [bounds.apply(log_of(some)).cell.tolist() for some in (rows[1:], rows)] == [[1], [0]]
    assert counted(rows, 2, bounds) == [[(7, 1)], []]
