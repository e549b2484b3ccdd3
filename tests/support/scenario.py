"""One alarm system under test: topics, a ledger, workers as real processes, and their journals.

Windows are seconds long and follow the wall clock, as live feeds do: append times are the broker's,
so a test produces events *now* and dates them as it likes.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from kafka import KafkaProducer

from accountant.units import to_loss_units
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.mechanisms import plans_of
from stream.kafka.topics import check
from stream.windows.instants import from_iso_utc
from tests.support import worker_main
from tests.support.commands import tocsin
from tests.support.kafka import read_all
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from stream.model.alarms import Alarms
    from tests.support.kafka import Broker

ROOMS = ("atrium", "library", "lab", "roof")

_CONFIG = """\
timezone: UTC
ledger: {ledger}
publish_interval: 250ms
metrics: {{public: "127.0.0.1:{public}", custodian: "127.0.0.1:{custodian}"}}
kafka:
  bootstrap: {bootstrap}
  group: {name}
  alarms_topic: {name}.alarms
  decisions_topic: {name}.decisions
  counts_topic: {name}.counts
  wakeup_topic: {name}.wakeup
  ownership_topic: {name}.ownership
  session_timeout: 6s
feeds:
  badges:
    topic: {topic}
    codec: {codec}
    time: ts
    unit: person
    id: event
    fields:
      person: string
      event: string
      room: {{domain: [{rooms}]}}
      ts: timestamp
{field_lines}    allowed_skew: 2s
    max_append_time_regression: 200ms
    idle_partition_timeout: 1s
{feed_lines}{history}budget:
{budget}
alarms:
{alarms}
"""

_BUDGET = """\
  privacy_unit: user
  epsilon_max: "{epsilon_max}"
  period: lifetime
  on_shortfall: deny
  contribution: {{max_groups_per_window: 1, max_events_per_group: 1}}
"""

_ALARM = """\
  {query}:
    sql: |
      {around}SELECT room FROM badges
      GROUP BY room, {window}
      HAVING {having}
    max_fnr: 0.05
    tolerance: {tolerance}
    timing: {{grace: 1s, publish_delay: 250ms, decide_timeout: {decide_timeout}}}
"""


@dataclass
class Worker:
    """One worker process."""

    process: BaseProcess
    log: Path

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.is_alive()

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.ended()

    def ended(self) -> int:
        """Wait until it ends by itself and return its exit code; minus the signal if killed."""
        self.process.join(PATIENCE_S)
        if self.process.exitcode is None:
            raise AssertionError(f"runs on after {PATIENCE_S:.0f} s:\n{self.text()}")
        return self.process.exitcode

    def text(self) -> str:
        """Return what it printed."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


@dataclass
class Scenario:
    """Topics, ledger and workers of one test.

    Args:
        broker: a running broker.
        directory: where configuration, journals and logs go.
        name: prefix of topics and groups; one of its own where empty.
        ledger: SQLAlchemy URL; SQLite in the directory where empty.
        partitions: of the feed.
        window: the SQL window.
        epsilon_max: the wall.
        codec: of the feed.
        decide_timeout: of the alarm.
        budget: the budget section; unit user and ``epsilon_max`` where empty.
        query: the alarm's name.
        topic: the feed's topic; one of its own where empty.
        history: public ``[from, until)`` in milliseconds, for a replay.
        feed_lines: further settings of the feed, as YAML lines.
        log_check_s: how often a worker checks that the log is the registered one.
        tolerance: of the alarm.
        having: condition of the alarm.
        around: what stands before its SELECT; ``having`` then says what stands behind.
        field_lines: further fields of the feed, as YAML lines.
        more: further alarms, as YAML.
    """

    broker: Broker
    directory: Path
    name: str = ""
    ledger: str = ""
    partitions: int = 2
    window: str = "TUMBLE(ts, INTERVAL '3' SECOND)"
    epsilon_max: str = "1000"
    codec: str = "json"
    decide_timeout: str = "10m"
    budget: str = ""
    workers: list[Worker] = field(default_factory=list)
    query: str = "crowd"
    topic: str = ""
    history: tuple[int, int] | None = None
    feed_lines: str = ""
    log_check_s: float = 30.0
    tolerance: int | str = 2
    having: str = "COUNT(DISTINCT person) > 5"
    around: str = ""
    field_lines: str = ""
    more: str = ""
    _loaded: tuple[str, Alarms] | None = None
    _lines: list[dict[str, Any]] = field(init=False, default_factory=list)
    _read: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Write the configuration."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.name = self.name or f"{self.directory.name}-{time.monotonic_ns()}"
        self.ledger = self.ledger or f"sqlite:///{self.directory}/ledger.db"
        self.topic = self.topic or f"{self.name}.events"
        self.config.write_text(self.config_text())
        self.journal.touch()

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.directory / "alarms.yaml"

    @property
    def journal(self) -> Path:
        """The file every worker writes what it did to."""
        return self.directory / "journal.jsonl"

    def config_text(self, *, public: int = 0, custodian: int = 0) -> str:
        """Return the configuration."""
        history = ""
        if self.history is not None:
            dates = (datetime.fromtimestamp(ms / 1000, UTC).isoformat() for ms in self.history)
            history = '    history: {{from: "{}", until: "{}"}}\n'.format(*dates)
        parts = {
            **vars(self),
            "bootstrap": self.broker.bootstrap,
            "rooms": ", ".join(ROOMS),
            "history": history,
            "budget": self.budget or _BUDGET.format(epsilon_max=self.epsilon_max),
            "alarms": _ALARM.format(**vars(self)) + self.more,
        }
        return _CONFIG.format(**parts, public=public, custodian=custodian)

    def alarms(self) -> Alarms:
        """Load the configuration; as before while its text has not changed."""
        text = self.config.read_text()
        if self._loaded is None or self._loaded[0] != text:
            self._loaded = (text, load(self.config, environ={}))
        return self._loaded[1]

    def create_topics(self) -> None:
        """Create every topic as ``tocsin topics create`` does."""
        problems, _ = check(self.alarms(), create_with=self.partitions)
        if problems:
            raise AssertionError("\n".join(problems))

    def __enter__(self) -> Self:
        """Create every topic."""
        self.create_topics()
        return self

    def __exit__(self, *_: object) -> None:
        """End every worker."""
        self.stop()

    def start_worker(self, plan: str = "") -> Worker:
        """Start one worker process; it kills itself at ``plan`` (``step:occurrence``)."""
        log = self.directory / f"worker-{len(self.workers)}.log"
        process = worker_main.start(
            self.config, self.journal, log, plan=plan, log_check_s=self.log_check_s
        )
        worker = Worker(process, log)
        self.workers.append(worker)
        return worker

    def stop(self) -> None:
        """End every worker."""
        for worker in self.workers:
            worker.kill()

    def done(self, what: str) -> list[dict[str, Any]]:
        """Return the journal's lines of one kind, in order; only what is new of it is read."""
        with self.journal.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                self._lines.append(json.loads(line))
                self._read += len(line)
        return [line for line in self._lines if line["what"] == what]

    def cursor_ms(self) -> int:
        """Return the start of the oldest undecided window, 0 before a worker registered it."""
        with open_ledger(self.alarms()) as ledger:
            queries = ledger.reports.status().queries
            return queries[self.query].cursor_ms if self.query in queries else 0

    def ended(self, outcome: str) -> set[int]:
        """Return the starts (ms) of the windows that ended so."""
        return {line["start_ms"] for line in self.done("decision") if line["outcome"] == outcome}

    def reasons(self) -> set[str | None]:
        """Return why windows ended as they did; ``None`` where they were decided."""
        return {line["reason"] for line in self.done("decision")}

    def window_units(self) -> int:
        """Return what a window costs, in loss units."""
        return to_loss_units(plans_of(self.alarms())[self.query].epsilon)

    def windows(self, what: str) -> set[int]:
        """Return the starts (ms) of the windows that a journal line of this kind is about."""
        return {line["start_ms"] for line in self.done(what)}

    def produce(self, events: Iterable[tuple[str | None, bytes]]) -> int:
        """Append events now: ``(key, value)``, routed by Kafka's default partitioner.

        Returns:
            When the last of them was appended, in milliseconds, by the broker's clock.
        """
        return self.send(
            {"key": None if key is None else key.encode(), "value": value} for key, value in events
        )

    def send(self, records: Iterable[Mapping[str, Any]], topic: str = "") -> int:
        """Append records as they are given to a producer; return when the last one was.

        Args:
            records: what :meth:`KafkaProducer.send` is given of each.
            topic: the feed's where empty.
        """
        with closing(
            KafkaProducer(bootstrap_servers=self.broker.bootstrap, acks="all", linger_ms=5)
        ) as producer:
            sent = [producer.send(topic or self.topic, **record) for record in records]
            producer.flush()
            return max(future.get().timestamp for future in sent)

    def read(self, topic: str, *, isolation_level: str = "read_uncommitted") -> list[Any]:
        """Return every record of a topic, by partition, then offset."""
        return read_all(self.broker.bootstrap, topic, isolation_level)

    def decided(self, alarm: str = "") -> dict[int, list[dict[str, Any]]]:
        """Return the published decision records, repeats included, by window start (ms).

        Args:
            alarm: only of this one; of all where empty.
        """
        found: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for record in self.read(f"{self.name}.decisions"):
            decision = json.loads(record.value)
            if alarm in {"", decision["alarm"]}:
                found[from_iso_utc(decision["window_start"])].append(decision)
        return found

    def topics_must_agree(self) -> None:
        """Fail unless the topics hold what the ledger decided."""
        tocsin("ledger", self.config, "verify", "--topics", code=0)

    def published(self) -> list[Mapping[str, Any]]:
        """Return the published alarms, duplicates included."""
        return [json.loads(record.value) for record in self.read(f"{self.name}.alarms")]
