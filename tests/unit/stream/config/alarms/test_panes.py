"""Which alarms share panes, how long these are, and which alarms cannot be decided from any."""

from __future__ import annotations

import pytest

from accountant.units import to_loss_units
from stream.config.alarms.panes import shared_anew
from stream.config.loading import examine
from stream.decisions.mechanisms import plans_of
from stream.planning.details import detail_lines
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.cumulative import CumulativeCalendar
from tests.support.paned import HEAD, alarm, configured
from tests.unit.stream.config import given

HOUR = "TUMBLE(ts, INTERVAL '1' HOUR)"
EARLY = "CUMULATE(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)"
SLIDING = "HOP(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)"
MINUTE_MS = 60_000


def panes_of(folder, *written):
    """Return who shares panes, and how these are cut."""
    found = configured(folder, *written, until="02:00").panes.values()
    return [(each.readers, each.calendar) for each in found]


def over(name, window, tolerance="20", having="COUNT(*) > 100"):
    """Return an alarm."""
    return alarm(name, window, having, tolerance=tolerance)


def test_alarms_over_the_same_events_share_panes(tmp_path):
    """Windows of other lengths, thresholds and tolerances; the dearest sets what a pane pays."""
    alarms = configured(
        tmp_path,
        over("a", SLIDING),
        over("b", SLIDING, "9"),
        over("c", HOUR, having="COUNT(*) <= 90"),
        over("d", HOUR) + "    timing: {grace: 1m}\n",
        until="02:00",
    )
    (one, other) = alarms.panes.values()
    assert one.readers == ("a", "b", "c")
    assert one.calendar == FixedCalendar(5 * MINUTE_MS, 5 * MINUTE_MS)
    assert other.readers == ("d",)
    assert [query.aim.panes for query in alarms.by_name.values()] == [12, 12, 12, 1]
    units = {to_loss_units(plan.epsilon) for plan in plans_of(alarms).values()}
    alone = configured(tmp_path, over("b", SLIDING, "9"), until="02:00")
    (pane,) = alone.panes.values()
    assert units == {0, one.aim.pane_units, other.aim.pane_units}
    assert one.aim.pane_units == pane.aim.pane_units
    assert [query.panes for query in alarms.by_name.values()] == [one.id] * 3 + [other.id]


def test_panes_that_are_shared_out_again_cost_the_same(tmp_path):
    """Who plans a changed file shares anew: what stays is priced and named as it was."""
    alarms = configured(tmp_path, over("a", SLIDING), over("b", HOUR), until="02:00")
    again = shared_anew(alarms)
    assert plans_of(again) == plans_of(alarms)
    prints = [{name: q.fingerprint for name, q in each.running.items()} for each in (alarms, again)]
    assert prints[0] == prints[1]


def test_who_joins_and_who_changes(tmp_path):
    """An alarm that fits changes nothing of the others; one that needs less noise changes all."""
    files = ([], [over("b", HOUR)], [over("b", SLIDING, "9")])
    found = [configured(tmp_path, over("a", SLIDING), *each, until="02:00") for each in files]
    assert len({tuple(each.panes) for each in found}) == 1
    first, joined, sharper = (each.running["a"].fingerprint for each in found)
    assert first == joined != sharper


def test_alarms_that_would_pay_for_others_stay_apart(tmp_path):
    """Seven minutes and an hour have panes of a minute: an hour's sum would be of sixty noises."""
    seven = "TUMBLE(ts, INTERVAL '7' MINUTE)"
    found = panes_of(tmp_path, over("hour", HOUR), over("seven", seven), over("too", seven, "19"))
    assert found == [
        (("hour",), FixedCalendar(60 * MINUTE_MS, 60 * MINUTE_MS)),
        (("seven", "too"), FixedCalendar(7 * MINUTE_MS, 7 * MINUTE_MS)),
    ]


@pytest.mark.parametrize(
    ("windows", "days"),
    [
        (["TUMBLE(ts, INTERVAL '7' DAY)"], 7),
        (["HOP(ts, INTERVAL '1' DAY, INTERVAL '7' DAY)"], 1),
        (["HOP(ts, INTERVAL '1' DAY, INTERVAL '7' DAY)", "TUMBLE(ts, INTERVAL '1' DAY)"], 1),
        (["HOP(ts, INTERVAL '2' DAY, INTERVAL '14' DAY)"], 1),
    ],
)
def test_days_and_weeks(tmp_path, windows, days):
    """Whole weeks start on Mondays and other windows at the epoch's day: both are made of days."""
    written = [over(f"a{at}", window) for at, window in enumerate(windows)]
    ((readers, calendar),) = panes_of(tmp_path, *written)
    assert len(readers) == len(windows)
    assert calendar == LocalCalendar(days, days, "UTC")


PEOPLE = "COUNT(DISTINCT person) > {}"


@pytest.mark.parametrize("unit", ["privacy_unit: event", "privacy_unit: user, period: 1d"])
def test_thresholds_of_people_share_panes_as_long_as_their_windows(tmp_path, unit):
    """Somebody is in one such window once: it is the pane, and it costs what a window does."""
    written = [over(name, HOUR, having=PEOPLE.format(at)) for name, at in (("a", 80), ("b", 120))]
    alarms = configured(tmp_path, *written, until="02:00", unit=unit)
    (own,) = alarms.panes.values()
    assert own.readers == ("a", "b")
    assert own.calendar == FixedCalendar(60 * MINUTE_MS, 60 * MINUTE_MS)
    assert not own.firsts
    units = {to_loss_units(plan.epsilon) for plan in plans_of(alarms).values()}
    assert units == {0, own.aim.pane_units}


def test_people_of_cumulative_windows_count_in_the_first_of_their_panes(tmp_path):
    """Windows of one length share them, whole ones where that is no dearer; others do not."""
    half = "CUMULATE(ts, INTERVAL '5' MINUTE, INTERVAL '30' MINUTE)"
    written = [
        over(name, window, having=PEOPLE.format(100))
        for name, window in (("a", EARLY), ("b", EARLY), ("c", half), ("d", HOUR))
    ]
    alarms = configured(tmp_path, *written, until="02:00")
    found = {own.readers: own for own in alarms.panes.values()}
    assert set(found) == {("a", "b", "d"), ("c",)}
    own = found["a", "b", "d"]
    assert own.calendar == CumulativeCalendar(60 * MINUTE_MS, 5 * MINUTE_MS)
    assert own.firsts
    assert [alarms.by_name[name].aim.panes for name in "abcd"] == [12, 12, 6, 12]
    assert to_loss_units(plans_of(alarms)[own.id].epsilon) == 2 * own.aim.pane_units


CAPPED = "privacy_unit: user, period: 1d, contribution: {{max_windows_per_period: {few}}}"


def test_caps_on_a_person_are_those_of_panes(tmp_path):
    """Who writes them is told: what a person counts for, and what a window then adds up."""
    written = over("hour", SLIDING), over("pane", "TUMBLE(ts, INTERVAL '5' MINUTE)")
    unit = CAPPED.format(few=6)
    configured(tmp_path, *written, until="02:00", unit=unit)
    report = examine(tmp_path / "alarms.yaml", environ={})
    told = [each.message for each in report.notes]
    rule = "a person counts in each pane (the first 6 of a period that they are in)"
    assert [rule in each for each in told] == [True, True]
    (warned,) = [each for each in report.warnings if "bounds hold per pane" in each.message]
    assert "a window has 12: " in warned.message
    assert "counts 6 times as much" in warned.message
    assert "mechanism: tslm" in (warned.hint or "")
    assert not [each for each in report.warnings if "COUNT(DISTINCT" in (each.hint or "")]


@pytest.mark.parametrize(
    ("unit", "panes"),
    [
        (CAPPED.format(few=6), 6),
        ("privacy_unit: user, period: 1d", 288),
        ("privacy_unit: user, period: lifetime", None),
    ],
)
def test_the_plan_says_what_a_person_pays(tmp_path, unit, panes):
    """For all panes of a period, or as many as count her."""
    alarms = configured(tmp_path, over("a", SLIDING), until="02:00", unit=unit)
    (own,) = alarms.panes.values()
    each = to_loss_units(plans_of(alarms)[own.id].epsilon)
    loss = "no end" if panes is None else f"{panes * each / 10**12:.3f}"
    (line,) = [line for line in detail_lines(alarms) if "has noisy panes" in line]
    assert line.endswith(f": a person and period pays {loss} for all of them")


@pytest.mark.parametrize("mechanism", ["panes", "tslm"])
@pytest.mark.parametrize(
    ("name", "hints"),
    [("panes-0123abcd", ["rename the alarm"]), ("panes-0123ABCD", []), ("panes-0123abc", [])],
)
def test_no_alarm_is_called_as_panes_are(tmp_path, name, hints, mechanism):
    """Whatever decides it: readers of decisions know panes by their names alone."""
    text = HEAD.format(rooms="hall", until="02:00", wall="4", ledger="sqlite:///a.db")
    text += alarm(name, HOUR, "COUNT(*) > 100", mechanism=mechanism)
    assert [error.hint for error in given.examined(tmp_path, text).errors] == hints
