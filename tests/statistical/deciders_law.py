"""Exact laws of deciders by enumeration, what they lose between neighbours, scripted noise."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product

import numpy as np

from operators.deciders import (
    Decider,
    ExponentialQuantileBand,
    LevelBound,
    half_widths,
)
from operators.noise.source import NoiseSource
from tests.statistical.enumeration import (
    Floats,
    Ints,
    geometric_masses,
    ints,
    laplace_masses,
)

HALF = Fraction(1, 2)
SLACK = 1e-9  # floats of the enumeration, far below any loss that is told apart
Data = tuple[int, ...]
Law = Callable[[Data], float]


class Scripted(NoiseSource):
    """Noise that is a grid of values instead of draws, one cell per point of the grid.

    The first pass records what is asked for; the second replays the whole grid. A call named in
    ``fixed`` returns that constant instead.
    """

    def __init__(self, reach: int, fixed: dict[int, int] | None = None) -> None:
        """Set how far the grid goes."""
        super().__init__()
        self.reach = reach
        self.fixed = fixed or {}
        self.axes: list[tuple[Ints, Floats]] = []
        self.columns: list[Ints] = []
        self.call = 0

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
        self.columns = [grid.ravel() for grid in grids]
        masses = np.ones(1)
        for _, each in self.axes:
            masses = np.multiply.outer(masses, each).ravel()
        self.call = 0
        return masses

    def _next(self, values: Ints, masses: Floats, n: int) -> Ints:
        call, self.call = self.call, self.call + 1
        if call in self.fixed:
            return np.full(n, self.fixed[call], dtype=np.int64)
        if not self.columns:
            self.axes += [(values, masses)] * n
            return np.zeros(n, dtype=np.int64)
        cells = self.columns[0].size
        rows, self.columns = (
            self.columns[: n // cells],
            [
                *self.columns[n // cells :],
                *self.columns[: n // cells],
            ],
        )
        return np.concatenate(rows)


def rows_of(decider: Decider | LevelBound, data: Data, reference: int) -> Ints:
    """Return the statistics of one cell, shape (statistics, 1)."""
    values = ints(data)
    tau = 0 if isinstance(decider, LevelBound) else decider.tau
    width = int(half_widths(tau, np.array([reference]))[0])
    totals = [row.total(values, reference, width) for row in decider.statistics]
    return ints(totals)[:, np.newaxis]


def enumerated(
    decider: Decider, data: Data, reference: int, reach: int, fixed: dict[int, int] | None = None
) -> float:
    """Return P["within"] by running the decider on every point of the noise grid."""
    noise = Scripted(reach, fixed)
    rows = rows_of(decider, data, reference)
    decider.decide(rows, np.array([reference]), noise)
    masses = noise.spread()
    tiled = np.repeat(rows, masses.size, axis=1)
    references = np.full(masses.size, reference, dtype=np.int64)
    return float(masses[decider.decide(tiled, references, noise)].sum())


def loss(one: float, other: float) -> float:
    """Return the larger loss of the two answers."""
    return max(abs(math.log(one / other)), abs(math.log((1 - one) / (1 - other))))


def worst(law: Law, datasets: Iterable[Data], values: Iterable[int]) -> float:
    """Return the largest loss over all neighbours that lack one event of a data set."""
    known: dict[Data, float] = {}

    def at(data: Data) -> float:
        key = tuple(sorted(data))
        if key not in known:
            known[key] = law(key)
        return known[key]

    return max(loss(at(data), at((*data, value))) for data in datasets for value in values)


def multisets(values: range, most: int) -> list[Data]:
    """Return every multiset of at most so many of the values."""
    return sorted(
        {tuple(sorted(d)) for size in range(most + 1) for d in product(values, repeat=size)}
    )


def median_truth(data: Data, share: Fraction, reference: int, tau: int) -> bool:
    """Evaluate the band of a quantile on the sorted values."""
    if not data:
        return False
    rank = math.ceil(len(data) * share)
    return abs(sorted(data)[rank - 1] - reference) < tau


SHARES = [HALF, Fraction(1, 4), Fraction(9, 10)]


def em_quantile_law(band: ExponentialQuantileBand, reference: int) -> Law:
    """Return the certified law of one cell, as a float."""

    def law(data: Data) -> float:
        lo, hi = band.law(rows_of(band, data, reference), np.array([reference]), 200)[0]
        assert 0 <= hi - lo < 1 << 60
        return lo / (1 << 200)

    return law


def sums(data: Data, levels: tuple[int, ...]) -> tuple[int, ...]:
    """Return the capped sums."""
    return tuple(sum(min(x, t) for x in data) for t in levels)
