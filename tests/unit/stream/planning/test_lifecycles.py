"""What plans say of lifecycles: against every sequence of windows, and the lifecycle itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from stream.config.loading import load
from stream.decisions.lifecycle import State, step
from stream.model.lifecycles import Lifecycle
from stream.planning.lifecycles import reaches, steadied
from stream.planning.utility import utilities
from tests.support.commands import configuration, tocsin
from tests.support.published import alarm_of, decision_of

LONGEST = 6
TERMS = [
    Lifecycle(needed, among, resolve_after)
    for needed, among in ((1, 1), (2, 2), (3, 3), (1, 3), (2, 3), (2, 4), (3, 5))
    for resolve_after in (1, 2, 3)
]


def fired(terms, past):
    """Return how often a group fires in these windows."""
    state, count = State(), 0
    for number, fires in enumerate(past):
        alarms = [alarm_of(number, {"room": "hall"})] if fires else []
        state, notices = step(state, decision_of(number, alarms=alarms), alarms, terms)
        count += sum(notice.status == "firing" for notice in notices)
    return count


def expected(terms, chance):
    """Return the mean over every sequence of six windows."""
    return sum(
        fired(terms, past) * chance ** sum(past) * (1 - chance) ** (LONGEST - sum(past))
        for past in product((False, True), repeat=LONGEST)
    )


@pytest.mark.parametrize("terms", TERMS, ids=lambda t: f"{t.needed}of{t.among}r{t.resolve_after}")
def test_a_group_fires_no_more_often_than_is_said(terms):
    """The mean over every sequence of six windows; nearly as often where firing is rare."""
    for chance, near in ((0.3, 0), (0.01, 0.4)):
        most = LONGEST * chance * reaches(terms.needed - 1, terms.among - 1, chance)
        assert near * most < expected(terms, chance) <= most * (1 + 1e-12)


def test_reaching_is_a_binomial_tail():
    """Two of three, three of three, anything of one."""
    found = [reaches(*each) for each in ((2, 3, 0.5), (3, 3, 0.95), (1, 1, 0.2))]
    assert found == pytest.approx([0.5, 0.95**3, 0.2])


def planned(folder, lines, **settings):
    """Return an alarm's utility, what its lifecycle makes of it, and what a plan prints."""
    path = configuration(folder, more=lines, **settings)
    (utility,) = utilities(load(Path(path), environ={}))
    return utility, steadied(utility), tocsin("plan", path).stdout


def test_a_plan_says_what_for_does(tmp_path):
    """Three in a row of an alarm that misses one in twenty miss 0.143; a baseline tells a week."""
    utility, one, shown = planned(tmp_path, "lifecycle: {for: 3, resolve_after: 2}\nbaseline: 20")
    assert one.missed == pytest.approx(1 - 0.95**3)
    assert 0 < one.fired_week < utility.false.week
    assert "  lifecycle     leaves " in shown
    assert "0.14 missed" in shown


def test_a_plan_says_which_conditions_may_be_missed(tmp_path):
    """Where false alarms come first, max_fnr is no bound at the threshold, and the plan says so."""
    mechanism = "mechanism: {tslm: {max_fpr: 0.01, bounded_error: fpr}}"
    *_, shown = planned(tmp_path, f"lifecycle: {{of: [2, 3], resolve_after: 2}}\n{mechanism}")
    assert "of what is beyond twice the tolerance from it" in shown


@pytest.mark.parametrize(
    ("mechanism", "unit"), [("{svt: {max_alarms: 2}}", "user"), ("panes", "event")]
)
def test_of_runs_and_panes_a_plan_gives_bounds(tmp_path, mechanism, unit):
    """Windows of a run share their threshold's noise, windows over a pane its: no product."""
    lines = f"lifecycle: {{of: [2, 3]}}\nmechanism: {mechanism}"
    utility, one, _ = planned(tmp_path, lines, unit=unit, epsilon_max="40")
    assert one.missed == pytest.approx(0.075)
    # Of a locked run max_fnr is of a query; what is required holds until the run is spent.
    lasting = replace(utility.alarm, required_fnr=Fraction(1, 10))
    assert steadied(replace(utility, alarm=lasting)).missed == pytest.approx(0.15)
