"""Walks over the noise levels of several channels, cell by cell, until the formula is settled.

Every channel has levels, every literal boundaries on those of its channel. A cell's literal is open
until a level decides it; a channel is read on, in a cell, only while an open literal of its own can
still change the answer there. What is open in the end counts as true. Whatever walk is taken, a
miss needs a passed boundary, and a cell loses what it read. The proof is in
``docs/proofs/probe.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.levels import MOST_LEVELS, LevelCosts
from accountant.units import UNITS_PER_EPSILON, from_loss_units
from operators.base import Decision
from operators.noise.likely import expected_count, likely_inside, likely_inside_afresh
from operators.single.adapter import check_statistics
from operators.single.ladder import Ladder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.condition import Condition
    from operators.conditions.formula import Formula
    from operators.conditions.syntax import Node
    from operators.formulas.literals import Reading, Share
    from operators.noise.boundaries import Cut
    from operators.noise.gradual import GradualNoise
    from operators.noise.source import NoiseSource

__all__ = ["Rungs", "Scale", "Walk", "rounded_costs", "still_open"]

_ONE: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class Rungs:
    """Where a literal is decided, per level, in its own noisy step count x.

    False where ``x < -low``, true where ``x >= high``, else open. At the last level true where
    ``x > -low``, at the tie ``x = -low`` unless the coin says drop.

    Args:
        low: whole steps, >= 0, per level.
        high: whole steps, per level; not used at the last one.
        coin: probability of dropping at the tie, in units of 2^-64.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    coin: int

    @classmethod
    def of(cls, ladder: Ladder) -> Rungs:
        """Return the boundaries of a ladder."""
        # finest_cut made the coin whole in these units, below one.
        return cls(ladder.low, ladder.high, int(ladder.below.drop * _ONE))

    def decided(
        self, level: int, own: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where a level decides the literal true and where false, both of shape (cells,).

        Args:
            level: the one that was read.
            own: the literal's noisy step counts there, shape (cells,).
            noise: of the coins, which the last level tosses.
        """
        low, high = -self.low[level], self.high[level]
        if level < len(self.low) - 1:
            return own >= high, own < low
        drops = noise.bernoulli(np.full(own.size, self.coin, dtype=np.uint64))
        rings = (own > low) | ((own == low) & ~drops)
        return rings, ~rings


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The levels of one channel, what each costs, and the boundaries of its literals.

    Args:
        share: the channel and its literals.
        units: rate of every level in loss units.
        charges: what a cell has lost whose last level read is this one, strictly rising.
        rungs: one entry per literal of the share.
        chain: the noise, one chain over all levels; ``None`` draws every level afresh.
        first: per literal, what the first level may err: with a chain, as much as all of them.
    """

    share: Share
    units: tuple[int, ...]
    charges: tuple[int, ...]
    rungs: tuple[Rungs, ...]
    chain: GradualNoise | None
    first: tuple[Reading, ...]

    @classmethod
    def gradual(
        cls,
        share: Share,
        units: tuple[int, ...],
        shape: tuple[Fraction, ...],
        cuts: tuple[Cut, ...],
    ) -> Scale:
        """Choose every literal's boundaries on the levels of one gradual release.

        Args:
            share: the channel and its literals.
            units: the levels in loss units, strictly rising.
            shape: weight of every level in the error bounds; they add up to 1.
            cuts: per literal, that of the last level, within its part.
        """
        ladders = [
            Ladder.fitted(units, each.steps, each.alpha, each.beta, shape=shape, cut=cut)
            for each, cut in zip(share.readings, cuts, strict=True)
        ]
        return cls(
            share=share,
            units=units,
            charges=units,
            rungs=tuple(map(Rungs.of, ladders)),
            chain=ladders[0].chain,
            first=share.readings,
        )

    @property
    def last(self) -> int:
        """Index of the last level."""
        return len(self.units) - 1

    def rate(self, level: int) -> float:
        """Return the rate of a level, as a float."""
        return self.units[level] / UNITS_PER_EPSILON


class Walk:
    """One window under way: what has been read of every channel, and what that decides.

    Nothing here is released but the final decision, whose cost is of what was read.

    Args:
        condition: when a cell should ring.
        scales: one per channel of the condition.
        statistics: shape (statistics, cells), int64.
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
        check_statistics(condition, statistics)
        cells = condition.cells
        self._formula = condition.formula
        self._scales = scales
        self._noise = noise
        self._steps = [scale.share.channel.steps(statistics) for scale in scales]
        self._drawn: list[NDArray[np.int64] | None] = [None for _ in scales]
        self._seen = [np.zeros(cells, dtype=np.int64) for _ in scales]
        self._levels = [-1 for _ in scales]
        self._stopped = np.full((len(scales), cells), -1, dtype=np.int8)
        self._sure = {one: np.zeros(cells, dtype=np.bool_) for one in self._formula.literals}
        self._possible = {one: np.ones(cells, dtype=np.bool_) for one in self._formula.literals}
        self._open = still_open(self._formula, self._sure, self._possible)

    def level(self, at: int) -> int:
        """Return the finest level read of a channel, -1 before the first."""
        return self._levels[at]

    def needed(self, at: int) -> NDArray[np.intp]:
        """Return the cells whose answer a channel's open literals can still change.

        All of them have read the channel's present level, for a cell that no longer needs a channel
        never needs it again.
        """
        wanted = [self._open[each.literal] for each in self._scales[at].share.readings]
        return np.flatnonzero(np.logical_or.reduce(wanted))

    def read(self, at: int, level: int) -> None:
        """Read a finer level of a channel in the cells that need it.

        Args:
            at: which channel.
            level: beyond the present one.
        """
        scale, cells = self._scales[at], self.needed(at)
        values = self._values(at, level, cells)
        self._seen[at][cells] = values
        self._stopped[at, cells] = level
        self._levels[at] = level
        for reading, rungs in zip(scale.share.readings, scale.rungs, strict=True):
            sure, possible = self._sure[reading.literal], self._possible[reading.literal]
            rings, lost = rungs.decided(level, reading.own(values, cells), self._noise)
            undecided = possible[cells] & ~sure[cells]
            sure[cells[undecided & rings]] = True
            possible[cells[undecided & lost]] = False
        self._open = still_open(self._formula, self._sure, self._possible)

    def open_cells(self, at: int, literal: int) -> int:
        """Return in how many cells a literal is open and matters.

        Args:
            at: which channel, read before.
            literal: which of its literals.
        """
        name = self._scales[at].share.readings[literal].literal
        return int(np.count_nonzero(self._open[name]))

    def likely_open(self, at: int, literal: int, candidate: int) -> float:
        """Return in how many cells a literal is expected to be open at a finer level.

        Args:
            at: which channel, read before.
            literal: which of its literals.
            candidate: a level beyond the present one.
        """
        return float(expected_count(self._likely_inside(at, literal, candidate, self.needed(at))))

    def likely_undecided(self, at: int, candidate: int) -> float:
        """Return how many of the cells that need a channel are expected to at a finer level.

        Args:
            at: which channel, read before.
            candidate: a level beyond the present one.
        """
        cells = self.needed(at)
        left = np.zeros(cells.size)
        for literal in range(len(self._scales[at].share.readings)):
            left += self._likely_inside(at, literal, candidate, cells)
        return float(expected_count(np.minimum(left, 1)))

    def counts(self, at: int) -> NDArray[np.int64]:
        """Return how many cells are done with a channel, by the level last read of it.

        Returns:
            Shape (levels + 1,): first those that never read it.
        """
        done = np.ones(self._seen[at].size, dtype=np.bool_)
        done[self.needed(at)] = False
        levels = self._stopped[at, done] + 1
        return np.bincount(levels, minlength=len(self._scales[at].units) + 1).astype(np.int64)

    def tally(self, at: int, literal: int) -> tuple[int, int, int]:
        """Return in how many cells a literal was read, decided true, and decided false.

        Of the true ones those whose condition would now ring, of the false ones those whose
        condition would not.

        Args:
            at: which channel.
            literal: which of its literals.
        """
        name = self._scales[at].share.readings[literal].literal
        ringing = self.fired()
        true = np.count_nonzero(self._sure[name] & ringing)
        false = np.count_nonzero(~self._possible[name] & ~ringing)
        return int(np.count_nonzero(self._stopped[at] >= 0)), int(true), int(false)

    def fired(self) -> NDArray[np.bool_]:
        """Return which cells would ring now, shape (cells,): what is open counts as true."""
        return self._formula.evaluate_literals(self._possible)

    def decision(self) -> Decision:
        """Return the answers and what each cell has paid."""
        costs = np.zeros(self._stopped.shape[1], dtype=np.int64)
        for scale, stopped in zip(self._scales, self._stopped, strict=True):
            costs += np.array((*scale.charges, 0), dtype=np.int64)[stopped]  # never read: the last
        worst = sum(scale.charges[-1] for scale in self._scales)
        return Decision(fired=self.fired(), cost=LevelCosts.of(rounded_costs(costs, worst)))

    def _likely_inside(
        self, at: int, literal: int, candidate: int, cells: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        scale = self._scales[at]
        if candidate == scale.last:
            return np.zeros(cells.size)
        reading, rungs = scale.share.readings[literal], scale.rungs[literal]
        coarse, fine = scale.rate(self._levels[at]), scale.rate(candidate)
        low, high = -rungs.low[candidate], rungs.high[candidate]
        own = reading.own(self._seen[at][cells], cells)
        likely = likely_inside_afresh if scale.chain is None else likely_inside
        inside = likely(coarse, fine, low, high, own)
        return np.where(self._open[reading.literal][cells], inside, 0.0)

    def _values(self, at: int, level: int, cells: NDArray[np.intp]) -> NDArray[np.int64]:
        scale = self._scales[at]
        values = self._steps[at][cells]
        if scale.chain is None:
            return values + self._noise.discrete_laplace(
                from_loss_units(scale.units[level]), cells.size
            )
        chains = self._drawn[at]
        if chains is None:
            chains = self._drawn[at] = scale.chain.draw(self._noise, self._steps[at].size)
        values += chains[level, cells]
        return values


def still_open(
    formula: Formula,
    sure: Mapping[str, NDArray[np.bool_]],
    possible: Mapping[str, NDArray[np.bool_]],
) -> dict[str, NDArray[np.bool_]]:
    """Return, per literal, in which cells it is open and can still change the answer.

    Exact where every literal is written once; where one is written more often, a literal may be
    kept open that absorption would settle, never the other way round.

    Args:
        formula: the condition.
        sure: per literal, shape (cells,): decided true.
        possible: per literal, shape (cells,): not decided false.

    Returns:
        Shape (cells,) per literal of the formula.

    Source: ProBE, Algorithm 2 line 12 (skipping in conjunctions) and Example 5.1, for every
    operator and cell by cell.
    """
    marks = {one: np.zeros_like(sure[one]) for one in formula.literals}
    known = _known(formula.monotone, sure, possible)
    _mark(known, np.ones_like(known.possible), marks)
    return marks


def rounded_costs(costs: NDArray[np.int64], worst: int) -> NDArray[np.int64]:
    """Round losses up, if need be, to no more different ones than one window can store.

    Args:
        costs: loss units per cell, shape (cells,).
        worst: no loss is above this, nor is a rounded one.
    """
    rounded, step = costs, 1
    while np.unique(rounded).size > MOST_LEVELS:
        step *= 16
        rounded = np.minimum(-(-costs // step) * step, worst)
    return rounded


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A node of the formula with NOT pushed down, and what is known of it in every cell."""

    sure: NDArray[np.bool_]
    possible: NDArray[np.bool_]
    literal: str = ""
    conjunction: bool = False
    parts: tuple[_Known, ...] = ()


def _known(
    node: Node, sure: Mapping[str, NDArray[np.bool_]], possible: Mapping[str, NDArray[np.bool_]]
) -> _Known:
    if node.kind == "leaf":
        return _Known(sure[node.name], possible[node.name], node.name)
    conjunction = node.kind == "and"
    parts = tuple(_known(part, sure, possible) for part in node.parts)
    combine = np.logical_and.reduce if conjunction else np.logical_or.reduce
    return _Known(
        sure=combine([part.sure for part in parts]),
        possible=combine([part.possible for part in parts]),
        conjunction=conjunction,
        parts=parts,
    )


def _mark(known: _Known, reach: NDArray[np.bool_], marks: Mapping[str, NDArray[np.bool_]]) -> None:
    """Mark open leaves under which the answer, and every node on the way to it, is undecided."""
    if known.literal:
        marks[known.literal][reach & known.possible & ~known.sure] = True
        return
    # A false operand settles a conjunction, a true one a disjunction, whatever the others are.
    reach = reach & (known.possible if known.conjunction else ~known.sure)
    for part in known.parts:
        _mark(part, reach, marks)
