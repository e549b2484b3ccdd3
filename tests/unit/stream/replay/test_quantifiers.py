"""Quantifiers over groups through the whole pipeline: configuration, files, ledger, what leaves."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.units import from_loss_units
from operators.conditions.score import score_of
from operators.noise.source import NoiseSource
from stream.build import open_ledger
from stream.config.loading import examine, load
from stream.decisions.mechanisms import plans_of
from stream.simulation.history import count_history
from stream.simulation.plays import Played
from tests.support.commands import HOUR_MS, json_lines, tocsin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.model.alarm import Alarm

    Event = tuple[str, str, str, int]  # person, building, room, ts

FIELDS = ("person", "building", "room", "ts")
BUILDINGS, ROOMS = ("east", "west"), ("r1", "r2", "r3")
WINDOW = "TUMBLE(ts, INTERVAL '1' HOUR)"
CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    id: event
    fields:
      person: string
      event: string
      room: {{domain: [{rooms}]}}
      building: {{domain: [{buildings}]}}
      ts: timestamp
    history: {{from: 1970-01-01, until: 1970-01-02}}
budget: {budget}
alarms:
  crowd:
    sql: |
      SELECT {outer} FROM (
        SELECT building, room FROM badges GROUP BY building, room, {window} HAVING {having})
      {group} HAVING COUNT(*) {number}
    max_fnr: {max_fnr}
    tolerance: {tolerance}
{lines}"""
USER = "{{privacy_unit: user, epsilon_max: '{}', period: lifetime, contribution: {{{}}}}}"
EVENT = "{privacy_unit: event, epsilon_max: '4'}"


def configured(folder: Path, *, outer: str = "building", lines: str = "", **changes: Any) -> str:
    """Write a configuration that counts the rooms of every building, or of all; its path."""
    asked = {
        "budget": EVENT,
        "number": ">= 2",
        "having": "COUNT(DISTINCT person) > 30",
        "window": WINDOW,
        "tolerance": "5",
        "rooms": ", ".join(ROOMS),
        **changes,
    }
    text = CONFIG.format(
        buildings=", ".join(BUILDINGS),
        outer=outer,
        group="" if outer == "1" else f"GROUP BY {outer}",
        # A walk gives up early, however many there are, as often as it may.
        max_fnr="1e-9" if "dppwlm" in lines else "0.05",
        lines=lines,
        **asked,
    )
    path = folder / "alarms.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def user(groups: int = 1, *, epsilon_max: int = 100) -> str:
    """Return a budget of people with a cap on groups."""
    return USER.format(epsilon_max, f"max_groups_per_window: {groups}, max_events_per_group: 2")


def query_of(path: str) -> Alarm:
    """Return its alarm."""
    return load(Path(path), environ={}).by_name["crowd"]


def written(folder: Path, events: Sequence[Event], name: str = "badges.jsonl") -> str:
    """Write events; the same person, place and time are one event, written twice."""
    lines = [
        json.dumps({**dict(zip(FIELDS, event, strict=True)), "event": "".join(map(str, event))})
        for event in sorted(events, key=itemgetter(3))
    ]
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def crowded(*places: tuple[str, str], people: int = 150, hour: int = 5) -> list[Event]:
    """Return so many people who each badge in all of some places within one hour."""
    return [
        (f"p{person}", *place, hour * HOUR_MS + person * 100 + at)
        for person in range(people)
        for at, place in enumerate(places)
    ]


TSLM = "    mechanism: {tslm: {max_fpr: 1e-6}}\n"
DPPWLM = "    mechanism: {dppwlm: {max_fpr: 1e-6}}\n"
SVT = "    mechanism: {svt: {max_fpr: 1e-6, max_alarms: 2}}\n"
FPR = "    mechanism: {tslm: {max_fpr: 1e-6, bounded_error: fpr}}\n"
FULL = crowded(("east", "r1"), ("east", "r3"), ("west", "r2"))


def fired(path: str, events: str) -> set[tuple[int, str]]:
    """Replay, and return hours and buildings of alarms."""
    found = json_lines(tocsin("run", path, "--replay", events, "--json"))
    alarms = [line for line in found if "group" in line]
    return {(int(x["window_start"][11:13]), ",".join(x["group"].values())) for x in alarms}


@pytest.mark.parametrize(
    ("budget", "asked", "lines", "expected"),
    [
        (EVENT, ("building", ">= 2"), TSLM, {"east"}),
        (EVENT, ("building", ">= 1"), DPPWLM, {"east", "west"}),
        (EVENT, ("building", "= EVERY"), TSLM, set()),
        (EVENT, ("1", ">= 3"), TSLM, {""}),
        (user(2), ("building", ">= 2"), TSLM, {"east"}),
        (user(), ("1", ">= 3"), TSLM, {""}),
        (user(), ("1", "> 3"), TSLM, set()),
        (user(), ("1", ">= 3"), SVT, {""}),
        (user(), ("1", ">= 3"), FPR, {""}),
    ],
)
def test_an_answer_is_decided_charged_and_published_as_one_cell(
    tmp_path: Path, budget: str, asked: tuple[str, str], lines: str, expected: set[str]
) -> None:
    """Of 24 hours, the fifth fires where enough rooms are full, and all are paid as one cell."""
    outer, number = asked
    path = configured(tmp_path, budget=budget, outer=outer, number=number, lines=lines)
    rang = fired(path, written(tmp_path, FULL))
    assert rang == {(5, building) for building in expected}
    alarms = load(Path(path), environ={})
    (price,), (query,) = plans_of(alarms).values(), alarms.by_name.values()
    assert price.ratio == pytest.approx(1) or lines in {SVT, DPPWLM}
    with open_ledger(alarms) as ledger:
        assert ledger.reports.verify() == []
        (scope,) = ledger.reports.status().scopes.values()
    spent = from_loss_units(scope.spent_units)
    if lines == TSLM:
        assert spent == price.epsilon * {EVENT: 1, user(): 24, user(2): 48}[budget]
    assert len(query.counted) == len(query.domain) * query.condition.members == 6


@pytest.mark.parametrize("cap", [1, 2])
@pytest.mark.parametrize("unit", ["user", "event"])
def test_one_person_in_every_group_moves_one_step(tmp_path: Path, unit: str, cap: int) -> None:
    """What is counted is a plain recount, and no neighbour moves more answers than are charged.

    A person of the log is in up to all rooms, with duplicates; the file without them is read anew.
    """
    rng = random.Random(f"{unit} {cap}")
    people = [f"p{at}" for at in range(5)]
    places = list(product(BUILDINGS, ROOMS))
    events: list[Event] = [
        (person, *place, hour * HOUR_MS + rng.randrange(HOUR_MS))
        for person in people
        for hour in range(2)
        for place in rng.sample(places, rng.choice((3, 6)))
        for _ in range(2)
    ]
    events += rng.sample(events, 8)
    budget = user(cap) if unit == "user" else EVENT
    path = configured(tmp_path, budget=budget, having="COUNT(*) > 2", tolerance="0")
    query = query_of(path)
    score = score_of(query.condition, query.aim.tolerances)

    def counted(log: Sequence[Event], name: str) -> np.ndarray:
        lines = json_lines(
            tocsin("inspect", path, "--replay", written(tmp_path, log, name), "--json")
        )
        cells = np.zeros((24, len(query.counted)), np.int64)
        for line in lines:
            if line.get("alarm") and "group" in line:
                at = [query.counted.group(c) for c in range(6)].index(line["group"])
                cells[int(line["window_start"][11:13]), at] = line["statistics"][0]
        return cells

    whole = counted(events, "whole.jsonl")
    expected = recounted(events, None if unit == "event" else cap)
    assert (whole == expected).all()
    truth = np.array([query.condition.truth(row[None]) for row in whole])
    rooms = (whole > 2).reshape(24, len(BUILDINGS), len(ROOMS)).sum(axis=2)
    assert (truth == (rooms >= 2)).all()
    most = 1 if unit == "event" else cap
    gone = people if unit == "user" else events[::7]
    for one in gone:
        rest = [event for event in events if one not in (event, event[0])]
        moved = score.read(counted(rest, "rest.jsonl")[:, None]) - score.read(whole[:, None])
        assert np.abs(moved).max() <= 1
        assert (moved != 0).sum(axis=1).max() <= most


def recounted(events: Sequence[Event], cap: int | None) -> np.ndarray:
    """Count again: two events a room, in the first so many buildings of an hour."""
    cells = np.zeros((24, 6), np.int64)
    reached: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    often: defaultdict[tuple[str, int, int], int] = defaultdict(int)
    for person, building, room, ts in sorted(set(events), key=itemgetter(3)):
        hour, at = ts // HOUR_MS, BUILDINGS.index(building) * 3 + ROOMS.index(room)
        if cap is not None:
            mine = reached[person, hour]
            if building not in mine and len(mine) == cap:
                continue
            mine.add(building)
            often[person, hour, at] += 1
            if often[person, hour, at] > 2:
                continue
        cells[hour, at] += 1
    return cells


@pytest.mark.parametrize("mechanism", ["svt", "tslm"])
def test_early_alarms_of_groups_ring_once(tmp_path: Path, mechanism: str) -> None:
    """Two rooms fill in the first quarter of the fifth hour; the building rings in that hour."""
    window = "CUMULATE(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)"
    lines = f"    mechanism: {{{mechanism}: {{max_fpr: 1e-6}}}}\n"
    path = configured(tmp_path, window=window, lines=lines, budget=EVENT.replace("'4'", "'40'"))
    assert fired(path, written(tmp_path, FULL)) == {(5, "east")}


def test_a_simulated_run_has_one_answer_a_window(tmp_path: Path) -> None:
    """Also of the windows that a spent run leaves unasked, at fewer alarms than buildings."""
    lines = SVT.replace("max_alarms: 2", "max_alarms: 1")
    path = configured(tmp_path, lines=lines, budget=user(6, epsilon_max=4))
    places = [(building, room) for building in BUILDINGS for room in ROOMS]
    alarms = load(Path(path), environ={})
    events = Path(written(tmp_path, crowded(*places)))
    counted = count_history(alarms, {"badges": [events]})
    tally = Played(alarms, counted, {}).replay(NoiseSource())["crowd"]
    cells = tally.cells
    assert cells.true + cells.false + cells.uncertain == tally.windows * len(BUILDINGS)
    assert (cells.true, cells.missed) == (2, 1)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    *(
        ({"lines": f"    mechanism: {name}\n"}, f"mechanism {name} cannot count groups", "tslm")
        for name in ("panes", "probe", "probe-ent")
    ),
    (
        {"lines": "    baseline: 8\n"},
        "an alarm that counts groups has no baseline",
        "remove it",
    ),
    (  # a band lies around one group, not around how many there are
        {"lines": "    mechanism: {decider: {epsilon: '1', reference: 5}}\n"},
        "needs a band around REFERENCE",
        "",
    ),
]


@pytest.mark.parametrize(("changes", "message", "hint"), REFUSED)
def test_what_cannot_count_groups_is_refused_where_it_stands(
    tmp_path: Path, changes: dict[str, Any], message: str, hint: str
) -> None:
    """By name of the mechanism, or by what the alarm says of one group."""
    path = Path(configured(tmp_path, **changes))
    if "decider" in changes["lines"]:
        path.write_text(path.read_text().replace("    tolerance: 5\n", ""))
    with pytest.raises(ConfigError) as caught:
        load(path, environ={})
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.line


def test_a_fingerprint_says_which_groups_and_how_many(tmp_path: Path) -> None:
    """Another number of groups, other groups, or other outer fields: another alarm."""
    changes: list[dict[str, Any]] = [
        {},
        {"number": ">= 1"},
        {"outer": "room"},
        {"outer": "1", "number": ">= 2"},
        {"rooms": "r1, r2, r4"},
    ]
    found = [query_of(configured(tmp_path, **change)).fingerprint for change in changes]
    assert len(set(found)) == len(changes)
    same = configured(tmp_path, number="> 1")
    assert query_of(same).fingerprint == found[0]


def test_what_is_said_of_it(tmp_path: Path) -> None:
    """The contribution rule, the plan's price, tests of it, and a simulation."""
    path = configured(
        tmp_path, budget=user(), outer="1", number=">= 3", lines="    timing: {grace: 0s}\n"
    )
    notes = [note.message for note in examine(Path(path), environ={}).notes]
    assert any("a person counts in every building and room of the hour" in one for one in notes)
    (budget,) = json_lines(tocsin("plan", path, "--json"))
    (alarm,) = budget["alarms"]
    assert f"{alarm['loss']:.3f}" == f"{alarm['lower_bound']:.3f}" == "0.415"
    cases = tmp_path / "cases.yaml"
    full = "{'east, r1': 60, 'west, r2': 60, 'west, r3': 60}"
    cases.write_text(
        "alarms: alarms.yaml\ntests:\n"
        f"- {{name: full, alarm: crowd, counts: {full}, fires: '> 0.9'}}\n"
        "- {name: two, alarm: crowd, counts: {'east, r1': 60, 'west, r2': 60}, fires: '< 0.1'}\n"
    )
    tocsin("test", cases, code=0)
    events = written(tmp_path, FULL)
    tried = tocsin(
        "simulate", path, "--replay", events, "--runs", "3", "--mechanisms", "probe", code=0
    )
    assert "not simulated: probe at tolerance" in tried.stdout
    assert "1 groups each" in " ".join(tried.stdout.split())
