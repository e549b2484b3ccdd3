"""What came of the draws of one setting; whatever is tallied here is private."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from stream.simulation.draws.adding import Adding
from stream.simulation.draws.delays import Delays
from stream.simulation.draws.spread import Spread
from stream.simulation.draws.truth import may_fire, must_fire

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.conditions.condition import Aim, Condition

__all__ = ["Tally"]


@dataclass(slots=True)
class Tally(Adding):
    """What came of the draws of one setting; tallies add up.

    A cell counts as *true* where its condition holds, as *false* where it does not even hold with
    every literal granted twice its tolerance, else as *uncertain*: there either answer is right.
    Of early alarms, a cell is one of a whole window, and any step at which it held makes it true.

    Args:
        windows: windows of all runs.
        denied: those that a budget denied: what was true of them was missed.
        true: true cells decided.
        missed: those that did not fire.
        unasked: true cells of windows that were denied, or that an SVT run did not answer in full.
        unasked_missed: those that did not fire.
        false: false cells decided.
        false_alarms: those that fired.
        uncertain: uncertain cells decided.
        uncertain_fired: those that fired.
        losses: cells by realised loss, in loss units.
        highest: windows by the loss of the highest-cost cells one unit reaches, in loss units.
        missed_spread: of misses over runs, where windows share any.
        false_spread: of false alarms, likewise.
        delays: of early alarms, how long after their condition first held they fired.
        severities: of every severity level by its name, what came of it and the higher ones.
    """

    windows: int = 0
    denied: int = 0
    true: int = 0
    missed: int = 0
    unasked: int = 0
    unasked_missed: int = 0
    false: int = 0
    false_alarms: int = 0
    uncertain: int = 0
    uncertain_fired: int = 0
    losses: Counter[int] = field(default_factory=Counter)
    highest: Counter[int] = field(default_factory=Counter)
    missed_spread: Spread = field(default_factory=Spread)
    false_spread: Spread = field(default_factory=Spread)
    delays: Delays = field(default_factory=Delays)
    severities: dict[str, Tally] = field(default_factory=dict)

    def count(
        self,
        fired: NDArray[np.bool_],
        *,
        true: NDArray[np.bool_],
        granted: NDArray[np.bool_],
        held: NDArray[np.bool_] | None = None,
    ) -> None:
        """Count the decisions of one window, or of several.

        Args:
            fired: shape (cells,) or (windows, cells), which cells fired.
            true: the same shape, which cells' condition holds.
            granted: the same shape, as ``may_fire``.
            held: the same shape, which cells were not asked: none of them counts.
        """
        asked = np.ones_like(fired) if held is None else ~held
        true, granted = true & asked, granted & asked
        false = ~(granted | true) & asked
        uncertain = granted & ~true
        self.windows += fired.size // fired.shape[-1]
        self.true += int(np.count_nonzero(true))
        self.missed += int(np.count_nonzero(true & ~fired))
        self.false += int(np.count_nonzero(false))
        self.false_alarms += int(np.count_nonzero(false & fired))
        self.uncertain += int(np.count_nonzero(uncertain))
        self.uncertain_fired += int(np.count_nonzero(uncertain & fired))

    def count_severities(
        self,
        reached: NDArray[np.int64],
        condition: Condition,
        aim: Aim,
        statistics: NDArray[np.int64],
    ) -> None:
        """Count the decisions of windows level by level; nothing of an alarm without levels.

        Args:
            reached: shape (windows, cells), how many levels fired.
            condition: of the alarm.
            aim: whose levels these are.
            statistics: shape (statistics, windows, cells), int64.
        """
        for number, level in enumerate(aim.severities):
            asked = level.condition(condition), level.aim(aim), statistics
            true, granted = must_fire(*asked), may_fire(*asked)
            before = self.severities.setdefault(level.name, Tally())
            before.count(reached > number, true=true, granted=granted)

    def leave(self, fired: NDArray[np.bool_], *, true: NDArray[np.bool_]) -> None:
        """Count the true cells of windows, counted before, that were not all asked.

        Args:
            fired: shape (cells,) or (windows, cells), which cells fired.
            true: the same shape, which cells' condition holds.
        """
        self.unasked += int(np.count_nonzero(true))
        self.unasked_missed += int(np.count_nonzero(true & ~fired))

    def deny(
        self, denied: NDArray[np.bool_], fired: NDArray[np.bool_], true: NDArray[np.bool_]
    ) -> None:
        """Count windows, counted before, that a budget denied.

        Args:
            denied: shape (windows,), which.
            fired: shape (windows, cells), which cells fired (at an earlier step, or asked again).
            true: the same shape, which cells' condition holds, of those that are not held.
        """
        self.denied += int(np.count_nonzero(denied))
        self.leave(fired[denied], true=true[denied])

    def charge(self, units: NDArray[np.int64], reached: int) -> None:
        """Count the realised losses of some windows.

        Args:
            units: shape (windows, cells), in loss units.
            reached: cells that one privacy unit reaches.
        """
        cells = units.shape[1]
        reached = min(reached, cells)
        highest = np.partition(units, cells - reached, axis=1)[:, cells - reached :].sum(axis=1)
        self.highest.update(highest.tolist())
        levels, counts = np.unique(units, return_counts=True)
        self.losses.update(dict(zip(levels.tolist(), counts.tolist(), strict=True)))

    def charge_shared(self, *units: int) -> None:
        """Count losses that all windows and cells of this tally's one draw share."""
        self.losses.update(units)
        self.highest.update(units)

    def spread(self) -> None:
        """Count how misses and false alarms spread: what this tally holds is one draw of all."""
        self.missed_spread.count(self.missed, self.true)
        self.false_spread.count(self.false_alarms, self.false)
