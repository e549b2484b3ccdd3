"""The plan of alarms that are charged by runs of windows: how many runs, at what cost, how sure."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.budget.filter import UserFilter
from accountant.budget.loads import AlarmCost
from accountant.budget.plan import plan_budget
from accountant.budget.standings import Standing
from accountant.costs.charges import Charge, UniformCost, WindowKey
from accountant.errors import ConfigError
from accountant.loss.overlap import Held
from accountant.records import Answer, BudgetTerms
from accountant.regions.shapes import ANYWHERE
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit, to_loss_units
from operators.registry import RUN_MECHANISMS
from operators.svt import Svt
from stream.decisions.mechanisms import plans_of
from stream.planning.budget import REFERENCE_MS, budget_plan
from stream.planning.occupancy import ActiveWindows, run_breaks
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import Periods
from tests.support.planned import Alarm, Config, calendars, outlook
from tests.unit.stream.planning.walking import touching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from operators.base import Plan
    from stream.model.alarms import Alarms
    from stream.windows.calendars import Calendar

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

SEVEN = "TUMBLE(ts, INTERVAL '7' HOUR)"
DAY = "TUMBLE(ts, INTERVAL '1' DAY)"
HOP = "HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"


def alarm(*, mechanism: str = "svt", tolerance: str = "60", **more: str) -> Alarm:
    """Return an alarm in runs, unless said otherwise."""
    fields = {name: more.pop(name) for name in ("window", "having") if name in more}
    return Alarm(tolerance=tolerance, extra={"mechanism": mechanism, **more}, **fields)


def touched_by_hand(
    calendar: Calendar, periods: Periods, since_ms: int, until_ms: int
) -> list[tuple[int, tuple[int, ...]]]:
    """Return number and touched periods of every active window that touches a span, in order."""
    found = touching(calendar, since_ms, until_ms)
    return [(index, periods.touched(*bounds)) for index, *bounds in found]


periods_tried = st.sampled_from(
    [
        LocalCalendar(1, 1, "Europe/Berlin"),
        LocalCalendar(7, 7, "Europe/Berlin"),
        LocalCalendar(1, 1, "America/New_York"),
        FixedCalendar(12 * HOUR_MS, 12 * HOUR_MS),
        FixedCalendar(5 * HOUR_MS, 5 * HOUR_MS),
    ]
)


@settings(max_examples=60)
@given(calendars, periods_tried, st.integers(0, 400), st.integers(1, 12))
def test_runs_are_the_distinct_tuples_of_touched_periods(
    calendar: Calendar, period: Calendar, from_day: int, count: int
) -> None:
    """Per period, and window by window: a run opens wherever the touched periods change."""
    first = period.first_starting_at(REFERENCE_MS + from_day * DAY_MS)
    starts, ends = np.array([period.bounds(first + at) for at in range(count)], np.int64).T
    span = (int(starts[0]), int(ends[-1]))
    by_hand = touched_by_hand(calendar, Periods(period), *span)
    breaks = run_breaks(calendar, period, *span)
    active = ActiveWindows(calendar, *span)
    distinct = {touched for _, touched in by_hand}
    expected = [sum(start in touched for touched in distinct) for start in starts.tolist()]
    assert active.runs_touching(starts, ends, breaks).tolist() == expected


def test_windows_across_too_many_periods_are_refused() -> None:
    """What could not be counted is an error, not a guess."""
    periods = FixedCalendar(1, 1)
    with pytest.raises(ConfigError, match="too many budget periods"):
        run_breaks(FixedCalendar(DAY_MS, DAY_MS), periods, REFERENCE_MS, REFERENCE_MS + 10)


MIXES = {
    "alone": {"a": alarm()},
    "across": {"a": alarm(window=HOP), "b": alarm(window=SEVEN, max_alarms="2")},
    "days, and hours of a schedule": {
        "a": alarm(window="HOP(ts, INTERVAL '1' DAY, INTERVAL '2' DAY)"),
        "b": alarm(window=DAY),
        "c": alarm(window=HOP, active='"Mon-Sun 07:00-22:00"'),
    },
    "with others": {
        "a": alarm(window=HOP),
        "b": alarm(mechanism="tslm", window=SEVEN, tolerance="9"),
        "c": alarm(having="SUM(paid) > 800", tolerance="100", repeat="2"),
    },
}


def run_windows(alarms: Alarms, since_ms: int, until_ms: int) -> Iterator[tuple[WindowKey, bool]]:
    """Yield all windows that touch a span in the fixed order, and whether each opens a run."""
    periods = alarms.budget.periods
    keys = []
    for query in alarms.by_name.values():
        found = touched_by_hand(query.calendar, periods, since_ms, until_ms)
        for at, (index, touched) in enumerate(found):
            start_ms, end_ms = query.calendar.bounds(index)
            opens = not at or found[at - 1][1] != touched
            keys.append((WindowKey(end_ms, query.id, start_ms), opens))
    yield from sorted(keys)


def losses_of(alarms: Alarms, plans: Mapping[str, Plan]) -> dict[str, int]:
    """Return what a window, or a run, costs a person at worst, by alarm, in loss units."""
    caps = alarms.budget.contribution.predicates_per_window
    losses = {}
    for name, plan in plans.items():
        query = alarms.by_name[name]
        cells = 1 if query.mechanism in RUN_MECHANISMS else min(caps, len(query.domain))
        losses[name] = cells * to_loss_units(plan.epsilon)
    return losses


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
@pytest.mark.parametrize("timezone", ["UTC", "America/New_York"])
def test_worst_case_counts_every_run_once(
    tmp_path: Path, mix: Mapping[str, Alarm], timezone: str
) -> None:
    """The worst period is that of adding up runs and windows one by one, day by day."""
    alarms = Config(mix, timezone=timezone).load(tmp_path)
    plans = plans_of(alarms)
    (plan,) = budget_plan(alarms, plans).scopes
    losses = losses_of(alarms, plans)
    calendar = alarms.budget.periods.calendar if alarms.budget.periods else None
    worst = 0
    for month in (0, 69, 306):  # with the days on which clocks change
        first = calendar.first_starting_at(REFERENCE_MS + month * DAY_MS)
        for index in range(first, first + 9):
            bounds = calendar.bounds(index)
            paid = sum(
                losses[key.query]
                for key, opens in run_windows(alarms, *bounds)
                if opens or alarms.by_name[key.query].mechanism not in RUN_MECHANISMS
            )
            worst = max(worst, paid)
    assert plan.worst_units == worst
    assert plan.bound == "sum over cells and runs"


@pytest.mark.parametrize("seed", range(3))
def test_runs_of_a_plan_that_fits_are_never_refused(tmp_path: Path, seed: int) -> None:
    """Settled window by window at what they rang, against real periods, while runs last."""
    random = Random(seed)
    config = Config(MIXES["with others"], timezone="America/New_York")
    plans = plans_of(loaded := config.load(tmp_path))
    (full,) = budget_plan(loaded, plans).scopes
    wall = full.worst_units
    alarms = replace(config, epsilon_max=str(Fraction(wall, UNITS_PER_EPSILON))).load(tmp_path)
    assert budget_plan(alarms, plans).fits
    periods = alarms.budget.periods
    terms = {
        query.id: Svt.planned(query.condition, query.aim).terms
        for query in alarms.by_name.values()
        if query.mechanism in RUN_MECHANISMS
    }
    losses, left = losses_of(alarms, plans), dict.fromkeys(terms, 0)
    judge = UserFilter(wall, {}, {})
    since_ms = REFERENCE_MS + 69 * DAY_MS
    for key, opens in run_windows(alarms, since_ms, since_ms + 3 * DAY_MS):
        touched = periods.touched(key.start_ms, key.end_ms)
        asked = paid = losses[key.query]
        if key.query in terms:
            run = terms[key.query]
            if opens:
                left[key.query] = run.alarms
            elif not left[key.query]:
                continue  # what a second run takes is beyond the plan
            asked = left[key.query] * run.alarm_units + (run.open_units if opens else 0)
            rung = random.randint(0, left[key.query]) if random.random() < 0.3 else 0
            paid = run.cost_units(opens, rung)
            left[key.query] -= rung
        charge = Charge(key, UniformCost(asked, 1), 1, touched)
        assert judge.answer(charge, ANYWHERE) is Answer.RESERVED
        judge.hold(Standing(Held(key.start_ms, key.end_ms, paid, ANYWHERE), False, touched))


def test_a_lifetime_of_runs_has_an_end(tmp_path: Path) -> None:
    """One run in all, however many windows; beside an alarm that goes on, it is paid first."""
    alone = Config({"a": alarm(window=HOP)}, period="lifetime").look(tmp_path)
    whole = to_loss_units(alone.plan.alarms[0].epsilon)
    assert (alone.plan.worst_units, alone.plan.fits, alone.refusal) == (whole, True, None)
    assert (alone.plan.alarms[0].cells, alone.plan.windows_fit) == (1, None)
    assert alone.runs[0].queries is None
    mixed = Config(
        {"a": alarm(window=HOP), "b": alarm(window=DAY, mechanism="tslm")}, period="lifetime"
    )
    looked = mixed.look(tmp_path)
    each = to_loss_units(looked.plan.alarms[1].epsilon)
    rounds = (4 * UNITS_PER_EPSILON - whole) // each
    assert looked.plan.worst_units is None
    assert [one.worst_units for one in looked.plan.alarms] == [whole, None]
    assert looked.plan.windows_fit == rounds
    assert f"about {rounds} windows" in looked.plan.suggestion
    assert (looked.refusal.alarm, looked.refusal.granted["b"]) == ("b", rounds)
    short = replace(mixed, epsilon_max="0.1").load(tmp_path)
    (plan,) = budget_plan(short).scopes
    refusal = outlook(short)[0].refusal
    assert (plan.fits, plan.windows_fit) == (False, 0)
    assert refusal.granted == {"a": 0, "b": 0}


def test_a_history_says_how_many_questions_a_lifetime_asks(tmp_path: Path) -> None:
    """A declared history has so many windows, of which none crosses its ends."""
    history = "{from: 2011-01-01, until: 2011-01-03}"
    looked = Config({"a": alarm(window=HOP)}, period="lifetime", history=history).look(tmp_path)
    assert looked.runs[0].windows == 48 * 6 - 5
    assert looked.runs[0].queries == 3 * (48 * 6 - 5)


def test_an_event_pays_a_run_in_every_window(tmp_path: Path) -> None:
    """Under unit event nothing is shared: overlap multiplies."""
    looked = Config({"a": alarm(window=HOP)}, unit="event").look(tmp_path)
    whole = to_loss_units(looked.plan.alarms[0].epsilon)
    assert (looked.plan.worst_units, looked.plan.alarms[0].runs) == (6 * whole, False)
    assert looked.runs[0].windows is None


def test_what_is_said_of_a_run_is_what_the_operator_has(tmp_path: Path) -> None:
    """Noise and correction in the field's unit, queries counted."""
    config = Config(MIXES["with others"])
    alarms = config.load(tmp_path)
    shown = config.look(tmp_path).runs
    said = (("a", 24 * 6 + 5, 1), ("c", 24, 5))
    for run, (name, windows, step) in zip(shown, said, strict=True):
        query = alarms.by_name[name]
        planned = Svt.planned(query.condition, query.aim)
        terms = planned.terms
        assert run.alarms == 10
        assert run.threshold_scale == step * UNITS_PER_EPSILON / terms.open_units
        # Counts and sums of what is never negative move one way: rate eps_2 / c, not half of it.
        assert run.query_scale == step * UNITS_PER_EPSILON / terms.alarm_units
        assert run.correction == step * terms.correction
        assert run.windows == windows
        questions = windows * 3 * (2 if name == "c" else 1)
        assert (run.queries, run.negatives) == (questions, -(-questions // 10))
        before = (windows * 3 - 1) * (questions // (windows * 3))
        assert run.missed_given_no_alarm == planned.missed_in_silence(before, beyond=True)


units = st.integers(0, 12)
mixes = st.lists(
    st.tuples(units, st.booleans(), st.lists(st.integers(0, 4), min_size=3, max_size=3)),
    min_size=1,
    max_size=4,
)


@given(mixes, st.integers(0, 80))
def test_rounds_are_those_of_opening_runs_one_by_one(
    mix: list[tuple[int, bool, list[int]]], wall: int
) -> None:
    """So many windows of every alarm fit as do when each of the first ones opens a run."""
    terms = BudgetTerms("s", PrivacyUnit.USER, wall, "1d")
    alarms = [
        AlarmCost(
            "q",
            "s",
            cost,
            1.0,
            windows_per_period=tuple(counts),
            runs_per_period=tuple(counts) if runs else None,
        )
        for cost, runs, counts in mix
    ]
    (plan,) = plan_budget([terms], alarms).scopes

    def paid(rounds: int, kind: int) -> int:
        return sum(
            cost * (min(rounds, counts[kind]) if runs else rounds * bool(counts[kind]))
            for cost, runs, counts in mix
        )

    beyond = 100  # whatever still fits after so many rounds costs nothing any more
    fitting = [
        next((rounds for rounds in range(beyond) if paid(rounds + 1, kind) > wall), None)
        for kind in range(3)
    ]
    assert plan.windows_fit == min((each for each in fitting if each is not None), default=None)
    assert plan.worst_units == max(
        sum(cost * counts[kind] for cost, _, counts in mix) for kind in range(3)
    )
    for (cost, runs, counts), alarm in zip(mix, plan.alarms, strict=True):
        whole = cost * max(counts) <= wall
        assert (alarm.windows_fit is None) == (cost == 0 or (runs and whole))
