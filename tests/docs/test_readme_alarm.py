"""The README's alarm, and the office's, ring where people pass one room on their way to another."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import choosing
from stream.config.loading import load
from stream.planning.budget import budget_plan
from stream.simulation.history import count_history
from tests.support.examples import copied
from tests.support.files import write_rows
from tests.support.tree import blocks, text_of

PEOPLE = 200


def readme(folder, *, groups=2):
    """Load the README's configuration over one recorded day.

    Args:
        folder: where it is written.
        groups: ``max_groups_per_window``, 2 in the README.
    """
    (text,) = blocks(text_of("README.md"), "yaml")
    fields, cap = "    fields:", "max_groups_per_window: "
    assert text.count(fields) == text.count(f"{cap}2") == 1
    text = text.replace(fields, f"    history: {{from: 2025-03-03, until: 2025-03-04}}\n{fields}")
    (folder / "alarms.yaml").write_text(text.replace(f"{cap}2", f"{cap}{groups}"))
    (folder / "rooms.txt").write_text("lobby\nhall\n")
    return load(folder / "alarms.yaml", environ={})


def through(folder, first, then):
    """Write the readings of people who pass one room at nine and are in another before ten."""
    readings = [
        {"person": f"p{person}", "room": room, "ts": f"2025-03-03T09:{minute:02}:00Z"}
        for room, minute in ((first, 2), (then, 20))
        for person in range(PEOPLE)
    ]
    return write_rows(folder / "events.jsonl", readings)


def counted(alarms, events, room):
    """Return what a room counts to, window by window."""
    found = count_history(alarms, {"badges": [events]})["fire-code"]
    at = alarms.by_name["fire-code"].domain.values[0].index(room)
    return np.array([found.dense(window)[0, at] for window in range(found.windows)])


def test_the_readme_alarm_rings_for_its_own_fire(tmp_path):
    """Lobby, then hall: the hall counts everybody, rings for sure, and the day's budget holds."""
    alarms = readme(tmp_path)
    hall = counted(alarms, through(tmp_path, "lobby", "hall"), "hall")
    assert (len(hall), hall.sum(), hall.max()) == (15, PEOPLE, PEOPLE)
    (query,) = alarms.by_name.values()
    (tolerance,) = query.aim.tolerances
    assert choosing.ring_law([PEOPLE - 120], tolerance)[0] > 0.99
    (scope,) = budget_plan(alarms).scopes
    assert scope.fits
    assert scope.alarms[0].windows_fit == 15


def test_with_one_room_an_hour_the_hall_stays_empty(tmp_path):
    """The twin: capped at one room, everybody is in the lobby, and nobody in the hall."""
    alarms = readme(tmp_path, groups=1)
    events = through(tmp_path, "lobby", "hall")
    most = [counted(alarms, events, room).max() for room in ("lobby", "hall")]
    assert most == [PEOPLE, 0]


@pytest.mark.parametrize("room", ["auditorium", "canteen"])
def test_the_office_rings_for_people_who_pass_the_atrium(tmp_path, room):
    """Its example counts who passes the atrium first."""
    alarms = load(copied("office", tmp_path), environ={})
    hall = counted(alarms, through(tmp_path, "atrium", room), room)
    assert hall.max() == PEOPLE
    assert budget_plan(alarms).scopes[0].fits
