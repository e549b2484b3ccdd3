"""What one privacy unit can reach together of the alarms of a budget.

Every worst case of a plan is the largest of some sums, called *loads*: how many cells (or runs) of
each alarm one privacy unit can reach together, in one period or at one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accountant.regions.shapes import ANYWHERE, Shape, row_classes
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AlarmCost", "Load", "kept_of", "loads_of", "worst_of"]

Load: TypeAlias = tuple[int, ...]
"""Cells (or runs) of each alarm, in order, that one privacy unit can reach together."""


@dataclass(frozen=True, slots=True)
class AlarmCost:
    """One alarm as the planner sees it.

    Args:
        query: its name.
        scope: the budget it draws on.
        epsilon_units: loss of one cell of one window, in loss units; of a whole run where
            ``runs_per_period`` is given.
        limit: the least epsilon any mechanism can pay for the same promise.
        cells_per_unit: cells of one window that one privacy unit reaches.
        overlap: most of its windows that cover one instant.
        windows_per_period: windows that touch a budget period, for every kind of period; the same
            kinds in the same order for all alarms of a budget. ``None`` when there is no end to
            them (``lifetime``), or under unit ``event``.
        runs_per_period: runs that touch a budget period, for the same kinds; ``None`` where every
            window is charged by itself. Then ``cells_per_unit`` is 1.
        shape: which rows its cells cover; for the plan, a region may also say when.
        steady: whether every instant lies in ``overlap`` of its windows.
        windows_cap: in how many of its windows a person counts in a period; ``None`` for all.
        windows: names its windows: alarms of the same name have the same ones.
        share_units: unit ``user``: what it keeps of every period, in loss units.
    """

    query: str
    scope: str
    epsilon_units: int
    limit: float
    cells_per_unit: int = 1
    overlap: int = 1
    windows_per_period: tuple[int, ...] | None = None
    runs_per_period: tuple[int, ...] | None = None
    shape: Shape = ANYWHERE
    steady: bool = True
    windows: str = ""
    share_units: int = 0
    windows_cap: int | None = None

    @property
    def ends(self) -> bool:
        """Whether later windows of a period can cost nothing: those in a run, or beyond a cap."""
        return self.runs_per_period is not None or self.windows_cap is not None

    @property
    def charged_per_period(self) -> tuple[int, ...] | None:
        """What a person pays for in every kind of period: runs, or else windows."""
        if self.runs_per_period is not None:
            return self.runs_per_period
        if self.windows_per_period is None or self.windows_cap is None:
            return self.windows_per_period
        return tuple(min(windows, self.windows_cap) for windows in self.windows_per_period)


def loads_of(unit: PrivacyUnit, alarms: Sequence[AlarmCost]) -> tuple[Load, ...]:
    """Return what one privacy unit can reach together; without end, one window of every alarm.

    No load covers less than the filter can come to hold: under unit ``event`` there is one for
    every class of rows that :func:`accountant.loss.overlap.worst_loss` tells apart, under unit
    ``user`` one for every kind of period.

    Args:
        unit: the budget's privacy unit.
        alarms: all that draw on it.

    Raises:
        ValueError: the alarms know of different kinds of periods.
    """
    if unit is PrivacyUnit.EVENT:
        return _row_loads(alarms)
    counts = [alarm.charged_per_period for alarm in alarms]
    if None in counts:
        return (tuple(alarm.cells_per_unit for alarm in alarms),)
    cells = [alarm.cells_per_unit for alarm in alarms]
    periods = zip(*(count for count in counts if count is not None), strict=True)
    return tuple(
        dict.fromkeys(
            tuple(count * each for count, each in zip(period, cells, strict=True))
            for period in periods
        )
    )


def worst_of(loads: Sequence[Load], units: Sequence[int]) -> int:
    """Return the largest loss of any load, in loss units.

    Args:
        loads: cells of each alarm.
        units: loss of one cell of each alarm, in loss units.
    """
    return max(
        (sum(map(int.__mul__, load, units)) for load in loads),
        default=0,
    )


def kept_of(loads: Sequence[Load], alarms: Sequence[AlarmCost]) -> int:
    """Return the most that any load takes from the wall, shares that are not drawn included.

    Args:
        loads: cells of each alarm.
        alarms: in order.
    """
    return max(
        (
            sum(
                max(cells * alarm.epsilon_units, alarm.share_units)
                for cells, alarm in zip(load, alarms, strict=True)
            )
            for load in loads
        ),
        default=0,
    )


def _row_loads(alarms: Sequence[AlarmCost]) -> tuple[Load, ...]:
    """Return how many windows of each alarm one row can be in: as the filter tells rows apart."""
    shapes = frozenset(alarm.shape for alarm in alarms)
    classes = row_classes(shapes)
    if classes is None:
        # Then the filter adds up whatever meets the window it is asked about.
        regions = {shape: shape.as_region for shape in shapes}
        classes = tuple(
            frozenset(two for two in shapes if regions[two].overlaps(regions[one]))
            for one in sorted(shapes)
        )
    loads = [tuple(a.overlap if a.shape in one else 0 for a in alarms) for one in classes]
    # An alarm that no row can be in adds to no other, but each of its windows has to fit.
    reached = frozenset().union(*classes)
    loads += [
        tuple(int(other is alarm) for other in alarms)
        for alarm in alarms
        if alarm.shape not in reached
    ]
    return tuple(dict.fromkeys(loads))
