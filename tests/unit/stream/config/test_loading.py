"""What a good file means."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant.errors import ConfigError
from accountant.units import Contribution, PrivacyUnit
from operators.conditions.condition import Aim
from operators.conditions.weights import Weight
from stream.config.loading import load
from stream.model.alarms import Budget, KafkaSettings, Settings
from stream.model.feeds import Clock, Codec, Domain, Feed, Partitioner
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import Periods
from stream.windows.schedule import Schedule
from tests.support.checking import check
from tests.support.configurations import DESIGN, HAVING, edited, write


def test_the_design_example_is_what_it_says(tmp_path):
    """The example of the design loads and means what its comments say."""
    alarms = load(write(tmp_path, DESIGN), environ={})
    query, schedule = alarms.by_name["fire-code"], Schedule.parse("Mon-Fri 07:00-22:00", "UTC")
    assert alarms.budget == Budget(
        PrivacyUnit.USER, Fraction(4), Periods(LocalCalendar(1, 1, "UTC")), Contribution(1, 1)
    )
    assert alarms.settings.ledger_url == f"sqlite:///{tmp_path}/.tocsin/alarms.db"
    assert query.domain == Domain(("room",), (("lobby", "lab", "attic"),))
    assert query.calendar == FixedCalendar(3_600_000, 3_600_000, schedule)
    assert query.aggregates[0].kind is Weight.DISTINCT_UNITS
    assert query.condition.atoms["a1"].thresholds.tolist() == [121, 121, 121]
    assert query.condition.sensitivities == (1,)
    assert query.aim == Aim(Fraction(1, 20), (9,))
    assert (query.mechanism, query.grace_ms, query.publish_delay_ms) == ("tslm", 30_000, 15_000)
    assert (query.decide_timeout_ms, query.max_age_ms) == (600_000, 604_800_000)


def test_every_key_is_carried_over(tmp_path):
    """All settings of a full file arrive, durations in milliseconds, paths beside the file."""
    text = """\
timezone: America/New_York
kafka:
  bootstrap: "a:1, b:2"
  group: shop
  alarms_topic: shop.alarms
  decisions_topic: shop.decisions
  wakeup_topic: shop.bell
  security:
    security_protocol: SASL_SSL
    sasl_mechanism: SCRAM-SHA-512
    sasl_username: shop
    sasl_password: "${PASSWORD}"
  session_timeout: 6s
ledger: sqlite:///data/ledger.db
metrics: {public: "[::]:1", custodian: "0.0.0.0:2", custodian_token: "${TOKEN:-tok}"}
publish_interval: 250ms
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
    clock: watermarks
    allowed_skew: 5m
    max_append_time_regression: 2s
    idle_partition_timeout: 20s
    history: {from: 2011-01-01, until: "2011-01-02T00:00:00Z"}
    watermarks: {interval: 30s, key: "0123456789abcdef"}
budget: {privacy_unit: event, epsilon_max: 7/2}
alarms:
  rooms:
    sql: >
      SELECT room FROM badges GROUP BY room, HOP(ts, INTERVAL '1' DAY, INTERVAL '1' WEEK)
      HAVING capacity[room] <= COUNT(*)
    max_fnr: 0.1000000000000000000000001
    mechanism: {tslm: {max_fpr: 1e-3}}
    timing: {publish_delay: 1m, decide_timeout: 1h, max_age: 2w}
"""
    capacity = "id,seats,room\n1,5,lobby\n2,7,lab\n"
    path = write(tmp_path, text, capacity=capacity)
    alarms = load(path, environ={"PASSWORD": "p"})
    feed, query = alarms.feeds["badges"], alarms.by_name["rooms"]
    security = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "shop",
        "sasl_password": "p",
    }
    topics = ("shop.alarms", "shop.decisions", "shop.bell", "tocsin.ownership")
    assert alarms.kafka == KafkaSettings("a:1,b:2", "shop", *topics, security, 6_000)
    url = f"sqlite:///{tmp_path}/data/ledger.db"
    assert alarms.settings == Settings(url, ("::", 1), ("0.0.0.0", 2), "tok", 250)  # noqa: S104
    assert feed == Feed(
        *("badges", "b", Codec.ARROW, "ts", "person", "number"),
        feed.fields,
        Partitioner.CRC32,
        Clock.WATERMARKS,
        allowed_skew_ms=300_000,
        max_append_time_regression_ms=2_000,
        idle_partition_timeout_ms=20_000,
        history=(1_293_858_000_000, 1_293_926_400_000),
        watermark_interval_ms=30_000,
        watermark_key=b"0123456789abcdef",
    )
    assert [field.type.value for field in feed.fields.values()] == [
        *("integer", "string", "string", "timestamp")
    ]
    assert alarms.budget == Budget(PrivacyUnit.EVENT, Fraction(7, 2), None, Contribution(1, 1))
    assert query.calendar == LocalCalendar(7, 1, "America/New_York")
    assert query.texts == ("COUNT(*) >= capacity[room]",)
    assert query.condition.atoms["a1"].thresholds.tolist() == [7, 5]
    exact = Fraction("0.1000000000000000000000001")  # not through a binary float
    assert query.aim == Aim(exact, (0,), Fraction(1, 1000))
    assert (query.publish_delay_ms, query.decide_timeout_ms) == (60_000, 3_600_000)
    assert query.max_age_ms == 1_209_600_000


def test_a_key_with_blanks_is_refused(tmp_path):
    """Beside one without it would be a second key, and take the place of the first."""
    value = DESIGN.replace("topic: building.badges", 'topic: "building.badges "')
    assert load(write(tmp_path, value), environ={}).feeds["badges"].topic == "building.badges"
    path = write(tmp_path, DESIGN.replace("  fire-code:", '  "fire-code ":'))
    with pytest.raises(ConfigError, match="is not a valid name"):
        load(path, environ={})


def test_thresholds_follow_the_order_of_groups(tmp_path):
    """A table keyed by one of two group fields gives every group its own field's value."""
    text = edited(HAVING, "HAVING COUNT(*) > capacity[room]").replace("GROUP BY", "GROUP BY floor,")
    text = text.replace("tolerance: 9", "tolerance: 1")
    query = load(write(tmp_path, text), environ={}).by_name["fire-code"]
    assert query.domain == Domain(("floor", "room"), (("1", "2"), ("lobby", "lab", "attic")))
    assert query.condition.atoms["a1"].thresholds.tolist() == [121, 81, 31] * 2


@pytest.mark.parametrize(
    ("written", "calendar"),
    [
        ("lifetime", None),
        ("12h", FixedCalendar(43_200_000, 43_200_000)),
        ("1w", LocalCalendar(7, 7, "Europe/Berlin")),
    ],
)
def test_periods_are_local_days_fixed_lengths_or_a_lifetime(tmp_path, written, calendar):
    """Days and weeks follow the time zone, hours the epoch."""
    alarms = load(write(tmp_path, edited("period: 1d", f"period: {written}")), environ={})
    assert alarms.budget.periods == Periods(calendar)


def test_ledger_urls_keep_absolute_paths_and_name_the_driver(tmp_path):
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
