"""MIDE's three algorithms as the paper prints them, for comparison only.

Continuous Laplace noise in floats, each step with its share of beta: what an implementer of the
paper gets. Not private in practice (floats), and the data-dependent one has no proof once its
levels are chosen from correlated noise and shares are handed on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from accountant.costs.minentropy import min_entropy_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

_Floats: TypeAlias = NDArray[np.float64]
_Decided: TypeAlias = tuple[NDArray[np.bool_], _Floats]

_NODES = 1000  # of the min-entropy search


@dataclass(frozen=True, slots=True)
class OriginalTslm:
    """Fire iff ``x + Laplace(1 / epsilon) > -u`` with epsilon = ln(1 / (2 beta)) / u.

    Args:
        tolerance: u > 0, in sensitivities.
        beta: bound on misses, below 1/2.

    Source: MIDE, Algorithm 1.
    """

    tolerance: float
    beta: float

    @property
    def epsilon(self) -> float:
        """Loss of every cell."""
        return math.log(1 / (2 * self.beta)) / self.tolerance

    def decide(self, distance: _Floats, rng: Generator) -> _Decided:
        """Decide every cell.

        Args:
            distance: x = (s - c) / D, shape (cells,).
            rng: source of the noise.

        Returns:
            Which cells fire, and what each loses; both of shape (cells,).
        """
        noisy = distance + rng.laplace(0, 1 / self.epsilon, distance.size)
        return noisy > -self.tolerance, np.full(distance.size, self.epsilon)


@dataclass(frozen=True, slots=True)
class OriginalProgressive:
    """PPWLM, or DPPWLM where ``parts`` is not 0.

    Args:
        tolerance: u > 0, in sensitivities, at the last level.
        beta: bound on misses, below 1/2.
        first: epsilon_1.
        rounds: m > 1.
        parts: m_f; 0 reads all m levels, one after the other.

    Source: MIDE, Algorithms 2, 3 and 4, with PrivRelax drawn from the finest level to the coarsest
    (the same chain).
    """

    tolerance: float
    beta: float
    first: float
    rounds: int
    parts: int = 0

    @property
    def levels(self) -> tuple[float, ...]:
        """All levels that may be read, coarsest first."""
        last = math.log(self.rounds / (2 * self.beta)) / self.tolerance
        growth = (last / self.first) ** (1 / (self.rounds - 1))
        corners = (*(self.first * growth**at for at in range(self.rounds - 1)), last)
        parts = max(1, self.parts)
        inner = (
            low + (high - low) * part / parts
            for low, high in pairwise(corners)
            for part in range(parts)
        )
        return (*inner, last)

    def decide(self, distance: _Floats, rng: Generator) -> _Decided:
        """Decide every cell.

        Args:
            distance: x = (s - c) / D, shape (cells,).
            rng: source of the noise.

        Returns:
            Which cells fire, and what each loses; both of shape (cells,).
        """
        levels = self.levels
        noisy = distance + laplace_chain(levels, distance.size, rng)
        fired = np.zeros(distance.size, dtype=np.bool_)
        lost = np.full(distance.size, levels[-1])
        undecided = np.arange(distance.size)
        level, share = 0, 1
        corners = list(range(0, len(levels), max(1, self.parts)))
        while True:
            shift = self._shift(levels[level], share)
            read = noisy[level, undecided]
            fired[undecided[read > shift]] = True
            settled = (read > shift) | (read <= -shift)
            lost[undecided[settled]] = levels[level]
            undecided, read = undecided[~settled], read[~settled]
            if not undecided.size or level == len(levels) - 1:
                fired[undecided] = True
                return fired, lost
            if self.parts:
                level, share, corners = self._following(level, read, corners, lost)
            else:
                level += 1

    def _shift(self, epsilon: float, share: int) -> float:
        return math.log(self.rounds / (2 * self.beta * share)) / epsilon

    def _following(
        self, level: int, read: _Floats, corners: list[int], lost: _Floats
    ) -> tuple[int, int, list[int]]:
        """Return the next level, its share of beta in m-ths, and the corners left (Algorithm 4)."""
        levels = self.levels
        chosen, share, best = corners[0], 1, 0.0
        at, stopped = np.unique(lost, return_counts=True)
        tally = dict(zip(at.tolist(), stopped.tolist(), strict=True))
        for candidate in range(corners[0] + 1, corners[-1] + 1):
            interval = 1 + (candidate - 1 - corners[0]) // self.parts
            shift = self._shift(levels[candidate], interval)
            within = two_laplace_cdf(shift - read, levels[level], levels[candidate])
            within -= two_laplace_cdf(-shift - read, levels[level], levels[candidate])
            done = read.size - round(float(within.sum()))
            expected = dict(tally)
            expected[levels[-1]] -= done
            expected[levels[candidate]] = expected.get(levels[candidate], 0) + done
            found = min_entropy_levels(
                list(expected), list(expected.values()), node_limit=_NODES
            ).value
            if found >= best:
                chosen, share, best = candidate, interval, found
        return chosen, share, corners[share:] or corners[-1:]


def laplace_chain(levels: Sequence[float], cells: int, rng: Generator) -> _Floats:
    """Draw correlated Laplace noise at all levels, from the finest on.

    Args:
        levels: rates, strictly rising.
        cells: how many chains.
        rng: source of the noise.

    Returns:
        Shape (levels, cells), coarsest level first; level f follows Laplace(1 / levels[f]).
    """
    drawn = np.empty((len(levels), cells))
    drawn[-1] = rng.laplace(0, 1 / levels[-1], cells)
    for at in reversed(range(len(levels) - 1)):
        moves = rng.random(cells) >= (levels[at] / levels[at + 1]) ** 2
        drawn[at] = drawn[at + 1] + moves * rng.laplace(0, 1 / levels[at], cells)
    return drawn


def two_laplace_cdf(x: _Floats, a: float, b: float) -> _Floats:
    """Return P[Laplace(1 / a) + Laplace(1 / b) <= x] for different rates.

    Args:
        x: where, any shape.
        a: rate of the one.
        b: rate of the other.
    """
    far = np.abs(x)
    tail = (b * b * np.exp(-a * far) - a * a * np.exp(-b * far)) / (2 * (b * b - a * a))
    return np.where(x < 0, tail, 1 - tail)
