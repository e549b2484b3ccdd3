"""Walks over the noise levels of several channels, cell by cell, until the formula is settled.

Every channel has levels, every literal boundaries on those of its channel. A cell's literal is open
until a level decides it; a channel is read on, in a cell, only while an open literal of its own can
still change the answer there. What is open in the end counts as true. Whatever walk is taken, a
miss needs a passed boundary, and a cell loses what it read. The proof is in
``docs/research/proofs/probe.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.costs.levels import MOST_LEVELS
from accountant.units import UNITS_PER_EPSILON
from operators.conditions.primes import conjoined, disjoined
from operators.conditions.syntax import fold
from operators.single.ladder import Ladder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from operators.conditions.formula import Formula
    from operators.conditions.syntax import Node
    from operators.formulas.literals import Reading, Share
    from operators.noise.boundaries import Cut
    from operators.noise.gradual import GradualNoise
    from operators.noise.source import NoiseSource

__all__ = ["Rungs", "Scale", "rounded_costs", "still_open"]

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

    def mark(node: Node, reach: NDArray[np.bool_]) -> None:
        # Below a node that is settled nothing matters, whatever its parts are.
        settled, hopeful = (
            fold(node, known.__getitem__, conjoined, disjoined) for known in (sure, possible)
        )
        reach = reach & hopeful & ~settled
        if node.kind == "leaf":
            marks[node.name][reach] = True
        for part in node.parts:
            mark(part, reach)

    mark(formula.monotone, np.ones_like(possible[formula.literals[0]]))
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
