"""Formulas under a Gaussian budget: from the file to the ledger, the records and the plan."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from accountant.loss.gaussian import Gaussian
from tests.support.commands import json_lines, tocsin
from tests.support.odd_hours import on_odd_hours

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.postgres import Postgres

CONFIG = """\
ledger: {ledger}
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [hall, lab]}}
      role: {{domain: [guest, staff]}}
      ts: timestamp
    history: {{from: 2025-03-03, until: 2025-03-04}}
budget: {{{budget}}}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(*) BETWEEN 20 AND 60 AND COUNT(*) FILTER (WHERE role = 'staff') < 40
    max_fnr: 0.05
    mechanism: {{tslm: {{max_fpr: 0.1}}}}
    tolerance: 9
  calm:
    sql: |
      SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '4' HOUR)
      HAVING COUNT(*) < 12 OR COUNT(*) FILTER (WHERE role = 'staff') > 300
    max_fnr: 0.05
    mechanism: {{tslm: {{max_fpr: 0.05, bounded_error: fpr}}}}
    tolerance: 4
"""
USER = 'privacy_unit: user, period: 1d, epsilon_max: "{}", privacy: gdp, delta: "1e-6"'
EVENT = 'privacy_unit: event, epsilon_max: "{}", privacy: gdp, delta: "1e-6"'
DELTA = Fraction(1, 10**6)
PEOPLE = 40


def written(folder: Path, budget: str, ledger: str = "") -> str:
    """Write a configuration of two formulas."""
    path = folder / "alarms.yaml"
    place = ledger or f"sqlite:///{folder}/ledger.db"
    path.write_text(CONFIG.format(ledger=place, budget=budget), encoding="utf-8")
    return str(path)


def events(folder: Path) -> str:
    """Write forty people who are in the hall on every odd hour of a day, half of them staff."""
    return on_odd_hours(
        folder,
        people=PEOPLE,
        days=1,
        more=lambda person: {"role": ("guest", "staff")[person % 2]},
    )


def replayed(path: str, data: str) -> list[dict[str, Any]]:
    """Replay a day, and return what left; a second run prints the same, and verify agrees."""
    done = tocsin("run", path, "--replay", data, "--json")
    assert done.exit_code == 0, done.stderr
    assert tocsin("run", path, "--replay", data, "--json").stdout == done.stdout
    assert tocsin("ledger", path, "verify").exit_code == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def plans(path: str) -> dict[str, float]:
    """Return the planned rho of a window by alarm."""
    lines = json_lines(tocsin("plan", path, "--json"))
    return {one["alarm"]: one["loss"] for budget in lines for one in budget["alarms"]}


def spent(path: str) -> tuple[Fraction, Fraction]:
    """Return what the worst-off have lost and what they may."""
    lines = json_lines(tocsin("ledger", path, "status", "--json"))
    (found,) = (line for line in lines if line["record"] == "budget")
    return Fraction(found["spent"]), Fraction(found["rho_max"])


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("budget", [USER, EVENT])
def test_formulas_are_charged_and_ring(
    tmp_path: Path, budget: str, database: str, request: pytest.FixtureRequest
) -> None:
    """Every window at the rho that was planned; alarms are right as often as was promised."""
    place = ""
    if database == "postgresql":
        postgres: Postgres = request.getfixturevalue("postgres")
        place = postgres.new_database()
    path = written(tmp_path, budget.format("20"), place)
    records = replayed(path, events(tmp_path))
    planned = plans(path)
    decisions = [one for one in records if "alarm_id" not in one]
    assert {one["outcome"] for one in decisions} == {"decided"}
    assert {one["query"]: float(one["rho"]) for one in decisions} == planned
    assert all(one["promise"] == "gdp" for one in records)
    status, wall = spent(path)
    assert wall == Fraction(Gaussian(Fraction(20), DELTA).wall_units, 10**12)
    day = sum(one["rho_units"] for one in decisions)
    assert 0 < status <= Fraction(day, 10**12) <= wall
    if budget == USER:
        assert status == Fraction(day, 10**12)
    rang = [one for one in records if "alarm_id" in one and one["query"] == "crowd"]
    hall = {one["window_start"] for one in rang if one["predicate"]["room"] == "hall"}
    odd = {f"2025-03-03T{hour:02d}:00:00.000Z" for hour in range(1, 24, 2)}
    # Forty of them, twenty of them staff, are four deviations inside every bound.
    assert len(odd & hall) >= 11


def test_windows_beyond_the_wall_are_refused(tmp_path: Path) -> None:
    """A budget that holds a part of the day denies the rest, and verify agrees."""
    path = written(tmp_path, USER.format("3") + ", on_shortfall: deny")
    records = replayed(path, events(tmp_path))
    decisions = [one for one in records if "alarm_id" not in one]
    assert {one["reason"] for one in decisions} == {None, "budget"}
    status, wall = spent(path)
    assert 0 < status <= wall


def test_the_plan_weighs_formulas_in_rho(tmp_path: Path) -> None:
    """In tables and lines; a pure budget's plan of the same file asks for more over a day."""
    path = written(tmp_path, USER.format("20"))
    text = " ".join(tocsin("plan", path).stdout.split())
    assert "(promise gdp, rho_max" in text
    (budget,) = json_lines(tocsin("plan", path, "--json"))
    assert all(0 < one["lower_bound"] <= one["loss"] for one in budget["alarms"])
    pure = written(tmp_path, 'privacy_unit: user, period: 1d, epsilon_max: "40"')
    (other,) = json_lines(tocsin("plan", pure, "--json"))
    assert Gaussian(Fraction(20), DELTA).epsilon_of(int(budget["worst"] * 10**12)) < other["worst"]
