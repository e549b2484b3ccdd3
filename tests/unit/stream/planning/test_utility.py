"""What alarms are worth: false alarms, the lines of a plan, its JSON and its page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import exp, factorial
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from stream.config.loading import load
from stream.planning.checks import often_false
from stream.planning.detection import DetectionCurve
from stream.planning.false_alarms import false_alarms, windows_in_a_week
from stream.windows.calendars import FixedCalendar
from stream.windows.schedule import Schedule
from tests.support.commands import tocsin
from tests.support.detection import ring_probability
from tests.support.planned import Alarm, Config

if TYPE_CHECKING:
    from pathlib import Path

    from stream.model.alarms import Alarms
    from stream.planning.false_alarms import FalseAlarms

OPEN = '"Mon-Sun 07:00-22:00"'
CROWD = Alarm(
    having="COUNT(DISTINCT person) > 20", tolerance="9", extra={"baseline": "8", "active": OPEN}
)
SVG = "{http://www.w3.org/2000/svg}"
LETTER = 5.4  # the least that an average letter of the page's texts takes


def loaded(folder: Path, epsilon_max: str = "400", **alarms: Alarm) -> Alarms:
    """Return what a file of these alarms means."""
    return Config(alarms, epsilon_max=epsilon_max).load(folder)


def many(folder: Path, epsilon_max: str = "4") -> Path:
    """Write a file with every kind of alarm that a plan shows."""
    band = {"mechanism": "decider", "decider": "lm", "reference": "100", "epsilon": '"0.2"'}
    alarms = {
        "crowd": CROWD,
        "an-alarm-whose-name-is-far-longer-than-any-column-would-like": CROWD,
        "till": Alarm(having="SUM(paid) >= 200", tolerance="40", extra={"baseline": "30"}),
        "few": Alarm(having="COUNT(*) < 50", tolerance="9", extra={"baseline": "140"}),
        "between": Alarm(having="COUNT(*) > 20 AND COUNT(*) <= 60", tolerance="6"),
        "runs": replace(CROWD, extra={"mechanism": "svt", "baseline": "3"}),
        "levels": replace(CROWD, extra={"mechanism": "ppwlm"}),
        "mean": Alarm(having="AVG(paid) > 3", tolerance="6"),
    }
    path = Config(alarms, epsilon_max=epsilon_max, caps=", on_shortfall: deny").write(folder)
    text = Alarm(having="ABS(COUNT(*) - REFERENCE) >= 20", extra=band).text("band")
    path.write_text(path.read_text() + text.replace("    tolerance: 1\n", ""))
    return path


def rung(alarms: Alarms) -> tuple[Any, FalseAlarms]:
    """Return the only alarm of a file, and how often it fires for nothing."""
    (query,) = alarms.by_name.values()
    return query, false_alarms(DetectionCurve(query), alarms.budget)


def planned(path: Path) -> Alarms:
    """Return what a file means."""
    return load(path, environ={})


def test_fifty_rooms_ring_for_nothing_as_the_guide_says(tmp_path: Path) -> None:
    """160 a day at exactly 8 people in 50 rooms, 194 where 8 is the mean: both known by hand."""
    query, found = rung(loaded(tmp_path, crowd=CROWD))
    rooms = len(query.domain)
    assert found.windows == 7 * 15
    assert found.week / 7 * 50 / rooms == pytest.approx(159.8, abs=0.05)
    law = DetectionCurve(query)
    chances = [law.at(0, [count])[0] for count in range(21)]  # type: ignore[list-item, index]
    poisson = [exp(-8) * 8**k / factorial(k) for k in range(21)]
    by_hand = sum(p * q for p, q in zip(chances, poisson, strict=True)) * 750
    assert by_hand == pytest.approx(193.6, abs=0.05)
    assert found.varying / 7 * 50 / rooms == pytest.approx(by_hand, abs=1e-6)
    # A twin that takes the mean's own probability is 34 rings short.
    assert abs(found.week / 7 * 50 / rooms - by_hand) > 30


def test_what_is_due_is_no_false_ring(tmp_path: Path) -> None:
    """Where the condition holds as usual every ring is right."""
    query, found = rung(loaded(tmp_path, crowd=replace(CROWD, extra={"baseline": "25"})))
    assert found.week == 0
    assert (ring_probability(query, 25) or 0) > 0.95
    assert 0 < found.varying < 100


def test_runs_ring_no_more_often_than_they_may(tmp_path: Path) -> None:
    """Seven runs of two alarms are 14 rings a week, whatever the probabilities add up to."""
    busy = {"mechanism": "svt", "max_alarms": "2", "baseline": "19"}
    _, found = rung(loaded(tmp_path, crowd=replace(CROWD, extra=busy)))
    assert found.week == 14


def test_the_fullest_week_is_counted() -> None:
    """Hours of working days, and windows that hop: by the number that begin in a week."""
    hour = 3_600_000
    days = Schedule.parse("Mon-Fri 07:00-22:00", "Europe/Berlin")
    assert windows_in_a_week(FixedCalendar(hour, hour, days)) == 75
    assert windows_in_a_week(FixedCalendar(4 * hour, hour)) == 168


def test_usual_moves_no_fingerprint(tmp_path: Path) -> None:
    """A file that says what is usual, or says something else, is accepted by any ledger."""
    prints = {
        loaded(tmp_path, crowd=replace(CROWD, extra=extra)).by_name["crowd"].fingerprint
        for extra in ({}, {"baseline": "8"}, {"baseline": "12.5"})
    }
    assert len(prints) == 1


def test_a_baseline_may_be_a_table(tmp_path: Path) -> None:
    """Cells of a table are each asked at their own; the largest probability is shown."""
    (tmp_path / "usual.csv").write_text("room,people\nlab,8\nhall,2\nattic,16\n")
    path = Config({"crowd": replace(CROWD, extra={"baseline": "u[room]"})}).write(tmp_path)
    path.write_text("tables: {u: usual.csv}\n" + path.read_text())
    query, found = rung(planned(path))
    assert (query.baseline.min(), query.baseline.max()) == (2, 16)
    each = [ring_probability(query, count) or 0 for count in (8, 2, 16)]
    assert max(chance for _, chance in found.alike) == pytest.approx(max(each))
    assert found.week == pytest.approx(found.windows * sum(each))


@pytest.mark.parametrize("epsilon_max", ["4", "400"])
def test_a_plan_is_as_wide_as_a_terminal_and_one_line_an_alarm(
    tmp_path: Path, epsilon_max: str
) -> None:
    """Only a name is longer; whatever kind of alarm, its figures stand on its line."""
    path = many(tmp_path, epsilon_max)
    shown = tocsin("plan", path).stdout.splitlines()
    rows = shown[next(at for at, line in enumerate(shown) if line.endswith("alarm")) + 1 :]
    names = list(planned(path).by_name)
    for row, name in zip(rows, names, strict=False):
        assert row.endswith(f" {name}")
        assert len(row.removesuffix(name)) <= 72
    assert all(len(line) <= 80 for line in shown if not line.endswith(tuple(names)))


def test_what_is_printed_is_what_is_computed(tmp_path: Path) -> None:
    """JSON has the same figures, in the order of the file, and curves begin where the law does."""
    path = many(tmp_path, "400")
    result = tocsin("plan", path, "--json", code=0)
    (budget,) = map(json.loads, result.stdout.splitlines())
    found = {one["alarm"]: one for one in budget["alarms"]}
    alarms = planned(path)
    assert list(found) == list(alarms.by_name)
    (edge,) = found["crowd"]["detection"]
    query = alarms.by_name["crowd"]
    for at, low, high in ((edge["for_sure"], 0.999, 1), (edge["almost_never"], 0, 0.001)):
        assert low <= (ring_probability(query, at) or 0) <= high
    assert (ring_probability(query, edge["for_sure"] - 1) or 0) < 0.999
    assert (ring_probability(query, edge["almost_never"] + 1) or 0) > 0.001
    (few,) = found["few"]["detection"]  # fires below its threshold
    assert few["for_sure"] < 50 < few["almost_never"]
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
def test_periods_of_a_week_and_a_year_add_up(
    tmp_path: Path, settings: dict[str, str], active: str, periods: list[int] | None
) -> None:
    """A week of days is seven, also of 167 hours; an event, or a lifetime, adds nothing up.

    Days without windows add nothing: an alarm of weekdays costs five days of a week.
    """
    crowd = replace(CROWD, extra={"baseline": "8", "active": active})
    one = Config({"crowd": crowd}, **settings).look(tmp_path)
    found = one.totals
    assert (None if found is None else [number for _, number in found]) == periods
    if found is not None and one.plan.worst_units is not None:
        (week_units, _), (year_units, year) = found
        worst = min(one.plan.worst_units, one.plan.terms.epsilon_max_units)
        assert year_units == year * worst
        if active != OPEN:
            assert week_units == 5 * one.plan.worst_units


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Alarms]:
    """Return the page of all kinds of alarms."""
    folder = tmp_path_factory.mktemp("page")
    path, out = many(folder), folder / "plan.html"
    tocsin("plan", path, "--html", out, code=0)
    again = tocsin("plan", path, "--html", out, code=2)
    assert "--force" in again.stderr
    return out.read_text(), planned(path)


def drawings(text: str) -> list[ET.Element]:
    """Return the drawings of a page, as XML."""
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]  # noqa: S314


def outside(svg: ET.Element) -> list[str]:
    """Return what lies outside the drawing's own box."""
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    found = []
    for text in svg.iter(f"{SVG}text"):
        x, y, words = float(text.attrib["x"]), float(text.attrib["y"]), text.text or ""
        wide = LETTER * len(words)
        before = {"start": 0.0, "middle": wide / 2, "end": wide}[text.get("text-anchor", "start")]
        if x - before < left or x - before + wide > left + width or not top + 9 <= y <= height:
            found.append(words)
    for line in svg.iter(f"{SVG}polyline"):
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            if not (left <= x <= left + width and top <= y <= top + height):
                found.append(point)
    return found


def test_the_page_draws_every_alarm(page: tuple[str, Alarms]) -> None:
    """A drawing each that has a law, the lines of the plan, and nothing from elsewhere."""
    text, alarms = page
    names = [svg.attrib["aria-label"] for svg in drawings(text)]
    assert names == [
        f"probability that {name} fires, against the {'score' if name == 'mean' else 'count'}"
        for name in alarms.by_name
    ]
    assert all(f"<h3>{name}</h3>" in text for name in alarms.by_name)
    assert "budget user:" in text
    assert not re.search(r"<script|<link|src=|url\(|@import", text)
    marks = [
        [each.text for each in svg.iter(f"{SVG}text") if each.get("class")]
        for svg in drawings(text)
    ]
    assert ["threshold 20", "baseline 8"] in marks
    assert ["edge 80", "edge 120"] in marks


def test_no_text_lies_outside_its_drawing(page: tuple[str, Alarms]) -> None:
    """Labels near an edge are moved inwards; a twin that leaves them where they are is caught."""
    drawn = drawings(page[0])
    assert [outside(svg) for svg in drawn] == [[]] * len(drawn)
    moved = ET.fromstring('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 340 210"/>')  # noqa: S314
    attributes: dict[str, Any] = {"x": "330", "y": "20", "text-anchor": "middle"}
    ET.SubElement(moved, f"{SVG}text", attributes).text = "threshold 1000000"
    assert outside(moved) == ["threshold 1000000"]


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
def test_an_ordinary_day_that_fires_too_often_is_warned_of(
    extra: dict[str, str], said: list[str], tmp_path: Path
) -> None:
    """Counts that vary about the baseline: beyond twice what is tolerated, or half of the runs."""
    found = list(often_false(loaded(tmp_path, crowd=replace(CROWD, extra=extra))))
    assert [one.message.rpartition("; ")[2] for one in found] == said
    assert all("highest count" in one.hint for one in found)
