"""What plans say of early alarms: their price beside how soon they fires; and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from stream.config.loading import examine, load
from stream.planning.budget import budget_plan
from stream.planning.lifecycles import steadied
from stream.planning.utility import utilities
from tests.support.commands import tocsin

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [a, b]}, ts: timestamp}
budget: {privacy_unit: event, epsilon_max: "4"}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, CUMULATE(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)
      HAVING COUNT(*) > 60
    max_fnr: 0.05
    tolerance: 15
    mechanism: svt
"""
MINUTE_MS = 60_000


def written(folder: Path, old: str = "", new: str = "") -> Path:
    """Write the configuration, something in it changed."""
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.replace(old, new) if old else CONFIG)
    return path


@pytest.mark.parametrize(
    ("old", "new", "dearer"),
    [("COUNT(*)", "COUNT(DISTINCT person)", True), ("COUNT(*) >", "COUNT(person) >=", False)],
)
def test_only_events_that_stay_pay_less(
    tmp_path: Path, old: str, new: str, *, dearer: bool
) -> None:
    """A distinct count forgets an event when its person comes again, and pays for both."""
    prices = []
    for change in (("", ""), (old, new)):
        alarms = load(written(tmp_path, *change), environ={})
        prices.append(float(budget_plan(alarms).alarms[0].epsilon))
    assert (prices[1] > 1.5 * prices[0]) is dearer


def test_lifecycles_and_weeks_count_windows_and_not_steps(tmp_path: Path) -> None:
    """A week has 168 hours, however often they are looked at; each hour has noise of its own."""
    path = written(
        tmp_path,
        "    tolerance: 15\n",
        "    tolerance: 15\n    baseline: 40\n    lifecycle: {for: 2}\n",
    )
    (utility,) = utilities(load(path, environ={}))
    found = steadied(utility)
    assert found.missed == pytest.approx(1 - 0.95**2)
    assert utility.false.windows == 168
    assert utility.false.week == pytest.approx(168 * 2 * utility.false.alike[0][1])


def test_a_mechanism_that_looks_once_decides_no_steps(tmp_path: Path) -> None:
    """It is an error at its place, with what to write."""
    path = written(tmp_path, "mechanism: svt", "mechanism: dppwlm")
    found: list[Any] = list(examine(path, environ={}).errors)
    assert "mechanism dppwlm cannot decide the steps of CUMULATE" in str(found[0])
    assert found[0].line is not None
    assert found[0].hint


def test_cases_of_early_alarms_are_refused(tmp_path: Path) -> None:
    """A case is one count of a window, and an early alarm sees its course."""
    written(tmp_path)
    tests = tmp_path / "tests.yaml"
    case = "  - name: full\n    counts: {a: 200}\n    fires: {a: '>= 0.9'}\n"
    tests.write_text(f"alarms: alarms.yaml\ntests:\n{case}")
    ended = tocsin("test", tests, code=2)
    assert "`crowd` is an early alarm (CUMULATE): counts of a window do not suffice" in ended.output


def test_looks_from_panes_say_what_an_event_pays(tmp_path: Path) -> None:
    """For its pane; where people count in the first of theirs, for the two that it moves."""
    for count, times in (("COUNT(*)", 1), ("COUNT(DISTINCT person)", 2)):
        file = written(tmp_path, "mechanism: svt", "mechanism: panes")
        file.write_text(file.read_text().replace("COUNT(*)", count))
        alarms = load(file, environ={})
        (own,) = alarms.panes.values()
        (budget,) = budget_plan(alarms).scopes
        assert budget.worst_units == times * own.aim.pane_units
