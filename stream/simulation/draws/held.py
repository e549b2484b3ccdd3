"""Draws of an alarm with a hold: all its windows in their order, as it holds by what it fired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.levels import level_costs
from operators.single.held import decide_asked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Operator
    from operators.noise.source import NoiseSource
    from stream.model.queries import Query
    from stream.simulation.history import CountedAlarm

__all__ = ["Holding", "holds_since"]


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    """One draw of all windows of an alarm.

    Args:
        since: shape (windows,): the first window whose alarms hold this one; itself without a hold.
        fired: shape (windows, draws, cells) or (windows, cells), bool: who fired so far.
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

    def decide(
        self, operator: Operator, statistics: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Decide all windows by themselves.

        Args:
            operator: of the alarm.
            statistics: shape (windows, statistics, cells), int64.
            noise: the cryptographic source.

        Returns:
            Who was held, and what each cell lost in loss units, shape (windows, cells).
        """
        held = np.zeros_like(self.fired)
        units = np.zeros(held.shape, dtype=np.int64)
        for window, counted in enumerate(statistics):
            held[window] = self.at(window)
            decided = decide_asked(operator, counted, held[window], noise)
            self.fired[window], units[window] = decided.fired, level_costs(decided.cost).as_array()
        return held, units

    def drop_held(self) -> NDArray[np.bool_]:
        """Forget what held cells fired that were drawn all the same; return who was held."""
        held = np.zeros_like(self.fired)
        for window in range(len(held)):
            held[window] = self.at(window)
            self.fired[window] &= ~held[window]
        return held


def holds_since(query: Query, counted: CountedAlarm) -> NDArray[np.intp]:
    """Return, for every window, the first one whose alarms hold it.

    Args:
        query: the alarm, with a hold.
        counted: its windows.
    """
    numbers = query.calendar.containing(counted.starts_ms[:: counted.looks])[1]
    ends = np.array([query.calendar.bounds(int(number))[1] for number in numbers], np.int64)
    return np.searchsorted(ends, ends - query.hold_ms)
