"""What deciders draw: laws written down from their definitions, and frequencies that meet them."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.deciders import (
    AverageLaplaceBand,
    Count,
    ExponentialBand,
    ExponentialQuantileBand,
    HistogramBand,
    PrivateBound,
    Quantile,
    RaceBand,
    SparseBand,
    Sum,
    TightBand,
)
from operators.noise.source import KeyedNoise
from tests.statistical.deciders_law import (
    SHARES,
    drawn,
    enumerated,
    mean_within,
    multisets,
    quantile_within,
    rows_of,
    sums,
    svt_law,
)
from tests.statistical.enumeration import bernoulli_chi_square
from tests.statistical.test_deciders_losses_exact import BANDS, MEANS, MEDIAN

DRAWS = 20_000


def em_law(band, data, reference):
    """Return P["within"] of a count by the certified errors."""
    distance = abs(len(data) - reference)
    wrong = band.error(distance)
    return 1 - wrong if distance < band.tau else wrong


def em_quantile_law(band, data, reference):
    """Return it with plain exponentials (DP-PQD, Proposition C.1), of the lower quartile."""
    weights = {}
    for e in band.kind.domain:
        below, upto = sum(x < e for x in data), sum(x <= e for x in data)
        gap = max(0, 1 - len(data) + 4 * below, len(data) - 4 * upto)
        weights[e] = math.exp(-float(band.epsilon) * gap / 6)
    near = sum(w for e, w in weights.items() if abs(e - reference) < band.tau)
    return near / sum(weights.values())


RNG = np.random.default_rng(5)
DRAWN = {
    "em": (
        ExponentialBand.planned(Count(), Fraction(1, 3), 6),
        [(1,) * count for count in range(40)],
        20,
        em_law,
    ),
    "em of a quantile": (
        ExponentialQuantileBand.planned(
            Quantile(Fraction(1, 4), range(0, 60, 3)), Fraction(3, 10), 8
        ),
        [tuple(RNG.choice(range(0, 60, 3), size).tolist()) for size in (0, 1, 5, 40, 200)],
        15,
        em_quantile_law,
    ),
    "svt": (
        SparseBand.planned(Sum(0, 16), Fraction(4), 40, PrivateBound(Fraction(3, 4))),
        [(2,) * a + (5,) * b + (16,) * c for a, b, c in product((0, 8, 30), (0, 9), (0, 4))],
        60,
        svt_law,
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_frequencies_follow_the_law(name):
    """Drawn in every cell; laws three per cent or one cell off are refused."""
    band, cells, reference, law = DRAWN[name]
    laws = np.array([law(band, data, reference) for data in cells])
    counts = drawn(band, cells, reference, DRAWS, name.encode())
    assert laws.max() > 0.5
    assert bernoulli_chi_square(counts, DRAWS, laws) > 1e-4
    for twin in (laws * 0.97, np.roll(laws, 1)):
        assert bernoulli_chi_square(counts, DRAWS, twin) < 1e-9


def test_em_is_right_where_an_exponential_overflows():
    """At tau epsilon = 1e6 every answer is right, and one half only where it must be."""
    far = 10**6
    band = ExponentialBand.planned(Count(), Fraction(1), far)
    aggregates = np.array([0, 2 * far, 5 * far, 3 * far + 1000, far + 1000, 4 * far])
    for seed in range(20):
        references, noise = np.full(6, 2 * far), KeyedNoise(bytes([seed]))
        found = band.decide(aggregates[np.newaxis], references, noise)
        assert found.tolist() == [False, True, False, False, True, False]
    assert band.wrong(0, 64) == (1 << 63, 1 << 63)
    edges = np.full((1, 10_000), far)
    found = band.decide(edges, np.full(10_000, 2 * far), KeyedNoise(b"edge"))
    assert 4_700 < found.sum() < 5_300


def test_em_quantile_settles_what_its_table_leaves_open():
    """Words at the very edge of a probability are settled by certified bounds, both ways."""
    band = ExponentialQuantileBand.planned(MEDIAN, Fraction(1), 2)
    rows = rows_of(band, (1, 4, 4, 6, 9), 4)
    lo, _ = band.law(rows, np.array([4]), 64)[0]

    class Edge(KeyedNoise):
        def uint64(self, n):
            return np.full(n, self.word, dtype=np.uint64)

        word = 0

    for word, answer in ((lo - 2, True), (lo + 2, False)):
        noise = Edge(b"edge")
        noise.word = word
        assert band.decide(rows, np.array([4]), noise)[0] == answer


def test_r2t_enumerated_is_its_closed_law():
    """The product of tails is the law of the code, noise by noise."""
    band = RaceBand.planned(Sum(0, 4), Fraction(3), 5)
    for data, reference in product(((), (4, 4, 3), (1,) * 9, (4,) * 12), (0, 8, 40)):
        found = enumerated(band, data, reference, 120)
        assert found == pytest.approx(band.law(sums(data, band.levels), reference), abs=1e-9)


@pytest.mark.parametrize("share", SHARES, ids=str)
@pytest.mark.parametrize("kind", [TightBand, HistogramBand, ExponentialQuantileBand])
def test_quantile_deciders_are_right_without_noise(
    share,
    kind,
):
    """At a vast epsilon every quantile decider answers as sorting does, ties and all."""
    decider = kind.planned(Quantile(share, range(5)), Fraction(4000), 1)
    for data in multisets(range(5), 4)[1:]:
        found = decider.decide(rows_of(decider, data, 2), np.array([2]), KeyedNoise(b"q"))
        assert found[0] == quantile_within(data, share, 2, 1), data


def test_lm_of_a_mean_is_right_without_noise():
    """At a large epsilon it is the truth about every small data set, none included."""
    for kind, reference, tau in BANDS:
        band = AverageLaplaceBand.planned(kind, Fraction(10**6), tau)
        for data in multisets(MEANS, 4):
            truth = float(mean_within(data, kind.scale, reference, tau))
            assert enumerated(band, data, reference, 1) == pytest.approx(truth, abs=1e-9)
