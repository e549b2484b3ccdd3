"""The steps of a growth, in their order and at their times, whatever stops the command between."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from accountant.errors import ConfigError, LedgerError, LogChangedError
from accountant.ledger.ledger import Ledger
from accountant.records import LogIdentity
from stream.config.loading import load
from stream.decisions.registration import registration, terms_of
from stream.kafka import add_partitions as growth
from stream.kafka.topics import TopicFacts
from stream.model.alarms import scope_of

HOUR_MS = 3_600_000
MARGIN_MS = 5_500
OPEN_MS = 1_000 * HOUR_MS
NOW_MS = OPEN_MS + HOUR_MS // 2

CONFIG = """\
kafka: {bootstrap: "localhost:9092"}
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
    allowed_skew: 30s
    idle_partition_timeout: 5s
    max_append_time_regression: 500ms
  past:
    topic: past
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
    clock: watermarks
    watermarks: {interval: 1m, key: "0123456789abcdef0123456789abcdef"}
    history: {from: 1970-01-01, until: 1970-02-01}
budget: {privacy_unit: event, epsilon_max: "40"}
alarms:
  hourly:
    sql: SELECT 1 FROM badges GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
  old:
    sql: SELECT 1 FROM past GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
"""


class KilledError(Exception):
    """The command was killed here."""


class Scene:
    """A topic of two partitions and its broker, a ledger that workers have used, and one clock."""

    def __init__(self, folder):
        path = folder / "alarms.yaml"
        path.write_text(CONFIG)
        self.alarms = load(path, environ={})
        self.partitions, self.topic_id = 2, "id"
        self.now_ms, self.made_ms = NOW_MS, 0
        self.validated, self.die = 0, ""
        url = f"sqlite:///{folder}/ledger.db"
        self.ledger = Ledger.open(url, clock_ms=lambda: self.now_ms, entropy=bytes)
        query, pins = self.alarms.by_name["hourly"], self.ledger.pins
        pins.register_budget(terms_of(self.alarms, scope_of(query, self.alarms)))
        pins.register_log(LogIdentity("badges", "cluster", "id", "badges", 2))
        pins.register_query(registration(query, self.alarms, OPEN_MS))

    def create_partitions(self, wanted, *, validate_only=False):
        """Make partitions, as Kafka does."""
        if validate_only:
            self.validated += 1
            return
        if self.die == "announced":
            raise KilledError
        (self.partitions,) = wanted.values()
        self.made_ms = self.now_ms
        if self.die == "made":
            raise KilledError

    def facts(self, _client, name):
        """Describe it."""
        return TopicFacts(name, "cluster", self.topic_id, self.partitions, {})

    def sleep(self, seconds):
        """Let time pass."""
        self.now_ms += max(int(seconds * 1000), 1)

    def grow(self, feed="badges", partitions=5, agree=lambda _: None):
        """Run the command; where anything grew, it was announced and is over."""
        return growth.add_partitions(
            *(self.alarms, self.ledger, feed, partitions),
            settle_ms=60_000,
            clock_ms=lambda: self.now_ms,
            say=lambda _text: None,
            agree=agree,
        )

    @property
    def growths(self):
        """What the ledger knows of."""
        return self.ledger.growths.of("badges").growths


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A scene in the place of Kafka."""
    made = Scene(tmp_path)
    monkeypatch.setattr(growth, "admin_client", lambda _: nullcontext(made))
    monkeypatch.setattr(growth, "facts_of", made.facts)
    clock = SimpleNamespace(sleep=made.sleep, monotonic=lambda: made.now_ms / 1000)
    monkeypatch.setattr(growth, "time", clock)
    with made.ledger:
        yield made


def test_each_step_waits_for_clocks_that_are_apart(scene):
    """Told a margin ahead, made a margin behind, over when sensors had their time after that."""
    done = scene.grow()
    assert (done.announced_ms, done.from_ms) == (NOW_MS, NOW_MS + MARGIN_MS)
    assert scene.made_ms >= done.from_ms + MARGIN_MS
    assert done.until_ms >= scene.made_ms + 60_000 + MARGIN_MS
    assert (scene.growths, scene.partitions) == ((done,), 5)


@pytest.mark.parametrize(("die", "partitions"), [("announced", 2), ("made", 5)])
def test_a_killed_command_goes_on_where_it_was(scene, die, partitions):
    """However late it is run again: nobody is said to know before the partitions were there."""
    scene.die = die
    with pytest.raises(KilledError):
        scene.grow()
    (half,) = scene.growths
    assert (half.until_ms, scene.partitions) == (None, partitions)
    scene.die = ""
    scene.now_ms += 3 * HOUR_MS
    done = scene.grow()
    assert (done.from_ms, done.announced_ms) == (half.from_ms, half.announced_ms)
    assert done.until_ms >= scene.now_ms + 60_000
    assert scene.grow() == done
    assert scene.partitions == 5


def test_nothing_is_done_that_was_not_agreed(scene):
    """What is planned is told before, near enough to what becomes of it."""
    told = []

    def refuse(planned):
        told.append(planned)
        raise KilledError

    with pytest.raises(KilledError):
        scene.grow(agree=refuse)
    assert (scene.growths, scene.partitions) == ((), 2)
    done, (planned,) = scene.grow(), told
    assert planned.from_ms == done.from_ms
    assert planned.until_ms <= done.until_ms <= planned.until_ms + 1_000
    scene.grow(agree=refuse)  # nothing is left to agree to


def test_partitions_that_are_there_are_taken_on(scene):
    """All of them, and whatever is undecided is denied; none is made."""
    scene.partitions = 4
    with pytest.raises(LogChangedError, match="has 4 partitions, the ledger knows of 2") as caught:
        scene.grow(partitions=5)
    assert "--partitions 4" in caught.value.hint
    done = scene.grow(partitions=4)
    assert (done.from_ms, scene.made_ms) == (0, 0)


def test_what_cannot_be_is_refused_before_anything_is_said(scene):
    """A feed that nobody reads, one by marks, fewer partitions, another topic of that name."""
    for feed, partitions, error, said in (
        ("doors", 5, ConfigError, "no alarm reads a feed 'doors'"),
        ("past", 5, ConfigError, "watermarks"),
        ("badges", 1, LedgerError, "has 2 partitions"),
    ):
        with pytest.raises(error, match=said):
            scene.grow(feed, partitions)
    assert scene.grow(partitions=2) is None
    scene.topic_id = "another"
    with pytest.raises(LogChangedError, match="topic_id"):
        scene.grow()
    assert (scene.growths, scene.validated) == ((), 0)
