"""Alarms with a hold, decided by the real decider on a real ledger: who is asked, and who pays."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from accountant.costs.charges import UniformCost, WindowKey
from accountant.costs.levels import LevelCosts
from stream.decisions.held import held_cells, held_from_ms
from stream.decisions.release import alarm_records
from stream.decisions.steps import Step
from tests.support.archived import move_all
from tests.unit.stream.replay.test_run_alarms import MINUTE_MS, Harness, dies, running

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.records import StoredDecision

FULL = [10**9, 0, 0, 0]  # ppwlm, which begins with next to no privacy loss, sees it, too
EARLY: dict[str, Any] = {
    "unit": "event",
    "window": "CUMULATE(ts, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)",
}
GAUSSIAN = ', period: lifetime, privacy: gdp, delta: "1e-6"'
HOP: dict[str, Any] = {
    "unit": "event",
    "window": "HOP(ts, INTERVAL '1' MINUTE, INTERVAL '4' MINUTE)",
}


def hold(minutes: int, *more: str, **settings: Any) -> dict[str, Any]:
    """Return the settings of an alarm that holds for so many minutes; 0 for none."""
    return {"lines": [*([f"hold: {minutes}m"] if minutes else []), *more], **settings}


def rooms(one: Harness, decision: StoredDecision) -> str:
    """Return the rooms that fired."""
    return "".join(each.group["room"] for each in alarm_records(one.query, decision))


def paid(one: Harness, key: WindowKey) -> list[int]:
    """Return what every room of a window was charged, in loss units."""
    (scope,) = one.ledger.reports.status().scopes
    found = one.ledger.reports.final_charges(scope, key.start_ms, key.end_ms)
    (cost,) = (charge.cost for charge in found if charge.key == key)
    if isinstance(cost, UniformCost):
        return [cost.units] * 4
    assert isinstance(cost, LevelCosts)
    return cost.as_array().tolist()


@pytest.mark.parametrize(("minutes", "alarms"), [(0, 12), (2, 4), (5, 2), (11, 1)])
def test_an_episode_of_a_run_takes_one_alarm_a_hold(
    tmp_path: Path, minutes: int, alarms: int
) -> None:
    """Twelve full windows: so many alarms, and a person who was in all of them pays for these."""
    with running(tmp_path, **hold(minutes, "mechanism: {svt: {max_alarms: 12}}")) as one:
        decisions = [one.decide(window, FULL) for window in range(12)]
        assert sum(rooms(one, each) == "a" for each in decisions) == alarms
        terms = one.svt.terms
        assert one.spent() == terms.open_units + alarms * terms.alarm_units


@pytest.mark.parametrize(
    ("settings", "windows", "expected"),
    [
        (hold(2, mechanism="tslm"), 7, "a..a..a"),
        (hold(2, mechanism="ppwlm"), 7, "a..a..a"),
        (hold(2, mechanism="dppwlm", period=GAUSSIAN), 7, "a..a..a"),
        (hold(2, mechanism="tslm", period=GAUSSIAN), 7, "a..a..a"),
        (hold(3, mechanism="tslm", **HOP), 9, "a...a...a"),
        (hold(4, mechanism="svt", **HOP), 9, "a....a..."),
        (hold(3, mechanism="tslm", **EARLY), 12, "a.....a....."),
        (hold(6, mechanism="svt", **EARLY), 12, "a........a.."),
    ],
)
def test_who_is_held_costs_nothing(
    tmp_path: Path, settings: dict[str, Any], windows: int, expected: str
) -> None:
    """A room that stays full is asked once a hold; early alarms hold whole windows of three steps.

    The other rooms are asked, and pay, in every window.
    """
    with running(tmp_path, **settings) as one:
        decisions = [one.decide(window, FULL) for window in range(windows)]
        assert "".join(rooms(one, each) or "." for each in decisions) == expected
        steps = one.query.aim.looks
        firing = [at // steps for at, room in enumerate(expected) if room == "a"]
        for at, each in enumerate(decisions):
            first, *others = paid(one, each.key)
            asked = at // steps in firing
            assert (first > 0) is asked
            assert min(others) > 0
        assert one.spent() > 0


@pytest.mark.parametrize("at", [Step.AFTER_RESERVE, Step.AFTER_DRAW, Step.AFTER_COMMIT])
@pytest.mark.parametrize("killed", range(4))
@pytest.mark.parametrize("mechanism", ["tslm", "svt"])
def test_a_hold_survives_a_kill(tmp_path: Path, mechanism: str, killed: int, at: Step) -> None:
    """Whoever goes on holds whom the dead one held: in the window that fired, in held ones, after.

    What was drawn and not stored was never seen; a room that is full fires again.
    """
    settings = hold(2, mechanism=mechanism)
    killing = dies(at, killed * MINUTE_MS)
    with running(tmp_path, killing, **settings) as one:
        for window in range(killed):
            one.decide(window, FULL)
        with pytest.raises(KeyboardInterrupt):
            one.decide(killed, FULL)
    with running(tmp_path, **settings) as one:
        one.due()
        for window in range(killed + 1, 7):
            one.decide(window, FULL)
        stored = one.ledger.progress.decided("crowd", 0, 6 * MINUTE_MS)
        assert "".join(rooms(one, each) or "." for each in stored) == "a..a..a"
        assert one.spent() > 0


def test_a_denied_window_in_between_changes_nothing(tmp_path: Path) -> None:
    """Held windows go by the ends of windows, whatever becomes of one."""
    with running(tmp_path, **hold(2, mechanism="tslm")) as one:
        first = one.decide(0, FULL)
        one.count(1, complete=False)
        (denied,) = one.due()
        rest = [one.decide(window, FULL) for window in (2, 3)]
        assert denied.reason == "incomplete"
        assert [rooms(one, each) for each in (first, *rest)] == ["a", "", "a"]


@pytest.mark.parametrize(("settings", "until"), [({"mechanism": "tslm"}, 4), (EARLY, 6)])
def test_an_alarm_says_until_when_it_holds(
    tmp_path: Path, settings: dict[str, Any], until: int
) -> None:
    """Its hold after the end of its window; of an early alarm, of its whole window."""
    with running(tmp_path, **hold(3, **settings)) as one:
        (alarm,) = alarm_records(one.query, one.decide(0, FULL))
        assert alarm.held_until == f"1970-01-01T00:0{until}:00.000Z"


def held(one: Harness, window: int, **changes: Any) -> list[bool]:
    """Return which rooms a window holds."""
    start_ms, end_ms = one.query.calendar.bounds(window)
    key = WindowKey(end_ms=end_ms, query="crowd", start_ms=start_ms)
    found = held_cells(replace(one.query, **changes), key, one.ledger.progress)
    assert found is not None
    return list(found)


def test_what_is_archived_is_held_for_by_nobody(tmp_path: Path) -> None:
    """Archiving stops before what a hold reads. Twin: past it, the room is asked in its hold."""
    with running(tmp_path, **hold(3, mechanism="tslm")) as one:
        for window in range(5):
            one.ledger.mark_published(one.decide(window, FULL).key)
        before_ms = held_from_ms(one.alarms.running, one.ledger.progress)
        assert before_ms == (5 - 3 - 1) * MINUTE_MS
        assert move_all(one.ledger, before_ms, "early") > 0
        kept = one.ledger.progress.decided("crowd", 0, sys.maxsize)
        assert [each.key.end_ms for each in kept] == [n * MINUTE_MS for n in (2, 3, 4, 5)]
        assert held(one, 5) == [True, False, False, False]
        assert move_all(one.ledger, sys.maxsize, "late") > 0
        assert held(one, 5) == [False] * 4
        assert held_from_ms({}, one.ledger.progress) == sys.maxsize


def test_another_configuration_begins_without_holds(tmp_path: Path) -> None:
    """Alarms of a configuration that was in force before hold nobody."""
    with running(tmp_path, **hold(3, mechanism="tslm")) as one:
        one.decide(0, FULL)
        assert held(one, 1) == [True, False, False, False]
        assert held(one, 1, fingerprint="of another") == [False] * 4
        assert held(one, 4) == [False] * 4
