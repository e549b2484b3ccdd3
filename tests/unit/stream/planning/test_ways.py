"""Every way of the adviser's table, written into the file, plans to the figures that stand there.

Shared panes, windows that are looked at in steps or slide, and caps over a period, beside the
mechanisms of single windows and runs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from accountant.units import UNITS_PER_EPSILON
from stream.config.loading import examine
from stream.planning.advice.case import Case
from stream.planning.advice.words import to_write
from stream.planning.worth import worths
from tests.support.wishes import WANTED, File, invoke, planned, record, written

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EVENT = File(
    {"usual": "20", "false_rings": "1 per week", "max_fnr": "0.05"},
    budget="unit: event",
    aggregate="COUNT(*)",
    threshold=60,
    active=None,
    rooms=4,
)
_SOON = replace(_EVENT, keys={**_EVENT.keys, "max_delay": "10m"})
_SLIDING = replace(_EVENT, windows="HOP(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)")
_USER = File(WANTED, rooms=8)
_WEEK = File(
    {**WANTED, "mechanism": "tslm"}, rooms=8, budget="unit: user, period: 1w", epsilon_max="30"
)
_SHARER = """\
  other:
    sql: |
      SELECT room FROM badges
      GROUP BY room, HOP(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)
      HAVING COUNT(*) > 80
    max_fnr: 0.01
    tolerance: 10
    mechanism: panes
"""

_ASKED: Mapping[str, tuple[File, int, set[str]]] = {
    "an hour is late": (_SOON, -3, {"tslm", "svt", "panes"}),
    "windows slide": (_SLIDING, -1, {"tslm", "panes"}),
    "looked at in steps as it is asked": (
        replace(_EVENT, windows="CUMULATE(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)"),
        -2,
        {"tslm", "svt", "panes"},
    ),
    "a person's day": (_USER, -3, {"tslm"}),
    "a person's week, and a cap alone will do": (_WEEK, -1, {"tslm"}),
}
"""What is asked, which of the ways is best, and the mechanisms whose ways are written in."""


@pytest.mark.parametrize("name", _ASKED)
def test_every_way_of_the_table_plans_to_its_figures(name: str, tmp_path: Path) -> None:
    """Epsilon, what it adds up to, rings, misses and delay, also of ways that lack something."""
    file, best, among = _ASKED[name]
    _, found = record(file.write(tmp_path))
    assert found["best"] == found["alternatives"][best]
    ways = [way for way in found["alternatives"] if way["write"]["mechanism"] in among]
    assert {way["write"]["mechanism"] for way in ways} == among
    for way in ways:
        again, alarm, budget = planned(written(file, way), tmp_path)
        one = again["written"]
        for figure in ("epsilon", "worst", "fits", "delay_s", "keeps"):
            assert one[figure] == way[figure], (way, one)
        for figure in ("false_rings", "missed"):
            assert one[figure] == pytest.approx(way[figure])
        assert Fraction(budget["worst"]) == Fraction(way["worst"])
        assert budget["fits"] is way["fits"]
        # Windows over panes cost nothing: their panes do, which are in the budget's worst case.
        assert Fraction(alarm["epsilon"]) in {0, Fraction(way["epsilon"])}


def test_a_way_says_what_it_gives_up_and_where_it_is_written(tmp_path: Path) -> None:
    """What no figure shows stands below the table, with what is written elsewhere than its keys."""
    soon = " ".join(invoke("plan", _SOON.write(tmp_path)).stdout.split())
    assert "best: svt e10; write" in soon
    assert "in sql: CUMULATE(ts, INTERVAL '6' MINUTE, INTERVAL '1' HOUR) why: the cheap" in soon
    assert "windows slide: none begins with the clock alone" in soon
    assert "comes late for its pane counts in no window" in soon
    week = " ".join(invoke("plan", _WEEK.write(tmp_path)).stdout.split())
    assert "is in more of a period's 105 windows counts in the first 61 alone" in week
    assert "in budget, contribution: windows_per_period: 61 why: nothing fits without" in week


def test_a_cap_that_leaves_less_than_half_is_no_best(tmp_path: Path) -> None:
    """Nothing tells how long people stay: whoever writes it has to know."""
    _, found = record(replace(_WEEK, epsilon_max="25").write(tmp_path))
    assert found["best"] is None
    (need,) = [each for each in found["needs"] if each["change"] == "windows_per_period"]
    assert (need["value"], need["then"]["keeps"]) == ("51", True)


def test_caps_and_runs_are_not_advised_together(tmp_path: Path) -> None:
    """Neither runs where a cap is written, nor a cap where another alarm runs: both are refused."""
    few = _USER.capped(6).advice(tmp_path)
    assert not any(each.runs for each in few.alternatives)
    assert few.best is not None
    run = """\
  other:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 40
    max_fnr: 0.05
    tolerance: 12
    mechanism: svt
    alarms_per_period: 1
"""
    beside = replace(_USER, more=run).advice(tmp_path)
    assert not any(each.cap for each in beside.alternatives)


def test_panes_that_are_shared_are_paid_once(tmp_path: Path) -> None:
    """An alarm that joins others' panes has their noise, and the room that they have taken."""
    asked = replace(_SLIDING, more=_SHARER)
    alone, joined = _SLIDING.advice(tmp_path).best, asked.advice(tmp_path).best
    assert alone is not None
    assert joined is not None
    # The other one needs sharper noise: it is there already, and rings this one less often.
    assert joined.paned
    assert joined.units > alone.units
    assert (joined.rings or 0) < (alone.rings or 0)
    way = {"write": to_write(joined), "windows": "", "windows_per_period": None}
    again, _, budget = planned(written(asked, way), tmp_path)
    assert Fraction(budget["worst"]) == Fraction(again["written"]["worst"])
    assert Fraction(budget["worst"]) == joined.units / Fraction(UNITS_PER_EPSILON)
    # What panes take is taken from whoever does not share them.
    apart = replace(asked, keys={**asked.keys, "mechanism": "tslm"}).advice(tmp_path)
    assert isinstance(apart.case, Case)
    assert apart.case.room_units == 4 * UNITS_PER_EPSILON - joined.units


def test_false_rings_of_steps_are_those_of_windows(tmp_path: Path) -> None:
    """The law of an early alarm is that of a whole window, however many steps it has."""
    early, _, _ = planned(_written_early(tmp_path), tmp_path)
    alarms = examine(_written_early(tmp_path).write(tmp_path), environ={}).alarms
    assert alarms is not None
    (worth,) = worths(alarms)
    assert worth.false is not None
    assert worth.false.windows == 7 * 24
    assert worth.false.week == pytest.approx(early["written"]["false_rings"])


def test_other_windows_are_looked_for_only_where_they_may_be_written(tmp_path: Path) -> None:
    """Not where a lifecycle counts windows, nor where a person would pay for every step."""
    counted = replace(_SOON, keys={**_SOON.keys, "for": "2"})
    people = replace(_USER, keys={**WANTED, "max_delay": "10m", "mechanism": "auto"})
    for file in (counted, people):
        found = file.advice(tmp_path)
        assert found.lacking
        assert not any(each.case.windows or each.prompt for each in found.alternatives)


def test_a_delay_is_wanted_beside_the_rest(tmp_path: Path) -> None:
    """It says nothing by itself, and nothing leaves in no time."""
    alone = invoke("check", File({"max_fnr": "0.05", "max_delay": "5m"}).write(tmp_path))
    assert "usual and false_rings is missing" in alone.stderr
    never = invoke("check", File({**WANTED, "max_delay": "0s"}).write(tmp_path))
    assert "write max_delay: 10m" in never.stderr
    late = {**WANTED, "mechanism": "tslm", "tolerance": "6", "max_delay": "5m"}
    shown = invoke("plan", File(late, rooms=8).write(tmp_path)).stdout
    assert "may leave 1 h 45 s after its threshold was passed: NOT kept" in shown


def _written_early(folder: Path) -> File:
    best = _SOON.advice(folder).best
    assert best is not None
    way = {"write": to_write(best), "windows": best.case.windows, "windows_per_period": None}
    return written(_SOON, way)
