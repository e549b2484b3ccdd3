"""Rates with their intervals, losses, from what trials counted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binomtest

from accountant.units import to_loss_units
from stream.simulation.report import report
from stream.simulation.results import Losses, Rate
from stream.simulation.shown import NOTHING_TRUE, html_page
from tests.support.simulated import THRESHOLD, alarm, near_the_threshold, shown, simulated


@pytest.mark.parametrize(("count", "of"), [(0, 7), (7, 7), (3, 11), (1, 100_000), (420, 9000)])
def test_intervals_are_clopper_pearson(count: int, of: int) -> None:
    """The interval is that of scipy's exact binomial test."""
    expected = binomtest(count, of).proportion_ci(0.95, method="exact")
    assert Rate(count, of).interval == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_true_is_no_miss_rate_of_zero() -> None:
    """A history without a true alarm has no miss rate, and every output says so."""
    statistics = np.full((3, 1, 5), 2, dtype=np.int64)
    simulation = simulated(alarm(5), statistics)
    (results,) = simulation.results
    assert {one.fnr.value for one in results.tried} == {None}
    assert Rate(0, 0).interval == (0.0, 1.0)
    assert NOTHING_TRUE in " ".join(shown(simulation).split())
    assert NOTHING_TRUE in html_page(simulation)
    (shown_json,) = report(simulation)["alarms"]
    assert shown_json["settings"][0]["fnr"]["value"] is None


def test_losses_are_summed_up_as_numpy_does() -> None:
    """Mean, maximum and quantiles of a counted law are those of the single losses."""
    random = np.random.default_rng(3)
    for _ in range(50):
        levels = random.integers(0, 10**12, random.integers(1, 8))
        single = random.choice(levels, int(random.integers(1, 60)))
        losses = Losses.of(Counter(single.tolist()))
        epsilons = single / 1e12
        assert losses.mean == pytest.approx(epsilons.mean())
        assert losses.most == pytest.approx(epsilons.max())
        for share in (0.5, 0.95, 1.0):
            expected = np.quantile(epsilons, share, method="inverted_cdf")
            assert losses.quantile(share) == pytest.approx(expected)


def test_uniform_losses_are_the_plan() -> None:
    """TSLM loses its plan in every cell; two dearest cells lose it twice."""
    (results,) = simulated(alarm(7), near_the_threshold(3, 7), runs=5).results
    (one,) = results.tried
    units = to_loss_units(one.plan.epsilon)
    assert one.tally.losses == {units: 7 * 15}
    assert one.tally.highest == {2 * units: 15}


def test_windows_that_are_denied_lose_nothing() -> None:
    """A budget for one window and a half: the first is decided, the other two are denied."""
    statistics = near_the_threshold(3, 7)
    epsilon = simulated(alarm(7), statistics).results[0].tried[0].plan.epsilon
    (results,) = simulated(alarm(7), statistics, runs=5, epsilon_max=3 * epsilon).results
    (one,) = results.tried
    assert one.denied == pytest.approx(2 / 3)
    assert one.tally.losses == {0: 2 * 7 * 5, to_loss_units(epsilon): 7 * 5}
    late = (statistics[1:, 0] > THRESHOLD).sum()
    assert one.tally.unasked == one.tally.unasked_missed == 5 * late > 0


def test_progressive_mechanisms_lose_no_more_than_planned() -> None:
    """Realised losses stay within the plan, and cells far from the threshold lose less."""
    query = alarm(20, tolerance=3, mechanism="ppwlm")
    far = np.full((4, 1, 20), 2, dtype=np.int64)
    far[:, :, 0] = THRESHOLD
    (results,) = simulated(query, far, runs=20).results
    (one,) = results.tried
    worst = to_loss_units(one.plan.epsilon)
    assert max(one.tally.losses) == worst
    assert min(one.tally.losses) < worst
    assert max(one.tally.highest) <= 2 * worst
