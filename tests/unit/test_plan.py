"""The planner says what the filter will do, before any data is read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant.filter import UserFilter
from accountant.plan import AlarmCost, plan_budget
from accountant.records import BudgetTerms
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit, to_loss_units
from tests.support.ledgers import Series

EVENT = BudgetTerms("s", PrivacyUnit.EVENT, 4 * UNITS_PER_EPSILON, "")
DAILY = BudgetTerms("s", PrivacyUnit.USER, 4 * UNITS_PER_EPSILON, "1d Europe/London")
LIFETIME = BudgetTerms("s", PrivacyUnit.USER, 4 * UNITS_PER_EPSILON, "lifetime")


def alarm(epsilon: str, **changes: object) -> AlarmCost:
    """Return an alarm of some epsilon per cell."""
    units = to_loss_units(Fraction(epsilon))
    return AlarmCost(query="q", scope="s", epsilon_units=units, limit=1.0, **changes)  # type: ignore[arg-type]


def test_fifteen_windows_a_day_get_four_fifteenths_each() -> None:
    """The design's example: 15 hourly windows a day under a wall of 4."""
    costly = plan_budget([DAILY], [alarm("1.386", windows_per_period=15)])
    assert not costly.fits
    assert costly.scopes[0].worst_units == to_loss_units(Fraction("20.79"))
    assert costly.scopes[0].windows_fit == 2
    assert "at most 0.2666 each" in costly.suggestion
    assert 'epsilon_max: "20.7900"' in costly.suggestion
    assert plan_budget([DAILY], [alarm("0.2666", windows_per_period=15)]).fits


def test_a_plan_that_just_fits_is_never_refused() -> None:
    """The filter grants every window of a plan whose worst case is the wall itself."""
    series = Series("q", units=UNITS_PER_EPSILON, cells_per_unit=2, period=20)
    plan = plan_budget([DAILY], [alarm("1", windows_per_period=2, cells_per_unit=2)])
    assert plan.fits
    assert plan.scopes[0].worst_units == DAILY.epsilon_max_units
    judge = UserFilter(DAILY.epsilon_max_units, {})
    assert all(judge.reserve(series.request(index).charge) for index in range(10))


def test_disjoint_windows_cost_once_under_unit_event() -> None:
    """A tumbling alarm costs one window, a hopping one as often as it overlaps; all are added."""
    plan = plan_budget([EVENT], [alarm("1.5"), alarm("1", overlap=2)])
    assert plan.fits
    assert plan.scopes[0].worst_units == to_loss_units(Fraction("3.5"))
    assert "safe bound" in plan.scopes[0].bound
    assert plan.scopes[0].windows_fit is None
    over = plan_budget([EVENT], [alarm("1.5", overlap=3)])
    assert not over.fits
    assert "tumbling" in over.suggestion


def test_a_lifetime_runs_out() -> None:
    """Without end nothing fits for ever; the plan says how many windows do."""
    plan = plan_budget([LIFETIME], [alarm("0.5"), alarm("0.5")])
    assert plan.fits
    assert plan.scopes[0].worst_units is None
    assert plan.scopes[0].windows_fit == 4
    assert "4 windows" in plan.suggestion
    none = plan_budget([LIFETIME], [alarm("5")])
    assert not none.fits
    assert "not one window" in none.suggestion


def test_each_alarm_shows_its_ratio_to_the_limit() -> None:
    """Epsilon, limit and ratio stand beside each other."""
    shown = plan_budget([EVENT], [alarm("1.386")]).alarms[0]
    assert shown.epsilon == Fraction("1.386")
    assert shown.ratio == pytest.approx(1.386)
    assert shown.windows_fit == 2


def test_free_alarms_never_run_out() -> None:
    """An alarm that costs nothing always fits."""
    plan = plan_budget([LIFETIME], [alarm("0")])
    assert plan.fits
    assert plan.alarms[0].windows_fit is None
    assert plan.suggestion == ""


def test_an_unknown_budget_is_refused() -> None:
    """Every alarm draws on a budget that exists."""
    with pytest.raises(ValueError, match="no budget"):
        plan_budget([], [alarm("1")])
