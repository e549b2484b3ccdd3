"""From a file to its plan: costs, and the smallest changes that make it fit."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from accountant.units import to_loss_units
from operators.search import rounded, rounded_index
from stream.decisions.registration import registration, shape_of
from stream.planning.budget import budget_plan, period_table, planned_shape
from stream.planning.figures import figures
from stream.planning.shown import number
from stream.planning.solver.changes import ChangeKind
from stream.planning.solver.solver import solve
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import REFERENCE_MS
from stream.windows.schedule import Schedule
from tests.support.commands import tocsin
from tests.support.planned import Alarm, Config
from tests.unit.stream.planning.walking import touching

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
HOP = "HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)"
HOURS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 24)
ROOMS = Config(
    {
        "a": Alarm(window=HOP, where="WHERE room = 'lab'"),
        "b": Alarm(where="WHERE room IN ('hall', 'lab')"),
        "c": Alarm(tolerance="3", where="WHERE room = 'attic'"),
    },
    unit="event",
    epsilon_max="5",
)
OVER_BUDGET = {
    "one tumbling": Config({"a": Alarm()}),
    "a short day": Config({"a": Alarm(extra={"active": '"Mon-Fri 08:00-20:00"'})}),
    "two of a person": Config({"a": Alarm(), "b": Alarm(tolerance="30")}, epsilon_max="20"),
    "caps": Config(
        {"a": Alarm()}, caps=", contribution: {max_groups_per_window: 2, max_events_per_group: 3}"
    ),
    "sums": Config({"a": Alarm(having="SUM(paid) > 200", tolerance="2.5")}, epsilon_max="11"),
    "a false alarm's rate": Config({"a": Alarm(extra={"max_fpr": "0.01"})}, epsilon_max="30"),
    "hopping person": Config({"a": Alarm(window=HOP, tolerance="9")}, epsilon_max="15"),
    "days in a week": Config(
        {"a": Alarm(window="TUMBLE(ts, INTERVAL '1' DAY)")}, period="1w", timezone="Europe/Berlin"
    ),
    "hopping event": Config({"a": Alarm(window=HOP)}, unit="event"),
    "rooms": ROOMS,
    "one round of a lifetime": Config(
        {"a": Alarm(), "b": Alarm()}, period="lifetime", epsilon_max="2"
    ),
    "a coin": Config({"a": Alarm()}, epsilon_max="0.1"),
}


def fits(config, folder, name, kind, value):
    """Say whether a file fits with one key changed: of an alarm, or of the budget."""
    changed = {kind.value: value}
    if kind is not ChangeKind.EPSILON_MAX:
        changed = {"alarms": {**config.alarms, name: replace(config.alarms[name], **changed)}}
    return budget_plan(replace(config, **changed).load(folder)).fits


def a_step_less(alarm, change):
    """Return what falls short of a change by the smallest step; ``None`` where there is none."""
    match change.kind:
        case ChangeKind.TOLERANCE:
            return str(Fraction(change.value) - Fraction("0.5" if "paid" in alarm.having else 1))
        case ChangeKind.MAX_FNR:
            rate = rounded(rounded_index(Fraction(change.value)) - 1)
            return str(max(rate, Fraction(alarm.max_fnr)))
        case ChangeKind.WINDOW if found := re.fullmatch(r"(TUMBLE.*')(\d+)(' HOUR.)", change.value):
            return f"{found[1]}{HOURS[HOURS.index(int(found[2])) - 1]}{found[3]}"
    return None


@pytest.mark.long
@pytest.mark.parametrize("config", OVER_BUDGET.values(), ids=OVER_BUDGET)
def test_every_change_makes_it_fit_and_one_step_less_does_not(tmp_path, config):
    """Each change of one alarm, written into the file, is enough, and is the smallest that is."""
    alarms = config.load(tmp_path)
    assert not budget_plan(alarms).fits
    (budget,) = figures(alarms)
    if budget.needed:
        for less, enough in ((0, True), (Fraction(1, 10_000), False)):
            wall = str(Fraction(budget.needed) - less)
            assert fits(config, tmp_path, "", ChangeKind.EPSILON_MAX, wall) is enough
    for one in solve(alarms):
        name = one.alarm.id
        for change in one.changes:
            kind, less = change.kind, a_step_less(config.alarms[name], change)
            if kind.value in {"epsilon_max", "tolerance", "max_fnr", "window"}:
                assert fits(config, tmp_path, name, kind, change.value), change
                assert less is None or not fits(config, tmp_path, name, kind, less), change


def test_a_plan_that_fits_needs_no_change(tmp_path):
    """Nothing is refused, and nothing is to be changed."""
    config = Config({"a": Alarm()}, unit="event")
    looked = config.look(tmp_path)
    assert (looked.plan.fits, looked.refusal) == (True, None)
    assert not any(one.changes for one in solve(config.load(tmp_path)))


def test_alarms_of_different_hours_share_no_row(tmp_path):
    """Schedules without a common minute compose in parallel, over the end of the week too."""
    hours = {"night": "Sun 22:00-06:00", "morning": "Mon 06:00-12:00"}
    alarms = {name: Alarm(extra={"active": f'"{when}"'}) for name, when in hours.items()}
    plan = Config({**alarms, "always": Alarm()}, unit="event").look(tmp_path).plan
    assert plan.fits
    assert plan.worst_units == 2 * to_loss_units(plan.alarms[0].epsilon)
    separate = [pair.separated_by for pair in plan.sharing.pairs]
    assert separate == [("active (UTC)",), (), ()]


def test_details_say_which_alarms_share_rows(tmp_path):
    """What keeps two alarms apart is named, and what it saves."""
    shown = tocsin("plan", ROOMS.write(tmp_path), "--details").stdout
    for said in ("a, c: share no row: badges.room", "a, b: share rows", "that row is in a, b"):
        assert said in shown


@pytest.mark.long
@pytest.mark.parametrize("unit", ["user", "event"])
def test_thirty_alarms_are_planned_quickly(tmp_path, unit):
    """A file of 30 alarms that does not fit takes seconds at most."""
    alarms = {
        f"a{number}": Alarm(
            having=f"COUNT(*) > {300 + number}",
            window=HOP if number % 2 else "TUMBLE(ts, INTERVAL '15' MINUTE)",
            extra={"active": '"Mon-Fri 07:00-22:00"'} if number % 3 else {},
        )
        for number in range(30)
    }
    config = Config(alarms, unit=unit).load(tmp_path)
    begun_s = time.process_time()
    (looked,) = figures(config)
    assert time.process_time() - begun_s < 60  # seconds on a machine that is not busy
    assert not looked.fits


def test_shapes_are_what_queries_cover(tmp_path):
    """The plan's are those that are registered; the same cells are one grouping."""
    config = Config(
        {
            "a": Alarm(where="WHERE room = 'lab'"),
            "b": Alarm(),
            "c": Alarm(group="floor, "),
            "d": Alarm(group="", extra={"active": '"Mon 08:00-12:00"'}),
        }
    )
    alarms = config.load(tmp_path)
    a, b, c, d = map(shape_of, alarms.by_name.values())
    assert (len({a.grouping, b.grouping, c.grouping, d.grouping}), a.grouping) == (3, b.grouping)
    assert a.region != b.region
    assert registration(alarms.by_name["a"], alarms, 7).shape == a
    assert planned_shape(alarms.by_name["a"]) == a
    assert planned_shape(alarms.by_name["d"]).as_region.attributes[0] == "active (UTC)"


@pytest.mark.parametrize(
    "period", [LocalCalendar(1, 1, "Europe/Berlin"), LocalCalendar(28, 28, "UTC")]
)
@pytest.mark.parametrize(
    "calendar",
    [
        FixedCalendar(HOUR_MS, HOUR_MS, Schedule.parse("Mon-Fri 07:00-22:00", "Europe/Berlin")),
        FixedCalendar(HOUR_MS, 600_000),
        LocalCalendar(7, 1, "Europe/Berlin"),
    ],
)
def test_kinds_of_periods_hold_the_most_windows(period, calendar):
    """The fullest of two years is the one that the period itself finds."""
    first, last = (period.first_starting_at(REFERENCE_MS + days * DAY_MS) for days in (0, 2 * 366))
    counted = (len(list(touching(calendar, *period.bounds(at)))) for at in range(first, last + 1))
    assert period_table(period).windows(calendar).max() == max(counted)


def test_a_figure_beyond_all_numbers_is_shown():
    """A resolution may be as large as a float is."""
    assert number(float("inf")) == "inf"
