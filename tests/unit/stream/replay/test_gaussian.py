"""Alarms of every kind on one Gaussian budget: from the file to the ledger, records and surfaces.

Budgets themselves are held to their promise on both databases, in ``tests/contracts``.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from accountant.loss.gaussian import Gaussian
from accountant.units import from_loss_units, to_loss_units
from operators.single.pure import gaussian_units
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.mechanisms import operator_of, plans_of
from stream.planning.figures import figures
from stream.planning.page import plan_page
from stream.replay.replay import Replay
from tests.support.commands import json_lines, tocsin
from tests.support.files import write_rows
from tests.support.published import schema

CONFIG = """\
ledger: sqlite:///{folder}/ledger.db
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [hall, lab]}}
      spent: {{type: integer, clip: [0, 10]}}
      ts: timestamp
    history: {{from: 2025-03-03, until: 2025-03-05}}
budget: {{{budget}}}
alarms:
{alarms}"""
ALARM = """\
  {}:
    sql: SELECT room FROM badges GROUP BY room, {} HAVING {}
    max_fnr: 0.05
    {}
"""
GDP = ', privacy: gdp, delta: "1e-6"'
USER = 'privacy_unit: user, period: 1d, epsilon_max: "{}"'
EVENT = 'privacy_unit: event, epsilon_max: "{}"'
HOUR = "TUMBLE(ts, INTERVAL '1' HOUR)"
SHIFT = "TUMBLE(ts, INTERVAL '6' HOUR)"
STEPS = "CUMULATE(ts, INTERVAL '2' HOUR, INTERVAL '6' HOUR)"
SLIDING = "HOP(ts, INTERVAL '2' HOUR, INTERVAL '6' HOUR)"
FORMULA = "COUNT(DISTINCT person) BETWEEN 12 AND 60 AND COUNT(*) < 90"
CROWD = (HOUR, "COUNT(DISTINCT person) > 20", "tolerance: 9")
BOTH = {"crowd": CROWD, "takings": (SHIFT, "SUM(spent) > 400", "tolerance: 60")}
"""Two alarms, whose fullest period costs people an epsilon of 3.86 at the delta."""
OF_PEOPLE = {
    "crowd": CROWD,
    "often": (*CROWD[:2], "mechanism: {svt: {max_alarms: 5}}\n    tolerance: 9"),
    "usual": (
        *(SHIFT, "ABS(COUNT(*) - REFERENCE) >= 60"),
        'mechanism: {decider: {reference: 5, epsilon: "0.1"}}',
    ),
    "within": (HOUR, FORMULA, "mechanism: {tslm: {max_fpr: 0.1}}\n    tolerance: 9"),
    "both": (SHIFT, "COUNT(*) > 60 AND COUNT(*) < 200", "mechanism: probe\n    tolerance: 12"),
}
OF_EVENTS = {
    "early": (STEPS, "COUNT(*) > 40", "tolerance: 15"),
    "sooner": (STEPS, "COUNT(*) > 40", "tolerance: 15\n    mechanism: svt"),
    "smooth": (SLIDING, "COUNT(*) > 40", "tolerance: 15\n    mechanism: panes"),
    "often": (SHIFT, "COUNT(*) > 40", "mechanism: svt\n    tolerance: 15"),
}


def written(folder, alarms, budget=USER, epsilon="5", *, privacy=GDP, ledger_in=None):
    """Write a configuration, and thirty people in the hall on every odd hour of two days."""
    text = "".join(ALARM.format(name, *alarm) for name, alarm in alarms.items())
    path = folder / "alarms.yaml"
    told = budget.format(epsilon) + privacy
    path.write_text(CONFIG.format(folder=ledger_in or folder, budget=told, alarms=text))
    rows = [
        {
            "person": f"p{person}",
            "room": "hall",
            "spent": 6,
            "ts": f"2025-03-{3 + hour // 24:02d}T{hour % 24:02d}:{person:02d}:00Z",
        }
        for hour in range(1, 48, 2)
        for person in range(30)
    ]
    return str(path), write_rows(folder / "events.jsonl", rows)


@dataclass(frozen=True)
class Ran:
    """Two days that were replayed."""

    path: str
    events: Path
    printed: str

    @property
    def alarms(self):
        """The configuration."""
        return load(Path(self.path), environ={})

    @property
    def records(self):
        """What left, alarms and decisions."""
        return [json.loads(line) for line in self.printed.splitlines()]

    def of(self, name):
        """Return an alarm's decisions, in order."""
        return [one for one in self.records if one["alarm"] == name and "alarm_id" not in one]

    def saved(self, folder):
        """Return a file of what was printed."""
        (folder / "printed.jsonl").write_text(self.printed)
        return folder / "printed.jsonl"


def replayed(path, events):
    """Replay two days."""
    done = tocsin("run", path, "--replay", events, "--json", code=0)
    assert "with delta 1e-06 (privacy: gdp, rho" in done.stderr
    return Ran(path, events, done.stdout)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Two days of alarms under unit user."""
    return replayed(*written(tmp_path_factory.mktemp("user"), OF_PEOPLE, USER, "40"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Two days of alarms under unit event."""
    return replayed(*written(tmp_path_factory.mktemp("event"), OF_EVENTS, EVENT, "20"))


def budget_of(path):
    """Return the status of the one budget."""
    lines = json_lines(tocsin("ledger", path, "status", "--json"))
    (found,) = (line for line in lines if line["record"] == "budget")
    return found


def shown(*arguments):
    """Return what a command prints, on one line."""
    return " ".join(tocsin(*arguments, code=0).stdout.split())


def test_one_budget_pays_alarms_of_every_kind(people, rows):
    """Of single windows, of steps what their window comes to; panes once, windows over them not."""
    for ran, others in ((people, {"often"}), (rows, set())):
        for name, plan in plans_of(ran.alarms).items():
            decided = [one for one in ran.of(name) if one["outcome"] == "decided"]
            assert len(decided) >= 8
            paid = {one["rho_units"] for one in decided}
            assert name in others or paid == {to_loss_units(plan.epsilon)}
    (panes,) = rows.alarms.panes.values()
    pane = gaussian_units(from_loss_units(panes.aim.pane_units))
    assert {one["rho_units"] for one in rows.of(panes.id)} == {pane}
    assert {one["rho_units"] for one in rows.of("smooth")} == {0}
    spent = sum(to_loss_units(plan.epsilon) for plan in plans_of(rows.alarms).values())
    assert Fraction(budget_of(rows.path)["spent"]) == Fraction(spent, 10**12)


def test_a_run_is_paid_as_it_opens_and_a_unit_for_each_alarm(people):
    """A day opens a run, and a spent one is followed by another; days never pass the wall."""
    pure = from_loss_units(operator_of(people.alarms.by_name["often"]).terms.epsilon_units)
    left, today, openings = 0, "", 0
    for one in people.of("often"):
        opens = left == 0 or one["window_start"][:10] != today
        left, today = 5 if opens else left, one["window_start"][:10]
        assert one["rho_units"] == opens * gaussian_units(pure) + one["alarms"]
        left, openings = left - one["alarms"], openings + opens
    assert openings > 2
    days = Counter()
    for name in OF_PEOPLE:
        for one in people.of(name):
            days[one["window_start"][:10]] += one["rho_units"]
    spent = max(days.values())
    assert spent <= Gaussian(Fraction(40), Fraction(1, 10**6)).wall_units
    assert Fraction(budget_of(people.path)["spent"]) == Fraction(spent, 10**12)


def test_records_say_which_promise_paid(people, rows):
    """No record has an epsilon, each has its kind and rho, and the published schemas agree."""
    for one in (*people.records, *rows.records):
        assert one["privacy"] == "gdp"
        published = Draft202012Validator(schema("alarm" if "alarm_id" in one else "decision"))
        published.validate(one)
        assert not {"epsilon", "epsilon_units"} & set(one)
        assert not published.is_valid({**one, "epsilon": "1", "epsilon_units": 1})


def test_what_was_decided_stays_and_is_sound(people, rows, tmp_path):
    """A second run draws nothing; the ledger and what was published agree."""
    for ran in (people, rows):
        again = tocsin("run", ran.path, "--replay", ran.events, "--json", code=0)
        assert again.stdout == ran.printed
        published = ran.saved(tmp_path)
        tocsin("ledger", ran.path, "verify", "--published", published, code=0)


def test_a_replay_that_was_cut_off_goes_on_in_its_run(tmp_path):
    """What was opened and paid for is gone on with: the loss is that of one that was not cut."""
    path, events = written(tmp_path, OF_PEOPLE, USER, "40")
    alarms, first = load(Path(path), environ={}), []
    for most in (5, 12, 40, None):
        with open_ledger(alarms) as opened:
            decided = Replay(alarms, opened, {"badges": [events]}).all_decisions()
            again = list(islice(decided, most))
            decided.close()
        first += again
    stored = {(one.key, one.sequence): (one.alarms, one.epsilon_units) for one in again}
    assert all(stored[one.key, one.sequence] == (one.alarms, one.epsilon_units) for one in first)
    runs = [one.epsilon_units for one in again if one.key.query == "often"]
    whole = to_loss_units(operator_of(alarms.by_name["often"]).plan.epsilon) - 5
    assert sum(units >= whole for units in runs) < len(runs) // 2
    tocsin("ledger", path, "verify", code=0)


def test_what_was_published_is_charged_again_by_a_gaussian_budget_alone(people, tmp_path):
    """A lost ledger is put right from its records: a run is paid by the one that opened it."""
    published = people.saved(tmp_path)
    path, _ = written(tmp_path, OF_PEOPLE, USER, "40")
    tocsin("ledger", path, "reconcile", "--published", published, code=0)
    assert budget_of(path)["spent"] == budget_of(people.path)["spent"]
    tocsin("ledger", path, "verify", code=0)
    (tmp_path / "ledger.db").unlink()
    written(tmp_path, OF_PEOPLE, USER, "400", privacy="")
    refused = tocsin("ledger", path, "reconcile", "--published", published)
    said = "a decision of alarm 'crowd' was charged with another `privacy` than budget 'user' has"
    assert refused.exit_code != 0
    assert said in refused.stderr


def test_altered_records_are_found(people, tmp_path):
    """A rho that was changed, or is called an epsilon."""
    path, _ = written(tmp_path, OF_PEOPLE, USER, "40")
    shutil.copy(Path(people.path).with_name("ledger.db"), tmp_path)
    verify = ("ledger", path, "verify", "--published", people.saved(tmp_path))
    first, *rest = people.printed.splitlines(keepends=True)
    renamed = people.printed.replace('"privacy":"gdp",', "").replace('"rho', '"epsilon')
    for wrong in (first.replace('"rho":"0.', '"rho":"1.') + "".join(rest), renamed):
        assert wrong != people.printed
        (tmp_path / "printed.jsonl").write_text(wrong)
        assert tocsin(*verify).exit_code != 0
    people.saved(tmp_path)
    tocsin(*verify, code=0)


@pytest.mark.parametrize(("privacy", "epsilon"), [("", "400"), (GDP.replace("1e-6", "1e-7"), "90")])
def test_another_promise_is_refused_under_a_live_ledger(people, tmp_path, privacy, epsilon):
    """Pure, or another delta."""
    ledger_in = people.events.parent
    path, _ = written(tmp_path, OF_PEOPLE, USER, epsilon, privacy=privacy, ledger_in=ledger_in)
    refused = tocsin("run", path, "--replay", people.events, "--json", code=2)
    assert "delta '1e-06' -> " in refused.stderr


@pytest.mark.parametrize(("budget", "epsilon"), [(USER, "2"), (EVENT, "1.2")])
def test_windows_beyond_the_wall_are_refused(tmp_path, budget, epsilon):
    """Where the wall holds less than what is asked for, on either unit, and verify agrees."""
    ran = replayed(*written(tmp_path, BOTH, f"{budget}, on_shortfall: deny", epsilon))
    decisions = [one for one in ran.records if "alarm_id" not in one]
    assert {one["reason"] for one in decisions} == {None, "budget"}
    status = budget_of(ran.path)
    wall = Gaussian(Fraction(epsilon), Fraction(1, 10**6)).wall_units
    assert 0 < Fraction(status["spent"]) <= Fraction(status["rho_max"]) == Fraction(wall, 10**12)
    assert status["spent_epsilon_at_delta"] <= float(epsilon)
    tocsin("ledger", ran.path, "verify", code=0)


def test_a_budget_that_is_too_small_says_what_would_do(tmp_path):
    """The least epsilon_max is exact, of the privacy that the budget has."""

    def fits(epsilon, code):
        path, _ = written(tmp_path, BOTH, epsilon=epsilon)
        (budget,) = json_lines(tocsin("plan", path, "--json"), code=code)
        return budget["fits"], budget["needed"]

    _, needed = fits("2", 3)
    assert fits(needed, 0)[0]
    assert not fits(f"{float(needed) - 0.0001:.4f}", 3)[0]


def test_plans_say_rho_of_caps_and_of_shared_rows(tmp_path):
    """Wherever losses are compared: they are no epsilon, and too small for three decimals."""
    capped = USER + ", contribution: {{max_windows_per_period: 2}}"
    path, _ = written(tmp_path, BOTH, capped)
    said = "at most; without that it would be rho 0.3598"
    assert said in shown("plan", path, "--details")
    written(tmp_path, BOTH, EVENT)
    said = "all 2: sum rho 0.04701, highest-cost row rho 0.04701"
    assert said in shown("plan", path, "--details")


def test_every_surface_says_rho(people, rows):
    """Tables, lines and pages: no loss is called an epsilon but at the delta."""
    for ran in (people, rows):
        text = shown("plan", ran.path, "--details")
        assert text.startswith("budget ")
        assert ": rho " in text
        for line in json_lines(tocsin("plan", ran.path, "--json")):
            assert (line["loss"], line["privacy"]) == ("rho", "gdp")
            assert line["delta"]
        assert "(privacy: gdp, rho" in plan_page(ran.alarms, figures(ran.alarms))
        assert "with delta 1e-06 (privacy: gdp, rho" in shown("ledger", ran.path, "status")
    losses = ("ledger", people.path, "losses", "crowd")
    assert "privacy: gdp" in shown(*losses)
    assert all(
        "epsilon" not in line and line["rho"] for line in json_lines(tocsin(*losses, "--json"))
    )


def test_simulations_are_refused(people):
    """They try mechanisms that pay an epsilon."""
    refused = tocsin("simulate", people.path, "--replay", people.events)
    assert refused.exit_code != 0
    assert "`tocsin simulate` needs a budget with privacy: pure" in refused.stderr
