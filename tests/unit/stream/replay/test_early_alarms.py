"""Early alarms, decided by the real decider on a real ledger: when they ring, and what goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from accountant.records import Outcome
from accountant.units import to_loss_units
from operators.single.looks import EarlyAlarms
from stream.decisions.records import alarm_id
from stream.decisions.release import alarm_records, decision_record
from stream.decisions.steps import Step
from tests.unit.stream.replay.test_run_alarms import MINUTE_MS, Harness, dies, running

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.records import StoredDecision

STEPS = 6
WINDOW = "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '6' MINUTE)"
SURELY = 100_000
EVENT: dict[str, Any] = {"unit": "event", "window": WINDOW}


def rang(one: Harness, decision: StoredDecision) -> list[str]:
    """Return the rooms that ring at a step."""
    return [alarm.group["room"] for alarm in alarm_records(one.query, decision)]


@pytest.mark.parametrize("mechanism", ["svt", "tslm"])
def test_a_room_rings_once_a_window_at_the_first_step_that_holds(
    tmp_path: Path, mechanism: str
) -> None:
    """Two windows; what stays full rings once in each, and says at which step."""
    with running(tmp_path, mechanism=mechanism, **EVENT) as one:
        counts = [[0, 0, 0, 0], [SURELY, 0, 0, 0], [SURELY, 0, SURELY, 0]]
        steps = [counts[min(step, 2)] for step in range(STEPS)] * 2
        decisions = [one.decide(step, values) for step, values in enumerate(steps)]
        assert [rang(one, each) for each in decisions] == [[], ["a"], ["c"], [], [], []] * 2
        (alarm,) = alarm_records(one.query, decisions[STEPS + 1])
        assert (alarm.window_start, alarm.window_end) == (
            "1970-01-01T00:06:00.000Z",
            "1970-01-01T00:12:00.000Z",
        )
        assert (alarm.step_start, alarm.step_end) == (
            "1970-01-01T00:07:00.000Z",
            "1970-01-01T00:08:00.000Z",
        )
        assert alarm.alarm_id == alarm_id(decisions[STEPS + 1].key, {"room": "a"})
        assert one.spent() == to_loss_units(one.runtime.judge.plans["crowd"].epsilon)


def test_a_step_that_is_denied_silences_the_rest_of_its_window(tmp_path: Path) -> None:
    """Its events were never paid for, so no later step of the window counts them."""
    with running(tmp_path, **EVENT) as one:
        full = [SURELY, 0, 0, 0]
        first = [one.decide(0), one.decide(1)]
        one.count(2, complete=False)  # the log holds no beginning of it
        (denied,) = one.due()
        rest = [one.decide(step, full) for step in range(3, STEPS)]
        following = [one.decide(step, full) for step in range(STEPS, STEPS + 2)]
        assert [each.reason for each in (*first, denied)] == [None, None, "incomplete"]
        assert {each.reason for each in rest} == {"step_missed"}
        assert {each.outcome for each in rest} == {Outcome.DENIED}
        assert [rang(one, each) for each in following] == [["a"], []]
        assert decision_record(one.query, one.alarms, rest[0]).epsilon_units == 0
        assert one.ledger.reports.verify() == []


@pytest.mark.parametrize("at", [Step.AFTER_DRAW, Step.AFTER_COMMIT])
def test_a_killed_step_goes_on_under_the_same_threshold(tmp_path: Path, at: Step) -> None:
    """A draw that was not stored is drawn again; one that was stored is the window's for good."""
    with running(tmp_path, **EVENT) as one:
        for step in range(2):
            one.decide(step)
        (before,) = one.ledger.reports.status().queries.values()
    full = [SURELY, 0, 0, 0]
    killed = dies(at, 2 * MINUTE_MS)
    with running(tmp_path, killed, **EVENT) as one, pytest.raises(KeyboardInterrupt):
        one.decide(2, full)
    with running(tmp_path, **EVENT) as one:
        again = one.due()
        assert len(again) == (at is Step.AFTER_DRAW)
        later = [one.decide(step, full) for step in range(3, STEPS)]
        found = [room for each in (*again, *later) for room in rang(one, each)]
        assert found == (["a"] if again else [])
        assert before.decided == 2
        assert one.spent() == to_loss_units(one.runtime.judge.plans["crowd"].epsilon)


def test_a_state_of_another_step_is_refused(tmp_path: Path) -> None:
    """A step goes on with the one before it, and with no other."""
    with running(tmp_path, **EVENT) as one:
        early = one.runtime.judge._operators["crowd"]
        assert isinstance(early, EarlyAlarms)
        one.decide(0)
        stored = one.ledger.run("crowd", (), one.query.fingerprint)
        assert [early.continues(stored, step) for step in range(4)] == [True, True, False, False]
        assert not early.continues(None, 1)
        assert early.continues(stored, STEPS)
