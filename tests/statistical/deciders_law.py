"""Exact laws of deciders by enumeration, what they lose between neighbours, scripted noise."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from operators.deciders import (
    Average,
    Decider,
    ExponentialBand,
    ExponentialQuantileBand,
    Kind,
    LevelBound,
    OverDomain,
    Quantile,
    RaceBand,
    TightBand,
    half_widths,
)
from operators.noise.source import NoiseSource
from tests.statistical.enumeration import (
    ONE,
    Floats,
    Ints,
    geometric_masses,
    ints,
    laplace_masses,
    odds,
)

HALF = Fraction(1, 2)
SHARES = [HALF, Fraction(1, 4), Fraction(9, 10)]
SLACK = 1e-9  # floats of the enumeration, far below any loss that is told apart
Data = tuple[int, ...]


class Scripted(NoiseSource):
    """Noise that is a grid of values instead of draws, one cell per point of the grid.

    The first pass records what is asked for, the second replays the whole grid.
    """

    def __init__(self, reach):
        """Set how far the grid goes."""
        super().__init__()
        self.reach = reach
        self.axes = []
        self.grid = None

    def discrete_laplace(self, t: Fraction, n: int) -> Ints:
        """Return the next rows of the grid over -reach .. reach."""
        values = np.arange(-self.reach, self.reach + 1)
        return self._next(values, laplace_masses(t, self.reach), n)

    def geometric(self, t: Fraction, n: int) -> Ints:
        """Return the next rows of the grid over 0 .. reach."""
        return self._next(np.arange(self.reach + 1), geometric_masses(t, self.reach), n)

    def spread(self) -> Floats:
        """Prepare the second pass; return the mass of every point of the grid."""
        grids = np.meshgrid(*(values for values, _ in self.axes), indexing="ij")
        self.grid = np.array([grid.ravel() for grid in grids])
        masses = np.ones(1)
        for _, each in self.axes:
            masses = np.multiply.outer(masses, each).ravel()
        return masses

    def _next(self, values, masses, n):
        if self.grid is None:
            self.axes += [(values, masses)] * n
            return np.zeros(n, int)
        rows, self.grid = np.split(self.grid, [n // self.grid.shape[1]])
        return rows.ravel()


def rows_of(decider: Decider | LevelBound, data: Data, reference: int) -> Ints:
    """Return the statistics of one cell, shape (statistics, 1)."""
    values = ints(data)
    tau = 0 if isinstance(decider, LevelBound) else decider.tau
    width = int(half_widths(tau, np.array([reference]))[0])
    totals = [row.total(values, reference, width) for row in decider.statistics]
    return ints(totals)[:, np.newaxis]


def likely(decide: Callable[[Ints, Scripted], Ints], rows: Ints, noise: Scripted) -> Floats:
    """Return the masses of the answers 0, 1, ... of a cell, run on every point of the noise."""
    decide(rows, noise)
    masses = noise.spread()
    return np.bincount(decide(np.repeat(rows, masses.size, axis=1), noise), weights=masses)


def enumerated(decider: Decider, rows: Ints, reference: int, noise: Scripted) -> float:
    """Return P["within"] of a cell by running the decider on every point of the noise."""

    def decide(statistics, noise):
        references = np.full(statistics.shape[1], reference)
        return decider.decide(statistics, references, noise).astype(int)

    return float(likely(decide, rows, noise)[1:].sum())


def within(
    decider: Decider | OverDomain, rows: Ints, reference: int, noise: int | Scripted = 20
) -> float:
    """Return P["within"] by the certified law, the table, the tails or errors, else enumerated.

    Args:
        decider: what decides.
        rows: statistics of one cell.
        reference: of the cell.
        noise: how far the noise is enumerated, or all of it.
    """
    at = np.array([reference])
    if isinstance(decider, OverDomain):
        return within(decider.inner, decider.rows(rows, at), reference, noise)
    if isinstance(decider, ExponentialQuantileBand):
        lo, hi = decider.law(rows, at, 200)[0]
        assert 0 <= hi - lo < 1 << 60
        return lo / (1 << 200)
    if isinstance(decider, TightBand):
        return 1 - int(decider.law(rows, at)[0]) / ONE
    if isinstance(decider, RaceBand):
        return decider.law(tuple(rows[:, 0].tolist()), reference)
    if isinstance(decider, ExponentialBand):
        return 1 - float(decider.chances(rows, at)[0])
    noise = noise if isinstance(noise, Scripted) else Scripted(noise)
    return enumerated(decider, rows, reference, noise)


def worst(law: Callable[[Data], float], datasets: Iterable[Data], added: Iterable[Data]) -> float:
    """Return the largest loss over all neighbours that lack what is added to a data set."""
    at = cache(law)
    pairs = ((at(data), at(tuple(sorted((*data, *more))))) for data in datasets for more in added)
    return max(float(odds(*pair)) for pair in pairs)


def each(values: Iterable[int]) -> list[Data]:
    """Return data of one event each."""
    return [(value,) for value in values]


def multisets(values: range, most: int) -> list[Data]:
    """Return every multiset of at most so many of the values."""
    return sorted(
        {tuple(sorted(d)) for size in range(most + 1) for d in product(values, repeat=size)}
    )


def inside(kind: Kind, data: Data, reference: int, tau: int) -> bool:
    """Evaluate the band on the sum, the mean or the quantile itself; no data have the last two."""
    if isinstance(kind, Quantile):
        found = sorted(data)[math.ceil(len(data) * kind.share) - 1] if data else None
    elif isinstance(kind, Average):
        found = Fraction(kind.scale * sum(data), len(data)) if data else None
    else:
        found = sum(data)
    return found is not None and abs(found - reference) < tau


def step(band: TightBand, rows: Ints, reference: int) -> int:
    """Return how far a cell is from the end of its band."""
    return int(band.steps(rows, np.array([reference]))[0])


def sums(data: Data, levels: tuple[int, ...]) -> tuple[int, ...]:
    """Return the capped sums."""
    return tuple(sum(min(x, t) for x in data) for t in levels)


def raised(rate: float, questions: int) -> int:
    """Return the least r with P[v - rho > r] <= 1 / (questions + 1), by convolution."""
    reach = math.ceil(60 / rate)
    v = geometric_masses(Fraction(rate), reach)
    w = np.convolve(v, laplace_masses(Fraction(rate), reach))  # from -reach on
    tails = w[::-1].cumsum()[::-1]
    return next(r for r in range(reach) if tails[reach + r + 1] <= 1 / (questions + 1))
