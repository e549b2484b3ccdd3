"""Every form of a condition, from YAML to ledger and records: replayed, and on a live log.

``tests.support.forms`` has a row per form, which says where it fires as well. Each is decided here
from files, with a ledger in SQLite and in PostgreSQL, and on Kafka. A Gaussian budget
(`budget.privacy`) is no form of a condition: ``tests.unit.stream.replay.test_gaussian_alarms`` has
it on both databases, and ``test_crash_matrix`` on Kafka.
"""

from __future__ import annotations

import json

import jsonschema
import pytest

from accountant.records import REFERENCE_PARTITIONS
from accountant.units import to_loss_units
from operators.conditions.weights import Weight
from operators.registry import OFFERED
from stream.build import open_ledger
from stream.config.alarms.mechanism_keys import MechanismModel
from stream.config.keys import AlarmModel
from stream.config.loading import load
from stream.decisions.mechanisms import price_of
from stream.decisions.records import encode
from tests.support.commands import json_lines, tocsin
from tests.support.forecasts import WINDOW_MS, ForecastScenario, fired_at
from tests.support.forms import (
    BADGES,
    EXPECTED_N,
    FORMS,
    PEOPLE,
    USUAL,
    N,
    alarms_text,
    tables,
)
from tests.support.ledgers import must_verify
from tests.support.oracle import add_up
from tests.support.published import alarm_of, schema
from tests.support.recording import replayed
from tests.support.scenario import ROOMS
from tests.support.waiting import wait_until

_CONFIG = """\
ledger: {ledger}
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [{rooms}]}}
      ts: timestamp
{badges}    history: {{from: 1970-01-01, until: 1970-01-01T02:00Z}}
  forecast:
    topic: building.forecast
    time: ts
    unit: room
    id: event
    fields:
      event: string
      room: {{domain: [{rooms}]}}
      ts: timestamp
{badges}budget:
  privacy_unit: user
  epsilon_max: "100000"
  period: lifetime
  contribution: {{max_groups_per_window: 1, max_events_per_group: 1}}
alarms:
"""


ALARM = jsonschema.Draft202012Validator(schema("alarm"))


def written(folder, ledger):
    """Write a configuration with an alarm of every form."""
    head = _CONFIG.format(ledger=ledger, rooms=", ".join(ROOMS), badges=BADGES)
    path = folder / "alarms.yaml"
    text = tables(folder) + head + alarms_text("TUMBLE(ts, INTERVAL '1' HOUR)")
    path.write_text(text)
    return path


def an_hour(folder):
    """Write who is there in the first hour, and who was expected, who is written twice."""
    found = {}
    for feed, numbers, value, copies in (
        ("badges", PEOPLE, N, 1),
        ("forecast", USUAL, dict.fromkeys(ROOMS, EXPECTED_N), 2),
    ):
        lines = [
            {"person": f"{room}{at}", "event": f"{room}{at}", "room": room, "n": value[room]}
            for room, number in numbers.items()
            for at in range(number)
        ]
        file = folder / f"{feed}.jsonl"
        file.write_text("".join(f"{json.dumps({**line, 'ts': 0})}\n" for line in lines * copies))
        found[feed] = [file]
    return found


def printed(folder, ledger):
    """Replay the hour by the command; return the configuration, and all that it prints."""
    path = written(folder, ledger)
    given = [f"{feed}={file}" for feed, (file,) in an_hour(folder).items()]
    lines = tocsin("run", path, "--replay", given[0], "--replay", given[1], "--json")
    return load(path, environ={}), json_lines(lines)


def wrong(records, start_ms):
    """Return what was published and not expected, or the other way round, by form; no errors."""
    published = {name: [] for name in FORMS}
    for record in records:
        ALARM.validate(record)
        published.setdefault(record["alarm"], []).append(record)
    found = {
        name: (fired_at(published[name], start_ms) - form.open) ^ form.fires
        for name, form in FORMS.items()
    }
    return {name: rooms for name, rooms in found.items() if rooms}


def settled(alarms):
    """Return how many windows of every form a ledger has decided, after checking that it holds.

    Who is there may be in all of them: what they lost is the price of each, as often. Forms that
    filter may be about different events, of which a person has one.
    """
    with open_ledger(alarms) as ledger:
        must_verify(ledger)
        status = ledger.reports.status()
        decided = {name: one.decided for name, one in status.queries.items()}
        lost = {name: price(alarms, name) * windows for name, windows in decided.items()}
        filtered = {name for name, form in FORMS.items() if "FILTER" in form.having}
        surely = sum(units for name, units in lost.items() if name not in filtered)
        scope = status.scopes["user"]
        assert surely <= scope.spent_units <= sum(lost.values()) + scope.reserved_units
        return {name: decided[name] for name in FORMS}


def price(alarms, name):
    """Return what a window of an alarm costs whoever is in one of its rooms, in loss units."""
    return to_loss_units(price_of(alarms.by_name[name]).epsilon)


_OF_WINDOWS = {
    *("active", "hold", "share", "baseline", "false_alarms", "max_delay", "episodes"),
    *("lifecycle", "timing"),
}
"""Keys of every alarm: when it is asked, what it may spend, and what becomes of its alarms."""
_OF_RUNS_AND_PANES = {
    *("max_alarms", "repeat", "repeat_in", "max_fnr_given_no_alarm"),
    "release",
}
_RUNS_AND_PANES = {"svt", "panes"}
"""What spans windows, with tests of its own."""


def test_every_form_is_in_the_table(tmp_path):
    """A key, a mechanism or a statistic that is new fails here until it has a row."""
    path = written(tmp_path, "sqlite:///ledger.db")
    queries = load(path, environ={}).by_name
    assert set(queries) == set(FORMS)
    keys = {"sql", *(key.split(":")[0] for form in FORMS.values() for key in form.keys.split("; "))}
    own = set(MechanismModel.model_fields) - {"name"} - _OF_RUNS_AND_PANES
    beside = set(AlarmModel.model_fields) - _OF_WINDOWS
    assert keys == own | beside | {"reference_timeout"}
    kinds = {each.kind for query in queries.values() for each in query.aggregates}
    assert kinds == set(Weight)
    mechanisms = {query.mechanism for query in queries.values()}
    assert mechanisms == set(OFFERED) - _RUNS_AND_PANES
    assert set(wrong((), 0)) == set(FORMS), "every form fires somewhere: silence would be told"
    turned = [name for name, form in FORMS.items() if "bounded_error: fpr" in form.keys]
    assert tocsin("check", path).stderr.count("holds up to the threshold") == len(turned)


def test_what_fires_elsewhere_is_told():
    """Broken twins of two forms: decided the wrong way round, not sent, or firing in any room."""

    def found(fired):
        alarms = [alarm_of(0, {"room": room}, alarm=name) for name, room in fired]
        return set(wrong([json.loads(encode(alarm)) for alarm in alarms], 0))

    right = {(name, room) for name, form in FORMS.items() for room in form.fires}
    assert found(right) == set()
    for form in ("plain", "average"):
        own = {each for each in right if each[0] == form}
        everywhere = {(form, room) for room in ROOMS}
        for broken in (everywhere - own, set(), everywhere):
            assert found(right - own | broken) == {form}, broken


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.integration)]
)
def test_every_form_fires_where_it_should_in_a_replay(tmp_path, database, request):
    """Files in, a ledger that holds, and records as on the topic: the same on both databases."""
    ledger = f"sqlite:///{tmp_path}/ledger.db"
    if database == "postgresql":
        ledger = request.getfixturevalue("postgres").new_database()
    alarms, lines = printed(tmp_path, ledger)
    decisions = [line for line in lines if "outcome" in line]
    assert {line["outcome"] for line in decisions} == {"decided"}
    for line in decisions:
        assert line["epsilon_units"] == price(alarms, line["alarm"]) > 0
    assert wrong((line for line in lines if "group" in line), 0) == {}
    assert settled(alarms) == dict.fromkeys(FORMS, 2)


def test_an_event_of_the_protected_feed_changes_no_reference(tmp_path):
    """One more, of somebody else, changes counts of its own feed in its window, and no others."""
    found = []
    for name, more in (("one", ""), ("other", '{"person": "x", "room": "lab", "n": 9, "ts": 7}\n')):
        folder = tmp_path / name
        folder.mkdir()
        alarms = load(written(folder, f"sqlite:///{folder}/ledger.db"), environ={})
        files = an_hour(folder)
        (own,) = files["badges"]
        own.write_text(own.read_text() + more)
        _, stored = replayed(alarms, files)
        found.append(
            {(one["alarm"], one["start_ms"], one["partition"], one["digest"]) for one in stored}
        )
    before, after = found
    assert {place[1:3] for place in before ^ after} == {(0, 0)}
    assert {partition for *_, partition, _ in before} == {0, REFERENCE_PARTITIONS}


def test_a_replay_asks_for_both_files(tmp_path):
    """That of the reference, too, each by the name of its feed."""
    command = ("run", written(tmp_path, "sqlite:///ledger.db"), "--replay")
    (own,) = an_hour(tmp_path)["badges"]
    assert "write FEED=PATH with one of: badges, forecast" in tocsin(*command, own).stderr
    assert "no file is given for feed 'forecast'" in tocsin(*command, f"badges={own}").stderr


class FormsScenario(ForecastScenario):
    """A scenario with an alarm of every form beside its own, on the same two feeds."""

    def config_text(self, *, public=0, custodian=0):
        """Return the configuration, its tables beside it."""
        text = super().config_text(public=public, custodian=custodian)
        window = f"TUMBLE(ts, INTERVAL '{WINDOW_MS // 1000}' SECOND)"
        return text + alarms_text(window) + tables(self.directory)


@pytest.mark.integration
def test_every_form_fires_where_it_should_on_a_live_log(broker, postgres, tmp_path):
    """Two partitions each, two workers: what the topic says of a window, and the ledger holds."""
    scenario = FormsScenario(
        broker,
        tmp_path,
        ledger=postgres.new_database(),
        having="ABS(COUNT(*) - REFERENCE) >= 5",
        field_lines=BADGES,
        epsilon_max="100000",
    )
    every = {*FORMS, scenario.query}
    with scenario:
        scenario.start_worker()
        scenario.start_worker()
        wait_until("a worker runs", scenario.cursor_ms)
        start_ms = scenario.people(scenario.cursor_ms())
        scenario.mark(start_ms)
        scenario.expect(start_ms)
        scenario.mark(start_ms + WINDOW_MS + 1_000)
        wait_until(
            "every alarm has published the window",
            lambda: {each["alarm"] for each in scenario.decided()[start_ms]} == every,
        )
    assert {each["outcome"] for each in scenario.decided()[start_ms]} == {"decided"}
    own = [line for line in scenario.done("partial") if line["alarm"] == scenario.query]
    counted = add_up([line for line in own if line["partition"] < REFERENCE_PARTITIONS])
    assert counted[start_ms] == tuple(PEOPLE[room] for room in ROOMS)
    published = scenario.published()
    of_its_own = [each for each in published if each["alarm"] == scenario.query]
    assert fired_at(of_its_own, start_ms) == {"library", "roof"}
    assert wrong((each for each in published if each["alarm"] in FORMS), start_ms) == {}
    assert min(settled(scenario.alarms()).values()) >= 1
