"""What alarms are worth: false alarms, the lines of a plan, its JSON and its page."""

from __future__ import annotations

import re
from dataclasses import replace
from math import exp, factorial
from xml.etree import ElementTree as ET

import pytest

from stream.config.loading import load
from stream.planning.checks import often_false
from stream.planning.detection import DetectionCurve
from stream.planning.false_alarms import false_alarms, windows_in_a_week
from stream.planning.tolerances import useful_tolerance
from stream.windows.calendars import FixedCalendar
from stream.windows.schedule import Schedule
from tests.support.commands import json_lines, tocsin
from tests.support.planned import Alarm, Config, fires_at

OPEN = '"Mon-Sun 07:00-22:00"'
CROWD = Alarm(
    having="COUNT(DISTINCT person) > 20", tolerance="9", extra={"baseline": "8", "active": OPEN}
)
BAND = {"mechanism": "decider", "decider": "lm", "reference": "100", "epsilon": '"0.2"'}
KINDS = {
    "crowd": CROWD,
    "an-alarm-whose-name-is-far-longer-than-any-column-would-like": CROWD,
    "till": Alarm(having="SUM(paid) >= 200", tolerance="40", extra={"baseline": "30"}),
    "few": Alarm(having="COUNT(*) < 50", tolerance="9", extra={"baseline": "140"}),
    "between": Alarm(having="COUNT(*) > 20 AND COUNT(*) <= 60", tolerance="6"),
    "runs": replace(CROWD, extra={"mechanism": "svt", "baseline": "3"}),
    "levels": replace(CROWD, extra={"mechanism": "ppwlm"}),
    "mean": Alarm(having="AVG(paid) > 3", tolerance="6"),
    "band": Alarm(having="ABS(COUNT(*) - REFERENCE) >= 20", tolerance="", extra=BAND),
}
"""Every kind of alarm that a plan shows."""
MANY = Config(KINDS, caps=", on_shortfall: deny")
SVG = "{http://www.w3.org/2000/svg}"
LETTER = 5.4  # the least that an average letter of the page's texts takes


def crowd(folder, **extra):
    """Return the alarm under other keys, and how often it fires for nothing."""
    alarms = Config({"crowd": replace(CROWD, extra=extra)}, epsilon_max="400").load(folder)
    (query,) = alarms.by_name.values()
    return query, false_alarms(DetectionCurve(query), alarms.budget)


def test_fifty_rooms_fire_for_nothing_as_the_guide_says(tmp_path):
    """160 a day at exactly 8 people in 50 rooms, 194 where 8 is the mean: both known by hand."""
    query, found = crowd(tmp_path, **CROWD.extra)
    assert found.windows == 7 * 15
    week, varying = (each / 7 * 50 / len(query.domain) for each in (found.week, found.varying))
    assert week == pytest.approx(159.8, abs=0.05)
    poisson = [exp(-8) * 8**k / factorial(k) for k in range(21)]
    by_hand = sum(p * q for p, q in zip(fires_at(query, *range(21)), poisson, strict=True)) * 750
    assert by_hand == pytest.approx(193.6, abs=0.05)
    assert varying == pytest.approx(by_hand, abs=1e-6)
    # A twin that takes the mean's own probability is 34 alarms short.
    assert abs(week - by_hand) > 30


def test_what_is_due_is_no_false_alarm(tmp_path):
    """Where the condition holds at the baseline every alarm is right."""
    query, found = crowd(tmp_path, baseline="25")
    assert found.week == 0
    assert fires_at(query, 25)[0] > 0.95
    assert 0 < found.varying < 100


def test_runs_fire_no_more_often_than_they_may(tmp_path):
    """Seven runs of two alarms are 14 a week, whatever the probabilities add up to."""
    _, found = crowd(tmp_path, mechanism="svt", max_alarms="2", baseline="19")
    assert found.week == 14


def test_the_fullest_week_is_counted():
    """Hours of working days, and windows that hop: by the number that begin in a week."""
    hour = 3_600_000
    days = Schedule.parse("Mon-Fri 07:00-22:00", "Europe/Berlin")
    assert windows_in_a_week(FixedCalendar(hour, hour, days)) == 75
    assert windows_in_a_week(FixedCalendar(4 * hour, hour)) == 168


def test_a_baseline_moves_no_fingerprint(tmp_path):
    """A file that says one, or another one, is accepted by any ledger."""
    said = ({}, {"baseline": "8"}, {"baseline": "12.5"})
    assert len({crowd(tmp_path, **extra)[0].fingerprint for extra in said}) == 1


def test_a_baseline_may_be_a_table(tmp_path):
    """Groups of a table are each asked at their own."""
    (tmp_path / "usual.csv").write_text("room,people\nlab,8\nhall,2\nattic,16\n")
    path = Config({"crowd": replace(CROWD, extra={"baseline": "u[room]"})}).write(tmp_path)
    path.write_text("tables: {u: usual.csv}\n" + path.read_text())
    alarms = load(path, environ={})
    query = alarms.by_name["crowd"]
    found = false_alarms(DetectionCurve(query), alarms.budget)
    each = fires_at(query, 2, 8, 16)
    assert sorted(chance for _, chance in found.alike) == pytest.approx(each)
    assert found.week == pytest.approx(found.windows * sum(each))


@pytest.mark.parametrize(
    "keys",
    [
        {"having": "COUNT(*) > 100 OR COUNT(*) < u[room]", "tolerance": "9"},
        {
            "having": "ABS(COUNT(*) - REFERENCE) >= 20",
            "tolerance": "",
            "extra": {**BAND, "reference": '"u[room]"', "epsilon": '"1"'},
        },
    ],
)
def test_groups_are_alike_only_where_all_that_they_are_compared_with_is(tmp_path, keys):
    """The highest threshold may be one, and a lower one or the reference not."""
    (tmp_path / "usual.csv").write_text("room,people\nlab,5\nhall,49\nattic,5\n")
    extra = {**keys.get("extra", {}), "baseline": "50"}
    path = Config({"it": Alarm(**{**keys, "extra": extra})}, unit="event").write(tmp_path)
    path.write_text("tables: {u: usual.csv}\n" + path.read_text())
    alarms = load(path, environ={})
    found = false_alarms(DetectionCurve(alarms.by_name["it"]), alarms.budget)
    assert [size for size, _ in found.alike] == [2, 1]


@pytest.mark.parametrize(
    "having", ["COUNT(*) > 60", "2 * COUNT(*) FILTER (WHERE floor = 1) - COUNT(*) > 60"]
)
def test_a_third_of_the_threshold_is_the_widest_useful_tolerance(tmp_path, having):
    """Also where it is a sum of several aggregates that has to reach it."""
    query = Config({"one": Alarm(having=having)}, epsilon_max="99").load(tmp_path).by_name["one"]
    (name,) = query.condition.atoms
    assert useful_tolerance(query, name) == 20


@pytest.mark.parametrize("epsilon_max", ["4", "400"])
def test_a_plan_is_as_wide_as_a_terminal_and_one_line_an_alarm(tmp_path, epsilon_max):
    """Only a name is longer; whatever kind of alarm, its figures stand on its line."""
    shown = tocsin("plan", replace(MANY, epsilon_max=epsilon_max).write(tmp_path)).stdout
    head, _, rows = shown.partition(" alarm\n")
    for row, name in zip(rows.splitlines(), KINDS, strict=False):
        assert row.endswith(f" {name}")
        assert len(row.removesuffix(name)) <= 72
    others = [*head.splitlines(), *rows.splitlines()[len(KINDS) :]]
    assert all(len(line) <= 80 for line in others if not line.endswith(tuple(KINDS)))


def test_what_is_printed_is_what_is_computed(tmp_path):
    """JSON has the same figures, in the order of the file, and curves begin where the law does."""
    config = replace(MANY, epsilon_max="400")
    (budget,) = json_lines(tocsin("plan", config.write(tmp_path), "--json"))
    found = {one["alarm"]: one for one in budget["alarms"]}
    assert list(found) == list(KINDS)
    (edge,), (few,) = (found[name]["detection"] for name in ("crowd", "few"))
    never, sure = edge["almost_never"], edge["for_sure"]
    chances = fires_at(config.load(tmp_path).by_name["crowd"], never, never + 1, sure - 1, sure)
    assert chances[0] <= 0.001 < chances[1] < chances[2] < 0.999 <= chances[3]
    assert few["for_sure"] < 50 < few["almost_never"]  # fires below its threshold
    assert found["crowd"]["false_alarms"] is not None


@pytest.mark.parametrize(
    ("settings", "active", "periods"),
    [
        ({}, OPEN, [7, 365]),
        ({}, '"Mon-Fri 07:00-22:00"', [5, 261]),
        ({"timezone": "Europe/Berlin"}, OPEN, [7, 365]),
        ({"period": "7d"}, OPEN, [1, 53]),
        ({"period": "7d", "timezone": "Europe/Berlin"}, OPEN, [1, 53]),
        ({"period": "1h"}, OPEN, [7 * 15, 365 * 15]),
        ({"period": "lifetime"}, OPEN, None),
        ({"unit": "event"}, OPEN, None),
    ],
)
def test_periods_of_a_week_and_a_year_add_up(tmp_path, settings, active, periods):
    """A week of days is seven, also of 167 hours; an event, or a lifetime, adds nothing up.

    Days without windows add nothing: an alarm of weekdays costs five days of a week.
    """
    crowd = replace(CROWD, extra={"baseline": "8", "active": active})
    one = Config({"crowd": crowd}, **settings).look(tmp_path)
    worst = periods and min(one.plan.worst_units, one.plan.terms.epsilon_max_units)
    assert one.totals == (periods and [(number * worst, number) for number in periods])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the page of all kinds of alarms."""
    folder = tmp_path_factory.mktemp("page")
    plan = ("plan", MANY.write(folder), "--html", folder / "plan.html")
    tocsin(*plan, code=0)
    assert "--force" in tocsin(*plan, code=2).stderr
    return (folder / "plan.html").read_text()


def drawings(text):
    """Return the drawings of a page, as XML."""
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]  # noqa: S314


def outside(svg):
    """Yield what lies outside the drawing's own box: words and points."""
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    for text in svg.iter(f"{SVG}text"):
        x, y, wide = float(text.attrib["x"]), float(text.attrib["y"]), LETTER * len(text.text)
        x -= {"start": 0, "middle": wide / 2, "end": wide}[text.get("text-anchor", "start")]
        if not (left <= x <= left + width - wide and top + 9 <= y <= height):
            yield text.text
    for line in svg.iter(f"{SVG}polyline"):
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            if not (left <= x <= left + width and top <= y <= top + height):
                yield point


def test_the_page_draws_every_alarm(page):
    """A drawing each that has a law, the lines of the plan, and nothing from elsewhere."""
    assert [svg.attrib["aria-label"] for svg in drawings(page)] == [
        f"probability that {name} fires, against the {'score' if name == 'mean' else 'count'}"
        for name in KINDS
    ]
    assert all(f"<h3>{name}</h3>" in page for name in KINDS)
    assert "budget user:" in page
    assert not re.search(r"<script|<link|src=|url\(|@import", page)
    texts = [list(svg.iter(f"{SVG}text")) for svg in drawings(page)]
    marks = [[one.text for one in each if one.get("class")] for each in texts]
    assert ["threshold 20", "baseline 8"] in marks
    assert ["edge 80", "edge 120"] in marks


def test_no_text_lies_outside_its_drawing(page):
    """Labels near an edge are moved inwards; a twin that leaves them where they are is caught."""
    assert [one for svg in drawings(page) for one in outside(svg)] == []
    label = '<text x="330" y="20" text-anchor="middle">threshold 1000000</text>'
    (moved,) = drawings(f'<svg xmlns="{SVG[1:-1]}" viewBox="0 0 340 210">{label}</svg>')
    assert list(outside(moved)) == ["threshold 1000000"]


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"false_alarms": "1 per week", "baseline": "8"}, ["1 per week tolerated"]),
        ({"false_alarms": "9000 per month", "baseline": "8"}, []),
        (
            {"mechanism": "svt", "max_alarms": "2", "baseline": "14"},
            ["its SVT runs carry 14"],
        ),
        ({}, []),
    ],
)
def test_an_ordinary_day_that_fires_too_often_is_warned_of(extra, said, tmp_path):
    """Counts that vary about the baseline: beyond twice what is tolerated, or half of the runs."""
    alarm = replace(CROWD, extra=extra)
    found = list(often_false(Config({"crowd": alarm}, epsilon_max="400").load(tmp_path)))
    assert [one.message.rpartition("; ")[2] for one in found] == said
    assert all("higher threshold or epsilon_max" in one.hint for one in found)
