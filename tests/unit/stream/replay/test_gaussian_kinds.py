"""Alarms of every kind on one Gaussian budget, from the file to the ledger and the records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from accountant.loss.gaussian import Gaussian
from accountant.units import from_loss_units, to_loss_units
from operators.single.pure import gaussian_units
from operators.svt import Svt
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.mechanisms import operator_of, plans_of
from stream.planning.figures import figures
from stream.planning.page import plan_page
from stream.replay.replay import Replay
from tests.support.commands import json_lines, tocsin
from tests.support.odd_hours import on_odd_hours

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
      ts: timestamp
    history: {{from: 2025-03-03, until: 2025-03-05}}
budget: {{{budget}, privacy: gdp, delta: "1e-6"}}
alarms:
{alarms}
"""
ALARM = """\
  {name}:
    sql: SELECT room FROM badges GROUP BY room, {window} HAVING {having}
    max_fnr: 0.05
    {keys}
"""
HOUR = "TUMBLE(ts, INTERVAL '1' HOUR)"
SHIFT = "TUMBLE(ts, INTERVAL '6' HOUR)"
STEPS = "CUMULATE(ts, INTERVAL '2' HOUR, INTERVAL '6' HOUR)"
SLIDING = "HOP(ts, INTERVAL '2' HOUR, INTERVAL '6' HOUR)"
RUN = "mechanism: {svt: {max_alarms: 5}}\n    tolerance: 9"
BAND = 'mechanism: {decider: {reference: 5, epsilon: "0.1"}}'
PROBE = "mechanism: probe\n    tolerance: 12"
FORMULA = "COUNT(DISTINCT person) BETWEEN 12 AND 60 AND COUNT(*) < 90"
USER = (
    'privacy_unit: user, period: 1d, epsilon_max: "40"',
    {
        "crowd": (HOUR, "COUNT(DISTINCT person) > 20", "tolerance: 9"),
        "often": (HOUR, "COUNT(DISTINCT person) > 20", RUN),
        "usual": (SHIFT, "ABS(COUNT(*) - REFERENCE) >= 60", BAND),
        "within": (HOUR, FORMULA, "mechanism: {tslm: {max_fpr: 0.1}}\n    tolerance: 9"),
        "both": (SHIFT, "COUNT(*) > 60 AND COUNT(*) < 200", PROBE),
    },
)
EVENT = (
    'privacy_unit: event, epsilon_max: "20"',
    {
        "early": (STEPS, "COUNT(*) > 40", "tolerance: 15"),
        "sooner": (STEPS, "COUNT(*) > 40", "tolerance: 15\n    mechanism: svt"),
        "smooth": (SLIDING, "COUNT(*) > 40", "tolerance: 15\n    mechanism: panes"),
        "often": (SHIFT, "COUNT(*) > 40", "mechanism: svt\n    tolerance: 15"),
    },
)
DELTA = Fraction(1, 10**6)
PEOPLE = 30


def written(
    folder: Path, asked: tuple[str, dict[str, tuple[str, str, str]]], ledger: str = ""
) -> str:
    """Write a configuration of alarms of every kind."""
    budget, alarms = asked
    made = (
        ALARM.format(name=name, window=window, having=having, keys=keys)
        for name, (window, having, keys) in alarms.items()
    )
    path = folder / "alarms.yaml"
    place = ledger or f"sqlite:///{folder}/ledger.db"
    text = CONFIG.format(ledger=place, budget=budget, alarms="".join(made))
    path.write_text(text, encoding="utf-8")
    return str(path)


def events(folder: Path) -> str:
    """Write thirty people who are in the hall on every odd hour of two days."""
    return on_odd_hours(folder, people=PEOPLE, days=2)


@dataclass(frozen=True)
class Ran:
    """Two days that were replayed."""

    path: str
    data: str
    decisions: tuple[dict[str, Any], ...]
    printed: str

    def of(self, query: str) -> list[dict[str, Any]]:
        """Return an alarm's decisions, in order."""
        return [one for one in self.decisions if one["alarm"] == query]


def budget_of(path: str) -> dict[str, Any]:
    """Return the status of the one budget."""
    lines = json_lines(tocsin("ledger", path, "status", "--json"))
    (found,) = (line for line in lines if line["record"] == "budget")
    return found


def replayed(path: str, data: str) -> Ran:
    """Replay two days."""
    done = tocsin("run", path, "--replay", data, "--json", code=0)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(one["privacy"] == "gdp" and "epsilon" not in one for one in records)
    decisions = tuple(one for one in records if "alarm_id" not in one)
    return Ran(path, data, decisions, done.stdout)


def test_one_budget_pays_alarms_of_every_kind(tmp_path: Path, place: str) -> None:
    """Each window at the price in the plan; a run as it opens, and a unit for each alarm."""
    ran = replayed(written(tmp_path, USER, place), events(tmp_path))
    alarms = load(Path(ran.path), environ={})
    plans = plans_of(alarms)
    assert {one["outcome"] for one in ran.decisions} == {"decided"}
    for name in ("crowd", "usual", "within", "both"):
        assert {one["rho_units"] for one in ran.of(name)} == {to_loss_units(plans[name].epsilon)}
    svt = operator_of(alarms.by_name["often"])
    assert isinstance(svt, Svt)
    pure = from_loss_units(svt.terms.epsilon_units)
    left, day, openings = 0, "", 0
    for one in ran.of("often"):
        opens = left == 0 or one["window_start"][:10] != day
        left, day = 5 if opens else left, one["window_start"][:10]
        assert one["rho_units"] == opens * gaussian_units(pure) + one["alarms"]
        left, openings = left - one["alarms"], openings + opens
    assert openings > 2
    assert sum(one["alarms"] for one in ran.of("often")) > 5
    days = {one["window_start"][:10] for one in ran.decisions}
    spent = max(
        sum(one["rho_units"] for one in ran.decisions if one["window_start"][:10] == day)
        for day in days
    )
    assert spent <= Gaussian(Fraction(40), DELTA).wall_units
    assert Fraction(budget_of(ran.path)["spent"]) == Fraction(spent, 10**12)
    full = [one for one in ran.of("within") if int(one["window_start"][11:13]) % 2]
    # Thirty people are two tolerances inside every bound.
    assert sum(one["alarms"] for one in full) >= len(full) - 2 == 22
    again = tocsin("run", ran.path, "--replay", ran.data, "--json")
    assert again.stdout == ran.printed
    tocsin("ledger", ran.path, "verify", code=0)
    saved = tmp_path / "printed.jsonl"
    saved.write_text(ran.printed, encoding="utf-8")
    tocsin("ledger", ran.path, "verify", "--published", saved, code=0)


def test_one_budget_pays_looks_and_panes(tmp_path: Path, place: str) -> None:
    """Every step what its window's looks come to; panes once, and nothing the windows over them."""
    ran = replayed(written(tmp_path, EVENT, place), events(tmp_path))
    alarms = load(Path(ran.path), environ={})
    for name, plan in plans_of(alarms).items():
        decided = [one for one in ran.of(name) if one["outcome"] == "decided"]
        assert len(decided) >= 8
        assert {one["rho_units"] for one in decided} == {to_loss_units(plan.epsilon)}
    (panes,) = alarms.panes.values()
    noisy = gaussian_units(from_loss_units(panes.aim.pane_units))
    assert {one["rho_units"] for one in ran.of(panes.id)} == {noisy}
    assert {one["rho_units"] for one in ran.of("smooth")} == {0}
    spent = sum(to_loss_units(plan.epsilon) for plan in plans_of(alarms).values())
    assert Fraction(budget_of(ran.path)["spent"]) == Fraction(spent, 10**12)
    assert tocsin("run", ran.path, "--replay", ran.data, "--json").stdout == ran.printed
    tocsin("ledger", ran.path, "verify", code=0)


def test_a_replay_that_was_cut_off_goes_on_in_its_run(tmp_path: Path, place: str) -> None:
    """What was opened and paid for is gone on with: the loss is that of one that was not cut."""
    path, data = written(tmp_path, USER, place), events(tmp_path)
    alarms, files = load(Path(path), environ={}), {"badges": [Path(data)]}
    first = []
    for most in (5, 12, 40):
        with open_ledger(alarms) as opened:
            decided = Replay(alarms, opened, files).all_decisions()
            first += [next(decided) for _ in range(most)]
            decided.close()
    with open_ledger(alarms) as opened:
        again = list(Replay(alarms, opened, files).all_decisions())
    stored = {(one.key, one.sequence): (one.alarms, one.epsilon_units) for one in again}
    assert all(stored[one.key, one.sequence] == (one.alarms, one.epsilon_units) for one in first)
    svt = operator_of(alarms.by_name["often"])
    runs = [one for one in again if one.key.query == "often"]
    whole = to_loss_units(svt.plan.epsilon) - 5
    assert sum(one.epsilon_units >= whole for one in runs) < len(runs) // 2
    tocsin("ledger", path, "verify", code=0)


def test_what_was_published_of_runs_is_charged_again(tmp_path: Path, place: str) -> None:
    """A lost ledger is put right from its records: a run is paid by the one that opened it."""
    ran = replayed(written(tmp_path, USER), events(tmp_path))
    saved = tmp_path / "printed.jsonl"
    saved.write_text(ran.printed, encoding="utf-8")
    spent = budget_of(ran.path)["spent"]
    other = tmp_path / "other"
    other.mkdir()
    path = written(other, USER, place)
    tocsin("ledger", path, "reconcile", "--published", saved, code=0)
    assert budget_of(path)["spent"] == spent
    tocsin("ledger", path, "verify", code=0)


@pytest.mark.parametrize("asked", [USER, EVENT], ids=["user", "event"])
def test_every_surface_says_rho(
    tmp_path: Path, asked: tuple[str, dict[str, tuple[str, str, str]]]
) -> None:
    """Tables, lines and the page of the plan: no loss is called an epsilon but at the delta."""
    path = written(tmp_path, asked)
    text = " ".join(tocsin("plan", path, "--details").stdout.split())
    for line in json_lines(tocsin("plan", path, "--json")):
        assert (line["loss"], line["privacy"]) == ("rho", "gdp")
        assert line["delta"]
    assert "an SVT run" in text or "an event pays rho" in text
    alarms = load(Path(path), environ={})
    assert "(privacy: gdp, rho" in plan_page(alarms, figures(alarms))
