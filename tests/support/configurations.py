"""One good configuration, and edits of it.

The mark ``⟦`` (removed before reading) stands where an error must point to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from accountant.errors import ConfigError


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
      load: {type: float, clip: [-1.5, 10], resolution: "0.5"}
      free: float
      ts: timestamp
budget:
  privacy_unit: user
  epsilon_max: "4"
  period: 1d
  contribution: {max_groups_per_window: 2, max_events_per_group: 3}
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
    timing: {grace: 30s}
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
  privacy_unit: user                        # user | event: what one neighbour differs in
  epsilon_max: "4"                  # decimal string or fraction, never a binary float
  period: 1d                        # renewed every period; or lifetime
  contribution: {max_groups_per_window: 1, max_events_per_group: 1}   # caps act within a window
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
    timing: {grace: 30s}
"""


def write(folder: Path, text: str, *, rooms: str = ROOMS, capacity: str = CAPACITY) -> Path:
    """Write a configuration and its files."""
    (folder / "rooms.txt").write_text(rooms.replace(MARK, ""))
    (folder / "capacity.csv").write_text(capacity.replace(MARK, ""))
    path = folder / "alarms.yaml"
    path.write_text(text.replace(MARK, ""))
    return path


def edited(old: str, new: str) -> str:
    """Return the good file with one edit."""
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def place(text: str) -> tuple[int, int]:
    """Return line and column of the mark."""
    before = text[: text.index(MARK)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def assert_named(found: Sequence[ConfigError], text: str, message: str, hint: str = "") -> None:
    """Check that one thing is found, at the mark of a text, and that it says these.

    Args:
        found: errors or warnings.
        text: with the mark.
        message: part of what is said.
        hint: part of what is advised.
    """
    assert len(found) == 1, [str(each) for each in found]
    assert (found[0].line, found[0].column) == place(text), str(found[0])
    assert message in found[0].message
    assert hint in (found[0].hint or "")


HAVING = "HAVING COUNT(DISTINCT person) > 120"
SELECT = "SELECT room FROM badges"
WINDOW = "TUMBLE(ts, INTERVAL '1' HOUR)"
WHERE = "floor = 1"
