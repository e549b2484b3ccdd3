"""``lm`` and ``em`` by enumeration: their laws, what they lose, and broken twins."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from operators.deciders import (
    Count,
    ExponentialBand,
    LaplaceBand,
    Sum,
)
from operators.noise.source import KeyedNoise
from tests.statistical.deciders_law import SLACK, Data, enumerated, loss, worst
from tests.statistical.enumeration import (
    bernoulli_chi_square,
    exp_bounds,
)


def ones(counts: Iterable[int]) -> list[Data]:
    """Return cells of so many events."""
    return [(1,) * count for count in counts]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
@pytest.mark.parametrize("tau", [1, 4])
def test_lm_loses_its_charge(epsilon: Fraction, tau: int) -> None:
    """Over all noise, neighbours of ``lm`` lose at most the charge, and reach it."""

    def law(data: Data) -> float:
        return enumerated(LaplaceBand.planned(Count(), epsilon, tau), data, 12, 160)

    found = worst(law, ones(range(30)), (1,))
    assert float(epsilon) * (1 - 1e-6) < found < float(epsilon) + SLACK


def test_lm_of_a_sum_and_of_capped_users_loses_its_charge() -> None:
    """A sum moves by its clip, a person by the cap: neither loses more than the charge."""
    band = LaplaceBand.planned(Sum(-3, 5), Fraction(2), 4)
    laws = [enumerated(band, (s,), 6, 120) for s in range(-30, 40)]
    moved = max(loss(a, b) for d in range(1, 6) for a, b in zip(laws, laws[d:], strict=False))
    assert 2 * (1 - 1e-6) < moved < 2 + SLACK
    capped = LaplaceBand.planned(Count(3), Fraction(2), 4)
    laws = [enumerated(capped, (1,) * s, 12, 120) for s in range(40)]
    moved = max(loss(a, b) for d in range(1, 4) for a, b in zip(laws, laws[d:], strict=False))
    assert 2 * (1 - 1e-6) < moved < 2 + SLACK


def test_lm_with_noise_of_half_the_scale_is_caught() -> None:
    """The same check sees noise of twice the rate."""

    def law(data: Data) -> float:
        return enumerated(LaplaceBand.planned(Count(), Fraction(2), 4), data, 12, 60)

    assert worst(law, ones(range(30)), (1,)) > 1.9  # charged 1


def em_violations(band: ExponentialBand, charge: Fraction) -> int:
    """Count neighbouring counts whose certified laws are further apart than the charge."""
    bits = 600
    bound = exp_bounds(charge)[1]
    laws = []
    for distance in range(3 * band.tau):
        lo, hi = band.wrong(abs(min(distance, 2 * band.tau) - band.tau), bits)
        within = (lo, hi) if distance >= band.tau else ((1 << bits) - hi, (1 << bits) - lo)
        laws.append(within)
    broken = 0
    for (a_lo, a_hi), (b_lo, b_hi) in pairwise(laws):
        up = (Fraction(a_lo, b_hi), Fraction(b_lo, a_hi))
        down = (
            Fraction((1 << bits) - a_hi, (1 << bits) - b_lo),
            Fraction((1 << bits) - b_hi, (1 << bits) - a_lo),
        )
        broken += any(ratio > bound for ratio in (*up, *down))
    return broken


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3, 2)])
def test_em_loses_at_most_its_charge(epsilon: Fraction) -> None:
    """Certified bounds to 600 bits: no neighbours of ``em`` are further apart than the charge."""
    band = ExponentialBand.planned(Count(), epsilon, 7)
    assert not em_violations(band, epsilon)
    assert em_violations(
        ExponentialBand.planned(Count(), 2 * epsilon, 7), epsilon
    )  # half the score


def test_em_draws_its_law() -> None:
    """Frequencies of ``em`` over all distances meet the certified probabilities."""
    band = ExponentialBand.planned(Count(), Fraction(1, 3), 6)
    aggregates = np.tile(np.arange(40), 20_000)
    references = np.full(aggregates.size, 20)
    within = band.decide(aggregates[np.newaxis], references, KeyedNoise(b"em"))
    counts = within.reshape(-1, 40).sum(axis=0)
    wrong = np.array([band.error(abs(s - 20)) for s in range(40)])
    inside = np.abs(np.arange(40) - 20) < 6
    assert bernoulli_chi_square(counts, 20_000, np.where(inside, 1 - wrong, wrong)) > 1e-4
    shifted = np.roll(np.where(inside, 1 - wrong, wrong), 1)
    assert bernoulli_chi_square(counts, 20_000, shifted) < 1e-9


def test_em_is_right_where_an_exponential_overflows() -> None:
    """At tau epsilon = 1e6 every answer is right, and one half only where it must be."""
    band = ExponentialBand.planned(Count(), Fraction(1), 1_000_000)
    aggregates = np.array(
        [0, 10**6, 2 * 10**6, 5 * 10**6, 3 * 10**6 + 1000, 10**6 + 1000, 4 * 10**6]
    )
    references = np.full(7, 2 * 10**6)
    truth = [False, False, True, False, False, True, False]
    for seed in range(20):
        within = band.decide(aggregates[np.newaxis], references, KeyedNoise(bytes([seed])))
        assert within[[0, 2, 3, 4, 5, 6]].tolist() == [truth[i] for i in (0, 2, 3, 4, 5, 6)]
    assert band.wrong(0, 64) == (1 << 63, 1 << 63)
    edge = np.full(10_000, 10**6)
    drawn = band.decide(edge[np.newaxis], np.full(10_000, 2 * 10**6), KeyedNoise(b"edge"))
    assert 4_700 < drawn.sum() < 5_300
