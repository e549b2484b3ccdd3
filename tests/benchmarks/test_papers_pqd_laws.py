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
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

DRAWS = 20_000
FIVE_ERRORS = 5.0


@pytest.fixture(autouse=True)
def a_clip_of_377(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are over minutes of at most 377."""
    monkeypatch.setattr(study, "CLIPS", {"minutes": 377})


def sums(reference: int, values: int = 400) -> Case:
    """Return a sum of minutes around a reference."""
    rng = np.random.default_rng(6)
    rows = np.minimum(rng.exponential(16, values).astype(np.int64), 300)
    query = Query("q", "q", "sum", {}, "minutes")
    return Case(query, rows, int(rows.sum()), reference, 1)


def off(chance: float, drawn: NDArray[np.bool_]) -> float:
    """Return how many standard errors a share of draws lies from its probability."""
    return abs(float(drawn.mean()) - chance) / np.sqrt(max(chance * (1 - chance), 1e-9) / DRAWS)


def beside(
    case: Case, name: str, epsilon: Fraction, tau: int, away: int
) -> tuple[Callable[[], float], NDArray[np.bool_]]:
    """Return how to compute the law of a decider of a sum, and draws of it."""
    decider = planned(name, case.kind, epsilon, tau)
    column, references = case.column(decider)[:, np.newaxis], np.array([case.reference])
    drawn = decider.decide(
        np.repeat(column, DRAWS, axis=1), np.repeat(references, DRAWS), KeyedNoise(b"sums")
    )
    return partial(laws.within, decider, column, references, away), drawn


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("name", ["svt", "r2t"])
@pytest.mark.parametrize("away", [0, 150, 900])
def test_sums_have_their_laws(name, epsilon, away):
    """Draws of the library's deciders of sums agree with the probabilities that are computed."""
    law, drawn = beside(sums(sums(0).answer + away), name, epsilon, 800, away)
    assert off(law(), drawn) < FIVE_ERRORS


def test_a_threshold_of_its_own_for_either_pass_is_caught(monkeypatch):
    """Were the noisy threshold drawn twice, svt would have another law, and draws tell."""

    def apart(bound, over, above, masses):
        return float(bound @ ((over @ masses) * (1 - above @ masses)))

    law, drawn = beside(sums(sums(0).answer - 1_250), "svt", Fraction(1, 4), 100, 0)
    assert off(law(), drawn) < FIVE_ERRORS
    monkeypatch.setattr(laws, "_passed", apart)
    assert off(law(), drawn) > FIVE_ERRORS


@pytest.mark.parametrize(
    ("share", "rows"), [(Fraction(1, 2), (9, 3, 4)), (Fraction(9, 10), (20, 17, 1))]
)
def test_hist_is_its_enumeration(share, rows):
    """The law of hist is the sum over its three noises, one by one; a wrong end is told apart."""
    decider = planned("hist", Quantile(share, range(20)), Fraction(6), 2)
    total, low, high = rows
    noise, masses = np.arange(-9, 10), np.tanh(1.5) * np.exp(-3.0 * np.abs(np.arange(-9, 10)))
    a, b = share.numerator, share.denominator

    def enumerated(high_end):
        chance = 0.0
        for z, mass in zip(noise, masses, strict=True):
            below = masses[b * (low + noise) < a * (total + z)].sum()
            above = masses[b * (high + noise) <= (b - a) * (total + z) + high_end].sum()
            chance += float(mass * below * above)
        return chance

    found = laws.within(decider, np.array([rows]).T, np.array([10]), 0)
    assert found == pytest.approx(enumerated(0), abs=1e-9)
    assert found != pytest.approx(enumerated(-b), abs=1e-3)
