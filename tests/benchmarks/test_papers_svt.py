"""The reproduction of the SVT-Exp paper's evaluation, in short: that it measures what it says.

What the figures show is not a matter for tests.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from benchmarks.papers.svt.data import load, scores_of
from benchmarks.papers.svt.methods import (
    BEST,
    NAMES,
    Method,
    gaussian_scale,
    methods,
    plan_of,
    rdp_scale,
    rdp_share,
    tail,
)
from benchmarks.papers.svt.study import PRINTED_MEAN, needed_negatives, table_5
from benchmarks.papers.svt.trials import CAPS, best_possible, firsts, run, selected
from operators.noise.source import KeyedNoise
from operators.svt import Exponential, Laplace, ask, open_run, svt_correction

SMALL = scores_of([14, 12, 11, 9, 9, 6, 3, 0], 3, None, 10)
RUNS = 2_500
FAR = 5.0  # standard errors


def drawn_twin(method, cap):
    """Return how often each item of the small data set rings, by drawing first rings."""
    rng, rang = np.random.default_rng(1), np.zeros(SMALL.items)
    for first in firsts(SMALL, method, RUNS, rng):
        found = selected(first, SMALL.alarms, rng)
        rang[found[first[found] <= cap]] += 1
    return rang / RUNS


def asked_library(cap, *, laplace):
    """Return how often each item rings by asking the library, and the same as a method."""
    noise, plan = KeyedNoise(b"svt twin"), plan_of(SMALL, 2.0, questions=cap)
    steps = SMALL.scores - SMALL.threshold
    draw = partial(noise.discrete_laplace, plan.query_rate) if laplace else None
    asked = (ask(plan, open_run(plan, noise), steps, noise, draw=draw) for _ in range(RUNS))
    rang = sum(each.fired.astype(float) for each in asked)
    scales = 1 / float(plan.query_rate), 1 / float(plan.threshold_rate)
    name = "lap" if laplace else "exp"
    return rang / RUNS, Method(name, scales[0], "lap", scales[1], plan.correction)


def apart(one, other):
    """Return the largest difference of two vectors of frequencies, in standard errors."""
    pooled = (one + other) / 2
    errors = np.sqrt(2 * np.maximum(pooled * (1 - pooled), 1 / RUNS) / RUNS)
    return np.max(np.abs(one - other) / errors)


@pytest.mark.parametrize(("cap", "laplace"), [(1, False), (5, False), (5, True)])
def test_first_rings_have_the_law_of_asking(cap, laplace):
    """Drawing when items first ring selects as the library does; another correction shows."""
    asked, method = asked_library(cap, laplace=laplace)
    assert cap in CAPS
    assert apart(drawn_twin(method, cap), asked) < FAR
    broken = replace(method, correction=method.correction - 2)
    assert apart(drawn_twin(broken, cap), asked) > FAR


def test_runs_end_with_the_last_positive():
    """Items that would ring come out by traversal, in random order within one, and at most c."""
    rng = np.random.default_rng(2)
    first = np.array([2.0, np.inf, 1.0, 2.0, 7.0, 5_000.0])
    seen = {tuple(selected(first, 2, rng).tolist()) for _ in range(60)}
    assert seen == {(2, 0), (2, 3)}
    assert sorted(selected(first, 6, rng).tolist()) == [0, 2, 3, 4]
    assert selected(np.full(3, np.inf), 2, rng).size == 0


@pytest.mark.parametrize(
    ("scores", "correction", "score"),
    [
        (SMALL, 0, 1),
        (SMALL, 100, 0),
        (SMALL, 3, 3 / 6),
        (scores_of([30, 20, 5, 4, 0], 3, None, 10), -5, 5 / 6),
    ],
    ids=["sure", "impossible", "only the top", "flooded"],
)
def test_scores_are_those_of_the_definitions(scores, correction, score):
    """NCR weighs the top item most, and what lies below the threshold is worth nothing."""
    quiet, rng = Method("exp", 1e-3, "lap", 1e-3, correction=correction), np.random.default_rng(4)
    found = run(scores, quiet, 5, rng)
    assert found.shape == (5, len(CAPS))
    assert found == pytest.approx(score)
    assert (best_possible(SMALL, 1e-9, 5, rng) == 1).all()


@pytest.mark.parametrize("scale", [0.4, 3.0, 250.0])
def test_tails_are_those_of_the_laws(scale):
    """P[v >= x] is scipy's of a continuous law, and the sum of the masses of one on integers."""
    at = np.array([-900.0, -3.0, -1.0, 0.0, 1.0, 2.0, 40.0])
    near = np.maximum(at, -100 * scale)  # scipy overflows farther out
    for law, made in (("gum", stats.gumbel_r), ("gau", stats.norm)):
        assert tail(law, scale, at) == pytest.approx(made.sf(near, scale=scale), abs=1e-12)
    for law, lowest in (("exp", 0), ("lap", -20_000)):
        grid = np.arange(lowest, 20_001)
        weights = np.exp(-np.abs(grid) / scale)
        expected = [weights[grid >= each].sum() / weights.sum() for each in at]
        assert tail(law, scale, at) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_renyi_accounting_gives_back_its_epsilon():
    """The scales found cost their epsilon; c uses cost less than c times one."""
    from dp_accounting import GaussianDpEvent, rdp  # noqa: PLC0415  # slow to import

    sigma = rdp_scale(0.9, 1e-5, 50)
    accountant = rdp.RdpAccountant()
    accountant.compose(GaussianDpEvent(sigma), 50)
    assert accountant.get_epsilon(1e-5) == pytest.approx(0.9, rel=0.01)
    assert sigma < 50 * gaussian_scale(0.9, 1e-5)
    assert gaussian_scale(0.5, 1e-4) == pytest.approx(math.sqrt(2 * math.log(12_500)) / 0.5)
    share = rdp_share(0.9, 1e-5, 50)
    assert 0.9 / 50 < share < 0.9
    orders = np.linspace(1.5, 2_000, 20_000)
    spent = 50 * np.minimum(share, orders * share**2 / 2)
    assert rdp.compute_epsilon(orders, spent, 1e-5)[0] == pytest.approx(0.9, rel=0.01)


@pytest.mark.parametrize("scores", load(None).values(), ids=load(None))
def test_methods_differ_as_table_3_says(scores):
    """Noises and corrections are the table's, ours the library's plan, in every data set."""

    def right(method):
        noises = Exponential(method.query_scale), Laplace(method.threshold_scale)
        return svt_correction(*noises, scores.negatives)

    made = methods(scores, 1.0)
    assert tuple(made) == NAMES
    assert plan_of(scores, 1.0).epsilon_units <= 10**12
    best, plain, renyi = (made[name] for name in (BEST, "SVT-Exp, none", f"{BEST}, RDP"))
    assert best.query_scale == pytest.approx(plain.query_scale, rel=1e-6)
    assert best.threshold_scale == pytest.approx(plain.threshold_scale, rel=1e-6)
    assert best.correction == pytest.approx(right(best), abs=2)
    assert renyi.correction == round(right(renyi))
    assert made["SVT-Lap"].correction == made["SVT-Gau"].correction == 0
    assert {made["SVT-Gum"].query, made["SVT-Gau"].threshold} == {"gum", "gau"}
    assert made["SVT-Gau"].query_scale > made["SVT-Gau, RDP"].query_scale
    spent = (1 - 1 / renyi.threshold_scale, scores.delta, scores.alarms)
    assert rdp_share(*spent) == pytest.approx(1 / renyi.query_scale)


def test_table_5_is_inverted():
    """The means are the paper's but for its first; the k of an optimal correction is found."""
    for epsilon, printed in PRINTED_MEAN.items():
        scale, threshold = table_5(epsilon, "lap", 1)
        assert (abs(scale - printed) < 0.01) == (epsilon != 0.01)
        r = svt_correction(Exponential(scale), Laplace(threshold), 200)
        assert needed_negatives(r, scale, threshold) == pytest.approx(200, rel=1e-9)
