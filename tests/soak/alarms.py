"""The feeds and alarms of the soak: as plain data for the recount, as YAML for Tocsin.

Noise has no say in what fires: ``max_fnr`` is one in a billion and there is no tolerance, so that
an alarm says on which side of its threshold a count lies, and one event too many is seen. That
costs epsilons that nobody would pay in earnest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.soak.timetable import Pace

PARTITIONS = 3
FEEDS = ("badges", "sales")
"""The first in JSON, the second in Arrow; each in a topic ``soak.NAME``."""
CELLS = ("attic", "bar", "cellar", "deck", "entry", "foyer")
"""The public domain of both feeds' group field."""
ALLOWED_SKEW_MS = 2_000
GROUPS_PER_WINDOW = 2
EVENTS_PER_CELL = 3
HIGHEST_AMOUNT = 5


@dataclass(frozen=True, slots=True)
class Counted:
    """What one alarm counts, of whom, and when it fires.

    Args:
        name: of the alarm.
        feed: it reads.
        of: ``people``, ``events`` or ``amounts``.
        size_ms: of its windows.
        step_ms: from one window to the next.
        grace_ms: an event counts if it was appended before a window's end and so much.
        threshold: it fires above.
        in_shop: whether events with ``online`` are left out by its WHERE.
    """

    name: str
    feed: str
    of: str
    size_ms: int
    step_ms: int
    grace_ms: int
    threshold: int
    in_shop: bool = False

    def cut_ms(self, start_ms: int) -> int:
        """Return when a window stops counting."""
        return start_ms + self.size_ms + self.grace_ms


def alarms_of(pace: Pace) -> tuple[Counted, ...]:
    """Return the alarms; thresholds lie amid the rooms, some of which are three times as busy."""
    whole_ms, step_ms, hop_ms = pace.window_s * 1000, pace.step_s * 1000, pace.hop_s * 1000
    a_room = pace.people // len(CELLS)
    events = pace.events_per_s // (2 * len(CELLS))
    return (
        Counted("crowd", "badges", "people", whole_ms, whole_ms, pace.grace_ms, a_room),
        Counted(
            "visits",
            "badges",
            "events",
            hop_ms,
            step_ms,
            pace.grace_ms,
            min(events * pace.hop_s * 3 // 4, a_room * 2),
        ),
        Counted("buyers", "sales", "people", hop_ms, step_ms, pace.grace_ms, a_room),
        Counted(
            "spent",
            "sales",
            "amounts",
            whole_ms,
            whole_ms,
            pace.grace_ms,
            min(events * pace.window_s, a_room * 3),
            in_shop=True,
        ),
    )


_FILE = """\
timezone: UTC
ledger: {ledger}
publish_interval: 250ms
metrics: {{public: "127.0.0.1:0", custodian: "127.0.0.1:0"}}
kafka:
  bootstrap: {bootstrap}
  group: soak
  alarms_topic: soak.alarms
  decisions_topic: soak.decisions
  wakeup_topic: soak.doorbell
  ownership_topic: soak.ledgers
  session_timeout: 6s
feeds:
  badges:
    topic: soak.badges
    codec: json
    time: ts
    unit: person
    id: event
    fields:
      person: string
      event: string
      room: {{domain: [{cells}]}}
      ts: timestamp
{times}
  sales:
    topic: soak.sales
    codec: arrow
    time: ts
    unit: customer
    id: sale
    fields:
      customer: string
      sale: string
      room: {{domain: [{cells}]}}
      amount: {{type: integer, clip: [0, {highest}]}}
      online: boolean
      ts: timestamp
{times}
budget:
  privacy_unit: user
  epsilon_max: "1000000"
  period: lifetime
  on_shortfall: deny
  contribution: {{max_groups_per_window: {groups}, max_events_per_group: {events}}}
alarms:
{alarms}"""

_TIMES = """\
    allowed_skew: {skew}ms
    max_append_time_regression: 200ms
    idle_partition_timeout: {idle}ms
"""

_ALARM = """\
  {name}:
    sql: |
      SELECT room FROM {feed}{where}
      GROUP BY room, {window}
      HAVING {aggregate} > {threshold}
    max_fnr: 1e-9
    timing: {{grace: {grace}ms, publish_delay: {delay}ms, decide_timeout: {timeout}s}}
"""

_AGGREGATES = {
    ("badges", "people"): "COUNT(DISTINCT person)",
    ("sales", "people"): "COUNT(DISTINCT customer)",
    ("badges", "events"): "COUNT(*)",
    ("sales", "amounts"): "SUM(amount)",
}


def write_configuration(
    path: Path,
    pace: Pace,
    *,
    ledger: str,
    bootstrap: str,
    history_ms: tuple[int, int] | None = None,
) -> None:
    """Write the configuration.

    Args:
        path: where.
        pace: windows, delays and thresholds.
        ledger: URL.
        bootstrap: the broker.
        history_ms: ``[from, until)``, for a replay.
    """
    times = _TIMES.format(skew=ALLOWED_SKEW_MS, idle=pace.idle_partition_timeout_ms)
    if history_ms is not None:
        start, until = (datetime.fromtimestamp(ms / 1000, UTC).isoformat() for ms in history_ms)
        times += f'    history: {{from: "{start}", until: "{until}"}}\n'
    path.write_text(
        _FILE.format(
            ledger=ledger,
            bootstrap=bootstrap,
            cells=", ".join(CELLS),
            highest=HIGHEST_AMOUNT,
            times=times.rstrip("\n"),
            groups=GROUPS_PER_WINDOW,
            events=EVENTS_PER_CELL,
            alarms="".join(_alarm(alarm, pace) for alarm in alarms_of(pace)),
        ),
    )


def _alarm(alarm, pace):
    size, step = (f"INTERVAL '{ms // 1000}' SECOND" for ms in (alarm.size_ms, alarm.step_ms))
    tumbling = alarm.size_ms == alarm.step_ms
    return _ALARM.format(
        name=alarm.name,
        feed=alarm.feed,
        where=" WHERE NOT online" if alarm.in_shop else "",
        window=f"TUMBLE(ts, {size})" if tumbling else f"HOP(ts, {step}, {size})",
        aggregate=_AGGREGATES[alarm.feed, alarm.of],
        threshold=alarm.threshold,
        grace=alarm.grace_ms,
        delay=pace.publish_delay_ms,
        timeout=pace.decide_timeout_s,
    )
