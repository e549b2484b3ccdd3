"""The planner says what the filter will do, before any data is read."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import accountant.regions.shapes
from accountant.budget.filter import EventFilter, UserFilter
from accountant.budget.loads import AlarmCost
from accountant.budget.plan import epsilon_needed, plan_budget
from accountant.budget.sharing import MOST_LISTED, NO_ROW
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.loss.overlap import Held, worst_loss
from accountant.records import Answer, BudgetTerms
from accountant.regions.regions import Region
from accountant.regions.shapes import Shape
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit, to_loss_units

EVENT = BudgetTerms("s", PrivacyUnit.EVENT, 4 * UNITS_PER_EPSILON, "")
DAILY = BudgetTerms("s", PrivacyUnit.USER, 4 * UNITS_PER_EPSILON, "1d Europe/London")
LIFETIME = BudgetTerms("s", PrivacyUnit.USER, 4 * UNITS_PER_EPSILON, "lifetime")


def units(epsilon):
    """Return an epsilon in loss units."""
    return to_loss_units(Fraction(epsilon))


def alarm(epsilon, query="q", **changes):
    """Return an alarm of some epsilon per cell."""
    return AlarmCost(query, "s", units(epsilon), 1.0, **changes)


def where(**conditions):
    """Return the shape of a region."""
    return Shape(Region.where(**conditions).canonical)


def grants(judge, charge, shape):
    """Ask for a window; when it is granted, it ends at its worst."""
    if judge.answer(charge, shape) is not Answer.RESERVED:
        return False
    held = Held(charge.key.start_ms, charge.key.end_ms, charge.loss_units, shape)
    judge.hold(Standing(held, open=False, periods=charge.periods))
    return True


def pile(alarms):
    """Return the windows of all alarms, as many as overlap, all at one instant."""
    return [
        (Charge(WindowKey(1, f"{at} {copy}", 0), UniformCost(one.epsilon_units, 1), 1), one.shape)
        for at, one in enumerate(alarms)
        for copy in range(one.overlap)
    ]


shapes = st.builds(
    lambda rooms, floors: Shape(Region.where(room=rooms, floor=floors).canonical),
    st.sets(st.integers(0, 3), min_size=0, max_size=3),
    st.sets(st.integers(0, 3), min_size=1, max_size=3),
)
covering = st.lists(
    st.builds(
        lambda cost, overlap, shape: AlarmCost("q", "s", cost, 1.0, overlap=overlap, shape=shape),
        st.integers(0, 5),
        st.integers(1, 3),
        shapes,
    ),
    min_size=1,
    max_size=6,
)


def test_fifteen_windows_a_day_get_four_fifteenths_each():
    """The design's example: 15 hourly windows a day under a wall of 4."""
    costly = plan_budget([DAILY], [alarm("1.386", windows_per_period=(15,))])
    assert not costly.fits
    (plan,) = costly.scopes
    assert plan.worst_units == units("20.79")
    assert (plan.windows_fit, plan.cells) == (2, 15)
    assert 'epsilon_max: "20.7900"' in costly.suggestion
    for epsilon, fits in (("0.2666", True), ("0.2667", False)):
        assert plan_budget([DAILY], [alarm(epsilon, windows_per_period=(15,))]).fits is fits


def test_alarms_of_different_days_share_no_period():
    """The worst case is that of one period: one on Mondays and one on Saturdays do not add up."""
    monday = alarm("2.5", windows_per_period=(1, 0), cells_per_unit=1)
    saturday = alarm("1.5", windows_per_period=(0, 2))
    (plan,) = plan_budget([DAILY], [monday, saturday]).scopes
    assert [plan.worst_units, *(one.worst_units for one in plan.alarms)] == [
        *map(units, ("3", "2.5", "3"))
    ]
    assert (plan.fits, plan.windows_fit, plan.cells) == (True, 1, 2)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 3), st.integers(0, 4), st.integers(0, 4)),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 30),
)
def test_user_plan_fits_exactly_if_the_filter_grants_everything(drawn, wall):
    """Two kinds of periods, filled window by window: something is refused iff it does not fit."""
    alarms = [
        AlarmCost("q", "s", cost, 1.0, cells_per_unit=cells, windows_per_period=windows)
        for cost, cells, *windows in drawn
    ]
    terms = BudgetTerms("s", PrivacyUnit.USER, wall, "1d")
    judge = UserFilter(wall, {}, {})
    granted = []
    for at, (cost, cells, *windows) in enumerate(drawn):
        for period, copy in ((p, copy) for p in (0, 1) for copy in range(windows[p])):
            key = WindowKey(1, f"{at} {copy}", 0)
            charge = Charge(key, UniformCost(cost, 9), cells, (period,))
            granted.append(grants(judge, charge, Shape()))
    assert plan_budget([terms], alarms).fits is all(granted)


@given(covering, st.integers(0, 40))
def test_event_plan_fits_exactly_if_the_filter_grants_a_pile(alarms, wall):
    """With all windows that may overlap at one instant, the filter refuses iff it doesn't fit."""
    terms = BudgetTerms("s", PrivacyUnit.EVENT, wall, "")
    (plan,) = plan_budget([terms], alarms).scopes
    judge = EventFilter(wall, [])
    granted = [grants(judge, charge, shape) for charge, shape in pile(alarms)]
    assert plan.fits is all(granted)
    held = [Held(0, 1, charge.loss_units, shape) for charge, shape in pile(alarms)]
    lonely = [one.epsilon_units for one in alarms if one.shape.as_region.empty]
    assert plan.worst_units == max(worst_loss(held), *lonely, 0)
    assert plan.sharing.overlap.exact
    assert plan.sharing.overlap.value == worst_loss(held)


@given(covering, st.integers(0, 40))
def test_event_plan_is_safe_with_too_many_regions(alarms, wall):
    """Where rows can't be told apart any more, a plan that fits is still never refused."""
    terms = BudgetTerms("s", PrivacyUnit.EVENT, wall, "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accountant.regions.shapes, "MOST_CLASSES", 1)
        accountant.regions.shapes.row_classes.cache_clear()
        (plan,) = plan_budget([terms], alarms).scopes
        for order in (pile(alarms), pile(alarms)[::-1]):
            judge = EventFilter(wall, [])
            granted = [grants(judge, charge, shape) for charge, shape in order]
            assert all(granted) or not plan.fits
    accountant.regions.shapes.row_classes.cache_clear()


def test_disjoint_rows_cost_the_dearest_only():
    """Alarms on two rooms do not add up; one on both adds to either, as often as it overlaps."""
    lab = alarm("1.5", query="lab", shape=where(room="lab"))
    hall = alarm("2", query="hall", shape=where(room="hall"))
    both = alarm("0.5", query="both", overlap=2)
    (plan,) = plan_budget([EVENT], [lab, hall, both]).scopes
    assert (plan.worst_units, plan.windows_fit) == (units("3"), None)
    assert (plan.bound, plan.exact) == ("exact maximum overlap", True)
    sharing = plan.sharing
    assert [(pair.left, pair.right, pair.separated_by) for pair in sharing.pairs] == [
        ("lab", "hall", ("room",)),
        ("lab", "both", ()),
        ("hall", "both", ()),
    ]
    together = [units("2"), units("2.5"), units("3")]
    assert [pair.composed_units for pair in sharing.pairs] == together
    assert sharing.worst == ("hall", "both")
    assert sharing.gain == Fraction(1, 3)


def test_a_bound_that_windows_may_not_reach_is_called_one():
    """Windows that may miss each other in time make a safe bound; equal ones never do."""
    loose = alarm("1", steady=False, windows="a")
    assert not plan_budget([EVENT], [loose, alarm("1", steady=False, windows="b")]).scopes[0].exact
    assert plan_budget([EVENT], [loose, loose]).scopes[0].exact


def test_an_alarm_without_rows_is_apart_from_every_other():
    """There is no row that both have."""
    never = alarm("3", query="never", shape=Shape(Region.nothing().canonical))
    (plan,) = plan_budget([EVENT], [alarm("3.5"), never]).scopes
    assert plan.sharing.pairs[0].separated_by == (NO_ROW,)


def test_pairs_of_many_alarms_are_not_listed():
    """There would be too many lines beyond a dozen alarms; the worst row is still found."""
    alarms = [
        alarm("0.1", query=f"q{at}", shape=where(room=at % 2)) for at in range(MOST_LISTED + 1)
    ]
    sharing = plan_budget([EVENT], alarms).scopes[0].sharing
    assert (sharing.pairs, len(sharing.worst)) == ((), 7)


def test_a_lifetime_runs_out():
    """Without end nothing fits for ever, unless it is free; the plan says how many windows do."""
    plan = plan_budget([LIFETIME], [alarm("0.5"), alarm("0.5")])
    assert plan.fits
    assert (plan.scopes[0].worst_units, plan.scopes[0].windows_fit) == (None, 4)
    assert "4 windows" in plan.suggestion
    none = plan_budget([LIFETIME], [alarm("5")])
    assert not none.fits
    assert 'write epsilon_max: "5.0000", or' in none.suggestion
    free = plan_budget([LIFETIME], [alarm("0")])
    assert (free.fits, free.alarms[0].windows_fit, free.suggestion) == (True, None, "")


def test_an_unknown_budget_is_refused():
    """Every alarm draws on a budget that exists."""
    with pytest.raises(ValueError, match="no budget"):
        plan_budget([], [alarm("1")])


@given(st.integers(0, 10**30))
@example(0)
@example(1)
def test_needed_epsilon_is_rounded_up(loss):
    """Four decimals, never less than the loss, however large."""
    shown = epsilon_needed(loss)
    assert re.fullmatch(r"\d+\.\d{4}", shown)
    assert 0 <= Fraction(shown) * UNITS_PER_EPSILON - loss < UNITS_PER_EPSILON // 10_000
