"""What a board knows of every alarm: silence is not a denial, and nothing grows without end."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stream.kafka.board.standing import Standing
from stream.kafka.board.view import words
from stream.model.boards import Board
from stream.model.lifecycles import Lifecycle
from tests.support.boards import Scene, setup_of, window_of
from tests.support.published import HOUR_MS, alarm_of, decision_of

LAB = (("room", "lab"),)


@pytest.fixture
def scene():
    """A board that was told of the first hour, in which the lab was full."""
    found = Scene()
    found.hour(0, ["lab"])
    return found


def take(scene, decision, **changes):
    """Tell of a decision with changes, and return what is known of it."""
    scene.standings.take(window_of(replace(decision, **changes)))
    (crowd,) = scene.standings.all()
    return crowd.seen[-1]


def test_a_denied_window_fires_nothing_whatever_stands_beside_it():
    """Records of alarms that claim a denied window are not believed."""
    scene = Scene()
    scene.hour(0, ["lab"], denied=True)
    (crowd,) = scene.standings.all()
    assert (crowd.seen[0].alarms, crowd.seen[0].fired, crowd.firing) == (0, set(), ())


def test_copies_and_panes_change_nothing(scene):
    """A page that was shown stays as it is."""
    before, changes = scene.standings.all(), scene.standings.changes
    scene.hour(0, ["lab"])
    scene.hour(0, denied=True, alarm="panes-0123abcd")
    assert (scene.standings.all(), scene.standings.changes) == (before, changes)


def test_windows_that_are_lost_are_counted(scene):
    """A gap in the sequence is a gap; another ledger's numbers say nothing."""
    assert take(scene, decision_of(3)).lost == 2
    assert take(scene, decision_of(4), ledger="other", sequence=90).lost == 0


def test_who_fired_in_a_step_is_held_until_the_window_is_over():
    """An early alarm fires once; the steps after it are no silence of it."""
    scene = Scene()
    for number, rooms in enumerate((["lab"], [], [], [])):
        scene.step(number, rooms)
    (crowd,) = scene.standings.all()
    assert [each.earlier for each in crowd.seen] == [set(), {LAB}, {LAB}, set()]


def test_nothing_is_known_of_who_was_held_or_fired_without_a_name(scene):
    """Neither is an answer: the one was not asked, the other may have fired."""
    held = replace(alarm_of(1, {"room": "lab"}), held_until=decision_of(2).window_end)
    scene.standings.take(window_of(decision_of(1, alarms=[held]), [held]))
    assert [take(scene, decision_of(hour)).kind(LAB) for hour in (2, 3)] == ["unsure", "not-fired"]
    (crowd,) = scene.standings.all()
    assert list(map(words, crowd.seen[2:])) == ["not all were asked", "did not fire"]
    assert [each.kind_of_any for each in crowd.seen[2:]] == ["unsure", "not-fired"]
    scene.hour(4, [f"a{room}" for room in range(300)])
    (crowd,) = scene.standings.all()
    assert crowd.seen[-1].kind(LAB) == "unsure"


def test_a_window_that_overlaps_one_that_fired_did_not_fire(scene):
    """It was evaluated anew."""
    overlapping = take(scene, decision_of(1), window_start=decision_of(0).window_start)
    assert not overlapping.earlier


def test_what_fires_follows_the_lifecycle():
    """With ``for: 2`` once is not enough; what is configured is there before it is heard."""
    scene = Scene(setup_of({"crowd": Lifecycle(2, 2), "mute": Lifecycle()}))
    firings = []
    for number, rooms in enumerate([["lab"], ["lab", "hall"], ["hall"], []]):
        scene.hour(number, rooms)
        crowd, mute = scene.standings.all()
        firings.append([notice.group["room"] for notice in crowd.firing])
        assert mute == Standing("mute")
    assert firings == [[], ["lab"], ["hall"], []]


def test_what_fires_goes_on_whatever_else_is_heard_of():
    """Also of more alarms than are shown, each of which makes room for the next."""
    names = [f"alarm-{number:03}" for number in range(100)]
    scene = Scene(setup_of(dict.fromkeys(names, Lifecycle(2, 2))))
    for hour in range(2):
        for name in names:
            scene.hour(hour, ["lab"], alarm=name)
    assert all(each.firings == 1 for each in scene.standings.all())


def test_a_pause_in_the_schedule_is_not_overdue(scene):
    """The next decision is waited for from the next window on, and a while longer."""
    for number, then, due_h in ((1, 2, 3.5), (2, 15, 16.5)):
        take(scene, decision_of(number), next_start=decision_of(then).window_start)
        (crowd,) = scene.standings.all()
        assert crowd.due_ms == due_h * HOUR_MS


def test_an_alarm_that_was_removed_is_not_overdue_for_ever(scene):
    """It is forgotten where a board that starts now would not find it; one with a pause is kept."""
    weekly = replace(decision_of(0, alarm="weekly"), next_start=decision_of(168).window_start)
    scene.standings.take(window_of(weekly))
    for now, kept in ((24, ["crowd", "weekly"]), (26, ["weekly"]), (168, ["weekly"]), (172, [])):
        scene.standings.forget(now * HOUR_MS, lookback_ms=24 * HOUR_MS)
        assert [each.alarm for each in scene.standings.all()] == kept, now


def test_nothing_grows_without_end():
    """Windows, groups of one window and alarms are kept up to a bound; more is known to be."""
    scene = Scene(setup_of(board=Board(windows=3)))
    for number in range(5):
        scene.hour(number, [str(room) for room in range(600)])
    (crowd,) = scene.standings.all()
    assert (len(crowd.seen), crowd.firings, crowd.seen[-1].alarms) == (3, 600, 600)
    assert len(crowd.firing) == len(crowd.seen[-1].fired) == 256
    assert not scene.standings.forgotten
    for number in range(200):
        scene.hour(0, alarm=f"alarm-{number:03}")
    kept = [each.alarm for each in scene.standings.all()]
    # Those heard of last, those due first, and what fires.
    assert kept == [f"alarm-{at:03}" for at in (*range(64), *range(136, 200))] + ["crowd"]
    assert scene.standings.forgotten
