"""People in the first step of their window: steps add up to windows, also where rows are late."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from stream.counting.bounding import Bounds
from stream.counting.firsts import in_turn
from stream.events.units import Units
from tests.support.contributions import CELLS, rows_of, taken


def log_of(rows):
    """Return rows in the order of the log."""
    place, _, person, cell = np.array(sorted(rows), np.int64).reshape(-1, 4).T
    unit = Units.of(np.stack([person, person], axis=1).astype(np.uint64))
    return taken(rows_of(len(rows), offset=place, cell=cell, unit=unit))


def counted(rows, steps, bounds):
    """Return person and cell of what each step counts."""
    found = []
    for step in range(steps):
        of = {at: [row for row in rows if row[1] == at] for at in range(step + 1)}
        turned = in_turn({at: [log_of(some)] for at, some in of.items() if some}, step)
        who = []
        if turned is not None:
            ordered, before = turned
            left = bounds.apply(ordered)
            left = left.take(left.sequence >= before)
            who = list(zip(left.unit.hashes()[:, 0].tolist(), left.place.tolist(), strict=True))
        found.append(who)
    return found


def expected(rows, steps, cap):
    """Return the same by the definition: whoever counts at a step does at all later ones."""
    reached = defaultdict(list)
    found = [[] for _ in range(steps)]
    for _, step, person, cell in sorted(rows, key=lambda row: (row[1], row[0])):
        cells = reached[person]
        if cell not in cells and len(cells) != cap:
            cells.append(cell)
            found[step].append((person, cell))
    return found


@pytest.mark.parametrize("cap", [None, 1, 2])
def test_steps_count_whom_the_definition_says_wherever_rows_stand_in_the_log(cap):
    """Three rows of two people in cells of their own or the same: all steps, in every order.

    So they add up to windows, a person reaches as many cells as the cap says in all steps together,
    and a late row that stands before others in the log changes none.
    """
    bounds = Bounds(cap is not None, (True,), False, cap or 1, 1, CELLS)
    for steps, people, cells in product(
        product(range(3), repeat=3), product(range(2), repeat=3), [(0, 1, 0), (0, 1, 2)]
    ):
        rows = list(zip(range(3), steps, people, cells, strict=True))
        assert counted(rows, 3, bounds) == expected(rows, 3, cap), rows
