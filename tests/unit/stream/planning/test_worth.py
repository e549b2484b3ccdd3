"""What alarms are worth: false rings, tables of every width, lines and the page."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from math import exp, factorial
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stream.cli.main import main
from stream.config.loading import examine
from stream.planning.false_rings import false_rings, windows_in_a_week
from stream.planning.fitting import Fitting
from stream.planning.outlook import outlook
from stream.planning.ringing import RingLaw
from stream.planning.ringing_tables import rate_text, ringing_tables
from stream.planning.tables import plan_tables
from stream.planning.worth import worths
from stream.windows.calendars import FixedCalendar
from stream.windows.schedule import Schedule
from tests.support.planned import Alarm, Config
from tests.support.ringing import ring_probability

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from stream.model.alarms import Alarms

OPEN = '"Mon-Sun 07:00-22:00"'
CROWD = Alarm(
    having="COUNT(DISTINCT person) > 20", tolerance="9", extra={"usual": "8", "active": OPEN}
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
        "till": Alarm(having="SUM(paid) >= 200", tolerance="40", extra={"usual": "30"}),
        "few": Alarm(having="COUNT(*) < 50", tolerance="9", extra={"usual": "140"}),
        "between": Alarm(having="COUNT(*) > 20 AND COUNT(*) <= 60", tolerance="6"),
        "runs": replace(CROWD, extra={"mechanism": "svt", "usual": "3"}),
        "levels": replace(CROWD, extra={"mechanism": "ppwlm"}),
        "mean": Alarm(having="AVG(paid) > 3", tolerance="6"),
    }
    path = Config(alarms, epsilon_max=epsilon_max, caps=", on_overrun: deny").write(folder)
    text = Alarm(having="ABS(COUNT(*) - REFERENCE) >= 20", extra=band).text("band")
    path.write_text(path.read_text() + text.replace("    tolerance: 1\n", ""))
    return path


def planned(path: Path) -> Alarms:
    """Return what a file means."""
    report = examine(path, environ={})
    assert report.alarms is not None, [str(error) for error in report.errors]
    return report.alarms


def test_fifty_rooms_ring_for_nothing_as_the_guide_says(tmp_path: Path) -> None:
    """160 a day at exactly 8 people in 50 rooms, 194 where 8 is the mean: both known by hand."""
    alarms = loaded(tmp_path, crowd=CROWD)
    query = alarms.queries["crowd"]
    found = false_rings(RingLaw(query), alarms.budget)
    assert found is not None
    rooms = len(query.domain)
    assert found.windows == 7 * 15
    assert found.day * 50 / rooms == pytest.approx(159.8, abs=0.05)
    law = RingLaw(query)
    chances = [law.at(0, [count])[0] for count in range(21)]  # type: ignore[list-item, index]
    poisson = [exp(-8) * 8**k / factorial(k) for k in range(21)]
    by_hand = sum(p * q for p, q in zip(chances, poisson, strict=True)) * 750
    assert by_hand == pytest.approx(193.6, abs=0.05)
    assert found.varying is not None
    assert found.varying / 7 * 50 / rooms == pytest.approx(by_hand, abs=1e-6)
    # A twin that takes the mean's own probability is 34 rings short.
    assert abs(found.day * 50 / rooms - by_hand) > 30


def test_what_is_due_is_no_false_ring(tmp_path: Path) -> None:
    """Where the condition holds as usual every ring is right; how likely it is, is still said."""
    alarms = loaded(tmp_path, crowd=replace(CROWD, extra={"usual": "25"}))
    found = false_rings(RingLaw(alarms.queries["crowd"]), alarms.budget)
    assert found is not None
    assert found.week == 0
    assert found.chance > 0.95
    assert found.varying is not None
    assert 0 < found.varying < 100


def test_runs_ring_no_more_often_than_they_may(tmp_path: Path) -> None:
    """Seven runs of two alarms are 14 rings a week, whatever the probabilities add up to."""
    busy = {"mechanism": "svt", "alarms_per_period": "2", "usual": "19"}
    alarms = loaded(tmp_path, crowd=replace(CROWD, extra=busy))
    found = false_rings(RingLaw(alarms.queries["crowd"]), alarms.budget)
    assert found is not None
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
        loaded(tmp_path, crowd=replace(CROWD, extra=extra)).queries["crowd"].fingerprint
        for extra in ({}, {"usual": "8"}, {"usual": "12.5"})
    }
    assert len(prints) == 1


def test_usual_may_be_a_table(tmp_path: Path) -> None:
    """Cells of a table are each asked at their own; the largest probability is shown."""
    (tmp_path / "usual.csv").write_text("room,people\nlab,8\nhall,2\nattic,16\n")
    path = Config({"crowd": replace(CROWD, extra={"usual": "u[room]"})}).write(tmp_path)
    path.write_text("tables: {u: usual.csv}\n" + path.read_text())
    alarms = planned(path)
    query = alarms.queries["crowd"]
    found = false_rings(RingLaw(query), alarms.budget)
    assert found is not None
    assert (found.least, found.most) == (2, 16)
    each = [ring_probability(query, count) or 0 for count in (8, 2, 16)]
    assert found.chance == pytest.approx(max(each))
    assert found.week == pytest.approx(found.windows * sum(each))


@pytest.mark.parametrize(
    ("alarm", "said"),
    [
        (replace(CROWD, extra={"usual": "⟦-1"}), "is never below 0: -1 is not usual"),
        (replace(CROWD, extra={"usual": "⟦many"}), "what is usual is a number"),
        (replace(CROWD, extra={"usual": "⟦seats[room]"}), "`seats` is not a declared table"),
        (replace(CROWD, extra={"usual": "⟦1e30"}), "what is usual is beyond 60 bits"),
        (
            Alarm(having="COUNT(*) > 9 AND SUM(paid) > 9", tolerance="0", extra={"usual": "⟦8"}),
            "usual is of one aggregate, and this condition has 2",
        ),
    ],
)
def test_a_wrong_usual_is_refused_where_it_stands(tmp_path: Path, alarm: Alarm, said: str) -> None:
    """With line and column, and with what to write."""
    path = Config({"one": alarm}).write(tmp_path)
    text = path.read_text()
    line = text[: text.index("⟦")].count("\n") + 1
    column = len(text[: text.index("⟦")].rpartition("\n")[2]) + 1
    path.write_text(text.replace("⟦", ""))
    (error,) = examine(path, environ={}).errors
    assert said in error.message
    assert error.hint
    assert (error.line, error.column) == (line, column)


@pytest.fixture(scope="module", params=["4", "400"])
def shown(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[RenderableType]:
    """Return all that a plan prints: of a budget that is too small, and of one that is not."""
    alarms = planned(many(tmp_path_factory.mktemp("plan"), request.param))
    return [*plan_tables(outlook(alarms), alarms), *ringing_tables(worths(alarms))]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_cell_is_cut_off(shown: list[RenderableType], width: int) -> None:
    """Every word of every table is there at every width; no line is longer than the terminal."""
    out = io.StringIO()
    Console(width=width, file=out).print(*shown, sep="\n")
    printed = out.getvalue()
    assert "…" not in printed
    assert all(len(line.rstrip()) <= width for line in printed.splitlines())
    seen = re.sub(r"[\s│┃]", "", printed)
    for one in shown:
        if not isinstance(one, Fitting):
            continue
        for column in one.table.columns[1:]:
            for cell in column.cells:
                for word in (cell.plain if isinstance(cell, Text) else str(cell)).split():
                    assert word in printed or word in seen, word


def test_a_table_that_does_not_fit_is_told_in_words() -> None:
    """A twin that prints the table as it is loses a word."""
    table = Table()
    for heading in ("alarm", "mechanism", "threshold", "correction"):
        table.add_column(heading)
    table.add_row("crowd", "probe-ent", "12345678", "98765432")
    for shown, whole in ((Fitting(table), True), (table, False)):
        out = io.StringIO()
        Console(width=36, file=out).print(shown)
        assert ("98765432" in out.getvalue()) is whole


def test_lines_say_what_tables_say(tmp_path: Path) -> None:
    """One record an alarm, in the order of the file, with the figures of the tables."""
    path = many(tmp_path)
    result = CliRunner().invoke(main, ["plan", str(path), "--json"])
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    rung = {line["alarm"]: line for line in lines if line["record"] == "ringing"}
    assert list(rung) == list(planned(path).queries)
    (curve,) = rung["crowd"]["curves"]
    assert [point["count"] for point in curve["points"]] == [0, 5, 10, 15, 18, 20, 22]
    assert curve["points"][2]["chance"] == pytest.approx(0.3455, abs=5e-5)
    assert rung["crowd"]["usual"]["windows_a_week"] == 105
    assert rung["levels"]["usual"] is None
    (scores,) = rung["mean"]["curves"]
    assert [point["score"] for point in scores["points"]][4] == 0
    assert scores["points"][4]["chance"] == pytest.approx(0.95)
    assert rung["runs"]["basis"].startswith("the first ring of a fresh run")
    assert rung["levels"]["basis"] == "a predicate alone in its window"
    (budget,) = (line for line in lines if line["record"] == "budget")
    assert budget["total"]["periods_a_week"] == 7
    assert float(budget["total"]["week"]) == pytest.approx(28)
    assert float(budget["total"]["year"]) == pytest.approx(4 * 365)


@pytest.mark.parametrize(
    ("unit", "period", "timezone", "periods"),
    [
        ("user", "1d", "UTC", [7, 365]),
        ("user", "1d", "Europe/Berlin", [7, 365]),
        ("user", "7d", "UTC", [1, 53]),
        ("user", "7d", "Europe/Berlin", [1, 53]),
        ("user", "1h", "UTC", [7 * 15, 365 * 15]),
        ("user", "lifetime", "UTC", None),
        ("event", "", "UTC", None),
    ],
)
def test_periods_of_a_week_and_a_year_add_up(
    tmp_path: Path, unit: str, period: str, timezone: str, periods: list[int] | None
) -> None:
    """A week of days is seven, also of 167 hours; an event, or a lifetime, adds nothing up."""
    one = Config({"crowd": CROWD}, unit=unit, period=period, timezone=timezone).look(tmp_path)
    found = one.totals
    assert (None if found is None else [found.periods_week, found.periods_year]) == periods
    if found is not None and one.plan.worst_units is not None:
        worst = min(one.plan.worst_units, one.plan.terms.epsilon_max_units)
        assert found.year_units == found.periods_year * worst


def test_days_without_windows_add_nothing(tmp_path: Path) -> None:
    """An alarm of weekdays costs five days of a week, and 261 of a year."""
    crowd = replace(CROWD, extra={"usual": "8", "active": '"Mon-Fri 07:00-22:00"'})
    one = Config({"crowd": crowd}).look(tmp_path)
    assert one.totals is not None
    assert one.plan.worst_units is not None
    assert [one.totals.periods_week, one.totals.periods_year] == [5, 261]
    assert one.totals.week_units == 5 * one.plan.worst_units


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Alarms]:
    """Return the page of all kinds of alarms."""
    folder = tmp_path_factory.mktemp("page")
    path, out = many(folder), folder / "plan.html"
    result = CliRunner().invoke(main, ["plan", str(path), "--html", str(out)])
    assert result.exit_code == 0, result.output
    again = CliRunner().invoke(main, ["plan", str(path), "--html", str(out)])
    assert again.exit_code == 2
    assert "--force" in again.stderr
    return out.read_text(encoding="utf-8"), planned(path)


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
        before = {"start": 0.0, "middle": wide / 2, "end": wide}[text.attrib["text-anchor"]]
        if x - before < left or x - before + wide > left + width or not top + 9 <= y <= height:
            found.append(words)
    for line in svg.iter(f"{SVG}polyline"):
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            if not (left <= x <= left + width and top <= y <= top + height):
                found.append(point)
    return found


def test_the_page_draws_every_alarm(page: tuple[str, Alarms]) -> None:
    """A drawing each that has a law, and one for the budget; every name; nothing from elsewhere."""
    text, alarms = page
    drawn = drawings(text)
    names = [svg.attrib["aria-label"] for svg in drawn]
    assert names == [
        "periods of user",
        *(
            f"probability that {name} rings, against the {'score' if name == 'mean' else 'count'}"
            for name in alarms.queries
        ),
    ]
    assert all(f"<h3>{name}</h3>" in text for name in alarms.queries)
    assert "the score: 0 where the condition just holds" in " ".join(text.split())
    assert not re.search(r"<script|<link|src=|url\(|@import", text)
    marks = [[each.text for each in svg.iter(f"{SVG}text") if each.get("class")] for svg in drawn]
    assert ["threshold 20", "usual 8"] in marks
    assert ["edge 80", "edge 120"] in marks


def test_no_text_lies_outside_its_drawing(page: tuple[str, Alarms]) -> None:
    """Labels near an edge are moved inwards; a twin that leaves them where they are is caught."""
    drawn = drawings(page[0])
    assert [outside(svg) for svg in drawn] == [[]] * len(drawn)
    moved = ET.fromstring('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 340 210"/>')  # noqa: S314
    attributes: dict[str, Any] = {"x": "330", "y": "20", "text-anchor": "middle"}
    ET.SubElement(moved, f"{SVG}text", attributes).text = "threshold 1000000"
    assert outside(moved) == ["threshold 1000000"]


def test_rates_are_told_to_three_digits() -> None:
    """From next to nothing to thousands."""
    told = {0.0: "0", 1e-7: "< 0.001", 0.0416: "0.0416", 11.62: "11.6", 1234.5: "1,234"}
    assert {rate: rate_text(rate) for rate in told} == told
