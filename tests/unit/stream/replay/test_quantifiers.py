"""Quantifiers over groups through the whole pipeline: configuration, files, ledger, what leaves."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import product
from operator import itemgetter

import numpy as np
import pytest

from accountant.units import from_loss_units
from operators.conditions.score import score_of
from operators.noise.source import NoiseSource
from stream.build import open_ledger
from stream.config.loading import examine, load
from stream.decisions.mechanisms import plans_of
from stream.simulation.history import count_history
from stream.simulation.plays import Played
from tests.support.commands import HOUR_MS, json_lines, tocsin
from tests.support.files import edit, write_rows
from tests.support.ledgers import must_verify, only_scope

FIELDS = ("person", "building", "room", "ts")
BUILDINGS, ROOMS = ("east", "west"), ("r1", "r2", "r3")
PLACES = list(product(BUILDINGS, ROOMS))
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
      building: {{domain: [east, west]}}
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
    {line}
"""
USER = (
    "{{privacy_unit: user, epsilon_max: '{}', period: lifetime,"
    " contribution: {{max_groups_per_window: {}, max_events_per_group: 2}}}}"
)
EVENT = "{privacy_unit: event, epsilon_max: '4'}"
TSLM = "mechanism: {tslm: {max_fpr: 1e-6}}"
DPPWLM = "mechanism: {dppwlm: {max_fpr: 1e-6}}"
SVT = "mechanism: {svt: {max_fpr: 1e-6, max_alarms: 2}}"
FPR = "mechanism: {tslm: {max_fpr: 1e-6, bounded_error: fpr}}"


def user(groups=1, epsilon_max=100):
    """Return a budget of people with a cap on groups."""
    return USER.format(epsilon_max, groups)


def configured(folder, line="", *, outer="building", **changes):
    """Write a configuration that counts the rooms of every building, or of all; its path."""
    asked = {
        "budget": EVENT,
        "number": ">= 2",
        "having": "COUNT(DISTINCT person) > 30",
        "window": "TUMBLE(ts, INTERVAL '1' HOUR)",
        "max_fnr": "0.05",
        "tolerance": "5",
        "rooms": ", ".join(ROOMS),
        "outer": outer,
        "group": "" if outer == "1" else f"GROUP BY {outer}",
        **changes,
    }
    path = folder / "alarms.yaml"
    path.write_text(CONFIG.format(line=line, **asked))
    return path


def query_of(path):
    """Return its alarm."""
    return load(path, environ={}).by_name["crowd"]


def written(folder, events, name="badges.jsonl"):
    """Write events; the same person, place and time are one event, written twice."""
    rows = [
        {**dict(zip(FIELDS, event, strict=True)), "event": "".join(map(str, event))}
        for event in sorted(events, key=itemgetter(3))
    ]
    return write_rows(folder / name, rows)


def crowded(*places):
    """Return 150 people who each badge in all of some places within the fifth hour."""
    return [
        (f"p{person}", *place, 5 * HOUR_MS + person * 100 + at)
        for person in range(150)
        for at, place in enumerate(places)
    ]


FULL = crowded(("east", "r1"), ("east", "r3"), ("west", "r2"))


def fired(folder, path):
    """Replay three full rooms, and return hours and buildings of alarms."""
    found = json_lines(tocsin("run", path, "--replay", written(folder, FULL), "--json"))
    alarms = [line for line in found if "group" in line]
    return {(int(x["window_start"][11:13]), ",".join(x["group"].values())) for x in alarms}


@pytest.mark.parametrize(
    ("budget", "asked", "line", "expected"),
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
    tmp_path, budget, asked, line, expected
):
    """Of 24 hours, the fifth fires where enough rooms are full, and all are paid as one cell."""
    # A walk gives up early, however many there are, as often as it may.
    fnr = "1e-9" if line == DPPWLM else "0.05"
    outer, number = asked
    path = configured(tmp_path, line, budget=budget, outer=outer, number=number, max_fnr=fnr)
    assert fired(tmp_path, path) == {(5, building) for building in expected}
    alarms = load(path, environ={})
    (price,), (query,) = plans_of(alarms).values(), alarms.by_name.values()
    assert price.ratio == pytest.approx(1) or line in {SVT, DPPWLM}
    with open_ledger(alarms) as ledger:
        must_verify(ledger)
        scope = only_scope(ledger)
    if line == TSLM:
        windows = {EVENT: 1, user(): 24, user(2): 48}[budget]
        assert from_loss_units(scope.spent_units) == price.epsilon * windows
    assert len(query.counted) == len(query.domain) * query.condition.members == 6


@pytest.mark.parametrize("cap", [1, 2, None])
def test_one_person_in_every_group_moves_one_step(tmp_path, cap):
    """What is counted is a plain recount, and no neighbour moves more answers than are charged.

    A person of the log is in up to all rooms, with duplicates; the file without them is read anew.
    Without a cap the budget is of events, and a neighbour lacks one of them.
    """
    rng = random.Random(f"{cap}")
    people = [f"p{at}" for at in range(5)]
    events = [
        (person, *place, hour * HOUR_MS + rng.randrange(HOUR_MS))
        for person in people
        for hour in range(2)
        for place in rng.sample(PLACES, rng.choice((3, 6)))
        for _ in range(2)
    ]
    events += rng.sample(events, 8)
    budget = user(cap) if cap else EVENT
    path = configured(tmp_path, budget=budget, having="COUNT(*) > 2", tolerance="0")
    query = query_of(path)
    score = score_of(query.condition, query.aim.tolerances)

    def counted(log):
        file = written(tmp_path, log, f"{len(log)}.jsonl")
        cells = np.zeros((24, len(PLACES)), np.int64)
        for line in json_lines(tocsin("inspect", path, "--replay", file, "--json")):
            if line.get("alarm") and "group" in line:
                at = PLACES.index((line["group"]["building"], line["group"]["room"]))
                cells[int(line["window_start"][11:13]), at] = line["statistics"][0]
        return cells

    whole = counted(events)
    assert (whole == recounted(events, cap)).all()
    truth = np.array([query.condition.truth(row[None]) for row in whole])
    rooms = (whole > 2).reshape(24, len(BUILDINGS), len(ROOMS)).sum(axis=2)
    assert (truth == (rooms >= 2)).all()
    for one in people if cap else events[::7]:
        rest = [event for event in events if one not in (event, event[0])]
        moved = score.read(counted(rest)[:, None]) - score.read(whole[:, None])
        assert np.abs(moved).max() <= 1
        assert (moved != 0).sum(axis=1).max() <= (cap or 1)


def recounted(events, cap):
    """Count again: under a cap two events a room, in the first so many buildings of an hour."""
    cells = np.zeros((24, len(PLACES)), np.int64)
    reached, often = defaultdict(set), Counter()
    for person, *place, ts in sorted(set(events), key=itemgetter(3)):
        hour, at = ts // HOUR_MS, PLACES.index(tuple(place))
        mine = reached[person, hour]
        if cap and (place[0] in mine or len(mine) < cap):
            mine.add(place[0])
            often[person, hour, at] += 1
            cells[hour, at] += often[person, hour, at] <= 2
        cells[hour, at] += not cap
    return cells


@pytest.mark.parametrize("mechanism", ["svt", "tslm"])
def test_early_alarms_of_groups_fire_once(tmp_path, mechanism):
    """Two rooms fill in the first quarter of the fifth hour; the building fires in that hour."""
    window = "CUMULATE(ts, INTERVAL '15' MINUTE, INTERVAL '1' HOUR)"
    line = f"mechanism: {{{mechanism}: {{max_fpr: 1e-6}}}}"
    path = configured(tmp_path, line, window=window, budget=EVENT.replace("'4'", "'40'"))
    assert fired(tmp_path, path) == {(5, "east")}


def test_a_simulated_run_has_one_answer_a_window(tmp_path):
    """Also of the windows that a spent run leaves unasked, at fewer alarms than buildings."""
    line = SVT.replace("max_alarms: 2", "max_alarms: 1")
    alarms = load(configured(tmp_path, line, budget=user(6, epsilon_max=4)), environ={})
    counted = count_history(alarms, {"badges": [written(tmp_path, crowded(*PLACES))]})
    tally = Played(alarms, counted, {}).replay(NoiseSource())["crowd"]
    cells = tally.cells
    assert cells.true + cells.false + cells.uncertain == tally.windows * len(BUILDINGS)
    assert (cells.true, cells.missed) == (2, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mechanism: panes", "mechanism panes cannot count groups"),
        ("mechanism: probe", "mechanism probe cannot count groups"),
        ("baseline: 8", "which counts no groups"),
        (  # a band lies around one group, not around how many there are
            "mechanism: {decider: {epsilon: '1', reference: 5}}",
            "a band around REFERENCE and mechanism: decider need each other",
        ),
    ],
)
def test_what_cannot_count_groups_is_refused_where_it_stands(tmp_path, line, message):
    """By name of the mechanism, or by what the alarm says of one group."""
    path = configured(tmp_path, line)
    if "decider" in line:
        edit(path, "    tolerance: 5\n", "")
    (found,) = examine(path, environ={}).errors
    assert message in found.message
    assert found.line


def test_a_fingerprint_says_which_groups_and_how_many(tmp_path):
    """Another number of groups, other groups, or other outer fields: another alarm."""
    changes = [
        {},
        {"number": ">= 1"},
        {"outer": "room"},
        {"outer": "1", "number": ">= 2"},
        {"rooms": "r1, r2, r4"},
    ]
    found = [query_of(configured(tmp_path, **change)).fingerprint for change in changes]
    assert len(set(found)) == len(changes)
    assert query_of(configured(tmp_path, number="> 1")).fingerprint == found[0]


def test_what_is_said_of_it(tmp_path):
    """The contribution rule, the plan's price, tests of it, and a simulation."""
    path = configured(tmp_path, "timing: {grace: 0s}", budget=user(), outer="1", number=">= 3")
    notes = " ".join(note.message for note in examine(path, environ={}).notes)
    assert "a person counts in each window of 1 hour, in every building and room" in notes
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
    simulate = ("simulate", path, "--replay", written(tmp_path, FULL), "--runs", "3")
    tried = tocsin(*simulate, code=0).stdout
    assert "1 groups each" in " ".join(tried.split())
