"""A Gaussian budget from the file to the ledger and the records, and on every surface."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from accountant.loss.gaussian import Gaussian
from tests.support.commands import json_lines, tocsin
from tests.support.odd_hours import on_odd_hours
from tests.support.published import schema
from tests.unit.stream.replay.test_gaussian_kinds import budget_of

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
ledger: {ledger}
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [hall]}}
      spent: {{type: integer, clip: [0, 10]}}
      ts: timestamp
    history: {{from: 2025-03-03, until: 2025-03-05}}
budget: {{{budget}}}
alarms:
  crowd:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(DISTINCT person) > 20
    max_fnr: 0.05
    tolerance: 9
  takings:
    sql: SELECT room FROM badges GROUP BY room, TUMBLE(ts, INTERVAL '6' HOUR) HAVING SUM(spent) > 400
    max_fnr: 0.05
    tolerance: 60
"""  # noqa: E501  # one line of SQL
USER = 'privacy_unit: user, period: 1d, epsilon_max: "{}", privacy: gdp, delta: "1e-6"'
EVENT = 'privacy_unit: event, epsilon_max: "{}", privacy: gdp, delta: "1e-6"'
PURE = 'privacy_unit: user, period: 1d, epsilon_max: "{}"'
DELTA = Fraction(1, 10**6)
PEOPLE = 30


def written(folder: Path, budget: str = USER, epsilon: str = "5", ledger: str = "") -> str:
    """Write a configuration whose fullest period costs an epsilon of 3.86 at the delta."""
    place = ledger or f"sqlite:///{folder}/ledger.db"
    path = folder / "alarms.yaml"
    text = CONFIG.format(ledger=place, budget=budget.format(epsilon))
    path.write_text(text, encoding="utf-8")
    return str(path)


def events(folder: Path) -> str:
    """Write thirty people who are there on every odd hour of two days, and spend six each."""
    return on_odd_hours(folder, people=PEOPLE, days=2, more=lambda _person: {"spent": 6})


@dataclass(frozen=True)
class Ran:
    """A folder in which two days were replayed, and what was printed."""

    folder: Path
    path: str
    data: str
    printed: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """What left, alarms and decisions."""
        return [json.loads(line) for line in self.printed.splitlines()]

    def saved(self, folder: Path) -> Path:
        """Return a file of what was printed."""
        path = folder / "printed.jsonl"
        path.write_text(self.printed, encoding="utf-8")
        return path


def replayed(folder: Path, path: str) -> Ran:
    """Replay two days."""
    data = events(folder)
    done = tocsin("run", path, "--replay", data, "--json", code=0)
    assert "with delta 1e-06 (privacy: gdp, rho" in done.stderr
    return Ran(folder, path, data, done.stdout)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Replay two days once, for all tests that only look."""
    folder = tmp_path_factory.mktemp("gaussian")
    return replayed(folder, written(folder))


def shown(*arguments: str) -> str:
    """Return what a command prints, on one line."""
    return " ".join(tocsin(*arguments).stdout.split())


def test_records_say_which_promise_paid(ran: Ran) -> None:
    """No record has an epsilon, each has its kind and rho, and the published schemas agree."""
    assert any("alarm_id" in one for one in ran.records)
    for one in ran.records:
        assert "epsilon" not in one
        assert "epsilon_units" not in one
        assert one["privacy"] == "gdp"
        kind = "alarm" if "alarm_id" in one else "decision"
        Draft202012Validator(schema(kind)).validate(one)
        both = {**one, "epsilon": "1", "epsilon_units": 1}
        assert not Draft202012Validator(schema(kind)).is_valid(both)


def test_published_records_are_compared_with_the_ledger(ran: Ran, tmp_path: Path) -> None:
    """As they left, and altered."""
    saved = ran.saved(tmp_path)
    tocsin("ledger", ran.path, "verify", "--published", saved, code=0)
    lines = ran.printed.splitlines()
    for wrong in (
        lines[0].replace('"privacy":"gdp",', ""),
        lines[0].replace('"rho":"0.', '"rho":"1.'),
    ):
        assert wrong != lines[0]
        saved.write_text("\n".join([wrong, *lines[1:]]), encoding="utf-8")
        assert tocsin("ledger", ran.path, "verify", "--published", saved).exit_code != 0


def test_a_rho_that_is_called_an_epsilon_is_found_without_its_row(ran: Ran, tmp_path: Path) -> None:
    """Where decisions were archived, and the record and its alarms were altered alike."""
    path = written(tmp_path)
    shutil.copy(ran.folder / "ledger.db", tmp_path / "ledger.db")
    assert " entries moved to " in tocsin("ledger", path, "archive", tmp_path / "past").stdout
    saved = ran.saved(tmp_path)
    tocsin("ledger", path, "verify", "--published", saved, code=0)
    lines = [
        line.replace('"privacy":"gdp",', "").replace('"rho', '"epsilon')
        for line in ran.printed.splitlines()
    ]
    saved.write_text("\n".join(lines), encoding="utf-8")
    altered = tocsin("ledger", path, "verify", "--published", saved)
    first = "number 1 of 'crowd', ledger"
    assert any(
        line.startswith(first) and line.endswith("its decision record was altered: privacy")
        for line in (altered.stdout + altered.stderr).splitlines()
    )


def test_what_was_published_is_not_taken_by_a_pure_budget(ran: Ran, tmp_path: Path) -> None:
    """Its records say a rho; a Gaussian one takes them (``test_gaussian_kinds.py``)."""
    saved = ran.saved(tmp_path)
    refused = tocsin(
        "ledger", written(tmp_path, PURE, "40"), "reconcile", "--published", str(saved)
    )
    assert refused.exit_code != 0
    said = "a decision of alarm 'crowd' was charged with another `privacy` than budget 'user' has"
    assert said in refused.stderr


def test_another_promise_is_refused_under_a_live_ledger(ran: Ran, tmp_path: Path) -> None:
    """Pure, or another delta."""
    for budget in (PURE, USER.replace("1e-6", "1e-7")):
        place = f"sqlite:///{ran.folder}/ledger.db"
        changed = written(tmp_path, budget, "90", place)
        refused = tocsin("run", changed, "--replay", ran.data, "--json", code=2)
        assert "delta '1e-06' -> " in refused.stderr


@pytest.mark.parametrize("budget", [USER, EVENT])
def test_windows_beyond_the_wall_are_refused(tmp_path: Path, budget: str, place: str) -> None:
    """Where the wall holds less than what is asked for, on either unit, and verify agrees."""
    epsilon = {USER: "2", EVENT: "1.2"}[budget]
    path = written(tmp_path, f"{budget}, on_shortfall: deny", epsilon, place)
    printed = replayed(tmp_path, path)
    decisions = [one for one in printed.records if "alarm_id" not in one]
    assert {one["outcome"] for one in decisions} == {"decided", "denied"}
    assert {one["reason"] for one in decisions} == {None, "budget"}
    status = budget_of(path)
    wall = Gaussian(Fraction(epsilon), DELTA).wall_units
    assert Fraction(status["rho_max"]) == Fraction(wall, 10**12)
    assert 0 < Fraction(status["spent"]) <= Fraction(status["rho_max"])
    assert status["spent_epsilon_at_delta"] <= float(epsilon)
    tocsin("ledger", path, "verify", code=0)


def test_the_plan_says_rho_of_caps_and_of_shared_rows(tmp_path: Path) -> None:
    """Wherever losses are compared: they are no epsilon, and too small for three decimals."""
    caps = USER + ", contribution: {{max_windows_per_period: 2}}"
    text = shown("plan", written(tmp_path, caps), "--details")
    assert "at most; without that it would be rho 0.3598" in text
    text = shown("plan", written(tmp_path, EVENT), "--details")
    assert "all 2: sum rho 0.04701, highest-cost row rho 0.04701" in text


def test_status_and_losses_say_rho_and_what_it_is_worth(ran: Ran) -> None:
    """For people and for programs."""
    text = shown("ledger", ran.path, "status")
    assert "of epsilon_max 5 with delta 1e-06 (privacy: gdp, rho" in text
    losses = shown("ledger", ran.path, "losses", "crowd")
    assert "rho" in losses
    assert "privacy: gdp" in losses
    for line in json_lines(tocsin("ledger", ran.path, "losses", "crowd", "--json")):
        assert "epsilon" not in line
        assert line["rho"]


def test_a_budget_that_is_too_small_says_what_would_do(tmp_path: Path) -> None:
    """The least epsilon_max is exact, of the privacy that the budget has."""
    (budget,) = json_lines(tocsin("plan", written(tmp_path, epsilon="2"), "--json"), code=3)
    needed = budget["needed"]
    enough = json_lines(tocsin("plan", written(tmp_path, epsilon=needed), "--json"))
    assert all(line.get("fits", True) for line in enough)
    less = f"{float(needed) - 0.0001:.4f}"
    tocsin("plan", written(tmp_path, epsilon=less), code=3)


def test_simulations_are_refused(tmp_path: Path) -> None:
    """They try mechanisms that pay an epsilon."""
    refused = tocsin("simulate", written(tmp_path), "--replay", events(tmp_path))
    assert refused.exit_code != 0
    assert "`tocsin simulate` needs a budget with privacy: pure" in refused.stderr
