"""Workers are killed at every step and at random times; nothing is lost, doubled or overspent.

``make crash`` runs the full matrix (``--full``) and writes a report; ``make test`` runs every named
step once.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from accountant.loss.gaussian import Gaussian
from accountant.records import Outcome
from accountant.units import to_loss_units
from operators.registry import create, price
from stream.build import open_ledger
from stream.decisions.records import decode_alarm, decode_count
from stream.decisions.release import alarm_records, count_records, released_alarms
from tests.support.hostile import produce_live
from tests.support.matrix import STEPS, Matrix, check_paid_by_run, check_promises
from tests.support.matrixreport import write_section
from tests.support.scenario import Scenario
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accountant.records import StoredDecision
    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration

# A minute's budget carries about fifteen of its twenty windows: refusals are part of the matrix.
_BUDGET = """\
  privacy_unit: user
  epsilon_max: {epsilon}
  period: 1m
  contribution: {{max_groups_per_window: 1, max_events_per_group: 1{caps}}}
"""
GAUSSIAN = '\n  privacy: gdp\n  delta: "1e-6"'


@contextmanager
def watched(scenario: Scenario) -> Iterator[Matrix]:
    """Keep a producer of hostile events running for as long as a matrix needs them."""
    scenario.create_topics()
    ledger = open_ledger(scenario.alarms())
    running = Thread(
        target=produce_live,
        args=(scenario.broker.bootstrap, [scenario.topic]),
        kwargs={"until_ms": 0, "seed": 11, "every_ms": 25, "stop": (stop := [])},
        daemon=True,
    )
    running.start()
    try:
        yield Matrix(scenario, ledger)
    finally:
        stop.append(True)
        running.join(timeout=PATIENCE_S)
        scenario.stop()
        ledger.close()


RUNS = "2\n    mechanism: {svt: {max_alarms: 3}}"
BETWEEN = "COUNT(DISTINCT person) BETWEEN 6 AND 20"
WORLDS: dict[str, dict[str, Any]] = {
    # Every window is charged by itself.
    "alone": {},
    # Windows share a run of three alarms in every minute; two comparisons. Whoever comes moves them
    # apart: the run is priced for any direction.
    "runs": {"epsilon": '"24"', "having": BETWEEN, "tolerance": RUNS},
    # Runs of six alarms a minute, each of which holds its room for three windows.
    "holds": {
        "epsilon": '"40"',
        "tolerance": "2\n    mechanism: {svt: {max_alarms: 6}}\n    hold: 9s",
    },
    # Windows that slide over three panes, which they share: unit event.
    "panes": {
        "budget": '  privacy_unit: event\n  epsilon_max: "10"\n',
        "window": "HOP(ts, INTERVAL '1' SECOND, INTERVAL '3' SECOND)",
        "having": "COUNT(*) > 5",
        "tolerance": "2\n    mechanism: {panes: {release: counts}}",
    },
    # A formula on a Gaussian budget of a minute, which carries about ten of its twenty windows.
    "gaussian": {"epsilon": f'"15"{GAUSSIAN}', "having": BETWEEN},
    # Runs of three alarms, two of which a minute's Gaussian budget carries.
    "gaussian runs": {"epsilon": f'"40"{GAUSSIAN}', "tolerance": RUNS},
    # At least two of four rooms, each of which everybody may count in: the price of one.
    "groups": {
        "around": "SELECT 1 FROM (",
        "having": "COUNT(DISTINCT person) > 5) HAVING COUNT(*) >= 2",
    },
    # People count in three of twenty windows of a minute, so that none is refused.
    "caps": {"caps": ", max_windows_per_period: 3"},
    # One draw for two severity levels.
    "levels": {
        "having": "COUNT(DISTINCT person) > SEVERITY",
        "tolerance": "2\n    severity: {warning: 5, critical: 8}",
    },
}


@pytest.fixture
def matrix(
    request: pytest.FixtureRequest, broker: Broker, postgres: Postgres, tmp_path: Path
) -> Iterator[Matrix]:
    """A world with two partitions on PostgreSQL, topics and a ledger of its own; watched."""
    world = {"epsilon": '"14"', "caps": "", **WORLDS[request.param]}
    budget = _BUDGET.format(epsilon=world.pop("epsilon"), caps=world.pop("caps"))
    name = f"crash-{time.monotonic_ns()}"
    with watched(
        Scenario(broker, tmp_path, name, postgres.new_database(), **{"budget": budget, **world})
    ) as found:
        if request.param == "caps":
            found.few = (3, 60_000)
        yield found


def of(world: str) -> pytest.MarkDecorator:
    """Play a test in one of the worlds."""
    return pytest.mark.parametrize("matrix", [world], indirect=True)


@of("levels")
def test_levels_are_drawn_once_whatever_is_killed(
    matrix: Matrix, request: pytest.FixtureRequest
) -> None:
    """Whatever is sent again says the severity that was stored, and the topics agree with it."""
    decisions = survived(matrix, request, "Severity levels")
    scenario = matrix.scenario
    (query,) = scenario.alarms().by_name.values()
    stored = {one.alarm_id: one for each in decisions for one in alarm_records(query, each)}
    sent = [decode_alarm(record.value) for record in scenario.read(f"{scenario.name}.alarms")]
    assert sent
    assert {one.severity for one in sent} <= {"warning", "critical"}
    assert all(stored[one.alarm_id] == one for one in sent)
    scenario.topics_must_agree()


@of("caps")
def test_caps_are_not_forgotten_by_who_goes_on(matrix: Matrix) -> None:
    """Two workers die about a count that is stored; what people used up is as the log says."""
    steps = [one for one in STEPS if "partial" in one]
    killed(matrix, steps)
    report = check_promises(matrix, matrix.finish())
    assert report["decided"] > 0


@of("groups")
def test_a_quantifier_survives_kills(matrix: Matrix, request: pytest.FixtureRequest) -> None:
    """One draw a window for all rooms, charged once as one cell, whoever dies about it."""
    decisions = survived(matrix, request, "At least two of four rooms")
    (query,) = matrix.scenario.alarms().by_name.values()
    assert (len(query.domain), len(query.counted)) == (1, 4)
    paid = {one.epsilon_units for one in decisions if one.outcome is Outcome.DECIDED}
    assert paid == {to_loss_units(price(query.mechanism, query.condition, query.aim).epsilon)}


@of("gaussian")
def test_a_gaussian_budget_survives_kills(matrix: Matrix, request: pytest.FixtureRequest) -> None:
    """A formula is drawn and charged once a window, whoever dies about it."""
    decisions = survived(matrix, request, "A formula on a Gaussian budget")
    check_wall(matrix, decisions)


@of("gaussian runs")
def test_runs_under_a_gaussian_budget_survive_kills(
    matrix: Matrix, request: pytest.FixtureRequest
) -> None:
    """A run is paid for as it opens, once, whoever goes on with it; its alarms are a unit each."""
    decisions = survived(matrix, request, "Runs under a Gaussian budget")
    check_wall(matrix, decisions)
    check_runs(matrix, decisions)


@of("alone")
def test_killed_at_every_named_step(matrix: Matrix) -> None:
    """Two workers die at each step of the protocol in turn; every promise still holds."""
    killed(matrix, STEPS)
    report = check_promises(matrix, matrix.finish())
    assert report["decided"] > 0
    print(report)


@of("runs")
def test_runs_survive_kills_at_every_named_step(matrix: Matrix) -> None:
    """Runs go on where they stood: one threshold each, and every alarm is paid for once."""
    killed(matrix, STEPS)
    decisions = matrix.finish()
    report = check_promises(matrix, decisions)
    assert report["decided"] > 0
    check_runs(matrix, decisions)


@of("holds")
def test_holds_survive_kills_at_every_named_step(matrix: Matrix) -> None:
    """No room is asked in its hold, whoever goes on; alarms are paid once, records are whole."""
    killed(matrix, STEPS)
    decisions = matrix.finish()
    check_promises(matrix, decisions)
    check_runs(matrix, decisions)
    (query,) = matrix.scenario.alarms().by_name.values()
    held: dict[str, int] = {}
    again = 0
    for key, group in (each for one in decisions for each in released_alarms(one)):
        (room,) = group.values()
        assert key.end_ms > held.get(room, 0)
        again += room in held
        held[room] = key.end_ms + query.hold_ms
    assert again
    matrix.scenario.topics_must_agree()


@of("panes")
def test_panes_are_drawn_once_whatever_is_killed(matrix: Matrix) -> None:
    """What was stored of a pane is never anything else, and every window is decided from it.

    Its noisy counts leave as they were stored, once for each room, whatever is sent again.
    """
    killed(matrix, STEPS)
    decisions, ledger = matrix.finish(), matrix.ledger
    assert {one.outcome for one in decisions} == {Outcome.DECIDED}
    assert {one.epsilon_units for one in decisions} == {0}
    starts_ms = [one.key.start_ms for one in decisions]
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, 1_000))
    assert matrix.panes
    assert {len(drawn) for drawn in matrix.panes.values()} == {1}
    (panes,) = matrix.scenario.alarms().panes.values()
    status = ledger.reports.status()
    assert status.queries[panes.id].decided >= len(decisions) + 2
    assert status.queries[panes.id].denied == {}
    (scope,) = status.scopes.values()
    assert scope.spent_units == panes.aim.pane_units
    scenario = matrix.scenario
    scenario.topics_must_agree()
    sent = [record.value for record in scenario.read(f"{scenario.name}.counts")]
    left = {one.count_id: one for one in map(decode_count, sent)}
    assert len(set(sent)) == len(left)
    released = [one for one in decisions if one.published]
    assert {one.count_id for each in released for one in count_records(each)} <= left.keys()
    assert {one.standard_deviation for one in left.values()} == {
        next(iter(left.values())).standard_deviation
    }


@of("alone")
def test_killed_at_random_times(matrix: Matrix, request: pytest.FixtureRequest) -> None:
    """Workers die at random times: 2 in a short run, 20 in a full one, which writes a report."""
    if request.config.getoption("--full"):
        survived(matrix, request, "Every window charged by itself")
        return
    matrix.kill_at_random(2, random.Random(3))
    print(check_promises(matrix, matrix.finish()))


def killed(matrix: Matrix, steps: Sequence[str], patience_s: float = 300) -> Counter[str]:
    """Kill workers at steps, and return how often each of them was one's last."""
    died = matrix.kill_at_steps(list(steps), patience_s=patience_s)
    assert set(died) == {plan.partition(":")[0] for plan in steps}
    return died


def survived(matrix: Matrix, request: pytest.FixtureRequest, title: str) -> list[StoredDecision]:
    """Kill workers about what is reserved, drawn and stored, and check what is left.

    In full: at every step three times and at twenty random ones, with a section of the report.
    """
    full = request.config.getoption("--full")
    chosen = ("reserve", "draw", "commit")
    steps = [one for one in STEPS if full or any(word in one for word in chosen)]
    died = killed(matrix, steps * (3 if full else 1), 900 if full else 300)
    if full:
        matrix.kill_at_random(20, random.Random(3))
    decisions = matrix.finish()
    report = check_promises(matrix, decisions)
    assert report["decided"] > 0
    if full:
        report["killed at random"] = 20
        report |= {f"killed {step}": count for step, count in sorted(died.items())}
        write_section(title, report)
    print(report)
    return decisions


def check_wall(matrix: Matrix, decisions: list[StoredDecision]) -> None:
    """Assert that what every minute was charged keeps the Gaussian promise."""
    spent: Counter[int] = Counter()
    for one in decisions:
        spent[one.key.start_ms // 60_000] += one.epsilon_units
    scope = matrix.ledger.reports.status().scopes["user"]
    promise = Gaussian.read(scope.promise)
    assert max(spent.values()) <= scope.epsilon_max_units == promise.wall_units
    assert promise.keeps(scope.spent_units)


def check_runs(matrix: Matrix, decisions: list[StoredDecision]) -> None:
    """Assert what was paid for runs: their threshold once, each of their alarms once."""
    (svt,) = (
        create(query.mechanism, query.condition, query.aim)
        for query in matrix.scenario.alarms().by_name.values()
    )
    assert all(len(noises) == 1 for noises in matrix.drawn.values())
    assert len(matrix.drawn) >= 2
    check_paid_by_run(svt, decisions)
    spent: Counter[int] = Counter()
    for one in decisions:
        if one.outcome is Outcome.DECIDED:
            spent[one.key.start_ms // 60_000] += one.epsilon_units
    scope = matrix.ledger.reports.status().scopes["user"]
    paid_units = scope.spent_units - scope.reserved_units  # one may be under way when all end
    assert paid_units <= max(spent.values()) <= scope.spent_units <= scope.epsilon_max_units
