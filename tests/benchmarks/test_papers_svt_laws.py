"""What the SVT-Exp paper's Figures 3 to 5 rest on, in short.

Laws are compared with closed forms and with sums over a lattice; what figures show is not a matter
for tests, but for claims that are theorems.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.papers.svt.exact import Pair, pairs
from benchmarks.papers.svt.methods import gaussian_scale
from operators import svt_correction
from operators.svt import Exponential, Gaussian, Gumbel, Laplace

PAIRS = {
    "exp": Pair(Exponential(4.0), Laplace(2.0)),
    "equal": Pair(Exponential(3.0), Laplace(3.0)),
    "lap": Pair(Laplace(4.0), Laplace(1.5)),
    "gum": Pair(Gumbel(4.0), Laplace(7.0)),
    "gau": Pair(Gaussian(5.0), Gaussian(2.0)),
    "one-sided": Pair(Exponential(4.0), Exponential(2.0)),
}


def added_up(pair, r, negatives, tolerance):
    """Return the success of a run by a sum over a fine lattice of the threshold's noise."""
    edges = np.linspace(-pair.threshold.reach, pair.threshold.reach, 400_001)
    masses = -np.diff(pair.threshold.survival(edges))
    rho = (edges[1:] + edges[:-1]) / 2
    quiet = 1 - pair.query.survival(r + tolerance + rho)
    return float(masses @ (quiet**negatives * pair.query.survival(r - tolerance + rho)))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("r", "negatives", "alpha"), [(0.0, 1, 0.0), (7.0, 20, 3.0), (-4.0, 3, 9)])
def test_success_is_the_sum_over_the_threshold(name, r, negatives, alpha):
    """Both probabilities are those of a lattice; to let questions have their own rho shows."""
    pair = PAIRS[name]
    together = pair.together(r, negatives, alpha)
    assert together == pytest.approx(added_up(pair, r, negatives, alpha), rel=1e-6, abs=1e-9)
    low, high = 1 - added_up(pair, r + alpha, 0, 0), added_up(pair, r - alpha, 0, 0)
    apart = pair.apart(r, negatives, alpha)
    assert apart == pytest.approx(low**negatives * high, rel=1e-6, abs=1e-9)
    assert apart != pytest.approx(together, rel=1e-4)


@pytest.mark.parametrize("name", PAIRS)
def test_variances_and_means_are_those_of_the_laws(name):
    """They are integrals of the tails, E[X] and E[X^2]."""
    pair = PAIRS[name]
    x = np.linspace(0, 60 * pair.query.scale, 2_000_001)
    above, under = pair.query.survival(x), 1 - pair.query.survival(-x)
    mean = np.trapezoid(above - under, x)
    second = np.trapezoid(2 * x * (above + under), x)
    assert pair.mean == pytest.approx(mean, abs=1e-4)
    own = replace(pair, threshold=pair.query).variance / 2
    assert own == pytest.approx(second - mean**2, rel=1e-4)
    assert pair.variance == pytest.approx(
        own + replace(pair, query=pair.threshold).variance / 2, rel=1e-12
    )


@pytest.mark.parametrize("name", PAIRS)
def test_no_noise_is_more_successful_without_a_tolerance(name):
    """The peak of Equation 8 at alpha = 0 is k^k / (k + 1)^(k + 1), for every noise and scale."""
    pair = PAIRS[name]
    best = pair.best(lambda r: pair.apart(r, 20))
    assert pair.apart(best, 20) == pytest.approx(20**20 / 21**21, rel=1e-9)
    assert pair.below(best) == pytest.approx(20 / 21, rel=1e-5)
    shared = pair.best(lambda r: pair.together(r, 20))
    assert pair.together(shared, 20) > pair.together(best, 20)
    if name in {"exp", "one-sided"}:
        assert best == pytest.approx(svt_correction(pair.query, pair.threshold, 20), rel=1e-4)


def test_a_larger_tolerance_can_raise_the_correction():
    """The paper's second takeaway of Figure 5 does not hold for every step."""
    pair = pairs(1, 0.1, halved=True)["SVT-Exp"]
    rs = [svt_correction(pair.query, pair.threshold, 10, a) for a in (0, 50, 100)]
    assert rs[1] < rs[2] < rs[0]


def test_noises_are_those_of_algorithm_2():
    """Scales are 2c / epsilon_2 and 1 / epsilon_1; exponential noise varies least."""
    every = pairs(50, 2.0)
    assert list(every) == ["SVT-Exp", "SVT-Lap", "SVT-Gum", "SVT-Gau"]
    for name, unit in {"SVT-Exp": 1.0, "SVT-Lap": 2.0, "SVT-Gum": math.pi**2 / 6}.items():
        pair = every[name]
        spent = 100 / pair.query.scale + 1 / pair.threshold.scale
        assert spent == pytest.approx(2.0)
        cubes = np.cbrt(2) + np.cbrt(unit * 100**2)
        assert pair.variance == pytest.approx(cubes**3 / 4)
    variances = [pair.variance for pair in every.values()]
    assert min(variances) == variances[0]
    halves = pairs(1, 1.0, halved=True)
    assert (halves["SVT-Exp"].query.scale, halves["SVT-Lap"].threshold.scale) == (4.0, 2.0)
    assert halves["SVT-Gau"].query.scale == pytest.approx(2 * gaussian_scale(0.5, 1e-4))
