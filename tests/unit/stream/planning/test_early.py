"""What plans say of early alarms: their price beside how soon they fire; and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stream.config.loading import examine
from stream.planning.budget import budget_plan
from stream.planning.lifecycles import steadied
from stream.planning.utility import utilities
from tests.support.commands import tocsin
from tests.support.planned import Alarm, Config

CROWD = Alarm(
    window="CUMULATE(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)",
    having="COUNT(*) > 60",
    tolerance="15",
    extra={"mechanism": "svt"},
)


def early(**changes):
    """Return a file of the alarm, something in it changed."""
    return Config({"crowd": replace(CROWD, **changes)}, unit="event")


@pytest.mark.parametrize(
    ("having", "dearer"), [("COUNT(DISTINCT person) > 60", True), ("COUNT(person) >= 60", False)]
)
def test_only_events_that_stay_pay_less(tmp_path, having, dearer):
    """A distinct count forgets an event when its person comes again, and pays for both."""
    plain, other = (
        float(each.look(tmp_path).plan.alarms[0].epsilon)
        for each in (early(), early(having=having))
    )
    assert (other > 1.5 * plain) is dearer


def test_lifecycles_and_weeks_count_windows_and_not_steps(tmp_path):
    """A week has 168 hours, however often they are evaluated; each hour has noise of its own."""
    extra = {"mechanism": "svt", "baseline": "40", "lifecycle": "{for: 2}"}
    (utility,) = utilities(early(extra=extra).load(tmp_path))
    groups = 3
    assert steadied(utility).missed == pytest.approx(1 - 0.95**2)
    assert utility.false.windows == 168
    assert utility.false.week == pytest.approx(168 * groups * utility.false.alike[0][1])


def test_a_mechanism_that_looks_once_decides_no_steps(tmp_path):
    """It is an error at its place, with what to write."""
    (found,) = examine(early(extra={"mechanism": "dppwlm"}).write(tmp_path), environ={}).errors
    assert "mechanism dppwlm cannot decide the steps of CUMULATE" in found.message
    assert found.line
    assert found.hint


@pytest.mark.parametrize(
    ("having", "rising"),
    [("COUNT(*) > 60", True), ("COUNT(*) < 20", False), ("AVG(paid) > 2", False)],
)
def test_a_plan_counts_what_only_the_end_of_a_window_shows(tmp_path, having, rising):
    """A part of a window has a low count or an odd average: check warns, and nothing is counted."""
    extra = {"baseline": "40"} if "COUNT" in having else {}
    report = examine(early(having=having, extra=extra).write(tmp_path), environ={})
    assert any("as a part of a window" in one.message for one in report.warnings) is not rising
    assert bool(utilities(report.alarms)[0].false) is rising


def test_cases_of_early_alarms_are_refused(tmp_path):
    """A case is one count of a window, and an early alarm sees its course."""
    early().write(tmp_path)
    tests = tmp_path / "tests.yaml"
    case = "  - name: full\n    counts: {lab: 200}\n    fires: {lab: '>= 0.9'}\n"
    tests.write_text(f"alarms: alarms.yaml\ntests:\n{case}")
    ended = tocsin("test", tests, code=2)
    assert "`crowd` is an early alarm (CUMULATE): counts of a window do not suffice" in ended.output


@pytest.mark.parametrize(
    ("having", "times"), [("COUNT(*) > 60", 1), ("COUNT(DISTINCT person) > 60", 2)]
)
def test_evaluations_from_panes_say_what_an_event_pays(tmp_path, having, times):
    """For its pane; where people count in the first of theirs, for the two that it moves."""
    alarms = early(having=having, extra={"mechanism": "panes"}).load(tmp_path)
    (own,), (budget,) = alarms.panes.values(), budget_plan(alarms).scopes
    assert budget.worst_units == times * own.aim.pane_units
