"""The scene of every seed: one alarm on one feed, and what its sensors send."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from aiokafka import TopicPartition

from stream.config.loading import load
from tests.faults.log import Transaction
from tests.faults.recount import PARTITIONS, ROOMS
from tests.support.hostile import home

if TYPE_CHECKING:
    from stream.model.alarms import Alarms

TOPIC = "badges"
_CONFIG = """\
timezone: UTC
ledger: LEDGER
publish_interval: 2s
metrics: {public: "127.0.0.1:0", custodian: "127.0.0.1:0"}
kafka: {bootstrap: "broker:9092", session_timeout: 6s}
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    id: event
    fields:
      person: string
      event: string
      room: {domain: [ROOMS]}
      ts: timestamp
    allowed_skew: 2s
    max_append_time_regression: 200ms
    idle_partition_timeout: 1s
budget:
  privacy_unit: user
  epsilon_max: "EPSILON_MAX"
  period: lifetime
  contribution: {max_groups_per_window: 1, max_events_per_group: 2}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '10' SECOND)
      HAVING COUNT(*) > 3
    max_fnr: 0.05
    tolerance: 2
    timing: {grace: 1s, publish_delay: 250ms, decide_timeout: 10m}
"""
WINDOWS = 5
_WINDOW_EPSILON = 1.4
"""What a window costs, and a little more."""


@lru_cache
def alarms(windows: int = WINDOWS) -> Alarms:
    """Return the configuration, on a ledger that is not there.

    Args:
        windows: two less than this many fit into the budget; the first passes before a start.
    """
    text = _CONFIG.replace("ROOMS", ", ".join(ROOMS))
    text = text.replace("EPSILON_MAX", f"{_WINDOW_EPSILON * (windows - 2) + 1:.1f}")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "alarms.yaml"
        path.write_text(text.replace("LEDGER", f"sqlite:///{folder}/ledger.sqlite"))
        return load(path, environ={})


class Sensors:
    """Send what sensors send, good and bad.

    Args:
        broker: of the world.
        transactions: whether some of it is sent in transactions, which may abort.
    """

    def __init__(self, broker, *, transactions):
        self._broker, self._transactions = broker, transactions
        self._schedule = broker.schedule
        self._random = broker.schedule.random
        self._sent = []

    async def send(self, until_ms: int) -> None:
        """Send events until an instant."""
        number = 0
        while self._schedule.now_ms() < until_ms:
            await asyncio.sleep(self._random.uniform(0.05, 0.9))
            number += 1
            for partition, value in self._events(number):
                self._append(TopicPartition(TOPIC, partition), value)

    def _events(self, number):
        draw = self._random
        person = f"p{draw.randrange(7)}"
        away_ms = draw.choice((0, 0, 0, 0, -500, -1_500, -12_000, 1_500, 4_000))
        event = {
            "person": person,
            "event": f"e{number}",
            "room": draw.choice((*ROOMS, ROOMS[0], "cellar")) if draw.random() < 0.5 else ROOMS[0],
            "ts": self._schedule.now_ms() + away_ms,
        }
        place = home(person, PARTITIONS)
        found = [(place, json.dumps(event).encode())]
        kind = draw.random()
        if kind < 0.1:
            found = [(1 - place, found[0][1])]  # misrouted
        elif kind < 0.15:
            found = [(place, b'{"person": ')]
        elif kind < 0.3 and self._sent:
            found.append(draw.choice(self._sent[-6:]))  # sent again
        self._sent.extend(found)
        return found

    def _append(self, place, value):
        if not self._transactions or self._random.random() < 0.7:
            self._broker.append(place, value)
            return
        transaction = Transaction()
        self._schedule.happened["transaction"] += 1
        self._broker.append(place, value, transaction=transaction)
        committed = self._random.random() < 0.6

        def end():
            transaction.committed = committed

        self._schedule.loop.call_later(self._random.choice((0.1, 0.5, 3.0, 10.0)), end)
