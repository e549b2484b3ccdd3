"""Splits and corrections: closed forms, transforms, and the best whole number."""

from __future__ import annotations

import math

import numpy as np
import pytest

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


@pytest.mark.parametrize(("noise", "variance"), [("exp", 1), ("lap", 2), ("gum", math.pi**2 / 6)])
@pytest.mark.parametrize("monotone", [False, True])
def test_split_is_the_papers(noise, variance, monotone):
    """Section 4's closed form, and where the variance of a comparison is least."""
    for alarms in (1, 7, 50):
        scale = alarms if monotone else 2 * alarms

        def spread(w, s=scale):
            return (1 + w) ** 2 * (2 + variance * (s / w) ** 2)

        w = float(optimal_split(alarms, monotone=monotone, noise=noise))
        assert w == pytest.approx((math.sqrt(variance / 2) * scale) ** (2 / 3), abs=1e-6)
        assert spread(w) < min(spread(w * 0.999), spread(w * 1.001))


@pytest.mark.long
@pytest.mark.parametrize("scales", [(1, 1), (3, 1), (1, 7), (40, 1)])
def test_both_corrections_agree(scales):
    """Closed form and transform, to 1e-6 in proportion."""
    for threshold in (Laplace, Exponential):
        noises = Exponential(scales[0]), threshold(scales[1])
        cases = ((2, 4.0), (50, 1.5), (1e4, 0.3)) if threshold is Laplace else ((1e4, 0.3),)
        for negatives, tolerance in cases:
            exact = svt_correction(*noises, negatives, tolerance)
            by_fft = svt_correction(*noises, negatives, tolerance, "fft")
            assert by_fft == pytest.approx(exact, 1e-6, 1e-6)


def likely(query, threshold, r):
    """Return P[v >= r + rho], summed over a fine lattice of the threshold's noise."""
    edges = np.linspace(-60, 60, 400_001)
    masses = -np.diff(threshold.survival(edges))
    return float(masses @ query.survival(r + (edges[1:] + edges[:-1]) / 2))


@pytest.mark.parametrize(("scale", "negatives"), [(1.0, 5), (3.0, 50), (0.2, 1)])
def test_correction_without_tolerance_is_a_quantile(scale, negatives):
    """At a = 0, a cell at its threshold fires with 1 / (k + 1); of normal laws it is known."""
    for threshold in (Laplace(1), Exponential(1)):
        r = svt_correction(Exponential(scale), threshold, negatives)
        above = likely(Exponential(scale), threshold, r)
        assert above == pytest.approx(1 / (negatives + 1), abs=1e-7)
    r = svt_correction(Gaussian(3), Gaussian(4), 3, method="fft")
    assert r == pytest.approx(5 * 0.6744897501960817, rel=1e-6)  # the normal law's third quartile


@pytest.mark.long
@pytest.mark.parametrize("query", [Exponential(2), Laplace(2), Gumbel(2), Gaussian(2)], ids=str)
def test_correction_is_the_maximum(query):
    """No r near it does better, for any pair and tolerance."""

    def success(r):
        high, low = (likely(query, Laplace(1), at) for at in (r + 0.7, r - 0.7))
        return (1 - high) ** 20 * low

    r = svt_correction(query, Laplace(1), 20, 0.7, "fft")
    assert success(r) > max(success(r + move) for move in (-0.1, -0.03, 0.03, 0.1))


@pytest.mark.parametrize("one_sided", [False, True])
def test_whole_correction_is_best_on_integers(one_sided):
    """Against all whole r around it, by a direct sum over both noises."""
    at = np.arange(0 if one_sided else -900, 900)
    for rates, negatives, tolerance in (((8, 3), 5, 0), ((1, 1), 100, 2), ((20, 2), 1, 0)):
        asking, opening = (rate * 10**11 for rate in rates)
        terms = plan(1, alarm_units=asking, open_units=opening, one_sided=one_sided)
        masses = np.exp(-np.abs(at) * float(terms.threshold_rate))
        needed = np.maximum(at + np.arange(-30, 120)[:, np.newaxis], 0)
        fires = np.exp(-needed * float(terms.query_rate)) @ (masses / masses.sum())
        right = {
            r: (1 - fires[30 + r + tolerance + 1]) ** negatives * fires[30 + r - tolerance]
            for r in range(-20, 110)
        }
        assert integer_correction(terms, negatives, tolerance) == max(right, key=right.get)
