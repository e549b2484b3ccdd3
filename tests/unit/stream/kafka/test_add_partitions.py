"""The steps of a growth, in their order and at their times, whatever stops the command between."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from accountant.errors import ConfigError, LedgerError, LogChangedError
from accountant.ledger.ledger import Ledger
from accountant.records import LogIdentity
from accountant.units import PrivacyUnit
from stream.config.loading import load
from stream.decisions.registration import registration, terms_of
from stream.kafka import add_partitions as growth
from stream.kafka.topics import TopicFacts
from stream.model.alarms import scope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from accountant.layouts import Growth
    from stream.model.alarms import Alarms

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


class Topic:
    """A topic and its broker, the wall clock beside it, and what was done when."""

    def __init__(self) -> None:
        self.partitions = 2
        self.now_ms = NOW_MS
        self.made_ms = 0
        self.validated = 0
        self.die = ""
        self.topic_id = "id"

    def create_partitions(self, wanted: dict[str, int], *, validate_only: bool = False) -> None:
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

    def facts(self, _client: object, name: str) -> TopicFacts:
        """Describe it."""
        return TopicFacts(name, "cluster", self.topic_id, self.partitions, {})

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ms += max(int(seconds * 1000), 1)


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """A topic of two partitions instead of Kafka."""
    made = Topic()

    @contextmanager
    def client(_kafka: object) -> Iterator[Topic]:
        yield made

    monkeypatch.setattr(growth, "admin_client", client)
    monkeypatch.setattr(growth, "facts_of", made.facts)
    clock = SimpleNamespace(sleep=made.sleep, monotonic=lambda: made.now_ms / 1000)
    monkeypatch.setattr(growth, "time", clock)
    return made


@pytest.fixture
def alarms(tmp_path: Path) -> Alarms:
    """An alarm on a live feed, and one on a replayed feed."""
    path = tmp_path / "alarms.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return load(path, environ={})


@pytest.fixture
def ledger(alarms: Alarms, topic: Topic, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger that workers have used for a while."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url, clock_ms=lambda: topic.now_ms, entropy=bytes) as opened:
        query = alarms.by_name["hourly"]
        assert alarms.budget.unit is PrivacyUnit.EVENT
        opened.pins.register_budget(terms_of(alarms, scope_of(query, alarms)))
        opened.pins.register_log(LogIdentity("badges", "cluster", "id", "badges", 2))
        opened.pins.register_query(registration(query, alarms, OPEN_MS))
        yield opened


@pytest.fixture
def grow(alarms: Alarms, ledger: Ledger, topic: Topic) -> Callable[..., Growth | None]:
    """Return the command, with its arguments filled in."""

    def call(
        feed: str = "badges", partitions: int = 5, agree: Callable[[Growth], None] = lambda _: None
    ) -> Growth | None:
        return growth.add_partitions(
            alarms,
            ledger,
            feed,
            partitions,
            settle_ms=60_000,
            clock_ms=lambda: topic.now_ms,
            say=lambda _text: None,
            agree=agree,
        )

    return call


def test_each_step_waits_for_clocks_that_are_apart(
    grow: Callable[..., Growth], topic: Topic, ledger: Ledger
) -> None:
    """Told a margin ahead, made a margin behind, over when sensors had their time after that."""
    done = grow()
    assert (done.announced_ms, done.from_ms) == (NOW_MS, NOW_MS + MARGIN_MS)
    assert topic.made_ms >= done.from_ms + MARGIN_MS
    assert done.until_ms is not None
    assert done.until_ms >= topic.made_ms + 60_000 + MARGIN_MS
    assert ledger.growths.of("badges").growths == (done,)
    assert topic.partitions == 5


@pytest.mark.parametrize("die", ["announced", "made"])
def test_a_killed_command_goes_on_where_it_was(
    grow: Callable[..., Growth], topic: Topic, ledger: Ledger, die: str
) -> None:
    """However late it is run again: nobody is said to know before the partitions were there."""
    topic.die = die
    with pytest.raises(KilledError):
        grow()
    (half,) = ledger.growths.of("badges").growths
    assert half.until_ms is None
    assert topic.partitions == (2 if die == "announced" else 5)
    topic.die = ""
    topic.now_ms += 3 * HOUR_MS
    done = grow()
    assert (done.from_ms, done.announced_ms) == (half.from_ms, half.announced_ms)
    assert done.until_ms is not None
    assert done.until_ms >= topic.now_ms + 60_000
    assert grow() == done
    assert topic.partitions == 5


def test_nothing_is_done_that_was_not_agreed(
    grow: Callable[..., Growth], topic: Topic, ledger: Ledger
) -> None:
    """What is planned is told before, near enough to what becomes of it."""
    told: list[Growth] = []

    def refuse(planned: Growth) -> None:
        told.append(planned)
        raise KilledError

    with pytest.raises(KilledError):
        grow(agree=refuse)
    assert (ledger.growths.of("badges").growths, topic.partitions) == ((), 2)
    done, (planned,) = grow(), told
    assert planned.until_ms is not None
    assert done.until_ms is not None
    assert planned.from_ms == done.from_ms
    assert planned.until_ms <= done.until_ms <= planned.until_ms + 1_000
    grow(agree=refuse)  # nothing is left to agree to


def test_what_it_costs_is_told(grow: Callable[..., Growth], alarms: Alarms, ledger: Ledger) -> None:
    """The windows of the alarms on that feed, and of no other."""
    (denied,) = growth.denied_by(alarms, ledger, grow())
    assert denied == growth.Denied("hourly", 1, OPEN_MS, OPEN_MS + HOUR_MS)


def test_partitions_that_are_there_are_taken_on(
    grow: Callable[..., Growth], topic: Topic, alarms: Alarms, ledger: Ledger
) -> None:
    """All of them, and whatever is undecided is denied; none is made."""
    topic.partitions = 4
    with pytest.raises(LogChangedError, match="has 4 partitions, the ledger knows of 2") as caught:
        grow(partitions=5)
    assert "--partitions 4" in caught.value.hint
    done = grow(partitions=4)
    assert (done.from_ms, topic.made_ms) == (0, 0)
    (denied,) = growth.denied_by(alarms, ledger, done)
    assert denied.windows == 1


def test_what_cannot_be_is_refused_before_anything_is_said(
    grow: Callable[..., Growth], topic: Topic, ledger: Ledger
) -> None:
    """A feed that nobody reads, one by marks, fewer partitions, another topic of that name."""
    with pytest.raises(ConfigError, match="no alarm reads a feed 'doors'"):
        grow("doors")
    with pytest.raises(ConfigError, match="watermarks"):
        grow("past")
    with pytest.raises(LedgerError, match="has 2 partitions"):
        grow(partitions=1)
    assert grow(partitions=2) is None
    topic.topic_id = "another"
    with pytest.raises(LogChangedError, match="topic_id"):
        grow()
    assert ledger.growths.of("badges").growths == ()
    assert topic.validated == 0
