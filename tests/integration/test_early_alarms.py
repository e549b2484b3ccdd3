"""Early alarms at the seams: two workers that die at every step of the protocol, on a real broker.

One run, looked at by all tests: workers die while hostile events come, all of them are gone while
steps become overdue, one partition falls silent, and two workers catch up::

    events     |~~~~~~~~ hostile, late, doubled ~~~~~~~~|  one burst into one partition
    workers    |x  x   x  x   x   x   x               x |  nobody  | two |
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from accountant.log.entries import Ended, decode
from operators.single.lookstate import LookState
from stream.build import open_ledger
from stream.decisions.records import encode
from stream.decisions.release import alarm_records, decision_record
from stream.decisions.steps import Step
from tests.support.hostile import event_of, flowing, home, time_ms
from tests.support.ledgers import only_scope
from tests.support.matrix import STEPS, Matrix, private_runs
from tests.support.oracle import looks
from tests.support.scenario import ROOMS, Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from accountant.records import StoredDecision

pytestmark = pytest.mark.integration

STEP_MS, SIZE_MS = 1_000, 3_000
THRESHOLD, TOLERANCE = 30, 5
BURST = 2 * (THRESHOLD + 4 * TOLERANCE)  # half of it is missed once in ten million windows
FULL = ROOMS[-1]  # where hardly anybody else goes


@dataclass
class Seen:
    """What a run left.

    Args:
        matrix: who ran.
        decisions: of all steps, in order.
        truth: per start of a step what its look must see, per room.
        burst_ms: start of the step into which many came at once.
    """

    matrix: Matrix
    decisions: list[StoredDecision]
    truth: dict[int, tuple[int, ...]]
    burst_ms: int

    @property
    def scenario(self):
        """Topics, ledger and journal."""
        return self.matrix.scenario

    def fired(self, decision):
        """Return the alarms of a step."""
        return list(alarm_records(self.scenario.alarms().by_name[self.scenario.query], decision))


@pytest.fixture(scope="module")
def seen(broker, postgres, tmp_path_factory):
    """Run it all once."""
    made = Scenario(
        broker,
        tmp_path_factory.mktemp("early"),
        ledger=postgres.new_database(),
        budget='  privacy_unit: event\n  epsilon_max: "10"\n',
        window="CUMULATE(ts, INTERVAL '1' SECOND, INTERVAL '3' SECOND)",
        having=f"COUNT(*) > {THRESHOLD}",
        tolerance=f"{TOLERANCE}\n    mechanism: svt",
    )
    with made as scenario, open_ledger(scenario.alarms()) as ledger:
        matrix = Matrix(scenario, ledger, noise_of_windows)
        with flowing(broker.bootstrap, scenario.topic, seed=29):
            died = matrix.kill_at_steps(list(STEPS), patience_s=300)
        assert set(died) == {plan.partition(":")[0] for plan in STEPS}
        behind_ms = scenario.cursor_ms() + 2 * SIZE_MS
        wait_until("steps are overdue", lambda: time_ms() > behind_ms)
        burst_ms = _burst(scenario)
        decisions = matrix.finish()
        starts_ms = [decision.key.start_ms for decision in decisions]
        records = scenario.read(scenario.topic)
        truth = looks(records, starts_ms, partitions=2, size_ms=SIZE_MS, step_ms=STEP_MS)
        yield Seen(matrix, decisions, truth, burst_ms)


def noise_of_windows(ledger):
    """Return what the looks at every alarm's newest window share, by alarm and the window's number.

    It is private: tests look whether it is ever anything else.
    """
    states = {run.query: LookState.from_bytes(run.state) for run in private_runs(ledger)}
    return {
        (query, state.number * STEP_MS // SIZE_MS): state.shared.tobytes()
        for query, state in states.items()
    }


def _burst(scenario):
    """Send many people into one room and one partition, twice each; return the step's start."""
    people = [one for one in (f"b{at}" for at in range(4 * BURST)) if not home(one, 2)][:BURST]
    now_ms = time_ms()
    scenario.produce([event_of(one, FULL, "in", ts=now_ms) for one in people] * 2)
    return now_ms - now_ms % STEP_MS


def test_every_step_is_decided_once_whatever_is_killed(seen):
    """None is left out, none is refused, and no decision or alarm leaves that is not stored."""
    starts_ms = [decision.key.start_ms for decision in seen.decisions]
    assert starts_ms[0] % SIZE_MS == 0
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, STEP_MS))
    assert {decision.reason for decision in seen.decisions} == {None}
    seen.scenario.topics_must_agree()


def test_every_look_sees_what_a_recount_of_the_log_says(seen):
    """Late events are in the looks whose cut they made, copies are in none, overdue looks too."""
    asked = defaultdict(set)
    for line in seen.scenario.done("look"):
        asked[line["number"] * STEP_MS].add(tuple(line["counts"]))
    assert {at: asked[at] for at in seen.truth} == {at: {each} for at, each in seen.truth.items()}
    assert BURST <= seen.truth[seen.burst_ms][ROOMS.index(FULL)] < 2 * BURST


def test_a_room_fires_once_in_a_window_and_only_at_a_step_that_was_drawn(seen):
    """What is stored of a step is one of its draws, and no room that fired is asked again.

    The burst's room does fire: one partition alone knew of it, and everybody came twice.
    """
    drawn = defaultdict(list)
    for line in seen.scenario.done("look"):
        drawn[line["number"] * STEP_MS].append([ROOMS[cell] for cell in line["fired"]])
    fired = defaultdict(list)
    for decision in seen.decisions:
        rooms = [alarm.group["room"] for alarm in seen.fired(decision)]
        assert rooms in drawn[decision.key.start_ms]
        fired[decision.key.start_ms // SIZE_MS] += rooms
    assert all(len(rooms) == len(set(rooms)) for rooms in fired.values())
    assert FULL in fired[seen.burst_ms // SIZE_MS]


def test_a_window_s_noise_is_drawn_once(seen):
    """Whoever goes on with a window goes on under its threshold, and no step is drawn twice.

    A draw whose transaction did not happen left nothing behind, and may be drawn again.
    """
    assert seen.matrix.drawn
    assert {len(noises) for noises in seen.matrix.drawn.values()} == {1}
    stored_ms = {one.key.start_ms: one.decided_at_ms for one in seen.decisions}
    draws = [line for line in seen.scenario.done("step") if line["step"] == Step.AFTER_DRAW]
    kept = [draw for draw in draws if draw["start_ms"] in stored_ms]
    assert all(d["at_ns"] // 1_000_000 <= stored_ms[d["start_ms"]] + 1 for d in kept)


def test_every_step_is_charged_what_the_plan_says(seen):
    """A whole window's price, with the step that an event lies in, and nothing with another."""
    planned = seen.scenario.window_units()
    assert {decision.epsilon_units for decision in seen.decisions} == {planned}
    ended = [decode(row.kind, row.payload) for row in seen.matrix.ledger.reports.entries()]
    charges = {
        one.start_ms: one.loss_units
        for one in ended
        if isinstance(one, Ended) and one.settled_units is not None
    }
    assert charges == {decision.key.start_ms: planned for decision in seen.decisions}
    scope = only_scope(seen.matrix.ledger)
    assert scope.spent_units == planned


def test_nothing_finer_than_the_step_is_published(seen):
    """Records are made of the step's number and the configuration, and leave at its time."""
    scenario, alarms = seen.scenario, seen.scenario.alarms()
    query = alarms.by_name[scenario.query]
    stored = {decision.sequence: decision for decision in seen.decisions}
    records = {
        "decisions": lambda decision: [decision_record(query, alarms, decision)],
        "alarms": seen.fired,
    }
    for topic, made in records.items():
        for record in scenario.read(f"{scenario.name}.{topic}"):
            decision = stored[json.loads(record.value)["sequence"]]
            assert record.value in [encode(one) for one in made(decision)]
            end_ms = decision.key.end_ms
            assert decision.release_ms == end_ms + query.grace_ms + query.publish_delay_ms
            assert record.timestamp >= decision.release_ms
