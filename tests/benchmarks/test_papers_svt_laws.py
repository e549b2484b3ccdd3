"""What the SVT-Exp paper's Figures 3 to 5 and 11 to 17 rest on, in short.

Laws are compared with closed forms and with sums over a lattice; what figures show is not a matter
for tests, but for claims that are theorems.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from benchmarks.papers.svt import tolerance, transform
from benchmarks.papers.svt.data import scores_of
from benchmarks.papers.svt.exact import Pair, pairs
from benchmarks.papers.svt.methods import BEST, by_renyi, gaussian_scale, methods
from benchmarks.papers.svt.plots import Curve, Panel, drawn
from benchmarks.papers.svt.trials import CAPS
from operators import svt_correction
from operators.svt import Exponential, Gaussian, Gumbel, Laplace

if TYPE_CHECKING:
    from pathlib import Path

SMALL = scores_of([14, 12, 11, 9, 9, 6, 3, 0], 3, None, 10)
PAIRS = {
    "exp": Pair(Exponential(4.0), Laplace(2.0)),
    "equal": Pair(Exponential(3.0), Laplace(3.0)),
    "lap": Pair(Laplace(4.0), Laplace(1.5)),
    "gum": Pair(Gumbel(4.0), Laplace(7.0)),
    "gau": Pair(Gaussian(5.0), Gaussian(2.0)),
    "one-sided": Pair(Exponential(4.0), Exponential(2.0)),
}


def added_up(pair: Pair, r: float, negatives: int, tolerance: float) -> float:
    """Return the success of a run by a sum over a fine lattice of the threshold's noise."""
    edges = np.linspace(-pair.threshold.reach, pair.threshold.reach, 400_001)
    masses = -np.diff(pair.threshold.survival(edges))
    rho = (edges[1:] + edges[:-1]) / 2
    quiet = 1 - pair.query.survival(r + tolerance + rho)
    return float(masses @ (quiet**negatives * pair.query.survival(r - tolerance + rho)))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("r", "negatives", "alpha"), [(0.0, 1, 0.0), (7.0, 20, 3.0), (-4.0, 3, 9)])
def test_success_is_the_sum_over_the_threshold(
    name: str, r: float, negatives: int, alpha: float
) -> None:
    """Both probabilities are those of a lattice; to let questions have their own rho shows."""
    pair = PAIRS[name]
    together = pair.together(r, negatives, alpha)
    assert together == pytest.approx(added_up(pair, r, negatives, alpha), rel=1e-6, abs=1e-9)
    low, high = 1 - added_up(pair, r + alpha, 0, 0), added_up(pair, r - alpha, 0, 0)
    apart = pair.apart(r, negatives, alpha)
    assert apart == pytest.approx(low**negatives * high, rel=1e-6, abs=1e-9)
    assert apart != pytest.approx(together, rel=1e-4)


def test_comparisons_have_the_closed_forms() -> None:
    """A normal less a normal is normal, and the density of Figure 5 is Gamma's slope."""
    at, normal = 3.0, stats.norm(scale=math.hypot(5, 2))
    assert PAIRS["gau"].below(at) == pytest.approx(normal.cdf(at), abs=1e-12)
    pair, step = PAIRS["exp"], 1e-4
    for x in (-5.0, 0.5, 20.0):
        slope = (pair.below(x + step) - pair.below(x - step)) / (2 * step)
        assert pair.density(np.array(x)) == pytest.approx(slope, rel=1e-6)
    with pytest.raises(TypeError, match="closed form"):
        PAIRS["lap"].density(np.zeros(1))


@pytest.mark.parametrize("name", PAIRS)
def test_variances_and_means_are_those_of_the_laws(name: str) -> None:
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
def test_no_noise_is_more_successful_without_a_tolerance(name: str) -> None:
    """The peak of Equation 8 at alpha = 0 is k^k / (k + 1)^(k + 1), for every noise and scale."""
    pair = PAIRS[name]
    best = pair.best(lambda r: pair.apart(r, 20))
    assert pair.apart(best, 20) == pytest.approx(20**20 / 21**21, rel=1e-9)
    assert pair.below(best) == pytest.approx(20 / 21, rel=1e-5)
    shared = pair.best(lambda r: pair.together(r, 20))
    assert pair.together(shared, 20) > pair.together(best, 20)
    if name in {"exp", "one-sided"}:
        assert best == pytest.approx(svt_correction(pair.query, pair.threshold, 20), rel=1e-4)


def test_a_larger_tolerance_can_raise_the_correction() -> None:
    """The paper's second takeaway of Figure 5 does not hold for every step."""
    pair = pairs(1, 0.1, halved=True)["SVT-Exp"]
    rs = [svt_correction(pair.query, pair.threshold, 10, a) for a in (0, 50, 100)]
    assert rs[1] < rs[2] < rs[0]


def test_noises_are_those_of_algorithm_2() -> None:
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


@pytest.mark.parametrize("buckets", [401, 2_001])
def test_the_printed_transform_has_the_masses_of_its_cells(buckets: int) -> None:
    """Algorithm 3's convolution is the double sum; masses of both noises are kept, and lie low."""
    pair = PAIRS["exp"]
    masses, width = transform.printed(pair, buckets, 1e-6)
    assert masses.shape == (4 * buckets - 1,)
    assert masses.sum() == pytest.approx(1)
    edges = np.arange(1 - buckets, buckets, dtype=np.float64) * width
    one, other = (
        np.concatenate([[1 - s[0]], -np.diff(s), [s[-1]]])
        for s in (pair.query.survival(edges), pair.threshold.survival(edges))
    )
    assert masses == pytest.approx(np.convolve(one, other), abs=1e-12)
    # The lower ends lie below where the noises are: Gamma by them is too high, by a cell or so.
    at = 2 * buckets + 5
    assert masses[: at + 1].sum() == pytest.approx(pair.below(6 * width), abs=2 * width**2)
    assert masses[: at + 1].sum() > pair.below(5 * width)


def test_the_error_falls_with_the_buckets() -> None:
    """By one over the buckets as printed, by their square with the masses in the middle."""
    closed_s, (few, many) = transform.timed((1_001, 10_001))
    assert closed_s > 0
    assert few.norms[0] / many.norms[0] == pytest.approx(10, rel=0.1)
    assert few.norms[1] / many.norms[1] == pytest.approx(100, rel=0.3)
    assert few.off[0] > 1e-3 > few.off[1]


def test_renyi_has_every_method_of_table_3() -> None:
    """Only the noise of questions differs from the main part's; corrections go with it."""
    pure, found = (of(SMALL, 1.0, monotone=True) for of in (methods, by_renyi))
    assert list(found) == [*list(pure)[:5], "SVT-Gau"]
    for name, method in found.items():
        assert (method.query, method.threshold) == (pure[name].query, pure[name].threshold)
    assert found["SVT-Lap"].query_scale == pytest.approx(found["SVT-Gum"].query_scale, rel=0.05)
    exp = found["SVT-Exp, none"]
    best = svt_correction(
        Exponential(exp.query_scale), Laplace(exp.threshold_scale), SMALL.negatives
    )
    assert found[BEST] == replace(exp, correction=round(best))
    assert pure[f"{BEST}, RDP"] == found[BEST]
    assert pure["SVT-Gau, RDP"] == found["SVT-Gau"]


def test_a_tolerance_moves_the_correction_only() -> None:
    """The NCR of every tolerance is that of as many runs, after every cap."""
    found = tolerance.tolerated(SMALL, 2, np.random.default_rng(9))
    assert set(found) == {(a, e) for a in tolerance.TOLERANCES for e in tolerance.EPSILONS_16}
    assert {ncr.shape for _, ncr in found.values()} == {(8, len(CAPS))}
    assert found[0, 0.1][0] > found[0, 1.0][0]


def test_panels_are_drawn(tmp_path: Path) -> None:
    """A plot has a file, whatever its axes."""
    pytest.importorskip("matplotlib")
    of = {"a": Curve([1, 2], [3, 4], 1, 2, mark=1.5)}
    drawn(tmp_path / "one.png", [Panel("t", "x", "y", of, "xy", (1, 9)) for _ in range(3)], 2)
    assert (tmp_path / "one.png").stat().st_size > 1_000
