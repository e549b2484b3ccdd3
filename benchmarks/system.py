"""One alarm system to measure: configuration, topics, and the parts that a worker puts together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream.build import Runtime, assemble, open_ledger, wall_clock_ms
from stream.config.loading import load
from stream.kafka.guard import check_feeds
from stream.kafka.topics import check

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accountant.records import LogIdentity
    from deploy.kafka.broker import Broker
    from stream.model.alarms import Alarms

QUERY = "crowd"

_CONFIG = """\
ledger: {ledger}
publish_interval: {publish_interval_ms}ms
metrics: {{public: "127.0.0.1:0", custodian: "127.0.0.1:0"}}
kafka:
  bootstrap: {bootstrap}
  group: {name}
  alarms_topic: {name}.alarms
  decisions_topic: {name}.decisions
  wakeup_topic: {name}.wakeup
feeds:
  badges:
    topic: {name}.events
    codec: {codec}
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: rooms.txt}}
      ts: timestamp
    max_append_time_regression: 100ms
    idle_partition_timeout: 1s
budget:
  privacy_unit: user
  epsilon_max: "1000000"
  period: 1d
  contribution: {{max_groups_per_window: 1, max_events_per_group: 1}}
alarms:
"""
_ALARM = """\
  {query}:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL {window})
      HAVING COUNT(DISTINCT person) > {threshold}
    max_fnr: 0.05
    tolerance: 9
    timing: {{grace: {grace_ms}ms, publish_delay: {publish_delay_ms}ms}}
"""


@dataclass(frozen=True)
class System:
    """What is measured: the number of different people in every room and window.

    Args:
        broker: a running broker.
        directory: where configuration and ledger go; made.
        name: prefix of topics and groups.
        codec: ``json`` or ``arrow``.
        rooms: number of groups.
        window: the SQL interval.
        threshold: people a room may hold.
        partitions: of the feed.
        publish_interval_ms: alarms leave on multiples of this.
        grace_ms: lateness that still counts.
        publish_delay_ms: alarms leave this long after the cut, at the next tick.
        alarms_count: how many there are; each has a threshold one higher than the one before.
        ledger: its URL; a file in the directory where there is none.
    """

    broker: Broker
    directory: Path
    name: str
    codec: str = "json"
    rooms: int = 40
    window: str = "'1' DAY"
    threshold: int = 120
    partitions: int = 2
    publish_interval_ms: int = 100
    grace_ms: int = 3_600_000
    publish_delay_ms: int = 0
    alarms_count: int = 1
    ledger: str = ""

    def __post_init__(self) -> None:
        """Write the configuration and create the topics."""
        self.directory.mkdir(parents=True)
        rooms = "".join(f"room-{number}\n" for number in range(self.rooms))
        (self.directory / "rooms.txt").write_text(rooms)
        ledger = self.ledger or f"sqlite:///{self.directory}/ledger.db"
        values = vars(self) | {"bootstrap": self.broker.bootstrap, "ledger": ledger}
        text = _CONFIG.format_map(values)
        for at in range(self.alarms_count):
            own = {"query": f"{QUERY}-{at}" if at else QUERY, "threshold": self.threshold + at}
            text += _ALARM.format_map(values | own)
        self.file.write_text(text)
        problems, _ = check(self.alarms(), create_with=self.partitions)
        if problems:
            raise RuntimeError("\n".join(problems))

    @property
    def file(self) -> Path:
        """The configuration file."""
        return self.directory / "alarms.yaml"

    @property
    def topic(self) -> str:
        """The feed's topic."""
        return f"{self.name}.events"

    def alarms(self) -> Alarms:
        """Load the configuration."""
        return load(self.file, environ={})

    def runtime(self, first_start_ms: int) -> tuple[Runtime, Mapping[str, LogIdentity]]:
        """Put a worker's parts together on a new ledger whose first window starts then."""
        for old in self.directory.glob("ledger.db*"):
            old.unlink()
        alarms = self.alarms()
        identities = check_feeds(alarms)
        runtime = assemble(
            alarms,
            open_ledger(alarms),
            identities=identities,
            first_start_ms=dict.fromkeys(alarms.by_name, first_start_ms),
            clock_ms=wall_clock_ms,
        )
        return runtime, identities
