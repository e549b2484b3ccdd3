"""Walks of many windows at once, each over the levels of its own channels.

A window chooses its next channel and level by what was read of that window alone; windows that
choose alike are read together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accountant.costs.levels import MOST_LEVELS
from accountant.units import from_loss_units
from operators.formulas.treewalk import rounded_costs, still_open
from operators.noise.likely import expected_count, likely_inside, likely_inside_afresh
from operators.single.adapter import check_statistics
from operators.single.batched import Decisions, steps_of_many

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.conditions.condition import Condition
    from operators.formulas.treewalk import Scale
    from operators.noise.source import NoiseSource

__all__ = ["Walks"]


class Walks:
    """Many windows under way: what has been read of every channel, and what that decides.

    Nothing here is released but the decisions, whose costs are of what was read.

    Args:
        condition: when a cell should ring.
        scales: one per channel of the condition.
        statistics: shape (windows, statistics, cells), int64.
        noise: the cryptographic source.

    Raises:
        ValueError: statistics of another shape or type.
    """

    def __init__(
        self,
        condition: Condition,
        scales: tuple[Scale, ...],
        statistics: NDArray[np.int64],
        noise: NoiseSource,
    ) -> None:
        check_statistics(condition, statistics[0])
        self._shape = (len(statistics), condition.cells)
        self._formula = condition.formula
        self._scales = scales
        self._noise = noise
        self._steps = [steps_of_many(scale.share.channel, statistics) for scale in scales]
        self._drawn: list[NDArray[np.int64] | None] = [None for _ in scales]
        self._seen = [np.zeros(self._shape, dtype=np.int64) for _ in scales]
        self._levels = np.full((len(scales), len(statistics)), -1, dtype=np.intp)
        self._stopped = np.full((len(scales), *self._shape), -1, dtype=np.int8)
        literals = self._formula.literals
        self._sure = {one: np.zeros(self._shape, dtype=np.bool_) for one in literals}
        self._possible = {one: np.ones(self._shape, dtype=np.bool_) for one in literals}
        self._open = still_open(self._formula, self._sure, self._possible)

    def levels(self, at: int) -> NDArray[np.intp]:
        """Return the finest level read of a channel in every window, -1 before the first."""
        return np.asarray(self._levels[at])

    def needed(self, at: int, windows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return, shape (windows, cells), where a channel's open literals can change the answer.

        All of these have read the channel's present level: a cell that no longer needs a channel
        never needs it again.
        """
        wanted = [self._open[each.literal][windows] for each in self._scales[at].share.readings]
        return np.asarray(np.logical_or.reduce(wanted))

    def waiting(self, at: int) -> NDArray[np.intp]:
        """Return the windows that need a channel in any cell."""
        return np.flatnonzero(self.needed(at, np.arange(self._shape[0])).any(axis=1))

    def read(self, at: int, level: int, windows: NDArray[np.intp]) -> None:
        """Read a finer level of a channel in the cells of some windows that need it.

        Args:
            at: which channel.
            level: beyond the present one of each of them.
            windows: which.
        """
        scale = self._scales[at]
        rows, cells = np.nonzero(self.needed(at, windows))
        rows = windows[rows]
        values = self._steps[at][rows, cells] + self._noise_at(at, level, rows, cells)
        self._seen[at][rows, cells] = values
        self._stopped[at, rows, cells] = level
        self._levels[at, windows] = level
        for reading, rungs in zip(scale.share.readings, scale.rungs, strict=True):
            rings, lost = rungs.decided(level, reading.own(values, cells), self._noise)
            sure, possible = self._sure[reading.literal], self._possible[reading.literal]
            undecided = possible[rows, cells] & ~sure[rows, cells]
            sure[rows, cells] |= undecided & rings
            possible[rows, cells] &= ~(undecided & lost)
        opened = still_open(
            self._formula,
            {one: sure[windows] for one, sure in self._sure.items()},
            {one: possible[windows] for one, possible in self._possible.items()},
        )
        for one, still in opened.items():
            self._open[one][windows] = still

    def open_cells(self, at: int, literal: int, windows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return in how many cells a literal is open and matters, shape (windows,)."""
        name = self._scales[at].share.readings[literal].literal
        return np.asarray(np.count_nonzero(self._open[name][windows], axis=1))

    def likely_open(
        self, at: int, literal: int, candidate: int, windows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return in how many cells a literal is expected to be open at a finer level.

        Args:
            at: which channel.
            literal: which of its literals.
            candidate: a level beyond the present one.
            windows: which, all at one level; shape (windows,), as the answer.
        """
        return expected_count(self._likely_inside(at, literal, candidate, windows))

    def likely_undecided(
        self, at: int, candidate: int, windows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return how many of the cells that need a channel are expected to at a finer level.

        Args:
            at: which channel.
            candidate: a level beyond the present one.
            windows: which, all at one level; shape (windows,), as the answer.
        """
        left = np.zeros((windows.size, self._shape[1]))
        for literal in range(len(self._scales[at].share.readings)):
            left += self._likely_inside(at, literal, candidate, windows)
        return expected_count(np.minimum(left, 1))

    def counts(self, at: int, windows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return how many cells are done with a channel, by the level last read of it.

        Returns:
            Shape (windows, levels + 1): first those that never read it.
        """
        size = len(self._scales[at].units) + 1
        rows, cells = np.nonzero(~self.needed(at, windows))
        entries = rows * size + self._stopped[at, windows[rows], cells] + 1
        return np.bincount(entries, minlength=windows.size * size).reshape(-1, size)

    def tally(
        self, at: int, literal: int, windows: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return in how many cells a literal was read, decided true, and decided false.

        Of the true ones those whose condition would now ring, of the false ones those whose
        condition would not; each of shape (windows,).
        """
        name = self._scales[at].share.readings[literal].literal
        possible = {one: each[windows] for one, each in self._possible.items()}
        ringing = self._formula.evaluate_literals(possible)
        return (
            np.count_nonzero(self._stopped[at, windows] >= 0, axis=1),
            np.count_nonzero(self._sure[name][windows] & ringing, axis=1),
            np.count_nonzero(~possible[name] & ~ringing, axis=1),
        )

    def decisions(self) -> Decisions:
        """Return the answers and what each cell has paid."""
        units = np.zeros(self._shape, dtype=np.int64)
        for scale, stopped in zip(self._scales, self._stopped, strict=True):
            units += np.array((*scale.charges, 0), dtype=np.int64)[stopped]  # never read: the last
        worst = sum(scale.charges[-1] for scale in self._scales)
        if np.unique(units).size > MOST_LEVELS:  # else no window has more than it may
            units = np.stack([rounded_costs(each, worst) for each in units])
        return Decisions(self._formula.evaluate_literals(self._possible), units)

    def _noise_at(
        self, at: int, level: int, rows: NDArray[np.intp], cells: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """Return the noise of one level of a channel in some cells of some windows."""
        scale, drawn = self._scales[at], self._drawn[at]
        if scale.chain is None:
            return self._noise.discrete_laplace(from_loss_units(scale.units[level]), rows.size)
        if drawn is None:
            flat = scale.chain.draw(self._noise, self._steps[at].size)
            drawn = self._drawn[at] = flat.reshape(-1, *self._shape)
        return np.asarray(drawn[level, rows, cells])

    def _likely_inside(
        self, at: int, literal: int, candidate: int, windows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the chance that an open literal stays so, 0 where none is."""
        scale = self._scales[at]
        likely = np.zeros((windows.size, self._shape[1]))
        if candidate == scale.last or not windows.size:
            return likely
        reading, rungs = scale.share.readings[literal], scale.rungs[literal]
        coarse, fine = scale.rate(int(self._levels[at, windows[0]])), scale.rate(candidate)
        rows, cells = np.nonzero(self._open[reading.literal][windows])
        own = reading.own(self._seen[at][windows[rows], cells], cells)
        low, high = -rungs.low[candidate], rungs.high[candidate]
        inside = likely_inside_afresh if scale.chain is None else likely_inside
        likely[rows, cells] = inside(coarse, fine, low, high, own)
        return likely
