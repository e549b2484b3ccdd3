"""What deciders draw: laws written down from their definitions, and the words that meet them."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from operators.deciders import (
    Average,
    AverageLaplaceBand,
    Count,
    ExponentialBand,
    ExponentialQuantileBand,
    HistogramBand,
    LaplaceBand,
    Quantile,
    RaceBand,
    SparseBand,
    Sum,
    TightBand,
)
from operators.noise.source import KeyedNoise
from tests.statistical.deciders_law import (
    Scripted,
    enumerated,
    inside,
    multisets,
    rows_of,
    within,
)
from tests.statistical.enumeration import Words
from tests.statistical.test_deciders_losses_exact import TIGHT


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
POINTS = range(0, 60, 3)
COUNTS = [(1,) * count for count in range(40)]
DRAWN = {
    "em": (ExponentialBand.planned(Count(), Fraction(1, 3), 6), COUNTS, 20),
    "tight": (TightBand.planned(Count(), Fraction(1, 3), 6), COUNTS, 20),
    "em of a quantile": (
        ExponentialQuantileBand.planned(Quantile(Fraction(1, 4), POINTS), Fraction(3, 10), 8),
        [tuple(RNG.choice(POINTS, size).tolist()) for size in (0, 1, 5, 40, 200)],
        15,
    ),
}


def edge(band, data, rows, reference):
    """Return bounds of 2^64 times a probability, and the answer where a word is below it."""
    at = np.array([reference])
    if isinstance(band, TightBand):
        (outside,) = band.law(rows, at).tolist()
        return outside, outside, False
    if isinstance(band, ExponentialQuantileBand):
        return *band.law(rows, at, 64)[0], True
    distance = abs(len(data) - reference)
    return *band.wrong(abs(min(distance, 2 * band.tau) - band.tau), 64), distance >= band.tau


@pytest.mark.parametrize("name", DRAWN)
def test_words_on_either_side_of_a_probability_decide(name):
    """In every cell; what a table leaves open is settled by certified bounds, both ways."""
    band, cells, reference = DRAWN[name]
    for data in cells:
        rows = rows_of(band, data, reference)
        lo, hi, below = edge(band, data, rows, reference)
        assert lo <= hi <= lo + 2
        for word, answer in ((lo - 1, below), (hi, not below)):
            assert band.decide(rows, np.array([reference]), Words([word])) == answer


def test_em_of_a_quantile_is_as_the_paper_has_it():
    """The certified law is that of plain exponentials."""
    band, cells, reference = DRAWN["em of a quantile"]
    for data in cells:
        exact = em_quantile_law(band, data, reference)
        assert within(band, rows_of(band, data, reference), reference) == pytest.approx(exact)


def test_em_is_right_where_an_exponential_overflows():
    """At tau epsilon = 1e6 every answer is right, and one half only where it must be."""
    far = 10**6
    band = ExponentialBand.planned(Count(), Fraction(1), far)
    aggregates = np.array([[0, 2 * far, 5 * far, 3 * far + 1000, far + 1000, 4 * far]])
    found = band.decide(aggregates.repeat(20, 1), np.full(120, 2 * far), KeyedNoise(b"far"))
    assert found.reshape(6, 20).all(axis=1).tolist() == [False, True, False, False, True, False]
    assert not found.reshape(6, 20)[[0, 2, 3, 5]].any()
    assert band.wrong(0, 64) == (1 << 63, 1 << 63)


def test_r2t_enumerated_is_its_closed_law():
    """The product of tails is the law of the code, noise by noise."""
    band = RaceBand.planned(Sum(0, 4), Fraction(3), 5)
    for data, reference in product(((), (4, 4, 3), (1,) * 9, (4,) * 12), (0, 8, 40)):
        rows = rows_of(band, data, reference)
        found = enumerated(band, rows, reference, Scripted(120))
        assert found == pytest.approx(within(band, rows, reference), abs=1e-9)


PLANNERS = {
    Average: [AverageLaplaceBand],
    Quantile: [TightBand, HistogramBand, ExponentialQuantileBand],
    Sum: [TightBand, LaplaceBand, RaceBand, SparseBand],
}
SURE = [
    (planner, *of)
    for of in (*TIGHT, (Sum(0, 4), 7, 3, range(5)))
    for planner in PLANNERS[type(of[0])]
]


@pytest.mark.parametrize(("planner", "kind", "reference", "tau", "values"), SURE, ids=str)
def test_deciders_are_right_without_noise(planner, kind, reference, tau, values):
    """At a vast epsilon all answer as arithmetic does; a quantile of nothing is left to chance."""
    decider, at = planner.planned(kind, Fraction(4000), tau), np.array([reference])
    for data in multisets(values, 4)[isinstance(kind, Quantile) :]:
        found = decider.decide(rows_of(decider, data, reference), at, KeyedNoise(b"q"))
        assert found[0] == inside(kind, data, reference, tau), data
