"""Beyond 1,024 maximal sets of alarms the filter still grants what keeping every row grants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from accountant.budget.filter import EventFilter
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.regions.groupings import Grouping, cells_key
from accountant.regions.regions import Region, ValueSet
from accountant.regions.shapes import Shape, row_classes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.random import Generator
    from numpy.typing import NDArray

NAMES = [f"a{number:02}" for number in range(12)]
HOURS = 5
WALL = 12_000


@dataclass(frozen=True)
class Alarm:
    """It asks for one value each of two attributes of two values, and groups by a third."""

    name: str
    where: Mapping[str, int]
    by: str
    size: int
    worst: int

    @cached_property
    def shape(self) -> Shape:
        """What the ledger is told of it."""
        domain = (ValueSet.integers(0), ValueSet.integers(1))
        grouping = Grouping(f"by {self.by}", (self.by,), (domain,))
        asked = {name: ValueSet.integers(value) for name, value in self.where.items()}
        region = Region.of({self.by: ValueSet.integers(0, 1), **asked})
        return Shape(region.canonical, grouping.text)

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which of all rows it counts, one axis an attribute."""
        rows = np.ones((2,) * len(NAMES), dtype=np.bool_)
        for name, value in self.where.items():
            rows &= along(name, np.arange(2) == value)
        return rows


def along(name: str, values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Turn one attribute's values into its axis."""
    return values.reshape([-1 if each == name else 1 for each in NAMES])


def drawn(rng: Generator) -> list[Alarm]:
    """Draw 60 alarms on hours, and on two or four hours that slide by one."""
    found = []
    for number in range(60):
        one, two, by = rng.choice(NAMES, 3, replace=False).tolist()
        where = {each: int(rng.integers(2)) for each in (one, two)}
        size, worst = int(rng.choice([1, 2, 4])), int(rng.integers(2, 9)) * 500
        found.append(Alarm(f"alarm-{number:02}", where, by, size, worst))
    return found


def test_the_filter_grants_what_keeping_every_row_grants():
    """Each window ends at once at costs of a few levels; some are refused, the same ones."""
    rng = np.random.default_rng(5)
    alarms = {alarm.name: alarm for alarm in drawn(rng)}
    among = frozenset(alarm.shape for alarm in alarms.values())
    assert row_classes(among) is None
    keys = [
        WindowKey(start + alarm.size, alarm.name, start)
        for alarm in alarms.values()
        for start in range(HOURS)
    ]
    losses = np.zeros((HOURS + 4, *((2,) * len(NAMES))), dtype=np.int64)
    judge, granted = EventFilter(WALL, [], lambda: among), 0
    for key in sorted(keys):
        alarm, span = alarms[key.query], slice(key.start_ms, key.end_ms)
        fits = losses[span].max(where=alarm.inside, initial=0) + alarm.worst <= WALL
        answer = judge.answer(Charge(key, UniformCost(alarm.worst, 2), 1), alarm.shape)
        assert (answer is Answer.RESERVED) == fits, key
        granted += int(fits)
        if fits:
            costs = alarm.worst >> rng.integers(0, 5, 2)
            losses[span] += np.where(alarm.inside, along(alarm.by, costs), 0)
            levels = LevelCosts.of(costs)
            held = Held(
                *(key.start_ms, key.end_ms, levels.worst_units, alarm.shape),
                cells=f"2 {cells_key(alarm.shape.grouping)}",
                costs=levels.encode() if len(levels.levels) > 1 else None,
            )
            judge.hold(Standing(held, open=False))
    assert 0 < granted < len(keys)
