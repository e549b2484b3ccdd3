"""The budgets of a file in one simulated replay: which windows they grant, as a ledger would.

The real filter (:mod:`accountant.budget.filter`) answers every window in the order of admission. A
replay ends each window before it asks for the next, so no answer waits for anything, and what a
window did not cost is there for the next one: ``docs/research/proofs/filter.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, WindowKey
from accountant.costs.levels import LevelCosts
from accountant.loss.overlap import Held
from accountant.records import Answer
from accountant.regions.groupings import cells_key
from accountant.regions.shapes import ANYWHERE
from accountant.units import PrivacyUnit
from stream.decisions.registration import charge_of, fresh_filter, shape_of
from stream.model.alarms import has_runs, scope_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from accountant.costs.charges import CellCosts
    from accountant.regions.shapes import Shape
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["Asking", "Budgets", "in_order", "keys_at"]


@dataclass(frozen=True, eq=False)
class Asking:
    """What one alarm, or the panes of some, asks its budget for.

    Args:
        alarm: the alarm.
        alarms: its file.
        keys: its windows, or steps of windows, in order.
        units: what a cell costs at worst, in loss units.
    """

    alarm: Alarm
    alarms: Alarms
    keys: Sequence[WindowKey]
    units: int

    @cached_property
    def scope(self) -> str:
        """The budget's name."""
        return scope_of(self.alarm, self.alarms)

    @cached_property
    def in_runs(self) -> bool:
        """Whether windows are charged as parts of SVT runs."""
        return has_runs(self.alarm, self.alarms.budget)

    @cached_property
    def charges(self) -> tuple[Charge, ...]:
        """What every window costs at worst."""
        alarm, budget = self.alarm, self.alarms.budget
        return tuple(charge_of(alarm, budget, key, self.units) for key in self.keys)

    @cached_property
    def goes_on(self) -> tuple[bool, ...]:
        """Per window, whether it is a later step of one: denied where the step before it is."""
        calendar = self.alarm.calendar
        numbers = (calendar.first_starting_at(key.start_ms) for key in self.keys)
        return tuple(calendar.counted(at) != calendar.bounds(at) for at in numbers)

    @cached_property
    def covers(self) -> tuple[Shape, str]:
        """Which rows its cells cover, and what those cells are."""
        if self.alarms.budget.unit is PrivacyUnit.USER:
            return ANYWHERE, ""
        shape, cells = shape_of(self.alarm), len(self.alarm.domain)
        known = cells_key(shape.grouping) or f"{self.alarm.id} {self.alarm.fingerprint}"
        return shape, f"{cells} {known}"


class Budgets:
    """What the budgets hold so far; every replay begins with new ones.

    Args:
        asking: all that ask.
    """

    def __init__(self, asking: Iterable[Asking]) -> None:
        scopes: dict[str, list[Asking]] = {}
        for one in asking:
            scopes.setdefault(one.scope, []).append(one)
        self._filters = {
            scope: fresh_filter(some[0].alarms.budget, [one.alarm for one in some])
            for scope, some in scopes.items()
        }

    def grant(self, one: Asking, charge: Charge) -> bool:
        """Return whether a window is granted; those before it have ended."""
        return self._filters[one.scope].answer(charge, one.covers[0]) is Answer.RESERVED

    def settle(self, one: Asking, charge: Charge, cost: CellCosts) -> None:
        """Count what a window that was granted cost; of an SVT run the rest stays its own."""
        units, costs = cost.largest_sum_units(charge.cells_per_unit), None
        shape, cells = one.covers
        if cells and isinstance(cost, LevelCosts) and len(cost.levels) > 1:
            costs = cost.encode()
        held = Held(charge.key.start_ms, charge.key.end_ms, units, shape, cells, costs)
        left = charge.loss_units - units if one.in_runs else None
        standing = Standing(held, False, charge.periods, one.alarm.id, left, charge.cap)
        self._filters[one.scope].hold(standing)


def in_order(asking: Iterable[Asking]) -> list[tuple[str, int]]:
    """Return all windows in the order in which they are admitted, each as alarm and number."""
    every = ((key, at) for one in asking for at, key in enumerate(one.keys))
    return [(key.query, at) for key, at in sorted(every)]


def keys_at(alarm: Alarm, starts_ms: NDArray[np.int64]) -> tuple[WindowKey, ...]:
    """Return the windows, or steps, of an alarm that start at some instants."""
    calendar = alarm.calendar
    bounds = (calendar.bounds(calendar.first_starting_at(at)) for at in starts_ms.tolist())
    return tuple(WindowKey(end_ms, alarm.id, start_ms) for start_ms, end_ms in bounds)
