"""``r2t`` and ``svt`` by enumeration: their laws, what they lose, and broken twins."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from accountant.errors import ConfigError
from operators.deciders import (
    ExponentialQuantileBand,
    HistogramBand,
    LevelBound,
    PrivateBound,
    Quantile,
    RaceBand,
    SparseBand,
    Sum,
    TightBand,
    planned,
)
from operators.noise.source import KeyedNoise
from tests.statistical.deciders_law import (
    HALF,
    SLACK,
    Data,
    Law,
    Scripted,
    em_quantile_law,
    enumerated,
    loss,
    rows_of,
    sums,
    worst,
)
from tests.statistical.enumeration import (
    ONE,
    Floats,
    Ints,
    bernoulli_chi_square,
    geometric_masses,
    laplace_masses,
)


class Straight(RaceBand):
    """A race without the factor L: every cap is charged as if it were alone."""

    def rate(self, level: int) -> Fraction:
        """Return L times the rate."""
        return self.epsilon / (self.kind.events * self.levels[level])


def test_r2t_enumerated_is_its_closed_law() -> None:
    """The product of tails is the law of the code, noise by noise."""
    band = RaceBand.planned(Sum(0, 4), Fraction(3), 5)
    for data in ((), (4, 4, 3), (1,) * 9, (4,) * 12):
        for reference in (0, 8, 40):
            found = enumerated(band, data, reference, 120)
            assert found == pytest.approx(band.law(sums(data, band.levels), reference), abs=1e-9)


def test_r2t_loses_at_most_its_charge() -> None:
    """Over cells of many sizes; dropping the number of caps from the noise is caught."""
    epsilon = Fraction(2)
    datasets = [tuple([1] * a + [8] * b) for a in range(0, 160, 8) for b in range(0, 14, 2)]
    found = {}
    for make in (RaceBand, Straight):
        band = make.planned(Sum(0, 8), epsilon, 25)

        def law(data: Data, band: RaceBand = band) -> float:
            return band.law(sums(data, band.levels), 30)

        found[make] = worst(law, datasets, (1, 2, 5, 8))
    print(f"r2t: charged 2, loses {found[RaceBand]:.4f}, without L {found[Straight]:.4f}")
    assert found[RaceBand] < float(epsilon) + SLACK
    assert found[Straight] > float(epsilon) * 1.05


def bound_law(bound: LevelBound, data: Data, reach: int) -> Floats:
    """Return the law of the private bound over its caps."""
    noise = Scripted(reach)
    rows = rows_of(bound, data, 0)
    bound.find(rows, noise)
    masses = noise.spread()
    found = bound.find(np.repeat(rows, masses.size, axis=1), noise)
    return np.array([masses[found == index].sum() for index in range(len(bound.levels))])


CELLS: list[Data] = [(), (1,), (4,), (1, 2, 2), (1, 1, 4, 4), (4, 4, 4), (2,) * 5, (1,) * 6 + (4,)]


def test_the_private_bound_loses_at_most_its_charge() -> None:
    """Every cap is as likely for neighbours, within the charge."""
    bound = LevelBound((2, 4), 1, Fraction(3), Fraction(3, 4))
    largest = 0.0
    for data in CELLS:
        for value in (1, 4):
            one, other = bound_law(bound, data, 14), bound_law(bound, (*data, value), 14)
            largest = max(largest, float(np.abs(np.log(one / other)).max()))
    assert largest < 3 + SLACK
    cheap = replace(bound, epsilon=Fraction(30))
    one, other = bound_law(cheap, (4, 4, 4), 8), bound_law(cheap, (4, 4, 4, 1), 8)
    assert float(np.abs(np.log(one / other)).max()) > 3


@pytest.mark.parametrize(("cap", "spent"), [(0, 2), (1, 2), (1, 3)])
def test_svt_loses_at_most_its_charge_after_the_bound(cap: int, spent: int) -> None:
    """Given a bound, one threshold noise and one yes: what the bound leaves, for both passes."""
    private = PrivateBound(epsilon=Fraction(spent))
    band = SparseBand.planned(Sum(0, 4), Fraction(6), 3, private)
    assert band.bound.epsilon == spent
    fixed = {0: 0, 1: 10**6 if cap else -(10**6), 2: 0}

    def law(data: Data) -> float:
        return enumerated(band, data, 8, 8, fixed)

    found = worst(law, CELLS, (1, 4))
    print(f"svt: charged {6 - spent} after the bound, loses {found:.4f}")
    assert found < 6 - spent + 1e-6


def test_answers_that_do_not_know_what_the_bound_took_are_caught() -> None:
    """Twin: a bound of 4 whose answers are drawn as if it had left 4 of 6, not 2."""
    honest = SparseBand.planned(Sum(0, 4), Fraction(6), 3, PrivateBound(epsilon=Fraction(4)))
    usual = SparseBand.planned(Sum(0, 4), Fraction(6), 3)
    twin = replace(usual, bound=replace(usual.bound, share=honest.bound.share))
    fixed = {0: 0, 1: 10**6, 2: 0}

    def most(band: SparseBand) -> float:
        return worst(lambda data: enumerated(band, data, 8, 8, fixed), CELLS, (1, 4))

    assert most(honest) < 2 + 1e-6
    assert most(twin) > 2
    for wrong in (Fraction(0), Fraction(6), Fraction(7)):
        with pytest.raises(ConfigError, match="less than its decider"):
            SparseBand.planned(Sum(0, 4), Fraction(6), 3, PrivateBound(epsilon=wrong))
    with pytest.raises(ConfigError, match="no private bound"):
        planned("lm", Sum(0, 4), Fraction(6), 3, bound=PrivateBound())


def test_svt_without_threshold_noise_is_caught() -> None:
    """Without threshold noise the passes lose more than what they are charged."""
    band = SparseBand.planned(Sum(0, 4), Fraction(6), 3)
    fixed = {0: 0, 1: 10**6, 2: 0, 3: 0}

    def law(data: Data) -> float:
        within = enumerated(band, data, 8, 8, fixed)
        return min(max(within, 1e-300), 1 - 1e-16)

    assert worst(law, CELLS, (1, 4)) > 4.5


def svt_law(band: SparseBand, data: Data, reference: int) -> float:
    """Return P["within"] of ``svt``, written down from its definition in closed tails."""
    t, levels, per = float(band.epsilon) / 3, band.levels, band.kind.events
    q, bound = math.exp(-t), band.bound
    deep = math.ceil(40 / t)
    rho = np.arange(-deep, deep + 1)
    rho_mass = laplace_masses(band.epsilon / 3, deep)

    def raised(rate: float) -> int:
        """Return the least r with P[v - rho > r] <= 1 / (L + 1), by convolution."""
        reach = math.ceil(60 / rate)
        v = geometric_masses(Fraction(rate), reach)
        w = np.convolve(v, laplace_masses(Fraction(rate), reach))  # from -reach on
        tails = w[::-1].cumsum()[::-1]
        return next(r for r in range(reach) if tails[reach + r + 1] <= 1 / (len(levels) + 1))

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
        p = yes(steps[:, None] - r1[None, :], rate, raised(rate))
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
            np.multiply(noes, 1 - yes(step - rho, t, raised(t)), out=noes)
        total += chance * float((rho_mass * never_over * (1 - never_above)).sum())
    assert 0 < q < 1
    return total


def test_svt_is_its_closed_law() -> None:
    """Frequencies of ``svt`` over four caps meet a law written down on its own."""
    band = SparseBand.planned(Sum(0, 16), Fraction(4), 40, PrivateBound(Fraction(3, 4)))
    cells = [tuple([2] * a + [5] * b + [16] * c) for a, b, c in product((0, 8, 30), (0, 9), (0, 4))]
    draws = 20_000
    rows = np.hstack([rows_of(band, data, 60) for data in cells])
    within = band.decide(
        np.repeat(rows, draws, axis=1), np.full(len(cells) * draws, 60), KeyedNoise(b"svt")
    )
    laws = np.array([svt_law(band, data, 60) for data in cells])
    counts = within.reshape(len(cells), draws).sum(axis=1)
    assert laws.max() > 0.5
    assert bernoulli_chi_square(counts, draws, laws) > 1e-4
    assert bernoulli_chi_square(counts, draws, laws * 0.95) < 1e-9


def test_svt_as_a_whole_loses_at_most_its_charge() -> None:
    """Bound, threshold and answers together, over cells of many sizes."""
    band = SparseBand.planned(Sum(0, 8), Fraction(6), 8)
    known: dict[Data, float] = {}

    def law(data: Data) -> float:
        return known.setdefault(data, svt_law(band, data, 20))

    datasets = [tuple([1] * a + [8] * b) for a in range(0, 60, 12) for b in range(5)]
    found = worst(law, datasets, (1, 3, 8))
    print(f"svt: charged 6, loses {found:.4f}")
    assert found < 6 + 1e-6


def test_persons_with_several_events_lose_at_most_the_charge() -> None:
    """With a cap of two events per person, any two events are within the charge of none."""
    epsilon = Fraction(2)
    two = [(x, y) for x in range(4) for y in range(x, 4)]
    kind = Quantile(HALF, range(4), 2)
    em = em_quantile_law(ExponentialQuantileBand.planned(kind, epsilon, 1), 1)
    hist = HistogramBand.planned(kind, epsilon, 1)
    tight = TightBand.planned(kind, epsilon, 1)
    race = RaceBand.planned(Sum(0, 4, 2), epsilon, 6)
    laws: list[Law] = [
        em,
        lambda data: enumerated(hist, data, 1, 20),
        lambda data: 1 - int(tight.law(rows_of(tight, data, 1), np.array([1]))[0]) / ONE,
        lambda data: race.law(sums(data, race.levels), 8),
    ]
    for law in laws:
        for data in ((), (1,), (0, 1, 3), (1, 1, 2, 3, 3), (0, 0, 1, 3, 3)):
            for pair in two:
                assert loss(law(data), law((*data, *pair))) < float(epsilon) + SLACK
