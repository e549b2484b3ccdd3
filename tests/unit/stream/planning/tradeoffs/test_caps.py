"""Caps against tolerance: each price is what a plan of the file so written says, and the least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from stream.config.loading import load
from stream.planning.budget import budget_plan
from stream.planning.tradeoffs.cap_tables import cap_tables
from stream.planning.tradeoffs.caps import cap_choices
from tests.support.commands import json_lines, tocsin

if TYPE_CHECKING:
    from pathlib import Path

    from stream.planning.tradeoffs.caps import CapChoices

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {{person: string, room: {{domain: [a, b, c]}}, ts: timestamp}}
budget: {{unit: {unit}, epsilon_max: "99"{period}}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING {having}
    active: "Mon-Fri 07:00-22:00"
    max_fnr: 0.05
    tolerance: {tolerance}
    mechanism: {mechanism}
"""
BOTH = "COUNT(DISTINCT person) > 20 AND COUNT(*) > 60"


def written(
    folder: Path,
    *,
    cap: int | None = None,
    tolerance: str = "9",
    having: str = "COUNT(DISTINCT person) > 20",
    **changed: str,
) -> Path:
    """Write a configuration of fifteen windows a day, two rooms of each."""
    caps = "predicates_per_window: 2" + (f", windows_per_period: {cap}" if cap else "")
    asked = {"unit": "user", "mechanism": "tslm"} | changed
    period = changed.get("period", f", period: 1d, contribution: {{{caps}}}")
    path = folder / "alarms.yaml"
    text = CONFIG.format(**{**asked, "period": period}, tolerance=tolerance, having=having)
    path.write_text(text, encoding="utf-8")
    return path


def chosen(path: Path) -> CapChoices:
    """Return the choices of the only alarm."""
    (one,) = cap_choices(load(path, environ={}))
    return one


def worst(path: Path) -> int:
    """Return what a plan says that a person loses in a period."""
    (alarm,) = budget_plan(load(path, environ={})).alarms
    assert alarm.worst_units is not None
    return alarm.worst_units


def test_each_cap_costs_what_its_own_plan_says(tmp_path: Path) -> None:
    """Written into the file, at the present tolerance and at the one that is bought."""
    one = chosen(written(tmp_path))
    assert [each.cap for each in one.choices] == [1, 2, 3, 4, 6, 8, 12, None]
    assert (one.windows, one.present_units) == (15, worst(written(tmp_path)))
    assert [each.used for each in one.choices] == [False] * 7 + [True]
    for each in one.choices:
        assert each.units == worst(written(tmp_path, cap=each.cap))
        assert each.bought is not None
        (tolerance,) = each.bought.tolerances
        assert each.bought_units == worst(written(tmp_path, cap=each.cap, tolerance=str(tolerance)))
        assert each.bought_units <= one.present_units
        if tolerance:  # one less would cost more: the least is found, and a twin is caught
            less = written(tmp_path, cap=each.cap, tolerance=str(tolerance - 1))
            assert worst(less) > one.present_units


def test_a_looser_cap_takes_a_wider_tolerance(tmp_path: Path) -> None:
    """With a cap of four as configured: no cap pays nearly four times as much for the same."""
    one = chosen(written(tmp_path, cap=4, tolerance="5"))
    assert [each.cap for each in one.choices if each.used] == [4]
    tolerances = [each.bought.tolerances[0] for each in one.choices if each.bought is not None]
    assert tolerances == sorted(tolerances)
    assert tolerances[3] == 5 < tolerances[-1]
    dear = chosen(written(tmp_path, cap=1, tolerance="9"))
    assert dear.choices[-1].bought is None  # 20 people are the widest that may be written


@pytest.mark.parametrize("tolerance", ["{COUNT(DISTINCT person): 4, COUNT(*): 12}"])
def test_several_tolerances_move_together(tmp_path: Path, tolerance: str) -> None:
    """In proportion to what is written; no tolerance is left out."""
    one = chosen(written(tmp_path, having=BOTH, tolerance=tolerance))
    for each in one.choices:
        assert each.bought is not None
        people, events = each.bought.tolerances
        assert people == -(-events // 3)
        assert each.bought_units <= one.present_units
    assert one.choices[-1].bought is not None
    assert one.choices[-1].bought.tolerances == (4, 10)  # the other alone sets the price


@pytest.mark.parametrize(
    "changed",
    [
        {"unit": "event", "period": ""},
        {"period": ", period: lifetime"},
        {"mechanism": "svt"},
    ],
)
def test_where_no_cap_is_taken_none_is_weighed(tmp_path: Path, changed: dict[str, Any]) -> None:
    """And it is said."""
    choices = cap_choices(load(written(tmp_path, **changed), environ={}))
    assert choices == ()
    assert "no alarm of this file may have a cap" in str(cap_tables(choices)[0])


def test_a_plan_weighs_caps_where_it_is_asked_to(tmp_path: Path) -> None:
    """As lines and as a table; without the option nothing is said of them."""
    path = str(written(tmp_path))
    lines = json_lines(tocsin("plan", path, "--caps", "--json"))
    found = [line for line in lines if line["record"] == "cap"]
    assert [line["windows_per_period"] for line in found] == [1, 2, 3, 4, 6, 8, 12, None]
    assert (found[-1]["tolerance"], found[-1]["worst"]) == ("9", found[-1]["present"])
    shown = tocsin("plan", path, "--caps").output
    assert "windows_per_period against tolerance" in " ".join(shown.split())
    assert "against tolerance" not in tocsin("plan", path).output
