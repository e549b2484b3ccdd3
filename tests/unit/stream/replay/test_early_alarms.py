"""Early alarms, decided by the real decider on a real ledger: when they fire, and what goes on."""

from __future__ import annotations

import pytest

from accountant.units import to_loss_units
from operators.single.looks import EarlyAlarms
from stream.decisions.records import alarm_id
from stream.decisions.release import alarm_records, decision_record
from stream.decisions.steps import Step
from tests.support.ledgers import must_verify
from tests.unit.stream.replay.test_run_alarms import MINUTE_MS, dies, running

STEPS = 6
FULL = [100_000, 0, 0, 0]
EVENT = {
    "unit": "event",
    "window": "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '6' MINUTE)",
}


def rooms(one, decisions):
    """Return which rooms fire, decision by decision; a dot for none."""
    fired = [
        [alarm.group["room"] for alarm in alarm_records(one.query, each)] for each in decisions
    ]
    return "".join("".join(each) or "." for each in fired)


def price(one):
    """Return what a whole window costs."""
    return to_loss_units(one.runtime.judge.plans["crowd"].epsilon)


@pytest.mark.parametrize("mechanism", ["svt", "tslm"])
def test_a_room_fires_once_a_window_at_the_first_step_that_holds(tmp_path, mechanism):
    """Two windows; what stays full fires once in each, and says at which step."""
    with running(tmp_path, mechanism=mechanism, **EVENT) as one:
        counts = [[], FULL, *[[100_000, 0, 100_000, 0]] * 4] * 2
        decisions = [one.decide(step, values) for step, values in enumerate(counts)]
        assert rooms(one, decisions) == ".ac..." * 2
        (alarm,) = alarm_records(one.query, decisions[STEPS + 1])
        times = (alarm.window_start, alarm.step_start, alarm.step_end, alarm.window_end)
        assert [time[14:16] for time in times] == ["06", "07", "08", "12"]
        assert alarm.alarm_id == alarm_id(decisions[STEPS + 1].key, {"room": "a"})
        assert one.spent() == price(one)


def test_a_step_that_is_denied_silences_the_rest_of_its_window(tmp_path):
    """Its events were never paid for, so no later step of the window counts them."""
    with running(tmp_path, **EVENT) as one:
        decisions = [one.decide(0), one.decide(1)]
        one.count(2, complete=False)  # the log holds no beginning of it
        decisions += one.due()
        decisions += [one.decide(step, FULL) for step in range(3, STEPS + 2)]
        reasons = [None, None, "incomplete", *["step_missed"] * 3, None, None]
        assert [each.reason for each in decisions] == reasons
        assert rooms(one, decisions[STEPS:]) == "a."
        assert decision_record(one.query, one.alarms, decisions[3]).epsilon_units == 0
        must_verify(one.ledger)


@pytest.mark.parametrize(("at", "fires"), [(Step.AFTER_DRAW, "a..."), (Step.AFTER_COMMIT, "...")])
def test_a_killed_step_goes_on_under_the_same_threshold(tmp_path, at, fires):
    """A draw that was not stored is drawn again; one that was stored is the window's for good."""
    with running(tmp_path, dies(at, 2 * MINUTE_MS), **EVENT) as one:
        one.decide(0)
        one.decide(1)
        with pytest.raises(KeyboardInterrupt):
            one.decide(2, FULL)
    with running(tmp_path, **EVENT) as one:
        decisions = [*one.due(), *(one.decide(step, FULL) for step in range(3, STEPS))]
        assert rooms(one, decisions) == fires
        assert one.spent() == price(one)


def test_a_state_of_another_step_is_refused(tmp_path):
    """A step goes on with the one before it, and with no other."""
    with running(tmp_path, **EVENT) as one:
        early = one.runtime.judge._operators["crowd"]
        assert isinstance(early, EarlyAlarms)
        one.decide(0)
        stored = one.ledger.run("crowd", (), one.query.fingerprint)
        assert [early.continues(stored, step) for step in range(4)] == [True, True, False, False]
        assert not early.continues(None, 1)
        assert early.continues(stored, STEPS)
