"""Losses compose as pure sums, by squares, or by Renyi curves."""

from __future__ import annotations

import math
import random
import sys
from fractions import Fraction

import dp_accounting as accounting
import pytest
from dp_accounting import rdp

from accountant.loss.maxoverlap import maximum_overlap
from accountant.loss.maxoverlap.composing import Gdp, PureSum, Rdp
from accountant.regions.regions import Region
from tests.support.overlaps import ranges, rows_of
from tests.unit.accountant.loss.maxoverlap.test_colouring import filled


def test_roots_are_exact_or_rounded_up():
    """The mu of a row is the root itself where it is rational, and else not below it."""
    both = [Region.everything()] * 2
    for weights, value in (
        ([3, 4], 5),
        ([Fraction(3, 7), Fraction(4, 7)], Fraction(5, 7)),
        ([10**400, 1], math.inf),
    ):
        assert maximum_overlap(both, weights, composition="gdp").value == value
    for weights in ([1, 1], [0.1, 0.2], [1e-200, 1e-200], [1e200, 1e200], [10**300, 10**300]):
        value = maximum_overlap(both, weights, composition=Gdp()).value
        squares = sum(Fraction(weight) ** 2 for weight in weights)
        assert Fraction(value) ** 2 >= squares
        assert Fraction(math.nextafter(value, 0)) ** 2 < squares


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1], "2 regions, but 1 weights"),
        ([1, -1], "weight 1 is negative"),
        ([1, -0.5], "weight 1 is negative"),
        ([math.nan, 1], "NaN or infinite"),
        ([1, math.inf], "NaN or infinite"),
        ([1, "2"], "not a number"),
        ([1, None], "not a number"),
        ([1, [2]], "not a number"),
        ([1, True], "truth value"),
        ([1, 1j], "not a number"),
    ],
)
def test_bad_weights_are_refused(weights, says):
    """A weight that is no loss is refused, whatever region it belongs to."""
    for composition in ("sum", "gdp"):
        for regions in ([Region.where(x=1)] * 2, [Region.nothing()] * 2):
            with pytest.raises(ValueError, match=says):
                maximum_overlap(regions, weights, composition=composition)


# --- Renyi divergences, turned into epsilon by dp-accounting


def dearest(regions, events, delta, *orders):
    """Return the epsilon of the worst row, as the library has it."""
    worst = 0.0
    for row in rows_of(regions):
        accountant = rdp.RdpAccountant(*orders)
        for at in row:
            accountant.compose(events[at])
        worst = max(worst, accountant.get_epsilon(delta))
    return worst


def test_renyi_gaussians_agree_with_brute_force():
    """For noise multipliers the answer is the worst row's epsilon, as the library has it."""
    for seed in range(12):
        regions = filled(seed, 6)
        rng = random.Random(seed)
        multipliers = [rng.choice([0.5, 1.0, 2, 4.5]) for _ in regions]
        events = [accounting.GaussianDpEvent(float(each)) for each in multipliers]
        found = maximum_overlap(regions, multipliers, composition=Rdp(delta=1e-6))
        assert found.exact
        assert found.value == pytest.approx(dearest(regions, events, 1e-6), rel=1e-9, abs=1e-12)


def test_events_of_different_kinds_are_bounded():
    """Where no one order is the worst row's, the bound still holds for every row."""
    orders = (1.5, 2.0, 4.0, 16.0, 64.0)
    kinds = [
        accounting.GaussianDpEvent(0.8),
        accounting.LaplaceDpEvent(1.0),
        accounting.PoissonSampledDpEvent(0.1, accounting.GaussianDpEvent(0.7)),
    ]
    for seed in range(20):
        regions = filled(seed, 8)
        rng = random.Random(seed)
        events = [rng.choice(kinds) for _ in regions]
        worst = dearest(regions, events, 1e-5, orders)
        found = maximum_overlap(regions, events, composition=Rdp(1e-5, orders))
        assert found.value <= worst * (1 + 1e-12)
        assert worst <= found.upper_bound * (1 + 1e-12)
        assert found.upper_bound <= found.plain


def test_bad_renyi_weights_and_orders_are_refused():
    """Noise of zero, what is no event, and events without a curve are refused."""
    where = [Region.everything()]
    refused = [0, -1.0, math.nan, "x", True, accounting.UnsupportedDpEvent()]
    for weight in [*refused, accounting.NonPrivateDpEvent()]:
        with pytest.raises(ValueError, match=r"weight 0|no Renyi order"):
            maximum_overlap(where, [weight], composition=Rdp(1e-6))
    for delta in (0, 1, -1, math.nan):
        with pytest.raises(ValueError, match="delta"):
            Rdp(delta)
    for orders in ((), (1.0,), (math.inf,), (math.nan,), (0.5, 2.0)):
        with pytest.raises(ValueError, match="order"):
            Rdp(1e-6, orders)


def test_a_missing_library_is_named(monkeypatch):
    """Without dp-accounting the error says what to install."""
    monkeypatch.setitem(sys.modules, "dp_accounting.rdp", None)
    with pytest.raises(ImportError, match=r"tocsin\[rdp\]"):
        maximum_overlap([Region.everything()], [1], composition=Rdp(1e-6))


def test_compositions_can_be_passed_as_objects():
    """The names stand for objects that can be passed as well."""
    regions = ranges(9, 10)
    for name, rule in (("sum", PureSum()), ("gdp", Gdp())):
        named = maximum_overlap(regions, composition=name)
        assert maximum_overlap(regions, composition=rule) == named
