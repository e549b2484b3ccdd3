"""The reproduction of the SVT-Exp paper's evaluation, in short: that it measures what it says.

What the figures show is not a matter for tests.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from benchmarks.papers.svt import report as svt_report
from benchmarks.papers.svt import study as svt
from benchmarks.papers.svt import theory
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
from benchmarks.papers.svt.study import PRINTED_MEAN, Duel, duels, needed_negatives, table_5
from benchmarks.papers.svt.trials import CAPS, best_possible, firsts, run, selected
from operators.noise.source import KeyedNoise
from operators.svt import Exponential, Laplace, ask, open_run, svt_correction
from tests.support.papers import SLICE, every_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALL = scores_of([14, 12, 11, 9, 9, 6, 3, 0], 3, None, 10)
RUNS = 2_500
FAR = 5.0  # standard errors


def drawn_twin(method: Method, cap: int, seed: int = 1) -> NDArray[np.float64]:
    """Return how often each item of the small data set rings, by drawing first rings."""
    rng = np.random.default_rng(seed)
    rang = np.zeros(SMALL.items)
    for first in firsts(SMALL, method, RUNS, rng):
        found = selected(first, SMALL.alarms, rng)
        rang[found[first[found] <= cap]] += 1
    return rang / RUNS


def asked_library(cap: int, *, laplace: bool) -> tuple[NDArray[np.float64], Method]:
    """Return how often each item rings by asking the library, and the same as a method."""
    noise = KeyedNoise(b"svt twin")
    plan = plan_of(SMALL, 2.0, questions=cap)
    steps = SMALL.scores - SMALL.threshold
    draw = partial(noise.discrete_laplace, plan.query_rate) if laplace else None
    rang = np.zeros(SMALL.items)
    for _ in range(RUNS):
        rang += ask(plan, open_run(plan, noise), steps, noise, draw=draw).fired
    method = Method(
        "lap" if laplace else "exp",
        1 / float(plan.query_rate),
        "lap",
        1 / float(plan.threshold_rate),
        plan.correction,
    )
    return rang / RUNS, method


def apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the largest difference of two vectors of frequencies, in standard errors."""
    pooled = (one + other) / 2
    errors = np.sqrt(2 * np.maximum(pooled * (1 - pooled), 1 / RUNS) / RUNS)
    return float(np.max(np.abs(one - other) / errors))


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
    quiet = Method("exp", 1e-3, "lap", 1e-3, correction=correction)
    found = run(scores, quiet, 5, np.random.default_rng(4))
    assert found.shape == (5, len(CAPS))
    assert found == pytest.approx(score)


def test_without_noise_nothing_better_is_possible():
    """The best that any correction reaches."""
    assert (best_possible(SMALL, 1e-9, 5, np.random.default_rng(3)) == 1).all()


def test_more_traversals_find_no_less():
    """A positive stays one, whatever the cap."""
    rng = np.random.default_rng(5)
    for method in methods(SMALL, 1.0).values():
        assert (np.diff(run(SMALL, method, 50, rng), axis=1) >= 0).all()


@pytest.mark.parametrize("law", ["exp", "lap", "gum", "gau"])
@pytest.mark.parametrize("scale", [0.4, 3.0, 250.0])
def test_tails_are_those_of_the_laws(law, scale):
    """P[v >= x] is the sum or the integral of the law."""
    at = np.array([-900.0, -3.0, -1.0, 0.0, 1.0, 2.0, 40.0])
    if law in {"gum", "gau"}:
        made = stats.gumbel_r if law == "gum" else stats.norm
        near = np.maximum(at, -100 * scale)  # scipy overflows farther out
        assert tail(law, scale, at) == pytest.approx(made.sf(near, scale=scale), abs=1e-12)
        return
    grid = np.arange(0 if law == "exp" else -20_000, 20_001)
    weights = np.exp(-np.abs(grid) / scale)
    expected = [weights[grid >= each].sum() / weights.sum() for each in at]
    assert tail(law, scale, at) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_methods_differ_as_table_3_says():
    """Noises and corrections are the table's, ours the library's plan, in every data set."""
    for scores in load(None).values():
        made = methods(scores, 1.0)
        assert tuple(made) == NAMES
        plan = plan_of(scores, 1.0)
        assert plan.epsilon_units <= 10**12
        best = made[BEST]
        assert best.query_scale == pytest.approx(made["SVT-Exp, none"].query_scale, rel=1e-6)
        assert best.threshold_scale == pytest.approx(made["SVT-Exp, none"].threshold_scale, 1e-6)
        exact = svt_correction(
            Exponential(best.query_scale), Laplace(best.threshold_scale), scores.negatives
        )
        assert best.correction == pytest.approx(exact, abs=2)
        assert made["SVT-Lap"].correction == made["SVT-Gau"].correction == 0
        assert {made["SVT-Gum"].query, made["SVT-Gau"].threshold} == {"gum", "gau"}
        assert made["SVT-Gau"].query_scale > made["SVT-Gau, RDP"].query_scale
        renyi = made[f"{BEST}, RDP"]
        right = svt_correction(
            Exponential(renyi.query_scale), Laplace(renyi.threshold_scale), scores.negatives
        )
        assert renyi.correction == round(right)
        spent = (1 - 1 / renyi.threshold_scale, scores.delta, scores.alarms)
        assert rdp_share(*spent) == pytest.approx(1 / renyi.query_scale)


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


def test_table_5_is_inverted():
    """The means are the paper's but for its first; the k of an optimal correction is found."""
    for epsilon, printed in PRINTED_MEAN.items():
        scale, threshold = table_5(epsilon, "lap", 1)
        assert (abs(scale - printed) < 0.01) == (epsilon != 0.01)
        r = svt_correction(Exponential(scale), Laplace(threshold), 200)
        assert needed_negatives(r, scale, threshold) == pytest.approx(200, rel=1e-9)


def test_duels_are_won_beyond_sampling_error():
    """A case is won or lost by more than two standard errors; a tie is neither."""
    won, lost, tied = (Duel("zipf", 1.0, "SVT-Lap", ours, 0.5, 0.04) for ours in (0.6, 0.4, 0.5))
    assert (won.ahead, won.behind) == (True, False)
    assert (lost.ahead, lost.behind) == (False, True)
    assert (tied.ahead, tied.behind) == (False, False)
    rng = np.random.default_rng(6)
    found = svt.measured({"small": SMALL}, 40, rng, epsilons=(0.5,))
    (mean,) = duels(found, ("SVT-Lap",), 100)
    at = CAPS.index(100)
    every = found["small", 0.5]
    assert mean.ours == pytest.approx(every[BEST][:, at].mean())
    assert mean.theirs == pytest.approx(every["SVT-Lap"][:, at].mean())


def test_made_data_are_the_papers():
    """Binary and Zipf have 50 positives of 10,000 items at the printed thresholds."""
    made = load(None)
    assert set(made) == {"binary", "zipf"}
    for scores in made.values():
        assert (scores.items, scores.alarms, scores.negatives) == (10_000, 50, 200)
        assert np.count_nonzero(scores.scores >= scores.threshold) == 50
        assert scores.delta == 1e-4
    assert made["zipf"].scores[[0, 49, 50]].tolist() == [10_000, 200, 196]


def test_thresholds_lie_in_the_middle():
    """Between item c and the next, rounded up; c items reach it unless two are equal."""
    assert scores_of([1, 9, 4, 7], 2, 10).threshold == 6
    assert scores_of([9, 7, 7, 1], 2, 10).threshold == 7
    assert scores_of([9, 8, 1], 1, 10).threshold == 9
    assert scores_of([3, 1], 1, 8).delta == 1 / 8


def test_supports_are_counted(tmp_path):
    """An item of a basket counts once, however often it is in it."""
    pa = pytest.importorskip("pyarrow")
    lines = [" ".join(map(str, range(each))) + " 0" for each in range(1, 61)]
    with pa.output_stream(str(tmp_path / "T10I4D100K.dat.zst"), compression="zstd") as stream:
        stream.write("\n".join(lines).encode())
    baskets = load(tmp_path)["baskets"]
    assert baskets.scores.tolist() == list(range(60, 0, -1))
    assert (baskets.records, baskets.threshold) == (60, 11)


def test_the_report_is_written(tmp_path, monkeypatch):
    """Tables, words and plots come out, with the cases that are lost."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(theory, "_POINTS", 3)
    rng = np.random.default_rng(7)
    data = {"binary": SMALL, svt.ADDED: SMALL}
    found = svt.measured(data, 3, rng)
    text = "\n".join(svt_report.lines_of(data, found, tmp_path))
    headings = ("Table 5", *(f"Figure {each}" for each in (3, 4, 5, 7, 8)))
    assert all(f"## {each}" in text for each in headings)
    assert "does not beat" in text
    assert "nan" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ncr.png", "traversals.png"]


@every_folder
def test_the_data_are_read(folder):
    """Items and records are those of the descriptions."""
    sizes = {"adult": (123, 32_561), "baskets": (870, 100_000), "retail": (4_070, 25_900)}
    if folder == SLICE:
        sizes = {"adult": (120, 2_713), "retail": (2_559, 684)}
    found = load(folder)
    assert set(found) <= {*sizes, "adult-middle", "binary", "zipf"}
    for name in sizes.keys() & found.keys():
        assert (found[name].items, found[name].records) == sizes[name]
    assert folder != SLICE or sizes.keys() <= found.keys()
