"""Workers are killed at every step and at random times; nothing is lost, doubled or overspent.

``make crash`` runs the full matrix (``--full``) and writes a report; ``make test`` runs every named
step once.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from accountant.loss.gaussian import Gaussian
from accountant.records import Outcome
from accountant.units import to_loss_units
from operators.registry import create, price
from stream.build import open_ledger
from stream.decisions.records import decode_alarm, decode_count
from stream.decisions.release import alarm_records, count_records, released_alarms
from tests.support.hostile import flowing
from tests.support.ledgers import only_scope
from tests.support.matrix import STEPS, Matrix, check_paid_by_run, check_promises, decisions_of
from tests.support.matrixreport import write_section
from tests.support.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accountant.records import StoredDecision

pytestmark = pytest.mark.integration

MINUTE_MS = 60_000
BUSY = """\
  busy:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '3' SECOND)
      HAVING COUNT(*) BETWEEN 20 AND 60
    max_fnr: 0.05
    tolerance: 3
    timing: {grace: 1s, publish_delay: 250ms}
"""


def budget(epsilon, more="", caps=""):
    """Return a budget of a minute for everybody, in one room of a window."""
    return f"""\
  privacy_unit: user
  epsilon_max: "{epsilon}"
  period: 1m{more}
  contribution: {{max_groups_per_window: 1, max_events_per_group: 1{caps}}}
"""


def check_runs(matrix, decisions):
    """Runs went on where they stood: their threshold is paid for once, each of their alarms once.

    What a minute was charged is the sum of what its records say, whichever alarm they are of.
    """
    query = matrix.scenario.alarms().by_name[matrix.scenario.query]
    assert all(len(noises) == 1 for noises in matrix.drawn.values())
    assert len(matrix.drawn) >= 2
    check_paid_by_run(create(query.mechanism, query.condition, query.aim), decisions)
    spent = Counter()
    for name in matrix.scenario.alarms().by_name:
        for one in decisions_of(matrix.ledger, name):
            spent[one.key.start_ms // MINUTE_MS] += one.epsilon_units
    scope = only_scope(matrix.ledger)
    paid_units = scope.spent_units - scope.reserved_units  # one may be under way when all end
    assert paid_units <= max(spent.values()) <= scope.spent_units <= scope.epsilon_max_units


def check_two_kinds(matrix, decisions):
    """Comparisons beside the runs are decided or refused once, and the Gaussian promise is kept."""
    check_runs(matrix, decisions)
    assert check_promises(matrix, "busy")["decided"] > 0
    paid = {one.epsilon_units for one in decisions_of(matrix.ledger, "busy") if one.reason}
    assert paid <= {0}
    scope = only_scope(matrix.ledger)
    promise = Gaussian.read(scope.promise)
    assert scope.epsilon_max_units == promise.wall_units
    assert promise.keeps(scope.spent_units)


def check_holds(matrix, decisions):
    """No room is asked in its hold, whoever goes on; alarms are paid once, records are whole."""
    check_runs(matrix, decisions)
    (query,) = matrix.scenario.alarms().by_name.values()
    held = {}
    again = 0
    for key, group in (each for one in decisions for each in released_alarms(one)):
        (room,) = group.values()
        assert key.end_ms > held.get(room, 0)
        again += room in held
        held[room] = key.end_ms + query.hold_ms
    assert again


def check_groups(matrix, decisions):
    """One draw a window for all rooms, charged once as one cell, whoever dies about it."""
    (query,) = matrix.scenario.alarms().by_name.values()
    assert (len(query.domain), len(query.counted)) == (1, 4)
    paid = {one.epsilon_units for one in decisions if one.outcome is Outcome.DECIDED}
    assert paid == {to_loss_units(price(query.mechanism, query.condition, query.aim).epsilon)}


def check_levels(matrix, decisions):
    """Whatever is sent again says the severity that was stored."""
    scenario = matrix.scenario
    (query,) = scenario.alarms().by_name.values()
    stored = {one.alarm_id: one for each in decisions for one in alarm_records(query, each)}
    sent = [decode_alarm(record.value) for record in scenario.read(f"{scenario.name}.alarms")]
    assert {one.severity for one in sent} <= {"warning", "critical"}
    assert all(stored[one.alarm_id] == one for one in sent)
    assert sent


def check_panes(matrix, decisions):
    """What was stored of a pane is never anything else, and every window is decided from it.

    Its noisy counts leave as they were stored, once for each room, whatever is sent again.
    """
    ends = {(one.outcome, one.epsilon_units) for one in decisions}
    assert ends == {(Outcome.DECIDED, 0)}
    starts_ms = [one.key.start_ms for one in decisions]
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, 1_000))
    assert {len(drawn) for drawn in matrix.panes.values()} == {1}
    scenario = matrix.scenario
    (panes,) = scenario.alarms().panes.values()
    status = matrix.ledger.reports.status()
    assert status.queries[panes.id].decided >= len(decisions) + 2
    assert status.queries[panes.id].denied == {}
    (scope,) = status.scopes.values()
    assert scope.spent_units == panes.aim.pane_units
    scenario.topics_must_agree()
    sent = {record.value for record in scenario.read(f"{scenario.name}.counts")}
    left = {one.count_id: one for one in map(decode_count, sent)}
    assert len(sent) == len(left)
    released = [one for one in decisions if one.published]
    assert {one.count_id for each in released for one in count_records(each)} <= left.keys()
    assert len({one.standard_deviation for one in left.values()}) == 1


@dataclass(frozen=True)
class World:
    """A scenario, where its workers die, and what holds of it beside every promise.

    Args:
        check: what else holds; of panes, which are no windows of the scenario's, only that.
        words: of the steps to die at.
        at_random: how many die at random times after that.
        title: of its section in the report.
        few: in how many windows of a period people count, and how long that is.
        settings: of the scenario.
    """

    check: Callable[[Matrix, list[StoredDecision]], None] | None
    words: Sequence[str]
    settings: dict[str, Any]
    at_random: int = 0
    title: str = ""
    few: tuple[int, int] | None = None


EVERY = ("",)
CHOSEN = ("reserve", "draw", "commit")
WORLDS = {
    # Every window is charged by itself. A minute's budget carries about fifteen of its twenty
    # windows: refusals are part of the matrix.
    "alone": World(None, EVERY, {"budget": budget("14")}, 2, "Every window charged by itself"),
    # Windows share runs of four alarms, each of which holds its room for three windows; two
    # comparisons. Whoever comes moves them apart: the run is priced for any direction.
    "runs": World(
        check_holds,
        EVERY,
        {
            "budget": budget("40"),
            "having": "COUNT(DISTINCT person) BETWEEN 6 AND 20",
            "tolerance": "2\n    mechanism: {svt: {max_alarms: 4}}\n    hold: 9s",
        },
    ),
    # Windows that slide over three panes, which they share: unit event.
    "panes": World(
        check_panes,
        EVERY,
        {
            "budget": '  privacy_unit: event\n  epsilon_max: "10"\n',
            "window": "HOP(ts, INTERVAL '1' SECOND, INTERVAL '3' SECOND)",
            "having": "COUNT(*) > 5",
            "tolerance": "2\n    mechanism: {panes: {release: counts}}",
        },
    ),
    # A Gaussian budget, whose minute carries two runs, or one and some of twenty windows of a
    # formula: both are refused at times. Events pause, until every partition is idle.
    "two kinds": World(
        check_two_kinds,
        CHOSEN,
        {
            "budget": budget("40", '\n  privacy: gdp\n  delta: "1e-6"'),
            "tolerance": "2\n    mechanism: {svt: {max_alarms: 3}}",
            "more": BUSY,
            "partitions": 3,
        },
        2,
        "Runs and a formula on one Gaussian budget",
    ),
    # At least two of four rooms, each of which everybody may count in: the price of one.
    "groups": World(
        check_groups,
        CHOSEN,
        {
            "budget": budget("14"),
            "around": "SELECT 1 FROM (",
            "having": "COUNT(DISTINCT person) > 5) HAVING COUNT(*) >= 2",
        },
        title="At least two of four rooms",
    ),
    # One draw for two severity levels. People count in three of twenty windows of a minute, so that
    # none is refused; what they used up is as the log says, whoever dies about a count.
    "levels": World(
        check_levels,
        ("partial", *CHOSEN),
        {
            "budget": budget("14", caps=", max_windows_per_period: 3"),
            "having": "COUNT(DISTINCT person) > SEVERITY",
            "tolerance": "2\n    severity: {warning: 5, critical: 8}",
        },
        title="Severity levels",
        few=(3, MINUTE_MS),
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_every_promise_holds_whatever_is_killed(name, broker, postgres, tmp_path, request):
    """Two workers die at each step in turn, and then at random times; every promise still holds.

    In full: at every step three times and at twenty random ones, with a section of the report.
    """
    world = WORLDS[name]
    full = bool(request.config.getoption("--full") and world.title)
    steps = [one for one in STEPS if full or any(word in one for word in world.words)]
    at_random = 20 if full else world.at_random
    scenario = Scenario(broker, tmp_path, ledger=postgres.new_database(), **world.settings)
    with scenario, open_ledger(scenario.alarms()) as ledger:
        matrix = Matrix(scenario, ledger, few=world.few)
        pauses = world.check is check_two_kinds
        with flowing(broker.bootstrap, scenario.topic, seed=11, pauses=pauses):
            died = matrix.kill_at_steps(steps * (3 if full else 1), patience_s=900 if full else 300)
            assert set(died) == {plan.partition(":")[0] for plan in steps}
            if at_random:
                matrix.kill_at_random(at_random, random.Random(3))
            decisions = matrix.finish()
        if world.check is not check_panes:
            report = check_promises(matrix, scenario.query)
            assert report["decided"] > 0
            print(report)
        if world.check is not None:
            world.check(matrix, decisions)
    if full:
        report["killed at random"] = at_random
        report |= {f"killed {step}": count for step, count in sorted(died.items())}
        write_section(world.title, report)
