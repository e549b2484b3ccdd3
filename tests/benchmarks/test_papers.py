"""The reproduction of the papers' figures, in short: on made-up events, and on a slice of the data.

What the figures show is not a matter for tests; that they measure what they say is.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import laplace

from benchmarks.papers.__main__ import main
from benchmarks.papers.mide import study as mide
from benchmarks.papers.originals import (
    OriginalProgressive,
    OriginalTslm,
    two_laplace_cdf,
)
from benchmarks.papers.probe import study as probe
from benchmarks.papers.tally import Aggregate, Span, tally
from benchmarks.papers.trials import Outcome, measure
from benchmarks.papers.workloads import QUERIES, Cells, Columns
from tests.support.papers import SLICE, SPANS, made_up


@pytest.mark.parametrize("hours", [None, (7, 22)])
def test_statistics_are_counted_as_said(hours):
    """Counts, distinct counts and clipped sums agree with counting the events of every cell."""
    events = made_up("retail", 3_000, groups=5)
    first = SPANS["retail"][0] + 1
    price, quantity = (events.columns[name] for name in ("price", "quantity"))
    aggregates = (
        Aggregate(where=lambda e: e.columns["price"] >= 2),
        Aggregate("distinct"),
        Aggregate("sum", "quantity", clip=100),
    )
    opens, closes = hours or (0, 24)
    windows = range(opens, closes) if hours else [range(24)]
    rows = []
    for day, window in product(range(first, first + 3), windows):
        at = (events.day == day) & np.isin(events.hour, window)
        for group in range(5):
            here = at & (events.group == group)
            people = len(set(events.unit[here]) - {-1})
            total = np.clip(quantity[here], 0, 100).sum()
            rows.append([(price[here] >= 2).sum(), people, total])
    span = Span(first, first + 3, hours)
    counted = [tally(events, aggregate, span).ravel() for aggregate in aggregates]
    assert np.array_equal(np.array(rows).T, counted)


@pytest.mark.parametrize(("a", "b"), [(0.5, 2.0), (1.0, 1.3), (3.0, 0.2)])
def test_the_law_of_two_laplaces(a, b):
    """The closed form equals the integral of one law over the other."""
    x, y = np.array([-4.0, -0.3, 0.0, 1.0, 6.0]), np.linspace(-60 / a, 60 / a, 400_001)
    over = laplace.pdf(y, scale=1 / a) * laplace.cdf(x[:, np.newaxis] - y, scale=1 / b)
    assert two_laplace_cdf(x, a, b) == pytest.approx(np.trapezoid(over, y), abs=1e-6)


def test_printed_levels_are_those_of_the_paper():
    """Epsilon rises from epsilon_1 to ln(m / (2 beta)) / u; its parts cut every interval evenly."""
    assert OriginalTslm(2.0, 0.05).epsilon == pytest.approx(np.log(10) / 2)
    plain, fine = (np.array(OriginalProgressive(1.0, 0.05, 1e-5, 4, n).levels) for n in (0, 3))
    assert plain == pytest.approx(np.geomspace(1e-5, np.log(40), 4))
    corners = np.linspace(plain[:-1], plain[1:], 3, endpoint=False, axis=1)
    assert fine == pytest.approx(np.append(corners, plain[-1]))


def test_runs_are_compared_with_the_truth():
    """Rates are over positives, negatives and far negatives; a rate over nothing is no number."""
    fired = np.array([True, False, True, True, False])
    truth = np.array([True, True, False, False, False])
    far = np.array([False, False, False, True, True])
    lost = np.array([1.0, 1.0, 0.5, 0.5, 0.5])
    found = measure(lambda: Outcome.of(fired, lost), truth, 3, far=far)
    assert (found.fnr, found.far_fpr) == (0.5, 0.5)
    assert found.fpr == pytest.approx(2 / 3)
    assert found.value("worst") == 1.0
    assert found.value("mean") == pytest.approx(0.7)
    assert 0 < found.value("entropy") < 1
    none = measure(lambda: Outcome.of(fired, lost), np.zeros(5, dtype=np.bool_), 1)
    assert np.isnan([none.fnr, none.far_fpr]).all()


def test_tolerances_of_the_paper_s_example_cost_as_it_says():
    """MIDE's Example 1: beta = 0.01 at u = 80 and 40; on whole numbers both cost a little less."""
    cells = Cells(np.array([10, 150]), np.array([200, 200]), 1)
    for u, printed in ((80, 0.049), (40, 0.098)):
        every = mide.mechanisms(Fraction(1, 100))
        cost = {name: every[name](cells, u)().levels.max() for name in ("TSLM", "TSLM, printed")}
        assert cost["TSLM, printed"] == pytest.approx(printed, rel=5e-3)
        assert 0.95 * printed < cost["TSLM"] < cost["TSLM, printed"]


def test_conditions_are_those_of_the_sub_queries():
    """The condition's truth is the formula over ``s > c``, and tolerances are parts of ranges."""
    rng = np.random.default_rng(5)
    columns = Columns(
        rng.integers(0, 100, (6, 50)), (50,) * 6, (100, 200, 50, 5, 100, 100), (1,) * 6
    )
    case = probe.Case(columns, "c OR (a AND d)")
    held = columns.statistics > 50
    expected = held[2] | (held[0] & held[3])
    assert (case.condition.truth(columns.statistics) == expected).all()
    assert case.tolerances(12) == (6, 12, 1)
    aim = case.aim(1)
    assert (aim.first_tolerances, aim.tolerances) == ((15, 30, 2), (1, 1, 1))


@pytest.mark.long
@pytest.mark.parametrize("name", ["mide", "probe", "averages", "svt"])
def test_the_reports_are_written(name, monkeypatch, capsys):
    """Tables, words and plots come out of a slice of the data, as ``make papers`` writes them."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "argv", ["papers", name, "--runs=1", f"--data={SLICE}"])
    main()
    assert "## Figure" in capsys.readouterr().out


@pytest.mark.parametrize("parts", [0, 3])
def test_printed_algorithms_seldom_miss(parts):
    """At s = c + 1 they miss at most beta, and what is decided early costs less."""
    rng = np.random.default_rng(3)
    original = OriginalProgressive(1.0, 0.05, 1e-5, 4, parts)
    fired, lost = original.decide(np.ones(5_000), rng)
    assert np.mean(~fired) < 0.05
    fired, early = original.decide(np.full(5_000, -1e7), rng)
    assert not fired.any()
    assert early.max() == original.levels[0] < lost.mean()
    assert np.isin(lost, original.levels).all()


def test_mechanisms_keep_their_promises_and_dppwlm_costs_less_than_ppwlm():
    """On made-up taxis every mechanism but NLM misses little, as in MIDE's figures."""
    query = next(query for query in QUERIES if query.name == "taxi 34")
    found = mide.by_query({"taxi": made_up("taxi")}, 20, queries=[query])
    assert set(found) == {"taxi 34 H", "taxi 34 M", "taxi 34 L"}
    for each in found.values():
        assert set(each) == set(mide.MECHANISMS)
        plain, chosen = each["PPWLM"], each["DPPWLM"]
        assert chosen.value("mean") < plain.value("mean")
        assert chosen.value("entropy") > plain.value("entropy")
        worst = [each[name].value("worst") for name in ("TSLM", "NLM")]
        assert worst == pytest.approx([1.3863, 1.3863], abs=1e-4)
    low = found["taxi 34 L"]
    assert low["TSLM"].positives > 100
    assert max(each.fnr for name, each in low.items() if name != "NLM") < 0.06
