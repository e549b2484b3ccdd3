"""Rates with their intervals, losses, from what trials counted."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import binomtest

from accountant.units import from_loss_units, to_loss_units
from stream.decisions.mechanisms import operator_of
from stream.simulation.results import NOTHING_TRUE, Law, interval
from tests.support.simulated import THRESHOLD, alarm, near_the_threshold, shown, simulated, tried


@pytest.mark.parametrize(("count", "of"), [(0, 7), (7, 7), (3, 11), (1, 100_000), (420, 9000)])
def test_intervals_are_clopper_pearson(count, of):
    """The interval is that of scipy's exact binomial test."""
    expected = binomtest(count, of).proportion_ci(0.95, method="exact")
    assert interval(count, of, 0.95) == pytest.approx(tuple(expected), abs=1e-12)


def test_nothing_true_is_no_miss_rate_of_zero():
    """A history without a true alarm has no miss rate, and every output says so."""
    simulation = simulated(alarm(5), np.full((3, 1, 5), 2, dtype=np.int64))
    (one,) = simulation.alarms
    assert (one.fnr.value, one.fnr.low, one.fnr.high) == (None, 0.0, 1.0)
    assert NOTHING_TRUE in " ".join(shown(simulation).split())


def test_losses_are_summed_up_as_numpy_does():
    """Mean, maximum and quantiles of a counted law are those of the single losses."""
    random = np.random.default_rng(3)
    for _ in range(50):
        levels = random.integers(0, 10**12, random.integers(1, 8))
        single = random.choice(levels, int(random.integers(1, 60)))
        losses = Law.of(Counter(single.tolist()), from_loss_units(1))
        epsilons = single / 1e12
        assert losses.mean == pytest.approx(epsilons.mean())
        expected = np.quantile(epsilons, (0.5, 0.95, 1.0), method="inverted_cdf")
        assert [losses.median, losses.p95, losses.max] == pytest.approx(expected)


def test_uniform_losses_are_the_plan():
    """TSLM loses its plan in every cell; two highest-cost cells lose it twice."""
    tally = tried(alarm(7), near_the_threshold(3, 7), 5)
    units = to_loss_units(operator_of(alarm(7)).plan.epsilon)
    assert (tally.losses, tally.highest) == ({units: 7 * 15}, {2 * units: 15})


def test_windows_that_are_denied_lose_nothing():
    """A budget for one window and a half: the first is decided, the other two are denied."""
    statistics, epsilon = near_the_threshold(3, 7), operator_of(alarm(7)).plan.epsilon
    tally = tried(alarm(7), statistics, 5, epsilon_max=3 * epsilon)
    assert (tally.denied, tally.windows) == (2 * 5, 3 * 5)
    assert tally.losses == {0: 2 * 7 * 5, to_loss_units(epsilon): 7 * 5}
    late = (statistics[1:, 0] > THRESHOLD).sum()
    assert tally.unasked == tally.unasked_missed == 5 * late > 0


def test_progressive_mechanisms_lose_no_more_than_planned():
    """Realised losses stay within the plan, and cells far from the threshold lose less."""
    query = alarm(20, tolerance=3, mechanism="ppwlm")
    far = np.full((4, 1, 20), 2, dtype=np.int64)
    far[:, :, 0] = THRESHOLD
    tally, worst = tried(query, far, 20), to_loss_units(operator_of(query).plan.epsilon)
    assert min(tally.losses) < max(tally.losses) == worst
    assert max(tally.highest) <= 2 * worst


def test_json_says_who_may_read_it():
    """Plain JSON with audience and caveat (more: ``test_simulate.py``)."""
    simulation = simulated(alarm(6), near_the_threshold(4, 6))
    read = json.loads(json.dumps(asdict(simulation), allow_nan=False))
    assert read["audience"].startswith("custodian only")
    assert read["caveat"].startswith("Figures of private data")
    (one,) = read["alarms"]
    assert one["epsilon_cell"]["max"] <= one["epsilon_worst"] + 1e-12
