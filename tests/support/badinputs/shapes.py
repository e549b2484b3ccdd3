"""What bad inputs are made of: one good folder, and what a newcomer does to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tests.support.files import write_rows

Prepare: TypeAlias = Callable[[Path], object]
"""What is done to the good folder first."""
Call: TypeAlias = tuple[str, Prepare | None]
"""A command line, and what the folder is made of that it is called in."""

EDITS: dict[str, dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("edits.json").read_text()
)
"""Edits of the good configuration by kind: how YAML is written (``forms``), single ``values``,
``settings`` of where things are, SQL's ``rows`` and ``groups``; and of its tests (``cases``). By
what is replaced: all that it is replaced by, in turn."""

GOOD = """\
timezone: Europe/Berlin
ledger: sqlite:///ledger.db
kafka: {bootstrap: "127.0.0.1:9092"}
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
      floor: {type: integer, domain: [1, 2]}
      open: boolean
      age: {type: integer, clip: [0, 110]}
      load: {type: float, clip: [0, 50], resolution: "0.5"}
      ts: timestamp
    history: {from: 2025-03-03, until: 2025-03-04}
budget:
  privacy_unit: user
  epsilon_max: "40"
  period: 1d
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      WHERE floor = 1
      GROUP BY room, TUMBLE(ts, INTERVAL '1' HOUR)
      HAVING COUNT(*) > 30
    max_fnr: 0.05
    tolerance: 9
"""
"""A configuration that can be used, with a budget that carries it."""

GOOD_CASES = """\
alarms: alarms.yaml
tests:
  - name: a full lab fires
    alarm: crowd
    counts: {lab: 60, hall: 3}
    fires: {lab: ">= 0.95", hall: "<= 0.05"}
  - name: sixty people in the lab
    events: badges.jsonl
    windows:
      - start: 2025-03-03T10:00
        counts: {lab: 60}
        fires: {lab: ">= 0.95"}
  - name: some in the hall
    events:
      - {repeat: 3, person: "p{i}", room: hall, floor: 1, ts: "2025-03-03T09:00:00Z"}
      - {person: p1, room: attic, floor: 1, ts: "2025-03-03T09:00:00Z"}
    dropped: {out_of_domain: 1}
    windows:
      - start: 2025-03-03T10:00
        counts: {hall: 3}
        dropped_by_bounds: {beyond_events: 0}
"""
"""Tests of the good configuration that pass."""


def holding(name: str, data: bytes | str) -> Prepare:
    """Return what puts a file there."""
    return lambda folder: (folder / name).write_bytes(
        data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    )


def good_folder(folder: Path) -> None:
    """Write the configuration, the files it names, and sixty events of one hour in the lab."""
    event = {"room": "lab", "floor": 1, "open": True, "age": 30, "load": 1.5}
    rows = ({"person": f"p{n}", **event, "ts": "2025-03-03T09:00:00Z"} for n in range(60))
    (folder / "alarms.yaml").write_text(GOOD)
    (folder / "rooms.txt").write_text("lab\nhall\n")
    (folder / "capacity.csv").write_text("room,seats\nlab,40\nhall,90\n")
    write_rows(folder / "badges.jsonl", rows)
