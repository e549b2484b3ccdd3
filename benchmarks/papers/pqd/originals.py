"""Three deciders as DP-PQD prints them, in floating point: for comparison, never for release.

They differ from the library's: sums leave out the rows above a cap instead of capping them, SVT's
questions carry two-sided noise and no correction, the median's score is -abs(rank - n/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BETA: Final = 0.05
"""Error probability of R2T's penalties, in the paper's section 7."""
SHARE: Final = 0.95
"""theta of Algorithm 4, there."""


@dataclass(frozen=True, slots=True)
class Band:
    """What is asked: is the aggregate less than tau away from the reference?

    Args:
        reference: public.
        tau: half-width, in units of the aggregate.
        epsilon: budget.
    """

    reference: int
    tau: int
    epsilon: float


@dataclass(frozen=True, slots=True, eq=False)
class Truncated:
    """What R2T and SVT read of the rows that count.

    Args:
        rows: how many there are.
        levels: t_j = 2^j up to the bound GS, shape (levels,).
        counts: rows of at most t_j, shape (levels,).
        sums: of their values, shape (levels,).
    """

    rows: float
    levels: NDArray[np.float64]
    counts: NDArray[np.float64]
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.int64], bound: int, copies: int) -> Truncated:
        """Return the truncations of values that are there several times.

        Args:
            values: shape (rows,), int64, >= 0.
            bound: GS, at least 2.
            copies: how often each value is there.
        """
        levels = [1 << power for power in range(1, math.ceil(math.log2(bound)) + 1)]
        kept = [values[values <= level] for level in levels]
        return cls(
            float(copies * values.size),
            np.array(levels, dtype=np.float64),
            np.array([copies * each.size for each in kept], dtype=np.float64),
            np.array([copies * each.sum() for each in kept], dtype=np.float64),
        )


def race(read: Truncated, band: Band, runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Decide by Algorithm 1 over R2T's estimate, equations (17) and (18).

    Returns:
        Shape (runs,), bool: whether the answer is within the band.
    """
    count = len(read.levels)
    scales = (read.levels * count / band.epsilon)[:, np.newaxis]
    lowered = read.sums[:, np.newaxis] - scales * math.log(count / BETA)
    noisy = lowered + rng.laplace(scale=scales, size=(count, runs))
    return np.asarray(np.abs(np.maximum(noisy.max(axis=0), 0.0) - band.reference) < band.tau)


def sparse(read: Truncated, band: Band, runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Decide by Algorithm 2 with the bound of Algorithm 4, a third of epsilon.

    Returns:
        Shape (runs,), bool: whether the answer is within the band.
    """
    count = len(read.levels)
    ninth = 9 / band.epsilon
    total = read.rows + rng.laplace(scale=ninth, size=runs)
    wanted = SHARE * total + rng.laplace(scale=ninth, size=runs)
    counts = read.counts[:, np.newaxis] + rng.laplace(scale=ninth, size=(count, runs))
    last = np.minimum(_first(counts >= wanted), count - 1)
    scale = 3 / band.epsilon  # half of two thirds
    threshold = rng.laplace(scale=scale, size=runs)
    asked = np.arange(count)[:, np.newaxis] <= last

    def reached(end: int) -> NDArray[np.bool_]:
        steps = ((read.sums - end) / read.levels)[:, np.newaxis]
        noisy = steps + rng.laplace(scale=scale, size=(count, runs))
        return np.asarray(((noisy >= threshold) & asked).any(axis=0))

    above = reached(band.reference + band.tau)
    return ~above & reached(band.reference - band.tau + 1)


def median_law(values: NDArray[np.int64], copies: int, domain: range, band: Band) -> float:
    """Return the probability of "within" of the exponential mechanism, Proposition C.1.

    Args:
        values: shape (rows,), int64.
        copies: how often each value is there.
        domain: the public values.
        band: what is asked.
    """
    points = np.array(domain)
    below = np.searchsorted(np.sort(values), points, side="left")
    score = -copies * np.abs(below - values.size / 2)
    weights = np.exp(band.epsilon / 2 * (score - score.max()))
    return float(weights[np.abs(points - band.reference) < band.tau].sum() / weights.sum())


def _first(yes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the index of the first row that holds, per column; their number where none does."""
    return np.where(yes.any(axis=0), yes.argmax(axis=0), len(yes))
