"""Ladders: noise levels from coarse to fine, with the boundaries that decide a cell at each.

What progressive mechanisms walk on. The levels are those of one gradual release
(``operators.noise.gradual``); boundaries on the whole grid (``operators.noise.boundaries``) keep
the promise for every walk over it. The proof is in ``docs/research/proofs/progressive.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from accountant.errors import ConfigError
from accountant.units import UNITS_PER_EPSILON, from_loss_units, to_loss_units
from operators.noise.boundaries import Boundaries, Cut, boundaries, finest_cut
from operators.noise.gradual import GradualNoise
from operators.noise.likely import expected_count, likely_inside
from operators.noise.mixtures import Answer, intervals, ring_chance
from operators.search import least
from operators.single.tslm import theoretical_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from operators.conditions.condition import Aim, Condition
    from operators.conditions.levels import LevelGrid
    from operators.noise.source import NoiseSource

    _Following: TypeAlias = Callable[[int, NDArray[np.int64], NDArray[np.int64]], int]

__all__ = ["Grid", "Ladder", "least_rate", "level_definition"]

_FARTHEST: Final = np.int64(1 << 62)  # no noise carries a step count beyond int64 from here
_NARROWEST: Final = 10  # the first level is at most the last one divided by this
_MOST_LEVELS: Final = 64


@dataclass(frozen=True, slots=True)
class Grid:
    """Which levels there are below the last, and how the error bounds are shared among them.

    Args:
        first: rate of the coarsest level (a tenth of the last one's where that is less).
        rounds: m, levels in geometric progression, the first and the last included.
        refinement: m_f, equal parts that every interval between two of them is cut into.
        finest_share: part of ``max_fnr`` and ``max_fpr`` that the last level may use; the others
            share the rest evenly. More of it lowers the worst case, less of it the usual loss.

    Raises:
        ConfigError: a grid without levels or of more than 64, a rate that is not positive, a share
            outside (0, 1).

    Source: MIDE, Algorithm 2 line 3 and Algorithm 4 lines 4 and 5; its parameters are the defaults.
    """

    first: Fraction = Fraction(1, 100_000)
    rounds: int = 4
    refinement: int = 1
    finest_share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.first <= 0 or not 0 < self.finest_share < 1:
            raise ConfigError(
                "levels need a first above 0 and a finest_share between 0 and 1",
                hint="remove them: the defaults are 0.00001 and 0.5",
            )
        if self.rounds < 1 or self.refinement < 1 or self.size > _MOST_LEVELS:
            raise ConfigError(
                f"rounds and refinement do not make 1 to {_MOST_LEVELS} levels",
                hint="remove them: the defaults are 4 and 3",
            )

    @classmethod
    def asked(cls, levels: LevelGrid | None, refinement: int) -> Grid:
        """Return the grid that an aim asks for.

        Args:
            levels: what is said of it.
            refinement: m_f where it does not say.

        Raises:
            ConfigError: as the class.
        """
        written = {} if levels is None else levels.written
        return cls(**{"refinement": refinement, **written})  # type: ignore[arg-type]  # by name

    @property
    def size(self) -> int:
        """Number of levels."""
        return (self.rounds - 1) * self.refinement + 1

    @property
    def shape(self) -> tuple[Fraction, ...]:
        """Weight of every level in the error bounds, coarsest first; they add up to 1."""
        if self.size == 1:
            return (Fraction(1),)
        each = (1 - self.finest_share) / (self.size - 1)
        return (*(each for _ in range(self.size - 1)), self.finest_share)

    def units(self, last: int) -> tuple[int, ...]:
        """Return the levels as whole loss units, strictly rising up to ``last``."""
        first = min(to_loss_units(self.first), max(1, last // _NARROWEST))
        growth = (last / first) ** (1 / max(1, self.rounds - 1))
        corners = [first * growth**j for j in range(self.rounds - 1)]
        inner = [
            round(low + (high - low) * part / self.refinement)
            for low, high in pairwise([*corners, float(last)])
            for part in range(self.refinement)
        ]
        levels = (*inner, last)
        if any(low >= high for low, high in pairwise(levels)) or levels[0] < 1:
            raise ConfigError(
                "the levels differ by less than 1e-12",
                hint="declare a coarser resolution for the summed field, or fewer rounds",
            )
        return levels


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The levels of a progressive mechanism with the boundaries of each, all public.

    At level f a cell with noisy step count ``x = s' + eta_f`` is decided negative where
    ``x < -low[f]``, positive where ``x >= high[f]``, and goes on otherwise. At the last level it
    rings where ``x > -low``, at the tie ``x = -low`` unless the coin says drop.

    Guarantee: for every walk over the levels, even one that is chosen from the noisy values, a cell
    with s' >= 0 is missed with probability at most ``max_fnr`` and one with s' <= -k rings with
    probability at most ``max_fpr``; a cell that stops at level f has lost exactly ``units[f]``.

    Args:
        units: cost of every level in loss units, strictly rising; level f has rate units * 1e-12.
        below: boundaries for misses.
        above: boundaries for false alarms, measured upwards from s' = -k.
        steps: k.
    """

    units: tuple[int, ...]
    below: Boundaries
    above: Boundaries
    steps: int
    chain: GradualNoise = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare the noise."""
        object.__setattr__(self, "chain", GradualNoise(self.below.levels))

    @classmethod
    def planned(cls, steps: int, alpha: Fraction, beta: Fraction, grid: Grid) -> Ladder:
        """Find the least last level that keeps the promise within its share, then the others.

        Args:
            steps: k >= 1, from "must fire" (s' = 0) down to "must not fire" (s' = -k).
            alpha: bound on firing at s' <= -k.
            beta: bound on missing at s' >= 0; alpha + beta < 1.
            grid: the levels to take.

        Raises:
            ConfigError: the levels of the grid would coincide.
        """
        share = grid.shape[-1]
        last, cut = least_rate(steps, alpha * share, beta * share)
        return cls.fitted(grid.units(last), steps, alpha, beta, shape=grid.shape, cut=cut)

    @classmethod
    def fitted(
        cls,
        units: tuple[int, ...],
        steps: int,
        alpha: Fraction,
        beta: Fraction,
        *,
        shape: tuple[Fraction, ...],
        cut: Cut,
    ) -> Ladder:
        """Choose the boundaries on given levels.

        Args:
            units: the levels in loss units, strictly rising, coarsest first.
            steps: k >= 1.
            alpha: bound on firing at s' <= -k.
            beta: bound on missing at s' >= 0; alpha + beta < 1.
            shape: weight of every level in both bounds, coarsest first; they add up to 1.
            cut: that of the last level, within its part of both bounds.

        Raises:
            ValueError: a cut that exceeds its part, or levels that don't rise.
        """
        levels = tuple(from_loss_units(level) for level in units)
        mirrored = Cut(steps - cut.shift, 1 - cut.drop)
        return cls(
            units=units,
            below=_boundaries(levels, beta, shape, cut),
            above=_boundaries(levels, alpha, shape, mirrored),
            steps=steps,
        )

    @property
    def costs(self) -> tuple[float, ...]:
        """Per level, what it costs: epsilon, as a float."""
        return tuple(each / UNITS_PER_EPSILON for each in self.units)

    @property
    def low(self) -> tuple[int, ...]:
        """Per level, how far below zero a cell goes on."""
        return self.below.shifts

    @property
    def high(self) -> tuple[int, ...]:
        """Per level, from where on a cell is decided positive; not used at the last level."""
        return tuple(shift + 1 - self.steps for shift in self.above.shifts)

    def noisy(
        self, steps: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Draw every cell's noisy values on the whole grid, and its coin.

        Never released; a walk reads of them what it pays for.

        Args:
            steps: shape (cells,), int64, the step counts s'.
            noise: the cryptographic source.

        Returns:
            Values, shape (levels, cells), int64, and whether the coin drops, shape (cells,), bool.
        """
        coin = self.below.drop * (1 << 64)  # finest_cut made it whole, below 2^64
        drops = noise.bernoulli(np.full(steps.size, int(coin), dtype=np.uint64))
        values = self.chain.draw(noise, steps.size)
        values += np.clip(steps, -_FARTHEST, _FARTHEST)
        return values, drops

    def walk(
        self, values: NDArray[np.int64], drops: NDArray[np.bool_], following: _Following
    ) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
        """Decide every cell, reading levels from coarse to fine.

        Args:
            values: shape (levels, cells), int64, as from ``noisy``.
            drops: shape (cells,), the coins.
            following: given the level just read, its values for the undecided cells and how many
                cells stopped at each level so far, shape (levels,), returns the next level.

        Returns:
            Which cells ring and the level where each stopped, both of shape (cells,).
        """
        last = len(self.units) - 1
        cells = values.shape[1]
        fired = np.zeros(cells, dtype=np.bool_)
        stopped = np.full(cells, last, dtype=np.uint8)
        counts = np.zeros(last + 1, dtype=np.int64)
        undecided = np.arange(cells)
        level = 0
        while level < last:
            read = values[level, undecided]
            rings = read >= self.high[level]
            settled = rings | (read < -self.low[level])
            fired[undecided[rings]] = True
            stopped[undecided[settled]] = level
            counts[level] = np.count_nonzero(settled)
            undecided = undecided[~settled]
            if not undecided.size:
                return fired, stopped
            level = following(level, read[~settled], counts)
        fired[undecided] = self.rings_at_last(values[last, undecided], drops[undecided])
        return fired, stopped

    def rings_at_last(self, read: NDArray[np.int64], drops: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which cells ring that are undecided up to the last level.

        Args:
            read: their values there.
            drops: their coins, of the same shape.
        """
        low = -self.low[-1]
        return np.where(read == low, ~drops, read > low)

    def chances(
        self, steps: NDArray[np.int64], levels: Sequence[int] | None = None
    ) -> NDArray[np.float64]:
        """Return how likely a cell rings that reads some levels in order.

        Args:
            steps: shape (n,), int64, its step counts s'.
            levels: those it reads while it is undecided, rising, the last one among them; all of
                them by default.
        """
        read = range(len(self.units)) if levels is None else levels
        last = len(self.units) - 1
        drop = float(self.below.drop)

        def answers(at: int, _state: None) -> list[Answer[None]]:
            level = read[at]
            low, high = -self.low[level], self.high[level]
            if level == last:
                chances = (0.0, 1 - drop, 1.0)
                ends = intervals((low, low + 1))
                return [
                    Answer(*end, chance, None) for end, chance in zip(ends, chances, strict=True)
                ]
            return [
                Answer(*end, 1.0 if end[0] >= high else 0.0 if end[1] <= low else None, None)
                for end in intervals((min(low, high), high))
            ]

        rates = [self.units[level] / UNITS_PER_EPSILON for level in read]
        far = np.clip(steps, -_FARTHEST // 2, _FARTHEST // 2)
        found = [ring_chance(rates, step, answers, None) for step in far.tolist()]
        return np.array(found, dtype=np.float64)

    def likely_undecided(self, level: int, candidate: int, read: NDArray[np.int64]) -> float:
        """Return how many cells are expected to be undecided at a finer level.

        Given the value read, the value at a finer level is less by one step of the chain (all step
        counts being equally likely beforehand): 0 with the chain's probability, else DLap at the
        rate of ``level``. A float: it guides the choice of levels, which any rule may make.

        Args:
            level: the level read.
            candidate: a finer level.
            read: values of the undecided cells at ``level``, shape (cells,), int64.
        """
        return float(self.likely_left(level, candidate, read, np.ones(read.size, dtype=np.bool_)))

    def likely_left(
        self,
        level: int,
        candidate: int,
        read: NDArray[np.int64],
        undecided: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Return :meth:`likely_undecided` of many windows.

        Args:
            level: the level read.
            candidate: a finer level.
            read: values at ``level``, shape (..., cells), int64.
            undecided: in which cells they count, shape (..., cells).

        Returns:
            Shape (...).
        """
        if candidate == len(self.units) - 1:
            return np.zeros(read.shape[:-1])
        coarse, fine = self.costs[level], self.costs[candidate]
        low, high = -self.low[candidate], self.high[candidate]
        return expected_count(undecided * likely_inside(coarse, fine, low, high, read))


def level_definition(_condition: Condition, aim: Aim) -> Mapping[str, object]:
    """Return the levels that an aim asks for, for the fingerprint; nothing where it asks for none.

    Args:
        aim: what the analyst asked for.
    """
    written = {} if aim.levels is None else aim.levels.written
    return {"levels": {name: str(value) for name, value in written.items()}} if written else {}


@lru_cache(maxsize=256)
def least_rate(steps: int, alpha: Fraction, beta: Fraction) -> tuple[int, Cut]:
    """Return the least rate, in whole loss units, of a single level for these bounds; its cut.

    Args:
        steps: k >= 1.
        alpha: bound on firing at s' <= -k.
        beta: bound on missing at s' >= 0; alpha + beta < 1.
    """
    cuts: dict[int, Cut] = {}

    def fits(units: int) -> bool:
        found = finest_cut(from_loss_units(units), steps, alpha, beta)
        if found is not None:
            cuts[units] = found
        return found is not None

    guess = round(theoretical_limit(steps, alpha, beta) * UNITS_PER_EPSILON)
    units = least(fits, 0, max(1, guess))
    return units, cuts[units]


@lru_cache(maxsize=256)
def _boundaries(
    levels: tuple[Fraction, ...], bound: Fraction, shape: tuple[Fraction, ...], cut: Cut
) -> Boundaries:
    """Remember boundaries: literals of a formula often ask for the same ones."""
    return boundaries(levels, bound, shape=shape, finest=cut)
