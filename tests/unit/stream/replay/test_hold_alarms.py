"""Alarms with a hold, decided by the real decider on a real ledger: who is asked, and who pays."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from accountant.costs.charges import UniformCost, WindowKey
from stream.decisions.held import held_cells, held_from_ms
from stream.decisions.release import alarm_records
from stream.decisions.steps import Step
from tests.support.archived import move_all
from tests.unit.stream.replay.test_early_alarms import rooms
from tests.unit.stream.replay.test_run_alarms import MINUTE_MS, dies, running

FULL = [10**9, 0, 0, 0]  # ppwlm, which begins with next to no privacy loss, sees it, too
TSLM = {"mechanism": "tslm"}
EARLY = {"unit": "event", "window": "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)"}
HOP = {"unit": "event", "window": "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '4' MINUTE)"}
GAUSSIAN = {"period": ', period: lifetime, privacy: gdp, delta: "1e-6"'}


def holding(folder, minutes, step=None, **settings):
    """Open what decides an alarm that holds for so many minutes."""
    return running(folder, step, lines=[f"hold: {minutes}m"], **settings)


def paid(one, key):
    """Return what the full room, and the cheapest other one, was charged for a window."""
    (scope,) = one.ledger.reports.status().scopes
    found = one.ledger.reports.final_charges(scope, key.start_ms, key.end_ms)
    (cost,) = (charge.cost for charge in found if charge.key == key)
    if isinstance(cost, UniformCost):
        return cost.units, cost.units
    first, *others = cost.as_array().tolist()
    return first, min(others)


@pytest.mark.parametrize(
    ("hold", "alarms"), [([], 12), (["hold: 2m"], 4), (["hold: 5m"], 2), (["hold: 11m"], 1)]
)
def test_an_episode_of_a_run_takes_one_alarm_a_hold(tmp_path, hold, alarms):
    """Twelve full windows: so many alarms, and a person who was in all of them pays for these."""
    with running(tmp_path, lines=[*hold, "mechanism: {svt: {max_alarms: 12}}"]) as one:
        assert rooms(one, [one.decide(n, FULL) for n in range(12)]).count("a") == alarms
        terms = one.svt.terms
        assert one.spent() == terms.open_units + alarms * terms.alarm_units


@pytest.mark.parametrize(
    ("minutes", "settings", "expected"),
    [
        (2, TSLM, "a..a..a"),
        (2, {"mechanism": "ppwlm"}, "a..a..a"),
        (2, {"mechanism": "dppwlm", **GAUSSIAN}, "a..a..a"),
        (2, {**TSLM, **GAUSSIAN}, "a..a..a"),
        (3, {**TSLM, **HOP}, "a...a...a"),
        (4, HOP, "a....a..."),
        (3, {**TSLM, **EARLY}, "a.....a....."),
        (6, EARLY, "a........a.."),
    ],
)
def test_who_is_held_costs_nothing(tmp_path, minutes, settings, expected):
    """A room that stays full is asked once a hold; early alarms hold whole windows of three steps.

    The other rooms are asked, and pay, in every window.
    """
    with holding(tmp_path, minutes, **settings) as one:
        decisions = [one.decide(window, FULL) for window in range(len(expected))]
        assert rooms(one, decisions) == expected
        steps = one.query.aim.looks
        firing = {at // steps for at, room in enumerate(expected) if room == "a"}
        for at, each in enumerate(decisions):
            full, others = paid(one, each.key)
            assert (full > 0) is (at // steps in firing)
            assert others > 0
        assert one.spent() > 0


@pytest.mark.parametrize("at", [Step.AFTER_RESERVE, Step.AFTER_DRAW, Step.AFTER_COMMIT])
@pytest.mark.parametrize("killed", range(4))
@pytest.mark.parametrize("mechanism", ["tslm", "svt"])
def test_a_hold_survives_a_kill(tmp_path, mechanism, killed, at):
    """Whoever goes on holds whom the dead one held: in the window that fired, in held ones, after.

    What was drawn and not stored was never seen; a room that is full fires again.
    """
    dying = dies(at, killed * MINUTE_MS)
    with holding(tmp_path, 2, dying, mechanism=mechanism) as one:
        for window in range(killed):
            one.decide(window, FULL)
        with pytest.raises(KeyboardInterrupt):
            one.decide(killed, FULL)
    with holding(tmp_path, 2, mechanism=mechanism) as one:
        one.due()
        for window in range(killed + 1, 7):
            one.decide(window, FULL)
        stored = one.ledger.progress.decided("crowd", 0, 6 * MINUTE_MS)
        assert rooms(one, stored) == "a..a..a"
        assert one.spent() > 0


def test_a_denied_window_in_between_changes_nothing(tmp_path):
    """Held windows go by the ends of windows, whatever becomes of one."""
    with holding(tmp_path, 2, **TSLM) as one:
        decisions = [one.decide(0, FULL)]
        one.count(1, complete=False)
        decisions += one.due()
        decisions += [one.decide(window, FULL) for window in (2, 3)]
        assert [each.reason for each in decisions] == [None, "incomplete", None, None]
        assert rooms(one, decisions) == "a..a"


@pytest.mark.parametrize(("settings", "until"), [(TSLM, 4), (EARLY, 6)])
def test_an_alarm_says_until_when_it_holds(tmp_path, settings, until):
    """Its hold after the end of its window; of an early alarm, of its whole window."""
    with holding(tmp_path, 3, **settings) as one:
        (alarm,) = alarm_records(one.query, one.decide(0, FULL))
        assert alarm.held_until == f"1970-01-01T00:0{until}:00.000Z"


def held(one, window, **changes):
    """Say whether a window holds the full room; no other one is held."""
    start_ms, end_ms = one.query.calendar.bounds(window)
    key = WindowKey(end_ms, "crowd", start_ms)
    full, *others = held_cells(replace(one.query, **changes), key, one.ledger.progress)
    assert not any(others)
    return full


def test_what_is_archived_is_held_for_by_nobody(tmp_path):
    """Archiving stops before what a hold reads. Twin: past it, the room is asked in its hold."""
    with holding(tmp_path, 3, **TSLM) as one:
        for window in range(5):
            one.ledger.mark_published(one.decide(window, FULL).key)
        before_ms = held_from_ms(one.alarms.running, one.ledger.progress)
        assert before_ms == (5 - 3 - 1) * MINUTE_MS
        assert move_all(one.ledger, before_ms, "early") > 0
        kept = one.ledger.progress.decided("crowd", 0, sys.maxsize)
        assert [each.key.end_ms for each in kept] == [n * MINUTE_MS for n in (2, 3, 4, 5)]
        assert held(one, 5)
        assert move_all(one.ledger, sys.maxsize, "late") > 0
        assert not held(one, 5)
        assert held_from_ms({}, one.ledger.progress) == sys.maxsize


def test_another_configuration_begins_without_holds(tmp_path):
    """Alarms of a configuration that was in force before hold nobody."""
    with holding(tmp_path, 3, **TSLM) as one:
        one.decide(0, FULL)
        assert held(one, 1)
        assert not held(one, 1, fingerprint="of another")
        assert not held(one, 4)
