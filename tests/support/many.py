"""Many alarms on one budget of a live feed, decided by the real judge, and the work that it takes.

Work is counted, not timed: SQL statements, and rows that are read.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
from sqlalchemy import event

from accountant.costs.charges import WindowKey
from accountant.ledger.ledger import Ledger
from accountant.records import LogIdentity, Partial
from accountant.store.entry_rows import Log
from accountant.store.rows import Rows
from stream.build import assemble
from stream.config.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accountant.records import StoredDecision
    from stream.build import Runtime
    from stream.model.alarms import Alarms

HOUR_MS = 3_600_000
LOG = LogIdentity("badges", "cluster", "log", "building.badges", 1)

_CONFIG = """\
feeds:
  badges:
    topic: building.badges
    time: ts
    unit: person
    fields:
      person: string
      room: {{domain: [a, b]}}
      floor: {{domain: [{floors}]}}
      ts: timestamp
budget: {budget}
alarms:
"""
_ALARM = """\
  {query}:
    sql: |
      SELECT room FROM badges {where}
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(*) > {threshold}
    max_fnr: 0.05
    tolerance: 9
    timing: {{grace: 0s}}
"""
_BUDGETS = {
    "user": "{privacy_unit: user, epsilon_max: '100000', period: 1d,"
    " contribution: {max_groups_per_window: 1, max_events_per_group: 1}}",
    "event": "{privacy_unit: event, epsilon_max: '100000'}",
    "apart": "{privacy_unit: event, epsilon_max: '1'}",
}
"""A budget that holds all alarms beside one another; one that holds them as they share no row."""


@dataclass
class Work:
    """What was done.

    Args:
        statements: SQL statements.
        records: entries and working rows that were read.
    """

    statements: int = 0
    records: int = 0

    def within(self, other: Work) -> bool:
        """Whether this is no more than other work."""
        return self.statements <= other.statements and self.records <= other.records


@dataclass
class Many:
    """Alarms, their ledger and what decides them; the clock starts at 0."""

    alarms: Alarms
    ledger: Ledger
    now_ms: int = 0
    runtime: Runtime = field(init=False)

    def start(self) -> None:
        """Start, as a worker does."""
        self.runtime = assemble(
            self.alarms,
            self.ledger,
            identities={"badges": LOG},
            first_start_ms=dict.fromkeys(self.alarms.by_name, 0),
            clock_ms=lambda: self.now_ms,
        )

    def count(self, query: str, hour: int) -> None:
        """Store that nothing happened in a window."""
        start_ms = hour * HOUR_MS
        nothing = np.zeros(0, dtype=np.int64)
        self.ledger.counts.put_partial(
            Partial(
                key=WindowKey(end_ms=start_ms + HOUR_MS, query=query, start_ms=start_ms),
                partition=0,
                fingerprint=self.alarms.by_name[query].fingerprint,
                topic_id=LOG.topic_id,
                complete=True,
                cells=2,
                index=nothing,
                value=nothing,
                first_offset=-1,
                last_offset=-1,
            )
        )

    def decide(self, query: str, hour: int) -> StoredDecision:
        """Count a window and decide it."""
        self.count(query, hour)
        self.now_ms = max(self.now_ms, (hour + 1) * HOUR_MS + 1)
        (decision,) = self.runtime.judge.decide_due(query)
        return decision


@contextmanager
def many_alarms(url: str, folder: Path, kind: str, number: int) -> Iterator[Many]:
    """Open a ledger for so many alarms, and do not register them yet.

    Args:
        url: of the ledger.
        folder: for the configuration.
        kind: of budget: ``user``; ``event``; ``apart``, where no two alarms share a row.
        number: of alarms.
    """
    floors = [f"f{at}" for at in range(number)]
    text = _CONFIG.format(floors=", ".join(floors), budget=_BUDGETS[kind])
    for at, floor in enumerate(floors):
        where = f"WHERE floor = '{floor}'" if kind == "apart" else ""
        text += _ALARM.format(query=f"q{at:03}", where=where, threshold=20 + at)
    path = folder / "alarms.yaml"
    path.write_text(text)
    alarms = load(path, environ={})
    holder: list[Many] = []
    # The same id for all: the chains tell of which ledger they are.
    with Ledger.open(url, clock_ms=lambda: holder[0].now_ms if holder else 0, entropy=bytes) as (
        ledger
    ):
        holder.append(Many(alarms, ledger))
        yield holder[0]


@contextmanager
def counted(ledger: Ledger) -> Iterator[Work]:
    """Count the work that is done on a ledger meanwhile."""
    work, engine = Work(), ledger._store._engine
    read, checked = Log._read, Rows._checked

    def executed(*_):
        work.statements += 1

    def read_entries(*given, **bound):
        found = read(*given, **bound)
        work.records += len(found)
        return found

    def read_row(*given):
        work.records += 1
        return checked(*given)

    event.listen(engine, "before_cursor_execute", executed)
    try:
        with (
            mock.patch.object(Log, "_read", read_entries),
            mock.patch.object(Rows, "_checked", read_row),
        ):
            yield work
    finally:
        event.remove(engine, "before_cursor_execute", executed)
