"""Exact laws of DP-PQD's deciders, the library's and as printed, beside draws."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.papers.pqd import laws, study
from benchmarks.papers.pqd.data import Query
from benchmarks.papers.pqd.study import Case
from operators.deciders import Quantile, planned
from operators.noise.source import KeyedNoise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

DRAWS = 20_000
FIVE_ERRORS = 5.0


@pytest.fixture(autouse=True)
def a_clip_of_377(monkeypatch):
    """Sums are over minutes of at most 377."""
    monkeypatch.setattr(study, "CLIPS", {"minutes": 377})


def sums(away):
    """Return a sum of 400 values so far from its reference."""
    values = np.random.default_rng(6).exponential(16, 400).astype(np.int64)
    rows = np.minimum(values, 300)
    total = int(rows.sum())
    return Case(Query("q", "q", "sum", {}, "minutes"), rows, total, total + away, 1)


def off(chance, drawn):
    """Return how many standard errors a share of draws lies from its probability."""
    return abs(drawn.mean() - chance) / np.sqrt(max(chance * (1 - chance), 1e-9) / DRAWS)


def beside(case, name, epsilon, tau, away):
    """Return how to compute the law of a decider of a sum, and draws of it."""
    decider = planned(name, case.kind, epsilon, tau)
    column, references = case.column(decider)[:, np.newaxis], np.array([case.reference])
    cells = np.repeat(column, DRAWS, axis=1), np.repeat(references, DRAWS)
    drawn = decider.decide(*cells, KeyedNoise(b"sums"))
    return partial(laws.within, decider, column, references, away), drawn


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("name", ["svt", "r2t"])
@pytest.mark.parametrize("away", [0, 150, 900])
def test_sums_have_their_laws(name, epsilon, away):
    """Draws of the library's deciders of sums agree with the probabilities that are computed."""
    law, drawn = beside(sums(away), name, epsilon, 800, away)
    assert off(law(), drawn) < FIVE_ERRORS


def test_a_threshold_of_its_own_for_either_pass_is_caught(monkeypatch):
    """Were the noisy threshold drawn twice, svt would have another law, and draws tell."""

    def apart(bound, over, above, masses):
        return float(bound @ ((over @ masses) * (1 - above @ masses)))

    law, drawn = beside(sums(-1_250), "svt", Fraction(1, 4), 100, 0)
    assert off(law(), drawn) < FIVE_ERRORS
    monkeypatch.setattr(laws, "_passed", apart)
    assert off(law(), drawn) > FIVE_ERRORS


@pytest.mark.parametrize(
    ("share", "rows"), [(Fraction(1, 2), (9, 3, 4)), (Fraction(9, 10), (20, 17, 1))]
)
def test_hist_is_its_enumeration(share, rows):
    """The law of hist is the sum over its three noises, one by one; a wrong end is told apart."""
    decider = planned("hist", Quantile(share, range(20)), Fraction(6), 2)
    (total, low, high), z = rows, np.arange(-9, 10)
    masses = np.tanh(1.5) * np.exp(-3.0 * np.abs(z))
    a, b = share.numerator, share.denominator
    totals = total + z[:, np.newaxis]

    def enumerated(end):
        below = (b * (low + z) < a * totals) @ masses
        above = (b * (high + z) <= (b - a) * totals + end) @ masses
        return masses @ (below * above)

    found = laws.within(decider, np.array([rows]).T, np.array([10]), 0)
    assert found == pytest.approx(enumerated(0), abs=1e-9)
    assert found != pytest.approx(enumerated(-b), abs=1e-3)
