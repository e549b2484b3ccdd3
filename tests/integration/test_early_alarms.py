"""Early alarms at the seams: two workers that die at every step of the protocol, on a real broker.

One run, looked at by all tests: workers die while hostile events come, all of them are gone while
steps become overdue, one partition falls silent, and two workers catch up::

    events     |~~~~~~~~ hostile, late, doubled ~~~~~~~~|  one burst into one partition
    workers    |x  x   x  x   x   x   x               x |  nobody  | two |
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from accountant.log.entries import Ended, decode
from accountant.records import Outcome
from stream.build import open_ledger
from stream.decisions.records import encode
from stream.decisions.release import alarm_records, decision_record
from stream.decisions.steps import Step
from stream.windows.instants import from_iso_utc
from tests.support.hostile import event_of, flowing, home, time_ms
from tests.support.matrix import STEPS, Matrix
from tests.support.oracle import add_up
from tests.support.scenario import ROOMS, Scenario
from tests.support.stepped import SIZE_MS, STEP_MS, looks, noise_of_windows
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.records import StoredDecision
    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration

THRESHOLD, TOLERANCE = 30, 5
SURELY = THRESHOLD + 4 * TOLERANCE  # missed once in ten million windows
NEVER = THRESHOLD - 4 * TOLERANCE
BURST = 2 * SURELY
FULL = ROOMS[-1]  # where hardly anybody else goes


@dataclass
class Seen:
    """What a run left.

    Args:
        matrix: who ran.
        died: at which steps of the protocol workers died.
        decisions: of all steps, in order.
        truth: per start of a step what its look must see, per room.
        published: records of the decisions topic, as Kafka has them.
        alarms: those of the alarms topic.
        burst_ms: start of the step into which many came at once.
    """

    matrix: Matrix
    died: Counter[str]
    decisions: list[StoredDecision]
    truth: dict[int, tuple[int, ...]]
    published: list[Any]
    alarms: list[Any]
    burst_ms: int

    @property
    def scenario(self) -> Scenario:
        """Topics, ledger and journal."""
        return self.matrix.scenario

    def rooms(self, decision: StoredDecision) -> list[str]:
        """Return which rooms rang at a step."""
        query = self.scenario.alarms().by_name[self.scenario.query]
        return [alarm.group["room"] for alarm in alarm_records(query, decision)]


@pytest.fixture(scope="module")
def seen(
    broker: Broker, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Seen]:
    """Run it all once."""
    scenario = Scenario(
        broker,
        tmp_path_factory.mktemp("early"),
        ledger=postgres.new_database(),
        budget='  privacy_unit: event\n  epsilon_max: "10"\n',
        window="CUMULATE(ts, INTERVAL '1' SECOND, INTERVAL '3' SECOND)",
        having=f"COUNT(*) > {THRESHOLD}",
        tolerance=f"{TOLERANCE}\n    mechanism: svt",
    )
    scenario.create_topics()
    with open_ledger(scenario.alarms()) as ledger:
        matrix = Matrix(scenario, ledger, noise_of_windows)
        try:
            with flowing(broker.bootstrap, scenario.topic, seed=29):
                died = matrix.kill_at_steps(list(STEPS), patience_s=300)
            behind_ms = scenario.cursor_ms() + 2 * SIZE_MS
            wait_until("steps are overdue", lambda: time_ms() > behind_ms)
            burst_ms = _burst(scenario)
            decisions = matrix.finish()
        finally:
            scenario.stop()
        records = scenario.read(scenario.topic)
        starts_ms = [decision.key.start_ms for decision in decisions]
        yield Seen(
            matrix,
            died,
            decisions,
            looks(records, starts_ms, partitions=scenario.partitions),
            scenario.read(f"{scenario.name}.decisions"),
            scenario.read(f"{scenario.name}.alarms"),
            burst_ms,
        )


def _burst(scenario: Scenario) -> int:
    """Send many people into one room and one partition, twice each; return the step's start."""
    people = [one for one in (f"b{at}" for at in range(4 * BURST)) if not home(one, 2)][:BURST]
    now_ms = time_ms()
    scenario.produce([event_of(one, FULL, "in", ts=now_ms) for one in people] * 2)
    return now_ms - now_ms % STEP_MS


def test_every_step_is_decided_once_whatever_is_killed(seen: Seen) -> None:
    """None is left out, none is refused; every copy of a decision says the same."""
    assert set(seen.died) == {plan.partition(":")[0] for plan in STEPS}
    starts_ms = [decision.key.start_ms for decision in seen.decisions]
    assert starts_ms[0] % SIZE_MS == 0
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, STEP_MS))
    assert {decision.reason for decision in seen.decisions} == {None}
    told: dict[int, set[bytes]] = defaultdict(set)
    for record in seen.published:
        told[json.loads(record.value)["sequence"]].add(record.value)
    assert {len(copies) for copies in told.values()} == {1}
    settled: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for line in seen.scenario.done("decision"):
        settled[line["start_ms"]].add((line["sequence"], line["alarm_count"]))
    assert {len(ends) for ends in settled.values()} == {1}


def test_every_look_sees_what_a_recount_of_the_log_says(seen: Seen) -> None:
    """Late events are in the looks whose cut they made, copies are in none, overdue looks too."""
    asked: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for line in seen.scenario.done("look"):
        asked[line["number"] * STEP_MS].add(tuple(line["counts"]))
    assert {at: asked[at] for at in seen.truth} == {at: {each} for at, each in seen.truth.items()}
    lines = seen.scenario.done("counted")
    noted = Counter(at for at, _ in {(line["start_ms"], line["partition"]) for line in lines})
    counted = {at: each for at, each in add_up(lines).items() if noted[at] == 2}
    assert {at: seen.truth[at] for at in counted if at in seen.truth}.items() <= counted.items()
    assert len(counted) > len(seen.truth) // 2
    burst = seen.truth[seen.burst_ms][ROOMS.index(FULL)]
    assert BURST <= burst < 2 * BURST


def test_a_room_rings_once_in_a_window_and_only_at_a_step_that_was_drawn(seen: Seen) -> None:
    """What is stored of a step is one of its draws, and no room that rang is asked again."""
    rang: dict[int, list[str]] = defaultdict(list)
    drawn: dict[int, list[list[str]]] = defaultdict(list)
    for line in seen.scenario.done("look"):
        drawn[line["number"] * STEP_MS].append([ROOMS[cell] for cell in line["fired"]])
    for decision in seen.decisions:
        rooms = seen.rooms(decision)
        assert rooms in drawn[decision.key.start_ms]
        rang[decision.key.start_ms // SIZE_MS] += rooms
    assert all(len(rooms) == len(set(rooms)) for rooms in rang.values())
    assert any(rang.values())


def test_full_rooms_ring_by_the_window_s_end_and_empty_ones_never(seen: Seen) -> None:
    """Also of the burst, which one partition alone knew of, and which came twice."""
    last = {start_ms // SIZE_MS: counts for start_ms, counts in sorted(seen.truth.items())}
    whole = Counter(start_ms // SIZE_MS for start_ms in seen.truth)
    rang: dict[int, set[str]] = defaultdict(set)
    for decision in seen.decisions:
        rang[decision.key.start_ms // SIZE_MS] |= set(seen.rooms(decision))
    for window in (window for window, steps in whole.items() if steps == SIZE_MS // STEP_MS):
        counts = dict(zip(ROOMS, last[window], strict=True))
        assert {room for room, count in counts.items() if count > SURELY} <= rang[window]
        assert not {room for room, count in counts.items() if count < NEVER} & rang[window]
    assert FULL in rang[seen.burst_ms // SIZE_MS]


def test_a_window_s_noise_is_drawn_once(seen: Seen) -> None:
    """Whoever goes on with a window goes on under its threshold, and no step is drawn twice.

    A draw whose transaction did not happen left nothing behind, and may be drawn again.
    """
    assert seen.matrix.drawn
    assert {len(noises) for noises in seen.matrix.drawn.values()} == {1}
    stored_ms = {one.key.start_ms: one.decided_at_ms for one in seen.decisions}
    draws = [line for line in seen.scenario.done("step") if line["step"] == Step.AFTER_DRAW]
    kept = [draw for draw in draws if draw["start_ms"] in stored_ms]
    assert all(d["at_ns"] // 1_000_000 <= stored_ms[d["start_ms"]] + 1 for d in kept)


def test_every_step_is_charged_what_the_plan_says(seen: Seen) -> None:
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
    (scope,) = seen.matrix.ledger.reports.status().scopes.values()
    assert scope.spent_units == planned
    seen.scenario.topics_must_agree()


def test_nothing_finer_than_the_step_is_told(seen: Seen) -> None:
    """Records are made of the step's number and the configuration, and leave at its tick."""
    scenario = seen.scenario
    alarms = scenario.alarms()
    query = alarms.by_name[scenario.query]
    stored = {decision.sequence: decision for decision in seen.decisions}
    for record in seen.published:
        content = json.loads(record.value)
        decision = stored[content["sequence"]]
        assert record.value == encode(decision_record(query, alarms, decision))
        assert record.timestamp >= decision.release_ms
        whole = from_iso_utc(content["whole_start"]), from_iso_utc(content["whole_end"])
        opened_ms = decision.key.start_ms // SIZE_MS * SIZE_MS
        assert whole == (opened_ms, opened_ms + SIZE_MS)
    for record in seen.alarms:
        decision = stored[json.loads(record.value)["sequence"]]
        assert record.value in {encode(alarm) for alarm in alarm_records(query, decision)}
        assert record.timestamp >= decision.release_ms
        assert decision.release_ms == decision.key.end_ms + query.grace_ms + query.publish_delay_ms
    released = [decision for decision in seen.decisions if decision.published]
    assert {decision.outcome for decision in released} == {Outcome.DECIDED}
    rang = {alarm.alarm_id for one in released for alarm in alarm_records(query, one)}
    assert {json.loads(record.value)["alarm_id"] for record in seen.alarms} == rang
