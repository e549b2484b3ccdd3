"""The configuration: what a good file means, and where a bad one is wrong.

Bad inputs are edits of one good file; the mark ``⟦`` (removed before reading) stands where the
error must point to.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.errors import ConfigError
from accountant.units import Contribution, PrivacyUnit
from operators.conditions.condition import Aim
from operators.conditions.weights import Weight
from stream.config.keys import MODELS
from stream.config.loading import check, examine, load
from stream.model.feeds import Clock, Codec, FieldType, Partitioner
from stream.model.filters import And
from stream.model.fingerprints import definition, definition_json, fingerprint
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import Periods
from tests.support.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MARK = "⟦"
GOOD = """\
timezone: Europe/Berlin
kafka: {bootstrap: "localhost:9092"}
metrics: {custodian: "127.0.0.1:9465"}
tables: {capacity: capacity.csv}
feeds:
  badges:
    topic: building.badges
    codec: json
    time: ts
    unit: person
    fields:
      person: string
      room: {domain: rooms.txt}
      floor: {type: integer, domain: [1, 02]}
      open: boolean
      load: {type: float, clip: [-1.5, 10], granule: "0.5"}
      free: float
      ts: timestamp
budget:
  unit: user
  epsilon_max: "4"
  period: 1d
  contribution: {predicates_per_window: 1, events_per_cell: 3}
alarms:
  fire-code:
    sql: |
      SELECT room FROM badges
      WHERE floor = 1
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 120
    active: "Mon-Fri 07:00-22:00"
    max_fnr: 0.05
    tolerance: 9
    grace: 30s
"""
ROOMS = "lobby\nlab\nattic\n"
CAPACITY = "room,seats\nlobby,120\nlab,80\nattic,30\n"

DESIGN = """\
feeds:
  badges:
    topic: building.badges          # partitioned by `unit`, LogAppendTime
    codec: json                     # json | arrow (one message = one record batch)
    time: ts
    unit: person                    # the privacy unit's id
    fields: {person: string, room: {domain: rooms.txt}, ts: timestamp}
budget:
  unit: user                        # user | event: what one neighbour differs in
  epsilon_max: "4"                  # decimal string or fraction, never a binary float
  period: 1d                        # renewed every period; or lifetime
  contribution: {predicates_per_window: 1, events_per_cell: 1}   # caps act within a window
alarms:
  fire-code:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(DISTINCT person) > 120
    active: "Mon-Fri 07:00-22:00"   # public schedule, in `timezone`: 15 windows a day, so 4/15 each
    max_fnr: 0.05
    tolerance: 9
    mechanism: tslm                 # tslm | ppwlm | dppwlm | probe | probe-ent | svt | decider
    grace: 30s
"""


def write(folder: Path, text: str, *, rooms: str = ROOMS, capacity: str = CAPACITY) -> Path:
    """Write a configuration and its files."""
    (folder / "rooms.txt").write_text(rooms.replace(MARK, ""), encoding="utf-8")
    (folder / "capacity.csv").write_text(capacity.replace(MARK, ""), encoding="utf-8")
    path = folder / "alarms.yaml"
    path.write_text(text.replace(MARK, ""), encoding="utf-8")
    return path


def edited(old: str, new: str) -> str:
    """Return the good file with one edit."""
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def place(text: str) -> tuple[int, int]:
    """Return line and column of the mark."""
    before = text[: text.index(MARK)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


HAVING = "HAVING COUNT(DISTINCT person) > 120"
SELECT = "SELECT room FROM badges"
WINDOW = "TUMBLE(ts, INTERVAL '1' HOUR)"
WHERE = "floor = 1"
BAD = [
    # YAML
    ("codec: json", "codec: json\n    ⟦codec: arrow", "`codec` is written twice", "line 8"),
    ("codec: json", "⟦codek: json", "`codek` is not a key", "did you mean `codec`?"),
    (
        '"localhost:9092"}',
        '"localhost:9092", security: {⟦sasl_user: x}}',
        "`sasl_user` is not a key",
        "did you mean `sasl_username`?",
    ),
    ("budget:", "⟦budgets:", "`budgets` is not a key", "did you mean `budget`?"),
    ("  period: 1d", "  ⟦[a]: 1d", "a key must be a plain word", "name: value"),
    ("tolerance: 9", "tolerance: 9\n   ⟦x: 1", "not valid YAML", "indentation"),
    ("tolerance: 9", "tolerance: ⟦${UNSET_VARIABLE}", "UNSET_VARIABLE is not set", ":-default"),
    ("tolerance: 9", "tolerance: ⟦*missing", "undefined alias", "check"),
    ("tolerance: 9", "tolerance: ⟦!!python/name:os.system 1", "the tag", "remove"),
    ('metrics: {custodian: "127.0.0.1:9465"}', "metrics: ⟦on", "a mapping belongs here", "key:"),
    # single values
    ("timezone: Europe/Berlin", "timezone: ⟦Europe/Berlim", "time zone", "`Europe/Berlin`"),
    ("max_fnr: 0.05", "max_fnr: ⟦1.5", "not a probability", "between 0 and 1"),
    ("max_fnr: 0.05", "max_fnr: ⟦often", "not a number", "0.05"),
    ("max_fnr: 0.05", "max_fnr: ⟦0.5", "a coin keeps that promise", "smaller"),
    ("max_fnr: 0.05", "max_fnr:⟦ ", "empty", "write a value"),
    ("    max_fnr: 0.05\n", "", "`max_fnr` is missing", "max_fnr: 0.05"),
    ("grace: 30s", "grace: ⟦30", "not a duration", "250ms, 30s"),
    ("grace: 30s", "grace: 30s\n    max_age: ⟦0s", "max_age", "write"),
    ("tolerance: 9", "tolerance: ⟦-1", "0 or more", "tolerance: 0"),
    ("tolerance: 9", "tolerance: ⟦9.5", "tolerance of a count", "write 9 or 10"),
    ("grace: 30s", "mechanism: ⟦svtt", "not known", "did you mean `svt`"),
    ("grace: 30s", "mechanism: ⟦nlm", "experiments", "tslm"),
    ("grace: 30s", "mechanism: ⟦tslmm", "not known", "did you mean `tslm`?"),
    ("  fire-code:", "  ⟦fire code:", "not a name", "letters, digits"),
    ('"Mon-Fri 07:00-22:00"', '⟦"Mon-Fry 07:00-22:00"', "Fry", ""),
    (
        '"Mon-Fri 07:00-22:00"',
        '⟦"Mon-Fri 07:00-07:30"',
        "lies inside one active interval",
        "active",
    ),
    # budget
    ('epsilon_max: "4"', "epsilon_max: ⟦0.5", "bare float", 'epsilon_max: "0.5"'),
    ('epsilon_max: "4"', 'epsilon_max: ⟦"-4"', "not a positive number", '"7/2"'),
    ('epsilon_max: "4"', 'epsilon_max: ⟦"0"', "not a positive number", '"7/2"'),
    ("  period: 1d\n", "", "unit `user` needs a period", "period: 1d"),
    ("period: 1d", "period: ⟦daily", "not a period", "lifetime"),
    ("unit: user\n", "unit: ⟦person\n", "not one of", "event | user"),
    ("events_per_cell: 3", "events_per_cell: ⟦0", "whole number from 1", "events_per_cell: 1"),
    ("events_per_cell: 3", "events_per_cell: ⟦1.5", "not a whole number", "write 2"),
    # feeds
    ("codec: json", "codec: ⟦avro", "not one of json | arrow", "write json | arrow"),
    ("topic: building.badges", "topic: ⟦building badges", "not a name", "letters"),
    ("time: ts", "time: ⟦when", "`when` is not among", "declare it"),
    ("time: ts", "time: ⟦person", "`person` is a string; time is a timestamp", "person: timestamp"),
    ("unit: person\n", "unit: ⟦persn\n", "`persn` is not among", "did you mean `person`?"),
    ("person: string", "person: ⟦strng", "not one of", "did you mean `string`?"),
    ("clip: [-1.5, 10]", "clip: ⟦[-1, -2]", "the clip is empty", "lower bound first"),
    ("clip: [-1.5, 10]", "clip: ⟦[-1.25, 10]", "-1.25 is not a multiple", "-1.5 or -1"),
    ("clip: [-1.5, 10]", "clip: ⟦[0, 4000000000]", "2^31 granules", "narrow"),
    ('granule: "0.5"', 'granule: ⟦"0"', "above 0", "0.01"),
    ("open: boolean", "open: {type: boolean, ⟦clip: [0, 1]}", "only numbers are summed", "type:"),
    ("open: boolean", "open: {type: boolean, ⟦domain: [a]}", "has no domain", "string"),
    ("open: boolean", "⟦open: {granule: 1}", "has no type", "string"),
    ("domain: [1, 02]", "domain: [1, ⟦x]", "whole number", "string"),
    ("domain: [1, 02]", "domain: [1, ⟦01]", "listed twice", "remove"),
    ("domain: rooms.txt", "domain: ⟦halls.txt", "cannot read the domain's file", "halls.txt"),
    ("codec: json", "clock: ⟦punctuation", "needs the key", "every: 1m"),
    ("codec: json", "⟦punctuation: {key: abc}", "belong to clock: punctuation", "remove"),
    ("codec: json", "⟦history: {from: 2012-01-01, until: 2011-01-01}", "empty", "before"),
    ("codec: json", "history: {from: ⟦soon, until: 2011-01-01}", "ISO date", "2011-06-01"),
    # settings
    ('"127.0.0.1:9465"', '⟦"0.0.0.0:9465"', "beyond loopback without a token", "custodian_token"),
    ('"127.0.0.1:9465"', "⟦loopback", "not host:port", "127.0.0.1:9465"),
    ('"localhost:9092"', "⟦localhost", "not a list of host:port", "host:port"),
    ('"localhost:9092"', '"localhost:9092", alarms_topic: ⟦building.badges', "reads", "own"),
    ("tables: ", "ledger: ⟦mysql://host/db\ntables: ", "neither SQLite nor", "sqlite:///"),
    ("tables: ", 'ledger: ⟦"sqlite://"\ntables: ', "in memory", "sqlite:///ledger.db"),
    ("tables: {capacity: capacity.csv}", "tables: {capacity: ⟦none.csv}", "cannot read", "CSV"),
    # SQL
    (SELECT, "SELECT room FROM ⟦badge", "`badge` is not a feed", "did you mean `badges`?"),
    (SELECT, "SELECT ⟦rom FROM badges", "`rom` is not a field", "did you mean `room`?"),
    (SELECT, "SELECT room, ⟦COUNT(*) FROM badges", "never released", "SELECT room"),
    (SELECT, "SELECT ⟦floor FROM badges", "`floor` is not in GROUP BY", "SELECT room"),
    (WINDOW, "TUMBLE(⟦floor, INTERVAL '1' HOUR)", "feed's time, `ts`", "TUMBLE(ts"),
    (WHERE, "floor = ⟦'1'", "it is compared with a whole number, not a string", "42"),
    (WHERE, "⟦floor = 1 AND floor = 2", "no event can meet this", "some event"),
    (WHERE, "⟦floor > 1 AND floor < 2", "no event can meet this", "some event"),
    (WHERE, "floor = 1 AND ⟦LOWER(person) = 'x'", "LOWER()", "the field's name alone"),
    (HAVING, "HAVING COUNT(DISTINCT person) > ⟦120.5", "whole number, not 120.5", "120 or 121"),
    (HAVING, "HAVING SUM(load) > ⟦7.3", "not a multiple of the granule 0.5", "write 7 or 7.5"),
    (HAVING, "HAVING COUNT(*) > ⟦capacty[room]", "not a declared table", "`capacity`"),
    (HAVING, "HAVING SUM(⟦free) > 7", "needs a clip", "granule"),
]


@pytest.mark.parametrize(("old", "new", "message", "hint"), BAD, ids=lambda text: text[:40])
def test_every_mistake_is_named_where_it_stands(
    tmp_path: Path, old: str, new: str, message: str, hint: str
) -> None:
    """A bad file gives one error with the line, the column, what is wrong and what to write."""
    text = edited(old, new)
    errors = check(write(tmp_path, text), environ={})
    assert len(errors) == 1, [str(error) for error in errors]
    error = errors[0]
    if MARK in text:
        assert (error.line, error.column) == place(text), str(error)
    assert error.file.endswith("alarms.yaml")
    assert error.line > 0
    assert error.column > 0
    assert message in error.message
    assert hint in error.hint
    assert bool(hint) <= bool(error.hint)


@pytest.mark.parametrize(
    ("rooms", "message"),
    [
        ("lobby\n  ⟦lobby\n", "listed twice"),
        ("⟦\n\n", "the domain is empty"),
    ],
)
def test_a_bad_domain_file_is_named_with_its_line(tmp_path: Path, rooms: str, message: str) -> None:
    """Errors in a domain's file point into that file."""
    (error,) = check(write(tmp_path, GOOD, rooms=rooms), environ={})
    assert error.file.endswith("rooms.txt")
    assert (error.line, error.column) == place(rooms)
    assert message in error.message


TABLE = edited(HAVING, "HAVING COUNT(DISTINCT person) > ⟦capacity[room]")


@pytest.mark.parametrize(
    ("capacity", "message"),
    [
        ("room,seats\nlobby,120\nlab,8\nattic,3\n⟦cellar,4\n", "`cellar` is not in the domain"),
        ("room,seats\nlobby,120\nlab,⟦eight\nattic,3\n", "not a number"),
        ("room,seats\nlobby,120\nlab,⟦8.5\nattic,3\n", "whole number, not 8.5"),
        ("room,seats\nlobby,120\n⟦lobby,8\nattic,3\n", "listed twice"),
        ("room,seats\nlobby,120\n⟦lab\nattic,3\n", "too short"),
        ("⟦lobby,120\nlab,8\nattic,3\n", "no header"),
        ("⟦room\nlobby\n", "two columns"),
        ('room,seats\n⟦"lobby,120\n', "not CSV"),
    ],
)
def test_a_bad_table_is_named_with_its_line(tmp_path: Path, capacity: str, message: str) -> None:
    """Errors in a table's file point into that file."""
    error = check(write(tmp_path, TABLE, capacity=capacity), environ={})[0]
    found = [
        error for error in check(tmp_path / "alarms.yaml", environ={}) if message in str(error)
    ]
    assert len(found) == 1, str(error)
    assert found[0].file.endswith("capacity.csv")
    assert (found[0].line, found[0].column) == place(capacity)


def test_a_table_without_a_predicate_is_refused_by_name(tmp_path: Path) -> None:
    """Every public predicate needs a threshold; the missing ones are named at the lookup."""
    (error,) = check(write(tmp_path, TABLE, capacity="room,seats\nlab,8\n"), environ={})
    assert (error.line, error.column) == place(TABLE)
    assert "no value for room lobby, attic" in error.message


def test_lines_and_columns_are_what_an_editor_shows(tmp_path: Path) -> None:
    """One error in numbers: line 30, column 41, counted from 1."""
    (error,) = check(write(tmp_path, edited("> 120", "> 1.5")), environ={})
    assert (error.line, error.column) == (30, 39)
    assert str(error).startswith(f"{tmp_path / 'alarms.yaml'}:30:39: the threshold of a count")


def test_several_errors_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    """A stage reports all it finds, and ``load`` raises the first."""
    text = GOOD.replace("max_fnr: 0.05", "max_fnr: 2").replace("codec: json", "codec: xml")
    errors = check(write(tmp_path, text), environ={})
    assert [error.line for error in errors] == [8, 32]
    with pytest.raises(ConfigError, match="not one of json"):
        load(tmp_path / "alarms.yaml", environ={})


@pytest.mark.parametrize("style", ["literal", "folded", "plain", "single", "double"])
def test_errors_inside_sql_are_found_in_every_yaml_style(tmp_path: Path, style: str) -> None:
    """However the SQL is written in YAML, the wrong token is pointed at."""
    body = "SELECT room FROM badges\n{0}WHERE person <> 'a b'\n{0}GROUP BY ⟦raum"
    indent = "        "
    text = {
        "literal": "|-  # the SQL\n" + indent + body.format(indent),
        "folded": ">\n" + indent + body.format(indent),
        "plain": body.format(indent),
        "single": "'" + body.format(indent).replace("'", "''") + "'",
        "double": '"' + body.format(indent).replace("\n", " \\\n") + '"',
    }[style]
    start = GOOD.index("|\n      SELECT")
    whole = GOOD[:start] + text + "\n" + GOOD[GOOD.index("    active:") :]
    (error,) = check(write(tmp_path, whole), environ={})
    assert "`raum` is not a field" in error.message
    assert (error.line, error.column) == place(whole)


def test_positions_survive_environment_variables(tmp_path: Path) -> None:
    """A variable in the SQL shifts no position, and its value is in no error."""
    text = edited(SELECT, "SELECT room FROM ${FEED} ⟦ORDER BY room").replace(
        "ORDER BY ⟦room", "ORDER BY room"
    )
    (error,) = check(write(tmp_path, text), environ={"FEED": "badges"})
    assert error.line == place(text)[0]
    secret = edited('"127.0.0.1:9465"', '"${ADDRESS}"')
    (error,) = check(write(tmp_path, secret), environ={"ADDRESS": "hunter2"})
    assert "hunter2" not in str(error)
    assert "${ADDRESS}" in str(error)


def test_the_design_example_is_what_it_says(tmp_path: Path) -> None:
    """The example of the design loads and means what its comments say."""
    alarms = load(write(tmp_path, DESIGN), environ={})
    query = alarms.queries["fire-code"]
    assert alarms.budget.unit is PrivacyUnit.USER
    assert alarms.budget.epsilon_max == 4
    assert alarms.budget.contribution == Contribution(1, 1)
    assert alarms.budget.periods == Periods(LocalCalendar(1, 1, "UTC"))
    assert alarms.kafka is None
    assert alarms.settings.ledger_url == f"sqlite:///{tmp_path}/.tocsin/alarms.db"
    assert alarms.settings.public_address == ("0.0.0.0", 9464)  # noqa: S104 -- the default
    assert query.domain.fields == ("room",)
    assert query.domain.values == (("lobby", "lab", "attic"),)
    assert isinstance(query.calendar, FixedCalendar)
    assert query.calendar.size_ms == 3_600_000
    assert query.calendar.schedule is not None
    (aggregate,) = query.aggregates
    assert aggregate.kind is Weight.DISTINCT_UNITS
    assert str(query.condition.formula) == "a1"
    assert query.condition.atoms["a1"].thresholds.tolist() == [121, 121, 121]
    assert query.condition.sensitivities == (1,)
    assert query.texts == ("COUNT(DISTINCT person) > 120",)
    assert query.aim == Aim(Fraction(1, 20), (9,))
    assert (query.mechanism, query.grace_ms, query.publish_delay_ms) == ("tslm", 30_000, 15_000)
    assert (query.decide_timeout_ms, query.max_age_ms) == (600_000, 604_800_000)


def test_every_key_is_carried_over(tmp_path: Path) -> None:
    """All settings of a full file arrive, durations in milliseconds, paths beside the file."""
    text = """\
timezone: America/New_York
kafka:
  bootstrap: "a:1, b:2"
  group: shop
  alarms_topic: shop.alarms
  decisions_topic: shop.decisions
  doorbell_topic: shop.bell
  security: {security_protocol: SASL_SSL, sasl_password: "${PASSWORD}"}
  session_timeout: 6s
ledger: sqlite:///data/ledger.db
metrics: {public: "[::]:1", custodian: "0.0.0.0:2", custodian_token: "${TOKEN:-tok}"}
tick: 250ms
tables: {capacity: {file: capacity.csv, key: room, value: seats}}
feeds:
  badges:
    topic: b
    codec: arrow
    time: ts
    unit: person
    id: number
    fields: {person: integer, number: string, room: {domain: [lab, lobby]}, ts: timestamp}
    partitioner: crc32
    clock: punctuation
    allowed_skew: 5m
    broker_skew: 2s
    idle_margin: 20s
    history: {from: 2011-01-01, until: "2011-01-02T00:00:00Z"}
    punctuation: {every: 30s, key: "0123456789abcdef"}
budget: {unit: event, epsilon_max: 7/2}
alarms:
  rooms:
    sql: >
      SELECT room FROM badges GROUP BY room, HOP(ts, INTERVAL '1' DAY, INTERVAL '1' WEEK)
      HAVING capacity[room] <= COUNT(*)
    max_fnr: 1/20
    max_fpr: 1e-3
    apportion: probe
    publish_delay: 1m
    decide_timeout: 1h
    max_age: 2w
"""
    capacity = "id,seats,room\n1,5,lobby\n2,7,lab\n"
    path = write(tmp_path, text, capacity=capacity)
    alarms = load(path, environ={"PASSWORD": "p"})
    feed, query, kafka = alarms.feeds["badges"], alarms.queries["rooms"], alarms.kafka
    assert kafka is not None
    assert (kafka.bootstrap, kafka.group) == ("a:1,b:2", "shop")
    assert (kafka.alarms_topic, kafka.decisions_topic) == ("shop.alarms", "shop.decisions")
    assert (kafka.doorbell_topic, kafka.session_timeout_ms) == ("shop.bell", 6_000)
    assert kafka.security == {"security_protocol": "SASL_SSL", "sasl_password": "p"}
    assert alarms.settings.ledger_url == f"sqlite:///{tmp_path}/data/ledger.db"
    assert alarms.settings.public_address == ("::", 1)
    assert alarms.settings.custodian_token == "tok"  # noqa: S105 -- the default in the file
    assert alarms.settings.tick_ms == 250
    assert (feed.codec, feed.partitioner) == (Codec.ARROW, Partitioner.CRC32)
    assert (feed.clock, feed.punctuation_ms) == (Clock.PUNCTUATION, 30_000)
    assert feed.punctuation_key == b"0123456789abcdef"
    assert (feed.allowed_skew_ms, feed.broker_skew_ms, feed.idle_margin_ms) == (
        300_000,
        2_000,
        20_000,
    )
    assert feed.history == (1_293_858_000_000, 1_293_926_400_000)
    assert feed.fields["person"].type is FieldType.INTEGER
    assert feed.id == "number"
    assert alarms.budget.epsilon_max == Fraction(7, 2)
    assert alarms.budget.periods is None
    assert query.calendar == LocalCalendar(7, 1, "America/New_York")
    assert query.texts == ("COUNT(*) >= capacity[room]",)
    assert query.condition.atoms["a1"].thresholds.tolist() == [7, 5]
    assert query.aim == Aim(Fraction(1, 20), (0,), Fraction(1, 1000), "probe")
    assert (query.publish_delay_ms, query.decide_timeout_ms) == (60_000, 3_600_000)
    assert query.max_age_ms == 1_209_600_000


@pytest.mark.parametrize(
    ("having", "unit", "sensitivity", "threshold"),
    [
        ("COUNT(*) > 70", "user", 3, 71),
        ("COUNT(*) > 70", "event", 1, 71),
        ("COUNT(load) > 70", "event", 1, 71),
        ("COUNT(DISTINCT person) >= 70", "user", 1, 70),
        ("SUM(load) > 7.5", "user", 3 * 20, 16),
        ("SUM(load) < -2", "event", 20, -4),
        ("AVG(load) > 3", "user", 3 * 14, 1),
        ("AVG(load) > 1/3", "user", None, None),
        ("AVG(load) > 3.1", "event", 69, 1),
        ("MEDIAN(load) > 3.1", "event", 1, 1),
        ("QUANTILE(load, 0.9) > 3.1", "user", 3 * 9, 1),
        ("MIN(load) < 3.1", "event", 1, 1),
    ],
)
def test_statistics_are_integers_with_the_caps_in_their_sensitivity(
    tmp_path: Path, having: str, unit: str, sensitivity: int | None, threshold: int
) -> None:
    """D is the cap times the largest weight; thresholds of sums count granules."""
    text = edited(HAVING, f"HAVING {having}")
    if unit == "event":
        text = text.replace("unit: user", "unit: event").replace("  period: 1d\n", "")
        text = text[: text.index("  contribution:")] + text[text.index("alarms:") :]
    if "MIN" in having:
        text = text.replace("tolerance: 9", "tolerance: 0")
    if sensitivity is None:
        assert "not an expression" in str(check(write(tmp_path, text), environ={})[0])
        return
    query = load(write(tmp_path, text), environ={}).queries["fire-code"]
    (aggregate,) = query.aggregates
    assert query.condition.sensitivities == (sensitivity,)
    assert set(query.condition.atoms["a1"].thresholds.tolist()) == {threshold}
    if "SUM" in having:
        assert (aggregate.lo, aggregate.hi) == (-3, 20)
        assert aggregate.granule == Fraction(1, 2)
        assert query.aim.tolerances == (18,)


def test_thresholds_follow_the_order_of_predicates(tmp_path: Path) -> None:
    """A table keyed by one of two group fields gives every predicate its own field's value."""
    text = edited(HAVING, "HAVING COUNT(*) > capacity[room]").replace(
        "tolerance: 9", "tolerance: 1"
    )
    text = text.replace("GROUP BY room,", "GROUP BY floor, room,")
    query = load(write(tmp_path, text), environ={}).queries["fire-code"]
    cells = [query.domain.predicate(index) for index in range(len(query.domain))]
    seats = {"lobby": 120, "lab": 80, "attic": 30}
    assert [cell["floor"] for cell in cells] == ["1", "1", "1", "2", "2", "2"]
    assert query.condition.atoms["a1"].thresholds.tolist() == [
        seats[cell["room"]] + 1 for cell in cells
    ]


def test_a_query_of_the_window_alone_has_one_predicate(tmp_path: Path) -> None:
    """Without group fields there is one cell per window."""
    text = edited(SELECT, "SELECT 1 FROM badges").replace("GROUP BY room, ", "GROUP BY ")
    query = load(write(tmp_path, text), environ={}).queries["fire-code"]
    assert len(query.domain) == 1
    assert query.domain.predicate(0) == {}
    assert query.condition.cells == 1


def test_numbers_never_pass_through_a_binary_float(tmp_path: Path) -> None:
    """A probability with more digits than a double holds is kept exactly."""
    text = edited("max_fnr: 0.05", "max_fnr: 0.1000000000000000000000001")
    query = load(write(tmp_path, text), environ={}).queries["fire-code"]
    assert query.aim.max_fnr == Fraction("0.1000000000000000000000001")


@pytest.mark.parametrize(
    ("written", "periods"),
    [
        ("lifetime", Periods.lifetime()),
        ("12h", Periods(FixedCalendar(43_200_000, 43_200_000))),
        ("1w", Periods(LocalCalendar(7, 7, "Europe/Berlin"))),
    ],
)
def test_periods_are_local_days_fixed_lengths_or_a_lifetime(
    tmp_path: Path, written: str, periods: Periods
) -> None:
    """Days and weeks follow the time zone, hours the epoch."""
    alarms = load(write(tmp_path, edited("period: 1d", f"period: {written}")), environ={})
    assert alarms.budget.periods == periods


def test_an_event_budget_is_never_renewed(tmp_path: Path) -> None:
    """A period under unit event is refused with the reason, lifetime is taken."""
    text = GOOD.replace("unit: user", "unit: event").replace(
        "  contribution: {predicates_per_window: 1, events_per_cell: 3}\n", ""
    )
    (error,) = check(write(tmp_path, text), environ={})
    assert "never reset" in error.message
    assert (
        load(
            write(tmp_path, text.replace("period: 1d", "period: lifetime")), environ={}
        ).budget.periods
        is None
    )
    (error,) = check(write(tmp_path, edited("period: 1d", "period: 0d")), environ={})
    assert "longer than nothing" in error.message


def test_ledger_urls_keep_absolute_paths_and_name_the_driver(tmp_path: Path) -> None:
    """An absolute SQLite path stays; PostgreSQL goes to psycopg; a secret stays out of errors."""
    for url, meant in [
        ("sqlite:////var/x.db", "sqlite:////var/x.db"),
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
    ]:
        text = edited("tables: ", f"ledger: {url}\ntables: ")
        assert load(write(tmp_path, text), environ={}).settings.ledger_url == meant
    text = edited("tables: ", "ledger: oracle://u:hunter2@h/d\ntables: ")
    (error,) = check(write(tmp_path, text), environ={})
    assert "hunter2" not in str(error)


def test_two_feeds_do_not_share_a_topic(tmp_path: Path) -> None:
    """A topic belongs to one feed: its budget is the topic's."""
    feed = GOOD[GOOD.index("  badges:") : GOOD.index("budget:")]
    text = edited("budget:", feed.replace("badges:\n", "doors:\n", 1) + "budget:")
    (error,) = check(write(tmp_path, text), environ={})
    assert "`badges` reads this topic already" in error.message


SLOW = """\
  slow:
    sql: SELECT 1 FROM badges GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
    decide_timeout: 2h
    grace: 1m
"""


@pytest.mark.parametrize(("age_s", "warned"), [(601, True), (7230, True), (7231, False)])
def test_max_age_outlasts_what_a_window_may_wait_for(
    tmp_path: Path, age_s: int, *, warned: bool
) -> None:
    """One alarm's windows wait for another's on the same budget; too old they are denied."""
    text = edited("grace: 30s", f"grace: 30s\n    max_age: ⟦{age_s}s") + SLOW
    report = examine(write(tmp_path, text), environ={})
    assert report.alarms is not None
    assert len(report.warnings) == warned
    for warning in report.warnings:
        assert (warning.line, warning.column) == place(text)
        assert "`slow`" in warning.message
        assert "max_age: 7231s" in warning.hint
    alone = text.replace("unit: user", "unit: event").replace(
        "FROM badges GROUP", "FROM doors GROUP"
    )
    alone = alone.replace("  period: 1d\n", "")
    alone = "\n".join(line for line in alone.splitlines() if "contribution" not in line)
    doors = GOOD[GOOD.index("  badges:") : GOOD.index("budget:")]
    doors = doors.replace("badges:", "doors:").replace("building.badges", "building.doors")
    other = examine(write(tmp_path, alone.replace("budget:", doors + "budget:", 1)), environ={})
    assert other.alarms is not None
    assert not other.warnings


def test_an_alarm_by_itself_outlasts_its_own_timeout(tmp_path: Path) -> None:
    """Its windows are too old before a partition was waited for."""
    text = edited("grace: 30s", "decide_timeout: 1h\n    max_age: 1h")
    (warning,) = examine(write(tmp_path, text), environ={}).warnings
    assert "`fire-code`" in warning.message


def test_warnings_do_not_stop_a_file(tmp_path: Path) -> None:
    """Tolerance 0, gaps between windows and impossible literals are said, not refused."""
    text = edited("tolerance: 9", "tolerance: ⟦0").replace(
        WINDOW, "HOP(ts, INTERVAL '2' HOUR, INTERVAL '1' HOUR)"
    )
    text = text.replace(WHERE, "room <> 'loby'")
    report = examine(write(tmp_path, text), environ={})
    assert report.alarms is not None
    said = "\n".join(str(warning) for warning in report.warnings)
    assert "`loby` is not in the domain" in said
    assert "did you mean `lobby`" in said
    assert "leave gaps" in said
    assert place(text) == (report.warnings[-1].line, report.warnings[-1].column)
    assert not examine(write(tmp_path, GOOD), environ={}).warnings


@pytest.mark.parametrize(
    "content", [b"", b"- a\n", b"a: \xff\n", b"a: \x00\n", b"a: [", b"{" * 500]
)
def test_what_is_no_configuration_is_an_error_with_a_place(tmp_path: Path, content: bytes) -> None:
    """No bytes make the reader fail otherwise than with a ConfigError."""
    path = tmp_path / "alarms.yaml"
    path.write_bytes(content)
    errors = check(path, environ={})
    assert errors
    assert all(error.line >= 1 and error.column >= 1 for error in errors)
    assert check(tmp_path / "missing.yaml", environ={})[0].line == 1


def test_the_fingerprint_changes_with_decisions_only(tmp_path: Path) -> None:
    """Everything that moves a decision moves the fingerprint; ports, delays and spelling do not."""
    base = load(write(tmp_path, GOOD), environ={}).queries["fire-code"].fingerprint
    assert base == load(write(tmp_path, GOOD), environ={}).queries["fire-code"].fingerprint
    same = [
        (
            "grace: 30s",
            "grace: 30s\n    publish_delay: 1m\n    max_age: 1d\n    decide_timeout: 1h",
        ),
        ('"127.0.0.1:9465"', '"127.0.0.1:9999"'),
        ("max_fnr: 0.05", "max_fnr: 1/20"),
        ('epsilon_max: "4"', 'epsilon_max: "5"'),
        (HAVING, "having (120) < count(distinct person)"),
        ('"Mon-Fri 07:00-22:00"', '"Mon-Fri  07:00-22:00"'),
    ]
    for old, new in same:
        query = load(write(tmp_path, edited(old, new)), environ={}).queries["fire-code"]
        assert query.fingerprint == base, new
    other = [
        ("grace: 30s", "grace: 31s"),
        ("max_fnr: 0.05", "max_fnr: 0.04"),
        ("max_fnr: 0.05", "max_fnr: 0.05\n    max_fpr: 0.05"),
        ("tolerance: 9", "tolerance: 8"),
        ("> 120", ">= 120"),
        ("> 120", "> 121"),
        (WHERE, "floor <> 1"),
        ("INTERVAL '1' HOUR", "INTERVAL '60' SECOND"),
        ('"Mon-Fri 07:00-22:00"', '"Mon-Fri 07:00-21:00"'),
        ("timezone: Europe/Berlin", "timezone: Europe/Paris"),
        ("events_per_cell: 3", "events_per_cell: 2"),
        ("period: 1d", "period: 2d"),
        ("open: boolean", "open: string"),
        ("codec: json", "codec: arrow"),
        ("codec: json", "allowed_skew: 61s"),
        ("codec: json", "partitioner: crc32"),
        ("domain: rooms.txt", "domain: [lobby, lab]"),
    ]
    seen = {base}
    for old, new in other:
        query = load(write(tmp_path, edited(old, new)), environ={}).queries["fire-code"]
        assert query.fingerprint not in seen, new
        seen.add(query.fingerprint)


def test_the_definition_is_json_without_secrets(tmp_path: Path) -> None:
    """The definition is canonical JSON and independent of the fingerprint it leads to."""
    alarms = load(write(tmp_path, GOOD), environ={})
    query = alarms.queries["fire-code"]
    text = definition_json(query, alarms.budget)
    assert definition_json(replace(query, fingerprint="x"), alarms.budget) == text
    assert definition(query, alarms.budget)["schema"] == 2
    assert fingerprint(query, alarms.budget) == query.fingerprint
    assert len(query.fingerprint) == 64
    assert json.loads(text) == definition(query, alarms.budget)


def test_frozen_thresholds_are_int64(tmp_path: Path) -> None:
    """Thresholds are 64-bit integers, one per predicate."""
    query = load(write(tmp_path, GOOD), environ={}).queries["fire-code"]
    (atom,) = query.condition.atoms.values()
    assert atom.thresholds.dtype == np.int64
    assert atom.thresholds.shape == (len(query.domain),)
    assert not isinstance(query.where, And)


DOCS = (ROOT / "docs" / "guide" / "configuration.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    """Return the code blocks of one language in the reference."""
    return [block.split("```")[0] for block in DOCS.split(f"```{language}\n")[1:]]


def test_the_reference_starts_with_a_file_that_loads(tmp_path: Path) -> None:
    """The whole file of the reference is a good one, without warnings."""
    path = write(tmp_path, snippets("yaml")[0])
    report = examine(path, environ={})
    assert report.alarms is not None, report.errors
    query = report.alarms.queries["fire-code"]
    assert query.condition.atoms["a1"].thresholds.tolist() == [121, 81, 31]
    assert report.warnings == ()


def test_the_reference_s_other_snippets_load_in_their_places(tmp_path: Path) -> None:
    """Tables, fields and SQL of the reference work as shown."""
    whole, tables, fields, tolerances = snippets("yaml")
    (tmp_path / "rooms.csv").write_text(
        "seats,room\n120,lobby\n80,lab\n30,attic\n", encoding="utf-8"
    )
    text = whole.replace("tables:\n  capacity: capacity.csv\n", tables)
    more = "".join(f"    {line}\n" for line in fields.splitlines())
    text = text.replace("    fields:\n", more)
    assert check(write(tmp_path, text), environ={}) == []
    whole = whole.replace("    fields:\n", more)
    start = whole.index("      SELECT")
    several = "".join(f"    {line}\n" for line in tolerances.splitlines())
    for sql in snippets("sql"):
        body = "".join(f"      {line}\n" for line in sql.splitlines())
        text = whole[:start] + body + whole[whole.index("    max_fnr") :]
        if "AVG" in sql:
            text = text.replace("    tolerance: 9\n", several)
        report = examine(write(tmp_path, text), environ={})
        assert report.alarms is not None, report.errors
        assert report.warnings == ()


def test_the_reference_names_every_key_and_default() -> None:
    """No key is missing from the reference, and the defaults of scalars are the model's."""
    for model in MODELS.values():
        for name, field in model.model_fields.items():
            assert re.search(rf"[`{{ ]{field.alias or name}[`}},:]", DOCS), name
    for words in ("`grace` | `30s`", "`tick` | `1s`", "`allowed_skew` | `60s`", "`max_age` | `7d`"):
        assert words in DOCS
