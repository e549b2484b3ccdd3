"""Draws of an alarm with a hold: all its windows in their order, as it holds by what it fired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.levels import level_costs
from operators.single.held import decide_asked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from accountant.costs.levels import LevelCosts
    from operators.base import Operator
    from operators.noise.source import NoiseSource
    from stream.model.alarm import Alarm
    from stream.simulation.history import CountedAlarm

__all__ = ["Holding", "holds_since"]


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    """One draw of all windows of an alarm.

    Args:
        since: shape (windows,): the first window whose alarms hold this one; itself without a hold.
        fired: shape (windows, cells), bool: who fired so far.
    """

    since: NDArray[np.intp]
    fired: NDArray[np.bool_]

    @classmethod
    def of(cls, since: NDArray[np.intp] | None, windows: int, cells: int) -> Holding:
        """Return a draw in which nobody has fired yet.

        Args:
            since: as ``holds_since``; ``None`` without a hold.
            windows: how many.
            cells: of each.
        """
        found = np.arange(windows) if since is None else since
        return cls(found, np.zeros((windows, cells), dtype=np.bool_))

    def at(self, window: int) -> NDArray[np.bool_]:
        """Return who is held in a window, once all before it are drawn."""
        return np.asarray(self.fired[self.since[window] : window].any(axis=0))

    def ask(
        self, window: int, operator: Operator, statistics: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[NDArray[np.bool_], LevelCosts]:
        """Decide a window by itself, once all before it are drawn.

        Args:
            window: its number.
            operator: of the alarm.
            statistics: shape (statistics, cells), int64.
            noise: the cryptographic source.

        Returns:
            Who was held, and what each cell lost.
        """
        held = self.at(window)
        decided = decide_asked(operator, statistics, held, noise)
        self.fired[window] = decided.fired
        return held, level_costs(decided.cost)


def holds_since(alarm: Alarm, counted: CountedAlarm) -> NDArray[np.intp]:
    """Return, for every window, the first one whose alarms hold it.

    Args:
        alarm: the alarm, with a hold.
        counted: its windows.
    """
    numbers = alarm.calendar.containing(counted.starts_ms[:: counted.looks])[1]
    ends = np.array([alarm.calendar.bounds(int(number))[1] for number in numbers], np.int64)
    return np.searchsorted(ends, ends - alarm.hold_ms)
