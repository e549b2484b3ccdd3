"""Average l1 errors beside the paper's table, and beside the laws they are means of."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from accountant.errors import ArgumentError
from accountant.loss.maxoverlap import average_l1_error, maximum_overlap, utility_gain
from accountant.regions.regions import Region

ROWS = [(9, 6, 2.392, 1.9488), (120, 107, 8.747, 8.254), (284, 208, 13.446, 11.516)]


def overlap(queries, most, power=1):
    """Return the overlap of queries of which so many share the worst row."""
    shared = [Region.where(day="mon")] * most
    regions = shared + [Region.where(day=f"d{at}") for at in range(queries - most)]
    return maximum_overlap(regions, composition="gdp" if power == 2 else "sum")


@pytest.mark.parametrize(("queries", "most", "plain", "parallel"), ROWS)
def test_errors_are_those_of_the_papers_table(queries, most, plain, parallel):
    """Table 1 has means of one draw for every query: within 2% of their expectation."""
    found = average_l1_error(overlap(queries, most, 2), queries, 1, noise="gaussian")
    assert found.plain == pytest.approx(math.sqrt(2 * queries / math.pi))
    assert found.plain == pytest.approx(plain, rel=0.02)
    assert found.parallel == pytest.approx(parallel, rel=0.02)


def test_gaussian_noise_saves_less_than_the_gain_says():
    """Equation 6 is a ratio of losses that add up; a Gaussian's error is as their root."""
    pure, gaussian = overlap(9, 6), overlap(9, 6, 2)
    assert utility_gain(pure) == Fraction(1, 3)
    assert average_l1_error(pure, 9, 1).saved == pytest.approx(1 / 3)
    saved = average_l1_error(gaussian, 9, 1, noise="gaussian").saved
    assert saved == pytest.approx(1 - math.sqrt(2 / 3))
    assert saved < utility_gain(gaussian)


@pytest.mark.parametrize("noise", ["laplace", "discrete laplace"])
def test_weights_share_the_budget(noise):
    """By the sum over the law, for queries that cost 1, 2 and 3 of a budget of 1.5."""
    weights = [1, 2, 3]
    worst = maximum_overlap([Region.where(day=[day]) for day in "abc"], weights)
    found = average_l1_error(worst, 3, 1.5, noise=noise, weights=weights)
    rates = [weight * 1.5 / 3 for weight in weights]
    exact = [1 / rate for rate in rates]
    if noise == "discrete laplace":
        exact = [
            sum(2 * at * math.tanh(rate / 2) * math.exp(-rate * at) for at in range(400))
            for rate in rates
        ]
    assert found.parallel == pytest.approx(sum(exact) / 3)
    assert found.parallel < found.plain


@pytest.mark.parametrize(
    ("power", "budget", "options"),
    [
        (1, 1, {"noise": "gaussian"}),
        (2, 1, {}),
        (1, 0, {}),
        (1, 1, {"weights": [1, 2]}),
        (1, 1, {"weights": [1, 2, 0]}),
    ],
)
def test_what_means_nothing_is_refused(power, budget, options):
    """Noise of another composition, weights that are missing, no budget."""
    with pytest.raises(ArgumentError) as refused:
        average_l1_error(overlap(3, 2, power), 3, budget, **options)
    assert refused.value.hint
