"""What caps leave out of a window is told exactly, event by event."""

from __future__ import annotations

import numpy as np
import pytest

from stream.counting.bounding import Bounds, Capped, Contributions
from tests.support.contributions import random_rows

GROUPS, EVENTS = 2, 2


class _Walk:
    """Meets rows one by one and says what becomes of each."""

    def __init__(self, bounds: Bounds, rows: Contributions) -> None:
        self.bounds, self.rows = bounds, rows
        self.cells: dict[tuple[int, int], list[int]] = {}
        self.used: set[tuple[object, ...]] = set()
        self.number: dict[tuple[object, ...], int] = {}
        self.met: set[tuple[object, ...]] = set()

    def new_in(self, at: int, place: tuple[int, ...]) -> list[int]:
        """Return the statistics in which a row is no repetition, counting it in them."""
        rows, found = self.rows, []
        event = () if rows.event_id is None else tuple(rows.event_id[at].tolist())
        for statistic, distinct in enumerate(self.bounds.distinct):
            weight = int(rows.weight[statistic, at])
            key = (statistic, *place) if distinct else (statistic, *place, weight, *event)
            if not rows.counts[statistic, at] or ((distinct or event) and key in self.used):
                continue
            self.used.add(key)
            self.number[statistic, *place] = self.number.get((statistic, *place), 0) + 1
            found.append(statistic)
        return found

    def fate(self, at: int) -> str:
        """Return why a row counts in no statistic, or nothing."""
        bounds, rows = self.bounds, self.rows
        unit, cell = int(rows.unit.number[at]), int(rows.cell[at])
        period = int(rows.period[at])
        place = (unit, period, cell)
        new = self.new_in(at, place)
        if not new:
            return "repeat"
        if not bounds.per_user:
            return ""
        reached = self.cells.setdefault((unit, period), [])
        reached += [cell] if cell not in reached else []
        if reached.index(cell) >= bounds.predicates_per_window:
            return "groups"
        few = [
            s for s in new if bounds.distinct[s] or self.number[s, *place] <= bounds.events_per_cell
        ]
        if not few:
            return "events"
        again = [s for s in few if bounds.distinct[s] and (s, unit, cell) in self.met]
        self.met |= {(s, unit, cell) for s in few}
        return "repeat" if again == few else ""


def _told(bounds: Bounds, rows: Contributions) -> Capped:
    """Walk through the rows and add up."""
    walk = _Walk(bounds, rows)
    fates = [walk.fate(at) for at in range(len(rows))]
    units = rows.unit.number.tolist()

    def beyond(cap: str) -> tuple[int, int]:
        left_out = [unit for unit, fate in zip(units, fates, strict=True) if fate == cap]
        return len(left_out), len(set(left_out))

    return Capped(fates.count("repeat"), *beyond("groups"), *beyond("events"))


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("distinct", [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("per_user", [False, True])
def test_every_event_left_out_is_told_once(
    *, per_user: bool, distinct: tuple[bool, bool], ids: bool
) -> None:
    """The figures are those of a walk through the rows, and with what counts they are all rows."""
    random = np.random.default_rng(7)
    bounds = Bounds(per_user, distinct, ids, GROUPS, EVENTS)
    lost = 0
    for _ in range(40):
        rows = random_rows(random, int(random.integers(0, 200)), bounds)
        found = bounds.capped(rows)
        assert found == _told(bounds, rows)
        left = found.repeats + found.beyond_groups + found.beyond_events
        assert left + len(bounds.apply(rows)) == len(rows)
        lost += left
    assert lost or (not per_user and not ids and not all(distinct))
