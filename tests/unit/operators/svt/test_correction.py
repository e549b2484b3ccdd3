"""Splits and corrections: closed forms, transforms, and the best whole number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from operators import (
    svt_correction,
)
from operators.svt import (
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    integer_correction,
    optimal_split,
)
from tests.support.svt import plan


@pytest.mark.parametrize("noise", ["exp", "lap", "gum"])
@pytest.mark.parametrize("monotone", [False, True])
def test_split_has_the_least_variance(noise, monotone):
    """The formula's w is where a search over all splits ends."""
    unit = {"exp": 1.0, "lap": 2.0, "gum": math.pi**2 / 6}[noise]
    for alarms in (1, 7, 50):
        scale = alarms if monotone else 2 * alarms

        def variance(log_w, s=scale):
            first = 1 / (1 + math.exp(log_w))
            return 2 / first**2 + unit * (s / (first * math.exp(log_w))) ** 2

        best = minimize_scalar(variance, bounds=(-5, 15), method="bounded", options={"xatol": 1e-9})
        w = optimal_split(alarms, monotone=monotone, noise=noise)
        assert float(w) == pytest.approx(math.exp(best.x), rel=1e-4)


def test_split_is_the_papers():
    """Section 4's closed forms for a run of 50."""
    for noise, any_way, one_way in (
        ("exp", 50 * math.sqrt(2), 50 / math.sqrt(2)),
        ("lap", 100, 50),
        ("gum", 50 * math.pi / math.sqrt(3), 50 * math.pi / math.sqrt(12)),
    ):
        for monotone, base in ((False, any_way), (True, one_way)):
            w = optimal_split(50, monotone=monotone, noise=noise)
            assert float(w) == pytest.approx(base ** (2 / 3), abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("scales", [(1, 1), (3, 1), (1, 7), (40, 1)])
def test_both_corrections_agree(scales):
    """Closed form and transform, to 1e-6 in proportion."""
    for threshold in (Laplace, Exponential):
        noises = Exponential(scales[0]), threshold(scales[1])
        cases = ((1, 0), (50, 1.5), (1e4, 0.3)) if threshold is Laplace else ((1e4, 0.3),)
        for negatives, tolerance in cases:
            exact = svt_correction(*noises, negatives, tolerance)
            by_fft = svt_correction(*noises, negatives, tolerance, "fft")
            assert by_fft == pytest.approx(exact, 1e-6, 1e-6)


def test_correction_without_tolerance_is_a_quantile():
    """At a = 0, Gamma(r) = k / (k + 1), for pairs whose law is known: scipy's integral says so."""
    for scale, negatives in ((1.0, 5), (3.0, 50), (0.2, 1)):
        r = svt_correction(Exponential(scale), Laplace(1), negatives)
        at = np.linspace(-60, 60, 2_000_001)
        weights = np.exp(-np.abs(at)) / 2 * (at[1] - at[0])
        above = float(weights @ np.exp(-np.maximum(r + at, 0) / scale))
        assert 1 - above == pytest.approx(negatives / (negatives + 1), abs=1e-7)
        r = svt_correction(Exponential(scale), Exponential(1), negatives)
        weights = np.where(at < 0, 0.0, 2 * weights)
        weights /= weights.sum()
        above = float(weights @ np.exp(-np.maximum(r + at, 0) / scale))
        assert 1 - above == pytest.approx(negatives / (negatives + 1), abs=1e-4)
    r = svt_correction(Gaussian(3), Gaussian(4), 3, method="fft")
    assert r == pytest.approx(5 * 0.6744897501960817, rel=1e-6)  # the normal law's third quartile


@pytest.mark.long
def test_correction_is_the_maximum():
    """No r near it does better, for any pair and tolerance."""
    sample = np.linspace(-40, 60, 200_001)
    weights = np.exp(-np.abs(sample)) / 2 * (sample[1] - sample[0])

    def objective(query, r):
        high, low = (float(weights @ query.survival(at + sample)) for at in (r + 0.7, r - 0.7))
        return 20 * math.log(1 - high) + math.log(low)

    for query in (Exponential(2), Laplace(2), Gumbel(2), Gaussian(2)):
        r = svt_correction(query, Laplace(1), 20, 0.7, "fft")
        best = objective(query, r)
        assert all(objective(query, r + move) < best for move in (-0.1, -0.03, 0.03, 0.1))


@pytest.mark.parametrize("one_sided", [False, True])
def test_whole_correction_is_best_on_integers(one_sided):
    """Against all whole r around it, by a direct sum over both noises."""
    at = np.arange(0 if one_sided else -900, 900)
    for rates, negatives, tolerance in (((8, 3), 5, 0), ((1, 1), 100, 2), ((20, 2), 1, 0)):
        terms = plan(
            1,
            alarm_units=rates[0] * 10**11,
            open_units=rates[1] * 10**11,
            one_sided=one_sided,
        )
        masses = np.exp(-np.abs(at) * float(terms.threshold_rate))
        masses /= masses.sum()

        def rings(r, law=terms, weights=masses):
            needed = np.maximum(at + r, 0)
            return float(weights @ np.exp(-needed * float(law.query_rate)))

        def right(
            r,
            above=rings,
            k=negatives,
            a=tolerance,
        ):
            return (1 - above(r + a + 1)) ** k * above(r - a)

        best = max(range(-20, 110), key=right)
        assert integer_correction(terms, negatives, tolerance) == best
