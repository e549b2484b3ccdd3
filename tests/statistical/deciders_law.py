"""Exact laws of deciders by enumeration, what they lose between neighbours, scripted noise."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from operators.deciders import (
    Decider,
    ExponentialQuantileBand,
    LevelBound,
    RaceBand,
    SparseBand,
    TightBand,
    half_widths,
)
from operators.noise.source import KeyedNoise, NoiseSource
from tests.statistical.enumeration import (
    ONE,
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
        self.axes = []
        self.columns = []
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
            return np.full(n, self.fixed[call])
        if not self.columns:
            self.axes += [(values, masses)] * n
            return np.zeros(n, int)
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
    references = np.full(masses.size, reference)
    return float(masses[decider.decide(tiled, references, noise)].sum())


def loss(one: float, other: float) -> float:
    """Return the larger loss of the two answers."""
    return max(abs(math.log(one / other)), abs(math.log((1 - one) / (1 - other))))


def worst(law: Law, datasets: Iterable[Data], added: Iterable[Data]) -> float:
    """Return the largest loss over all neighbours that lack what is added to a data set."""
    at = cache(law)
    return max(
        loss(at(data), at(tuple(sorted((*data, *more))))) for data in datasets for more in added
    )


def each(values: Iterable[int]) -> list[Data]:
    """Return data of one event each."""
    return [(value,) for value in values]


def multisets(values: range, most: int) -> list[Data]:
    """Return every multiset of at most so many of the values."""
    return sorted(
        {tuple(sorted(d)) for size in range(most + 1) for d in product(values, repeat=size)}
    )


def quantile_within(data: Data, share: Fraction, reference: int, tau: int) -> bool:
    """Evaluate the band of a quantile on the sorted values; no data have none."""
    rank = math.ceil(len(data) * share)
    return bool(data) and abs(sorted(data)[rank - 1] - reference) < tau


def mean_within(data: Data, scale: int, reference: int, tau: int) -> bool:
    """Evaluate the band of a mean on the mean itself."""
    return bool(data) and abs(Fraction(scale * sum(data), len(data)) - reference) < tau


def step(band: TightBand, rows: Ints, reference: int) -> int:
    """Return how far a cell is from the end of its band."""
    return int(band.steps(rows, np.array([reference]))[0])


def within(
    decider: Decider,
    data: Data,
    reference: int,
    reach: int = 20,
    fixed: dict[int, int] | None = None,
) -> float:
    """Return P["within"] by the certified law, the table or the tails, else by enumeration."""
    rows, at = rows_of(decider, data, reference), np.array([reference])
    if isinstance(decider, ExponentialQuantileBand):
        lo, hi = decider.law(rows, at, 200)[0]
        assert 0 <= hi - lo < 1 << 60
        return lo / (1 << 200)
    if isinstance(decider, TightBand):
        return 1 - int(decider.law(rows, at)[0]) / ONE
    if isinstance(decider, RaceBand):
        return decider.law(sums(data, decider.levels), reference)
    return enumerated(decider, data, reference, reach, fixed)


def drawn(decider: Decider, cells: list[Data], reference: int, draws: int, key: bytes) -> Ints:
    """Return how often each cell is within, of so many draws."""
    rows = np.hstack([rows_of(decider, data, reference) for data in cells])
    references = np.full(len(cells) * draws, reference)
    found = decider.decide(np.repeat(rows, draws, axis=1), references, KeyedNoise(key))
    return np.asarray(found.reshape(len(cells), draws).sum(axis=1))


SHARES = [HALF, Fraction(1, 4), Fraction(9, 10)]


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


def svt_law(band: SparseBand, data: Data, reference: int) -> float:
    """Return P["within"] of ``svt``, written down from its definition in closed tails."""
    t, levels, per = float(band.epsilon) / 3, band.levels, band.kind.events
    q, bound = math.exp(-t), band.bound
    deep = math.ceil(40 / t)
    rho = np.arange(-deep, deep + 1)
    rho_mass = laplace_masses(band.epsilon / 3, deep)

    def yes(steps: Ints, rate: float, r: int) -> Floats:
        """Return P[v >= rho + r - steps]."""
        return np.exp(-rate * np.maximum(0, r - steps))

    rate = t / 3
    wide = math.ceil(40 / rate)
    z = np.arange(-wide * per, wide * per + 1)
    z_mass = laplace_masses(Fraction(rate) / per, wide * per)
    keep = z_mass > 1e-14
    z, z_mass = z[keep], z_mass[keep]
    r1 = np.arange(-wide, wide + 1)
    r1_mass = laplace_masses(Fraction(rate), wide)
    a, b = bound.share.numerator, bound.share.denominator
    open_mass = np.multiply.outer(z_mass, r1_mass)
    chosen = []
    for level in levels:
        count = sum(x <= level for x in data)
        steps = (b * count - a * (len(data) + z)) // (b * per)
        p = yes(steps[:, None] - r1[None, :], rate, raised(rate, len(levels)))
        chosen.append(float((open_mass * p).sum()))
        open_mass = open_mass * (1 - p)
    chosen[-1] += float(open_mass.sum())
    never_over = np.ones(rho.size)
    never_above = np.ones(rho.size)
    total = 0.0
    for level, chance in zip(levels, chosen, strict=True):
        capped = sum(min(x, level) for x in data)
        for noes, line in (
            (never_over, reference + band.tau),
            (never_above, reference - band.tau + 1),
        ):
            step = (capped - line) // (per * level)
            np.multiply(noes, 1 - yes(step - rho, t, raised(t, len(levels))), out=noes)
        total += chance * float((rho_mass * never_over * (1 - never_above)).sum())
    assert 0 < q < 1
    return total
