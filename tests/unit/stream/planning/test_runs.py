"""The plan of alarms that are charged by runs of windows: how many runs, at what cost, how sure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.budget.loads import AlarmCost
from accountant.budget.plan import plan_budget
from accountant.errors import ConfigError
from accountant.records import BudgetTerms
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit, to_loss_units
from operators.svt import Svt
from stream.planning.occupancy import ActiveWindows, first_ending_after, run_breaks
from stream.planning.runs import fullest_windows, missed_given_no_alarm
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import REFERENCE_MS, Periods
from tests.support.planned import Alarm, Config, calendars
from tests.unit.stream.planning.walking import touching

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
DAY = "TUMBLE(ts, INTERVAL '1' DAY)"
HOP = "HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"
RUNS = Alarm(window=HOP, tolerance="60", extra={"mechanism": "svt"})
ALONE = Config({"a": RUNS})

periods_tried = st.sampled_from(
    [
        LocalCalendar(1, 1, "Europe/Berlin"),
        LocalCalendar(7, 7, "Europe/Berlin"),
        LocalCalendar(1, 1, "America/New_York"),
        FixedCalendar(12 * HOUR_MS, 12 * HOUR_MS),
        FixedCalendar(5 * HOUR_MS, 5 * HOUR_MS),
    ]
)


@settings(max_examples=80)
@given(calendars, periods_tried, st.integers(0, 400), st.integers(1, 12))
def test_windows_and_runs_are_counted_without_a_walk(calendar, period, from_day, count):
    """The counts are those of a look at every window; where touched periods change, a run opens."""
    first = period.first_starting_at(REFERENCE_MS + from_day * DAY_MS)
    bounds = [period.bounds(first + at) for at in range(count)]
    starts, ends = np.array(bounds, np.int64).T
    span = bounds[0][0], bounds[-1][1]
    walked = list(touching(calendar, *span))
    numbers = [number for number, *_ in walked]
    windows = [sum(s < end and e > start for _, s, e in walked) for start, end in bounds]
    touched = {Periods(period).touched(s, e) for _, s, e in walked}
    runs = [sum(start in each for each in touched) for start, _ in bounds]

    active, breaks = ActiveWindows(calendar, *span), run_breaks(calendar, period, *span)
    assert active.touching(starts, ends).tolist() == windows
    assert active.runs_touching(starts, ends, breaks).tolist() == runs
    for at, number in enumerate(numbers):
        assert active.between(number, numbers[-1] + 1) == len(numbers) - at
    at = first_ending_after(calendar, span[0])
    assert calendar.bounds(at - 1)[1] <= span[0] < calendar.bounds(at)[1]


def test_windows_across_too_many_periods_are_refused():
    """What could not be counted is an error, not a guess."""
    with pytest.raises(ConfigError, match="too many budget periods"):
        run_breaks(
            *(FixedCalendar(DAY_MS, DAY_MS), FixedCalendar(1, 1)), REFERENCE_MS, REFERENCE_MS + 10
        )


def test_a_lifetime_of_runs_has_an_end(tmp_path):
    """One run in all, however many windows; beside an alarm that goes on, it is paid first."""
    alone = replace(ALONE, period="lifetime").look(tmp_path)
    (run,) = alone.plan.alarms
    whole = to_loss_units(run.epsilon)
    assert (alone.plan.worst_units, alone.plan.fits, alone.refusal) == (whole, True, None)
    assert (run.cells, run.windows_fit) == (1, None)
    mixed = Config({"a": RUNS, "b": Alarm(window=DAY, tolerance="60")}, period="lifetime")
    looked = mixed.look(tmp_path)
    rounds = (4 * UNITS_PER_EPSILON - whole) // to_loss_units(looked.plan.alarms[1].epsilon)
    assert [one.worst_units for one in (looked.plan, *looked.plan.alarms)] == [None, whole, None]
    assert looked.plan.windows_fit == rounds
    assert f"about {rounds} windows" in looked.plan.suggestion
    assert (looked.refusal.alarm, looked.refusal.granted["b"]) == ("b", rounds)
    short = replace(mixed, epsilon_max="0.1").look(tmp_path)
    assert (short.plan.fits, short.plan.windows_fit) == (False, 0)
    assert short.refusal.granted == {"a": 0, "b": 0}


def test_a_history_says_how_many_windows_a_lifetime_has(tmp_path):
    """None of them crosses its ends; without one, and of an event, there is no end."""
    history = "{from: 2011-01-01, until: 2011-01-03}"
    lifetime = replace(ALONE, period="lifetime")
    kinds = replace(lifetime, history=history), lifetime, replace(ALONE, unit="event")
    every = (config.load(tmp_path) for config in kinds)
    found = [fullest_windows(each.by_name["a"], each.budget) for each in every]
    assert found == [48 * 6 - 5, None, None]


def test_an_event_pays_a_run_in_every_window(tmp_path):
    """Under unit event nothing is shared: overlap multiplies."""
    looked = replace(ALONE, unit="event").look(tmp_path)
    (run,) = looked.plan.alarms
    assert (looked.plan.worst_units, run.runs) == (6 * to_loss_units(run.epsilon), False)


def test_what_is_said_of_a_run_is_what_the_operator_has(tmp_path):
    """After every other query of a period, each as often as it may be asked."""
    sums = {"mechanism": "svt", "repeat": "2"}
    alarms = {"a": RUNS, "c": Alarm(having="SUM(paid) > 800", tolerance="100", extra=sums)}
    found = Config(alarms).load(tmp_path)
    for name, windows, often in (("a", 24 * 6 + 5, 1), ("c", 24, 2)):
        query = found.by_name[name]
        assert fullest_windows(query, found.budget) == windows
        planned = Svt.planned(query.condition, query.aim)
        late = planned.missed_in_silence((windows * 3 - 1) * often, beyond=True)
        assert missed_given_no_alarm(query, found.budget) == late


mixes = st.lists(
    st.tuples(
        *(st.integers(0, 12), st.booleans()),
        st.lists(st.integers(0, 4), min_size=3, max_size=3),
    ),
    min_size=1,
    max_size=4,
)


@given(mixes, st.integers(0, 80))
def test_rounds_are_those_of_opening_runs_one_by_one(mix, wall):
    """So many windows of every alarm fit as do when each of the first ones opens a run."""
    alarms = [
        AlarmCost(
            *("q", "s", cost, 1.0),
            windows_per_period=tuple(counts),
            runs_per_period=tuple(counts) if runs else None,
        )
        for cost, runs, counts in mix
    ]
    (plan,) = plan_budget([BudgetTerms("s", PrivacyUnit.USER, wall, "1d")], alarms).scopes

    def paid(rounds, kind):
        return sum(
            cost * (min(rounds, counts[kind]) if runs else rounds * bool(counts[kind]))
            for cost, runs, counts in mix
        )

    # Whatever still fits after a hundred rounds costs nothing any more.
    fitting = [
        rounds for kind in range(3) for rounds in range(100) if paid(rounds + 1, kind) > wall
    ]
    assert plan.windows_fit == min(fitting, default=None)
    assert plan.worst_units == max(
        sum(cost * counts[kind] for cost, _, counts in mix) for kind in range(3)
    )
    for (cost, runs, counts), alarm in zip(mix, plan.alarms, strict=True):
        whole = cost * max(counts) <= wall
        assert (alarm.windows_fit is None) == (cost == 0 or (runs and whole))
